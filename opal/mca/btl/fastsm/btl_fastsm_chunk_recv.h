/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Receiving messages in eager buffers.
 */
#ifndef MCA_BTL_FASTSM_CHUNK_RECV_H
#define MCA_BTL_FASTSM_CHUNK_RECV_H

#include "btl_fastsm.h"

/** Bytes of the first chunk of a message from a peer, of which a mca_btl_fastsm_split() has come. */
static inline size_t mca_btl_fastsm_first_chunk(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t split)
{
    return (size_t) mca_btl_fastsm_split_width(split) * mca_btl_fastsm_layout_chunk(&endpoint->layout.params);
}

/** Chunks of such a message of so many bytes, 2 or more; 0: none can be split so. */
uint32_t mca_btl_fastsm_view_chunks(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t split, size_t length);
/** Whether all chunks of the message at the consumer's position have come. */
bool mca_btl_fastsm_chunks_are_here(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t chunks);
/**
 * A further chunk of the message at the consumer's position.
 *
 * @param index  1 for the second one
 * @param most   bytes that it can have
 * @param bytes  receives how many it has; 0 if it has not come
 * @return       its data, or NULL: it has not come, or makes no sense
 */
const char *mca_btl_fastsm_chunk(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t index, size_t most,
                                 size_t *bytes);
/** The extension's move (btl_fastsm_ext.h) for a message in chunks. */
bool mca_btl_fastsm_move_chunks(const mca_btl_fastsm_view_t *view, void *to,
                                const mca_btl_fastsm_data_t *data, size_t length, bool undecided);

#endif /* MCA_BTL_FASTSM_CHUNK_RECV_H */
