/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* How many numbered messages may be under way: the arithmetic, and a sender and a receiver that use it while
 * the network delivers in any order. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_window.h"

enum { STEPS = 400000 };

static void opens_and_closes(void **state)
{
    static const uint32_t begins[] = {0, 1, 65535, 65536, UINT32_C(0x7fffffff), UINT32_MAX - 1, UINT32_MAX};

    (void) state;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); ++i) {
        const uint32_t passed = begins[i];

        assert_true(mca_pml_fastpath_window_is_open(passed, passed));
        assert_true(mca_pml_fastpath_window_is_open(passed + MCA_PML_FASTPATH_WINDOW - 1, passed));
        assert_false(mca_pml_fastpath_window_is_open(passed + MCA_PML_FASTPATH_WINDOW, passed));
    }
}

/* A full window holds messages that ask: else nobody would ever open it again. */
static void asks_often_enough(void **state)
{
    uint32_t asked = 0;

    (void) state;
    for (uint32_t number = UINT32_MAX - MCA_PML_FASTPATH_WINDOW; number != MCA_PML_FASTPATH_WINDOW;
         ++number) {
        asked += mca_pml_fastpath_window_asks(number);
    }
    assert_int_equal(asked, 2 * MCA_PML_FASTPATH_WINDOW / MCA_PML_FASTPATH_WINDOW_STEP);
    assert_true(MCA_PML_FASTPATH_WINDOW >= 2 * MCA_PML_FASTPATH_WINDOW_STEP);
}

static void moves_by_the_lower_half(void **state)
{
    (void) state;
    assert_int_equal(mca_pml_fastpath_window_move(10, 3, 10), 10);
    assert_int_equal(mca_pml_fastpath_window_move(10, 3, 5), 5);
    assert_int_equal(mca_pml_fastpath_window_move(65540, 65530, 2), 65538);
    assert_int_equal(mca_pml_fastpath_window_move(5, UINT32_MAX - 5, 3), 3);
    assert_int_equal(mca_pml_fastpath_window_move(UINT32_MAX, UINT32_MAX - 5, 0xffff), UINT32_MAX);
}

/* What is not under way says nothing. */
static void does_not_move_for_others(void **state)
{
    (void) state;
    assert_int_equal(mca_pml_fastpath_window_move(10, 3, 3), 3);
    assert_int_equal(mca_pml_fastpath_window_move(10, 3, 2), 3);
    assert_int_equal(mca_pml_fastpath_window_move(10, 3, 11), 3);
    assert_int_equal(mca_pml_fastpath_window_move(7, 7, 8), 7);
    assert_int_equal(mca_pml_fastpath_window_move(2, UINT32_MAX, 0xfffe), UINT32_MAX);
}

/* A network of two links, one of which stands still most of the time. What the receiver takes a message for
 * by 16 bits is what it is, and in the end nothing waits. */
static uint32_t links[2][STEPS], heads[2], tails[2];
static unsigned char early[65536];
static uint16_t told[STEPS];
static size_t num_told, heard;
static uint32_t expected;

static void arrive(uint32_t number)
{
    const uint16_t ahead = (uint16_t) ((uint16_t) number - (uint16_t) expected);

    assert_int_equal(ahead, number - expected);
    early[(uint16_t) number] = 1;
    while (early[(uint16_t) expected]) {
        early[(uint16_t) expected] = 0;
        if (mca_pml_fastpath_window_asks(expected)) {
            told[num_told++] = (uint16_t) expected;
        }
        ++expected;
    }
}

static void nothing_is_mistaken(void **state)
{
    const uint32_t begin = UINT32_MAX - STEPS / 2; /* the numbers wrap around on the way */
    uint32_t last = begin, passed = begin;
    unsigned full = 0;

    (void) state;
    srand(1);
    expected = begin + 1;
    for (uint32_t step = 0; step < 4 * STEPS && last - begin < STEPS / 2 + 100000; ++step) {
        if (mca_pml_fastpath_window_is_open(last, passed)) {
            const int link = rand() % 2;

            links[link][tails[link]++] = ++last;
        } else {
            ++full;
        }
        assert_true(last - passed <= MCA_PML_FASTPATH_WINDOW);
        if (heads[0] < tails[0]) {
            arrive(links[0][heads[0]++]);
        }
        if (0 == step % 100000) { /* the other link moves for a moment */
            while (heads[1] < tails[1]) {
                arrive(links[1][heads[1]++]);
            }
        }
        if (heard < num_told && 0 == rand() % 64) {
            passed = mca_pml_fastpath_window_move(last, passed, told[heard++]);
        }
    }
    for (int link = 0; link < 2; ++link) {
        while (heads[link] < tails[link]) {
            arrive(links[link][heads[link]++]);
        }
    }
    assert_int_equal(expected, last + 1);
    assert_true(0 < full);
    assert_true(last < begin); /* they have wrapped around */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_and_closes),        cmocka_unit_test(asks_often_enough),
        cmocka_unit_test(moves_by_the_lower_half), cmocka_unit_test(does_not_move_for_others),
        cmocka_unit_test(nothing_is_mistaken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
