/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Matching costs the same however much waits.  The work of every operation is counted in basic blocks
 * (work.h) behind 10 and behind 10 000 receives or messages: of many tags, sources, wildcards, of one key,
 * and of keys that all meet in one bucket.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_match.c"

#include "match_keys.h"
#include "work.h"

#define ANY_S MCA_PML_FASTPATH_ANY_SOURCE
#define ANY_T MCA_PML_FASTPATH_ANY_TAG

enum {
    FEW = 10,
    MANY = 10000,
    REPEAT = 500,
    /* a source and a tag that no fill has */
    SOURCE = 20000,
    TAG = 30001
};

/* What waits, and the one under test. */
static mca_pml_fastpath_matcher_t matcher;
static mca_pml_fastpath_match_post_t post[MANY], my_post;
static mca_pml_fastpath_match_msg_t msg[MANY], my_msg;
static int32_t key[MANY][2];
static int waiting;

typedef void (*key_fn_t)(int i, int32_t *src, int32_t *tag);

static void many_tags(int i, int32_t *src, int32_t *tag)
{
    *src = 0;
    *tag = i;
}

static void many_sources(int i, int32_t *src, int32_t *tag)
{
    *src = i;
    *tag = 7;
}

static void one_key(int i, int32_t *src, int32_t *tag)
{
    (void) i;
    *src = 3;
    *tag = 7;
}

static void internal_tags(int i, int32_t *src, int32_t *tag)
{
    *src = 3;
    *tag = -10 - i;
}

static void tags_of_any_source(int i, int32_t *src, int32_t *tag)
{
    *src = ANY_S;
    *tag = i;
}

static void any_tag_of_sources(int i, int32_t *src, int32_t *tag)
{
    *src = i;
    *tag = ANY_T;
}

static void three_kinds(int i, int32_t *src, int32_t *tag)
{
    *src = 1 == i % 3 ? ANY_S : i;
    *tag = 2 == i % 3 ? ANY_T : i;
}

static void meeting(int i, bool sources, int32_t *value)
{
    static int32_t known[2][MANY]; /* the first is 0 */

    if (i > 0 && 0 == known[sources][i]) {
        known[sources][i] = match_key_next(known[sources][i - 1], sources);
    }
    *value = known[sources][i];
}

static void meeting_tags(int i, int32_t *src, int32_t *tag)
{
    *src = 0;
    meeting(i, false, tag);
}

static void meeting_sources(int i, int32_t *src, int32_t *tag)
{
    *tag = 0;
    meeting(i, true, src);
}

static const struct fill {
    const char *name;
    key_fn_t key;
    bool wildcards; /* for receives only */
} fills[] = {
    {"10000 tags", many_tags, false},
    {"10000 sources", many_sources, false},
    {"one key", one_key, false},
    {"internal tags", internal_tags, false},
    {"tags in one bucket", meeting_tags, false},
    {"sources in one bucket", meeting_sources, false},
    {"MPI_ANY_SOURCE", tags_of_any_source, true},
    {"MPI_ANY_TAG", any_tag_of_sources, true},
    {"three kinds", three_kinds, true},
};

/* Operations behind posted receives.  i runs over all that wait. */

static void post_and_match(int32_t src, int32_t tag)
{
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &my_post, src, tag));
    assert_ptr_equal(&my_post, mca_pml_fastpath_match_arrive(&matcher, SOURCE, TAG));
}

static void post_exact(int i)
{
    (void) i;
    post_and_match(SOURCE, TAG);
}

static void post_any_source(int i)
{
    (void) i;
    post_and_match(ANY_S, TAG);
}

static void post_any_tag(int i)
{
    (void) i;
    post_and_match(SOURCE, ANY_T);
}

static void post_any(int i)
{
    (void) i;
    post_and_match(ANY_S, ANY_T);
}

static void arrive_for_nobody(int i)
{
    (void) i;
    assert_null(mca_pml_fastpath_match_arrive(&matcher, SOURCE, TAG));
}

static void cancel_posted(int i)
{
    mca_pml_fastpath_match_cancel(&matcher, &post[i]);
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post[i], key[i][0], key[i][1]));
}

static void arrive_for_posted(int i)
{
    int32_t src = ANY_S == key[i][0] ? SOURCE : key[i][0];
    int32_t tag = ANY_T == key[i][1] ? TAG : key[i][1];
    mca_pml_fastpath_match_post_t *found = mca_pml_fastpath_match_arrive(&matcher, src, tag);

    assert_non_null(found);
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, found, found->src, found->tag));
}

/* Operations behind unexpected messages. */

static void store_and_find(int32_t src, int32_t tag)
{
    assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &my_msg, SOURCE, TAG));
    assert_ptr_equal(&my_msg, mca_pml_fastpath_match_find(&matcher, src, tag));
    mca_pml_fastpath_match_take(&matcher, &my_msg);
}

static void find_exact(int i)
{
    (void) i;
    store_and_find(SOURCE, TAG);
}

static void find_any_source(int i)
{
    (void) i;
    store_and_find(ANY_S, TAG);
}

static void find_any_tag(int i)
{
    (void) i;
    store_and_find(SOURCE, ANY_T);
}

static void find_any(int i)
{
    mca_pml_fastpath_match_msg_t *found = mca_pml_fastpath_match_find(&matcher, ANY_S, ANY_T);

    (void) i;
    assert_true(NULL != found || key[0][1] < 0);
}

static void find_nothing(int i)
{
    (void) i;
    assert_null(mca_pml_fastpath_match_find(&matcher, SOURCE, TAG));
    assert_null(mca_pml_fastpath_match_find(&matcher, ANY_S, TAG));
    assert_null(mca_pml_fastpath_match_find(&matcher, SOURCE, ANY_T));
}

static void take_stored(int i)
{
    mca_pml_fastpath_match_take(&matcher, &msg[i]);
    assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &msg[i], key[i][0], key[i][1]));
}

static void find_stored(int i)
{
    assert_non_null(mca_pml_fastpath_match_find(&matcher, key[i][0], key[i][1]));
    assert_non_null(mca_pml_fastpath_match_find(&matcher, ANY_S, key[i][1]));
}

static const struct operation {
    const char *name;
    void (*run)(int i);
    bool posted; /* behind receives; else behind messages */
} operations[] = {
    {"receive", post_exact, true},
    {"receive from any", post_any_source, true},
    {"receive of any tag", post_any_tag, true},
    {"receive of anything", post_any, true},
    {"nobody waits for it", arrive_for_nobody, true},
    {"cancel", cancel_posted, true},
    {"one of those", arrive_for_posted, true},
    {"message", find_exact, false},
    {"receive from any", find_any_source, false},
    {"receive of any tag", find_any_tag, false},
    {"receive of anything", find_any, false},
    {"probe in vain", find_nothing, false},
    {"one taken back", take_stored, false},
    {"probe of one of those", find_stored, false},
};

/* Returns the work per receive or message. */
static double put(const struct fill *fill, bool posted, int count)
{
    unsigned long before = work_done;

    for (int i = 0; i < count; ++i) {
        fill->key(i, &key[i][0], &key[i][1]);
    }
    before = work_done;
    for (int i = 0; i < count; ++i) {
        if (posted) {
            assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post[i], key[i][0], key[i][1]));
        } else {
            assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &msg[i], key[i][0], key[i][1]));
        }
    }
    waiting = count;
    return (double) (work_done - before) / count;
}

/* The mean work of an operation behind so many, and of putting them there. */
static double measure(const struct fill *fill, const struct operation *operation, int count, double *put_work)
{
    unsigned long before;

    assert_int_equal(0, mca_pml_fastpath_matcher_init(&matcher));
    *put_work = put(fill, operation->posted, count);
    operation->run(0); /* the first look of a kind enters what waits in an index, once */
    before = work_done;
    for (int i = 0; i < REPEAT; ++i) {
        operation->run((int) ((long) i * 7919 % count));
    }
    before = work_done - before;
    assert_int_equal(waiting, operation->posted ? matcher.posted : matcher.unexpected);
    mca_pml_fastpath_matcher_fini(&matcher);
    return (double) before / REPEAT;
}

static void compare(const struct fill *fill, const struct operation *operation)
{
    double put_few, put_many;
    double few = measure(fill, operation, FEW, &put_few);
    double many = measure(fill, operation, MANY, &put_many);
    bool good = many <= 1.5 * few + 10.0 && put_many <= 3.0 * put_few + 20.0;

    if (!good) {
        print_message("%s behind %s %s: %.1f behind %d, %.1f behind %d; to put one there %.1f and %.1f\n",
                      operation->name, operation->posted ? "receives of" : "messages of", fill->name, few,
                      FEW, many, MANY, put_few, put_many);
    }
    assert_true(good);
}

static void test_work(void **state)
{
    (void) state;
    if (0 == work_done) {
        print_message("this compiler does not count basic blocks\n");
        skip();
    }
    for (size_t f = 0; f < sizeof(fills) / sizeof(fills[0]); ++f) {
        for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); ++o) {
            if (operations[o].posted || !fills[f].wildcards) {
                compare(&fills[f], &operations[o]);
            }
        }
    }
}

/* The work that is counted here would show a walk over what waits. */
static void see(mca_pml_fastpath_match_msg_t *message, void *ctx)
{
    (void) message;
    ++*(long *) ctx;
}

static void test_walks_are_seen(void **state)
{
    unsigned long before;
    long seen = 0;

    (void) state;
    if (0 == work_done) {
        skip();
    }
    assert_int_equal(0, mca_pml_fastpath_matcher_init(&matcher));
    assert_true(put(&fills[0], false, MANY) > 0.0);
    before = work_done;
    mca_pml_fastpath_match_each_unexpected(&matcher, see, &seen);
    assert_int_equal(MANY, seen);
    assert_true(work_done - before >= MANY);
    mca_pml_fastpath_matcher_fini(&matcher);
}

/* The keys of the fills that are to meet in one bucket do so, as long as the matcher does not spread them. */
static void test_keys_meet(void **state)
{
    (void) state;
    assert_int_equal(0, mca_pml_fastpath_matcher_init(&matcher));
    matcher.shift = 64 - 16;
    for (int i = 0; i < MANY; ++i) {
        int32_t src, tag;

        meeting_tags(i, &src, &tag);
        assert_true(tag >= 0 && (0 == i || tag > 0));
        assert_int_equal(0, mca_pml_fastpath_match_hash(&matcher, mca_pml_fastpath_match_key(src, tag)));
        meeting_sources(i, &src, &tag);
        assert_true(src >= 0 && (0 == i || src > 0));
        assert_int_equal(0, mca_pml_fastpath_match_hash(&matcher, mca_pml_fastpath_match_key(src, tag)));
    }
    matcher.shift = FIRST_SHIFT;
    mca_pml_fastpath_matcher_fini(&matcher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_meet),
        cmocka_unit_test(test_walks_are_seen),
        cmocka_unit_test(test_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
