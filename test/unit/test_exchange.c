/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Which way large messages take that two processes exchange: the one that takes less time, whatever the first
 * messages took, and also when that changes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_exchange.c"

#define STREAM MCA_PML_FASTPATH_EXCHANGE_STREAM
#define KERNEL MCA_PML_FASTPATH_EXCHANGE_KERNEL

enum { MESSAGE = 1 << 20 };

static mca_pml_fastpath_exchange_t exchange;

/* So many messages, of which a page takes so many ticks by each way. @return how many were streamed */
static int exchange_messages(int count, uint64_t stream, uint64_t kernel)
{
    int streamed = 0;

    for (int i = 0; i < count; i++) {
        const mca_pml_fastpath_exchange_way_t way = mca_pml_fastpath_exchange_way(&exchange);

        streamed += STREAM == way ? 1 : 0;
        mca_pml_fastpath_exchange_note(&exchange, way, MESSAGE,
                                       (STREAM == way ? stream : kernel) * MESSAGE / PAGE);
    }
    return streamed;
}

static int begin(void **state)
{
    (void) state;
    memset(&exchange, 0, sizeof(exchange));
    return 0;
}

static void test_first_ones(void **state)
{
    (void) state;
    assert_int_equal(STREAM, mca_pml_fastpath_exchange_way(&exchange));
    assert_int_equal(KERNEL, mca_pml_fastpath_exchange_way(&exchange));
    assert_int_equal((TRIALS - 2) / 2, exchange_messages(TRIALS - 2, 1000, 10));
}

static void test_the_sooner_one(void **state)
{
    enum { COUNT = 67 * 10 };

    (void) state;
    (void) exchange_messages(TRIALS, 1000, 900);
    assert_int_equal(COUNT / PROBE, exchange_messages(COUNT, 1000, 900));
    begin(NULL);
    (void) exchange_messages(TRIALS, 900, 1000);
    assert_int_equal(COUNT - COUNT / PROBE, exchange_messages(COUNT, 900, 1000));
}

/* The first message through a way's memory takes a hundred times as long. */
static void test_slow_begin(void **state)
{
    (void) state;
    mca_pml_fastpath_exchange_note(&exchange, mca_pml_fastpath_exchange_way(&exchange), PAGE, 10000);
    mca_pml_fastpath_exchange_note(&exchange, mca_pml_fastpath_exchange_way(&exchange), PAGE, 130);
    (void) exchange_messages(TRIALS - 2, 100, 130);
    (void) exchange_messages((int) PROBE * 7, 100, 130);
    assert_in_range(exchange_messages((int) PROBE, 100, 130), PROBE - 2, PROBE);
}

/* The processes have moved, and what was slower is sooner. */
static void test_changes(void **state)
{
    (void) state;
    (void) exchange_messages((int) PROBE * 10, 100, 200);
    (void) exchange_messages((int) PROBE * 10, 100, 50);
    assert_in_range(exchange_messages((int) PROBE, 100, 50), 0, 2);
}

/* One message that took long, because the peer came late, changes nothing. */
static void test_late_peer(void **state)
{
    (void) state;
    (void) exchange_messages(TRIALS, 100, 140);
    mca_pml_fastpath_exchange_note(&exchange, STREAM, MESSAGE, UINT64_C(1000000000));
    assert_int_equal(101 + 101 / 8, exchange.ticks[STREAM]);
    assert_in_range(exchange_messages((int) PROBE - TRIALS, 100, 140), PROBE - TRIALS - 1, PROBE);
}

/* Less than a tick for a page is not what is not known. */
static void test_no_time(void **state)
{
    (void) state;
    mca_pml_fastpath_exchange_note(&exchange, KERNEL, MESSAGE, 0);
    assert_int_not_equal(0, exchange.ticks[KERNEL]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_first_ones, begin), cmocka_unit_test_setup(test_the_sooner_one, begin),
        cmocka_unit_test_setup(test_slow_begin, begin), cmocka_unit_test_setup(test_changes, begin),
        cmocka_unit_test_setup(test_late_peer, begin),  cmocka_unit_test_setup(test_no_time, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
