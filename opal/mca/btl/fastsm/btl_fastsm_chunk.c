/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Messages in eager buffers, one or several: a chunk is what one of them holds.
 *
 * The sender takes all buffers and all halves of slots that the message needs, or none.  Then it fills one
 * buffer after the other, and refers to each as soon as it is full, so that the receiver copies the first
 * chunk while the second is being written.  The references lie one behind the other: nothing else is sent to
 * this peer in between.  With several threads all buffers are filled before the first reference is written,
 * because the lock that keeps others from the FIFO is not held while a user's memory is touched.
 *
 * Buffers are used in turn, longest free first.  So those that come next are known while the process waits,
 * and it gets their lines from the last reader then (mca_btl_fastsm_ahead_t): a store to a line that another
 * processor has read last takes ten times as long as one to a line that is here.
 */

#include "opal_config.h"

#include "opal/runtime/opal_progress.h"

#include "btl_fastsm.h"
#include "btl_fastsm_chunk.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_frag.h"
#include "btl_fastsm_room.h"
#include "btl_fastsm_send.h"

/** how often to look for a chunk whose first one is there: its sender is copying it */
#define CHUNK_LOOKS 1000u
/** bytes that may go in several chunks in any case */
#define CHUNKS_ANYWAY ((size_t) 16 * 1024)
/** bytes that may go in several chunks where processes share cores, at the most */
#define CHUNKS_SHARED ((size_t) 64 * 1024)
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
/** and at the most; after so many, whenever they are sent, the turn counts nothing */
#define TURN_MAX 4096u
/** the part of a pause that is forgotten with each message */
#define PAUSE_FORGOTTEN 512u
/** turns before the first that counts */
#define TURN_FIRST 2u
/** ways: the kernel, or the receiver's memory through buffers */
#define TURN_KERNEL 0u
#define TURN_CHUNKS 1u
/** of a millisecond */
#define NANOSECONDS UINT64_C(1000000)
/** lines that are fetched between two looks for a message */
#define LINES_AT_A_TIME 8u

static inline mca_btl_fastsm_frag_list_t *eager_list(void)
{
    return &mca_btl_fastsm_component.frags[MCA_BTL_FASTSM_FRAG_EAGER];
}

/* ------------------------------------------------------------------------------------------------ lines */

/* Gets the lines of a chunk that is about to be written, all at a time. */
static inline void fetch_lines(const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += MCA_BTL_FASTSM_LINE) {
        fastsm_prefetch_write(from + at);
    }
}

/* A chunk's buffer from the line on that its data begins with. */
static inline char *chunk_data(const mca_btl_fastsm_frag_t *frag)
{
    return (char *) frag->buffer + MCA_BTL_FASTSM_HEADER_BYTES;
}

/* The buffers that the next message of this length will take, if it is to the same peer, are free by now. */
static void ahead_begin(mca_btl_fastsm_ahead_t *ahead)
{
    if (0 != ahead->endpoint->n_in_flight) {
        mca_btl_fastsm_reclaim(ahead->endpoint);
    }
    ahead->buffers = 0;
    ahead->line = 0;
}

/* The buffer to go on with.  Since the last look buffers may have been taken. */
static const mca_btl_fastsm_frag_t *ahead_frag(const mca_btl_fastsm_ahead_t *ahead)
{
    const mca_btl_fastsm_frag_t *frag = eager_list()->free;

    for (uint32_t i = 0; i < ahead->buffers && NULL != frag; ++i) {
        frag = mca_btl_fastsm_frag_next(frag);
    }
    return frag;
}

void mca_btl_fastsm_ahead_run(fastsm_fifo_idle_t *idle, const _Atomic uint32_t *word, uint32_t value)
{
    mca_btl_fastsm_ahead_t *ahead = (mca_btl_fastsm_ahead_t *) idle; /* its first member */
    const uint32_t lines =
        mca_btl_fastsm_layout_chunk(&mca_btl_fastsm_component.layout.params) / MCA_BTL_FASTSM_LINE;
    const mca_btl_fastsm_frag_t *frag;

    if (!ahead->begun) {
        ahead_begin(ahead);
        ahead->begun = true;
    }
    frag = ahead_frag(ahead);
    while (0 < ahead->idle.work && value != atomic_load_explicit(word, memory_order_relaxed)) {
        for (uint32_t i = 0; i < LINES_AT_A_TIME && 0 < ahead->idle.work; ++i) {
            if (NULL == frag) {
                ahead->idle.work = 0;
                return;
            }
            fastsm_prefetch_write(chunk_data(frag) + (size_t) ahead->line * MCA_BTL_FASTSM_LINE);
            --ahead->idle.work;
            if (lines == ++ahead->line) {
                ahead->line = 0;
                ++ahead->buffers;
                frag = mca_btl_fastsm_frag_next(frag);
            }
        }
    }
}

void mca_btl_fastsm_ahead_init(void)
{
    mca_btl_fastsm_component.ahead = (mca_btl_fastsm_ahead_t){.idle = {.run = mca_btl_fastsm_ahead_run}};
}

void mca_btl_fastsm_ahead_forget(const mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_ahead_t *ahead = &mca_btl_fastsm_component.ahead;

    if (endpoint == ahead->endpoint) {
        ahead->endpoint = NULL;
        ahead->idle.work = 0;
    }
}

/* A message of so many bytes has been sent to a peer. */
static inline void ahead_set(mca_btl_fastsm_endpoint_t *endpoint, size_t bytes)
{
    mca_btl_fastsm_ahead_t *ahead = &mca_btl_fastsm_component.ahead;

    ahead->endpoint = endpoint;
    ahead->begun = false;
    ahead->idle.work = (uint32_t) ((bytes + MCA_BTL_FASTSM_LINE - 1) / MCA_BTL_FASTSM_LINE);
}

/* ------------------------------------------------------------------------------------------------- time */

static inline uint32_t chunks_of(size_t bytes, size_t chunk)
{
    return (uint32_t) ((bytes + chunk - 1) / chunk);
}

/* So many bytes have been filled.  Whoever else had the core meanwhile shall not count for long. */
static inline void note_fill(mca_btl_fastsm_endpoint_t *endpoint, size_t bytes, uint64_t ticks)
{
    const uint64_t before = atomic_load_explicit(&endpoint->fill_ticks, memory_order_relaxed);

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
    const uint64_t most = chunk_time(&mca_btl_fastsm_component);
    const uint64_t page = most / PAGE_PART;

    return MCA_BTL_FASTSM_GET_WORKS == endpoint->write_state && !fastsm_pair_refuses(&endpoint->pair)
           && fill > page && (fill - page) * chunks_of(size, FILL_BYTES) > most
           && 0 != atomic_fetch_add_explicit(&endpoint->n_slow, 1, memory_order_relaxed) % SLOW_PROBE;
}

/* Whether chunks are sooner at the peer than what it could read at the same time. */
static bool chunks_are_quick(const mca_btl_fastsm_endpoint_t *endpoint)
{
    const uint64_t fill = atomic_load_explicit(&endpoint->fill_ticks, memory_order_relaxed);

    return 0 < fill && fill < chunk_time(&mca_btl_fastsm_component) / QUICK_PART;
}

/* The first turns begin and end anywhere, and count nothing. */
static void turn_end(mca_btl_fastsm_turns_t *turns, uint64_t now)
{
    if (TURN_MAX > turns->messages && TURN_FIRST < turns->ways.uses) {
        mca_common_fastpath_ways_note(&turns->ways, turns->way, turns->bytes, now - turns->began);
    }
    turns->way = mca_common_fastpath_ways_choose(&turns->ways);
    turns->messages = 0;
    turns->bytes = 0;
    turns->began = now;
}

/* Whether the next message takes chunks.  What counts of a way is the time in which as many messages are sent
 * as have a turn.
 * @param least    messages that a turn has
 * @param may_end  whether the turn ends if it has lasted for so many; it does after very many */
static bool turn_is_chunks(mca_btl_fastsm_turns_t *turns, size_t size, uint64_t now, uint32_t least,
                           bool may_end)
{
    if (0 == turns->ways.uses || (least <= turns->messages && (may_end || TURN_MAX <= turns->messages))) {
        turn_end(turns, now);
    }
    ++turns->messages;
    turns->bytes += size;
    return TURN_CHUNKS == turns->way;
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

/* Whether the peer has all chunks but those of one message. */
static bool is_up_to_date(mca_btl_fastsm_endpoint_t *endpoint, size_t size)
{
    mca_btl_fastsm_reclaim(endpoint);
    return endpoint->n_in_flight
           <= chunks_of(size, mca_btl_fastsm_layout_chunk(&mca_btl_fastsm_component.layout.params));
}

/* In an exchange both sides send as many messages.  So their turns begin and end together if they are of as
 * many, and each measures what it takes if both go the same way; else it would measure a mixture.  Of
 * messages that are sent together a turn ends only when the peer has the ones before, or it would measure how
 * long it takes to send some. */
bool mca_btl_fastsm_exchange_is_slow(mca_btl_base_endpoint_t *endpoint, size_t size, bool alone)
{
    mca_btl_fastsm_turns_t *turns = &endpoint->exchange;
    bool may_end;

    if (MCA_BTL_FASTSM_GET_WORKS != endpoint->write_state || fastsm_pair_refuses(&endpoint->pair)) {
        return false;
    }
    may_end = TURN_EXCHANGED <= turns->messages && alone && is_up_to_date(endpoint, size);
    return !turn_is_chunks(turns, size, mca_common_fastpath_ticks(), TURN_EXCHANGED, may_end);
}

/* --------------------------------------------------------------------------------------------- sending */

/* Refers to one chunk.  There is room.  The endpoint's lock is held. */
static inline void post_chunk(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                              const mca_btl_fastsm_pool_ref_t *reference, mca_btl_base_tag_t tag,
                              uint8_t flags)
{
    mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&endpoint->out, 1);

    fastsm_fifo_describe(head, sizeof(*reference), tag, flags);
    memcpy(head->u.head.data, reference, sizeof(*reference));
    frag->position = endpoint->out.write_pos;
    fastsm_fifo_commit(&endpoint->out, head, 1);
    mca_btl_fastsm_keep(endpoint, frag);
}

/* The first chunk's reference tells the length of all, and its buffer has the header, too, for receivers that
 * want the message in one piece. */
static inline void post_first(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                              const void *header, size_t size, size_t chunk, mca_btl_base_tag_t tag)
{
    mca_btl_fastsm_pool_ref_t reference = {
        .place = mca_btl_fastsm_place(frag->offset, MCA_BTL_FASTSM_HEADER_BYTES + size)};

    memcpy(reference.header, header, sizeof(reference.header));
    memcpy(frag->buffer, header, sizeof(reference.header));
    post_chunk(endpoint, frag, &reference, tag,
               MCA_BTL_FASTSM_SLOT_POOL | (size > chunk ? MCA_BTL_FASTSM_SLOT_CHUNKS : 0));
}

static inline void post_further(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag, size_t size,
                                mca_btl_base_tag_t tag)
{
    const mca_btl_fastsm_pool_ref_t reference = {
        .place = mca_btl_fastsm_place(frag->offset + MCA_BTL_FASTSM_HEADER_BYTES, size)};

    post_chunk(endpoint, frag, &reference, tag, MCA_BTL_FASTSM_SLOT_POOL);
}

/* What is sent: contiguous, or data. */
typedef struct {
    const char *payload;
    const mca_btl_fastsm_data_t *data;
    size_t size; /* bytes */
    size_t chunk;
} source_t;

/* What comes first in a buffer is not measured: that would tell what its pages cost, and not what comes after
 * it. */
static inline void fill_contiguous(mca_btl_fastsm_endpoint_t *endpoint, const mca_btl_fastsm_frag_t *frag,
                                   const source_t *source, size_t done, size_t bytes)
{
    const bool is_long = MCA_COMMON_FASTPATH_COPY_LONG <= bytes && frag->filled >= bytes;
    /* what messages of several chunks take; reading the clock twice is 4 % of a single one */
    const bool noted = is_long && bytes == source->chunk && source->chunk < source->size;
    unsigned way = MCA_COMMON_FASTPATH_BY_LOOP;
    uint64_t begin = 0;
    bool due = false;

    if (is_long) {
        way = mca_common_fastpath_ways_next(&endpoint->fill_ways, &due);
    }
    if (noted || due) {
        begin = mca_common_fastpath_ticks();
    }
    if (MCA_COMMON_FASTPATH_BY_LOOP == way) {
        fetch_lines(chunk_data(frag), bytes);
    }
    mca_common_fastpath_copy_by(way, chunk_data(frag), source->payload + done, bytes);
    if (noted || due) {
        const uint64_t ticks = mca_common_fastpath_ticks() - begin;

        if (due) {
            mca_common_fastpath_ways_note(&endpoint->fill_ways, way, bytes, ticks);
        }
        if (noted) {
            note_fill(endpoint, bytes, ticks);
        }
    }
}

static inline void fill(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                        const source_t *source, size_t done, size_t bytes)
{
    if (OPAL_LIKELY(NULL == source->data)) {
        fill_contiguous(endpoint, frag, source, done, bytes);
    } else {
        fetch_lines(chunk_data(frag), bytes);
        source->data->move(source->data->context, chunk_data(frag), done, bytes);
    }
    frag->filled = frag->filled < bytes ? bytes : frag->filled;
}

static inline bool has_room(mca_btl_fastsm_endpoint_t *endpoint, uint32_t chunks)
{
    return 0 == endpoint->out.n_pending
           && (fastsm_fifo_room(&endpoint->out, chunks)
               || (NULL == endpoint->dynamic && mca_btl_fastsm_fifo_open(endpoint)
                   && fastsm_fifo_room(&endpoint->out, chunks)));
}

/* Refers to one chunk after the other; fills them before, if they are not filled yet. */
static inline void send_each(mca_btl_fastsm_endpoint_t *endpoint, const void *header, const source_t *source,
                             mca_btl_base_tag_t tag, mca_btl_fastsm_frag_t *frag, bool filled)
{
    size_t done = 0;

    do {
        mca_btl_fastsm_frag_t *next = mca_btl_fastsm_frag_next(frag); /* before it is on another list */
        const size_t bytes = mca_btl_fastsm_smaller(source->size - done, source->chunk);

        if (!filled) {
            fastsm_fifo_fetch_next(&endpoint->out); /* it comes while the chunk is filled */
            fill(endpoint, frag, source, done, bytes);
        }
        if (0 == done) {
            post_first(endpoint, frag, header, source->size, source->chunk, tag);
        } else {
            post_further(endpoint, frag, bytes, tag);
        }
        done += bytes;
        frag = next;
    } while (done < source->size);
}

/* With threads the endpoint is locked when all are filled. */
static bool send_filled(mca_btl_fastsm_endpoint_t *endpoint, void *header, const source_t *source,
                        mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp, mca_btl_fastsm_frag_t *frag)
{
    mca_btl_fastsm_frag_t *one = frag;
    bool sent;

    for (size_t done = 0; done < source->size; done += source->chunk, one = mca_btl_fastsm_frag_next(one)) {
        fill(endpoint, one, source, done, mca_btl_fastsm_smaller(source->size - done, source->chunk));
    }
    mca_common_fastpath_lock(&endpoint->out.lock);
    sent = has_room(endpoint, chunks_of(source->size, source->chunk));
    if (OPAL_LIKELY(sent)) {
        mca_btl_fastsm_stamp(stamp, header);
        send_each(endpoint, header, source, tag, frag, true);
    }
    mca_common_fastpath_unlock(&endpoint->out.lock);
    return sent;
}

/* Whether the peer had better read a message itself where processes share cores.  It has none now.  When it
 * has one, a message that is long, or one of many, has left the caches: so buffers are used as long as there
 * are few. */
static __opal_attribute_noinline__ bool had_better_read_shared(uint32_t chunks, size_t size)
{
    return CHUNKS_SHARED < size || !mca_btl_fastsm_frags_few(chunks);
}

/* Whether the peer had better read a long message itself, if it can, and so copy it once, because it is the
 * slower one in a stream of messages, which take longer in chunks: it has not read the last one yet and has
 * not answered it either.  Where messages go to and fro, or both ways at once, one of them may be unread.
 * With threads streams are not measured, but what filling a chunk takes is. */
static bool had_better_read(mca_btl_fastsm_endpoint_t *endpoint, uint32_t chunks, size_t size)
{
    uint32_t most;

    if (1 == chunks || OPAL_UNLIKELY(fastsm_pair_refuses(&endpoint->pair))) {
        return false;
    }
    if (opal_progress_yield_when_idle) {
        return had_better_read_shared(chunks, size);
    }
    if (size <= CHUNKS_ANYWAY || 0 == endpoint->n_in_flight) {
        return false;
    }
    mca_btl_fastsm_lock(endpoint);
    mca_btl_fastsm_reclaim(endpoint);
    most = endpoint->answered == endpoint->in.read_pos ? 0 : chunks;
    mca_btl_fastsm_unlock(endpoint);
    return most < endpoint->n_in_flight
           && !(OPAL_UNLIKELY(opal_using_threads())
                    ? chunks_are_quick(endpoint)
                    : stream_is_chunks(&endpoint->stream, size, mca_common_fastpath_ticks()));
}

int mca_btl_fastsm_sendi_chunks(mca_btl_fastsm_endpoint_t *endpoint, void *header, const void *payload,
                                const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                                mca_btl_fastsm_stamp_t *stamp)
{
    const source_t source = {.payload = (const char *) payload,
                             .data = data,
                             .size = size,
                             .chunk = mca_btl_fastsm_layout_chunk(&mca_btl_fastsm_component.layout.params)};
    const uint32_t chunks = chunks_of(size, source.chunk);
    const bool threads = opal_using_threads();
    mca_btl_fastsm_frag_t *frag;

    if (OPAL_UNLIKELY(chunks > mca_btl_fastsm_component.chunks_max || had_better_read(endpoint, chunks, size)
                      || (!threads && !has_room(endpoint, chunks)))) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    frag = mca_btl_fastsm_frags_take(endpoint, chunks);
    if (OPAL_UNLIKELY(NULL == frag)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    endpoint->answered = endpoint->in.read_pos; /* a hint: another thread may consume */
    if (OPAL_LIKELY(!threads)) {
        mca_btl_fastsm_stamp(stamp, header);
        send_each(endpoint, header, &source, tag, frag, false);
        ahead_set(endpoint, size);
    } else if (!send_filled(endpoint, header, &source, tag, stamp, frag)) {
        mca_btl_fastsm_frags_put_back(frag, chunks);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return OPAL_SUCCESS;
}

int mca_btl_fastsm_sendi_data(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                              const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                              mca_btl_fastsm_stamp_t *stamp)
{
    uint64_t header[] = {word0, word1};

    return mca_btl_fastsm_sendi_chunks(endpoint, header, NULL, data, size, tag, stamp);
}

/* ------------------------------------------------------------------------------------------- receiving */

uint32_t mca_btl_fastsm_view_chunks(const mca_btl_fastsm_endpoint_t *endpoint, size_t length)
{
    const size_t chunk = mca_btl_fastsm_layout_chunk(&endpoint->layout.params);
    const size_t size = length - MCA_BTL_FASTSM_HEADER_BYTES; /* of less than that: very much */

    return chunk < size && size <= chunk * MCA_BTL_FASTSM_CHUNKS_MAX && size <= chunk * endpoint->in.depth
               ? chunks_of(size, chunk)
               : 0;
}

/* The reference of a message's further chunk `index`, if it has come.  In a second half that says its word
 * only if the chunk before it is known to be there. */
static const mca_btl_fastsm_slot_t *chunk_slot(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t index)
{
    const fastsm_fifo_receiver_t *in = &endpoint->in;
    const uint32_t pos = in->read_pos + index;
    mca_btl_fastsm_slot_t *slot = fastsm_fifo_slot(in->slots, in->depth, pos);

    return fastsm_load_head_sequence(slot) == pos + 1 ? slot : NULL;
}

bool mca_btl_fastsm_chunks_are_here(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t chunks)
{
    const uint32_t last = chunks - 1;

    /* the word of a second half may be a user's data until the half before it is there */
    return (0 == ((endpoint->in.read_pos + last) & 1) || NULL != chunk_slot(endpoint, last - 1))
           && NULL != chunk_slot(endpoint, last);
}

const char *mca_btl_fastsm_chunk(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t index, size_t bytes)
{
    const mca_btl_fastsm_slot_t *slot = chunk_slot(endpoint, index);
    const char *data;
    uint64_t place;

    for (uint32_t looks = CHUNK_LOOKS; NULL == slot; slot = chunk_slot(endpoint, index)) {
        if (0 == --looks) {
            return NULL;
        }
        mca_common_fastpath_relax();
    }
    data = mca_btl_fastsm_referenced(endpoint, slot->u.head.data, &place, SIZE_MAX);
    return MCA_BTL_FASTSM_SLOT_POOL == fastsm_slot_head(slot).flags
                   && bytes == mca_btl_fastsm_place_length(place)
               ? data
               : NULL;
}

/* A receiver's memory: contiguous, or data. */
static inline void move_in(mca_btl_fastsm_endpoint_t *endpoint, void *to, const mca_btl_fastsm_data_t *data,
                           const char *from, size_t offset, size_t bytes)
{
    if (OPAL_LIKELY(NULL == data)) {
        mca_common_fastpath_ways_copy(&endpoint->take_ways, (char *) to + offset, from, bytes);
    } else {
        data->move(data->context, (void *) (uintptr_t) from, offset, bytes);
    }
}

/* Waits for all chunks; false: one does not come soon, or makes no sense. */
static bool all_come(const mca_btl_fastsm_view_t *view, size_t chunk, size_t size)
{
    for (uint32_t i = 1; i < view->halves; ++i) {
        if (NULL
            == mca_btl_fastsm_chunk(view->endpoint, i, mca_btl_fastsm_smaller(size - i * chunk, chunk))) {
            return false;
        }
    }
    return true;
}

bool mca_btl_fastsm_move_chunks(const mca_btl_fastsm_view_t *view, void *to,
                                const mca_btl_fastsm_data_t *data, size_t length, bool undecided)
{
    mca_btl_fastsm_endpoint_t *endpoint = view->endpoint;
    const size_t chunk = mca_btl_fastsm_layout_chunk(&endpoint->layout.params);
    const size_t size = view->length - MCA_BTL_FASTSM_HEADER_BYTES;
    size_t done = mca_btl_fastsm_smaller(length, chunk);

    /* the caller hands all halves back, also of chunks that find no room: none may still be written */
    if ((undecided || length < size) && !all_come(view, chunk, size)) {
        return false;
    }
    if (0 < done) {
        move_in(endpoint, to, data, view->data + MCA_BTL_FASTSM_HEADER_BYTES, 0, done);
    }
    for (uint32_t i = 1; done < length; ++i) {
        const char *from = mca_btl_fastsm_chunk(endpoint, i, mca_btl_fastsm_smaller(size - i * chunk, chunk));
        const size_t bytes = mca_btl_fastsm_smaller(length - done, chunk);

        if (OPAL_UNLIKELY(NULL == from)) {
            return false;
        }
        move_in(endpoint, to, data, from, done, bytes);
        done += bytes;
    }
    return true;
}
