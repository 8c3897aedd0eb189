/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Sleeps that a word in memory and the event library end, whichever has something first. */

#define _GNU_SOURCE
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "opal/mca/common/fastpath/common_fastpath_relay.c"

#include "opal/mca/btl/fastsm/btl_fastsm_sleep.h"

#define SHORT UINT64_C(1000000)   /* in nanoseconds */
#define LONG  UINT64_C(900000000) /* nothing in these tests takes so long, or a test would not end in time */

enum { ROUNDS = 2000 };

/* ---- what stands in for btl/fastsm: one word ---- */

static _Atomic uint32_t word_;
static uint32_t last_word;

static bool word_sleep(mca_btl_base_module_t *btl, uint32_t word, uint64_t time)
{
    assert_null(btl);
    return fastsm_sleep(&word_, word, time);
}

static _Atomic uint32_t *word_asleep(struct mca_btl_base_endpoint_t *endpoint)
{
    assert_null(endpoint);
    return &word_;
}

static const mca_btl_fastsm_ext_t ext = {.sleep = word_sleep, .asleep = word_asleep};

static uint32_t announce(void)
{
    if (0 == word_) {
        word_ = ++last_word;
    }
    return word_;
}

/* ---- what stands in for a transport: a pipe ---- */

static int ends[2];
static opal_event_t event;
static int arrived;

static void arrives(int fd, short flags, void *context)
{
    char byte;

    (void) flags;
    (void) context;
    assert_int_equal(read(fd, &byte, 1), 1);
    ++arrived;
}

/* ---- somebody who sends ---- */

typedef enum { BY_WORD, BY_EVENT, BY_BOTH } way_t;

typedef struct {
    way_t way;
    unsigned delay; /* microseconds */
    pthread_t thread;
} sender_t;

static void *send_now(void *context)
{
    const sender_t *sender = context;

    usleep(sender->delay);
    if (BY_EVENT != sender->way) {
        fastsm_wake_if_asleep(&word_);
    }
    if (BY_WORD != sender->way) {
        assert_int_equal(write(ends[1], "", 1), 1);
    }
    return NULL;
}

/* Sleeps that have ended before their time though nothing had come. Seldom: who has changed the word may wake
 * a sleep that begins before he calls the kernel. */
static int for_nothing;

/* Sleep until somebody has sent something; the sleeps before this one have left the helper wherever it is. */
static void sleep_until_sent(mca_common_fastpath_relay_t *relay, way_t way, unsigned delay)
{
    sender_t sender = {.way = way, .delay = delay};
    const int before = arrived;
    mca_common_fastpath_relay_result_t result;
    bool by_word = false;
    uint32_t word = announce();

    assert_int_equal(pthread_create(&sender.thread, NULL, send_now, &sender), 0);
    do {
        result = mca_common_fastpath_relay_sleep(relay, word, LONG);
        by_word = by_word || !result.announced;
        for_nothing += !result.woken;
        word = announce();
    } while ((BY_EVENT != way && !by_word) || (BY_WORD != way && before == arrived));
    assert_int_equal(pthread_join(sender.thread, NULL), 0);
    assert_int_equal(arrived, before + (BY_WORD != way));
    assert_int_equal(by_word, BY_EVENT != way);
}

/* ---- BTLs ---- */

static mca_btl_base_component_t component;
static mca_btl_base_selected_module_t selected = {.btl_component = &component};

static int progress(void)
{
    return 0;
}

static void set_btl(const char *name, bool has_progress)
{
    strcpy(component.btl_version.mca_component_name, name);
    component.btl_progress = has_progress ? progress : NULL;
}

static bool is_usable(const char *name, bool has_progress, const mca_btl_fastsm_ext_t *with)
{
    mca_common_fastpath_relay_t relay = {.fd = 0};
    bool usable;

    set_btl(name, has_progress);
    usable = mca_common_fastpath_relay_usable(&relay, NULL, with);
    assert_int_equal(usable, mca_common_fastpath_relay_usable(&relay, NULL, with));
    mca_common_fastpath_relay_fini(&relay);
    return usable;
}

static void transports_that_have_to_be_polled_are_refused(void **state)
{
    (void) state;
    assert_true(is_usable("tcp", false, &ext));
    assert_true(is_usable("fastsm", true, &ext));
    assert_true(is_usable("vader", true, &ext));
    assert_false(is_usable("ofi", true, &ext));
    assert_true(is_usable("tcp", false, NULL));
    assert_false(is_usable("vader", true, NULL)); /* nobody says what it has for us */
}

static void threads_are_refused(void **state)
{
    bool usable;

    (void) state;
    (void) opal_set_using_threads(true);
    usable = is_usable("tcp", false, &ext);
    (void) opal_set_using_threads(false);
    assert_false(usable);
}

/* ---- sleeps ---- */

static int start_relay(void **state)
{
    static mca_common_fastpath_relay_t relay;

    set_btl("tcp", false);
    word_ = 0;
    *state = &relay;
    return mca_common_fastpath_relay_usable(&relay, NULL, &ext) ? 0 : -1;
}

static int end_relay(void **state)
{
    mca_common_fastpath_relay_fini(*state);
    return 0;
}

static void time_ends_a_sleep(void **state)
{
    const uint32_t word = announce();

    for (int i = 0; i < 3; i++) {
        const mca_common_fastpath_relay_result_t result =
            mca_common_fastpath_relay_sleep(*state, word, SHORT);

        assert_true(result.announced);
        assert_false(result.woken);
    }
}

static void time_ends_what_was_not_announced(void **state)
{
    const mca_common_fastpath_relay_result_t result = mca_common_fastpath_relay_sleep(*state, 0, SHORT);

    assert_false(result.announced);
    assert_false(result.woken);
}

static void what_came_before_ends_it(void **state)
{
    const uint32_t word = announce();
    mca_common_fastpath_relay_result_t result;

    fastsm_wake_if_asleep(&word_);
    result = mca_common_fastpath_relay_sleep(*state, word, LONG);
    assert_false(result.announced);
    assert_true(result.woken);
    assert_int_equal(write(ends[1], "", 1), 1);
    result = mca_common_fastpath_relay_sleep(*state, announce(), LONG);
    assert_true(result.announced);
    assert_true(result.woken);
}

static void each_way_ends_it(void **state)
{
    for (int i = 0; i < ROUNDS; i++) {
        sleep_until_sent(*state, (way_t) (i * 7 % 5 % 3), (unsigned) (i % 3 * 40));
    }
    printf("# %d of %d ended for nothing\n", for_nothing, ROUNDS);
    assert_in_range(for_nothing, 0, ROUNDS / 200);
}

/* The helper is somewhere in a long sleep that nobody waits for. */
static void ends_in_the_middle(void **state)
{
    mca_common_fastpath_relay_t *relay = *state;

    sleep_until_sent(relay, BY_EVENT, 100);
    mca_common_fastpath_relay_fini(relay);
    assert_int_equal(start_relay(state), 0);
    sleep_until_sent(relay, BY_WORD, 100);
}

static int begin(void **state)
{
    (void) state;
    alarm(60);
    opal_sync_event_base = opal_event_base_create();
    OBJ_CONSTRUCT(&mca_btl_base_modules_initialized, opal_list_t);
    OBJ_CONSTRUCT(&selected, mca_btl_base_selected_module_t);
    selected.btl_component = &component;
    opal_list_append(&mca_btl_base_modules_initialized, &selected.super);
    if (NULL == opal_sync_event_base || 0 != pipe(ends)) {
        return -1;
    }
    opal_event_set(opal_sync_event_base, &event, ends[0], OPAL_EV_READ | OPAL_EV_PERSIST, arrives, NULL);
    return opal_event_add(&event, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transports_that_have_to_be_polled_are_refused),
        cmocka_unit_test(threads_are_refused),
        cmocka_unit_test_setup_teardown(time_ends_a_sleep, start_relay, end_relay),
        cmocka_unit_test_setup_teardown(time_ends_what_was_not_announced, start_relay, end_relay),
        cmocka_unit_test_setup_teardown(what_came_before_ends_it, start_relay, end_relay),
        cmocka_unit_test_setup_teardown(each_way_ends_it, start_relay, end_relay),
        cmocka_unit_test_setup_teardown(ends_in_the_middle, start_relay, end_relay),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
