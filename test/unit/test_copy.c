/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Copies of every way: all lengths around the switches, at all places of a line, and nothing beside them. */

#include "opal_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "opal/mca/common/fastpath/common_fastpath_copy.h"

enum { LINE = 64, GUARD = 256, MOST = 1024 * 1024 + 512 };

static unsigned char *from, *to;

static int allocate(void **state)
{
    (void) state;
    from = aligned_alloc(LINE, MOST + 2 * GUARD);
    to = aligned_alloc(LINE, MOST + 2 * GUARD);
    if (NULL == from || NULL == to) {
        return -1;
    }
    for (size_t i = 0; i < MOST + 2 * GUARD; ++i) {
        from[i] = (unsigned char) (i * 7 + i / 251);
    }
    return 0;
}

static int release(void **state)
{
    (void) state;
    free(from);
    free(to);
    return 0;
}

/* One copy; both sides begin so many bytes behind the beginning of a line. */
static void copy_at(size_t in_from, size_t in_to, size_t length)
{
    unsigned char *begin = to + GUARD + in_to;

    memset(begin - GUARD, 0xa5, length + 2 * GUARD - LINE);
    mca_common_fastpath_copy(begin, from + in_from, length);
    assert_memory_equal(begin, from + in_from, length);
    for (size_t i = 1; i <= GUARD - LINE; ++i) {
        assert_int_equal(begin[-(ptrdiff_t) i], 0xa5);
        assert_int_equal(begin[length + i - 1], 0xa5);
    }
}

static void every_short_length(void **state)
{
    (void) state;
    for (size_t length = 0; length <= 300; ++length) {
        for (size_t in_to = 0; in_to < LINE; in_to += 7) {
            copy_at(length % LINE, in_to, length);
        }
    }
}

static void around_the_long_ones(void **state)
{
    static const size_t begins[] = {MCA_COMMON_FASTPATH_COPY_LONG - 8,
                                    MCA_COMMON_FASTPATH_COPY_MEASURED - 150};

    (void) state;
    for (unsigned i = 0; i < sizeof(begins) / sizeof(begins[0]); ++i) {
        for (size_t length = begins[i]; length < begins[i] + 300; ++length) {
            copy_at(length % LINE, length / 3 % LINE, length);
        }
    }
}

static void every_place_of_a_line(void **state)
{
    (void) state;
    for (size_t in_from = 0; in_from < LINE; ++in_from) {
        for (size_t in_to = 0; in_to < LINE; ++in_to) {
            copy_at(in_from, in_to, MCA_COMMON_FASTPATH_COPY_LONG + in_from);
            copy_at(in_from, in_to, MCA_COMMON_FASTPATH_COPY_MEASURED + in_to);
        }
    }
}

static void longer_than_the_loop(void **state)
{
    (void) state;
    for (size_t length = (size_t) 1024 * 1024 - 40; length < (size_t) 1024 * 1024 + 60; length += 9) {
        copy_at(length % LINE, 5, length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_short_length),
        cmocka_unit_test(around_the_long_ones),
        cmocka_unit_test(every_place_of_a_line),
        cmocka_unit_test(longer_than_the_loop),
    };

    return cmocka_run_group_tests_name("copy", tests, allocate, release);
}
