/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Of some ways to copy the one is taken that takes less time, whatever the first uses took, and also when
 * that changes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "opal/mca/common/fastpath/common_fastpath_ways.c"

enum { FIRST, SECOND, MESSAGE = 1 << 20, TRIALS = MCA_COMMON_FASTPATH_WAYS_TRIALS };

static mca_common_fastpath_ways_t ways;

/* So many messages, of which a page takes so many ticks by each way. @return how many took the first */
static int use(int count, uint64_t first, uint64_t second)
{
    int firsts = 0;

    for (int i = 0; i < count; i++) {
        const unsigned way = mca_common_fastpath_ways_choose(&ways, 2);

        firsts += FIRST == way ? 1 : 0;
        mca_common_fastpath_ways_note(&ways, way, MESSAGE, (FIRST == way ? first : second) * MESSAGE / UNIT);
    }
    return firsts;
}

static int begin(void **state)
{
    (void) state;
    memset(&ways, 0, sizeof(ways));
    return 0;
}

static void test_first_ones(void **state)
{
    (void) state;
    assert_int_equal(FIRST, mca_common_fastpath_ways_choose(&ways, 2));
    assert_int_equal(SECOND, mca_common_fastpath_ways_choose(&ways, 2));
    assert_int_equal(TRIALS - 1, use(2 * TRIALS - 2, 1000, 10));
}

static void test_the_sooner_one(void **state)
{
    enum { COUNT = 10 * PROBE };

    (void) state;
    (void) use(2 * TRIALS, 1000, 900);
    assert_int_equal(COUNT / PROBE, use(COUNT, 1000, 900));
    begin(NULL);
    (void) use(2 * TRIALS, 900, 1000);
    assert_int_equal(COUNT - COUNT / PROBE, use(COUNT, 900, 1000));
}

/* The first message through a way's memory takes a hundred times as long. */
static void test_slow_begin(void **state)
{
    (void) state;
    mca_common_fastpath_ways_note(&ways, mca_common_fastpath_ways_choose(&ways, 2), UNIT, 10000);
    mca_common_fastpath_ways_note(&ways, mca_common_fastpath_ways_choose(&ways, 2), UNIT, 130);
    (void) use(2 * TRIALS - 2, 100, 130);
    (void) use((int) PROBE * 7, 100, 130);
    assert_in_range(use((int) PROBE, 100, 130), PROBE - 2, PROBE);
}

/* The processes have moved, and what was slower is sooner. */
static void test_changes(void **state)
{
    (void) state;
    (void) use((int) PROBE * 10, 100, 200);
    (void) use((int) PROBE * 10, 100, 50);
    assert_in_range(use((int) PROBE, 100, 50), 0, 2);
    (void) use((int) PROBE * 10, 100, 300); /* what was sooner is slower */
    assert_in_range(use((int) PROBE, 100, 300), PROBE - 2, PROBE);
}

/* One message that took long, because the peer came late, changes nothing. */
static void test_late_peer(void **state)
{
    (void) state;
    (void) use(2 * TRIALS, 100, 140);
    mca_common_fastpath_ways_note(&ways, FIRST, MESSAGE, UINT64_C(1000000000));
    assert_int_equal(101 + 101 / 8, ways.ticks[FIRST]);
    assert_in_range(use((int) (PROBE - 2 * TRIALS), 100, 140), PROBE - 2 * TRIALS - 1, PROBE);
}

/* What is not measured takes the sooner way, and the first one as long as that is not known. */
static void test_not_measured(void **state)
{
    (void) state;
    assert_int_equal(FIRST, mca_common_fastpath_ways_best(&ways));
    mca_common_fastpath_ways_note(&ways, SECOND, UNIT, 100);
    assert_int_equal(FIRST, mca_common_fastpath_ways_best(&ways));
    mca_common_fastpath_ways_note(&ways, FIRST, UNIT, 200);
    assert_int_equal(SECOND, mca_common_fastpath_ways_best(&ways));
    mca_common_fastpath_ways_note(&ways, FIRST, UNIT, 50);
    assert_int_equal(FIRST, mca_common_fastpath_ways_best(&ways));
    for (unsigned i = 0; i < 3 * MCA_COMMON_FASTPATH_WAYS_DUE; i++) {
        assert_int_equal(0 == i % MCA_COMMON_FASTPATH_WAYS_DUE, mca_common_fastpath_ways_is_due(&ways));
    }
}

/* Copied by each way it is the same, and one piece in so many is measured, but no short one. */
static void test_copy(void **state)
{
    enum { MOST = 10000, ROOM = 2 * 64 };
    static char from[MOST], to[MOST + ROOM];

    (void) state;
    for (size_t i = 0; i < MOST; i++) {
        from[i] = (char) (i * 7 + i / 256);
    }
    for (unsigned way = MCA_COMMON_FASTPATH_BY_LOOP; way < MCA_COMMON_FASTPATH_FILL_WAYS; way++) {
        for (size_t length = MCA_COMMON_FASTPATH_COPY_LONG - 2; length <= MOST; length += 1 + length / 9) {
            char *place = to + length % 64; /* of a line */

            ways = (mca_common_fastpath_ways_t){.ticks = {2, 2, 2}, .uses = 3 * TRIALS, .pieces = 1};
            ways.ticks[way] = 1;
            memset(to, 0x5a, sizeof(to));
            mca_common_fastpath_ways_copy(&ways, MCA_COMMON_FASTPATH_FILL_WAYS, place, from, length);
            assert_memory_equal(from, place, length);
            for (char *other = to; other < to + sizeof(to); other++) {
                assert_true((place <= other && other < place + length) || 0x5a == *other);
            }
            assert_int_equal(3 * TRIALS, ways.uses);
            assert_int_equal(MCA_COMMON_FASTPATH_COPY_LONG > length ? 1 : 2, ways.pieces);
        }
    }
    for (unsigned count = MCA_COMMON_FASTPATH_TAKE_WAYS; count <= MCA_COMMON_FASTPATH_FILL_WAYS; count++) {
        begin(NULL);
        for (unsigned i = 0, due = 0; i < 10 * MCA_COMMON_FASTPATH_WAYS_DUE; i++) {
            mca_common_fastpath_ways_copy(&ways, count, to, from, MOST);
            assert_memory_equal(from, to, MOST);
            due += TRIALS * count > i || 0 == i % MCA_COMMON_FASTPATH_WAYS_DUE;
            assert_int_equal(due, ways.uses);
        }
        for (unsigned way = 0; way < MCA_COMMON_FASTPATH_FILL_WAYS; way++) {
            assert_int_equal(way < count, 0 != ways.ticks[way]);
        }
    }
}

/* Of three ways each is tried as often, then the one taken that is best, and now and then each other one. */
static void test_three_ways(void **state)
{
    enum { COUNT = 4 * PROBE };
    static const uint64_t times[] = {300, 200, 100};
    unsigned taken[] = {0, 0, 0};

    (void) state;
    for (unsigned i = 0; i < 3 * TRIALS + COUNT; i++) {
        const unsigned way = mca_common_fastpath_ways_choose(&ways, 3);

        assert_true(way == i % 3 || 3 * TRIALS <= i);
        ++taken[way];
        mca_common_fastpath_ways_note(&ways, way, MESSAGE, times[way] * MESSAGE / UNIT);
    }
    assert_int_equal(TRIALS + 2, taken[0]);
    assert_int_equal(TRIALS + 2, taken[1]);
    assert_int_equal(2, mca_common_fastpath_ways_best(&ways));
}

/* What is written around the caches is the way to go only where it takes less than a fourth. */
static void test_counted(void **state)
{
    (void) state;
    for (unsigned way = 0; way < MCA_COMMON_FASTPATH_FILL_WAYS; way++) {
        mca_common_fastpath_ways_note_copy(&ways, way, UNIT, 600);
    }
    assert_int_equal(MCA_COMMON_FASTPATH_BY_STRING, mca_common_fastpath_ways_best(&ways));
    mca_common_fastpath_ways_note_copy(&ways, MCA_COMMON_FASTPATH_BY_NONTEMPORAL, UNIT, 151);
    assert_int_equal(MCA_COMMON_FASTPATH_BY_STRING, mca_common_fastpath_ways_best(&ways));
    mca_common_fastpath_ways_note_copy(&ways, MCA_COMMON_FASTPATH_BY_NONTEMPORAL, UNIT, 149);
    assert_int_equal(MCA_COMMON_FASTPATH_BY_NONTEMPORAL, mca_common_fastpath_ways_best(&ways));
}

/* Less than a tick for a page is not what is not known. */
static void test_no_time(void **state)
{
    (void) state;
    mca_common_fastpath_ways_note(&ways, SECOND, MESSAGE, 0);
    assert_int_not_equal(0, ways.ticks[SECOND]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_first_ones, begin), cmocka_unit_test_setup(test_the_sooner_one, begin),
        cmocka_unit_test_setup(test_slow_begin, begin), cmocka_unit_test_setup(test_changes, begin),
        cmocka_unit_test_setup(test_late_peer, begin),  cmocka_unit_test_setup(test_not_measured, begin),
        cmocka_unit_test_setup(test_copy, begin),       cmocka_unit_test_setup(test_no_time, begin),
        cmocka_unit_test_setup(test_three_ways, begin), cmocka_unit_test_setup(test_counted, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
