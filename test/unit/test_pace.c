/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* When progress is made up for, and whether the program is taken for one that computes between its calls. The
 * clock stands still but for what the calls here take. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opal_config.h"

#include "opal/mca/common/fastpath/common_fastpath_clock.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_pause.h"

#define mca_common_fastpath_ticks now_ticks
#define opal_progress             mca_pml_fastpath_progress_only

static uint64_t now;

static uint64_t now_ticks(void)
{
    return now;
}

#include "ompi/mca/pml/fastpath/pml_fastpath_pace.c"

enum { MOST = 1000, SLOW = MOST / LOOKS_PER_INTERVAL };

mca_pml_fastpath_t mca_pml_fastpath;
bool opal_uses_threads;
bool opal_progress_yield_when_idle;

static unsigned progressed, streams;

/* Each call may keep as much as the first, whatever that has kept. */
void mca_pml_fastpath_progress_only(void)
{
    ++progressed;
    streams += mca_pml_fastpath.takes_all ? 0 : 1;
    assert_int_equal(STREAM_BYTES, mca_pml_fastpath_pace.may_keep);
    mca_pml_fastpath_pace.may_keep = 0;
    mca_pml_fastpath_pace_note(false);
}

/* Makes so many calls that may wait and take so many ticks each. */
static void receive(unsigned calls, uint64_t each)
{
    progressed = streams = 0;
    for (unsigned i = 0; i < calls; ++i) {
        now += each;
        mca_pml_fastpath_pace_wait();
    }
}

static int begin(void **state)
{
    (void) state;
    now = 1000000;
    mca_pml_fastpath_pace_start();
    mca_pml_fastpath_pace.most = MOST;
    mca_pml_fastpath_pace.slow = SLOW;
    receive(200, 1);
    return 0;
}

/* However long the calls of a stream take, up to what makes each one look at the clock: it is one, and has
 * progress about as often as it is to have it. */
static void streams_of_calls(void **state)
{
    (void) state;
    for (uint64_t each = 1; each <= SLOW; each += 1 + each / 8) {
        enum { CALLS = 100000 };

        receive(100, each);
        receive(CALLS, each);
        assert_int_equal(streams, progressed);
        assert_in_range(progressed, CALLS * each / (2 * MOST), CALLS * each / MOST + 1);
    }
}

/* Who computes between two calls has progress in each, and it is no stream. */
static void computing(void **state)
{
    (void) state;
    for (uint64_t each = MOST; each <= 3 * MOST; each += MOST / 4) {
        receive(100, each);
        receive(1000, each);
        assert_in_range(progressed, 1000, 4000);
        assert_int_equal(0, streams);
    }
}

/* A pause is noticed with the next look at the clock, unless nearly all calls before that were the stream's.
 */
static void stream_ends(void **state)
{
    (void) state;
    receive(1000, 1);
    receive(16, MOST);
    assert_in_range(progressed, 1, 16 * TURNS_MAX);
    assert_in_range(streams, 0, 1);
}

/* Who computes for long after some quick calls is no stream either, and may keep what it likes where it
 * waits. */
static void bursts(void **state)
{
    unsigned all = 0, of_streams = 0;

    (void) state;
    for (unsigned i = 0; i < 1000; ++i) {
        now += 6 * MOST;
        receive(20, 1);
        all += progressed;
        of_streams += streams;
    }
    assert_in_range(all, 1000, 1000 * TURNS_MAX);
    assert_int_equal(0, of_streams);
    assert_true(SIZE_MAX == mca_pml_fastpath_pace.may_keep);
    assert_false(mca_pml_fastpath.takes_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(streams_of_calls, begin),
        cmocka_unit_test_setup(computing, begin),
        cmocka_unit_test_setup(stream_ends, begin),
        cmocka_unit_test_setup(bursts, begin),
    };

    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
