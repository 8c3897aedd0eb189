/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What fastpath-commtest decides before it calls MPI: who talks to whom, what a command line means, which
 * line goes through times, and whether data is right.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contrib/commtest/fit.h"
#include "contrib/commtest/plan.h"
#include "contrib/commtest/verify.h"

/* What each process sends to as expected, and why nothing if it has to be possible. */
static void expect(int processes, commtest_command_t command, commtest_who_t who, int distance, int turn,
                   const int *to)
{
    commtest_partners_t partners;

    assert_true(commtest_partners_open(&partners, processes));
    assert_true(commtest_partners_at(&partners, command, who, distance, turn));
    for (int p = 0; p < processes; ++p) {
        assert_int_equal(to[p], partners.to[p]);
        assert_true(COMMTEST_NOBODY == to[p] || p == partners.from[to[p]]);
    }
    commtest_partners_close(&partners);
}

static void test_swaps(void **state)
{
    (void) state;
    expect(4, COMMTEST_SWAP, COMMTEST_PAIR, 1, 1, (int[]){1, 0, -1, -1});
    expect(4, COMMTEST_SWAP, COMMTEST_TURNS, 1, 3, (int[]){3, -1, -1, 0});
    expect(4, COMMTEST_SWAP, COMMTEST_PAIRS, 1, 1, (int[]){1, 0, 3, 2});
    expect(4, COMMTEST_SWAP, COMMTEST_PAIRS, 2, 1, (int[]){2, 3, 0, 1});
    expect(6, COMMTEST_SWAP, COMMTEST_PAIRS, 3, 1, (int[]){3, 4, 5, 0, 1, 2});
    assert_int_equal(3, commtest_partners_turns(COMMTEST_TURNS, 1, 4));
    assert_int_equal(1, commtest_partners_turns(COMMTEST_TURNS, 2, 4));
    assert_int_equal(1, commtest_partners_turns(COMMTEST_PAIRS, 1, 4));
}

static void test_cycles(void **state)
{
    (void) state;
    expect(3, COMMTEST_SENDRECV, COMMTEST_PAIRS, 1, 1, (int[]){1, 2, 0});
    expect(4, COMMTEST_SENDRECV, COMMTEST_PAIRS, 2, 1, (int[]){2, 3, 0, 1});
    expect(4, COMMTEST_SENDRECV, COMMTEST_PAIR, 2, 1, (int[]){2, -1, 0, -1});
    expect(5, COMMTEST_SENDRECV, COMMTEST_TURNS, 2, 2, (int[]){4, 0, 1, 2, 3});
}

/* In every cycle somebody sends first to somebody who receives first, else all would send or all would
 * receive. */
static void test_order(void **state)
{
    commtest_partners_t partners;

    (void) state;
    for (int processes = 2; processes <= 9; ++processes) {
        assert_true(commtest_partners_open(&partners, processes));
        for (int distance = 1; distance < processes; ++distance) {
            assert_true(commtest_partners_at(&partners, COMMTEST_SENDRECV, COMMTEST_PAIRS, distance, 1));
            for (int p = 0; p < processes; ++p) {
                bool some = false;

                for (int i = 0, q = p; i < processes; ++i, q = partners.to[q]) {
                    some = some || (partners.first[q] && !partners.first[partners.to[q]]);
                }
                assert_true(some);
            }
            assert_int_equal(0, processes % partners.longest);
        }
        commtest_partners_close(&partners);
    }
}

static void refuse(int processes, commtest_command_t command, const int *to, const char *why)
{
    commtest_partners_t partners;

    assert_true(commtest_partners_open(&partners, processes));
    memcpy(partners.to, to, (size_t) processes * sizeof(*to));
    assert_false(commtest_partners_link(&partners, command));
    assert_string_equal(why, partners.why);
    commtest_partners_close(&partners);
}

static void test_offenders(void **state)
{
    commtest_partners_t partners;

    (void) state;
    refuse(3, COMMTEST_SWAP, (int[]){1, 0, 3}, "process 2 has no partner: it would be process 3 of 3");
    refuse(3, COMMTEST_SENDRECV, (int[]){1, 1, 0}, "process 1 would send to itself");
    refuse(3, COMMTEST_SENDRECV, (int[]){2, 2, 0},
           "processes 0 and 1 would both send to process 2: no cycle");
    refuse(3, COMMTEST_SENDRECV, (int[]){1, -1, -1},
           "process 0 would send to process 1, which takes no part");
    refuse(3, COMMTEST_SWAP, (int[]){1, 2, 0},
           "process 0 would swap with process 1, but that one with process 2");
    assert_true(commtest_partners_open(&partners, 3));
    assert_false(commtest_partners_at(&partners, COMMTEST_SWAP, COMMTEST_PAIR, 0, 1));
    assert_false(commtest_partners_at(&partners, COMMTEST_SWAP, COMMTEST_PAIR, 3, 1));
    assert_false(commtest_partners_at(&partners, COMMTEST_SWAP, COMMTEST_PAIRS, 1, 1));
    commtest_partners_close(&partners);
}

/* Parses words with blanks between them. */
static bool parse(const char *line, commtest_options_t *options, char *why)
{
    static char copy[256];
    char *argv[16] = {"fastpath-commtest"};
    int argc = 1;

    strncpy(copy, line, sizeof(copy) - 1);
    for (char *word = strtok(copy, " "); NULL != word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    return commtest_options_parse(options, argc, argv, why);
}

static void test_options(void **state)
{
    static const char *const wrong[] = {"--total 3000 --packet 1000",
                                        "--total 64 --packet 128",
                                        "--total 2G",
                                        "--total 2147483648",
                                        "--total 0",
                                        "--total 8X",
                                        "--protocols 0,10",
                                        "--protocols 1,11",
                                        "--protocols nonsense",
                                        "--who some",
                                        "--commands swap,",
                                        "--distance 1,,2",
                                        "--repetitions 0",
                                        "--distance 99999999999",
                                        "--clock mine",
                                        "--nonsense",
                                        "--total",
                                        "nonsense"};
    static commtest_options_t options;
    char why[COMMTEST_WHY];

    (void) state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
        why[0] = '\0';
        assert_false(parse(wrong[i], &options, why));
        assert_true(strlen(why) > 10 && NULL == strchr(why, '\n'));
    }
    assert_true(
        parse("--total 1G --packet 1M --commands all --protocols (1,10) --distance 1,2", &options, why));
    assert_int_equal(1 << 30, options.total);
    assert_true(options.commands[0] && options.commands[1] && options.any_command && !options.any_protocol);
    assert_true(options.protocols[20] && !options.protocols[6]);
    assert_int_equal(2, options.distance_count);
}

static int planned(const char *line, int processes)
{
    static commtest_options_t options;
    commtest_plan_t plan;
    char why[COMMTEST_WHY];
    int count;

    assert_true(parse(line, &options, why));
    count = commtest_plan_make(&plan, &options, processes, why) ? plan.count : 0;
    free(plan.experiments);
    return count;
}

static void test_plans(void **state)
{
    (void) state;
    assert_int_equal(74, planned("--programs all --commands all --protocols all", 2));
    assert_int_equal(3 * 74, planned("--programs all --commands all --protocols all --who all", 2));
    assert_int_equal(3 * 37 + 4 * 37, planned("--programs all --commands all --protocols all --who all", 3));
    assert_int_equal(1, planned("--to 2,0,1 --commands sendrecv", 3));
    assert_int_equal(0, planned("--to 2,0,1 --commands swap", 3));
    assert_int_equal(0, planned("--to 1,0", 3));
    assert_int_equal(0, planned("--who pairs", 3));
    assert_int_equal(0, planned("", 1));
    assert_int_equal(0, planned("--programs overlapped --protocols 1,10", 2));
    assert_int_equal(0, planned("--protocols 0,0 --total 1G", 2)); /* no such buffer */
}

static void test_fits(void **state)
{
    int packets[] = {1, 2, 4, 1024};
    double us[4];
    commtest_fit_t fit;

    (void) state;
    for (int i = 0; i < 4; ++i) {
        us[i] = packets[i] * 0.25 + 1000.0 / 4.0;
    }
    assert_true(commtest_fit(&fit, packets, us, 4, 1000.0));
    assert_true(fit.latency_us > 0.2499 && fit.latency_us < 0.2501);
    assert_true(fit.mb_per_s > 3.999 && fit.mb_per_s < 4.001);
    assert_false(commtest_fit(&fit, packets, us, 1, 1000.0));
    assert_true(3.0 == commtest_median((double[]){5.0, 3.0, 1.0}, 3));
    assert_true(2.5 == commtest_median((double[]){4.0, 1.0, 2.0, 3.0}, 4));
}

static void test_data(void **state)
{
    char data[100];

    (void) state;
    commtest_fill(data, sizeof(data), 3, 5);
    assert_int_equal(sizeof(data), commtest_wrong(data, sizeof(data), 3, 5));
    assert_true(commtest_wrong(data, sizeof(data), 2, 5) < 8);
    assert_true(commtest_wrong(data, sizeof(data), 3, 6) < 8);
    data[97] ^= 1;
    assert_int_equal(97, commtest_wrong(data, sizeof(data), 3, 5));
    assert_int_equal(97, commtest_wrong(data, 97, 3, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swaps),     cmocka_unit_test(test_cycles),  cmocka_unit_test(test_order),
        cmocka_unit_test(test_offenders), cmocka_unit_test(test_options), cmocka_unit_test(test_plans),
        cmocka_unit_test(test_fits),      cmocka_unit_test(test_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
