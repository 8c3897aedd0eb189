/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Processes that nobody has counted share a core: those that wait have to find out that yields help, and each
 * of them, or they wait for each other's time slices; who has one beside it that computes must not yield.
 *
 * The core is simulated: each process in turn has it for a time slice, or until it yields. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_others.c"

enum { PROCESSES = 8, SEEDS = 60 };

static const uint64_t slice = 4 * MS, look_time = MS / 4, poll_time = MS / 200, second = 1000 * MS;

typedef struct {
    mca_pml_fastpath_others_t others;
    bool waits;         /* or it computes */
    bool was_taken;     /* since its last look */
    bool yielded;       /* it gave the core away, and has not had it since */
    uint64_t left;      /* when it had the core last */
    uint64_t waited;    /* for the core since its last look */
    uint64_t looked;
    uint64_t given; /* time that its yields have given away */
} process_t;

static process_t all[PROCESSES];
static int count;
static uint64_t now;
static uint64_t random_state;

static uint64_t random_below(uint64_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % bound;
}

/* Waiting ones first, then those that compute. */
static void begin(int waiting, int computing, uint64_t seed)
{
    memset(all, 0, sizeof(all));
    count = waiting + computing;
    random_state = seed;
    now = 100 * second + random_below(second);
    for (int i = 0; i < count; i++) {
        mca_pml_fastpath_others_init(&all[i].others);
        all[i].waits = i < waiting;
        all[i].looked = all[i].left = now;
    }
}

/* As a wait does: it polls, looks now and then, and yields or not. */
static void run_waiting(process_t *process, uint64_t until)
{
    process->waited += now - process->left;
    if (process->yielded) {
        process->given += now - process->left;
        process->yielded = false;
    }
    while (now < until) {
        now += poll_time;
        if (now - process->looked >= look_time) {
            const uint64_t since = now - process->looked;
            /* as mca_pml_fastpath_pause does: whoever gives the core back at once is not noticed */
            const bool lost = process->waited > MS / 2 && process->waited > since / 8;

            mca_pml_fastpath_others_waited(&process->others, process->looked, now, process->waited);
            mca_pml_fastpath_others_look(&process->others, now,
                                         process->was_taken
                                             && (lost || mca_pml_fastpath_others_want(&process->others)));
            process->looked = now;
            process->was_taken = false;
            process->waited = 0;
        }
        if (mca_pml_fastpath_others_want(&process->others)) {
            process->yielded = true;
            process->was_taken = 1 < count; /* the kernel's word is the same */
            process->left = now;
            return;
        }
    }
    process->was_taken = 1 < count;
    process->left = now;
}

static void run_until(uint64_t end)
{
    while (now < end) {
        for (int i = 0; i < count; i++) {
            if (all[i].waits) {
                run_waiting(&all[i], now + slice - random_below(slice / 4));
            } else {
                now += slice;
            }
        }
    }
}

static bool all_yield(void)
{
    for (int i = 0; i < count; i++) {
        if (all[i].waits && !mca_pml_fastpath_others_want(&all[i].others)) {
            return false;
        }
    }
    return true;
}

/* ---- cases ---- */

/* From the beginning: in less than half a second, nine times of ten. */
static void test_find_out(void **state)
{
    int late = 0;

    (void) state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        begin(2 + (int) (seed % (PROCESSES - 1)), 0, seed);
        run_until(now + second / 2);
        late += !all_yield();
        run_until(now + second);
        assert_true(all_yield());
    }
    assert_true(SEEDS / 10 >= late);
}

/* Each has learned alone that yields do not help, some time ago, and waits for its next trial. */
static void test_meet(void **state)
{
    (void) state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        begin(2 + (int) (seed % (PROCESSES - 1)), 0, seed);
        for (int i = 0; i < count; i++) {
            const uint64_t failures = random_below(8);
            uint64_t at = now - 30 * second;

            for (uint64_t k = 0; k < failures; k++) {
                for (int looks = 0; !mca_pml_fastpath_others_want(&all[i].others); looks++) {
                    mca_pml_fastpath_others_look(&all[i].others, at += slice, true);
                }
                while (mca_pml_fastpath_others_want(&all[i].others)) {
                    mca_pml_fastpath_others_waited(&all[i].others, at, at + slice, slice);
                    at += slice;
                    mca_pml_fastpath_others_look(&all[i].others, at, true);
                }
            }
        }
        run_until(now + 20 * second);
        assert_true(all_yield());
    }
}

/* Beside one that computes: little time is given away. */
static void test_computing(void **state)
{
    (void) state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        begin(1, 1, seed);
        run_until(now + 60 * second);
        assert_true(60 * second / 40 > all[0].given);
    }
}

/* He computes no more, but waits. */
static void test_computing_no_more(void **state)
{
    (void) state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        begin(1 + (int) (seed % 3), 1, seed);
        run_until(now + 10 * second + random_below(20 * second));
        all[count - 1].waits = true;
        run_until(now + 20 * second);
        assert_true(all_yield());
    }
}

/* Nobody wants the core any more. */
static void test_alone_again(void **state)
{
    (void) state;
    begin(2, 0, 1);
    run_until(now + second);
    assert_true(all_yield());
    count = 1;
    run_until(now + 2 * second);
    assert_false(mca_pml_fastpath_others_want(&all[0].others));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_out),    cmocka_unit_test(test_meet),
        cmocka_unit_test(test_computing),   cmocka_unit_test(test_computing_no_more),
        cmocka_unit_test(test_alone_again),
    };

    return cmocka_run_group_tests_name("others", tests, NULL, NULL);
}
