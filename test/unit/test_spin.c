/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Where processes share cores: waits poll again while everybody tries that, or where it pays. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_spin.c"

enum { SPINS = 100 };

/* ---- what it needs ---- */

mca_pml_fastpath_t mca_pml_fastpath = {.spin_count = SPINS};
bool opal_progress_yield_when_idle;

static uint64_t now;

uint64_t mca_common_fastpath_nanoseconds(void)
{
    return now;
}

static int begin(void **state)
{
    (void) state;
    opal_progress_yield_when_idle = true;
    now = TRIAL_TIME; /* no trial */
    score = 0;
    return 0;
}

static void not_shared(void **state)
{
    (void) state;
    opal_progress_yield_when_idle = false;
    assert_int_equal(SPINS, mca_pml_fastpath_spin_count());
    now = 0;
    assert_int_equal(0, mca_pml_fastpath_spin_again());
}

static void trials(void **state)
{
    (void) state;
    assert_int_equal(1, mca_pml_fastpath_spin_count());
    assert_int_equal(0, mca_pml_fastpath_spin_again());
    now = 7 * TRIAL_PERIOD + TRIAL_TIME - 1;
    assert_int_equal(SHARED_SPINS * SPINS, mca_pml_fastpath_spin_again());
    ++now;
    assert_int_equal(0, mca_pml_fastpath_spin_again());
    assert_true(TRIAL_PERIOD / TRIAL_TIME >= 32); /* little is lost where it does not pay */
}

static void results(unsigned times, bool found)
{
    while (0 < times--) {
        mca_pml_fastpath_spin_result(found);
    }
}

/* One in three that finds something is enough, and one in four is not. */
static void pays(void **state)
{
    (void) state;
    for (int i = 0; i < 100; ++i) {
        results(3, false);
        results(1, true);
        assert_int_equal(0, mca_pml_fastpath_spin_again());
    }
    results(1, true);
    assert_int_equal(SHARED_SPINS * SPINS, mca_pml_fastpath_spin_again());
    for (int i = 0; i < 100; ++i) {
        results(1, true);
        results(2, false);
        assert_int_equal(SHARED_SPINS * SPINS, mca_pml_fastpath_spin_again());
    }
}

/* It goes on for some time after it has paid for long, and no longer. */
static void ends(void **state)
{
    (void) state;
    results(10000, true);
    results(SCORE_MAX - SCORE_PAYS, false);
    assert_int_equal(SHARED_SPINS * SPINS, mca_pml_fastpath_spin_again());
    results(1, false);
    assert_int_equal(0, mca_pml_fastpath_spin_again());
    results(10000, false);
    results(SCORE_PAYS / SCORE_FOUND, true);
    assert_int_equal(SHARED_SPINS * SPINS, mca_pml_fastpath_spin_again());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(not_shared, begin),
        cmocka_unit_test_setup(trials, begin),
        cmocka_unit_test_setup(pays, begin),
        cmocka_unit_test_setup(ends, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
