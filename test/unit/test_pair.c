/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Whether two processes reach each other: both sides come to the same
 * conclusion, step by step in one thread, and between two threads that begin,
 * look and give up at any time.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "opal/mca/btl/fastsm/btl_fastsm_pair.h"

static const uint8_t nonce_a[MCA_BTL_FASTSM_NONCE_SIZE] = {0xff, 1, 2, 3, 4};
static const uint8_t nonce_b[MCA_BTL_FASTSM_NONCE_SIZE] = {0xf0, 9, 8, 7, 6};

/* Both sides of a pair, and their words. */
typedef struct {
    _Atomic uint32_t words[2];
    fastsm_pair_t pair[2];
} fixture_t;

enum { HOST, GUEST };
#define OFFERED MCA_BTL_FASTSM_PAIR_OFFERED
#define AGREED  MCA_BTL_FASTSM_PAIR_AGREED
#define REFUSED MCA_BTL_FASTSM_PAIR_REFUSED

static void meet(fixture_t *f, bool host_sees, bool guest_sees)
{
    const bool sees[2] = {host_sees, guest_sees};

    for (int side = HOST; side <= GUEST; ++side) {
        f->pair[side] = (fastsm_pair_t){.own = &f->words[side],
                                        .other = sees[side] ? &f->words[1 - side] : NULL,
                                        .tag = fastsm_pair_tag(nonce_a, nonce_b),
                                        .host = HOST == side};
    }
}

static void fresh(fixture_t *f, bool host_sees, bool guest_sees)
{
    atomic_store(&f->words[HOST], 0);
    atomic_store(&f->words[GUEST], 0);
    meet(f, host_sees, guest_sees);
}

static void test_tag(void **state)
{
    const uint32_t tag = fastsm_pair_tag(nonce_a, nonce_b);

    (void) state;
    assert_int_equal(tag, fastsm_pair_tag(nonce_b, nonce_a));
    assert_int_equal(0, tag & MCA_BTL_FASTSM_PAIR_NO_TAG);
    assert_int_not_equal(0, tag);
}

static void test_both_reach(void **state)
{
    fixture_t f;

    (void) state;
    fresh(&f, true, true);
    assert_int_equal(OFFERED, fastsm_pair_begin(&f.pair[GUEST], true));
    assert_int_equal(OFFERED, fastsm_pair_look(&f.pair[GUEST])); /* not offered yet */
    assert_int_equal(OFFERED, fastsm_pair_begin(&f.pair[HOST], true));
    assert_int_equal(OFFERED, fastsm_pair_look(&f.pair[HOST]));
    assert_int_equal(AGREED, fastsm_pair_look(&f.pair[GUEST]));
    assert_int_equal(AGREED, fastsm_pair_look(&f.pair[HOST]));
    assert_int_equal(AGREED, fastsm_pair_look(&f.pair[GUEST])); /* one that has forgotten it */
    assert_int_equal(AGREED, fastsm_pair_give_up(&f.pair[HOST]));
}

static void test_one_way(void **state)
{
    fixture_t f;

    (void) state;
    fresh(&f, true, false);
    assert_int_equal(OFFERED, fastsm_pair_begin(&f.pair[HOST], true));
    assert_int_equal(OFFERED, fastsm_pair_look(&f.pair[HOST]));
    assert_int_equal(REFUSED, fastsm_pair_begin(&f.pair[GUEST], false));
    assert_int_equal(REFUSED, fastsm_pair_look(&f.pair[HOST]));
    assert_int_equal(REFUSED, fastsm_pair_give_up(&f.pair[HOST]));

    fresh(&f, false, true);
    assert_int_equal(OFFERED, fastsm_pair_begin(&f.pair[GUEST], true));
    assert_int_equal(REFUSED, fastsm_pair_begin(&f.pair[HOST], false));
    assert_int_equal(REFUSED, fastsm_pair_look(&f.pair[GUEST]));
}

/* Whether one side can read the other's memory is told beside what they have agreed upon, and changes nothing
 * of that. */
static void test_reading(void **state)
{
    fixture_t f;

    (void) state;
    fresh(&f, true, true);
    fastsm_pair_begin(&f.pair[HOST], true);
    fastsm_pair_begin(&f.pair[GUEST], true);
    fastsm_pair_look(&f.pair[GUEST]);
    for (int side = HOST; side <= GUEST; ++side) {
        assert_false(fastsm_pair_refuses(&f.pair[side])); /* nothing is said yet */
    }
    fastsm_pair_tell(&f.pair[HOST], false);
    assert_true(fastsm_pair_refuses(&f.pair[GUEST]));
    assert_false(fastsm_pair_refuses(&f.pair[HOST]));
    fastsm_pair_tell(&f.pair[GUEST], true);
    assert_false(fastsm_pair_refuses(&f.pair[HOST]));
    for (int side = HOST; side <= GUEST; ++side) {
        assert_int_equal(AGREED, fastsm_pair_look(&f.pair[side]));
    }
    fastsm_pair_tell(&f.pair[GUEST], false);
    assert_true(fastsm_pair_refuses(&f.pair[HOST]));
    fastsm_pair_tell(&f.pair[HOST], true);
    assert_false(fastsm_pair_refuses(&f.pair[GUEST]));

    /* what somebody else has left there is no word of this pair's */
    fastsm_pair_tell(&f.pair[HOST], false);
    atomic_fetch_xor(&f.words[HOST], UINT32_C(0x80000000));
    assert_false(fastsm_pair_refuses(&f.pair[GUEST]));
    f.pair[GUEST].other = NULL;
    assert_false(fastsm_pair_refuses(&f.pair[GUEST]));
}

static void test_giving_up(void **state)
{
    fixture_t f;

    (void) state;
    fresh(&f, true, true);
    fastsm_pair_begin(&f.pair[HOST], true);
    assert_int_equal(REFUSED, fastsm_pair_give_up(&f.pair[HOST]));
    fastsm_pair_begin(&f.pair[GUEST], true);
    assert_int_equal(REFUSED, fastsm_pair_look(&f.pair[GUEST]));

    fresh(&f, true, true);
    fastsm_pair_begin(&f.pair[GUEST], true);
    assert_int_equal(REFUSED, fastsm_pair_give_up(&f.pair[GUEST]));
    fastsm_pair_begin(&f.pair[HOST], true);
    assert_int_equal(REFUSED, fastsm_pair_look(&f.pair[HOST]));

    fresh(&f, true, true);
    fastsm_pair_begin(&f.pair[HOST], true);
    fastsm_pair_begin(&f.pair[GUEST], true);
    assert_int_equal(AGREED, fastsm_pair_look(&f.pair[GUEST]));
    assert_int_equal(AGREED, fastsm_pair_give_up(&f.pair[HOST])); /* too late */
}

/* What others have left in the words is no word of this pair, and its answer does not change theirs. */
static void test_other_lives(void **state)
{
    fixture_t f;

    (void) state;
    for (uint32_t left = OFFERED; left <= REFUSED; ++left) {
        fresh(&f, true, true);
        atomic_store(&f.words[HOST], 0x1234560 | left);
        atomic_store(&f.words[GUEST], 0x1234560 | left);
        fastsm_pair_begin(&f.pair[GUEST], true);
        assert_int_equal(OFFERED, fastsm_pair_look(&f.pair[GUEST]));
        assert_int_equal(0x1234560 | left, atomic_load(&f.words[HOST]));
        atomic_store(&f.words[GUEST], 0x1234560 | left);
        fastsm_pair_begin(&f.pair[HOST], true);
        assert_int_equal(OFFERED, fastsm_pair_look(&f.pair[HOST]));
        assert_int_equal(AGREED, fastsm_pair_look(&f.pair[GUEST]));
        assert_int_equal(AGREED, fastsm_pair_look(&f.pair[HOST]));
    }
}

enum { ROUNDS = 30000 };

typedef struct {
    fixture_t *f;
    int side;
    pthread_barrier_t *barrier;
    uint8_t *results;
} thread_t;

/* Every eighth time it cannot map the other; it gives up after 0 to 31 looks. */
static void *side_main(void *argument)
{
    thread_t *thread = argument;
    unsigned seed = (unsigned) thread->side + 7;

    for (int round = 0; round < ROUNDS; ++round) {
        const bool sees = 0 != rand_r(&seed) % 8;
        int looks = rand_r(&seed) % 32;
        const fastsm_pair_t *pair = &thread->f->pair[thread->side];
        mca_btl_fastsm_pair_state_t now;

        if (HOST == thread->side) {
            fresh(thread->f, true, true);
        }
        pthread_barrier_wait(thread->barrier);
        now = fastsm_pair_begin(pair, sees);
        while (OFFERED == now) {
            now = 0 < looks-- ? fastsm_pair_look(pair) : fastsm_pair_give_up(pair);
            if (0 == looks % 8) {
                sched_yield();
            }
        }
        thread->results[round] = (uint8_t) now;
        pthread_barrier_wait(thread->barrier);
    }
    return NULL;
}

static void test_two_threads(void **state)
{
    static uint8_t results[2][ROUNDS];
    pthread_barrier_t barrier;
    pthread_t threads[2];
    thread_t sides[2];
    int agreed = 0;
    fixture_t f;

    (void) state;
    pthread_barrier_init(&barrier, NULL, 2);
    for (int side = HOST; side <= GUEST; ++side) {
        sides[side] = (thread_t){.f = &f, .side = side, .barrier = &barrier, .results = results[side]};
        assert_int_equal(0, pthread_create(&threads[side], NULL, side_main, &sides[side]));
    }
    for (int side = HOST; side <= GUEST; ++side) {
        assert_int_equal(0, pthread_join(threads[side], NULL));
    }
    for (int round = 0; round < ROUNDS; ++round) {
        assert_int_equal(results[HOST][round], results[GUEST][round]);
        agreed += AGREED == results[HOST][round];
    }
    print_message("%d of %d rounds agreed\n", agreed, ROUNDS);
    assert_in_range(agreed, 1, ROUNDS - 1);
    pthread_barrier_destroy(&barrier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tag),         cmocka_unit_test(test_both_reach),
        cmocka_unit_test(test_one_way),     cmocka_unit_test(test_giving_up),
        cmocka_unit_test(test_other_lives), cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_reading),
    };

    alarm(3000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
