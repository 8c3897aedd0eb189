/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Sending messages in eager buffers, one or several.
 *
 * The sender takes all buffers and all halves of slots that the message needs, or none.  Then it fills one
 * chunk after the other, of one buffer or of several that lie side by side, and refers to each as soon as it
 * is full, so that the receiver copies the first one while the second is being written.  The references lie
 * one behind the other: nothing else is sent to this peer in between.  With several threads all buffers are
 * filled before the first reference is written, because the lock that keeps others from the FIFO is not held
 * while a user's memory is touched.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_ahead.h"
#include "btl_fastsm_chunk.h"
#include "btl_fastsm_chunk_send.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_frag.h"
#include "btl_fastsm_room.h"
#include "btl_fastsm_turns.h"

/** bytes of a chunk that is filled by the instruction: half of the message, but at least and at most these */
#define WIDE_MIN ((size_t) 16 * 1024)
#define WIDE_MAX ((size_t) 32 * 1024)

/* Gets the lines of a chunk that is about to be written, all at a time. */
static inline void fetch_lines(const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += MCA_BTL_FASTSM_LINE) {
        fastsm_prefetch_write(from + at);
    }
}

/* What is sent: contiguous, or data. */
typedef struct {
    const char *payload;
    const mca_btl_fastsm_data_t *data;
    size_t size;     /* bytes */
    size_t each;     /* bytes of a buffer */
    uint32_t widest; /* buffers that a chunk has at the most; 0 is 1, too */
    unsigned way;    /* of what is not measured */
} source_t;

/* A part of it. */
typedef struct {
    mca_btl_fastsm_frag_t *first;  /* of its buffers, which lie side by side */
    mca_btl_fastsm_frag_t *behind; /* the first of the next chunk; NULL: it is the last one */
    uint32_t width;                /* buffers */
    size_t done;                   /* bytes before it */
    size_t bytes;
} chunk_t;

/* The chunk that begins with a buffer: as many as lie side by side, up to the widest. */
static inline chunk_t chunk_at(const source_t *source, mca_btl_fastsm_frag_t *first, size_t done)
{
    const uint64_t stride = mca_btl_fastsm_component.layout.params.eager_size;
    mca_btl_fastsm_frag_t *behind = mca_btl_fastsm_frag_next(first);
    uint32_t width = 1;

    while (width < source->widest && NULL != behind && first->offset + width * stride == behind->offset) {
        behind = mca_btl_fastsm_frag_next(behind);
        ++width;
    }
    return (chunk_t){.first = first,
                     .behind = behind,
                     .width = width,
                     .done = done,
                     .bytes = mca_btl_fastsm_smaller(source->size - done, width * source->each)};
}

/* The next one. */
static inline chunk_t chunk_behind(const source_t *source, const chunk_t *chunk)
{
    return chunk_at(source, chunk->behind, chunk->done + chunk->bytes);
}

/* Chunks from this one to the last. */
static inline uint32_t count_chunks(const source_t *source, const chunk_t *first)
{
    chunk_t chunk = *first;
    uint32_t count = 1;

    for (; NULL != chunk.behind; ++count) {
        chunk = chunk_behind(source, &chunk);
    }
    return count;
}

/* Refers to one chunk.  There is room.  The endpoint's lock is held. */
static inline void post_chunk(mca_btl_fastsm_endpoint_t *endpoint, const chunk_t *chunk,
                              const mca_btl_fastsm_pool_ref_t *reference, size_t length,
                              mca_btl_base_tag_t tag, uint8_t flags)
{
    mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&endpoint->out, 1);
    mca_btl_fastsm_frag_t *frag = chunk->first, *next;
    const uint32_t position = endpoint->out.write_pos;

    fastsm_fifo_describe(head, length, tag, flags);
    memcpy(head->u.head.data, reference, sizeof(*reference));
    fastsm_fifo_commit(&endpoint->out, head, 1);
    do {
        next = mca_btl_fastsm_frag_next(frag); /* before it is on another list */
        frag->position = position;
        mca_btl_fastsm_keep(endpoint, frag);
        frag = next;
    } while (chunk->behind != frag);
}

/* The first chunk's buffer has the header, too, for receivers that want the message in one piece. */
static inline void post_first(mca_btl_fastsm_endpoint_t *endpoint, const chunk_t *chunk, const void *header,
                              const source_t *source, mca_btl_base_tag_t tag)
{
    const uint32_t chunks = count_chunks(source, chunk);
    mca_btl_fastsm_pool_ref_t reference = {
        .place = mca_btl_fastsm_place(chunk->first->offset, MCA_BTL_FASTSM_HEADER_BYTES + source->size)};

    memcpy(reference.header, header, sizeof(reference.header));
    memcpy(chunk->first->buffer, header, sizeof(reference.header));
    if (1 == chunks) {
        post_chunk(endpoint, chunk, &reference, sizeof(reference), tag, MCA_BTL_FASTSM_SLOT_POOL);
    } else {
        post_chunk(endpoint, chunk, &reference, mca_btl_fastsm_split(chunks, chunk->width), tag,
                   MCA_BTL_FASTSM_SLOT_POOL | MCA_BTL_FASTSM_SLOT_CHUNKS);
    }
}

static inline void post_further(mca_btl_fastsm_endpoint_t *endpoint, const chunk_t *chunk,
                                mca_btl_base_tag_t tag)
{
    const mca_btl_fastsm_pool_ref_t reference = {
        .place = mca_btl_fastsm_place(chunk->first->offset + MCA_BTL_FASTSM_HEADER_BYTES, chunk->bytes)};

    post_chunk(endpoint, chunk, &reference, sizeof(reference), tag, MCA_BTL_FASTSM_SLOT_POOL);
}

/* Whether a message in one buffer is too short for its filling to be measured, but not to take turns. */
static inline bool is_single(const source_t *source)
{
    return NULL == source->data && MCA_COMMON_FASTPATH_COPY_LONG <= source->size
           && MCA_COMMON_FASTPATH_COPY_MEASURED > source->size && source->each >= source->size;
}

/* Whether the buffers of a chunk have had as many bytes before. */
static inline bool were_filled(const source_t *source, const chunk_t *chunk)
{
    const mca_btl_fastsm_frag_t *frag = chunk->first;
    size_t bytes = chunk->bytes;

    for (; source->each < bytes && source->each <= frag->filled; bytes -= source->each) {
        frag = mca_btl_fastsm_frag_next(frag);
    }
    return bytes <= frag->filled;
}

/* They have now. */
static inline void note_filled(const source_t *source, const chunk_t *chunk)
{
    mca_btl_fastsm_frag_t *frag = chunk->first;
    size_t bytes = chunk->bytes;

    for (; source->each < bytes; bytes -= source->each, frag = mca_btl_fastsm_frag_next(frag)) {
        frag->filled = source->each;
    }
    frag->filled = frag->filled < bytes ? bytes : frag->filled;
}

/* Whether what filling a chunk that way takes tells what others will take: not as long as ways are tried, or
 * if another one is tried now. One that is not due has the best way. Reading the clock twice is 4 % of a
 * message in a single buffer. */
static inline bool counts(mca_btl_fastsm_endpoint_t *endpoint, const source_t *source, size_t bytes,
                          unsigned way, bool due)
{
    return bytes >= source->each && source->each < source->size
           && (!due
               || (mca_common_fastpath_ways_are_known(&endpoint->fill_ways, MCA_COMMON_FASTPATH_FILL_WAYS)
                   && way == mca_common_fastpath_ways_best(&endpoint->fill_ways)));
}

/* What comes first in a buffer is not measured: that would tell what its pages cost, and not what comes after
 * it. */
static inline void fill_contiguous(mca_btl_fastsm_endpoint_t *endpoint, const source_t *source,
                                   const chunk_t *chunk)
{
    const size_t bytes = chunk->bytes;
    const size_t least =
        bytes < source->size ? MCA_COMMON_FASTPATH_COPY_LONG : MCA_COMMON_FASTPATH_COPY_MEASURED;
    const bool is_long = least <= bytes && were_filled(source, chunk);
    unsigned way = source->way;
    bool due = false, noted = false;
    uint64_t begin = 0;

    if (is_long) {
        way = mca_common_fastpath_ways_next(&endpoint->fill_ways, MCA_COMMON_FASTPATH_FILL_WAYS, &due);
        noted = counts(endpoint, source, bytes, way, due);
    }
    if (noted || due) {
        begin = mca_common_fastpath_ticks();
    }
    if (MCA_COMMON_FASTPATH_BY_LOOP == way) {
        fetch_lines(mca_btl_fastsm_chunk_data(chunk->first), bytes);
    }
    mca_common_fastpath_copy_by(way, mca_btl_fastsm_chunk_data(chunk->first), source->payload + chunk->done,
                                bytes);
    if (noted || due) {
        const uint64_t ticks = mca_common_fastpath_ticks() - begin;

        if (due) { /* with all of them the luckiest one would count: windows of 32 KiB took twice as long */
            mca_common_fastpath_ways_note_copy(&endpoint->fill_ways, way, bytes, ticks);
        }
        if (noted) {
            mca_btl_fastsm_note_fill(endpoint, way, bytes, ticks);
        }
    }
}

static inline void fill(mca_btl_fastsm_endpoint_t *endpoint, const source_t *source, const chunk_t *chunk)
{
    if (OPAL_LIKELY(NULL == source->data)) {
        fill_contiguous(endpoint, source, chunk);
    } else {
        fetch_lines(mca_btl_fastsm_chunk_data(chunk->first), chunk->bytes);
        source->data->move(source->data->context, mca_btl_fastsm_chunk_data(chunk->first), chunk->done,
                           chunk->bytes);
    }
    note_filled(source, chunk);
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
                             mca_btl_base_tag_t tag, chunk_t chunk, bool filled)
{
    for (;;) {
        if (!filled) {
            fastsm_fifo_fetch_next(&endpoint->out); /* it comes while the chunk is filled */
            fill(endpoint, source, &chunk);
        }
        if (0 == chunk.done) {
            post_first(endpoint, &chunk, header, source, tag);
        } else {
            post_further(endpoint, &chunk, tag);
        }
        if (NULL == chunk.behind) {
            return;
        }
        chunk = chunk_behind(source, &chunk);
    }
}

/* With threads the endpoint is locked when all are filled. */
static bool send_filled(mca_btl_fastsm_endpoint_t *endpoint, void *header, const source_t *source,
                        mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp, chunk_t first)
{
    chunk_t chunk = first;
    bool sent;

    fill(endpoint, source, &chunk);
    while (NULL != chunk.behind) {
        chunk = chunk_behind(source, &chunk);
        fill(endpoint, source, &chunk);
    }
    mca_common_fastpath_lock(&endpoint->out.lock);
    sent = has_room(endpoint, mca_btl_fastsm_buffers_of(source->size, source->each));
    if (OPAL_LIKELY(sent)) {
        mca_btl_fastsm_stamp(stamp, header);
        send_each(endpoint, header, source, tag, first, true);
    }
    mca_common_fastpath_unlock(&endpoint->out.lock);
    return sent;
}

/* Buffers of a chunk that is filled by the instruction, which is the sooner the more it copies at a time. */
static inline uint32_t usual_width(const source_t *source)
{
    const size_t half = (mca_btl_fastsm_buffers_of(source->size, source->each) + 1) / 2 * source->each;
    const size_t bytes = WIDE_MIN > half ? WIDE_MIN : mca_btl_fastsm_smaller(half, WIDE_MAX);

    return (uint32_t) (bytes / source->each);
}

/* With a loop the width makes no difference. */
static inline uint32_t widest(mca_btl_fastsm_endpoint_t *endpoint, const source_t *source)
{
    const size_t most = mca_btl_fastsm_component.chunk_max;

    if (NULL != source->data || source->each >= source->size) {
        return 1;
    }
    if (OPAL_UNLIKELY(0 != most)) {
        return (uint32_t) (most / source->each);
    }
    return MCA_COMMON_FASTPATH_COPY_MEASURED <= source->size
                   && MCA_COMMON_FASTPATH_BY_STRING == mca_common_fastpath_ways_best(&endpoint->fill_ways)
               ? usual_width(source)
               : 1;
}

int mca_btl_fastsm_sendi_chunks(mca_btl_fastsm_endpoint_t *endpoint, void *header, const void *payload,
                                const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                                mca_btl_fastsm_stamp_t *stamp)
{
    source_t source = {.payload = (const char *) payload,
                       .data = data,
                       .size = size,
                       .each = mca_btl_fastsm_buffer_bytes(),
                       .way = MCA_COMMON_FASTPATH_BY_LOOP};
    const uint32_t buffers = mca_btl_fastsm_buffers_of(size, source.each);
    const bool threads = opal_using_threads();
    mca_btl_fastsm_frag_t *frag;

    if (OPAL_UNLIKELY(buffers > mca_btl_fastsm_component.chunks_max
                      || (1 < buffers && mca_btl_fastsm_had_better_read(endpoint, buffers, size))
                      || (!threads && !has_room(endpoint, buffers)))) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    frag = mca_btl_fastsm_frags_take(endpoint, buffers,
                                     MCA_BTL_FASTSM_HEADER_BYTES + size - (buffers - 1) * source.each);
    if (OPAL_UNLIKELY(NULL == frag)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (is_single(&source) && !threads) {
        source.way = mca_btl_fastsm_stream_way(endpoint, size);
    }
    source.widest = widest(endpoint, &source);
    endpoint->answered = endpoint->in.read_pos; /* a hint: another thread may consume */
    if (OPAL_LIKELY(!threads)) {
        mca_btl_fastsm_stamp(stamp, header);
        send_each(endpoint, header, &source, tag, chunk_at(&source, frag, 0), false);
        mca_btl_fastsm_ahead_set(endpoint, size);
    } else if (!send_filled(endpoint, header, &source, tag, stamp, chunk_at(&source, frag, 0))) {
        mca_btl_fastsm_frags_put_back(frag, buffers);
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
