/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Receiving messages in eager buffers: chunk by chunk, while their sender fills the next one.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_chunk.h"
#include "btl_fastsm_chunk_recv.h"

/** how often to look for a chunk of so many bytes whose first one is there: its sender is copying it */
#define CHUNK_LOOKS       1000u
#define CHUNK_LOOKS_BYTES ((size_t) 8 * 1024)

uint32_t mca_btl_fastsm_view_chunks(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t split, size_t length)
{
    const uint32_t chunks = mca_btl_fastsm_split_chunks(split);
    const size_t each = mca_btl_fastsm_layout_chunk(&endpoint->layout.params);
    const size_t first = mca_btl_fastsm_first_chunk(endpoint, split);
    const size_t size = length - MCA_BTL_FASTSM_HEADER_BYTES; /* of less than that: very much */

    return 0 < first && first < size && size <= MCA_BTL_FASTSM_CHUNKS_MAX * each && 2 <= chunks
                   && chunks - 1 <= mca_btl_fastsm_buffers_of(size - first, each)
                   && chunks <= endpoint->in.depth
               ? chunks
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

const char *mca_btl_fastsm_chunk(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t index, size_t most,
                                 size_t *bytes)
{
    const mca_btl_fastsm_slot_t *slot = chunk_slot(endpoint, index);
    const char *data;
    uint64_t place;

    *bytes = 0;
    if (OPAL_UNLIKELY(NULL == slot || MCA_BTL_FASTSM_SLOT_POOL != fastsm_slot_head(slot).flags)) {
        return NULL;
    }
    data = mca_btl_fastsm_referenced(endpoint, slot->u.head.data, &place, SIZE_MAX);
    *bytes = mca_btl_fastsm_place_length(place);
    return 0 < *bytes && *bytes <= most ? data : NULL;
}

/* Waits for a further chunk, for as long as one like the first may take. @return as mca_btl_fastsm_chunk() */
static const char *await_chunk(const mca_btl_fastsm_view_t *view, uint32_t index, size_t most, size_t *bytes)
{
    uint32_t looks = CHUNK_LOOKS * mca_btl_fastsm_buffers_of(view->chunk, CHUNK_LOOKS_BYTES);

    while (0 < looks && NULL == chunk_slot(view->endpoint, index)) {
        mca_common_fastpath_relax();
        --looks;
    }
    return mca_btl_fastsm_chunk(view->endpoint, index, most, bytes);
}

/* A receiver's memory: contiguous, or data. */
static inline void move_in(mca_btl_fastsm_endpoint_t *endpoint, void *to, const mca_btl_fastsm_data_t *data,
                           const char *from, size_t offset, size_t bytes)
{
    if (OPAL_LIKELY(NULL == data)) {
        mca_common_fastpath_ways_copy(&endpoint->take_ways, MCA_COMMON_FASTPATH_TAKE_WAYS,
                                      (char *) to + offset, from, bytes);
    } else {
        data->move(data->context, (void *) (uintptr_t) from, offset, bytes);
    }
}

/* Waits for all chunks; false: one does not come soon, or makes no sense. */
static bool all_come(const mca_btl_fastsm_view_t *view, size_t size)
{
    size_t done = view->chunk, bytes;

    for (uint32_t i = 1; i < view->halves; ++i, done += bytes) {
        if (NULL == await_chunk(view, i, size - done, &bytes)) {
            return false;
        }
    }
    return size == done;
}

bool mca_btl_fastsm_move_chunks(const mca_btl_fastsm_view_t *view, void *to,
                                const mca_btl_fastsm_data_t *data, size_t length, bool undecided)
{
    mca_btl_fastsm_endpoint_t *endpoint = view->endpoint;
    const size_t size = view->length - MCA_BTL_FASTSM_HEADER_BYTES;
    size_t done = mca_btl_fastsm_smaller(length, view->chunk);
    uint32_t i;

    /* the caller hands all halves back, also of chunks that find no room: none may still be written */
    if ((undecided || length < size) && !all_come(view, size)) {
        return false;
    }
    if (0 < done) {
        move_in(endpoint, to, data, view->data + MCA_BTL_FASTSM_HEADER_BYTES, 0, done);
    }
    for (i = 1; done < length && i < view->halves; ++i) {
        size_t bytes;
        const char *from = await_chunk(view, i, size - done, &bytes);

        if (OPAL_UNLIKELY(NULL == from)) {
            return false;
        }
        bytes = mca_btl_fastsm_smaller(length - done, bytes);
        move_in(endpoint, to, data, from, done, bytes);
        done += bytes;
    }
    return length == done && (length < size || view->halves == i);
}
