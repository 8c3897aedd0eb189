/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Waits that may last: when nothing has happened for long, they sleep (docs/waiting.md).
 */
#ifndef MCA_PML_FASTPATH_IDLE_H
#define MCA_PML_FASTPATH_IDLE_H

#include <stdatomic.h>

#include "ompi/request/request.h"
#include "opal/mca/common/fastpath/common_fastpath_idle.h"

#include "pml_fastpath.h"

/** A wait that may last; all 0 in the beginning. */
typedef struct {
    mca_common_fastpath_idle_wait_t wait;
    unsigned rounds;       /**< from one look at the clock to the next */
    _Atomic bool sleeping; /**< it may be asleep: for other threads */
} mca_pml_fastpath_idle_t;

/**
 * mca_pml_fastpath_pause() for a wait that has no other end than what it waits for: when nothing has happened
 * for long enough, it sleeps, too, as pml_fastpath_wait says. A message of any peer's wakes it. What
 * else it waits for may be late by the time of a sleep: docs/waiting.md, "Sleeping". The caller looks for
 * what it waits for between two calls.
 *
 * With several threads each of them may sleep. What one does for another, other than to let progress deliver
 * messages of btl/fastsm's, is followed by mca_pml_fastpath_wake_threads().
 * @param[in] request  what is waited for; NULL: it is not one request
 */
void mca_pml_fastpath_pause_idle(mca_pml_fastpath_idle_t *idle, const ompi_request_t *request);

/** No wait comes any more. */
void mca_pml_fastpath_idle_fini(void);

/** Something has happened here that another thread may sleep for. */
static inline void mca_pml_fastpath_wake_threads(void)
{
    if (OPAL_UNLIKELY(opal_using_threads()) && NULL != mca_pml_fastpath.asleep) {
        fastsm_wake_if_asleep(mca_pml_fastpath.asleep);
    }
}

/** Complete a request at the level of MPI: Open MPI's ompi_request_complete(), and a thread that sleeps until
 * then is woken. */
static inline void mca_pml_fastpath_request_complete(ompi_request_t *request)
{
    (void) ompi_request_complete(request, true);
    mca_pml_fastpath_wake_threads();
}

#endif /* MCA_PML_FASTPATH_IDLE_H */
