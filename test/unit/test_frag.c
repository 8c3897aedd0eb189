/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Buffers of the eager pool: who takes turns, and that none is handed out twice or lost, whatever takes turns
 * and however many are in use. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "opal/mca/btl/fastsm/btl_fastsm_frag.c"
#include "opal/mca/btl/fastsm/btl_fastsm_rotation.c"

#include "segment_fixture.h"

enum { COUNT = 256, SIZE = 1024, SOME = MCA_BTL_FASTSM_ROTATION_FEW };

static const mca_btl_fastsm_layout_params_t params = {.n_local = 2,
                                                      .fifo_depth = 16,
                                                      .bell_stride = 1,
                                                      .position_stride = 8,
                                                      .eager_count = COUNT,
                                                      .eager_size = SIZE,
                                                      .max_count = 2,
                                                      .max_size = 8192,
                                                      .ring_depth = 8};

static mca_btl_fastsm_frag_list_t *list;
static mca_btl_fastsm_frag_t *in_hand[COUNT]; /* the longest taken first */
static uint32_t oldest, n_in_hand;
static uint8_t has[COUNT]; /* buffers that are in hand, by number */

/* ---- what the BTL does besides ---- */

mca_btl_fastsm_component_t mca_btl_fastsm_component;
mca_btl_fastsm_module_t mca_btl_fastsm_module;

void mca_btl_fastsm_shortage(const mca_btl_fastsm_endpoint_t *endpoint, const char *what, size_t bytes)
{
    (void) endpoint;
    fail_msg("no memory for %s of %zu bytes", what, bytes);
    abort(); /* the compiler does not know that fail_msg() does not return */
}

void mca_btl_fastsm_reclaim(mca_btl_fastsm_endpoint_t *endpoint)
{
    (void) endpoint;
}

void mca_btl_fastsm_failed_reclaim(mca_btl_base_endpoint_t *endpoint)
{
    (void) endpoint;
}

/* ---- the pool ---- */

static int begin(void **state)
{
    (void) state;
    opal_progress_yield_when_idle = false;
    mca_btl_fastsm_component.base = segment_open(&params, &mca_btl_fastsm_component.layout);
    mca_btl_fastsm_frags_init();
    list = &mca_btl_fastsm_component.frags[MCA_BTL_FASTSM_FRAG_EAGER];
    memset(has, 0, sizeof(has));
    oldest = n_in_hand = 0;
    return 0;
}

static int end(void **state)
{
    (void) state;
    mca_btl_fastsm_frags_fini();
    return munmap(mca_btl_fastsm_component.base, mca_btl_fastsm_component.layout.total);
}

static uint32_t number_of(const mca_btl_fastsm_frag_t *frag)
{
    const uint64_t first = mca_btl_fastsm_layout_eager(&mca_btl_fastsm_component.layout, 0);
    const uint64_t second = mca_btl_fastsm_layout_eager(&mca_btl_fastsm_component.layout, 1);

    return (uint32_t) ((frag->offset - MCA_BTL_FASTSM_EAGER_LEAD - first) / (second - first));
}

/* Takes one. @return its number, or COUNT: there is none */
static uint32_t take(void)
{
    mca_btl_fastsm_frag_t *frag = mca_btl_fastsm_frags_take(NULL, 1, 1);
    uint32_t number;

    if (NULL == frag) {
        return COUNT;
    }
    number = number_of(frag);
    assert_in_range(number, 0, COUNT - 1);
    assert_false(has[number]);
    has[number] = 1;
    in_hand[(oldest + n_in_hand++) % COUNT] = frag;
    assert_int_equal(n_in_hand, in_use(list));
    return number;
}

static void give_back(void)
{
    has[number_of(in_hand[oldest])] = 0;
    mca_btl_fastsm_frag_return(in_hand[oldest]);
    oldest = (oldest + 1) % COUNT;
    --n_in_hand;
    assert_int_equal(n_in_hand, in_use(list));
}

/* Takes so many, one after the other, while so many are in use. @return how many different ones */
static uint32_t different(uint32_t count, uint32_t used)
{
    uint8_t seen[COUNT] = {0};
    uint32_t n = 0;

    for (uint32_t i = 0; i < count; ++i) {
        uint32_t number;

        while (used <= n_in_hand) {
            give_back();
        }
        number = take();
        assert_true(COUNT > number);
        n += 0 == seen[number] ? 1 : 0;
        seen[number] = 1;
    }
    while (0 < n_in_hand) {
        give_back();
    }
    return n;
}

/* Few are sooner, whatever this machine says, or all. */
static void choose(bool few)
{
    list->rotation.few = few;
    list->rotation.rest = UINT32_MAX;
    mca_btl_fastsm_rotation_stop(&list->rotation);
    rotation_step(list);
    assert_int_equal(few, list->rotation.few_now);
}

/* Takes so many that all are there, whatever pages cost on this machine. */
static void make_all(void)
{
    list->rotation.rest = UINT32_MAX;
    (void) different(2 * COUNT * GROWTH_TAKEN_MAX, 1);
    assert_int_equal(COUNT, list->used);
}

/* ---- tests ---- */

static void test_all(void **state)
{
    (void) state;
    make_all();
    assert_int_equal(COUNT, different(COUNT, 1));
    assert_int_equal(COUNT, different(COUNT, 100));
}

static void test_few(void **state)
{
    (void) state;
    make_all();
    choose(true);
    assert_int_equal(SOME, different(10 * COUNT, 1));
    assert_int_equal(SOME, different(10 * COUNT, SOME / 2));
    choose(false);
    assert_int_equal(COUNT, different(COUNT, 1));
}

/* Those that were needed at a time have further turns, until there has been time to see that they are not. */
static void test_many_in_use(void **state)
{
    (void) state;
    make_all();
    choose(true);
    assert_int_equal(2 * SOME, different(10 * COUNT, 2 * SOME));
    assert_int_equal(2 * SOME, different(2 * SOME, 1));
    (void) different(list->rotation.left, 1);
    assert_int_equal(SOME, different(10 * COUNT, 1));
}

/* All are there, and none is twice. */
static void take_all(void)
{
    while (COUNT > take()) {
    }
    assert_int_equal(COUNT, n_in_hand);
    while (0 < n_in_hand) {
        give_back();
    }
}

/* All can be in use, few or not. */
static void test_none_left(void **state)
{
    (void) state;
    take_all();
    choose(true);
    assert_int_equal(COUNT - SOME, list->n_spare);
    take_all();
    choose(false);
    take_all();
}

/* A message takes several or none, also when a step comes meanwhile. */
static void test_chains(void **state)
{
    enum { CHAIN = 5, CHAINS = COUNT / CHAIN };
    mca_btl_fastsm_frag_t *chains[CHAINS];

    (void) state;
    make_all();
    choose(true);
    for (uint32_t left = 1; left <= CHAIN; ++left) {
        list->rotation.left = left;
        for (uint32_t i = 0; i < CHAINS; ++i) {
            chains[i] = mca_btl_fastsm_frags_take(NULL, CHAIN, 1);
            assert_non_null(chains[i]);
            assert_int_equal((i + 1) * CHAIN, in_use(list));
        }
        assert_null(mca_btl_fastsm_frags_take(NULL, CHAIN, 1));
        assert_int_equal(CHAINS * CHAIN, in_use(list));
        for (uint32_t i = 0; i < CHAINS; ++i) {
            mca_btl_fastsm_frags_put_back(chains[i], CHAIN);
        }
        take_all();
    }
}

/* A message that fills its last buffer to the end keeps the next one as long, unless half of them are in use.
 */
static void test_spacer(void **state)
{
    mca_btl_fastsm_frag_t *frags[COUNT];
    uint32_t n = 0;

    (void) state;
    make_all();
    choose(false);
    frags[n] = mca_btl_fastsm_frags_take(NULL, 1, SIZE - SIZE / 4 - MCA_BTL_FASTSM_EAGER_LEAD);
    assert_null(frags[n++]->spacer);
    frags[n] = mca_btl_fastsm_frags_take(NULL, 2, SIZE - MCA_BTL_FASTSM_EAGER_LEAD);
    assert_null(frags[n]->spacer);
    assert_non_null(mca_btl_fastsm_frag_next(frags[n++])->spacer);
    assert_int_equal(4, in_use(list));
    mca_btl_fastsm_frags_put_back(frags[0], 1);
    mca_btl_fastsm_frags_put_back(frags[1], 2);
    assert_int_equal(0, in_use(list));
    n = 0;
    while (in_use(list) < COUNT / 2) {
        frags[n] = mca_btl_fastsm_frags_take(NULL, 1, SIZE);
        assert_non_null(frags[n++]->spacer);
        assert_int_equal(2 * n, in_use(list));
    }
    while (in_use(list) < COUNT) {
        frags[n] = mca_btl_fastsm_frags_take(NULL, 1, SIZE);
        assert_null(frags[n++]->spacer);
    }
    while (0 < n) {
        mca_btl_fastsm_frags_put_back(frags[--n], 1);
    }
    assert_int_equal(0, in_use(list));
    opal_progress_yield_when_idle = true;
    frags[0] = mca_btl_fastsm_frags_take(NULL, 1, SIZE);
    assert_null(frags[0]->spacer);
    mca_btl_fastsm_frags_put_back(frags[0], 1);
}

/* How many free buffers do not have the one that is taken after them behind them.  After the last one the
 * first is taken again: where the list begins does not count. */
static uint32_t breaks(void)
{
    uint32_t n = 0;

    for (const mca_btl_fastsm_frag_t *frag = list->free; NULL != frag;
         frag = mca_btl_fastsm_frag_next(frag)) {
        const mca_btl_fastsm_frag_t *next = frag == list->last ? list->free : mca_btl_fastsm_frag_next(frag);

        n += (number_of(frag) + 1) % COUNT == number_of(next) ? 0 : 1;
    }
    return n;
}

/* Buffers that lie side by side are taken so, whatever messages have taken them before. */
static void test_side_by_side(void **state)
{
    enum { MESSAGES = 10000, LONGEST = 7 };
    uint32_t before, seed = 1;

    (void) state;
    make_all();
    choose(false);
    list->rotation.left = UINT32_MAX;
    before = breaks();
    assert_in_range(before, 0, COUNT / 16); /* where the pool has grown */
    for (uint32_t i = 0; i < MESSAGES; ++i) {
        const uint32_t count = 1 + (seed = seed * 1103515245u + 12345u) / 65536u % LONGEST;
        const size_t last = 0 != (seed & 1024) ? SIZE : 1;

        mca_btl_fastsm_frags_put_back(mca_btl_fastsm_frags_take(NULL, count, last), count);
    }
    assert_int_equal(before, breaks());
}

static void test_often(void **state)
{
    (void) state;
    assert_int_equal(GROWTH_TAKEN, often(0, 1000));
    assert_int_equal(GROWTH_TAKEN, often(1000, 1000));
    assert_int_equal(20 * GROWTH_PRICE, often(20000, 1000));
    assert_int_equal(GROWTH_TAKEN_MAX, often(UINT32_MAX, 1000));
    assert_int_equal(GROWTH_TAKEN_MAX, often(GROWTH_TAKEN_MAX, 0));
    assert_int_equal(GROWTH_TAKEN, often(0, 0));
}

/* A pool whose last pages were dear grows late, unless a buffer is needed. */
static void test_growth(void **state)
{
    uint32_t there;

    (void) state;
    list->rotation.rest = UINT32_MAX;
    (void) different(1, 1);
    there = list->there;
    assert_in_range(there, 2, COUNT / 2);
    (void) different(there, 1);
    assert_int_equal(there, list->used);
    list->growth.first = UINT32_MAX;
    (void) different(GROWTH_TAKEN_MAX / 2 * growth(list), 1);
    assert_int_equal(GROWTH_TAKEN_MAX, list->growth.often);
    assert_int_equal(there, list->there);
    (void) different(GROWTH_TAKEN_MAX / 2 * growth(list), 1);
    assert_true(there < list->there);

    there = list->there;
    (void) different(there + 1, there + 1);
    assert_true(there < list->there);
}

/* Where processes share cores only some take turns, also if all did before. */
/* There is no memory for more: so many are to be counted on. */
static void test_end_of_memory(void **state)
{
    char *rest;

    (void) state;
    mca_btl_fastsm_module.ext.buffers = COUNT;
    while (0 == list->there || list->used < list->there) {
        assert_int_not_equal(take(), COUNT);
    }
    rest = mca_btl_fastsm_component.base + offset_of(list, list->there) + lead_of(list) + list->size;
    rest += getpagesize() - (int) ((uintptr_t) rest % (unsigned) getpagesize());
    assert_int_equal(munmap(rest, 2 * list->size), 0); /* nothing can be there any more */
    while (COUNT != take()) {
    }
    assert_int_equal(mca_btl_fastsm_module.ext.buffers, list->used);
    assert_in_range(list->used, 1, COUNT / 2);
}

static void test_shared(void **state)
{
    (void) state;
    make_all();
    opal_progress_yield_when_idle = true;
    (void) different(list->rotation.left, 1);
    assert_int_equal(TURNS_SHARED, different(10 * COUNT, 1));
    opal_progress_yield_when_idle = false;
    (void) different(list->rotation.left, 1);
    assert_int_equal(COUNT, different(COUNT, 1));
}

/* Begins anew with so many local processes. */
static void begin_with(uint32_t local)
{
    mca_btl_fastsm_frags_fini();
    mca_btl_fastsm_component.layout.params.n_local = local;
    mca_btl_fastsm_frags_init();
}

/* There, where there are messages of several, a node's pools share the turns. */
static void test_shared_chains(void **state)
{
    mca_btl_fastsm_frag_t *frags;

    (void) state;
    for (uint32_t local = 1; NODE_SHARED / TURNS_SHARED >= local; ++local) {
        const uint32_t share = NODE_SHARED / local;

        begin_with(local);
        opal_progress_yield_when_idle = false;
        make_all();
        opal_progress_yield_when_idle = true;
        frags = mca_btl_fastsm_frags_take(NULL, 2, 1);
        assert_non_null(frags);
        mca_btl_fastsm_frags_put_back(frags, 2);
        (void) different(list->rotation.left, 1);
        assert_int_equal(TURNS_CHAINED < share ? TURNS_CHAINED : share, different(list->rotation.left, 1));
    }
}

/* How many a peer gets, one after the other, that has so many to read. */
static uint32_t most_for(uint32_t unread)
{
    mca_btl_fastsm_endpoint_t endpoint = {.n_in_flight = unread};
    mca_btl_fastsm_frag_t *frags[COUNT];
    uint32_t n = 0;

    while (COUNT > n && NULL != (frags[n] = mca_btl_fastsm_frags_take(&endpoint, 1, 1))) {
        ++n;
    }
    for (uint32_t i = 0; i < n; ++i) {
        mca_btl_fastsm_frag_return(frags[i]);
    }
    return n;
}

/* There, of buffers for messages of several, a peer that has something to read gets no more when very many
 * are in use, unless nothing can be read but that. */
static void test_shared_held(void **state)
{
    enum { LOCAL = 8 };
    const uint32_t each = 3, most = NODE_SHARED / LOCAL;
    mca_btl_fastsm_endpoint_t endpoint = {.n_in_flight = UNREAD_ALWAYS};
    _Atomic uint32_t refusal = MCA_BTL_FASTSM_PAIR_TRIED;
    mca_btl_fastsm_frag_t *frags;

    (void) state;
    begin_with(LOCAL);
    (void) different(1, most - each + 1);
    while (most - each + 1 > n_in_hand) {
        (void) take();
    }
    frags = mca_btl_fastsm_frags_take(&endpoint, each, 1);
    assert_non_null(frags);
    mca_btl_fastsm_frags_put_back(frags, each);
    opal_progress_yield_when_idle = true;
    assert_null(mca_btl_fastsm_frags_take(&endpoint, each, 1));
    frags = mca_btl_fastsm_frags_take(&endpoint, each - 1, 1);
    assert_non_null(frags);
    mca_btl_fastsm_frags_put_back(frags, each - 1);
    --endpoint.n_in_flight;
    frags = mca_btl_fastsm_frags_take(&endpoint, each, 1);
    assert_non_null(frags);
    mca_btl_fastsm_frags_put_back(frags, each);
    ++endpoint.n_in_flight;
    endpoint.pair.other = &refusal;
    frags = mca_btl_fastsm_frags_take(&endpoint, each, 1);
    assert_non_null(frags);
    mca_btl_fastsm_frags_put_back(frags, each);
    endpoint.pair.other = NULL;
    assert_in_range(most_for(UNREAD_ALWAYS), each, COUNT); /* those for one */
    while (0 < n_in_hand) {
        give_back();
    }
}

/* Where processes share cores a peer that has something to read gets no new pages soon after others, unless
 * it has little or the pages are few. */
static void test_shared_growth(void **state)
{
    uint32_t there;

    (void) state;
    (void) different(1, 1);
    there = list->there;
    assert_in_range(there, IN_USE_SHARED, COUNT / 2);
    opal_progress_yield_when_idle = true;
    list->growth.pages = UINT64_MAX / GROWTH_PAUSE;
    assert_int_equal(there, most_for(UNREAD_ALWAYS));
    assert_int_equal(there, list->there);
    list->growth.pages = 0;
    assert_true(there < most_for(UNREAD_ALWAYS));
    assert_true(there < list->there);
    list->growth.pages = UINT64_MAX / GROWTH_PAUSE;
    assert_int_equal(COUNT, most_for(UNREAD_ALWAYS - 1));
    assert_int_equal(COUNT - COUNT / KEPT_PART, most_for(UNREAD_ALWAYS));
}

/* Trials go on all the time, whatever their results are. */
static void test_trials(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < 100; ++i) {
        list->rotation.rest = 0;
        (void) different(RESTING, 1 + i % COUNT);
    }
    take_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all, begin, end),
        cmocka_unit_test_setup_teardown(test_few, begin, end),
        cmocka_unit_test_setup_teardown(test_many_in_use, begin, end),
        cmocka_unit_test_setup_teardown(test_none_left, begin, end),
        cmocka_unit_test_setup_teardown(test_chains, begin, end),
        cmocka_unit_test_setup_teardown(test_spacer, begin, end),
        cmocka_unit_test_setup_teardown(test_side_by_side, begin, end),
        cmocka_unit_test(test_often),
        cmocka_unit_test_setup_teardown(test_growth, begin, end),
        cmocka_unit_test_setup_teardown(test_end_of_memory, begin, end),
        cmocka_unit_test_setup_teardown(test_shared, begin, end),
        cmocka_unit_test_setup_teardown(test_shared_chains, begin, end),
        cmocka_unit_test_setup_teardown(test_shared_held, begin, end),
        cmocka_unit_test_setup_teardown(test_shared_growth, begin, end),
        cmocka_unit_test_setup_teardown(test_trials, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
