/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * All waiting of one-sided communication.
 */
#include "ompi_config.h"

#include <sched.h>

#include "compat/fastpath_ft_compat.h"
#include "compat/fastpath_ompi_compat.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/common/fastpath/common_fastpath_clock.h"
#include "opal/mca/common/fastpath/common_fastpath_relax.h"

#include "osc_fastpath_wait.h"

/** tries for a lock in memory before each of the following gives the processor away */
#define TRIES_BEFORE_YIELD 100u

/* @return whether a process of the window has failed. Looks only when the number of failed processes has
 * changed. */
static bool member_failed(mca_osc_fastpath_module_t *module, int *known)
{
    int failed;

    if (OPAL_LIKELY(!fastpath_ft())) {
        return false;
    }
    failed = fastpath_failed_procs();
    if (*known == failed) {
        return false;
    }
    *known = failed;
    for (int rank = 0; rank < module->size; ++rank) {
        if (fastpath_proc_failed(ompi_comm_peer_lookup(module->comm, rank))) {
            return true;
        }
    }
    return false;
}

/* A value of pml/fastpath's, which may change while the job runs; NULL: that is not here. */
static const void *pml_value(const char *name)
{
    const void *value = NULL;
    const int index = mca_base_var_find("ompi", "pml", "fastpath", name);

    return 0 <= index && OPAL_SUCCESS == mca_base_var_get_value(index, &value, NULL, NULL) ? value : NULL;
}

void mca_osc_fastpath_wait_init(void)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;

    component->wait_mode = pml_value("wait");
    component->sleep_after = pml_value("sleep_after");
    component->idle.ext = mca_btl_fastsm_find(&component->idle.fastsm);
}

/* Everything progresses, and opal_progress yields if that has been found right; and when nothing has happened
 * for long, sleep as pml_fastpath_wait says. Without pml/fastpath nobody finds out about yields. */
static void progress_or_sleep(mca_common_fastpath_idle_wait_t *wait, unsigned rounds)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;

    opal_progress();
    if (0 == wait->announced && 0 != rounds % MCA_OSC_FASTPATH_ROUNDS_AWAKE) {
        return;
    }
    if (NULL == component->wait_mode) {
        (void) sched_yield();
    } else if (NULL != component->idle.ext && NULL != component->sleep_after) {
        const mca_common_fastpath_idle_rules_t rules = {.after = *component->sleep_after * UINT64_C(1000),
                                                        .mode = *component->wait_mode,
                                                        .one_node = fastpath_one_node(),
                                                        .unheard = mca_osc_fastpath_ext_foreign_windows};
        const mca_common_fastpath_idle_result_t result =
            mca_common_fastpath_idle(&component->idle, wait, *component->idle.ext->arrived, &rules);

        mca_osc_fastpath_counters[MCA_OSC_FASTPATH_SLEEPS] += 0 < result.time;
        mca_osc_fastpath_counters[MCA_OSC_FASTPATH_WOKEN] += result.woken;
    }
}

int mca_osc_fastpath_wait_until(mca_osc_fastpath_module_t *module, mca_osc_fastpath_done_fn_t done,
                                void *context)
{
    mca_common_fastpath_idle_wait_t wait = {0};
    uint64_t begin;
    unsigned rounds = 0;
    int known = 0;
    int rc = OMPI_SUCCESS;

    if (done(module, context)) {
        return OMPI_SUCCESS;
    }
    mca_osc_fastpath_count(MCA_OSC_FASTPATH_WAITS);
    begin = mca_common_fastpath_nanoseconds();
    do {
        if (OPAL_UNLIKELY(member_failed(module, &known))) {
            rc = MPI_ERR_PROC_FAILED;
            break;
        }
        mca_osc_fastpath_leave(module);
        progress_or_sleep(&wait, ++rounds);
        mca_osc_fastpath_enter(module);
    } while (!done(module, context));
    mca_osc_fastpath_counters[MCA_OSC_FASTPATH_WAIT_TIME] += mca_common_fastpath_nanoseconds() - begin;
    return rc;
}

void mca_osc_fastpath_backoff(unsigned *tries)
{
    if (++*tries < TRIES_BEFORE_YIELD) {
        mca_common_fastpath_relax();
    } else {
        (void) sched_yield();
    }
}
