/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* When waits sleep, by a clock that the tests set. */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opal/mca/common/fastpath/common_fastpath_idle.c"

#define AFTER (5 * MS)

static bool no(void)
{
    return false;
}

static bool yes(void)
{
    return true;
}

static const mca_common_fastpath_idle_rules_t rules = {
    .after = AFTER, .mode = MCA_COMMON_FASTPATH_WAIT_AUTO, .one_node = true, .unheard = no};

/* ---- what stands in for the clock, btl/fastsm and the relay ---- */

static uint64_t clock_;
static uint64_t sleep_lasts;
static uint64_t sleep_asked;
static bool sleep_ended; /* by what somebody has sent */

uint64_t mca_common_fastpath_nanoseconds(void)
{
    return clock_;
}

bool mca_common_fastpath_relay_usable(mca_common_fastpath_relay_t *relay, mca_btl_base_module_t *fastsm,
                                      const mca_btl_fastsm_ext_t *ext)
{
    (void) relay;
    (void) fastsm;
    (void) ext;
    return false;
}

mca_common_fastpath_relay_result_t mca_common_fastpath_relay_sleep(mca_common_fastpath_relay_t *relay,
                                                                   uint32_t word, uint64_t time)
{
    (void) relay;
    (void) word;
    (void) time;
    fail_msg("nobody uses the relay here");
    return (mca_common_fastpath_relay_result_t){.woken = false};
}

static uint32_t announce_sleep(mca_btl_base_module_t *btl)
{
    (void) btl;
    return 1;
}

static bool sleep_now(mca_btl_base_module_t *btl, uint32_t word, uint64_t time)
{
    (void) btl;
    assert_int_equal(word, 1);
    sleep_asked = time;
    clock_ += sleep_lasts;
    return !sleep_ended;
}

static _Atomic unsigned long missed;
static const mca_btl_fastsm_ext_t ext = {
    .announce_sleep = announce_sleep, .sleep = sleep_now, .missed = &missed};

/* ---- the tests ---- */

static void begin(void)
{
    clock_ = 7000 * MS;
    sleep_ended = false;
    slept_ = 0;
}

/* One wait in which nothing happens until it has slept once. @return how long it has waited before that */
static uint64_t waits_before_sleep(mca_common_fastpath_idle_t *idle, uint64_t lasts)
{
    mca_common_fastpath_idle_wait_t wait = {.since = 0};
    const uint64_t begun = clock_;

    sleep_lasts = lasts;
    while (clock_ - begun < 1000 * MS) {
        const uint64_t now = clock_;

        if (0 < mca_common_fastpath_idle(idle, &wait, 0, &rules).time) {
            return now - begun;
        }
        clock_ += 10 * US;
    }
    return UINT64_MAX;
}

/* The clock is asked every 10 us, and an announcement takes one call more. */
static void assert_sleeps_after(mca_common_fastpath_idle_t *idle, uint64_t after, uint64_t lasts)
{
    const uint64_t time = waits_before_sleep(idle, lasts);

    assert_in_range(time, after, after + 50 * US);
}

static void test_sleeps_after(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};

    (void) state;
    begin();
    for (int i = 0; i < 10; ++i) {
        assert_sleeps_after(&idle, AFTER, 20 * MS);
    }
}

/* Each sleep is over at once: waits sleep later and later, and as before when a sleep has lasted. */
static void test_sleeps_later(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};

    (void) state;
    begin();
    assert_sleeps_after(&idle, AFTER, 20 * US);
    assert_sleeps_after(&idle, 2 * AFTER, 20 * US);
    assert_sleeps_after(&idle, 4 * AFTER, 20 * US);
    assert_sleeps_after(&idle, 8 * AFTER, 20 * US);
    assert_sleeps_after(&idle, 8 * AFTER, 20 * MS);
    assert_sleeps_after(&idle, AFTER, 20 * MS);
}

static void test_later_expires(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};

    (void) state;
    begin();
    assert_sleeps_after(&idle, AFTER, 20 * US);
    assert_sleeps_after(&idle, 2 * AFTER, 20 * US);
    clock_ += 1000 * MS;
    assert_sleeps_after(&idle, 2 * AFTER, 20 * US); /* and not 4: it begins anew */
}

/* Where waits give their core away others have it anyway. */
static void test_yielding(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};

    (void) state;
    begin();
    opal_progress_yield_when_idle = true;
    for (int i = 0; i < 3; ++i) {
        assert_sleeps_after(&idle, 8 * AFTER, 100 * MS);
    }
    opal_progress_yield_when_idle = false;
    assert_sleeps_after(&idle, AFTER, 20 * MS);
}

/* What counts is the whole time asleep: many short sleeps of one wait are a long one. */
static void test_several_sleeps_are_one(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};
    mca_common_fastpath_idle_wait_t wait = {.since = 0};

    (void) state;
    begin();
    sleep_lasts = 50 * US;
    for (uint64_t end = clock_ + 3 * AFTER; clock_ < end; clock_ += 10 * US) {
        (void) mca_common_fastpath_idle(&idle, &wait, 0, &rules);
    }
    assert_sleeps_after(&idle, AFTER, 20 * MS);
}

/* A message that is for somebody else begins the time anew, too. */
static void test_activity_ends_a_sleep(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};
    mca_common_fastpath_idle_wait_t wait = {.since = 0};
    uint64_t begun, slept = 0;

    (void) state;
    begin();
    sleep_lasts = 20 * US;
    for (unsigned long activity = 0; activity < 2; ++activity) {
        begun = clock_;
        do {
            clock_ += 10 * US;
            slept = mca_common_fastpath_idle(&idle, &wait, activity, &rules).time;
        } while (0 == slept);
        assert_in_range(clock_ - begun, AFTER << activity, (AFTER << activity) + 100 * US);
    }
}

/* Whatever ends a sleep begins the time anew, though it may not count as activity. */
static void test_what_ends_a_sleep(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};
    mca_common_fastpath_idle_wait_t wait = {.since = 0};
    unsigned sleeps = 0;

    (void) state;
    begin();
    sleep_lasts = 20 * MS;
    sleep_ended = true;
    for (uint64_t end = clock_ + 10 * (AFTER + sleep_lasts); clock_ < end; clock_ += 10 * US) {
        sleeps += 0 < mca_common_fastpath_idle(&idle, &wait, 0, &rules).time;
    }
    assert_in_range(sleeps, 9, 10);
}

/* A wait of ten seconds. @param first  its first sleep @return its longest one */
static uint64_t longest_sleep(uint64_t *first)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};
    mca_common_fastpath_idle_wait_t wait = {.since = 0};
    uint64_t longest = 0;

    begin();
    *first = 0;
    sleep_lasts = MS;
    for (uint64_t end = clock_ + 10000 * MS; clock_ < end; clock_ += 10 * US) {
        if (0 < mca_common_fastpath_idle(&idle, &wait, 0, &rules).time) {
            *first = 0 == *first ? sleep_asked : *first;
            assert_in_range(sleep_asked, longest, 960 * MS);
            longest = sleep_asked;
        }
    }
    return longest;
}

/* More of them for each core sleep longer. */
static void test_many_sleepers(void **state)
{
    static const struct {
        uint32_t processes;
        uint64_t longer; /* times: the longest */
        uint64_t first;  /* times */
    } nodes[] = {{1, 1, 1}, {3, 1, 1}, {4, 2, 2}, {16, 8, 8}, {64, 32, 8}, {1000, 32, 8}};
    const uint32_t peers = opal_process_info.num_local_peers;
    uint64_t first;

    (void) state;
    atomic_store(&cores_, 2);
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); ++i) {
        opal_process_info.num_local_peers = nodes[i].processes - 1;
        assert_int_equal(nodes[i].longer * 30 * MS, longest_sleep(&first));
        assert_in_range(first, nodes[i].first * AFTER / 32, nodes[i].first * (AFTER + 50 * US) / 32);
    }
    opal_process_info.num_local_peers = peers;
}

static void *sleep_shortly(void *idle)
{
    assert_sleeps_after(idle, AFTER, 20 * US);
    return NULL;
}

/* What another thread has slept says nothing of this one's waits. */
static void test_another_thread(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};
    pthread_t thread;

    (void) state;
    begin();
    assert_int_equal(0, pthread_create(&thread, NULL, sleep_shortly, &idle));
    assert_int_equal(0, pthread_join(thread, NULL));
    assert_sleeps_after(&idle, AFTER, 20 * US);
    assert_sleeps_after(&idle, 2 * AFTER, 20 * MS);
}

static void test_modes(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};
    mca_common_fastpath_idle_wait_t wait = {.since = 0};

    (void) state;
    begin();
    for (int mode = MCA_COMMON_FASTPATH_WAIT_SPIN; mode <= MCA_COMMON_FASTPATH_WAIT_YIELD; ++mode) {
        const mca_common_fastpath_idle_rules_t rule = {
            .after = AFTER, .mode = mode, .one_node = true, .unheard = no};

        for (int i = 0; i < 100; ++i, clock_ += MS) {
            assert_int_equal(0, mca_common_fastpath_idle(&idle, &wait, 0, &rule).time);
        }
    }
}

/* Who may be needed for what ends no sleep does not sleep, or by request for as short as possible. */
static void test_unheard(void **state)
{
    mca_common_fastpath_idle_t idle = {.ext = &ext};
    mca_common_fastpath_idle_wait_t wait = {.since = 0};
    mca_common_fastpath_idle_rules_t rule = rules;
    unsigned sleeps = 0;

    (void) state;
    begin();
    rule.unheard = yes;
    sleep_lasts = 50 * US;
    for (int i = 0; i < 1000; ++i, clock_ += MS) {
        assert_int_equal(0, mca_common_fastpath_idle(&idle, &wait, 0, &rule).time);
    }
    rule.mode = MCA_COMMON_FASTPATH_WAIT_SLEEP;
    for (int i = 0; i < 1000; ++i, clock_ += MS) {
        if (0 < mca_common_fastpath_idle(&idle, &wait, 0, &rule).time) {
            assert_int_equal(50 * US, sleep_asked);
            ++sleeps;
        }
    }
    assert_in_range(sleeps, 990, 1000);
    (void) mca_common_fastpath_idle(&idle, &wait, 0, &rules);
    assert_int_equal(30 * MS, sleep_asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleeps_after),
        cmocka_unit_test(test_sleeps_later),
        cmocka_unit_test(test_later_expires),
        cmocka_unit_test(test_yielding),
        cmocka_unit_test(test_several_sleeps_are_one),
        cmocka_unit_test(test_activity_ends_a_sleep),
        cmocka_unit_test(test_many_sleepers),
        cmocka_unit_test(test_another_thread),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_unheard),
        cmocka_unit_test(test_what_ends_a_sleep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
