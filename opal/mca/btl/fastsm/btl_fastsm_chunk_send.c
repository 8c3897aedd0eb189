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
 * buffer after the other, and refers to each as soon as it is full, so that the receiver copies the first
 * chunk while the second is being written.  The references lie one behind the other: nothing else is sent to
 * this peer in between.  With several threads all buffers are filled before the first reference is written,
 * because the lock that keeps others from the FIFO is not held while a user's memory is touched.
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

/* Gets the lines of a chunk that is about to be written, all at a time. */
static inline void fetch_lines(const char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += MCA_BTL_FASTSM_LINE) {
        fastsm_prefetch_write(from + at);
    }
}

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
    unsigned way; /* of what is not measured */
} source_t;

/* Whether a message in one buffer is too short for its filling to be measured, but not to take turns. */
static inline bool is_single(const source_t *source)
{
    return NULL == source->data && MCA_COMMON_FASTPATH_COPY_LONG <= source->size
           && MCA_COMMON_FASTPATH_COPY_MEASURED > source->size && source->chunk >= source->size;
}

/* What comes first in a buffer is not measured: that would tell what its pages cost, and not what comes after
 * it. */
static inline void fill_contiguous(mca_btl_fastsm_endpoint_t *endpoint, const mca_btl_fastsm_frag_t *frag,
                                   const source_t *source, size_t done, size_t bytes)
{
    const size_t least =
        bytes < source->size ? MCA_COMMON_FASTPATH_COPY_LONG : MCA_COMMON_FASTPATH_COPY_MEASURED;
    const bool is_long = least <= bytes && frag->filled >= bytes;
    /* what messages of several chunks take; reading the clock twice is 4 % of a single one */
    const bool noted = is_long && bytes == source->chunk && source->chunk < source->size;
    unsigned way = source->way;
    uint64_t begin = 0;
    bool due = false;

    if (is_long) {
        way = mca_common_fastpath_ways_next(&endpoint->fill_ways, &due);
    }
    if (noted || due) {
        begin = mca_common_fastpath_ticks();
    }
    if (MCA_COMMON_FASTPATH_BY_LOOP == way) {
        fetch_lines(mca_btl_fastsm_chunk_data(frag), bytes);
    }
    mca_common_fastpath_copy_by(way, mca_btl_fastsm_chunk_data(frag), source->payload + done, bytes);
    if (noted || due) {
        const uint64_t ticks = mca_common_fastpath_ticks() - begin;

        if (due) {
            mca_common_fastpath_ways_note_copy(&endpoint->fill_ways, way, bytes, ticks);
        }
        if (noted) {
            mca_btl_fastsm_note_fill(endpoint, bytes, ticks);
        }
    }
}

static inline void fill(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                        const source_t *source, size_t done, size_t bytes)
{
    if (OPAL_LIKELY(NULL == source->data)) {
        fill_contiguous(endpoint, frag, source, done, bytes);
    } else {
        fetch_lines(mca_btl_fastsm_chunk_data(frag), bytes);
        source->data->move(source->data->context, mca_btl_fastsm_chunk_data(frag), done, bytes);
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
    sent = has_room(endpoint, mca_btl_fastsm_chunks_of(source->size, source->chunk));
    if (OPAL_LIKELY(sent)) {
        mca_btl_fastsm_stamp(stamp, header);
        send_each(endpoint, header, source, tag, frag, true);
    }
    mca_common_fastpath_unlock(&endpoint->out.lock);
    return sent;
}

int mca_btl_fastsm_sendi_chunks(mca_btl_fastsm_endpoint_t *endpoint, void *header, const void *payload,
                                const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                                mca_btl_fastsm_stamp_t *stamp)
{
    source_t source = {.payload = (const char *) payload,
                       .data = data,
                       .size = size,
                       .chunk = mca_btl_fastsm_chunk_size(),
                       .way = MCA_COMMON_FASTPATH_BY_LOOP};
    const uint32_t chunks = mca_btl_fastsm_chunks_of(size, source.chunk);
    const bool threads = opal_using_threads();
    mca_btl_fastsm_frag_t *frag;

    if (OPAL_UNLIKELY(chunks > mca_btl_fastsm_component.chunks_max
                      || (1 < chunks && mca_btl_fastsm_had_better_read(endpoint, chunks, size))
                      || (!threads && !has_room(endpoint, chunks)))) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    frag = mca_btl_fastsm_frags_take(endpoint, chunks,
                                     MCA_BTL_FASTSM_HEADER_BYTES + size - (chunks - 1) * source.chunk);
    if (OPAL_UNLIKELY(NULL == frag)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (is_single(&source) && !threads) {
        source.way = mca_btl_fastsm_stream_way(endpoint, size);
    }
    endpoint->answered = endpoint->in.read_pos; /* a hint: another thread may consume */
    if (OPAL_LIKELY(!threads)) {
        mca_btl_fastsm_stamp(stamp, header);
        send_each(endpoint, header, &source, tag, frag, false);
        mca_btl_fastsm_ahead_set(endpoint, size);
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
