/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How a wait sleeps: common_fastpath_idle.h.
 */
#include "opal_config.h"

#include <time.h>

#include "compat/fastpath_opal_compat.h"
#include "opal/util/proc.h"

#include "common_fastpath_clock.h"
#include "common_fastpath_idle.h"

#define US UINT64_C(1000) /* in nanoseconds, as all times here */
#define MS (1000 * US)

/* A sleep lasts such a part of the time that has passed without anything, within these limits.  The parts of
 * a collective operation wait for each other, so what it is late by adds up. */
#define SLEEP_PART  64
#define SLEEP_LEAST (50 * US)
#define SLEEP_MOST  (10 * MS)

/* An announcement costs each core some half us that runs a process of btl/fastsm.  So each process may make
 * one in such a time for each process of the node: together they cost a core less than a thousandth. */
#define ANNOUNCE_TIME_EACH (1 * MS)

/* Says to our peers that we are going to sleep.  @return whether whatever they send wakes us from now on */
static bool announce(mca_common_fastpath_idle_t *idle, uint64_t now)
{
    if (NULL == idle->ext || now < idle->announce_next) {
        return false;
    }
    idle->announce_next = now + ANNOUNCE_TIME_EACH * (1 + (uint64_t) opal_process_info.num_local_peers);
    return idle->ext->announce_sleep(idle->fastsm);
}

/* How long to sleep at a time. */
static uint64_t sleep_time(uint64_t quiet)
{
    const uint64_t time = quiet / SLEEP_PART;

    return SLEEP_LEAST > time ? SLEEP_LEAST : SLEEP_MOST < time ? SLEEP_MOST : time;
}

/* A signal ends a sleep early, which does no harm. */
static mca_common_fastpath_idle_result_t sleep_for(mca_common_fastpath_idle_t *idle,
                                                   mca_common_fastpath_idle_wait_t *wait, uint64_t now)
{
    const uint64_t time = sleep_time(now - wait->since);
    const struct timespec slice = {.tv_nsec = (long) time};
    mca_common_fastpath_idle_result_t result = {.look = true};

    if (wait->announced) {
        wait->announced = idle->ext->sleep(idle->fastsm, time);
        result.woken = !wait->announced;
    } else {
        (void) nanosleep(&slice, NULL);
    }
    result.time = mca_common_fastpath_nanoseconds() - now;
    return result;
}

mca_common_fastpath_idle_result_t mca_common_fastpath_idle(mca_common_fastpath_idle_t *idle,
                                                           mca_common_fastpath_idle_wait_t *wait,
                                                           unsigned long activity, uint64_t after, int mode,
                                                           bool one_node)
{
    const bool always = MCA_COMMON_FASTPATH_WAIT_SLEEP == mode;
    uint64_t now;

    if (opal_using_threads() || (!always && (MCA_COMMON_FASTPATH_WAIT_AUTO != mode || !one_node))) {
        return (mca_common_fastpath_idle_result_t){.look = false};
    }
    now = mca_common_fastpath_nanoseconds();
    if (0 == wait->since || wait->activity != activity) {
        *wait = (mca_common_fastpath_idle_wait_t){.since = now, .activity = activity};
    }
    if (after > now - wait->since) {
        return (mca_common_fastpath_idle_result_t){.look = false};
    }
    if (!wait->announced && announce(idle, now)) {
        wait->announced = true;
        return (mca_common_fastpath_idle_result_t){.look = true};
    }
    if (wait->announced || always) {
        return sleep_for(idle, wait, now);
    }
    return (mca_common_fastpath_idle_result_t){.look = false};
}
