/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The mailbox for updates of a member's memory: what each step does, and threads that are origins and targets
 * of one mailbox at a time. Every update is made once, by one of them, on the number that the last one has
 * left.
 *
 * FASTPATH_SECONDS sets how long the threads run.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "ompi/mca/osc/fastpath/osc_fastpath_member.h"

enum { ORIGINS = 2, TARGETS = 2, BATCH = 1000 };

static mca_osc_fastpath_member_t member;
static uint64_t number; /* the memory that is updated; plain, so that a sanitizer sees who races for it */
static _Atomic bool over;

static void answers_once(void **state)
{
    mca_osc_fastpath_mailbox_t mailbox;

    (void) state;
    memset(&mailbox, 0, sizeof(mailbox));
    assert_false(mca_osc_fastpath_mailbox_rings(&mailbox));
    assert_false(mca_osc_fastpath_mailbox_take(&mailbox));
    for (int done = 0; done < 2; ++done) {
        mca_osc_fastpath_mailbox_post(&mailbox);
        assert_true(mca_osc_fastpath_mailbox_rings(&mailbox));
        assert_int_equal(mca_osc_fastpath_mailbox_answer(&mailbox), MCA_OSC_FASTPATH_MAILBOX_POSTED);
        assert_true(mca_osc_fastpath_mailbox_take(&mailbox));
        assert_false(mca_osc_fastpath_mailbox_take(&mailbox));
        assert_false(mca_osc_fastpath_mailbox_withdraw(&mailbox));
        assert_int_equal(mca_osc_fastpath_mailbox_answer(&mailbox), MCA_OSC_FASTPATH_MAILBOX_TAKEN);
        mca_osc_fastpath_mailbox_reply(&mailbox, done);
        assert_int_equal(mca_osc_fastpath_mailbox_answer(&mailbox),
                         done ? MCA_OSC_FASTPATH_MAILBOX_DONE : MCA_OSC_FASTPATH_MAILBOX_REFUSED);
        assert_false(mca_osc_fastpath_mailbox_withdraw(&mailbox));
        assert_false(mca_osc_fastpath_mailbox_rings(&mailbox));
        assert_false(mca_osc_fastpath_mailbox_take(&mailbox));
    }
}

static void is_taken_back(void **state)
{
    mca_osc_fastpath_mailbox_t mailbox;

    (void) state;
    memset(&mailbox, 0, sizeof(mailbox));
    mca_osc_fastpath_mailbox_post(&mailbox);
    assert_true(mca_osc_fastpath_mailbox_withdraw(&mailbox));
    assert_false(mca_osc_fastpath_mailbox_take(&mailbox));
    assert_false(mca_osc_fastpath_mailbox_withdraw(&mailbox));
    mca_osc_fastpath_mailbox_post(&mailbox);
    assert_true(mca_osc_fastpath_mailbox_take(&mailbox));
}

/* Add to the number what the mailbox says, and say what was there. */
static void add(void)
{
    const uint64_t old = number;
    uint64_t added;

    memcpy(&added, member.mailbox.posted.data, sizeof(added));
    number = old + added;
    memcpy(member.mailbox.posted.data, &old, sizeof(old));
}

/* Every seventh is refused. */
static void *target(void *argument)
{
    (void) argument;
    for (uint64_t count = 0; !over; ++count) {
        if (!mca_osc_fastpath_mailbox_rings(&member.mailbox)
            || !mca_osc_fastpath_mailbox_take(&member.mailbox)) {
            if (0 == count % 64) {
                sched_yield();
            }
            continue;
        }
        if (0 == count % 7) {
            mca_osc_fastpath_mailbox_reply(&member.mailbox, false);
            continue;
        }
        add();
        mca_osc_fastpath_mailbox_reply(&member.mailbox, true);
    }
    return NULL;
}

typedef struct {
    int rank;
    uint64_t added;
    unsigned long made, withdrawn, refused, wrong;
} origin_t;

/* In the accumulate lock: by the mailbox, or, when nobody answers, here. @return what was there */
static uint64_t update(origin_t *origin, uint64_t added, unsigned looks)
{
    mca_osc_fastpath_mailbox_t *mailbox = &member.mailbox;
    uint64_t old;
    uint32_t answer = MCA_OSC_FASTPATH_MAILBOX_POSTED;

    memcpy(mailbox->posted.data, &added, sizeof(added));
    mca_osc_fastpath_mailbox_post(mailbox);
    for (; 0 < looks && MCA_OSC_FASTPATH_MAILBOX_POSTED == answer; --looks) {
        answer = mca_osc_fastpath_mailbox_answer(mailbox);
    }
    if (MCA_OSC_FASTPATH_MAILBOX_POSTED == answer && mca_osc_fastpath_mailbox_withdraw(mailbox)) {
        ++origin->withdrawn;
    } else {
        while (MCA_OSC_FASTPATH_MAILBOX_TAKEN == (answer = mca_osc_fastpath_mailbox_answer(mailbox))) {
            sched_yield();
        }
        if (MCA_OSC_FASTPATH_MAILBOX_DONE == answer) {
            ++origin->made;
            memcpy(&old, mailbox->posted.data, sizeof(old));
            return old;
        }
        ++origin->refused;
    }
    old = number;
    number = old + added;
    return old;
}

static void *origin(void *argument)
{
    origin_t *own = argument;
    unsigned random = 1 + (unsigned) own->rank;

    while (!over) {
        for (int i = 0; i < BATCH; ++i) {
            const uint64_t added = (uint64_t) own->rank + 1;
            uint64_t old;

            random = random * 1103515245u + 12345u;
            while (!mca_osc_fastpath_trylock_word(&member.accumulate, own->rank)) {
                sched_yield();
            }
            old = number;
            own->wrong += old != update(own, added, random >> 16 & 0x3ff);
            own->wrong += number != old + added;
            own->added += added;
            mca_osc_fastpath_unlock_word(&member.accumulate);
        }
    }
    return NULL;
}

static unsigned seconds(void)
{
    const char *value = getenv("FASTPATH_SECONDS");

    return NULL == value ? 3 : (unsigned) strtoul(value, NULL, 10);
}

/* For so many seconds. */
static void each_update_once(void **state)
{
    origin_t origins[ORIGINS] = {{.rank = 0}, {.rank = 1}};
    pthread_t threads[ORIGINS + TARGETS];
    struct timespec time = {.tv_sec = (time_t) seconds()};
    uint64_t added = 0;
    unsigned long made = 0, withdrawn = 0, refused = 0, wrong = 0;

    (void) state;
    for (int i = 0; i < TARGETS; ++i) {
        assert_int_equal(pthread_create(&threads[ORIGINS + i], NULL, target, NULL), 0);
    }
    for (int i = 0; i < ORIGINS; ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, origin, &origins[i]), 0);
    }
    (void) nanosleep(&time, NULL);
    over = true;
    for (int i = 0; i < ORIGINS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        added += origins[i].added;
        made += origins[i].made;
        withdrawn += origins[i].withdrawn;
        refused += origins[i].refused;
        wrong += origins[i].wrong;
    }
    for (int i = 0; i < TARGETS; ++i) {
        assert_int_equal(pthread_join(threads[ORIGINS + i], NULL), 0);
    }
    print_message("# made %lu, taken back %lu, refused %lu\n", made, withdrawn, refused);
    assert_int_equal(wrong, 0);
    assert_int_equal(number, added);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_once),
        cmocka_unit_test(is_taken_back),
        cmocka_unit_test(each_update_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
