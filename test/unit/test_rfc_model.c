/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The figures that the RFC "Fragmented sm Allocations" prints, in units of 10^6 bytes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "contrib/memory/rfc_model.h"

static const rfc_model_params_t usual = {
    .n = 1024, .entries = 128, .eager_frag = 4096 + 128, .max_payload = 32768};
static const rfc_model_params_t shoehorn = {.n = 1024, .entries = 16, .eager_frag = 256, .max_payload = 8192};

static uint64_t mb(uint64_t bytes)
{
    return (bytes + 500000) / 1000000;
}

static void check_fragmented(uint64_t alignment, const uint64_t *printed)
{
    rfc_model_fragmented_t bytes;

    rfc_model_fragmented(&usual, alignment, &bytes);
    assert_int_equal(printed[0], mb(bytes.wrappers));
    assert_int_equal(printed[1], mb(bytes.queues));
    assert_int_equal(printed[2], mb(bytes.heads));
    assert_int_equal(printed[3], mb(bytes.eager));
    assert_int_equal(printed[4], mb(bytes.other));
    assert_int_equal(printed[5], mb(bytes.total));
}

static void test_pages_of_8k(void **state)
{
    static const uint64_t printed[] = {8682, 9822, 8632, 9171, 370, 36677};

    (void) state;
    check_fragmented(8192, printed);
}

static void test_pages_of_4k(void **state)
{
    static const uint64_t printed[] = {4391, 5531, 4341, 9032, 362, 23658};

    (void) state;
    check_fragmented(4096, printed);
}

static void test_lines(void **state)
{
    static const uint64_t printed[] = {235, 1374, 184, 8898, 355, 11046};

    (void) state;
    check_fragmented(RFC_MODEL_LINE, printed);
}

/* 8899 is printed for the eager lists, where the same lists are 8898 with lines; and the sum of what is
 * printed is one more than the total that is printed. */
static void test_aggregated(void **state)
{
    rfc_model_aggregated_t bytes;

    (void) state;
    rfc_model_aggregated(&usual, &bytes);
    assert_int_equal(1250, mb(bytes.fifos));
    assert_in_range(mb(bytes.eager), 8898, 8899);
    assert_int_equal(270, mb(bytes.max));
    assert_int_equal(10418, mb(bytes.total));
}

static void test_aggregated_and_small(void **state)
{
    rfc_model_aggregated_t bytes;

    (void) state;
    rfc_model_aggregated(&shoehorn, &bytes);
    assert_int_equal(311, mb(bytes.fifos));
    assert_int_equal(544, mb(bytes.eager));
    assert_int_equal(68, mb(bytes.max));
    assert_int_equal(924, mb(bytes.total));
}

/* "3 n^2 pages", "2 n^2 eager fragments", and less than a megabyte for two processes but for the large
 * fragments */
static void test_what_the_text_says(void **state)
{
    rfc_model_params_t two = usual;
    rfc_model_fragmented_t bytes;

    (void) state;
    rfc_model_fragmented(&usual, 4096, &bytes);
    assert_true(bytes.wrappers + bytes.queues + bytes.heads > UINT64_C(3) * 1024 * 1023 * 4096);
    assert_true(bytes.eager > UINT64_C(2) * 1024 * 1024 * 4096);

    two.n = 2;
    rfc_model_fragmented(&two, 4096, &bytes);
    assert_true(bytes.total < 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_of_8k),
        cmocka_unit_test(test_pages_of_4k),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_aggregated),
        cmocka_unit_test(test_aggregated_and_small),
        cmocka_unit_test(test_what_the_text_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
