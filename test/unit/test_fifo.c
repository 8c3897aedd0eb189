/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The FIFO in one thread: order, sizes, pads, full, wrap-around, bells.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fifo_fixture.h"

enum { INLINE_MAX = 56 + 15 * 60 };

/* just before a lap, before the sign changes, and before everything wraps */
static const uint32_t starts[] = {0,           1,           127,         128,        0x7fffff80u,
                                  0xffffff00u, 0xffffff7fu, 0xfffffff0u, 0xffffffffu};
#define N_STARTS (sizeof(starts) / sizeof(starts[0]))

static void fill(uint8_t *data, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; ++i) {
        data[i] = (uint8_t) (seed * 31 + i * 7 + (i >> 8));
    }
}

static void expect_message(fixture_t *f, size_t length, unsigned seed)
{
    uint8_t data[INLINE_MAX + 64], wanted[INLINE_MAX + 64];
    uint8_t tag = 0;

    fill(wanted, length, seed);
    assert_int_equal(length, fixture_receive(f, data, &tag));
    assert_int_equal((uint8_t) seed, tag);
    assert_memory_equal(wanted, data, length);
}

static bool send_message(fixture_t *f, size_t length, unsigned seed)
{
    uint8_t data[INLINE_MAX];

    fill(data, length, seed);
    return 1 == fixture_send(f, data, length, (uint8_t) seed);
}

static void test_slots_of_a_length(void **state)
{
    static const struct {
        size_t length;
        uint32_t slots;
    } cases[] = {{0, 1},   {1, 1},   {56, 1},  {57, 2},   {116, 2},
                 {117, 3}, {176, 3}, {177, 4}, {956, 16}, {957, 17}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        assert_int_equal(cases[i].slots, fastsm_fifo_slots(cases[i].length));
    }
    for (size_t length = 0; length <= INLINE_MAX; ++length) {
        assert_int_equal(length <= 24 ? 1 : 2 * fastsm_fifo_slots(length), fastsm_fifo_halves(length));
    }
    for (uint32_t slots = 1; slots <= 64; ++slots) {
        assert_int_equal(slots, fastsm_fifo_slots(fastsm_fifo_capacity(slots)));
        assert_int_equal(slots + 1, fastsm_fifo_slots(fastsm_fifo_capacity(slots) + 1));
    }
}

static void test_every_length(void **state)
{
    fixture_t f;

    (void) state;
    fixture_open(&f, 128, 0);
    for (size_t length = 0; length <= INLINE_MAX; ++length) {
        assert_true(send_message(&f, length, (unsigned) length));
        expect_message(&f, length, (unsigned) length);
    }
    assert_null(fixture_peek(&f));
    fixture_close(&f);
}

static void test_header_and_payload(void **state)
{
    fixture_t f;

    (void) state;
    fixture_open(&f, 128, 0);
    for (size_t header = 0; header <= 56; ++header) {
        for (size_t payload = 0; payload <= 200; payload += 3) {
            const size_t length = header + payload;
            const uint32_t halves = fastsm_fifo_halves(length);
            uint8_t data[256];
            mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&f.out, halves);

            assert_non_null(head);
            fill(data, length, (unsigned) length);
            head->u.head.length = (uint16_t) length;
            head->u.head.tag = (uint8_t) length;
            head->u.head.flags = 0;
            fastsm_fifo_fill(&f.out, head, data, header, data + header, payload);
            fastsm_fifo_commit(&f.out, head, halves);
            expect_message(&f, length, (unsigned) length);
        }
    }
    fixture_close(&f);
}

/* All but the first bytes, and not a byte more. */
/* The way past everything: what fastsm_fifo_send_slot sends is what any other way sends. */
static void test_send_slot(void **state)
{
    (void) state;
    for (size_t s = 0; s < N_STARTS; ++s) {
        fixture_t f;

        fixture_open(&f, 8, starts[s]);
        for (unsigned i = 0; i < 200; ++i) {
            const size_t length = 16 + (0 == i % 3 ? i : i / 3) % (MCA_BTL_FASTSM_SLOT_PAYLOAD + 1);
            uint8_t data[MCA_BTL_FASTSM_HEAD_DATA];
            uint64_t word[2];

            fill(data, length, i);
            memcpy(word, data, sizeof(word));
            if (!fastsm_fifo_has_slot(&f.out)) {
                f.out.read_pos = fastsm_load_read_pos(f.out.shared_read_pos);
            }
            f.out.n_pending = 1;
            assert_false(fastsm_fifo_has_slot(&f.out));
            f.out.n_pending = 0;
            assert_true(fastsm_fifo_has_slot(&f.out));
            fastsm_fifo_send_slot(&f.out, word[0], word[1], data + 16, length - 16, (uint8_t) i);
            assert_int_equal((uint8_t) f.out.write_pos, fastsm_load_bell(f.out.bell));
            expect_message(&f, length, i);
        }
        for (unsigned i = 0; fastsm_fifo_prepare(&f.out, 1); ++i) {
            assert_true(i < 16);
            fastsm_fifo_send_slot(&f.out, 0, 0, NULL, 0, 0);
        }
        assert_false(fastsm_fifo_has_slot(&f.out));
        fixture_close(&f);
    }
}

/* bytes of the longest message that a test looks at: 4 slots, less a header */
#define SEEN_MAX (MCA_BTL_FASTSM_HEAD_DATA + 3 * MCA_BTL_FASTSM_CONT_DATA - 16)

/* Room for what an attempt to receive must leave alone. */
typedef struct {
    uint64_t header[2];
    uint8_t data[SEEN_MAX + 1];
} received_t;

/* Looking at a message in slots leaves it where it is. */
static ptrdiff_t see(fixture_t *f, uint8_t tag, received_t *received)
{
    const uint32_t shared = fastsm_load_read_pos(f->in.shared_read_pos);
    const mca_btl_fastsm_slot_t *slot = fastsm_fifo_peek(&f->in);
    const uint32_t read_pos = f->in.read_pos;
    ptrdiff_t rc;

    memset(received, 0xee, sizeof(*received));
    rc = fastsm_fifo_see(&f->in, slot, tag, received->header);
    assert_int_equal(read_pos, f->in.read_pos);
    assert_int_equal(shared, fastsm_load_read_pos(f->in.shared_read_pos));
    if (0 < rc) {
        fastsm_fifo_copy(received->data, slot, (size_t) rc);
        assert_int_equal(0xee, received->data[rc]);
    }
    return rc;
}

/* The same, and then it is taken. */
static ptrdiff_t take(fixture_t *f, uint8_t tag, received_t *received)
{
    const ptrdiff_t rc = see(f, tag, received);
    const uint32_t read_pos = f->in.read_pos;

    if (0 <= rc) {
        fastsm_fifo_release_message(&f->in, (size_t) rc);
        assert_int_equal(read_pos + fastsm_fifo_halves(16 + (size_t) rc), f->in.read_pos);
        assert_int_equal(f->in.read_pos, fastsm_load_read_pos(f->in.shared_read_pos));
    }
    return rc;
}

/* A message is seen by its tag, as long as nobody else is at it, and until it is taken. */
static void test_take(void **state)
{
    (void) state;
    for (size_t s = 0; s < N_STARTS; ++s) {
        fixture_t f;

        fixture_open(&f, 8, starts[s]);
        for (unsigned i = 0; i < 3 * (SEEN_MAX + 1); ++i) {
            const size_t payload = i % (SEEN_MAX + 1);
            const uint8_t tag = (uint8_t) i;
            uint8_t wanted[16 + SEEN_MAX];
            received_t received;

            fill(wanted, 16 + payload, i);
            assert_int_equal(FASTSM_NOTHING, see(&f, tag, &received));
            assert_true(send_message(&f, 16 + payload, i));
            (void) fixture_peek(&f); /* pads are passed */
            assert_int_equal(payload, see(&f, tag, &received));
            assert_memory_equal(wanted, received.header, 16);
            assert_memory_equal(wanted + 16, received.data, payload);
            for (unsigned bit = 0; bit < 8; ++bit) {
                assert_int_equal(FASTSM_SOMETHING_ELSE, see(&f, (uint8_t) (tag ^ 1u << bit), &received));
            }
            atomic_store(&f.in.consuming, 1);
            assert_int_equal(FASTSM_SOMETHING_ELSE, see(&f, tag, &received));
            atomic_store(&f.in.consuming, 0);
            assert_int_equal(payload, take(&f, tag, &received));
            assert_memory_equal(wanted, received.header, 16);
            assert_memory_equal(wanted + 16, received.data, payload);
        }
        fixture_close(&f);
    }
}

/* What is not a message in slots with a header is left for others: too short, longer than what is left of the
 * ring, a pad, a reference. */
static void test_see_refuses(void **state)
{
    received_t received;
    fixture_t f;

    (void) state;
    for (size_t length = 0; length <= 200; ++length) {
        fixture_open(&f, 8, 0);
        assert_true(send_message(&f, length, 0));
        assert_int_equal(16 <= length ? (ptrdiff_t) length - 16 : FASTSM_SOMETHING_ELSE,
                         see(&f, 0, &received));
        fixture_close(&f);
    }
    fixture_open(&f, 8, 12); /* two slots are left */
    for (size_t length = 16; length <= UINT16_MAX; ++length) {
        mca_btl_fastsm_slot_t *head = fastsm_fifo_slot(f.out.slots, f.out.depth, 12);
        uint64_t header[2];

        fastsm_fifo_describe(head, length, 0, 0);
        assert_int_equal(length <= 116 ? (ptrdiff_t) length - 16 : FASTSM_SOMETHING_ELSE,
                         fastsm_fifo_see(&f.in, head, 0, header));
    }
    fixture_close(&f);
    for (unsigned flags = 1; flags < 256; flags <<= 1) {
        mca_btl_fastsm_slot_t *head;

        fixture_open(&f, 8, 0);
        head = fastsm_fifo_reserve(&f.out, 1);
        assert_non_null(head);
        fastsm_fifo_describe(head, 24, 0, (uint8_t) flags);
        assert_int_equal(24, head->u.head.length);
        assert_int_equal(flags, head->u.head.flags);
        fastsm_fifo_commit(&f.out, head, 1);
        assert_int_equal(FASTSM_SOMETHING_ELSE, see(&f, 0, &received));
        fixture_close(&f);
    }
}

/* Looking again and again finds what one look finds, also behind a second half that was skipped, and says how
 * often it has not looked. */
static void test_await(void **state)
{
    fixture_t f;

    (void) state;
    for (size_t s = 0; s < N_STARTS; ++s) {
        fixture_open(&f, 8, starts[s]);
        for (unsigned i = 0; i < 100; ++i) {
            const size_t length = 0 == i % 3 ? 50 : 20; /* whole slots now and then, behind either half */
            const uint32_t read_pos = f.in.read_pos;
            fastsm_fifo_receiver_t twin;
            mca_btl_fastsm_slot_t *slot;
            unsigned looks = 5;

            assert_null(fastsm_fifo_await(&f.in, &looks));
            assert_int_equal(0, looks);
            assert_null(fastsm_fifo_await(&f.in, &looks));
            assert_int_equal(0, looks);
            assert_int_equal(read_pos, f.in.read_pos);
            assert_true(send_message(&f, length, i));
            memcpy(&twin, &f.in, sizeof(twin));
            looks = 5;
            slot = fastsm_fifo_await(&f.in, &looks);
            assert_non_null(slot);
            assert_int_equal(5, looks);
            assert_ptr_equal(slot, fastsm_fifo_peek(&twin));
            assert_int_equal(twin.read_pos, f.in.read_pos);
            expect_message(&f, length, i);
        }
        fixture_close(&f);
    }
}

/* As many slots are expected of a message as the last one took, none behind the last slot, and two at least;
 * one only if the last one took more than five. */
static void test_expected_slots(void **state)
{
    fixture_t f;

    (void) state;
    fixture_open(&f, 64, 0);
    for (unsigned i = 0; i < 2000; ++i) {
        const size_t length = i * 37 % 600;
        const uint32_t slots = fastsm_fifo_slots(length);
        const uint32_t further = 5 < slots ? 0 : 2 < slots ? slots - 1 : 1;

        assert_true(send_message(&f, length, i));
        expect_message(&f, length, i);
        for (uint32_t first = 0; first < 64; ++first) {
            assert_ptr_equal(f.in.slots + (first + further < 64 ? first + further : 63),
                             fastsm_fifo_last_expected(&f.in, f.in.slots + first));
        }
    }
    fixture_close(&f);
}

/* The words of further slots are written with their data, before the first one's line is touched: commit
 * stores the head's word only. */
static void test_words_of_further_slots(void **state)
{
    fixture_t f;

    (void) state;
    fixture_open(&f, 128, 0);
    for (size_t length = 0; length <= 600; ++length) {
        const uint32_t halves = fastsm_fifo_halves(length);
        const uint8_t data[600] = {0};
        mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&f.out, halves);
        const uint32_t pos = f.out.write_pos;

        assert_non_null(head);
        fastsm_fifo_fill(&f.out, head, NULL, 0, data, length);
        assert_int_not_equal(head->sequence, pos + 1);
        for (uint32_t i = 2; i < halves; i += 2) {
            assert_int_equal(head[i / 2].sequence, pos + i + 1);
        }
        fastsm_fifo_describe(head, length, 0, 0);
        fastsm_fifo_commit(&f.out, head, halves);
        assert_int_equal(head->sequence, pos + 1);
        assert_non_null(fixture_peek(&f));
        fastsm_fifo_release(&f.in, halves);
    }
    fixture_close(&f);
}

static void test_extract(void **state)
{
    fixture_t f;

    (void) state;
    fixture_open(&f, 128, 0);
    for (size_t length = MCA_BTL_FASTSM_HEAD_DATA + 1; length <= 600; ++length) {
        for (size_t skip = 0; skip <= MCA_BTL_FASTSM_HEAD_DATA; skip += 8) {
            const uint32_t halves = fastsm_fifo_halves(length);
            uint8_t data[640], got[640];
            mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&f.out, halves);

            assert_non_null(head);
            fill(data, length, (unsigned) length);
            head->u.head.flags = 0;
            fastsm_fifo_fill(&f.out, head, data, 0, data, length);
            fastsm_fifo_commit(&f.out, head, halves);
            head = fixture_peek(&f);
            assert_non_null(head);
            memset(got, 0xee, sizeof(got));
            fastsm_fifo_extract(got, head, skip, length - skip);
            assert_memory_equal(got, data + skip, length - skip);
            assert_int_equal(got[length - skip], 0xee);
            fastsm_fifo_release(&f.in, halves);
        }
    }
    fixture_close(&f);
}

static void order_from(uint32_t depth, uint32_t start, size_t length)
{
    unsigned sent = 0, received = 0;
    fixture_t f;

    fixture_open(&f, depth, start);
    while (received < 4 * depth) {
        while (send_message(&f, length, sent)) {
            ++sent;
        }
        assert_true(sent > received);
        while (received < sent) {
            expect_message(&f, length, received++);
        }
        assert_null(fixture_peek(&f));
    }
    fixture_close(&f);
}

static void test_order_and_wrap(void **state)
{
    static const size_t lengths[] = {8, 40, 56, 57, 100, 150, 200};

    (void) state;
    for (size_t s = 0; s < N_STARTS; ++s) {
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); ++l) {
            order_from(128, starts[s], lengths[l]);
            order_from(8, starts[s], lengths[l]);
        }
    }
}

static void test_full(void **state)
{
    (void) state;
    for (size_t s = 0; s < N_STARTS; ++s) {
        const unsigned most = 32 - (starts[s] & 1); /* nobody fills half of a slot whose other half is full */
        fixture_t f;
        uint32_t before;

        fixture_open(&f, 16, starts[s]);
        for (unsigned i = 0; i < most; ++i) {
            assert_true(send_message(&f, 8, i));
        }
        before = f.out.write_pos;
        assert_false(send_message(&f, 8, 99));
        assert_int_equal(before, f.out.write_pos);

        expect_message(&f, 8, 0);
        assert_int_equal(starts[s] & 1, send_message(&f, 8, most));
        if (0 == (starts[s] & 1)) {
            expect_message(&f, 8, 1);
            assert_true(send_message(&f, 8, most));
        }
        assert_true(send_message(&f, 8, most + 1));
        assert_false(send_message(&f, 8, 99));
        for (unsigned i = 2 - (starts[s] & 1); i <= most + 1; ++i) {
            expect_message(&f, 8, i);
        }
        assert_null(fixture_peek(&f));
        fixture_close(&f);
    }
}

static void test_pad(void **state)
{
    fixture_t f;
    mca_btl_fastsm_slot_t *head;

    (void) state;
    fixture_open(&f, 16, 28);
    assert_true(send_message(&f, 150, 1)); /* 3 slots, 2 left before the end */
    head = fastsm_fifo_peek(&f.in);
    assert_non_null(head);
    assert_int_equal(MCA_BTL_FASTSM_SLOT_PAD, head->u.head.flags);
    assert_int_equal(4, head->u.head.length);
    assert_ptr_equal(f.in.slots + 14, head);
    assert_int_equal(31, atomic_load(&f.in.slots[15].sequence));
    assert_ptr_equal(f.in.slots, fixture_peek(&f));
    expect_message(&f, 150, 1);
    assert_int_equal(38, f.in.read_pos);
    fixture_close(&f);
}

/* The pad does not wait for the message behind it, so that a message may be as long as the ring. */
static void test_pad_goes_ahead(void **state)
{
    fixture_t f;

    (void) state;
    fixture_open(&f, 16, 0);
    for (unsigned i = 0; i < 14; ++i) {
        assert_true(send_message(&f, 40, i));
    }
    for (unsigned i = 0; i < 2; ++i) {
        expect_message(&f, 40, i);
    }
    assert_false(send_message(&f, 150, 77)); /* 2 slots for the pad, 3 for itself, 4 free */
    assert_int_equal(32, f.out.write_pos);
    assert_int_equal(32, fastsm_load_bell(f.out.bell));
    assert_true(send_message(&f, 100, 14)); /* one that is shorter has room */
    for (unsigned i = 2; i < 14; ++i) {
        expect_message(&f, 40, i);
    }
    expect_message(&f, 100, 14);
    assert_int_equal(36, f.in.read_pos);
    fixture_close(&f);
}

/* A producer is killed when the words of further slots are there, and that of the head is not.  Returns
 * whether the next one's message is the only one that is found. */
static bool next_after_kill(uint32_t start, bool renewed)
{
    fixture_t f;
    bool only;

    fixture_open(&f, 8, start);
    fastsm_fifo_prepare(&f.out, 6);
    fixture_peek(&f); /* takes a pad, if there is one */
    for (uint32_t i = 2; i < 6; i += 2) {
        const uint32_t pos = f.out.write_pos + i;

        fastsm_store_other_sequence(fastsm_fifo_slot(f.out.slots, f.out.depth, pos), pos + 1);
    }
    fastsm_store_bell(f.out.bell, (uint8_t) (f.out.write_pos + 6));

    assert_null(fixture_peek(&f));
    if (renewed) {
        fastsm_fifo_renew(&f.in, f.out.bell);
        assert_int_equal((uint8_t) f.in.read_pos, fastsm_load_bell(f.out.bell));
    }
    fastsm_fifo_sender_init(&f.out, f.segment, &f.layout, SENDER_INDEX);
    f.out.write_pos = f.out.read_pos = fastsm_load_read_pos(f.out.shared_read_pos);
    assert_true(send_message(&f, 8, 1));
    expect_message(&f, 8, 1);
    only = NULL == fixture_peek(&f);
    for (unsigned i = 0; only && i < 20; ++i) {
        assert_true(send_message(&f, 8, i));
        expect_message(&f, 8, i);
        only = NULL == fixture_peek(&f);
    }
    fixture_close(&f);
    return only;
}

static void test_next_producer_after_a_kill(void **state)
{
    (void) state;
    for (size_t s = 0; s < N_STARTS; ++s) {
        assert_true(next_after_kill(starts[s], true));
        assert_false(next_after_kill(starts[s], false));
    }
}

static void test_message_as_long_as_the_ring(void **state)
{
    (void) state;
    for (uint32_t depth = 2; depth <= 8; depth *= 2) {
        const size_t length = fastsm_fifo_capacity(depth);

        for (size_t s = 0; s < N_STARTS; ++s) {
            fixture_t f;

            fixture_open(&f, depth, starts[s]);
            for (unsigned i = 0; i < 10; ++i) {
                if (!send_message(&f, length, i)) { /* a pad is in its way */
                    assert_null(fixture_peek(&f));
                    assert_true(send_message(&f, length, i));
                }
                assert_false(send_message(&f, 8, 77));
                expect_message(&f, length, i);
                assert_true(send_message(&f, 8, i));
                expect_message(&f, 8, i);
            }
            fixture_close(&f);
        }
    }
}

/* No word is older than a lap, whatever was sent: the invariant that makes words unambiguous. */
static void test_words_never_older_than_a_lap(void **state)
{
    unsigned sent = 0, random = 1;
    fixture_t f;

    (void) state;
    fixture_open(&f, 32, 0xffffff00u);
    for (int round = 0; round < 20000; ++round) {
        random = random * 1103515245u + 12345u;
        if (!send_message(&f, (random >> 16) % 600, sent)) {
            uint8_t data[INLINE_MAX + 64], tag;

            assert_true(0 <= fixture_receive(&f, data, &tag));
            continue;
        }
        ++sent;
        for (uint32_t i = 1; i <= 64; ++i) {
            const uint32_t pos = f.out.write_pos - i;

            if (0 == (pos & 1)) {
                assert_int_equal(pos + 1, atomic_load(&f.out.slots[pos / 2 & 31].sequence));
            }
        }
    }
    fixture_close(&f);
}

/* User bytes must never be taken for a sequence word: fill slots, second halves too, with words to come. */
static void test_user_bytes_are_no_words(void **state)
{
    uint32_t words[INLINE_MAX / 4];
    fixture_t f;

    (void) state;
    fixture_open(&f, 8, 0);
    for (int lap = 0; lap < 100; ++lap) {
        uint8_t data[INLINE_MAX + 64], tag;

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
            words[i] = f.out.write_pos + 1 + (uint32_t) (i % 32);
        }
        assert_int_equal(1, fixture_send(&f, words, 200, 1));
        assert_int_equal(200, fixture_receive(&f, data, &tag));
        assert_null(fixture_peek(&f));
        for (int i = 0; i < lap % 9; ++i) {
            assert_int_equal(1, fixture_send(&f, words, (size_t) (8 + 16 * (i & lap & 1)), 1));
            assert_true(0 < fixture_receive(&f, data, &tag));
            assert_null(fixture_peek(&f));
        }
    }
    fixture_close(&f);
}

static void test_bell(void **state)
{
    (void) state;
    for (size_t s = 0; s < N_STARTS; ++s) {
        fixture_t f;

        fixture_open(&f, 128, starts[s]);
        for (unsigned i = 0; i < 300; ++i) {
            const bool sent = send_message(&f, (i * 37) % 300, i);
            uint8_t data[INLINE_MAX + 64], tag;

            if (sent) {
                assert_int_equal((uint8_t) f.out.write_pos, fastsm_load_bell(f.out.bell));
                assert_int_not_equal((uint8_t) f.in.read_pos, fastsm_load_bell(f.out.bell));
            }
            if (!sent || 0 == i % 3) {
                while (0 <= fixture_receive(&f, data, &tag)) {
                }
                assert_int_equal((uint8_t) f.in.read_pos, fastsm_load_bell(f.out.bell));
            }
        }
        fixture_close(&f);
    }
}

/* Two short messages share a slot; whoever goes on with a whole slot passes over a second half. */
static void test_halves(void **state)
{
    (void) state;
    for (size_t s = 0; s < N_STARTS; ++s) {
        const uint32_t start = starts[s] & ~1u;
        mca_btl_fastsm_slot_t *slot;
        fixture_t f;

        fixture_open(&f, 8, start);
        slot = fastsm_fifo_slot(f.in.slots, f.in.depth, start);
        assert_true(send_message(&f, 24, 1));
        assert_true(send_message(&f, 24, 2));
        assert_ptr_equal(slot, fastsm_fifo_peek(&f.in));
        expect_message(&f, 24, 1);
        assert_ptr_equal((char *) slot + 32, fastsm_fifo_peek(&f.in));
        expect_message(&f, 24, 2);

        assert_true(send_message(&f, 8, 3));
        expect_message(&f, 8, 3);
        assert_null(fastsm_fifo_peek(&f.in));
        assert_int_equal(start + 3, f.in.read_pos);
        assert_true(send_message(&f, 25, 4));
        assert_int_equal(start + 6, f.out.write_pos);
        assert_ptr_equal(fastsm_fifo_slot(f.in.slots, f.in.depth, start + 4), fastsm_fifo_peek(&f.in));
        expect_message(&f, 25, 4);
        assert_int_equal(start + 6, fastsm_load_read_pos(f.in.shared_read_pos));

        /* a second half that is filled before what is behind it comes first */
        assert_true(send_message(&f, 8, 5));
        expect_message(&f, 8, 5);
        assert_true(send_message(&f, 8, 6));
        assert_true(send_message(&f, 56, 7));
        expect_message(&f, 8, 6);
        expect_message(&f, 56, 7);
        fixture_close(&f);
    }
}

/* The slot behind a second half is seen before the second half, which its sender filled first. */
static void test_second_half_in_time(void **state)
{
    mca_btl_fastsm_slot_t *second;
    uint32_t word;
    fixture_t f;

    (void) state;
    fixture_open(&f, 8, 0);
    assert_true(send_message(&f, 8, 1));
    expect_message(&f, 8, 1);
    assert_true(send_message(&f, 8, 2));
    assert_true(send_message(&f, 8, 3));
    second = fastsm_fifo_slot(f.in.slots, f.in.depth, 1);
    word = atomic_load(&second->sequence);
    assert_int_equal(2, word);
    assert_ptr_equal(second, fastsm_fifo_peek_behind(&f.in, second));
    assert_int_equal(1, f.in.read_pos);
    expect_message(&f, 8, 2);
    expect_message(&f, 8, 3);
    fixture_close(&f);
}

/* A bell tells 256 positions apart, so the deepest FIFO is never quite full. */
static void test_deepest(void **state)
{
    unsigned sent = 0;
    fixture_t f;

    (void) state;
    fixture_open(&f, MCA_BTL_FASTSM_DEPTH_MAX, 0xfffffff0u);
    while (send_message(&f, 8, sent)) {
        ++sent;
    }
    assert_int_equal(254, sent);
    assert_int_not_equal((uint8_t) f.in.read_pos, fastsm_load_bell(f.out.bell));
    assert_false(send_message(&f, 56, 77));
    for (unsigned i = 0; i < sent; ++i) {
        expect_message(&f, 8, i);
    }
    assert_true(send_message(&f, 56, 78));
    expect_message(&f, 56, 78);
    fixture_close(&f);
}

/* A sender reads the receiver's position only when the one it remembers says full. */
static void test_read_pos_is_read_when_full(void **state)
{
    fixture_t f;

    (void) state;
    fixture_open(&f, 16, 0);
    for (unsigned i = 0; i < 32; ++i) {
        assert_true(send_message(&f, 8, i));
        expect_message(&f, 8, i);
        assert_int_equal(0, f.out.read_pos);
    }
    assert_true(send_message(&f, 8, 32));
    assert_int_equal(32, f.out.read_pos);
    fixture_close(&f);
}

/* A position is compared with the others at any time after its message has been read. */
static void test_was_read(void **state)
{
    static const uint32_t later[] = {0, 127, 0x7fffffff, 0x80000000u, 0x80000001u, 0xc0000000u, 0xffffff00u};

    (void) state;
    for (size_t i = 0; i < N_STARTS; ++i) {
        fixture_t f;

        fixture_open(&f, 128, starts[i]);
        f.out.write_pos += f.out.depth; /* full: nothing of it has been read */
        for (uint32_t k = 0; k < f.out.depth; ++k) {
            assert_false(fastsm_fifo_was_read(&f.out, starts[i], starts[i] + k));
            assert_true(fastsm_fifo_was_read(&f.out, starts[i] + k + 1, starts[i] + k));
        }
        for (size_t k = 0; k < sizeof(later) / sizeof(later[0]); ++k) {
            f.out.write_pos = starts[i] + 1 + later[k] + f.out.depth / 2;
            assert_true(fastsm_fifo_was_read(&f.out, starts[i] + 1 + later[k], starts[i]));
        }
        f.out.write_pos = starts[i]; /* all 2^32 later: in doubt only while something is to be read */
        assert_true(fastsm_fifo_was_read(&f.out, starts[i], starts[i]));
        fixture_close(&f);
    }
}

/* A read position that a damaged peer might leave must not make room that is not there. */
static void test_bad_read_pos_is_no_room(void **state)
{
    static const uint32_t bad[] = {17, 100, 0x80000000u, 0xffffff00u};

    (void) state;
    for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); ++b) {
        fixture_t f;

        fixture_open(&f, 16, 0);
        for (unsigned i = 0; i < 32; ++i) {
            assert_true(send_message(&f, 8, i));
        }
        fastsm_store_read_pos(f.out.shared_read_pos, bad[b] + 32);
        assert_false(send_message(&f, 8, 32));
        fixture_close(&f);
    }
}

static void test_counts_are_checked(void **state)
{
    fixture_t f;

    (void) state;
    fixture_open(&f, 16, 10);
    assert_false(fastsm_fifo_count_ok(&f.in, 0));
    assert_true(fastsm_fifo_count_ok(&f.in, 1));
    assert_true(fastsm_fifo_count_ok(&f.in, 2));
    assert_false(fastsm_fifo_count_ok(&f.in, 3));
    assert_true(fastsm_fifo_count_ok(&f.in, 22));
    assert_false(fastsm_fifo_count_ok(&f.in, 24));
    assert_false(fastsm_fifo_count_ok(&f.in, UINT32_MAX));
    fixture_start(&f, 11); /* only a short message begins at a second half */
    assert_true(fastsm_fifo_count_ok(&f.in, 1));
    assert_false(fastsm_fifo_count_ok(&f.in, 2));
    fixture_close(&f);
}

static void test_copy_small(void **state)
{
    uint8_t from[96], to[96];

    (void) state;
    fill(from, sizeof(from), 5);
    for (size_t length = 0; length <= 64; ++length) {
        for (size_t shift = 0; shift < 16; ++shift) {
            memset(to, 0xee, sizeof(to));
            mca_common_fastpath_copy_small(to + shift, from + 3, length);
            assert_memory_equal(from + 3, to + shift, length);
            for (size_t i = 0; i < sizeof(to); ++i) {
                if (i < shift || i >= shift + length) {
                    assert_int_equal(0xee, to[i]);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_of_a_length),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_header_and_payload),
        cmocka_unit_test(test_send_slot),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_see_refuses),
        cmocka_unit_test(test_expected_slots),
        cmocka_unit_test(test_await),
        cmocka_unit_test(test_words_of_further_slots),
        cmocka_unit_test(test_extract),
        cmocka_unit_test(test_order_and_wrap),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_pad_goes_ahead),
        cmocka_unit_test(test_next_producer_after_a_kill),
        cmocka_unit_test(test_message_as_long_as_the_ring),
        cmocka_unit_test(test_words_never_older_than_a_lap),
        cmocka_unit_test(test_user_bytes_are_no_words),
        cmocka_unit_test(test_bell),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_second_half_in_time),
        cmocka_unit_test(test_deepest),
        cmocka_unit_test(test_read_pos_is_read_when_full),
        cmocka_unit_test(test_was_read),
        cmocka_unit_test(test_bad_read_pos_is_no_room),
        cmocka_unit_test(test_counts_are_checked),
        cmocka_unit_test(test_copy_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
