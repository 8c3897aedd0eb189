/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Of all buffers and few of them those take turns that are sooner, also when that changes; what differs now
 * and then decides nothing, and a trial that does not come out well is short. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opal/mca/btl/fastsm/btl_fastsm_rotation.c"

enum { BUFFERS = 768, RUN = 1 << 20 };

static mca_btl_fastsm_rotation_t rotation;
static uint64_t now;

/* Takes so many buffers, each of which takes so many ticks while all take turns, or few.  @return how many
 * were taken while few did */
static uint32_t take(uint32_t count, uint32_t all, uint64_t ticks_all, uint64_t ticks_few)
{
    uint32_t few = 0;

    for (uint32_t i = 0; i < count; ++i) {
        now += rotation.few_now ? ticks_few : ticks_all;
        few += rotation.few_now ? 1 : 0;
        if (0 == --rotation.left) {
            mca_btl_fastsm_rotation_step(&rotation, now, all);
        }
        assert_true(0 < rotation.left && rotation.left <= RESTING);
    }
    return few;
}

static int begin(void **state)
{
    (void) state;
    now = 1;
    mca_btl_fastsm_rotation_init(&rotation);
    return 0;
}

/* As long as not all have had their turn nothing is tried, and when new ones are made meanwhile no more. */
static void test_not_yet(void **state)
{
    (void) state;
    assert_int_equal(0, take(RUN, 0, 1000, 1));
    assert_false(rotation.few);
    assert_true(0 < take(2 * RESTING, BUFFERS, 1000, 1));
    (void) take(RESTING, 0, 1000, 1);
    assert_int_equal(0, take(RUN, 0, 1000, 1));
    assert_false(rotation.few);
}

static void test_few(void **state)
{
    (void) state;
    (void) take(RESTING + PAIRS * (BUFFERS + SETTLE_FEW + 2 * COUNTED), BUFFERS, 1000, 990);
    assert_true(rotation.few);
    assert_true(RUN / 100 * 90 < take(RUN, BUFFERS, 1000, 990));
    assert_true(rotation.few);
}

/* Where few are slow, less than one in a hundred is taken of them. */
static void test_all(void **state)
{
    (void) state;
    assert_in_range(take(RUN, BUFFERS, 1000, 2000), 1, RUN / 100);
    assert_false(rotation.few);
}

static void test_change(void **state)
{
    (void) state;
    (void) take(RUN, BUFFERS, 1000, 900);
    assert_true(rotation.few);
    (void) take(RUN, BUFFERS, 900, 1000);
    assert_false(rotation.few);
    (void) take(RUN, BUFFERS, 1000, 900);
    assert_true(rotation.few);
}

/* What is no sooner is not chosen, and one of several pairs may be disturbed. */
static void test_noise(void **state)
{
    (void) state;
    (void) take(RUN, BUFFERS, 1000, 1000);
    assert_false(rotation.few);
    begin(NULL);
    (void) take(RESTING + BUFFERS + COUNTED + SETTLE_FEW, BUFFERS, 1000, 900);
    now += 1000000; /* somebody else has the core in the first phase of few */
    (void) take(PAIRS * (BUFFERS + SETTLE_FEW + 2 * COUNTED), BUFFERS, 1000, 900);
    assert_true(rotation.few);
}

/* What becomes slower and slower, or sooner and sooner, does not decide. */
static void test_drift(void **state)
{
    enum { TIMES = RUN / 64, LEAST = 1000 };

    (void) state;
    for (uint64_t i = 0; TIMES > i; ++i) {
        (void) take(64, BUFFERS, LEAST + i, LEAST + i);
        assert_false(rotation.few);
    }
    begin(NULL);
    for (uint64_t i = 0; TIMES > i; ++i) {
        (void) take(64, BUFFERS, LEAST + TIMES - i, LEAST + TIMES - i);
        assert_false(rotation.few);
    }
}

/* A trial that is stopped chooses nothing. */
static void test_stop(void **state)
{
    (void) state;
    for (int i = 0; i < 100; ++i) {
        (void) take(RESTING + BUFFERS + COUNTED + SETTLE_FEW, BUFFERS, 1000, 900);
        assert_true(rotation.few_now);
        mca_btl_fastsm_rotation_stop(&rotation);
        assert_false(rotation.few_now);
    }
    assert_false(rotation.few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_not_yet, begin), cmocka_unit_test_setup(test_few, begin),
        cmocka_unit_test_setup(test_all, begin),     cmocka_unit_test_setup(test_change, begin),
        cmocka_unit_test_setup(test_noise, begin),   cmocka_unit_test_setup(test_drift, begin),
        cmocka_unit_test_setup(test_stop, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
