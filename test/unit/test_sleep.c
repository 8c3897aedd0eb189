/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A receiver that sleeps until a message comes, in another process.  It is sent while the receiver announces
 * that it sleeps, looks, or sleeps already; a message that ends no sleep is a failure, though the time limit
 * of a sleep would hide it from an application.
 *
 * FASTPATH_MESSAGES sets the number of messages, FASTPATH_SECONDS after how long to be content with fewer.
 */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fifo_fixture.h"
#include "opal/mca/btl/fastsm/btl_fastsm_sleep.h"

/* The sender may have lost its processor between publishing and waking; not for that long. */
enum { SLEEPS_MAX = 30, LAST_TAG = 255, SPINS = 2048 };
#define SLEEP_TIME UINT64_C(900000000)

static unsigned long from_environment(const char *name, unsigned long otherwise)
{
    const char *value = getenv(name);

    return NULL == value ? otherwise : strtoul(value, NULL, 10);
}

static _Atomic uint32_t *asleep_of(fixture_t *f)
{
    return &((mca_btl_fastsm_segment_hdr_t *) (void *) f->segment)->asleep;
}

static void spin_some(unsigned long seed)
{
    for (volatile unsigned spin = (unsigned) (seed * 2654435761u >> 7) % SPINS; 0 < spin; --spin) {
    }
}

/* Each message follows the receipt of the last one, by a time in which the receiver does different things. */
static void send_all(fixture_t *f, unsigned long messages, time_t end)
{
    for (unsigned long i = 0; i < messages && (0 != i % 256 || time(NULL) <= end); ++i) {
        while (fastsm_load_read_pos(f->out.shared_read_pos) != f->out.write_pos) {
            mca_common_fastpath_relax();
        }
        spin_some(i);
        (void) fixture_send(f, &i, sizeof(i), 1);
    }
    (void) fixture_send(f, NULL, 0, LAST_TAG);
}

/* What an idle process does.  @return whether something has come; false: no message has ended its sleep */
static bool sleep_until_woken(fixture_t *f, unsigned long *sleeps)
{
    int count = 0;

    assert_int_not_equal(0, fastsm_sleep_announce(asleep_of(f), 1, false));
    if (NULL != fixture_peek(f)) {
        return true;
    }
    ++*sleeps;
    while (fastsm_sleep(asleep_of(f), 1, SLEEP_TIME)) {
        if (SLEEPS_MAX == ++count) {
            return false;
        }
    }
    return true;
}

static bool receive_all(fixture_t *f, unsigned long *received, unsigned long *sleeps)
{
    unsigned long number;
    char data[MCA_BTL_FASTSM_HEAD_DATA];
    uint8_t tag = 0;

    for (;;) {
        long length;

        spin_some(*received + 7 * *sleeps);
        length = fixture_receive(f, data, &tag);

        if (-1 == length) {
            if (!sleep_until_woken(f, sleeps)) {
                return false;
            }
        } else if (LAST_TAG == tag) {
            return true;
        } else {
            assert_int_equal(sizeof(number), length);
            memcpy(&number, data, sizeof(number));
            assert_int_equal(number, *received);
            ++*received;
        }
    }
}

static void test_no_wake_up_is_lost(void **state)
{
    unsigned long received = 0, sleeps = 0;
    int status = -1;
    bool woken;
    fixture_t f;
    pid_t child;

    (void) state;
    fixture_open(&f, 16, 0);
    child = fork();
    assert_true(0 <= child);
    if (0 == child) {
        alarm(1000);
        if (!fastsm_sleep_enlist()) {
            _exit(1);
        }
        send_all(&f, from_environment("FASTPATH_MESSAGES", 100000),
                 time(NULL) + (time_t) from_environment("FASTPATH_SECONDS", 4));
        _exit(0);
    }
    woken = receive_all(&f, &received, &sleeps);
    if (!woken) {
        kill(child, SIGKILL);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    print_message("%lu messages, %lu sleeps\n", received, sleeps);
    assert_true(woken);
    assert_int_equal(0, status);
    assert_true(0 < sleeps);
    fixture_close(&f);
}

/* Who is not going to sleep is not woken, and a sleep ends with its time. */
static void test_words(void **state)
{
    fixture_t f;

    (void) state;
    fixture_open(&f, 16, 0);
    assert_int_equal(1, fixture_send(&f, NULL, 0, 1));
    assert_int_equal(0, atomic_load(asleep_of(&f)));
    assert_false(fastsm_sleep(asleep_of(&f), 1, 1)); /* nobody has said so: at once */
    assert_int_not_equal(0, fastsm_sleep_announce(asleep_of(&f), 1, false));
    assert_true(fastsm_sleep(asleep_of(&f), 1, 1));
    assert_int_not_equal(0, fastsm_sleep_announce(asleep_of(&f), 1, false));
    assert_int_equal(1, fixture_send(&f, NULL, 0, 1));
    assert_false(fastsm_sleep(asleep_of(&f), 1, SLEEP_TIME));
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_no_wake_up_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
