/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The ring and its admissions: alone in one thread, and between three senders and a
 * receiver that are processes.
 *
 * FASTPATH_MESSAGES sets the number of messages of each sender, FASTPATH_SECONDS after how long
 * to be content with fewer.
 */

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "opal/mca/btl/fastsm/btl_fastsm_ring.h"

#include "segment_fixture.h"

enum {
    SENDERS = 3,
    LATE_PEERS = 5,
    LEAST = 256 /* messages of each sender, however little of the processors it gets */
};

typedef struct {
    mca_btl_fastsm_layout_t layout;
    char *segment;
    fastsm_ring_sender_t out;
    fastsm_fifo_receiver_t in;
} fixture_t;

/* Any start but 0 is made to look as if a lap had been written. */
static void start_at(fixture_t *f, uint32_t start)
{
    atomic_store(&f->out.ctl->write_pos, start);
    atomic_store(&f->out.ctl->read_pos, start);
    f->in.read_pos = start;
    for (uint32_t i = 1; 0 != start && i <= f->out.depth; ++i) {
        fastsm_store_other_sequence(fastsm_ring_slot(f->out.slots, f->out.depth, start - i), start - i + 1);
    }
}

static void open_ring(fixture_t *f, uint32_t depth, uint32_t start)
{
    const mca_btl_fastsm_layout_params_t params = {.n_local = 1,
                                                   .fifo_depth = 8,
                                                   .bell_stride = 1,
                                                   .position_stride = 8,
                                                   .eager_size = 128,
                                                   .ring_depth = depth,
                                                   .dynamic_peers = LATE_PEERS};

    f->segment = segment_open(&params, &f->layout);
    fastsm_ring_sender_init(&f->out, f->segment, &f->layout);
    fastsm_ring_receiver_init(&f->in, f->segment, &f->layout);
    start_at(f, start);
}

static void close_ring(fixture_t *f)
{
    munmap(f->segment, f->layout.total);
}

static bool send_number(fixture_t *f, uint32_t who, uint32_t number)
{
    uint32_t pos, word = (number + who) * 2654435761u;
    mca_btl_fastsm_slot_t *slot = fastsm_ring_reserve(&f->out, &pos);

    if (NULL == slot) {
        return false;
    }
    slot->u.ring.length = MCA_BTL_FASTSM_RING_DATA;
    slot->u.ring.tag = 1;
    slot->u.ring.flags = 0;
    slot->u.ring.admission = who;
    memcpy(slot->u.ring.data, &number, sizeof(number));
    for (size_t i = sizeof(number); i < MCA_BTL_FASTSM_RING_DATA; ++i) {
        slot->u.ring.data[i] = (uint8_t) (word >> (i % 32 / 4));
    }
    fastsm_ring_commit(&f->out, slot, pos);
    return true;
}

/* The sender of the next message, or -1 when there is none, or -2 when it is damaged. */
static int receive_number(fixture_t *f, uint32_t *number)
{
    mca_btl_fastsm_slot_t *slot = fastsm_ring_peek(&f->in);
    uint32_t who, word;

    if (NULL == slot) {
        return -1;
    }
    who = slot->u.ring.admission;
    memcpy(number, slot->u.ring.data, sizeof(*number));
    word = (*number + who) * 2654435761u;
    for (size_t i = sizeof(*number); i < MCA_BTL_FASTSM_RING_DATA; ++i) {
        if (slot->u.ring.data[i] != (uint8_t) (word >> (i % 32 / 4))) {
            return -2;
        }
    }
    fastsm_fifo_release(&f->in, 1);
    return (int) who;
}

static void test_full_and_wrap(void **state)
{
    static const uint32_t starts[] = {0, 1, 0x7ffffff0u, 0xfffffff0u, 0xffffffffu};

    (void) state;
    for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); ++s) {
        for (uint32_t depth = 2; depth <= 64; depth *= 2) {
            uint32_t sent = 0, received = 0, number = 0;
            fixture_t f;

            open_ring(&f, depth, starts[s]);
            for (uint32_t lap = 0; lap < 50; ++lap) {
                while (send_number(&f, 7, sent)) {
                    ++sent;
                }
                assert_int_equal(depth, sent - received);
                /* room for as many as have been read */
                for (uint32_t i = 0; i < 1 + lap % depth; ++i) {
                    assert_int_equal(7, receive_number(&f, &number));
                    assert_int_equal(received, number);
                    ++received;
                }
            }
            close_ring(&f);
        }
    }
}

/* A slot that is claimed and not filled yet stops the receiver, and only the receiver. */
static void test_claimed_first_filled_last(void **state)
{
    mca_btl_fastsm_slot_t *slot;
    uint32_t pos, number;
    fixture_t f;

    (void) state;
    open_ring(&f, 4, 0);
    slot = fastsm_ring_reserve(&f.out, &pos);
    assert_non_null(slot);
    assert_true(send_number(&f, 2, 1));
    assert_int_equal(-1, receive_number(&f, &number));
    memcpy(slot, fastsm_ring_slot(f.out.slots, 4, pos + 1), sizeof(*slot));
    atomic_store(&slot->sequence, 0);
    assert_int_equal(-1, receive_number(&f, &number));
    fastsm_ring_commit(&f.out, slot, pos);
    assert_int_equal(2, receive_number(&f, &number));
    assert_int_equal(2, receive_number(&f, &number));
    assert_int_equal(-1, receive_number(&f, &number));
    close_ring(&f);
}

static void test_old_positions(void **state)
{
    uint32_t pos;
    fixture_t f;

    (void) state;
    open_ring(&f, 8, 100);
    /* a read position beyond a write position that is old by now is room; the claim then fails */
    atomic_store(&f.out.ctl->read_pos, 105);
    assert_true(fastsm_ring_room(&f.out, &pos));
    assert_int_equal(100, pos);
    atomic_store(&f.out.ctl->write_pos, 106);
    assert_false(fastsm_claim_write_pos(&f.out.ctl->write_pos, pos));

    for (uint32_t i = 0; i < 8; ++i) { /* the slots from the read position on have not been read */
        assert_false(fastsm_ring_was_read(&f.out, 1000, 1000 + i));
        assert_false(fastsm_ring_was_read(&f.out, 0xfffffffcu, 0xfffffffcu + i));
    }
    assert_true(fastsm_ring_was_read(&f.out, 1000, 999));
    assert_true(fastsm_ring_was_read(&f.out, 3, 0xffffffffu));
    assert_true(fastsm_ring_was_read(&f.out, 1000 + 0x80000000u, 999));
    assert_true(fastsm_ring_was_read(&f.out, 1000 + 0xc0000000u, 999));
    close_ring(&f);
}

static void test_admissions(void **state)
{
    uint8_t mine[MCA_BTL_FASTSM_NONCE_SIZE] = {1, 2, 3}, other[MCA_BTL_FASTSM_NONCE_SIZE] = {1, 2, 4};
    mca_btl_fastsm_admission_t *entry;
    uint32_t id = 0;
    fixture_t f;

    (void) state;
    open_ring(&f, 8, 0);
    assert_null(fastsm_admission_find(&f.out, mine, &id));
    atomic_store(&f.out.ctl->admitted, 3);
    fastsm_admission_admit(&f.out.admissions[1], other, fastsm_admission_id(1, 1));
    assert_null(fastsm_admission_find(&f.out, mine, &id));
    fastsm_admission_admit(&f.out.admissions[2], mine, fastsm_admission_id(2, 65535));
    entry = fastsm_admission_find(&f.out, mine, &id);
    assert_ptr_equal(&f.out.admissions[2], entry);
    assert_int_equal(2, fastsm_admission_index(id));
    assert_int_equal(id, fastsm_load_admission(&entry->id));

    /* forgotten, and the entry is somebody else's */
    fastsm_admission_revoke(entry);
    assert_null(fastsm_admission_find(&f.out, mine, &id));
    fastsm_admission_admit(entry, other, fastsm_admission_id(2, 1));
    assert_null(fastsm_admission_find(&f.out, mine, &id));

    /* a damaged count reads nothing beyond the table */
    atomic_store(&f.out.ctl->admitted, UINT32_MAX);
    assert_null(fastsm_admission_find(&f.out, mine, &id));
    close_ring(&f);
}

/* An entry goes from one peer to another and back, all the time: each finds only ids of its own. */
static void test_admissions_change(void **state)
{
    uint8_t nonces[2][MCA_BTL_FASTSM_NONCE_SIZE] = {{1}, {2}};
    _Atomic uint32_t *found; /* whose admission the child has seen, a bit for each */
    int status = -1;
    fixture_t f;
    pid_t child;

    (void) state;
    memset(nonces[0] + 8, 1, 8);
    memset(nonces[1] + 8, 2, 8);
    open_ring(&f, 8, 0);
    atomic_store(&f.out.ctl->admitted, 1);
    found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(MAP_FAILED, found);
    child = fork();
    assert_true(0 <= child);
    if (0 == child) {
        uint32_t id;

        while (0 == atomic_load(&f.out.ctl->owner)) {
            for (uint32_t i = 0; i < 2; ++i) {
                if (NULL != fastsm_admission_find(&f.out, nonces[i], &id)) {
                    atomic_fetch_or(found, 1u << i);
                    if ((id >> 16) % 2 != i) {
                        _exit(1);
                    }
                }
            }
        }
        _exit(0);
    }
    for (uint32_t i = 2; i < 3000000; ++i) {
        fastsm_admission_admit(&f.out.admissions[0], nonces[i % 2], fastsm_admission_id(0, i % 65534 + 2));
        fastsm_admission_revoke(&f.out.admissions[0]);
        if (0 == i % 1000) {
            sched_yield();
        }
    }
    for (uint32_t i = 0; i < 2; ++i) { /* each stays until it has been found, for a minute at most */
        fastsm_admission_admit(&f.out.admissions[0], nonces[i], fastsm_admission_id(0, i + 2));
        for (int ms = 0; ms < 60000 && 0 == (atomic_load(found) & 1u << i); ++ms) {
            usleep(1000);
        }
        fastsm_admission_revoke(&f.out.admissions[0]);
    }
    atomic_store(&f.out.ctl->owner, 1);
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    assert_int_equal(3, atomic_load(found));
    munmap((void *) found, sizeof(*found));
    close_ring(&f);
}

static unsigned long from_environment(const char *name, unsigned long otherwise)
{
    const char *value = getenv(name);

    return NULL == value ? otherwise : strtoul(value, NULL, 10);
}

static void send_all(fixture_t *f, uint32_t who, uint32_t messages, unsigned seconds)
{
    const time_t end = time(NULL) + (time_t) seconds;
    uint32_t i = 0;

    for (; i < messages && (0 != i % LEAST || time(NULL) <= end); ++i) {
        while (!send_number(f, who, i)) {
            sched_yield();
        }
    }
    while (!send_number(f, who, UINT32_MAX)) {
        sched_yield();
    }
}

static void stress(uint32_t depth)
{
    const uint32_t messages = (uint32_t) from_environment("FASTPATH_MESSAGES", 500000);
    const unsigned seconds = (unsigned) from_environment("FASTPATH_SECONDS", 3);
    uint32_t next[SENDERS] = {0}, number = 0, total = 0;
    int running = SENDERS, status;
    pid_t children[SENDERS];
    fixture_t f;

    open_ring(&f, depth, 0u - (uint32_t) LEAST); /* near the end of the positions, so that they wrap around */
    for (uint32_t who = 0; who < SENDERS; ++who) {
        children[who] = fork();
        assert_true(0 <= children[who]);
        if (0 == children[who]) {
            alarm(1000);
            send_all(&f, who, messages, seconds);
            _exit(0);
        }
    }
    while (0 < running) {
        const int who = receive_number(&f, &number);

        if (-1 == who) {
            sched_yield();
            continue;
        }
        assert_in_range(who, 0, SENDERS - 1);
        if (UINT32_MAX == number) {
            --running;
            continue;
        }
        assert_int_equal(next[who], number);
        ++next[who];
        ++total;
    }
    print_message("depth %u: %u messages\n", depth, total);
    assert_true(SENDERS * LEAST <= total);
    for (uint32_t who = 0; who < SENDERS; ++who) {
        assert_int_equal(children[who], waitpid(children[who], &status, 0));
        assert_int_equal(0, status);
    }
    close_ring(&f);
}

static void test_three_senders(void **state)
{
    (void) state;
    stress(32);
}

static void test_three_senders_two_slots(void **state)
{
    (void) state;
    stress(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_and_wrap),           cmocka_unit_test(test_claimed_first_filled_last),
        cmocka_unit_test(test_old_positions),           cmocka_unit_test(test_admissions),
        cmocka_unit_test(test_admissions_change),       cmocka_unit_test(test_three_senders),
        cmocka_unit_test(test_three_senders_two_slots),
    };

    alarm(3000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
