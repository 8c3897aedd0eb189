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

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "compat/fastpath_opal_compat.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"

#include "common_fastpath_clock.h"
#include "common_fastpath_idle.h"

#define US UINT64_C(1000) /* in nanoseconds, as all times here */
#define MS (1000 * US)

/* A sleep lasts such a part of the time that has passed without anything, within these limits.  The parts of
 * a collective operation wait for each other, so what it is late by adds up. */
#define SLEEP_PART  32
#define SLEEP_MIN   (50 * US)
#define SLEEP_MAX   (30 * MS)

/* The sleepers of a core together must not keep it from who works there: each end of a sleep costs that one
 * 30 to 300 us.  So together they end sleeps about as often as one process would: with several processes for
 * each core sleeps last so many times longer, within these limits of the part and of the time
 * (docs/waiting.md, "Many sleepers"). */
#define LONGER_PART_MAX 8
#define LONGER_MAX      32

_Static_assert(1000 * MS > SLEEP_MAX * LONGER_MAX, "fastsm_sleep() takes less than a second");

/* An announcement costs each core some half us that runs a process of btl/fastsm.  So each process may make
 * one in such a time for each process of the node: together they cost a core less than a thousandth. */
#define ANNOUNCE_TIME_EACH (1 * MS)

/* A message that comes soon after a process fell asleep shows that it slept too early (docs/waiting.md, "A
 * core that others need"). If one comes within 1/SOON_PART of the time after which waits sleep, that time is
 * doubled, at most LATER_MAX times, until LATER_EXPIRES has passed. */
#define SOON_PART     4
#define LATER_MAX     3
#define LATER_EXPIRES (1000 * MS)

/* Nanoseconds from the begin of the first sleep of this thread's wait to the end of its last, until that is
 * judged.  Other threads begin waits while this one sleeps. */
static _Thread_local uint64_t slept_;

static atomic_long cores_; /* that are online; 0: nobody has asked yet */

/* Processes of the job on this node. */
static uint64_t num_processes(void)
{
    return 1 + (uint64_t) opal_process_info.num_local_peers;
}

/* Whether an announcement may be made now. */
static bool may_announce(const mca_common_fastpath_idle_t *idle, uint64_t now)
{
    return NULL != idle->ext && now >= atomic_load_explicit(&idle->announce_next, memory_order_relaxed);
}

/* Says to our peers that we are going to sleep.  @return not 0: whatever they send wakes us from now on */
static uint32_t announce(mca_common_fastpath_idle_t *idle, uint64_t now)
{
    uint32_t announced;

    atomic_store_explicit(&idle->announce_next, now + ANNOUNCE_TIME_EACH * num_processes(),
                          memory_order_relaxed);
    announced = idle->ext->announce_sleep(idle->fastsm);
    atomic_store_explicit(&idle->refused, 0 == announced, memory_order_relaxed);
    return announced;
}

/* Whether a wait goes on without sleeping until it may announce that: other threads could not end its sleep.
 */
static bool rather_announces(const mca_common_fastpath_idle_t *idle)
{
    return opal_using_threads() && NULL != idle->ext
           && !atomic_load_explicit(&idle->refused, memory_order_relaxed);
}

/* Whether a look has left something out since the last call, because another thread was looking at that: it
 * may have looked too early. */
static bool has_missed(const mca_common_fastpath_idle_t *idle, mca_common_fastpath_idle_wait_t *wait)
{
    const unsigned long before = wait->missed;

    if (NULL == idle->ext) {
        return false;
    }
    wait->missed = atomic_load_explicit(idle->ext->missed, memory_order_relaxed);
    return before != wait->missed;
}

/* Cores that are online, or 1 if that cannot be found out; asked once: that reads a file. */
static uint64_t num_cores(void)
{
    long cores = atomic_load_explicit(&cores_, memory_order_relaxed);

    if (0 == cores) {
        cores = sysconf(_SC_NPROCESSORS_ONLN);
        cores = 0 < cores ? cores : 1;
        atomic_store_explicit(&cores_, cores, memory_order_relaxed);
    }
    return (uint64_t) cores;
}

/* How many times longer a sleep lasts because of the other processes. */
static uint64_t longer(void)
{
    const uint64_t times = num_processes() / num_cores();

    return 1 > times ? 1 : LONGER_MAX < times ? LONGER_MAX : times;
}

/* How long to sleep at a time. */
static uint64_t sleep_time(uint64_t quiet)
{
    const uint64_t times = longer();
    const uint64_t part_times = LONGER_PART_MAX < times ? LONGER_PART_MAX : times;
    const uint64_t time = quiet * part_times / SLEEP_PART, most = SLEEP_MAX * times;

    return SLEEP_MIN > time ? SLEEP_MIN : most < time ? most : time;
}

/* A sleep that messages end: it has been announced, or there is nobody to announce it to. @param relay
 * messages of other nodes end it. @return whether one has come */
static bool sleep_until_woken(mca_common_fastpath_idle_t *idle, mca_common_fastpath_idle_wait_t *wait,
                              uint64_t time, bool relay)
{
    mca_common_fastpath_relay_result_t result;

    if (relay) {
        result = mca_common_fastpath_relay_sleep(&idle->relay, wait->announced, time);
    } else {
        result.announced = idle->ext->sleep(idle->fastsm, wait->announced, time);
        result.woken = !result.announced;
    }
    wait->announced = result.announced ? wait->announced : 0;
    return result.woken;
}

/* How often `after` is doubled now. Where waits give their core away a sleep gains nothing for the others,
 * and may give back to this thread what it has given away. */
static unsigned later_now(const mca_common_fastpath_idle_t *idle, uint64_t now)
{
    if (opal_progress_yield_when_idle) {
        return LATER_MAX;
    }
    return now < atomic_load_explicit(&idle->later_until, memory_order_relaxed)
               ? atomic_load_explicit(&idle->later, memory_order_relaxed)
               : 0;
}

/* Something has happened: finds out whether this thread's sleep before it was one too many. */
static void judge_sleep(mca_common_fastpath_idle_t *idle, uint64_t after, uint64_t now)
{
    const uint64_t slept = slept_;
    const unsigned later = later_now(idle, now);

    if (0 == slept) {
        return;
    }
    slept_ = 0;
    if (slept < (after << later) / SOON_PART) {
        atomic_store_explicit(&idle->later, LATER_MAX > later ? later + 1 : later, memory_order_relaxed);
        atomic_store_explicit(&idle->later_until, now + LATER_EXPIRES, memory_order_relaxed);
    } else {
        atomic_store_explicit(&idle->later_until, 0, memory_order_relaxed);
    }
}

/* A signal ends a sleep early, which does no harm. */
static mca_common_fastpath_idle_result_t sleep_for(mca_common_fastpath_idle_t *idle,
                                                   mca_common_fastpath_idle_wait_t *wait, uint64_t now,
                                                   uint64_t time, bool relay)
{
    const struct timespec slice = {.tv_nsec = (long) time};
    mca_common_fastpath_idle_result_t result = {.look = true};

    wait->slept_since = 0 == wait->slept_since ? now : wait->slept_since;
    if (0 != wait->announced || relay) {
        result.woken = sleep_until_woken(idle, wait, time, relay);
    } else {
        (void) nanosleep(&slice, NULL);
    }
    result.time = mca_common_fastpath_nanoseconds() - now;
    slept_ = now + result.time - wait->slept_since;
    if (result.woken) {
        wait->since = 0; /* something has happened, though it may not count as activity */
    }
    return result;
}

mca_common_fastpath_idle_result_t mca_common_fastpath_idle(mca_common_fastpath_idle_t *idle,
                                                           mca_common_fastpath_idle_wait_t *wait,
                                                           unsigned long activity,
                                                           const mca_common_fastpath_idle_rules_t *rules)
{
    const bool always = MCA_COMMON_FASTPATH_WAIT_SLEEP == rules->mode;
    bool relay, unheard;
    uint64_t now;

    if (!always && MCA_COMMON_FASTPATH_WAIT_AUTO != rules->mode) {
        return (mca_common_fastpath_idle_result_t){.look = false};
    }
    now = mca_common_fastpath_nanoseconds();
    if (0 == wait->since || wait->activity != activity) {
        judge_sleep(idle, rules->after, now);
        *wait = (mca_common_fastpath_idle_wait_t){.since = now, .activity = activity};
    }
    if (rules->after << later_now(idle, now) > now - wait->since) {
        return (mca_common_fastpath_idle_result_t){.look = false};
    }
    unheard = rules->unheard();
    if (unheard && !always) {
        return (mca_common_fastpath_idle_result_t){.look = false};
    }
    relay = !rules->one_node && mca_common_fastpath_relay_usable(&idle->relay, idle->fastsm, idle->ext);
    if (!always && !rules->one_node && !relay) {
        return (mca_common_fastpath_idle_result_t){.look = false};
    }
    if (0 == wait->announced && may_announce(idle, now)) {
        wait->announced = announce(idle, now);
        if (0 != wait->announced) {
            (void) has_missed(idle, wait);
            return (mca_common_fastpath_idle_result_t){.look = true};
        }
    }
    if (0 != wait->announced && has_missed(idle, wait)) {
        return (mca_common_fastpath_idle_result_t){.look = true};
    }
    if (0 != wait->announced || (relay && NULL == idle->ext) || (always && !rather_announces(idle))) {
        return sleep_for(idle, wait, now, unheard ? SLEEP_MIN : sleep_time(now - wait->since), relay);
    }
    return (mca_common_fastpath_idle_result_t){.look = false};
}
