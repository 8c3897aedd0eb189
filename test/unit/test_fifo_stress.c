/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The FIFO between two processes: millions of messages of mixed sizes,
 * inline and by reference to pool buffers that are reused as soon as the
 * read position allows; each byte is checked.  The receiver waits for the
 * slot in one test and for the doorbell in the other.  In a further one the sender
 * is a thread, so that a build with -fsanitize=thread can see what both do.
 *
 * FASTPATH_MESSAGES sets the number of messages, FASTPATH_SECONDS after how long to
 * be content with fewer.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fifo_fixture.h"

enum { BUFFERS = 4, INLINE_LENGTH_MAX = 56 + 9 * 60, LENGTH_MAX = 4096, LAST_TAG = 255 };

typedef struct {
    uint64_t random;
    uint32_t position[BUFFERS]; /* of what refers to the buffer */
    bool used[BUFFERS];
} sender_t;

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (*state >> 33);
}

/* Most messages are one slot, some are several, some lie in the pool. */
static size_t next_length(uint64_t *state)
{
    const uint32_t r = next_random(state);

    switch (r % 8) {
    case 0:
        return INLINE_LENGTH_MAX + 1 + (r >> 8) % (LENGTH_MAX - INLINE_LENGTH_MAX);
    case 1:
    case 2:
        return (r >> 8) % (INLINE_LENGTH_MAX + 1);
    default:
        return 4 + (r >> 8) % 53;
    }
}

static void fill(uint8_t *data, size_t length, uint32_t number)
{
    uint32_t word = number * 2654435761u;

    for (size_t i = 0; i < length; ++i) {
        data[i] = (uint8_t) (word >> (8 * (i % 4)));
        word += 3 == i % 4 ? 0x01020305u : 0;
    }
}

static bool same(const uint8_t *data, size_t length, uint32_t number)
{
    static uint8_t wanted[LENGTH_MAX];

    fill(wanted, length, number);
    return 0 == memcmp(wanted, data, length);
}

static void wait_a_little(unsigned *spins)
{
    if (0 == ++*spins % 256) {
        sched_yield();
    }
}

/* A buffer is free when the receiver has released the slot that refers to it. */
static int free_buffer(fixture_t *f, sender_t *s)
{
    for (int i = 0; i < BUFFERS; ++i) {
        const uint32_t read_pos = fastsm_load_read_pos(f->out.shared_read_pos);

        if (!s->used[i] || 0 < (int32_t) (read_pos - s->position[i])) {
            s->used[i] = false;
            return i;
        }
    }
    return -1;
}

static bool send_reference(fixture_t *f, sender_t *s, const uint8_t *data, size_t length)
{
    const int buffer = free_buffer(f, s);
    mca_btl_fastsm_slot_t *head;
    mca_btl_fastsm_pool_ref_t reference;
    uint64_t offset;

    if (-1 == buffer || NULL == (head = fastsm_fifo_reserve(&f->out, 1))) {
        return false;
    }
    offset = mca_btl_fastsm_layout_eager(&f->layout, (uint32_t) buffer);
    reference.place = mca_btl_fastsm_place(offset, length);
    memcpy(reference.header, data, sizeof(reference.header));
    memcpy(f->segment + offset, data, length);
    head->u.head.length = sizeof(reference);
    head->u.head.tag = 1;
    head->u.head.flags = MCA_BTL_FASTSM_SLOT_POOL;
    memcpy(head->u.head.data, &reference, sizeof(reference));
    s->used[buffer] = true;
    s->position[buffer] = f->out.write_pos;
    fastsm_fifo_commit(&f->out, head, 1);
    return true;
}

static void send_all(fixture_t *f, uint32_t messages, unsigned seconds)
{
    static uint8_t data[LENGTH_MAX];
    const time_t end = time(NULL) + (time_t) seconds;
    sender_t s = {.random = 7};
    unsigned spins = 0;

    for (uint32_t i = 0; i < messages; ++i) {
        const size_t length = next_length(&s.random);

        fill(data, length, i);
        while (length > INLINE_LENGTH_MAX ? !send_reference(f, &s, data, length)
                                          : !fixture_send(f, data, length, 0)) {
            wait_a_little(&spins);
        }
        if (0 == i % 4096 && time(NULL) > end) {
            break;
        }
    }
    while (!fixture_send(f, data, 0, LAST_TAG)) {
        wait_a_little(&spins);
    }
}

/* The number of messages received in good order, or -1 at the first that is not what was sent. */
static long receive_all(fixture_t *f, bool by_bell)
{
    static uint8_t data[LENGTH_MAX];
    uint64_t random = 7;
    unsigned spins = 0;

    for (uint32_t i = 0;; ++i) {
        const size_t wanted = next_length(&random);
        mca_btl_fastsm_slot_t *head;
        mca_btl_fastsm_pool_ref_t reference;
        uint64_t offset;
        uint32_t halves = 1;

        while ((by_bell && fastsm_load_bell(f->out.bell) == (uint8_t) f->in.read_pos)
               || NULL == (head = fixture_peek(f))) {
            wait_a_little(&spins);
        }
        if (LAST_TAG == head->u.head.tag) {
            return (long) i;
        }
        if (MCA_BTL_FASTSM_SLOT_POOL == head->u.head.flags) {
            memcpy(&reference, head->u.head.data, sizeof(reference));
            offset = mca_btl_fastsm_place_offset(reference.place);
            if (wanted != mca_btl_fastsm_place_length(reference.place)
                || !mca_btl_fastsm_layout_in_pool(&f->layout, offset, wanted)
                || !same((uint8_t *) f->segment + offset, wanted, i)
                || 0 != memcmp(reference.header, f->segment + offset, sizeof(reference.header))) {
                return -1;
            }
        } else {
            halves = fastsm_fifo_halves(head->u.head.length);
            if (wanted != head->u.head.length) {
                return -1;
            }
            fastsm_fifo_gather(data, head, halves);
            if (!same(data, wanted, i)) {
                return -1;
            }
        }
        fastsm_fifo_release(&f->in, halves);
    }
}

static unsigned long from_environment(const char *name, unsigned long otherwise)
{
    const char *value = getenv(name);

    return NULL == value ? otherwise : strtoul(value, NULL, 10);
}

static void send_as_told(fixture_t *f)
{
    send_all(f, (uint32_t) from_environment("FASTPATH_MESSAGES", 2000000),
             (unsigned) from_environment("FASTPATH_SECONDS", 4));
}

static void *thread_main(void *fixture)
{
    send_as_told(fixture);
    return NULL;
}

static long receive_from_process(fixture_t *f, bool by_bell)
{
    int status = -1;
    pid_t child = fork();
    long received;

    assert_true(0 <= child);
    if (0 == child) {
        alarm(1000);
        send_as_told(f);
        _exit(0);
    }
    received = receive_all(f, by_bell);
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    return received;
}

/* The sender's half of the fixture is the thread's, the receiver's half is ours. */
static long receive_from_thread(fixture_t *f, bool by_bell)
{
    pthread_t thread;
    long received;

    assert_int_equal(0, pthread_create(&thread, NULL, thread_main, f));
    received = receive_all(f, by_bell);
    assert_int_equal(0, pthread_join(thread, NULL));
    return received;
}

static void stress(uint32_t depth, bool by_bell, bool by_thread)
{
    fixture_t f;
    long received;

    /* near the end of the positions, so that they wrap around on the way */
    fixture_open(&f, depth, 0u - 100000u);
    received = by_thread ? receive_from_thread(&f, by_bell) : receive_from_process(&f, by_bell);
    print_message("depth %u, waiting for the %s: %ld messages\n", depth, by_bell ? "doorbell" : "slot",
                  received);
    assert_true(0 < received);
    fixture_close(&f);
}

static void test_slots(void **state)
{
    (void) state;
    stress(128, false, false);
}

static void test_bells(void **state)
{
    (void) state;
    stress(128, true, false);
}

static void test_short_fifo(void **state)
{
    (void) state;
    stress(32, false, false);
}

static void test_thread(void **state)
{
    (void) state;
    stress(32, false, true);
}

static void test_thread_and_bells(void **state)
{
    (void) state;
    stress(32, true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_bells),
        cmocka_unit_test(test_short_fifo),
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_thread_and_bells),
    };

    alarm(3000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
