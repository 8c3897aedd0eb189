/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* The list of multi-eager limits: what is read, and that a bad one is announced once and stands for none. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_multi_limit.c"

/* ---- what it calls ---- */

static int announced;

bool mca_common_fastpath_reporting_rank(void)
{
    return true;
}

void mca_common_fastpath_show_help(const char *file, const char *topic, ...)
{
    assert_string_equal(file, "help-fastpath.txt");
    assert_string_equal(topic, "parameter clamped");
    announced++;
}

bool mca_common_fastpath_param_parse(const char *text, int64_t *value)
{
    char *end;

    *value = strtoll(text, &end, 0);
    if ('k' == *end) {
        *value *= 1024;
        end++;
    }
    return end != text && '\0' == *end;
}

/* ---- tests ---- */

static mca_pml_fastpath_multi_limit_t limits[MCA_PML_FASTPATH_MULTI_BTLS];

static void good(const char *text, size_t count)
{
    announced = 0;
    assert_int_equal(mca_pml_fastpath_multi_limits_read(text, limits), count);
    assert_int_equal(announced, 0);
}

static void bad(const char *text)
{
    announced = 0;
    assert_int_equal(mca_pml_fastpath_multi_limits_read(text, limits), 0);
    assert_int_equal(announced, 1);
}

static void reads_nothing(void **state)
{
    (void) state;
    good(NULL, 0);
    good("", 0);
    good("  ", 0);
}

static void reads_one(void **state)
{
    (void) state;
    good("tcp:64k", 1);
    assert_string_equal(limits[0].name, "tcp");
    assert_int_equal(limits[0].limit, 65536);
}

static void reads_several(void **state)
{
    (void) state;
    good(" tcp : 64k, ofi:0 ,self:100", 3);
    assert_string_equal(limits[0].name, "tcp");
    assert_int_equal(limits[0].limit, 65536);
    assert_string_equal(limits[1].name, "ofi");
    assert_int_equal(limits[1].limit, 0);
    assert_string_equal(limits[2].name, "self");
    assert_int_equal(limits[2].limit, 100);
}

static void refuses(void **state)
{
    static const char *const texts[] = {"garbage",
                                        "tcp",
                                        "tcp:",
                                        ":64k",
                                        "tcp:64k,",
                                        ",tcp:64k",
                                        "tcp:64x",
                                        "tcp:-1",
                                        "tcp:64k:1",
                                        "tcp:64k,tcp:1",
                                        "tcp 64k",
                                        "tcp:64k;ofi:1",
                                        "tcp:64k,,ofi:1",
                                        " : ",
                                        "tcp: ",
                                        "a_name_of_a_transport_that_is_far_too_long:1",
                                        "tcp:1000000000000000000000000000000000000000000"};

    (void) state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        bad(texts[i]);
    }
}

static void refuses_too_many(void **state)
{
    char text[512] = "a:1";

    (void) state;
    for (int i = 1; i < MCA_PML_FASTPATH_MULTI_BTLS; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ",%c:1", 'a' + i);
    }
    good(text, MCA_PML_FASTPATH_MULTI_BTLS);
    strcat(text, ",z:1");
    bad(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_nothing), cmocka_unit_test(reads_one),        cmocka_unit_test(reads_several),
        cmocka_unit_test(refuses),       cmocka_unit_test(refuses_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
