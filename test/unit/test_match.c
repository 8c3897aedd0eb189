/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Matching without MPI: cases by hand, memory that fails, and random operations on several communicators with
 * all kinds of keys against matchers made of plain arrays.
 *
 * FASTPATH_SEED sets the seed of the random test (it prints the one it used), FASTPATH_OPS the number of
 * operations.
 */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* The matcher is built into this program with allocation functions that can be told to fail. */
static long allocations;         /* calls so far */
static long live;                /* blocks not freed */
static unsigned int fail_one_in; /* 0: never */
static long fail_after = -1;     /* so many succeed, the rest fail; negative: off */
static uint64_t random_state;

static uint32_t random_u32(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (random_state >> 33);
}

static bool refuse(void)
{
    ++allocations;
    if (fail_after >= 0 && fail_after-- <= 0) {
        fail_after = 0;
        return true;
    }
    return 0 != fail_one_in && 0 == random_u32() % fail_one_in;
}

static void *count_block(void *block)
{
    live += NULL != block;
    return block;
}

static void *counted_malloc(size_t size)
{
    return refuse() ? NULL : count_block(malloc(size));
}

static void *counted_calloc(size_t count, size_t size)
{
    return refuse() ? NULL : count_block(calloc(count, size));
}

static void counted_free(void *block)
{
    live -= NULL != block;
    free(block);
}

#define malloc counted_malloc
#define calloc counted_calloc
#define free   counted_free
#include "ompi/mca/pml/fastpath/pml_fastpath_match.c"
#undef malloc
#undef calloc
#undef free

#include "match_keys.h"

#define ANY_S MCA_PML_FASTPATH_ANY_SOURCE
#define ANY_T MCA_PML_FASTPATH_ANY_TAG

static mca_pml_fastpath_matcher_t matcher;

static int set_up(void **state)
{
    (void) state;
    allocations = 0;
    live = 0;
    fail_one_in = 0;
    fail_after = -1;
    return mca_pml_fastpath_matcher_init(&matcher);
}

static int tear_down(void **state)
{
    (void) state;
    mca_pml_fastpath_matcher_fini(&matcher);
    assert_int_equal(0, live);
    return 0;
}

/* The definition that everything else is measured by. */
static bool matches(int32_t want_src, int32_t want_tag, int32_t src, int32_t tag)
{
    return (ANY_S == want_src || want_src == src) && (ANY_T == want_tag ? tag >= 0 : want_tag == tag);
}

/* What a receive asks for, what a message is, and whether they match. */
typedef struct {
    int32_t want_src, want_tag, src, tag;
    bool match;
} pair_t;

static const pair_t pairs[] = {
    {3, 7, 3, 7, true},
    {3, 7, 3, 8, false},
    {3, 7, 4, 7, false},
    {ANY_S, 7, 3, 7, true},
    {ANY_S, 7, 0, 7, true},
    {ANY_S, 7, 3, 8, false},
    {3, ANY_T, 3, 7, true},
    {3, ANY_T, 3, 0, true},
    {3, ANY_T, 4, 7, false},
    {ANY_S, ANY_T, 3, 7, true},
    {ANY_S, ANY_T, 0, 0, true},
    {3, ANY_T, 3, -10, false},
    {ANY_S, ANY_T, 3, -10, false},
    {3, -10, 3, -10, true},
    {ANY_S, -10, 3, -10, true},
    {ANY_S, -10, 3, -11, false},
    {3, -10, 3, -11, false},
    {0, 0, 0, 0, true},
    {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, true},
    {7, 3, 3, 7, false},
    {ANY_S, INT32_MAX, 9, INT32_MAX, true},
    {3, INT32_MIN, 3, INT32_MIN, true},
    {3, ANY_T, 3, INT32_MIN, false},
};

/* The receive is there first: the message finds it, or leaves it to be cancelled. */
static void receive_first(const pair_t *pair)
{
    mca_pml_fastpath_match_post_t post = {.queued = false};
    mca_pml_fastpath_match_post_t *want = pair->match ? &post : NULL;

    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post, pair->want_src, pair->want_tag));
    assert_true(post.queued);
    if (pair->match) {
        assert_true(mca_pml_fastpath_match_posted_for(&matcher, pair->src));
    }
    assert_ptr_equal(want, mca_pml_fastpath_match_peek(&matcher, pair->src, pair->tag));
    assert_ptr_equal(want, mca_pml_fastpath_match_arrive(&matcher, pair->src, pair->tag));
    if (!pair->match) {
        mca_pml_fastpath_match_cancel(&matcher, &post);
    }
    assert_false(post.queued);
    assert_int_equal(0, matcher.posted);
    assert_false(mca_pml_fastpath_match_posted_for(&matcher, pair->src));
}

/* The message is there first: the receive finds it, any number of times until it is taken. */
static void message_first(const pair_t *pair)
{
    mca_pml_fastpath_match_msg_t msg;
    mca_pml_fastpath_match_msg_t *want = pair->match ? &msg : NULL;

    assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &msg, pair->src, pair->tag));
    assert_ptr_equal(want, mca_pml_fastpath_match_find(&matcher, pair->want_src, pair->want_tag));
    assert_ptr_equal(want, mca_pml_fastpath_match_find(&matcher, pair->want_src, pair->want_tag));
    mca_pml_fastpath_match_take(&matcher, &msg);
    assert_int_equal(0, matcher.unexpected);
    assert_null(mca_pml_fastpath_match_find(&matcher, pair->want_src, pair->want_tag));
}

/* One receive, one message: does the pair match, in both directions of looking? */
static void test_pairs(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
        const pair_t *pair = &pairs[i];

        assert_int_equal(pair->match, matches(pair->want_src, pair->want_tag, pair->src, pair->tag));
        receive_first(pair);
        message_first(pair);
    }
}

/* Receives of all four kinds match in the order of posting, whatever that order is. */
static void test_posted_order(void **state)
{
    static const int32_t keys[4][2] = {{1, 5}, {1, ANY_T}, {ANY_S, 5}, {ANY_S, ANY_T}};
    mca_pml_fastpath_match_post_t post[8];

    (void) state;
    for (unsigned int code = 0; code < 256; ++code) { /* every choice of four kinds, each posted twice */
        for (unsigned int i = 0; i < 8; ++i) {
            const int32_t *key = keys[code >> 2 * (i % 4) & 3];

            assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post[i], key[0], key[1]));
        }
        for (unsigned int i = 0; i < 8; ++i) {
            assert_ptr_equal(&post[i], mca_pml_fastpath_match_arrive(&matcher, 1, 5));
        }
        assert_null(mca_pml_fastpath_match_arrive(&matcher, 1, 5));
    }
}

/* Unexpected messages are found in the order of arrival under every kind of key, also after removals in the
 * middle. */
static void test_unexpected_order(void **state)
{
    mca_pml_fastpath_match_msg_t msg[6];
    static const int32_t is[6][2] = {{1, 5}, {2, 5}, {1, 6}, {1, -10}, {1, 5}, {2, -10}};

    (void) state;
    for (int i = 0; i < 6; ++i) {
        assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &msg[i], is[i][0], is[i][1]));
    }
    assert_ptr_equal(&msg[1], mca_pml_fastpath_match_find(&matcher, 2, ANY_T));
    assert_ptr_equal(&msg[0], mca_pml_fastpath_match_find(&matcher, ANY_S, ANY_T));
    assert_ptr_equal(&msg[2], mca_pml_fastpath_match_find(&matcher, ANY_S, 6));
    assert_ptr_equal(&msg[3], mca_pml_fastpath_match_find(&matcher, ANY_S, -10));
    mca_pml_fastpath_match_take(&matcher, &msg[0]);
    mca_pml_fastpath_match_take(&matcher, &msg[3]);
    assert_ptr_equal(&msg[4], mca_pml_fastpath_match_find(&matcher, 1, 5));
    assert_ptr_equal(&msg[2], mca_pml_fastpath_match_find(&matcher, 1, ANY_T));
    assert_ptr_equal(&msg[1], mca_pml_fastpath_match_find(&matcher, ANY_S, 5));
    assert_ptr_equal(&msg[5], mca_pml_fastpath_match_find(&matcher, ANY_S, -10));
    mca_pml_fastpath_match_take(&matcher, &msg[1]);
    mca_pml_fastpath_match_take(&matcher, &msg[2]);
    assert_ptr_equal(&msg[4], mca_pml_fastpath_match_find(&matcher, ANY_S, ANY_T));
    mca_pml_fastpath_match_take(&matcher, &msg[4]);
    assert_null(mca_pml_fastpath_match_find(&matcher, ANY_S, ANY_T));
    assert_int_equal(1, matcher.unexpected);
    mca_pml_fastpath_match_take(&matcher, &msg[5]);
}

struct seen {
    void *at[8];
    int count;
};

static void see_post(mca_pml_fastpath_match_post_t *post, void *ctx)
{
    struct seen *seen = ctx;

    seen->at[seen->count++] = post;
}

static void see_msg(mca_pml_fastpath_match_msg_t *msg, void *ctx)
{
    struct seen *seen = ctx;

    seen->at[seen->count++] = msg;
}

static void test_iterate(void **state)
{
    static const int32_t keys[5][2] = {{4, 1}, {ANY_S, ANY_T}, {4, ANY_T}, {4, 1}, {ANY_S, 1}};
    mca_pml_fastpath_match_post_t post[5];
    mca_pml_fastpath_match_msg_t msg[5];
    struct seen seen = {.count = 0};

    (void) state;
    mca_pml_fastpath_match_each_posted(&matcher, see_post, &seen);
    mca_pml_fastpath_match_each_unexpected(&matcher, see_msg, &seen);
    assert_int_equal(0, seen.count);
    for (int i = 0; i < 5; ++i) {
        assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post[i], keys[i][0], keys[i][1]));
        assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &msg[i], 20 - i, 4 == i ? -10 : i % 2));
    }
    mca_pml_fastpath_match_each_posted(&matcher, see_post, &seen);
    assert_int_equal(5, seen.count);
    for (int i = 0; i < 5; ++i) {
        assert_ptr_equal(&post[i], seen.at[i]);
    }
    seen.count = 0;
    mca_pml_fastpath_match_each_unexpected(&matcher, see_msg, &seen);
    assert_int_equal(5, seen.count);
    for (int i = 0; i < 5; ++i) {
        assert_ptr_equal(&msg[i], seen.at[i]);
    }
    seen.count = 0;
    fail_one_in = 1; /* without memory all are seen, in some order */
    mca_pml_fastpath_match_each_posted(&matcher, see_post, &seen);
    assert_int_equal(5, seen.count);
}

/* A million tags one after the other need the memory of a few, and no allocation after the first of them. */
static void test_many_tags_over_time(void **state)
{
    mca_pml_fastpath_match_post_t post;
    mca_pml_fastpath_match_msg_t msg;
    long before = 0;

    (void) state;
    for (int32_t tag = 0; tag < 1000000; ++tag) {
        if (1000 == tag) {
            before = allocations;
        }
        assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post, tag % 7, tag));
        assert_ptr_equal(&post, mca_pml_fastpath_match_arrive(&matcher, tag % 7, tag));
        assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &msg, tag % 5, tag));
        assert_ptr_equal(&msg, mca_pml_fastpath_match_find(&matcher, ANY_S, tag)); /* turns the index on */
        mca_pml_fastpath_match_take(&matcher, &msg);
    }
    assert_int_equal(before, allocations);
    assert_true(live < 100);
}

/* Mean number of queues looked at to find one that is in the table. */
static double mean_steps(void)
{
    size_t steps = 0;
    size_t queues = 0;

    for (size_t i = 0; i < (size_t) 1 << (64 - matcher.shift); ++i) {
        size_t depth = 0;

        for (mca_pml_fastpath_match_queue_t *queue = matcher.bucket[i]; NULL != queue; queue = queue->next) {
            steps += ++depth;
            ++queues;
        }
    }
    assert_int_equal(matcher.queues, queues);
    return (double) steps / (double) queues;
}

/* The table stays shallow for the patterns of keys that programs make. */
static void test_table_stays_shallow(void **state)
{
    static const struct {
        const char *what;
        int32_t sources, tags, stride;
    } cases[] = {
        {"one source, 10 tags", 1, 10, 1},       {"one source, 10000 tags", 1, 10000, 1},
        {"10000 sources, one tag", 10000, 1, 1}, {"100 sources, 100 tags", 100, 100, 1},
        {"10000 tags, stride 64", 1, 10000, 64}, {"10000 tags, stride 65536", 1, 10000, 65536},
        {"1024 sources, 8 tags", 1024, 8, 1},    {"16 sources, 625 tags, stride 1000", 16, 625, 1000},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        size_t count = (size_t) cases[c].sources * (size_t) cases[c].tags;
        mca_pml_fastpath_match_post_t *post = malloc(count * sizeof(*post));
        double steps;

        assert_non_null(post);
        for (size_t i = 0; i < count; ++i) {
            assert_int_equal(0,
                             mca_pml_fastpath_match_post(&matcher, &post[i], (int32_t) i % cases[c].sources,
                                                         (int32_t) i / cases[c].sources * cases[c].stride));
        }
        steps = mean_steps();
        print_message("%-34s %.2f steps, %zu buckets\n", cases[c].what, steps,
                      (size_t) 1 << (64 - matcher.shift));
        assert_true(steps < 1.5);
        for (size_t i = count; i-- > 0;) {
            assert_ptr_equal(&post[i], mca_pml_fastpath_match_arrive(&matcher, post[i].src, post[i].tag));
        }
        free(post);
        tear_down(state);
        set_up(state);
    }
}

/* Keys that meet in one bucket are spread by another multiplier; nothing gets lost or out of order by that.
 */
static void test_keys_that_meet(void **state)
{
    enum { COUNT = 10000 };
    mca_pml_fastpath_match_post_t *post = malloc(COUNT * sizeof(*post));

    assert_non_null(post);
    for (int sources = 0; sources < 2; ++sources) {
        int32_t value = 0;

        for (int i = 0; i < COUNT; ++i) {
            assert_int_equal(
                0, mca_pml_fastpath_match_post(&matcher, &post[i], sources ? value : 3, sources ? 3 : value));
            value = match_key_next(value, sources);
        }
        assert_int_not_equal(MCA_PML_FASTPATH_MATCH_MULTIPLIER, matcher.multiplier);
        print_message("%s: %.2f steps\n", sources ? "sources" : "tags", mean_steps());
        assert_true(mean_steps() < 1.5);
        for (int i = 0; i < COUNT; ++i) {
            assert_ptr_equal(&post[i], mca_pml_fastpath_match_arrive(&matcher, post[i].src, post[i].tag));
        }
        tear_down(state);
        set_up(state);
    }
    free(post);
}

static void test_no_memory(void **state)
{
    mca_pml_fastpath_matcher_t other;
    mca_pml_fastpath_match_post_t post = {.queued = false};
    mca_pml_fastpath_match_post_t lone = {.queued = false};
    mca_pml_fastpath_match_msg_t msg;
    mca_pml_fastpath_match_msg_t late;

    (void) state;
    fail_one_in = 1;
    assert_int_equal(-1, mca_pml_fastpath_matcher_init(&other));
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &lone, 1, 2)); /* a lone one needs none */
    assert_int_equal(-1, mca_pml_fastpath_match_post(&matcher, &post, 1, 3));
    assert_false(post.queued);
    assert_ptr_equal(&lone, mca_pml_fastpath_match_arrive(&matcher, 1, 2)); /* and is not lost */
    assert_int_equal(-1, mca_pml_fastpath_match_store(&matcher, &msg, 1, 2));
    assert_int_equal(0, matcher.posted);
    assert_int_equal(0, matcher.unexpected);
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post, ANY_S, ANY_T)); /* needs none */
    assert_ptr_equal(&post, mca_pml_fastpath_match_arrive(&matcher, 1, 2));

    fail_one_in = 0;
    assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &msg, 1, 2));
    fail_one_in = 1; /* the index cannot be made, the answers are the same */
    assert_ptr_equal(&msg, mca_pml_fastpath_match_find(&matcher, 1, ANY_T));
    assert_ptr_equal(&msg, mca_pml_fastpath_match_find(&matcher, ANY_S, 2));
    assert_null(mca_pml_fastpath_match_find(&matcher, 2, ANY_T));
    assert_int_equal(0, matcher.indexed);
    fail_one_in = 0;
    assert_ptr_equal(&msg, mca_pml_fastpath_match_find(&matcher, 1, ANY_T));
    assert_ptr_equal(&msg, mca_pml_fastpath_match_find(&matcher, ANY_S, 2));
    fail_one_in = 1; /* (1, 2) and (1, ANY) are there, (ANY, 3) is not */
    assert_int_equal(-1, mca_pml_fastpath_match_store(&matcher, &late, 1, 3));
    assert_int_equal(1, matcher.unexpected);
    mca_pml_fastpath_match_take(&matcher, &msg);
    assert_null(mca_pml_fastpath_match_find(&matcher, 1, ANY_T));
}

/* An index of which only a part could be made is taken back whole. */
static void test_no_memory_for_index(void **state)
{
    for (long enough = 0; enough < 6; ++enough) {
        mca_pml_fastpath_match_msg_t msg[6];

        for (int i = 0; i < 6; ++i) {
            assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &msg[i], i, i < 4 ? 5 + i : -10 - i));
        }
        for (int kind = 0; kind < 2; ++kind) {
            fail_after =
                enough; /* messages of six tags, four of which a receive with a wildcard tag can match */
            assert_ptr_equal(&msg[3], 0 == kind ? mca_pml_fastpath_match_find(&matcher, 3, ANY_T)
                                                : mca_pml_fastpath_match_find(&matcher, ANY_S, 8));
            fail_after = -1;
            mca_pml_fastpath_match_take(&matcher, &msg[3]);
            assert_int_equal(0, mca_pml_fastpath_match_store(&matcher, &msg[3], 3, 8));
        }
        for (int i = 0; i < 6; ++i) {
            assert_ptr_equal(i < 4 ? &msg[i] : NULL, mca_pml_fastpath_match_find(&matcher, i, ANY_T));
            assert_ptr_equal(&msg[i], mca_pml_fastpath_match_find(&matcher, ANY_S, i < 4 ? 5 + i : -10 - i));
            mca_pml_fastpath_match_take(&matcher, &msg[i]);
            assert_null(mca_pml_fastpath_match_find(&matcher, ANY_S, i < 4 ? 5 + i : -10 - i));
        }
        tear_down(state);
        set_up(state);
    }
}

/* The test for one source sees that source and the wildcard, and not a receive that is gone. */
static void test_posted_for(void **state)
{
    mca_pml_fastpath_match_post_t here;
    mca_pml_fastpath_match_post_t other;
    mca_pml_fastpath_match_post_t any;

    (void) state;
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &other, 2, 5));
    assert_false(mca_pml_fastpath_match_posted_for(&matcher, 1));
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &here, 1, ANY_T));
    assert_true(mca_pml_fastpath_match_posted_for(&matcher, 1));
    mca_pml_fastpath_match_cancel(&matcher, &here);
    assert_false(mca_pml_fastpath_match_posted_for(&matcher, 1));
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &any, ANY_S, 5));
    assert_true(mca_pml_fastpath_match_posted_for(&matcher, 1));
    assert_ptr_equal(&any, mca_pml_fastpath_match_arrive(&matcher, 1, 5));
    assert_false(mca_pml_fastpath_match_posted_for(&matcher, 1));
    assert_true(mca_pml_fastpath_match_posted_for(&matcher, 2));
    mca_pml_fastpath_match_cancel(&matcher, &other);
}

/* Of what is posted, that comes before a receive which a message of its own may match: of one with another
 * tag only if that is a wildcard. */
static void test_posted_before(void **state)
{
    enum { INTERNAL = -17 };
    static const struct {
        int32_t src, tag;
        bool before[5]; /* receives of (1, 5), (1, 6), (1, ANY_T), (2, 5) and of an internal tag of 1 */
    } posts[] = {
        {1, 5, {true, false, true, false, false}},
        {1, ANY_T, {true, true, true, false, false}},
        {ANY_S, 5, {true, false, true, true, false}},
        {ANY_S, ANY_T, {true, true, true, true, false}},
        {2, 5, {false, false, false, true, false}},
        {1, INTERNAL, {false, false, true, false, true}},
        {ANY_S, INTERNAL, {false, false, true, false, true}},
    };
    static const int32_t wanted[][2] = {{1, 5}, {1, 6}, {1, ANY_T}, {2, 5}, {1, INTERNAL}};
    mca_pml_fastpath_match_post_t post, far_away;

    (void) state;
    for (int lone = 0; lone < 2; ++lone) {
        if (!lone) {
            assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &far_away, 3, 77));
        }
        for (size_t i = 0; i < sizeof(posts) / sizeof(posts[0]); ++i) {
            assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post, posts[i].src, posts[i].tag));
            for (int j = 0; j < 5; ++j) {
                assert_int_equal(posts[i].before[j],
                                 mca_pml_fastpath_match_posted_before(&matcher, wanted[j][0], wanted[j][1]));
            }
            mca_pml_fastpath_match_cancel(&matcher, &post);
        }
        if (!lone) {
            mca_pml_fastpath_match_cancel(&matcher, &far_away);
        }
    }
}

/* Only behind a receive of the same key, which is in its queue, may another one be put without asking for
 * more. */
static void test_posted_same(void **state)
{
    mca_pml_fastpath_match_post_t post[4];

    (void) state;
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post[0], 1, 5));
    assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post[1], 1, 5));
    assert_true(mca_pml_fastpath_match_posted_same(&matcher, 1, 5));
    assert_false(mca_pml_fastpath_match_posted_same(&matcher, 1, 6));
    assert_false(mca_pml_fastpath_match_posted_same(&matcher, 2, 5));
    mca_pml_fastpath_match_post_same(&matcher, &post[2], 1, 5);
    for (int i = 0; i < 3; ++i) {
        assert_ptr_equal(&post[i], mca_pml_fastpath_match_arrive(&matcher, 1, 5));
    }
    assert_false(mca_pml_fastpath_match_posted_same(&matcher, 1, 5));
    assert_int_equal(0,
                     mca_pml_fastpath_match_post(&matcher, &post[0], 1, 5)); /* a lone one is in no queue */
    assert_false(mca_pml_fastpath_match_posted_same(&matcher, 1, 5));
    mca_pml_fastpath_match_cancel(&matcher, &post[0]);
    for (int i = 0; i < 2; ++i) { /* nor does it work with wildcards */
        assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post[2 * i], i ? ANY_S : 1, ANY_T));
        assert_int_equal(0, mca_pml_fastpath_match_post(&matcher, &post[2 * i + 1], i ? ANY_S : 1, ANY_T));
        assert_false(mca_pml_fastpath_match_posted_same(&matcher, i ? ANY_S : 1, ANY_T));
    }
    for (int i = 0; i < 4; ++i) {
        assert_ptr_equal(&post[i], mca_pml_fastpath_match_arrive(&matcher, 1, 5));
    }
}

/* How the keys of a communicator are spread. */
typedef struct {
    const char *name;
    uint32_t sources, tags;
    bool sources_meet, tags_meet; /* in one bucket of a new matcher */
} profile_t;

static const profile_t profiles[] = {
    {"few sources, few tags", 6, 6, false, false},
    {"many sources", 10000, 3, false, false},
    {"many tags", 2, 10000, false, false},
    {"tags that meet in one bucket", 2, 300, false, true},
    {"sources that meet in one bucket", 300, 2, true, false},
};

/* The naive matcher of each communicator: receives and messages in arrays, in order. */
#define POOL  2000
#define COMMS (sizeof(profiles) / sizeof(profiles[0]))

typedef struct {
    const profile_t *profile;
    mca_pml_fastpath_matcher_t matcher; /* the one under test */
    mca_pml_fastpath_match_post_t post[POOL];
    mca_pml_fastpath_match_msg_t msg[POOL];
    int posted[POOL], posted_count; /* indices into post, earliest first */
    int stored[POOL], stored_count;
    int free_post[POOL], free_post_count;
    int free_msg[POOL], free_msg_count;
    int32_t post_key[POOL][2];
    int32_t msg_key[POOL][2];
} comm_t;

static comm_t comms[COMMS];
static comm_t *comm; /* of the operation under way */

/* Values that meet in one bucket, found once. */
static int32_t meeting[2][300];

static void comms_reset(void)
{
    memset(comms, 0, sizeof(comms));
    for (size_t c = 0; c < COMMS; ++c) {
        comm = &comms[c];
        comm->profile = &profiles[c];
        for (int i = 0; i < POOL; ++i) {
            comm->free_post[i] = i;
            comm->free_msg[i] = i;
        }
        comm->free_post_count = POOL;
        comm->free_msg_count = POOL;
        assert_int_equal(0, mca_pml_fastpath_matcher_init(&comm->matcher));
    }
    for (int i = 1; i < 300; ++i) {
        meeting[0][i] = match_key_next(meeting[0][i - 1], false);
        meeting[1][i] = match_key_next(meeting[1][i - 1], true);
    }
}

static void naive_remove(int *list, int *count, int at)
{
    memmove(&list[at], &list[at + 1], (size_t) (*count - at - 1) * sizeof(*list));
    --*count;
}

static int32_t random_source(bool wildcard)
{
    uint32_t source = random_u32() % comm->profile->sources;

    if (wildcard && 0 == random_u32() % 4) {
        return ANY_S;
    }
    return comm->profile->sources_meet ? meeting[1][source] : (int32_t) source;
}

static int32_t random_tag(bool wildcard)
{
    uint32_t choice = random_u32() % 16;
    uint32_t tag = random_u32() % comm->profile->tags;

    if (wildcard && choice < 4) {
        return ANY_T;
    }
    if (choice < 6) {
        return -10 - (int32_t) (random_u32() % 3);
    }
    if (15 == choice) {
        return (int32_t) random_u32(); /* now and then any tag there is */
    }
    return comm->profile->tags_meet ? meeting[0][tag] : (int32_t) tag;
}

static void step_post(void)
{
    int32_t src = random_source(true);
    int32_t tag = random_tag(true);
    int i;

    if (0 == comm->free_post_count) {
        return;
    }
    i = comm->free_post[comm->free_post_count - 1];
    if (0 != mca_pml_fastpath_match_post(&comm->matcher, &comm->post[i], src, tag)) {
        assert_int_not_equal(0, fail_one_in);
        assert_false(comm->post[i].queued);
        return;
    }
    --comm->free_post_count;
    comm->post_key[i][0] = src;
    comm->post_key[i][1] = tag;
    comm->posted[comm->posted_count++] = i;
}

static void step_cancel(void)
{
    int at;

    if (0 == comm->posted_count) {
        return;
    }
    at = (int) (random_u32() % (uint32_t) comm->posted_count);
    mca_pml_fastpath_match_cancel(&comm->matcher, &comm->post[comm->posted[at]]);
    comm->free_post[comm->free_post_count++] = comm->posted[at];
    naive_remove(comm->posted, &comm->posted_count, at);
}

static void step_arrive(void)
{
    int32_t src = random_source(false);
    int32_t tag = random_tag(false);
    mca_pml_fastpath_match_post_t *expected = NULL;
    bool for_source = false;
    int at;

    for (at = 0; at < comm->posted_count; ++at) {
        int32_t *key = comm->post_key[comm->posted[at]];

        for_source = for_source || ANY_S == key[0] || src == key[0];
        if (matches(key[0], key[1], src, tag)) {
            expected = &comm->post[comm->posted[at]];
            break;
        }
    }
    if (for_source) {
        assert_true(mca_pml_fastpath_match_posted_for(&comm->matcher, src));
    }
    assert_int_equal(NULL != expected, mca_pml_fastpath_match_posted_before(&comm->matcher, src, tag));
    assert_ptr_equal(expected, mca_pml_fastpath_match_arrive(&comm->matcher, src, tag));
    if (NULL != expected) {
        assert_false(expected->queued);
        comm->free_post[comm->free_post_count++] = comm->posted[at];
        naive_remove(comm->posted, &comm->posted_count, at);
    }
}

static void step_store(void)
{
    int32_t src = random_source(false);
    int32_t tag = random_tag(false);
    int i;

    if (0 == comm->free_msg_count) {
        return;
    }
    i = comm->free_msg[comm->free_msg_count - 1];
    if (0 != mca_pml_fastpath_match_store(&comm->matcher, &comm->msg[i], src, tag)) {
        assert_int_not_equal(0, fail_one_in);
        return;
    }
    --comm->free_msg_count;
    comm->msg_key[i][0] = src;
    comm->msg_key[i][1] = tag;
    comm->stored[comm->stored_count++] = i;
}

/* Looks for a message as probe and receive do. Takes it as a receive does, or one from the middle as a
 * sender's cancel does, or leaves it as a probe does. */
static void step_find(bool take)
{
    int32_t src = random_source(true);
    int32_t tag = random_tag(true);
    mca_pml_fastpath_match_msg_t *expected = NULL;
    int at;

    for (at = 0; at < comm->stored_count; ++at) {
        int32_t *key = comm->msg_key[comm->stored[at]];

        if (matches(src, tag, key[0], key[1])) {
            expected = &comm->msg[comm->stored[at]];
            break;
        }
    }
    assert_ptr_equal(expected, mca_pml_fastpath_match_find(&comm->matcher, src, tag));
    if (take && NULL == expected && 0 != comm->stored_count) {
        at = (int) (random_u32() % (uint32_t) comm->stored_count);
        expected = &comm->msg[comm->stored[at]];
    }
    if (take && NULL != expected) {
        mca_pml_fastpath_match_take(&comm->matcher, expected);
        memset(expected, 0xa5, sizeof(*expected)); /* nothing may look at it any more */
        comm->free_msg[comm->free_msg_count++] = comm->stored[at];
        naive_remove(comm->stored, &comm->stored_count, at);
    }
}

/* Cancels and takes all there is. */
static void drain(void)
{
    while (0 != comm->posted_count) {
        step_cancel();
    }
    while (0 != comm->stored_count) {
        step_find(true);
    }
    mca_pml_fastpath_matcher_fini(&comm->matcher);
}

/* Goes on with a new matcher, so that indices and hash start over. */
static void start_over(void)
{
    drain();
    while (0 != mca_pml_fastpath_matcher_init(&comm->matcher)) {
        assert_int_not_equal(0, fail_one_in);
    }
}

static void step_add(void)
{
    0 == random_u32() % 2 ? step_post() : step_store();
}

static void step_remove(void)
{
    uint32_t choice = random_u32() % 8;

    choice < 3   ? step_arrive()
    : choice < 6 ? step_find(true)  /* a receive, a matched probe, or the sender's cancel of any message */
    : choice < 7 ? step_find(false) /* a probe */
                 : step_cancel();
}

static void random_operations(long count)
{
    static const uint32_t phases[] = {50, 65, 35, 80, 10};
    uint32_t fill = 50; /* percent of operations that add; changes so that the matcher fills and drains */

    for (long i = 0; i < count; ++i) {
        if (0 == i % 1000) {
            fill = phases[random_u32() % 5];
            if (0 == random_u32() % 20) {
                comm = &comms[random_u32() % COMMS];
                start_over();
            }
        }
        comm = &comms[random_u32() % COMMS];
        random_u32() % 100 < fill ? step_add() : step_remove();
        assert_int_equal(comm->posted_count, comm->matcher.posted);
        assert_int_equal(comm->stored_count, comm->matcher.unexpected);
    }
}

static void test_random(void **state)
{
    const char *seed = getenv("FASTPATH_SEED");
    const char *ops = getenv("FASTPATH_OPS");
    int respread = 0;
    long count = NULL != ops ? strtol(ops, NULL, 0) : 1000000;

    (void) state;
    random_state = NULL != seed ? strtoull(seed, NULL, 0) : (uint64_t) time(NULL);
    print_message("FASTPATH_SEED=%" PRIu64 "\n", random_state);
    comms_reset();
    random_operations(count / 2);
    for (size_t c = 0; c < COMMS; ++c) {
        respread += MCA_PML_FASTPATH_MATCH_MULTIPLIER != comms[c].matcher.multiplier;
    }
    print_message("%d of %zu tables are spread by another multiplier\n", respread, COMMS);
    fail_one_in = 3;
    random_operations(count - count / 2);
    for (size_t c = 0; c < COMMS; ++c) {
        comm = &comms[c];
        drain();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pairs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_posted_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unexpected_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_iterate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_tags_over_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_table_stays_shallow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys_that_meet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory_for_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_posted_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_posted_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_posted_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_random, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
