/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Waits that may last: pml_fastpath_idle.h.
 */
#include "ompi_config.h"

#include "compat/fastpath_ompi_compat.h"
#include "ompi/mca/osc/fastpath/osc_fastpath_ext.h"

#include "pml_fastpath_counters.h"
#include "pml_fastpath_idle.h"
#include "pml_fastpath_pause.h"

/* Calls of opal_progress from one look at the clock to the next in a wait that may sleep. */
#define IDLE_ROUNDS 16

static mca_common_fastpath_idle_t idle_;

static void wait_or_sleep(mca_pml_fastpath_idle_t *idle)
{
    const mca_common_fastpath_idle_rules_t rules = {.after = mca_pml_fastpath_pause_state.sleep_after
                                                             * UINT64_C(1000),
                                                    .mode = mca_pml_fastpath_pause_state.mode,
                                                    .one_node = fastpath_one_node(),
                                                    .unheard = mca_osc_fastpath_ext_foreign_windows};
    mca_common_fastpath_idle_result_t result;

    idle_.fastsm = mca_pml_fastpath.fastsm;
    idle_.ext = mca_pml_fastpath.fastsm_ext;
    atomic_store_explicit(&idle->sleeping, true, memory_order_relaxed);
    result = mca_common_fastpath_idle(&idle_, &idle->wait,
                                      mca_pml_fastpath_arrived() + mca_pml_fastpath.btl_sends, &rules);
    atomic_store_explicit(&idle->sleeping, false, memory_order_relaxed);
    if (0 < result.time) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_WAITS_SLEEPS);
        mca_pml_fastpath_counters[MCA_PML_FASTPATH_WAITS_WOKEN] += result.woken;
        mca_pml_fastpath_counters[MCA_PML_FASTPATH_WAITS_TIME_ASLEEP] += result.time;
    }
    if (result.look) {
        idle->rounds = IDLE_ROUNDS - 1;
    }
}

void mca_pml_fastpath_pause_idle(mca_pml_fastpath_idle_t *idle, const ompi_request_t *request)
{
    /* the first time the core is given away even if the request completes now though nothing has come:
     * whoever only sends in a nonblocking collective would run ahead of those who receive, and they would
     * copy twice */
    mca_pml_fastpath_pause(0 == idle->rounds ? NULL : request);
    if (0 == ++idle->rounds % IDLE_ROUNDS) {
        wait_or_sleep(idle);
    }
}

void mca_pml_fastpath_idle_fini(void)
{
    mca_common_fastpath_idle_fini(&idle_);
}
