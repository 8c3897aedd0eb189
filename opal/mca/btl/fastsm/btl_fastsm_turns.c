/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Chunks or the kernel: whether a long message had better go through buffers, or be read, or copied by both.
 *
 * Which is sooner depends on the processor, on how far the cores are apart, and on what the program does, so
 * it is measured: by what filling a chunk takes of late, and by messages that take turns
 * (mca_btl_fastsm_turns_t).  So is how to fill the buffers of a stream of short ones.
 */

#include "opal_config.h"

#include "opal/runtime/opal_progress.h"

#include "btl_fastsm.h"
#include "btl_fastsm_chunk.h"
#include "btl_fastsm_frag.h"
#include "btl_fastsm_send.h"
#include "btl_fastsm_turns.h"

/** bytes that may go in several buffers in any case */
#define CHUNKS_ANYWAY ((size_t) 16 * 1024)
/** bytes from which on messages that go both ways at once may be sooner by the kernel */
#define EXCHANGED_MIN ((size_t) 128 * 1024)
/** bytes that all processes of a node may send while one of them sends to each of its peers once, if chunks
 * are still to be in a cache when they are read */
#define ROUND_MAX ((uint64_t) 5 * 1024 * 1024)
/** bytes whose filling time is kept */
#define FILL_BYTES ((size_t) 4096)
/** of messages for which chunks are slow one in so many takes them all the same: they may not be any more. A
 * prime number, so that where messages of several lengths take turns it is not always the same one */
#define SLOW_PROBE 67u
/** the part of the parameter chunk_time that the kernel takes for a page, about: half a microsecond of 7 */
#define PAGE_PART 14u
/** the part of the parameter chunk_time that filling FILL_BYTES may take where chunks are better for a stream
 * of messages, too, than the kernel: a quarter of a microsecond of 7 */
#define QUICK_PART 28u
/** messages of a stream that take the same way, one after the other, at the least */
#define TURN_STREAMED 128u
/** and of an exchange, which are longer: until ten turns are over, half of them take the slower way */
#define TURN_EXCHANGED 32u
/** and of those in one buffer each, that are sent without an answer in between */
#define TURN_UNANSWERED 256u
/** and at the most; after so many, whenever they are sent, the turn counts nothing */
#define TURN_MAX 4096u
/** the part of a pause that is forgotten with each message */
#define PAUSE_FORGOTTEN 512u
/** ways: the kernel, or the receiver's memory through buffers */
#define TURN_KERNEL 0u
#define TURN_CHUNKS 1u
#define TURN_WAYS   2u
/** of a millisecond */
#define NANOSECONDS UINT64_C(1000000)

/* Whoever else had the core meanwhile shall not count for long. What another way took says nothing. */
void mca_btl_fastsm_note_fill(mca_btl_fastsm_endpoint_t *endpoint, unsigned way, size_t bytes, uint64_t ticks)
{
    const bool usual = way == atomic_load_explicit(&endpoint->fill_way, memory_order_relaxed);
    const uint64_t before = usual ? atomic_load_explicit(&endpoint->fill_ticks, memory_order_relaxed) : 0;

    atomic_store_explicit(&endpoint->fill_way, way, memory_order_relaxed);
    ticks = ticks * FILL_BYTES / bytes;
    ticks = ticks > 4 * before && 0 != before ? 4 * before : ticks;
    atomic_store_explicit(&endpoint->fill_ticks, 0 == before ? ticks : before - before / 8 + ticks / 8,
                          memory_order_relaxed);
}

/* The parameter, in ticks; UINT64_MAX: there is none, or the clock's speed is not known yet. */
static uint64_t chunk_time(mca_btl_fastsm_component_t *component)
{
    uint64_t ticks = atomic_load_explicit(&component->chunk_ticks, memory_order_relaxed);

    if (OPAL_UNLIKELY(0 == ticks)) {
        ticks = mca_common_fastpath_clock_per_millisecond(&component->clock) * component->chunk_time;
        ticks = (ticks + NANOSECONDS - 1) / NANOSECONDS;
        atomic_store_explicit(&component->chunk_ticks, ticks, memory_order_relaxed);
    }
    return 0 == ticks ? UINT64_MAX : ticks;
}

bool mca_btl_fastsm_chunks_are_slow(mca_btl_base_endpoint_t *endpoint, size_t size)
{
    const uint64_t fill = atomic_load_explicit(&endpoint->fill_ticks, memory_order_relaxed);
    const uint64_t limit = chunk_time(&mca_btl_fastsm_component);
    const uint64_t page = limit / PAGE_PART;

    return MCA_BTL_FASTSM_GET_WORKS == endpoint->write_state && !fastsm_pair_refuses(&endpoint->pair)
           && fill > page && (fill - page) * mca_btl_fastsm_buffers_of(size, FILL_BYTES) > limit
           && 0 != atomic_fetch_add_explicit(&endpoint->n_slow, 1, memory_order_relaxed) % SLOW_PROBE;
}

/* Whether chunks are sooner at the peer than what it could read at the same time. */
static bool chunks_are_quick(const mca_btl_fastsm_endpoint_t *endpoint)
{
    const uint64_t fill = atomic_load_explicit(&endpoint->fill_ticks, memory_order_relaxed);

    return 0 < fill && fill < chunk_time(&mca_btl_fastsm_component) / QUICK_PART;
}

/* The first turn of each way begins and ends anywhere, and counts nothing. @param count  of ways */
static void turn_end(mca_btl_fastsm_turns_t *turns, unsigned count, uint64_t now)
{
    if (TURN_MAX > turns->messages && count < turns->ways.uses) {
        mca_common_fastpath_ways_note(&turns->ways, turns->way, turns->bytes, now - turns->began);
    }
    turns->way = mca_common_fastpath_ways_choose(&turns->ways, count);
    turns->messages = 0;
    turns->bytes = 0;
    turns->began = now;
}

/* One more message of a turn.  @return its way */
static unsigned turn_message(mca_btl_fastsm_turns_t *turns, size_t size)
{
    ++turns->messages;
    turns->bytes += size;
    return turns->way;
}

/* Whether the next message takes chunks.  What counts of a way is the time in which as many messages are sent
 * as have a turn.
 * @param least    messages that a turn has
 * @param may_end  whether the turn ends if it has lasted for so many; it does after very many */
static bool turn_is_chunks(mca_btl_fastsm_turns_t *turns, size_t size, uint64_t now, uint32_t least,
                           bool may_end)
{
    if (0 == turns->ways.uses || (least <= turns->messages && (may_end || TURN_MAX <= turns->messages))) {
        turn_end(turns, TURN_WAYS, now);
    }
    return TURN_CHUNKS == turn_message(turns, size);
}

/* Messages of a stream that are sent together are copied while their sender waits for all of them: so a turn
 * ends with the first message after a pause that is not much shorter than others have been of late. */
static bool stream_is_chunks(mca_btl_fastsm_turns_t *turns, size_t size, uint64_t now)
{
    const uint64_t pause = 0 == turns->last ? 0 : now - turns->last;
    const bool may_end = turns->pause / 2 <= pause;

    turns->pause -= turns->pause / PAUSE_FORGOTTEN;
    turns->pause = pause > turns->pause ? pause : turns->pause;
    turns->last = now;
    return turn_is_chunks(turns, size, now, TURN_STREAMED, may_end);
}

/* What counts of a turn of messages in a buffer each is what has been read meanwhile, if that is less: a
 * sender that is not held up yet says nothing about the receiver. */
static void fill_turn_end(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_turns_t *turns = &endpoint->filled;
    const uint32_t sent = turns->messages;
    uint32_t read;

    mca_btl_fastsm_reclaim(endpoint);
    read = sent + turns->unread - endpoint->n_in_flight;
    if (sent / 2 > read || 2 * sent < read) {
        turns->messages = TURN_MAX;
    } else if (sent > read) {
        turns->bytes = turns->bytes * read / sent;
    }
    turn_end(turns, MCA_COMMON_FASTPATH_FILL_WAYS, mca_common_fastpath_ticks());
    turns->unread = endpoint->n_in_flight;
}

/* The instruction and non-temporal stores take the sender less time, but what they have written comes later:
 * a receiver that waits for just this message has it sooner from a loop.  Which one is sooner in a stream
 * depends on how far the cores are apart, so it is measured.  A turn ends before an answer if it can. */
unsigned mca_btl_fastsm_stream_way(mca_btl_fastsm_endpoint_t *endpoint, size_t size)
{
    mca_btl_fastsm_turns_t *turns = &endpoint->filled;
    /* what a dynamic peer answers in a ring is not seen */
    const bool answered = !endpoint->readable || endpoint->answered != endpoint->in.read_pos;

    if (0 == turns->ways.uses || (answered ? TURN_STREAMED : TURN_UNANSWERED) <= turns->messages) {
        fill_turn_end(endpoint);
    }
    return answered ? MCA_COMMON_FASTPATH_BY_LOOP : turn_message(turns, size);
}

/* Whether the peer has read all buffers but those of one message. */
static bool is_up_to_date(mca_btl_fastsm_endpoint_t *endpoint, size_t size)
{
    mca_btl_fastsm_reclaim(endpoint);
    return endpoint->n_in_flight <= mca_btl_fastsm_buffers_of(size, mca_btl_fastsm_buffer_bytes());
}

/* Whether the other side decides: the host does, as long as it has turns.  If it has none its messages are no
 * exchange, and the guest's turn that has been begun before counts nothing. */
static bool host_decides(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_followed_t *followed = &endpoint->followed;
    const uint32_t turn = endpoint->pair.host ? 0 : fastsm_pair_turn(&endpoint->pair);

    if (turn != followed->turn) {
        followed->turn = turn;
        followed->left = TURN_MAX;
    }
    if (0 == followed->left) {
        return false;
    }
    --followed->left;
    endpoint->exchange.messages = TURN_MAX;
    return true;
}

/* In an exchange both sides send as many messages, and each copies for both.  So both go the same way, and
 * one of them measures that: if each decided for itself, it would measure a mixture, and what is sooner if
 * both do it would not be found.  Of messages that are sent together a turn ends only when the peer has the
 * ones before, or it would measure how long it takes to send some. */
static bool exchange_is_slow(mca_btl_fastsm_endpoint_t *endpoint, size_t size, bool alone)
{
    mca_btl_fastsm_turns_t *turns = &endpoint->exchange;
    bool may_end, chunks;

    if (EXCHANGED_MIN > size || MCA_BTL_FASTSM_GET_WORKS != endpoint->write_state
        || fastsm_pair_refuses(&endpoint->pair)) {
        return false;
    }
    if (host_decides(endpoint)) {
        return 0 == (MCA_BTL_FASTSM_PAIR_CHUNKS & endpoint->followed.turn);
    }
    may_end = TURN_EXCHANGED <= turns->messages && alone && is_up_to_date(endpoint, size);
    chunks = turn_is_chunks(turns, size, mca_common_fastpath_ticks(), TURN_EXCHANGED, may_end);
    if (1 == turns->messages && endpoint->pair.host) {
        fastsm_pair_begin_turn(&endpoint->pair, chunks);
    }
    return !chunks;
}

bool mca_btl_fastsm_exchange_is_slow(mca_btl_base_endpoint_t *endpoint, size_t size, bool alone)
{
    const bool slow = exchange_is_slow(endpoint, size, alone);

    endpoint->exchanged = !slow;
    return slow;
}

/* Bytes of long messages since the last one to this peer, with that one, by all processes if they send alike.
 * 0: it is the first. */
static uint64_t round_bytes(mca_btl_fastsm_endpoint_t *endpoint, size_t size)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint64_t sent = atomic_fetch_add_explicit(&component->long_sent, size, memory_order_relaxed);
    const uint64_t before = atomic_exchange_explicit(&endpoint->long_sent, sent + size, memory_order_relaxed);

    return 0 == before ? 0 : (sent + size - before) * component->n_local;
}

/* Where processes share cores a message that is read takes turns of them for its answers, so it goes in
 * chunks unless these are dear: its core and the peer's are far apart, or so much is under way that no cache
 * keeps it (docs/data-path.md, "Where processes share cores"). */
static bool shared_had_better_read(mca_btl_fastsm_endpoint_t *endpoint, size_t size)
{
    return ROUND_MAX < round_bytes(endpoint, size) || mca_btl_fastsm_chunks_are_slow(endpoint, size);
}

/* Where messages go to and fro, one of them may be unread.  Of those that go both ways at once any number may
 * be: exchange_is_slow has said how they go, and turns of the two sides' streams, which do not begin and end
 * together, would measure a mixture.  With threads streams are not measured, but what filling a chunk takes
 * is. */
bool mca_btl_fastsm_had_better_read(mca_btl_fastsm_endpoint_t *endpoint, uint32_t buffers, size_t size)
{
    const bool exchanged = endpoint->exchanged;
    uint32_t unread_max;

    if (exchanged) {
        endpoint->exchanged = false;
    }
    if (OPAL_UNLIKELY(fastsm_pair_refuses(&endpoint->pair)) || size <= CHUNKS_ANYWAY) {
        return false;
    }
    if (OPAL_UNLIKELY(opal_progress_yield_when_idle)) {
        return shared_had_better_read(endpoint, size);
    }
    if (0 == endpoint->n_in_flight) {
        return false;
    }
    mca_btl_fastsm_lock(endpoint);
    mca_btl_fastsm_reclaim(endpoint);
    unread_max = endpoint->answered == endpoint->in.read_pos ? 0 : buffers;
    mca_btl_fastsm_unlock(endpoint);
    return !exchanged && unread_max < endpoint->n_in_flight
           && !(OPAL_UNLIKELY(opal_using_threads())
                    ? chunks_are_quick(endpoint)
                    : stream_is_chunks(&endpoint->stream, size, mca_common_fastpath_ticks()));
}
