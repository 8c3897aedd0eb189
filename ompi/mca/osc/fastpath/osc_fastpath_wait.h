/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * All waiting of one-sided communication.
 */
#ifndef MCA_OSC_FASTPATH_WAIT_H
#define MCA_OSC_FASTPATH_WAIT_H

#include "opal/runtime/opal_progress.h"

#include "osc_fastpath.h"

/** @return whether what is waited for is there; called inside module.lock */
typedef bool (*mca_osc_fastpath_done_fn_t)(mca_osc_fastpath_module_t *module, void *context);

/**
 * Wait until `done` says so, while everything else makes progress. Called and returns inside module.lock,
 * which is given back meanwhile. Never called from a message handler.
 *
 * @return OMPI_SUCCESS; MPI_ERR_PROC_FAILED in a fault-tolerant job when a process of the window has failed
 */
int mca_osc_fastpath_wait_until(mca_osc_fastpath_module_t *module, mca_osc_fastpath_done_fn_t done,
                                void *context);

/** Rounds of progress before a wait can sleep, each with a look behind it. */
#define MCA_OSC_FASTPATH_ROUNDS_AWAKE 64u

/** Find out how waits sleep: as those of pml/fastpath do, if that is there. */
void mca_osc_fastpath_wait_init(void);

/** Of the synchronisations that need not wait, one in so many calls opal_progress. */
#define MCA_OSC_FASTPATH_CALLS_PER_PROGRESS 8u

/**
 * After a synchronisation that did not wait: call opal_progress now and then. Other processes may depend on
 * it, and this one may call nothing else, for instance if it polls its own window. Outside module.lock.
 */
static inline void mca_osc_fastpath_progress_sometimes(mca_osc_fastpath_module_t *module)
{
    if (OPAL_UNLIKELY(0 == ++module->calls % MCA_OSC_FASTPATH_CALLS_PER_PROGRESS)) {
        opal_progress();
    }
}

/** Pause between two tries for a lock that is held for a short time: spin, after some tries yield. */
void mca_osc_fastpath_backoff(unsigned *tries);

#endif /* MCA_OSC_FASTPATH_WAIT_H */
