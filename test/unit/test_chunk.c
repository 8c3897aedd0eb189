/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Messages in chunks: sent and received in one process, through one FIFO and the buffers of one pool.  What
 * the BTL does besides, lists of buffers and FIFOs that open, is played here.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opal/mca/btl/fastsm/btl_fastsm_ahead.c"
#include "opal/mca/btl/fastsm/btl_fastsm_chunk_recv.c"
#include "opal/mca/btl/fastsm/btl_fastsm_chunk_send.c"
#include "opal/mca/btl/fastsm/btl_fastsm_turns.c"

#include "fifo_fixture.h"

enum { CHUNK = 4096, HEADER = MCA_BTL_FASTSM_HEADER_BYTES, BUFFERS = 128, TAG = 9, DEPTH = 64 };
enum { LONGEST = MCA_BTL_FASTSM_CHUNKS_MAX * CHUNK, GUARD = 64 };

mca_btl_fastsm_component_t mca_btl_fastsm_component;
bool opal_uses_threads;
bool opal_progress_yield_when_idle;

static struct {
    fixture_t fifo;
    mca_btl_fastsm_endpoint_t out, in; /* the same pair, as its sender and its receiver see it */
    mca_btl_fastsm_frag_t frags[BUFFERS];
    uint32_t next, given_back, kept, allowed, reclaimed;
} world;

static char payload[LONGEST + CHUNK], received[LONGEST + GUARD];

/* ---- what the BTL does besides ---- */

/* The buffers in turn. */
mca_btl_fastsm_frag_t *mca_btl_fastsm_frags_take(mca_btl_fastsm_endpoint_t *endpoint, uint32_t count,
                                                 size_t last)
{
    mca_btl_fastsm_frag_t *first = &world.frags[world.next % BUFFERS], *frag = first;

    assert_in_range(last, HEADER + 1, HEADER + CHUNK);
    assert_ptr_equal(&world.out, endpoint);
    if (count > world.allowed) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; ++i) {
        mca_btl_fastsm_frag_t *next = &world.frags[++world.next % BUFFERS];

        frag->base.super.super.opal_list_next = i + 1 < count ? (opal_list_item_t *) next : NULL;
        frag = next;
    }
    return first;
}

void mca_btl_fastsm_frags_put_back(mca_btl_fastsm_frag_t *first, uint32_t count)
{
    (void) first;
    world.given_back += count;
}

void mca_btl_fastsm_keep(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag)
{
    (void) endpoint;
    frag->base.super.super.opal_list_next = NULL; /* it goes to another list */
    ++world.kept;
}

void mca_btl_fastsm_reclaim(mca_btl_fastsm_endpoint_t *endpoint)
{
    ++world.reclaimed;
    if (fastsm_load_read_pos(endpoint->out.shared_read_pos) == endpoint->out.write_pos) {
        endpoint->n_in_flight = 0;
    }
}

bool mca_btl_fastsm_fifo_open(mca_btl_fastsm_endpoint_t *endpoint)
{
    (void) endpoint;
    return false;
}

/* Nobody else holds a lock here. */
void mca_common_fastpath_lock_wait(mca_common_fastpath_lock_t *lock)
{
    (void) lock;
    abort();
}

static uint64_t ticks_per_millisecond;

uint64_t mca_common_fastpath_clock_per_millisecond(mca_common_fastpath_clock_t *clock)
{
    (void) clock;
    return ticks_per_millisecond;
}

/* ---- fixture ---- */

static void world_open(uint32_t position)
{
    memset(&world.out, 0, sizeof(world.out));
    memset(&world.in, 0, sizeof(world.in));
    fixture_open(&world.fifo, DEPTH, position);
    world.out.out = world.fifo.out;
    world.out.readable = true;
    world.in.in = world.fifo.in;
    world.in.base = world.fifo.segment;
    world.in.layout = world.fifo.layout;
    mca_btl_fastsm_component.layout = world.fifo.layout;
    mca_btl_fastsm_component.chunks_max = MCA_BTL_FASTSM_CHUNKS_MAX;
    mca_btl_fastsm_component.chunk_time = 7000;
    mca_btl_fastsm_component.chunk_ticks = ticks_per_millisecond = 0;
    world.next = world.given_back = world.kept = world.reclaimed = 0;
    mca_btl_fastsm_component.frags[MCA_BTL_FASTSM_FRAG_EAGER].free = NULL;
    world.allowed = BUFFERS;
    opal_uses_threads = false;
    for (uint32_t i = 0; i < BUFFERS; ++i) {
        world.frags[i].offset =
            mca_btl_fastsm_layout_eager(&world.fifo.layout, i) + MCA_BTL_FASTSM_EAGER_LEAD;
        world.frags[i].buffer = world.fifo.segment + world.frags[i].offset;
    }
    for (size_t i = 0; i < sizeof(payload); ++i) {
        payload[i] = (char) (i * 7 + i / 256 * 13 + i / CHUNK);
    }
}

static void world_close(void)
{
    fixture_close(&world.fifo);
}

static int send_chunks(size_t size)
{
    uint64_t header[2] = {1, 2};

    return mca_btl_fastsm_sendi_chunks(&world.out, header, payload, NULL, size, TAG, NULL);
}

/* The message at the receiver's position, as the BTL finds it. */
static mca_btl_fastsm_view_t see(void)
{
    const mca_btl_fastsm_slot_t *slot = fastsm_fifo_peek(&world.in.in);
    mca_btl_fastsm_view_t view = {.endpoint = &world.in, .head = slot};
    const uint32_t split = NULL == slot ? 0 : slot->u.head.length;
    uint64_t place;

    assert_non_null(slot);
    assert_int_equal(MCA_BTL_FASTSM_SLOT_POOL | MCA_BTL_FASTSM_SLOT_CHUNKS, slot->u.head.flags);
    assert_int_equal(TAG, slot->u.head.tag);
    view.chunk = mca_btl_fastsm_first_chunk(&world.in, split);
    view.data = mca_btl_fastsm_referenced(&world.in, slot->u.head.data, &place, view.chunk + HEADER);
    view.length = mca_btl_fastsm_place_length(place);
    view.halves = mca_btl_fastsm_view_chunks(&world.in, split, view.length);
    assert_non_null(view.data);
    assert_int_equal(0, (uintptr_t) (view.data + HEADER) % 64);
    return view;
}

/* Copies so many bytes of the message at the receiver's position, and nothing behind them. */
static void copies(const mca_btl_fastsm_view_t *view, size_t length)
{
    memset(received, 0x5a, sizeof(received));
    assert_true(mca_btl_fastsm_move_chunks(view, received, NULL, length, 1 == length % 2));
    assert_memory_equal(payload, received, length);
    for (size_t i = length; i < length + GUARD; ++i) {
        assert_int_equal(0x5a, received[i]);
    }
}

static void move_nothing(void *context, void *piece, size_t offset, size_t length)
{
    (void) context, (void) piece, (void) offset, (void) length;
}

/* Makes `in` a receiver of messages that are written by hand. */
static void put(uint32_t pos, uint8_t flags, uint64_t offset, size_t length)
{
    mca_btl_fastsm_slot_t *slot = fastsm_fifo_slot(world.in.in.slots, world.in.in.depth, pos);
    const mca_btl_fastsm_pool_ref_t reference = {.place = mca_btl_fastsm_place(offset, length)};

    fastsm_fifo_describe(slot, sizeof(reference), TAG, flags);
    memcpy(slot->u.head.data, &reference, sizeof(reference));
    fastsm_store_head_sequence(slot, pos + 1);
}

/* The first half of a message of so many chunks, the first one in the first buffer. */
static void put_first(uint32_t pos, uint32_t chunks, size_t size)
{
    put(pos, MCA_BTL_FASTSM_SLOT_POOL | MCA_BTL_FASTSM_SLOT_CHUNKS, world.frags[0].offset, HEADER + size);
    fastsm_fifo_slot(world.in.in.slots, world.in.in.depth, pos)->u.head.length =
        (uint16_t) mca_btl_fastsm_split(chunks, 1);
}

/* ---- tests ---- */

/* What is known when the other ways take twice as long. None of the next pieces is measured. */
static mca_common_fastpath_ways_t rather(unsigned way)
{
    mca_common_fastpath_ways_t ways = {.ticks = {200, 200, 200},
                                       .uses =
                                           MCA_COMMON_FASTPATH_WAYS_TRIALS * MCA_COMMON_FASTPATH_FILL_WAYS,
                                       .pieces = 1};

    ways.ticks[way] = 100;
    return ways;
}

static uint32_t how_many(uint32_t chunks, uint32_t width, size_t size)
{
    return mca_btl_fastsm_view_chunks(&world.in, mca_btl_fastsm_split(chunks, width), HEADER + size);
}

static void test_how_many(void **state)
{
    (void) state;
    world_open(0);
    assert_int_equal(0, mca_btl_fastsm_view_chunks(&world.in, mca_btl_fastsm_split(2, 1), 0));
    assert_int_equal(0, how_many(2, 1, (size_t) -1));
    assert_int_equal(0, how_many(2, 1, 0));
    assert_int_equal(0, how_many(2, 1, 1));
    assert_int_equal(0, how_many(2, 1, CHUNK)); /* one is none */
    assert_int_equal(2, how_many(2, 1, CHUNK + 1));
    assert_int_equal(0, how_many(2, 2, 2 * CHUNK));
    assert_int_equal(2, how_many(2, 2, 2 * CHUNK + 1));
    assert_int_equal(0, how_many(2, 0, 2 * CHUNK));
    assert_int_equal(0, how_many(1, 1, 2 * CHUNK));
    assert_int_equal(0, how_many(0, 1, 2 * CHUNK));
    assert_int_equal(MCA_BTL_FASTSM_CHUNKS_MAX, how_many(MCA_BTL_FASTSM_CHUNKS_MAX, 1, LONGEST));
    assert_int_equal(0, how_many(MCA_BTL_FASTSM_CHUNKS_MAX + 1, 1, LONGEST));
    assert_int_equal(3, how_many(3, 2, 3 * CHUNK + 1)); /* each has a buffer at the least */
    assert_int_equal(0, how_many(4, 2, 3 * CHUNK + 1));
    assert_int_equal(2, how_many(2, MCA_BTL_FASTSM_CHUNKS_MAX - 1, LONGEST));
    assert_int_equal(0, how_many(2, MCA_BTL_FASTSM_CHUNKS_MAX, LONGEST));
    assert_int_equal(0, how_many(MCA_BTL_FASTSM_CHUNKS_MAX, 1, (size_t) LONGEST + 1));
    world_close();
}

/* No sender can have put more of them into a FIFO than it has halves. */
static void test_more_than_the_fifo_has(void **state)
{
    (void) state;
    world_open(0);
    world.in.in.depth = 8;
    assert_int_equal(8, how_many(8, 1, 8 * CHUNK));
    assert_int_equal(0, how_many(9, 1, 8 * CHUNK));
    world_close();
}

/* At every length about a multiple of a chunk, at first and second halves and where positions wrap. */
static void round_trips(bool threads)
{
    static const uint32_t positions[] = {0, 1, 2 * DEPTH - 1, UINT32_MAX - 4, UINT32_MAX - 5};

    for (size_t p = 0; p < sizeof(positions) / sizeof(positions[0]); ++p) {
        world_open(positions[p]);
        opal_uses_threads = threads;
        for (size_t size = 2 * CHUNK - 1; size <= LONGEST; size += 0 == size % CHUNK ? CHUNK - 1 : 1) {
            const uint32_t chunks = mca_btl_fastsm_buffers_of(size, CHUNK), pos = world.out.out.write_pos;
            mca_btl_fastsm_view_t view;

            world.out.fill_ways = rather(MCA_COMMON_FASTPATH_BY_LOOP); /* a buffer is a chunk */
            assert_int_equal(OPAL_SUCCESS, send_chunks(size));
            assert_int_equal(pos + chunks, world.out.out.write_pos);
            assert_int_equal((uint8_t) (pos + chunks), fastsm_load_bell(world.out.out.bell));
            view = see();
            assert_int_equal(HEADER + size, view.length);
            assert_int_equal(chunks, view.halves);
            assert_true(mca_btl_fastsm_chunks_are_here(&world.in, chunks));
            copies(&view, size);
            copies(&view, size - 1);
            copies(&view, CHUNK + 1);
            copies(&view, CHUNK);
            copies(&view, 3);
            copies(&view, 0);
            fastsm_fifo_release(&world.in.in, view.halves);
            assert_null(fastsm_fifo_peek(&world.in.in));
        }
        assert_int_equal(0, world.given_back);
        world_close();
    }
}

static void test_round_trips(void **state)
{
    (void) state;
    round_trips(false);
}

static void test_round_trips_with_threads(void **state)
{
    (void) state;
    round_trips(true);
}

/* Filled and taken by each way it is the same message. */
static void test_ways_of_copying(void **state)
{
    static const size_t sizes[] = {4 * CHUNK + 1, 5 * CHUNK - 1, 5 * CHUNK, 5 * CHUNK + 2048,
                                   6 * CHUNK + 2047};

    (void) state;
    for (unsigned way = MCA_COMMON_FASTPATH_BY_LOOP; way < MCA_COMMON_FASTPATH_FILL_WAYS; ++way) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            mca_btl_fastsm_view_t view;

            world_open(0);
            for (uint32_t k = 0; k < BUFFERS; ++k) {
                world.frags[k].filled = CHUNK;
            }
            world.out.fill_ways = rather(way);
            world.in.take_ways =
                rather(MCA_COMMON_FASTPATH_BY_LOOP == way ? way : MCA_COMMON_FASTPATH_BY_STRING);
            assert_int_equal(OPAL_SUCCESS, send_chunks(sizes[i]));
            view = see();
            copies(&view, sizes[i]);
            assert_int_equal(rather(way).uses, world.out.fill_ways.uses); /* as it is known */
            assert_int_equal(rather(way).uses, world.in.take_ways.uses);
            world_close();
        }
    }
}

/* One chunk in one or several buffers is a message in one piece. */
static void check_one_piece(size_t size)
{
    const mca_btl_fastsm_slot_t *slot = fastsm_fifo_peek(&world.in.in);
    uint64_t place, header[2];
    const char *data;

    assert_non_null(slot);
    assert_int_equal(MCA_BTL_FASTSM_SLOT_POOL, slot->u.head.flags);
    data = mca_btl_fastsm_referenced(&world.in, slot->u.head.data, &place, SIZE_MAX);
    assert_non_null(data);
    assert_int_equal(HEADER + size, mca_btl_fastsm_place_length(place));
    memcpy(header, data, sizeof(header));
    assert_int_equal(1, header[0]);
    assert_int_equal(2, header[1]);
    assert_memory_equal(data, slot->u.head.data + offsetof(mca_btl_fastsm_pool_ref_t, header), HEADER);
    assert_memory_equal(payload, data + HEADER, size);
}

static void check_pieces(size_t size, uint32_t chunks)
{
    mca_btl_fastsm_view_t view = see();

    assert_int_equal(chunks, view.halves);
    copies(&view, size);
    copies(&view, size - 1);
    copies(&view, view.chunk + 1);
    copies(&view, view.chunk);
    copies(&view, 3);
}

/* Each chunk's buffers are handed back with it: which ones those are tells the length that its half has. */
static void check_positions(size_t first, size_t size, uint32_t chunks)
{
    size_t k = first, left = size;

    for (uint32_t i = 0; i < chunks; ++i) {
        const mca_btl_fastsm_slot_t *slot = fastsm_fifo_slot(world.in.in.slots, world.in.in.depth, i);
        const mca_btl_fastsm_pool_ref_t *reference = (const mca_btl_fastsm_pool_ref_t *) slot->u.head.data;
        const size_t bytes = 0 != i        ? mca_btl_fastsm_place_length(reference->place)
                             : 1 == chunks ? size
                                           : mca_btl_fastsm_first_chunk(&world.in, slot->u.head.length);

        left -= bytes;
        for (uint32_t j = 0; j < mca_btl_fastsm_buffers_of(bytes, CHUNK); ++j, ++k) {
            assert_int_equal(i, world.frags[k % BUFFERS].position);
            assert_int_equal(bytes < (j + 1) * (size_t) CHUNK ? bytes % CHUNK : CHUNK,
                             world.frags[k % BUFFERS].filled);
        }
    }
    assert_int_equal(0, left);
}

/* The instruction fills 16 KiB at a time, or a half of the message up to 32 KiB, as far as buffers lie side
 * by side: how many chunks that makes, by where in the pool the message begins. */
static void test_wide_chunks(void **state)
{
    static const struct {
        uint32_t buffers, first, chunks; /* first: how far from the pool's end it begins */
    } cases[] = {
        {2, 64, 1},  {3, 64, 1},  {4, 64, 1}, {5, 64, 2},  {8, 64, 2},  {9, 64, 2},
        {16, 64, 2}, {20, 64, 3}, {4, 1, 2},  {4, 3, 2},   {5, 1, 2},   {5, 2, 2},
        {9, 3, 3},   {16, 8, 2},  {16, 5, 3}, {64, 64, 8}, {64, 32, 8}, {64, 30, 9},
    };

    (void) state;
    for (size_t i = 0; i < 4 * sizeof(cases) / sizeof(cases[0]); ++i) {
        const uint32_t first = BUFFERS - cases[i / 4].first, chunks = cases[i / 4].chunks;
        const size_t size = cases[i / 4].buffers * (size_t) CHUNK - 1;
        const bool new = 0 == i % 2;

        world_open(0);
        opal_uses_threads = 2 == (i & 2);
        world.out.fill_ways = rather(MCA_COMMON_FASTPATH_BY_STRING);
        world.next = first;
        for (uint32_t k = 0; k < BUFFERS; ++k) {
            world.frags[k].filled = new ? 0 : CHUNK; /* what comes first in a buffer goes by a loop */
        }
        assert_int_equal(OPAL_SUCCESS, send_chunks(size));
        assert_int_equal(chunks, world.out.out.write_pos);
        assert_int_equal(cases[i / 4].buffers, world.kept);
        if (1 == chunks) {
            check_one_piece(size);
        } else {
            check_pieces(size, chunks);
        }
        if (new) {
            check_positions(first, size, chunks);
        }
        world_close();
    }
}

/* What the parameter says holds for any way, and is not more than it says. */
static void test_width_given(void **state)
{
    static const struct {
        unsigned most;
        uint32_t chunks; /* of 12 buffers */
    } cases[] = {{1, 12}, {CHUNK - 1, 12}, {CHUNK, 12}, {3 * CHUNK - 1, 6}, {3 * CHUNK, 4}, {1 << 20, 1}};

    (void) state;
    for (unsigned way = MCA_COMMON_FASTPATH_BY_LOOP; way <= MCA_COMMON_FASTPATH_BY_STRING; ++way) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
            world_open(0);
            world.out.fill_ways = rather(way);
            mca_btl_fastsm_component.chunk_max = cases[i].most;
            assert_int_equal(OPAL_SUCCESS, send_chunks(12 * CHUNK));
            mca_btl_fastsm_component.chunk_max = 0;
            assert_int_equal(cases[i].chunks, world.out.out.write_pos);
            world_close();
        }
    }
}

/* A message of more chunks than its bytes need says one too many, or was two: none is handed back. */
static void test_one_more_than_needed(void **state)
{
    mca_btl_fastsm_view_t view;

    (void) state;
    world_open(4);
    put_first(4, 3, 2 * CHUNK + 100);
    put(5, MCA_BTL_FASTSM_SLOT_POOL, world.frags[1].offset + HEADER, CHUNK + 100);
    view = see();
    assert_int_equal(3, view.halves);
    assert_false(mca_btl_fastsm_move_chunks(&view, received, NULL, 2 * CHUNK + 100, false));
    assert_false(mca_btl_fastsm_move_chunks(&view, received, NULL, 2 * CHUNK + 100, true));
    assert_false(mca_btl_fastsm_move_chunks(&view, received, NULL, CHUNK, false));
    world_close();
}

/* Other than contiguous data is packed by loops, into a buffer each. */
static void test_wide_data(void **state)
{
    const mca_btl_fastsm_data_t data = {.move = move_nothing};
    uint64_t header[2] = {1, 2};

    (void) state;
    world_open(0);
    world.out.fill_ways = rather(MCA_COMMON_FASTPATH_BY_STRING);
    assert_int_equal(OPAL_SUCCESS,
                     mca_btl_fastsm_sendi_chunks(&world.out, header, NULL, &data, 8 * CHUNK, TAG, NULL));
    assert_int_equal(8, world.out.out.write_pos);
    world_close();
}

/* @return of so many pieces, those that have been measured: the first ones, and one in eight */
static uint32_t tried(const mca_common_fastpath_ways_t *ways, unsigned count)
{
    const uint32_t trials = MCA_COMMON_FASTPATH_WAYS_TRIALS * count;

    return trials > ways->pieces ? ways->pieces : trials + (ways->pieces + 7) / 8 - (trials + 7) / 8;
}

/* Pieces of 2048 bytes and more are measured, one in so many, but not what comes first in a buffer. */
static void test_what_is_measured(void **state)
{
    const size_t size = 8 * CHUNK + 2047;

    (void) state;
    world_open(0);
    for (uint32_t k = 0; k < BUFFERS; ++k) {
        world.frags[k].filled = 0;
    }
    for (uint32_t i = 0; i < 2 * BUFFERS; ++i) {
        mca_btl_fastsm_view_t view;

        assert_int_equal(OPAL_SUCCESS, send_chunks(size));
        view = see();
        copies(&view, size);
        fastsm_fifo_release(&world.in.in, view.halves);
        if (BUFFERS / 9 - 1 == i) {
            assert_int_equal(0, world.out.fill_ways.pieces);
            assert_int_equal(8 * (BUFFERS / 9), world.in.take_ways.pieces);
        }
    }
    assert_int_not_equal(0, world.out.fill_ways.pieces);
    assert_int_equal(tried(&world.out.fill_ways, MCA_COMMON_FASTPATH_FILL_WAYS), world.out.fill_ways.uses);
    assert_int_equal(tried(&world.in.take_ways, MCA_COMMON_FASTPATH_TAKE_WAYS), world.in.take_ways.uses);
    for (unsigned way = MCA_COMMON_FASTPATH_BY_LOOP; way < MCA_COMMON_FASTPATH_FILL_WAYS; ++way) {
        assert_int_not_equal(0, world.out.fill_ways.ticks[way]);
        assert_int_equal(way < MCA_COMMON_FASTPATH_TAKE_WAYS, 0 != world.in.take_ways.ticks[way]);
    }
    world_close();
}

/* One buffer's worth is an ordinary reference to a message in one piece. */
static void test_one_buffer(void **state)
{
    (void) state;
    world_open(0);
    for (size_t size = CHUNK - 1; size <= CHUNK; ++size) {
        assert_int_equal(OPAL_SUCCESS, send_chunks(size));
        check_one_piece(size);
        fastsm_fifo_release(&world.in.in, 1);
    }
    world_close();
}

/* All or nothing: too long, no room for the last one, no buffers. */
static void nothing_leaves(size_t size)
{
    const uint32_t pos = world.out.out.write_pos;

    assert_int_equal(OPAL_ERR_OUT_OF_RESOURCE, send_chunks(size));
    assert_int_equal(pos, world.out.out.write_pos);
    assert_int_equal(0, world.kept);
}

static void refusals(bool threads)
{
    world_open(0);
    opal_uses_threads = threads;
    world.out.fill_ways = rather(threads ? MCA_COMMON_FASTPATH_BY_STRING : MCA_COMMON_FASTPATH_BY_LOOP);
    nothing_leaves((size_t) LONGEST + 1);
    mca_btl_fastsm_component.chunks_max = 2;
    nothing_leaves(2 * CHUNK + 1);
    mca_btl_fastsm_component.chunks_max = MCA_BTL_FASTSM_CHUNKS_MAX;
    world.allowed = 2;
    nothing_leaves(2 * CHUNK + 1);
    world.allowed = BUFFERS;
    world.out.out.n_pending = 1; /* others come first */
    nothing_leaves(2 * CHUNK);
    world.out.out.n_pending = 0;
    world.out.out.write_pos = 2 * DEPTH - 4;
    nothing_leaves(5 * CHUNK);
    world.out.out.write_pos = 2 * DEPTH - 5; /* a bell tells no more than 255, and there are 128 */
    assert_int_equal(OPAL_SUCCESS, send_chunks(4 * CHUNK));
    assert_int_equal(4, world.kept);
    world_close();
}

static void test_refusals(void **state)
{
    (void) state;
    refusals(false);
    assert_int_equal(0, world.given_back);
    refusals(true);
    assert_int_equal(2 + 5, world.given_back);
}

/* To a peer that has not read what it has long messages do not leave, and short ones do; and long ones, too,
 * where processes share cores, when it is their turn to take chunks, or with threads where those are quick.
 */
static void test_fallen_behind(void **state)
{
    uint32_t messages;

    (void) state;
    world_open(0);
    world.out.n_in_flight = 1;
    world.out.out.write_pos = 2;
    nothing_leaves(5 * CHUNK);
    opal_progress_yield_when_idle = true;
    assert_int_equal(OPAL_SUCCESS, send_chunks(5 * CHUNK));
    world.kept = 0;
    opal_progress_yield_when_idle = false;
    assert_int_equal(OPAL_SUCCESS, send_chunks(4 * CHUNK));
    world.kept = 0;
    world.out.stream = (mca_btl_fastsm_turns_t){.way = TURN_CHUNKS, .ways = {.uses = 1}};
    assert_int_equal(OPAL_SUCCESS, send_chunks(5 * CHUNK));
    world.kept = 0;
    world.out.stream.way = TURN_KERNEL;
    nothing_leaves(5 * CHUNK);
    /* one that goes both ways does not wait for those before, and counts in no turn; but only that one */
    messages = world.out.stream.messages;
    world.out.write_state = MCA_BTL_FASTSM_GET_WORKS;
    assert_false(mca_btl_fastsm_exchange_is_slow(&world.out, EXCHANGED_MIN - 1, true));
    assert_int_equal(0, world.out.exchange.messages);
    assert_int_equal(OPAL_SUCCESS, send_chunks(5 * CHUNK));
    assert_int_equal(messages, world.out.stream.messages);
    world.kept = 0;
    nothing_leaves(5 * CHUNK);
    assert_true(mca_btl_fastsm_exchange_is_slow(&world.out, EXCHANGED_MIN, true)); /* tried first */
    assert_int_equal(1, world.out.exchange.messages);
    nothing_leaves(5 * CHUNK);
    world.out.write_state = 0;
    opal_set_using_threads(true);
    mca_btl_fastsm_component.chunk_ticks = 1000;
    world.out.fill_ticks = 1000 / QUICK_PART;
    nothing_leaves(5 * CHUNK);
    world.out.fill_ticks = 1000 / QUICK_PART - 1;
    assert_int_equal(OPAL_SUCCESS, send_chunks(5 * CHUNK));
    world.kept = 0;
    world.out.fill_ticks = 0; /* nobody knows */
    nothing_leaves(5 * CHUNK);
    opal_set_using_threads(false);
    fastsm_store_read_pos(world.out.out.shared_read_pos, world.out.out.write_pos);
    assert_int_equal(OPAL_SUCCESS, send_chunks(5 * CHUNK));
    world_close();
}

/* Where processes share cores a message is read if too much is sent between two to the same peer, or if
 * filling chunks for it takes long; and neither the first one, nor short ones. */
static void test_shared(void **state)
{
    const size_t size = 100000;

    (void) state;
    world_open(0);
    opal_progress_yield_when_idle = true;
    mca_btl_fastsm_component.n_local = 10;
    mca_btl_fastsm_component.long_sent = 0;
    assert_false(mca_btl_fastsm_had_better_read(&world.out, 5, size));
    assert_false(mca_btl_fastsm_had_better_read(&world.out, 5, size));
    mca_btl_fastsm_component.long_sent += ROUND_MAX / 10 - size;
    assert_false(mca_btl_fastsm_had_better_read(&world.out, 5, size));
    mca_btl_fastsm_component.long_sent += ROUND_MAX / 10 - size + 1;
    assert_true(mca_btl_fastsm_had_better_read(&world.out, 5, size));
    assert_false(mca_btl_fastsm_had_better_read(&world.out, 5, size));
    mca_btl_fastsm_component.long_sent += ROUND_MAX;
    assert_false(mca_btl_fastsm_had_better_read(&world.out, 5, CHUNKS_ANYWAY));
    world.out.long_sent = 0; /* as to another peer */
    assert_false(mca_btl_fastsm_had_better_read(&world.out, 5, size));
    mca_btl_fastsm_component.chunk_ticks = 7000;
    world.out.fill_ticks = 1000;
    assert_false(mca_btl_fastsm_had_better_read(&world.out, 5, size)); /* nobody knows whether it can be */
    world.out.write_state = MCA_BTL_FASTSM_GET_WORKS;
    world.out.n_slow = 1;
    assert_true(mca_btl_fastsm_had_better_read(&world.out, 5, size));
    world.out.fill_ticks = 600;
    assert_false(mca_btl_fastsm_had_better_read(&world.out, 5, size));
    opal_progress_yield_when_idle = false;
    mca_btl_fastsm_component.n_local = 0;
    world_close();
}

/* What may leave in any case is counted in bytes, but one buffer is always enough. */
static void test_anyway(void **state)
{
    (void) state;
    world_open(0);
    world.out.n_in_flight = 1;
    world.out.out.write_pos = 2;
    assert_false(mca_btl_fastsm_had_better_read(&world.out, 5, CHUNKS_ANYWAY));
    assert_true(mca_btl_fastsm_had_better_read(&world.out, 5, CHUNKS_ANYWAY + 1));
    world_close();
}

/* What so many windows of messages take is simulated: each message takes some ticks to send, and the others
 * while its sender waits for all of the window.  @return how many of 100 messages took chunks in the second
 * half */
static unsigned turns_in_windows(unsigned window, uint64_t kernel, uint64_t chunks, uint64_t sending)
{
    enum { MESSAGES = 200000 };
    mca_btl_fastsm_turns_t turns = {.way = TURN_KERNEL};
    unsigned count = 0, in_chunks = 0;
    uint64_t now = 1000000;

    for (unsigned i = 0; i < MESSAGES; i += window) {
        const uint64_t began = now;
        uint64_t takes = 0;

        for (unsigned j = 0; j < window; ++j) {
            const bool is_chunks = stream_is_chunks(&turns, 5 * CHUNK, now);

            now += sending;
            takes += is_chunks ? chunks : kernel;
            if (MESSAGES / 2 <= i) {
                ++count;
                in_chunks += is_chunks ? 1 : 0;
            }
        }
        now = began + takes + (0 == i % 7919 ? 5000000 : 0); /* now and then somebody else has the core */
    }
    return 100 * in_chunks / count;
}

static void test_turns(void **state)
{
    static const unsigned windows[] = {1, 2, 10, 64, 100, 128, 200, 256, 1000};

    (void) state;
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); ++i) {
        assert_in_range(turns_in_windows(windows[i], 5000, 8000, 500), 0, 10);
        assert_in_range(turns_in_windows(windows[i], 8000, 5000, 500), 90, 100);
    }
}

/* @return messages of the turn that the next one belongs to, which is the first of one: so many leave after
 * each answer */
static unsigned stream_turn(unsigned window)
{
    const unsigned uses = world.out.filled.ways.uses;
    unsigned messages = 0;

    for (;;) {
        world.out.in.read_pos += 0 == messages % window ? 1 : 0;
        (void) mca_btl_fastsm_stream_way(&world.out, 2048);
        world.out.answered = world.out.in.read_pos;
        if (uses != world.out.filled.ways.uses) {
            return messages;
        }
        ++messages;
    }
}

/* A turn of messages in a buffer each ends with an answer, or at last, and the turns take all ways. */
static void test_stream_turns(void **state)
{
    (void) state;
    world_open(0);
    assert_int_equal(0, stream_turn(64));
    assert_int_equal(MCA_COMMON_FASTPATH_BY_LOOP, world.out.filled.way);
    assert_int_equal(3 * 64, stream_turn(64)); /* 63 in a window have no answer before them */
    assert_int_equal(MCA_COMMON_FASTPATH_BY_STRING, world.out.filled.way);
    assert_int_equal(1 + TURN_UNANSWERED, stream_turn(UINT_MAX));
    assert_int_equal(MCA_COMMON_FASTPATH_BY_NONTEMPORAL, world.out.filled.way);
    assert_int_equal(TURN_UNANSWERED, stream_turn(UINT_MAX));
    assert_int_equal(MCA_COMMON_FASTPATH_BY_LOOP, world.out.filled.way);
    assert_int_equal(0, world.out.filled.ways.ticks[MCA_COMMON_FASTPATH_BY_NONTEMPORAL]);
    assert_int_equal(TURN_UNANSWERED, stream_turn(UINT_MAX)); /* the first that counts */
    assert_int_not_equal(0, world.out.filled.ways.ticks[MCA_COMMON_FASTPATH_BY_LOOP]);
    world_close();
}

/* @return whether a turn counts of whose messages so many have been read meanwhile */
static bool turn_counts(uint32_t read)
{
    mca_btl_fastsm_turns_t *turns = &world.out.filled;

    *turns = (mca_btl_fastsm_turns_t){.messages = TURN_UNANSWERED,
                                      .bytes = TURN_UNANSWERED * 2048,
                                      .unread = TURN_UNANSWERED,
                                      .ways = {.uses = MCA_COMMON_FASTPATH_FILL_WAYS + 1}};
    world.out.n_in_flight = 2 * TURN_UNANSWERED - read;
    (void) mca_btl_fastsm_stream_way(&world.out, 2048);
    assert_int_equal(world.out.n_in_flight, turns->unread);
    return 0 != turns->ways.ticks[MCA_COMMON_FASTPATH_BY_LOOP];
}

/* A turn counts if about as many messages have been read as sent. */
static void test_stream_read(void **state)
{
    (void) state;
    world_open(0);
    world.out.out.write_pos = 2; /* the peer has not read all */
    assert_false(turn_counts(0));
    assert_false(turn_counts(TURN_UNANSWERED / 2 - 1));
    assert_true(turn_counts(TURN_UNANSWERED / 2));
    assert_true(turn_counts(TURN_UNANSWERED));
    assert_true(turn_counts(2 * TURN_UNANSWERED));
    world.out.n_in_flight = 0;
    world_close();
}

/* Who answers each message gets it from a loop; others as it is their turn, and that is of just those that
 * are in one buffer, are not measured and take turns. */
static void test_stream_way(void **state)
{
    static const size_t others[] = {2047, CHUNK + 1, 2 * CHUNK};

    (void) state;
    world_open(0);
    world.out.filled = (mca_btl_fastsm_turns_t){.way = MCA_COMMON_FASTPATH_BY_STRING, .ways = {.uses = 1}};
    assert_int_equal(MCA_COMMON_FASTPATH_BY_STRING, mca_btl_fastsm_stream_way(&world.out, 2048));
    world.out.readable = false; /* its answers do not come here */
    assert_int_equal(MCA_COMMON_FASTPATH_BY_LOOP, mca_btl_fastsm_stream_way(&world.out, 2048));
    world.out.readable = true;
    world.out.in.read_pos += 2;
    assert_int_equal(MCA_COMMON_FASTPATH_BY_LOOP, mca_btl_fastsm_stream_way(&world.out, 2048));
    assert_int_equal(1, world.out.filled.messages);
    world.out.answered = world.out.in.read_pos;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        assert_int_equal(OPAL_SUCCESS, send_chunks(others[i]));
    }
    opal_set_using_threads(true);
    assert_int_equal(OPAL_SUCCESS, send_chunks(CHUNK));
    opal_set_using_threads(false);
    assert_int_equal(1, world.out.filled.messages);
    assert_int_equal(OPAL_SUCCESS, send_chunks(2048));
    assert_int_equal(OPAL_SUCCESS, send_chunks(CHUNK));
    assert_int_equal(3, world.out.filled.messages);
    assert_int_equal(2048 + 2048 + CHUNK, world.out.filled.bytes);
    world_close();
}

/* What filling took, on the average: of whole chunks of contiguous memory, and however long one took once. */
static void test_fill_ticks(void **state)
{
    const mca_btl_fastsm_data_t data = {.move = move_nothing};
    mca_btl_fastsm_endpoint_t *out = &world.out;

    (void) state;
    world_open(0);
    assert_int_equal(OPAL_SUCCESS, send_chunks(CHUNK - 1));
    assert_int_equal(OPAL_SUCCESS, mca_btl_fastsm_sendi_data(out, 1, 2, &data, 2 * CHUNK, TAG, NULL));
    assert_int_equal(OPAL_SUCCESS, send_chunks(2 * CHUNK)); /* ways are still tried */
    assert_int_equal(0, out->fill_ticks);
    out->fill_ways = rather(MCA_COMMON_FASTPATH_BY_LOOP);
    assert_int_equal(OPAL_SUCCESS, send_chunks(2 * CHUNK));
    assert_int_not_equal(0, out->fill_ticks);
    out->fill_ticks = 0;
    mca_btl_fastsm_note_fill(out, 0, FILL_BYTES, 800);
    assert_int_equal(800, out->fill_ticks);
    mca_btl_fastsm_note_fill(out, 0, 2 * FILL_BYTES, 3200); /* the same for a page */
    assert_int_equal(900, out->fill_ticks);
    mca_btl_fastsm_note_fill(out, 0, FILL_BYTES, UINT64_C(1) << 40);
    assert_int_equal(900 - 900 / 8 + 3600 / 8, out->fill_ticks);
    for (int i = 0; i < 100; ++i) {
        mca_btl_fastsm_note_fill(out, 0, FILL_BYTES, 80);
    }
    assert_in_range(out->fill_ticks, 80, 90);
    mca_btl_fastsm_note_fill(out, 1, FILL_BYTES, 800); /* by another way */
    assert_int_equal(800, out->fill_ticks);
    world_close();
}

static int slow_ones(size_t size)
{
    int count = 0;

    for (uint32_t i = 0; i < 10 * SLOW_PROBE; ++i) {
        count += mca_btl_fastsm_chunks_are_slow(&world.out, size);
    }
    return count;
}

/* More than 7 microseconds, but for half a one of each page, of a message that the kernel may copy; but one
 * in SLOW_PROBE. */
static void test_slow(void **state)
{
    (void) state;
    world_open(0);
    world.out.write_state = MCA_BTL_FASTSM_GET_WORKS;
    world.out.fill_ticks = 10;
    assert_int_equal(0, slow_ones(LONGEST)); /* nobody knows what a tick is */
    ticks_per_millisecond = 10000;
    assert_int_equal(0, slow_ones(14 * CHUNK));
    assert_int_equal(10 * (SLOW_PROBE - 1), slow_ones(14 * CHUNK + 1));
    world.out.fill_ticks = 5;
    assert_int_equal(0, slow_ones(LONGEST));
    world.out.fill_ticks = 10;
    world.out.write_state = MCA_BTL_FASTSM_GET_REFUSED;
    assert_int_equal(0, slow_ones(LONGEST));
    world.out.write_state = MCA_BTL_FASTSM_GET_WORKS;
    world.out.fill_ticks = 0; /* nothing has been sent yet */
    assert_int_equal(0, slow_ones(LONGEST));
    world.out.fill_ticks = 1;
    mca_btl_fastsm_component.chunk_time = 1;
    mca_btl_fastsm_component.chunk_ticks = 0;
    assert_in_range(slow_ones(2 * CHUNK), 10 * (SLOW_PROBE - 1),
                    10 * SLOW_PROBE); /* less than a tick is one */
    world.out.fill_ticks = 10;
    mca_btl_fastsm_component.chunk_time = 0;
    mca_btl_fastsm_component.chunk_ticks = 0;
    assert_int_equal(0, slow_ones(LONGEST));
    world_close();
}

/* Both ways at once chunks are slow when it is the kernel's turn, and it copies. */
static void test_exchange(void **state)
{
    (void) state;
    world_open(0);
    world.out.write_state = MCA_BTL_FASTSM_GET_REFUSED;
    assert_false(mca_btl_fastsm_exchange_is_slow(&world.out, LONGEST, true));
    assert_int_equal(0, world.out.exchange.messages);
    world.out.write_state = MCA_BTL_FASTSM_GET_WORKS;
    assert_true(mca_btl_fastsm_exchange_is_slow(&world.out, LONGEST, true));
    world.out.exchange.way = TURN_CHUNKS;
    assert_false(mca_btl_fastsm_exchange_is_slow(&world.out, LONGEST, true));
    world_close();
}

/* @return messages of the turn that the next one belongs to, which is the first of one */
static unsigned exchange_turn(bool alone, uint32_t in_flight)
{
    const unsigned uses = world.out.exchange.ways.uses;
    unsigned messages = 0;

    do {
        world.out.n_in_flight = in_flight;
        (void) mca_btl_fastsm_exchange_is_slow(&world.out, LONGEST, alone);
        ++messages;
    } while (uses == world.out.exchange.ways.uses);
    return messages;
}

/* Turns of an exchange are of as many messages on both sides, and take both ways; but not of windows, where a
 * turn ends between them, or at last. */
static void test_exchange_turns(void **state)
{
    (void) state;
    world_open(0);
    world.out.write_state = MCA_BTL_FASTSM_GET_WORKS;
    world.out.out.write_pos = 2; /* the peer has not read all */
    assert_int_equal(1, exchange_turn(true, 0));
    assert_int_equal(TURN_KERNEL, world.out.exchange.way);
    assert_int_equal(TURN_EXCHANGED, exchange_turn(true, 0));
    assert_int_equal(TURN_CHUNKS, world.out.exchange.way);
    assert_int_equal(TURN_EXCHANGED, exchange_turn(true, LONGEST / CHUNK));
    assert_int_equal(TURN_MAX, exchange_turn(true, LONGEST / CHUNK + 1));
    assert_int_equal(TURN_MAX, exchange_turn(false, 0));
    world.out.n_in_flight = 0;
    world_close();
}

/* The guest goes the way that the host goes, and decides for itself before the host has begun and when it has
 * sent nothing for long. */
static void test_exchange_followed(void **state)
{
    mca_btl_fastsm_endpoint_t guest;
    _Atomic uint32_t word = 0, none = 0;
    fastsm_pair_t *pair = &world.out.pair;
    const uint32_t tag = UINT32_C(0x12345640);
    unsigned ways = 0;

    (void) state;
    world_open(0);
    world.out.write_state = MCA_BTL_FASTSM_GET_WORKS;
    guest = world.out;
    *pair = (fastsm_pair_t){.own = &word, .other = &none, .tag = tag, .host = true};
    guest.pair = (fastsm_pair_t){.own = &none, .other = &word, .tag = tag};
    fastsm_pair_say(pair, MCA_BTL_FASTSM_PAIR_AGREED);
    fastsm_pair_tell(pair, true);
    for (uint32_t i = 0; i < 3; ++i) {
        (void) mca_btl_fastsm_exchange_is_slow(&guest, LONGEST, true);
    }
    assert_int_equal(3, guest.exchange.messages);
    for (uint32_t i = 0; i < 6 * TURN_EXCHANGED; ++i) {
        const bool slow = mca_btl_fastsm_exchange_is_slow(&world.out, LONGEST, true);

        assert_int_equal(slow, mca_btl_fastsm_exchange_is_slow(&guest, LONGEST, true));
        ways |= slow ? 1 : 2;
    }
    assert_int_equal(3, ways);
    assert_int_equal(1, guest.exchange.ways.uses);
    assert_int_equal(MCA_BTL_FASTSM_PAIR_AGREED, fastsm_pair_look(&guest.pair));
    assert_false(fastsm_pair_refuses(&guest.pair));
    fastsm_pair_tell(pair, false);
    assert_true(fastsm_pair_refuses(&guest.pair));
    fastsm_pair_tell(pair, true);
    while (0 < guest.followed.left) {
        (void) mca_btl_fastsm_exchange_is_slow(&guest, LONGEST, true);
    }
    (void) mca_btl_fastsm_exchange_is_slow(&guest, LONGEST, true);
    assert_int_equal(2, guest.exchange.ways.uses);
    *pair = (fastsm_pair_t){.own = NULL};
    world_close();
}

/* A chunk that has not come, in any place. */
static void test_not_here(void **state)
{
    (void) state;
    for (uint32_t first = 0; first < 2; ++first) {
        for (uint32_t missing = 1; missing < 6; ++missing) {
            mca_btl_fastsm_view_t view;
            size_t bytes = 1;

            world_open(10 + first);
            put_first(10 + first, 6, 6 * CHUNK);
            for (uint32_t i = 1; i < missing; ++i) {
                put(10 + first + i, MCA_BTL_FASTSM_SLOT_POOL, world.frags[i].offset + HEADER, CHUNK);
            }
            view = see();
            assert_int_equal(6, view.halves);
            assert_false(mca_btl_fastsm_chunks_are_here(&world.in, 6));
            assert_false(mca_btl_fastsm_move_chunks(&view, received, NULL, 6 * CHUNK, false));
            memset(received, 0x5a, sizeof(received));
            /* what finds no room has to come, too: all halves are handed back */
            assert_false(mca_btl_fastsm_move_chunks(&view, received, NULL, missing * CHUNK, false));
            assert_false(mca_btl_fastsm_move_chunks(&view, received, NULL, 0, false));
            assert_false(mca_btl_fastsm_move_chunks(&view, received, NULL, CHUNK, true));
            assert_int_equal(0x5a, received[0]);
            assert_null(mca_btl_fastsm_chunk(&world.in, missing, CHUNK, &bytes));
            assert_int_equal(0, bytes);
            world_close();
        }
    }
}

/* The word of a second half may be a user's data of the last lap, until the half before it is there. */
static void test_data_like_a_word(void **state)
{
    static const char user[56 - HEADER];
    const uint32_t start_at = 10;

    (void) state;
    for (uint32_t last = 3; last < 7; last += 2) { /* the message ends with this half */
        mca_btl_fastsm_slot_t *slot;
        uint32_t like = start_at + last + 1;
        mca_btl_fastsm_view_t view;

        world_open(start_at);
        slot = fastsm_fifo_slot(world.in.in.slots, world.in.in.depth, start_at + last - 1);
        memcpy(slot->u.head.data, user, sizeof(user));
        memcpy(slot->u.head.data + MCA_BTL_FASTSM_HALF - 8, &like, sizeof(like));
        put_first(start_at, last + 1, (last + 1) * CHUNK);
        view = see();
        assert_int_equal(last + 1, view.halves);
        assert_false(mca_btl_fastsm_chunks_are_here(&world.in, last + 1));
        world_close();
    }
}

/* References that do not belong to the message, or make no sense. */
static void test_bad_chunks(void **state)
{
    static const struct {
        uint8_t flags;
        int64_t offset; /* from where it should be */
        size_t length;
        bool here, good; /* it is there, and the message is whole */
    } cases[] = {
        {MCA_BTL_FASTSM_SLOT_POOL, 0, 100, true, true},
        {0, 0, 100, false, false},
        {MCA_BTL_FASTSM_SLOT_POOL | MCA_BTL_FASTSM_SLOT_CHUNKS, 0, 100, false, false},
        {MCA_BTL_FASTSM_SLOT_CHUNKS, 0, 100, false, false},
        {MCA_BTL_FASTSM_SLOT_PAD, 0, 100, false, false},
        {MCA_BTL_FASTSM_SLOT_POOL, 0, 99, true, false},
        {MCA_BTL_FASTSM_SLOT_POOL, 0, 101, false, false},
        {MCA_BTL_FASTSM_SLOT_POOL, 0, 0, false, false},
        {MCA_BTL_FASTSM_SLOT_POOL, -(INT64_C(1) << 17), 100, false, false},
        {MCA_BTL_FASTSM_SLOT_POOL, INT64_C(1) << 30, 100, false, false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        mca_btl_fastsm_view_t view;
        size_t bytes;

        world_open(4);
        put_first(4, 2, CHUNK + 100);
        put(5, cases[i].flags, (uint64_t) ((int64_t) world.frags[1].offset + HEADER + cases[i].offset),
            cases[i].length);
        view = see();
        assert_int_equal(cases[i].here, NULL != mca_btl_fastsm_chunk(&world.in, 1, 100, &bytes));
        assert_int_equal(cases[i].good,
                         mca_btl_fastsm_move_chunks(&view, received, NULL, CHUNK + 100, false));
        assert_int_equal(cases[i].good, mca_btl_fastsm_move_chunks(&view, received, NULL, CHUNK + 100, true));
        world_close();
    }
}

/* ---- what is fetched while the process waits ---- */

static void free_buffers(uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        world.frags[first + i].base.super.super.opal_list_next =
            i + 1 < count ? (opal_list_item_t *) &world.frags[first + i + 1] : NULL;
    }
    mca_btl_fastsm_component.frags[MCA_BTL_FASTSM_FRAG_EAGER].free = 0 < count ? &world.frags[first] : NULL;
}

static void test_ahead(void **state)
{
    mca_btl_fastsm_ahead_t *ahead = &mca_btl_fastsm_component.ahead;
    _Atomic uint32_t word = 0;

    (void) state;
    world_open(0);
    assert_int_equal(OPAL_SUCCESS, send_chunks(3 * CHUNK));
    assert_int_equal(3 * CHUNK / 64, ahead->idle.work);
    world.out.n_in_flight = 3;
    free_buffers(3, 2); /* less than the message had */
    mca_btl_fastsm_ahead_run(&ahead->idle, &word, 0);
    assert_int_equal(3 * CHUNK / 64, ahead->idle.work); /* a message is there already */
    assert_int_equal(1, world.reclaimed);
    mca_btl_fastsm_ahead_run(&ahead->idle, &word, 1);
    assert_int_equal(1, world.reclaimed);
    assert_int_equal(0, ahead->idle.work);
    assert_int_equal(2, ahead->buffers);
    world_close();
}

/* Between two looks, others have taken the buffers. */
static void test_ahead_of_taken_buffers(void **state)
{
    mca_btl_fastsm_ahead_t *ahead = &mca_btl_fastsm_component.ahead;
    _Atomic uint32_t word = 0;

    (void) state;
    world_open(0);
    assert_int_equal(OPAL_SUCCESS, send_chunks(3 * CHUNK));
    free_buffers(3, 3);
    ahead->idle.work = CHUNK / 64 + 1;
    mca_btl_fastsm_ahead_run(&ahead->idle, &word, 1);
    assert_int_equal(1, ahead->buffers);
    assert_int_equal(1, ahead->line);
    world.frags[4].base.super.super.opal_list_next = (opal_list_item_t *) 8; /* it is on another list */
    free_buffers(5, 1);
    ahead->idle.work = 2 * CHUNK / 64;
    mca_btl_fastsm_ahead_run(&ahead->idle, &word, 1);
    assert_int_equal(0, ahead->idle.work);
    world_close();
}

/* The peer is gone. */
static void test_ahead_forgets(void **state)
{
    mca_btl_fastsm_ahead_t *ahead = &mca_btl_fastsm_component.ahead;
    mca_btl_fastsm_endpoint_t other;

    (void) state;
    world_open(0);
    assert_int_equal(OPAL_SUCCESS, send_chunks(3 * CHUNK));
    world.out.n_in_flight = 3;
    free_buffers(3, 3);
    mca_btl_fastsm_ahead_forget(&other);
    assert_int_equal(3 * CHUNK / 64, ahead->idle.work);
    mca_btl_fastsm_ahead_forget(&world.out);
    assert_int_equal(0, ahead->idle.work); /* which is what keeps run from being called */
    assert_null(ahead->endpoint);
    mca_btl_fastsm_ahead_forget(&world.out);
    assert_int_equal(0, world.reclaimed);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_many),
        cmocka_unit_test(test_more_than_the_fifo_has),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_round_trips_with_threads),
        cmocka_unit_test(test_ways_of_copying),
        cmocka_unit_test(test_wide_chunks),
        cmocka_unit_test(test_width_given),
        cmocka_unit_test(test_one_more_than_needed),
        cmocka_unit_test(test_wide_data),
        cmocka_unit_test(test_what_is_measured),
        cmocka_unit_test(test_one_buffer),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_fallen_behind),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_stream_turns),
        cmocka_unit_test(test_stream_read),
        cmocka_unit_test(test_stream_way),
        cmocka_unit_test(test_anyway),
        cmocka_unit_test(test_exchange_turns),
        cmocka_unit_test(test_exchange_followed),
        cmocka_unit_test(test_fill_ticks),
        cmocka_unit_test(test_slow),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_not_here),
        cmocka_unit_test(test_data_like_a_word),
        cmocka_unit_test(test_bad_chunks),
        cmocka_unit_test(test_ahead),
        cmocka_unit_test(test_ahead_of_taken_buffers),
        cmocka_unit_test(test_ahead_forgets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
