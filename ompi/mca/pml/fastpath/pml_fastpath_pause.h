/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What a wait does that has found nothing: docs/waiting.md.
 *
 * Everything progresses, and where cores are short the core is given away. Whether they are is found out here
 * and said to all of Open MPI, by opal_progress_yield_when_idle: so it holds for whoever waits, Open MPI's
 * own functions and loops of MPI_Test among them.
 */
#ifndef MCA_PML_FASTPATH_PAUSE_H
#define MCA_PML_FASTPATH_PAUSE_H

#include "opal/mca/common/fastpath/common_fastpath_idle.h"
#include "opal/runtime/opal_progress.h"

#include "pml_fastpath.h"
#include "pml_fastpath_counters.h"

/** How we wait. Read by all threads. */
typedef struct {
    int mode;               /**< parameter: MCA_COMMON_FASTPATH_WAIT_*; may change while the job runs */
    unsigned sleep_after;   /**< parameter: microseconds */
    volatile int countdown; /**< calls of opal_progress until the next look at the clock */
    bool keeps_core; /**< who calls opal_progress now keeps the core, until mca_pml_fastpath_progress() has
                        said so to it; only without threads */
} mca_pml_fastpath_pause_t;

extern mca_pml_fastpath_pause_t mca_pml_fastpath_pause_state __opal_attribute_visibility__("hidden");

/** Register pml_fastpath_wait. @return OPAL_SUCCESS or an error of Open MPI's */
int mca_pml_fastpath_pause_register(const mca_base_component_t *component);

/** Find out whether cores are short, and say so; called from progress now and then. */
void mca_pml_fastpath_pause_look(void);

/** opal_progress has been called. */
static inline void mca_pml_fastpath_pause_note(void)
{
    if (OPAL_UNLIKELY(0 > --mca_pml_fastpath_pause_state.countdown)) {
        mca_pml_fastpath_pause_look(); /* not atomic: some calls more do not matter */
    }
}

/** @return a counter of all that has arrived at this process, also of what is not waited for */
static inline unsigned long mca_pml_fastpath_arrived(void)
{
    const mca_btl_fastsm_ext_t *ext = mca_pml_fastpath.fastsm_ext;

    return mca_pml_fastpath.arrived + (NULL == ext ? 0 : *ext->arrived);
}

/** Let everything progress, and keep the core, even where others want it. Only without threads. */
void mca_pml_fastpath_progress_only(void);

/** mca_pml_fastpath_pause() where cores are short: the core is given away unless something comes now, or the
 * request, if any, completes. */
void mca_pml_fastpath_pause_short(const ompi_request_t *request);

/** A wait has found nothing: everything progresses, and others may get the core. @param[in] request  what is
 * waited for; NULL: it is not one request */
static inline void mca_pml_fastpath_pause(const ompi_request_t *request)
{
    if (opal_progress_yield_when_idle) {
        mca_pml_fastpath_pause_short(request);
        return;
    }
    mca_pml_fastpath_count(MCA_PML_FASTPATH_WAITS_SPINS);
    (void) opal_progress();
}

/** Give back what is kept. */
void mca_pml_fastpath_pause_fini(void);

#endif /* MCA_PML_FASTPATH_PAUSE_H */
