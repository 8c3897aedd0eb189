/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * When to call opal_progress though nothing had to be waited for: pml_fastpath_pace.h.
 */
#include "ompi_config.h"

#include "opal/runtime/opal_progress.h"

#include "pml_fastpath_pace.h"
#include "pml_fastpath_pause.h"

/* Counts at most from one look at the clock to the next. */
#define PERIOD_MAX 32

/* The clock is read so often in the time that may pass without opal_progress, if calls go on as before. */
#define LOOKS_PER_INTERVAL 4

/* Looks after which opal_progress is called whatever the clock says; it may stand still. */
#define LOOKS_MAX 4096

/* Calls of opal_progress that are made up for at a time. Open MPI sees to timers, sockets and functions of
 * low priority in one of eight. */
#define TURNS_MAX 8

/* Bytes of messages that each of them may put into the queues in a stream. */
#define STREAM_BYTES ((size_t) 4096)

mca_pml_fastpath_pace_t mca_pml_fastpath_pace;

void mca_pml_fastpath_pace_start(void)
{
    mca_pml_fastpath_pace = (mca_pml_fastpath_pace_t){.period = 1, .may_keep = SIZE_MAX};
    mca_common_fastpath_clock_start(&mca_pml_fastpath_pace.clock);
}

/* Read the clock, and find out when to read it next. Returns whether opal_progress has not been called for
 * too long. */
static inline __opal_attribute_always_inline__ bool look_at_clock(void)
{
    mca_pml_fastpath_pace_t *pace = &mca_pml_fastpath_pace;
    const uint64_t now = mca_common_fastpath_ticks();
    const uint64_t last = pace->looked;

    pace->is_fast = now - last <= pace->slow * (uint64_t) pace->period && now - last <= pace->most;
    if (OPAL_UNLIKELY(now - last > pace->slow)) {
        pace->period = 1;
    } else if (PERIOD_MAX > pace->period) {
        pace->period *= 2;
    }
    pace->left = pace->sends_left = pace->period - 1;
    pace->looked = now;
    if (OPAL_UNLIKELY(pace->noted)) {
        pace->noted = false;
        pace->noticed = last < pace->called ? pace->called : last;
        pace->looks = LOOKS_MAX;
    }
    return OPAL_UNLIKELY(now - pace->noticed >= pace->most || 0 > --pace->looks);
}

/* How long it may take until opal_progress is called. Nobody knows before the clock's speed is known. */
static void set_interval(mca_pml_fastpath_pace_t *pace)
{
    pace->most = mca_common_fastpath_clock_per_millisecond(&pace->clock) * mca_pml_fastpath.interval / 1000;
    pace->slow = pace->most / LOOKS_PER_INTERVAL;
}

/* Call opal_progress for the time without it. With threads it gives the core away if others want it, and the
 * time that it then takes is not made up for. Of a program that computes nothing stays where it has arrived:
 * what is behind it may have waited for long. */
static void make_up(mca_pml_fastpath_pace_t *pace)
{
    const bool threads = opal_using_threads();
    const bool before = mca_pml_fastpath_take_all(!pace->is_fast || mca_pml_fastpath.takes_all);
    uint64_t turns = 0 == pace->most ? 1 : (pace->looked - pace->noticed) / pace->most;

    if (TURNS_MAX < turns) {
        turns = threads && opal_progress_yield_when_idle ? 1 : TURNS_MAX;
    }
    do {
        pace->may_keep = STREAM_BYTES;
        if (OPAL_UNLIKELY(threads)) {
            (void) opal_progress();
        } else {
            mca_pml_fastpath_progress_only();
        }
    } while (1 < turns--);
    pace->may_keep = SIZE_MAX;
    (void) mca_pml_fastpath_take_all(before);
}

/* It is time to call opal_progress. What it calls may send and receive, too, and comes here then. */
static __opal_attribute_noinline__ int let_progress(void)
{
    mca_pml_fastpath_pace_t *pace = &mca_pml_fastpath_pace;

    if (0 == pace->most) {
        set_interval(pace);
    }
    if (!pace->making_up) {
        pace->making_up = true;
        make_up(pace);
        pace->making_up = false;
    }
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_pace_check(void)
{
    return OPAL_LIKELY(!look_at_clock()) ? OMPI_SUCCESS : let_progress();
}

bool mca_pml_fastpath_pace_begin(void)
{
    return look_at_clock();
}

void mca_pml_fastpath_pace_end(bool due)
{
    if (OPAL_UNLIKELY(due && !mca_pml_fastpath_pace.noted)) {
        (void) let_progress();
    }
}

bool mca_pml_fastpath_pace_is_due(void)
{
    mca_pml_fastpath_pace_t *pace = &mca_pml_fastpath_pace;

    if (!mca_pml_fastpath_pace_count() || !look_at_clock()) {
        return false;
    }
    if (0 == pace->most) {
        set_interval(pace);
    }
    return true;
}
