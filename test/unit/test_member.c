/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The target lock of a member of a window: whom a reader waits behind, and for how long. Interleavings are
 * test/model/lock.pml's.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ompi/mca/osc/fastpath/osc_fastpath_member.h"

enum { BEGIN = 1000 };

/* A writer waits for a free lock: it has been given back, and somebody else may be first. */
static bool a_writer_waits(mca_osc_fastpath_lockword_t *word)
{
    bool waiting = false;

    assert_true(mca_osc_fastpath_lock_shared(word, false));
    assert_false(mca_osc_fastpath_lock_exclusive(word, &waiting));
    mca_osc_fastpath_lock_release(word, false);
    return waiting;
}

static void reader_waits_behind_writers(void **state)
{
    mca_osc_fastpath_lockword_t word = {0};

    (void) state;
    assert_true(a_writer_waits(&word));
    assert_false(mca_osc_fastpath_lock_shared(&word, false));
    assert_true(mca_osc_fastpath_lock_shared(&word, true)); /* it has another lock */
}

static void late_reader_takes_a_free_lock(void **state)
{
    mca_osc_fastpath_lockword_t word = {0};
    unsigned long since = 0;
    bool waiting = a_writer_waits(&word);

    (void) state;
    assert_false(mca_osc_fastpath_lock_shared_late(&word, false, &since, BEGIN));
    assert_int_equal(BEGIN, since);
    assert_false(
        mca_osc_fastpath_lock_shared_late(&word, false, &since, BEGIN + MCA_OSC_FASTPATH_PATIENCE - 1));
    assert_true(mca_osc_fastpath_lock_shared_late(&word, false, &since, BEGIN + MCA_OSC_FASTPATH_PATIENCE));
    assert_int_equal(BEGIN, since);
    assert_false(mca_osc_fastpath_lock_exclusive(&word, &waiting));
    mca_osc_fastpath_lock_release(&word, false);
    assert_true(mca_osc_fastpath_lock_exclusive(&word, &waiting));
    assert_false(waiting);
}

static void late_reader_joins_nobody(void **state)
{
    mca_osc_fastpath_lockword_t word = {0};
    unsigned long since = BEGIN;
    const unsigned long late = BEGIN + 2 * MCA_OSC_FASTPATH_PATIENCE_CLAIMED;
    bool waiting = a_writer_waits(&word);

    (void) state;
    assert_true(mca_osc_fastpath_lock_shared(&word, true));
    assert_false(mca_osc_fastpath_lock_shared_late(&word, false, &since, late));
    mca_osc_fastpath_lock_release(&word, false);
    assert_true(mca_osc_fastpath_lock_exclusive(&word, &waiting));
    assert_false(mca_osc_fastpath_lock_shared_late(&word, false, &since, late));
}

static void claim_holds_up_others_for_longer(void **state)
{
    mca_osc_fastpath_lockword_t word = {0};
    mca_osc_fastpath_claims_t claims = {0};
    unsigned long since = BEGIN;
    bool waiting = false;

    (void) state;
    assert_true(mca_osc_fastpath_lock_shared(&word, false));
    assert_false(mca_osc_fastpath_lock_claim(&word, &claims, &waiting));
    mca_osc_fastpath_lock_release(&word, false);
    assert_false(mca_osc_fastpath_lock_shared(&word, false));
    assert_false(mca_osc_fastpath_lock_shared_late(&word, false, &since,
                                                   BEGIN + MCA_OSC_FASTPATH_PATIENCE_CLAIMED - 1));
    assert_true(mca_osc_fastpath_lock_shared_late(&word, true, &since, BEGIN + MCA_OSC_FASTPATH_PATIENCE));
    mca_osc_fastpath_lock_release(&word, false);
    assert_true(
        mca_osc_fastpath_lock_shared_late(&word, false, &since, BEGIN + MCA_OSC_FASTPATH_PATIENCE_CLAIMED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_waits_behind_writers),
        cmocka_unit_test(late_reader_takes_a_free_lock),
        cmocka_unit_test(late_reader_joins_nobody),
        cmocka_unit_test(claim_holds_up_others_for_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
