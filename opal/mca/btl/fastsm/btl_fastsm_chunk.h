/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Messages in eager buffers, one or several: a chunk is what one of them holds.
 */
#ifndef MCA_BTL_FASTSM_CHUNK_H
#define MCA_BTL_FASTSM_CHUNK_H

#include "btl_fastsm.h"

/**
 * Sends a message in one or several eager buffers, at once and completely, or not at all.
 *
 * @param header   MCA_BTL_FASTSM_HEADER_BYTES of it; stamped
 * @param payload  contiguous; or NULL
 * @param data     takes its place then
 * @param size     bytes, more than 0
 * @param stamp    or NULL
 * @return         OPAL_SUCCESS or OPAL_ERR_OUT_OF_RESOURCE
 */
int mca_btl_fastsm_sendi_chunks(mca_btl_fastsm_endpoint_t *endpoint, void *header, const void *payload,
                                const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                                mca_btl_fastsm_stamp_t *stamp);

/** The extension's chunks_are_slow (btl_fastsm_ext.h). */
bool mca_btl_fastsm_chunks_are_slow(mca_btl_base_endpoint_t *endpoint, size_t size);

/** The extension's exchange_is_slow (btl_fastsm_ext.h). */
bool mca_btl_fastsm_exchange_is_slow(mca_btl_base_endpoint_t *endpoint, size_t size, bool alone);

/** The extension's sendi_data (btl_fastsm_ext.h). */
int mca_btl_fastsm_sendi_data(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                              const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                              mca_btl_fastsm_stamp_t *stamp);
/** Fetches lines of the next buffers until a message has come: mca_btl_fastsm_ahead_t. */
void mca_btl_fastsm_ahead_run(fastsm_fifo_idle_t *idle, const _Atomic uint32_t *word, uint32_t value);
/** No message has been sent in buffers yet. */
void mca_btl_fastsm_ahead_init(void);
/** There will be no message to this peer. */
void mca_btl_fastsm_ahead_forget(const mca_btl_fastsm_endpoint_t *endpoint);

/** Chunks of a message of so many bytes from a peer, 2 or more; 0: none can be that long, or short. */
uint32_t mca_btl_fastsm_view_chunks(const mca_btl_fastsm_endpoint_t *endpoint, size_t length);
/** Whether all chunks of the message at the consumer's position have come. */
bool mca_btl_fastsm_chunks_are_here(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t chunks);
/**
 * Waits for a further chunk of the message at the consumer's position.
 *
 * @param index  1 for the second one
 * @param bytes  that it has to have
 * @return       its data, or NULL: it does not come soon, or makes no sense
 */
const char *mca_btl_fastsm_chunk(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t index, size_t bytes);
/** The extension's move (btl_fastsm_ext.h) for a message in chunks. */
bool mca_btl_fastsm_move_chunks(const mca_btl_fastsm_view_t *view, void *to,
                                const mca_btl_fastsm_data_t *data, size_t length, bool undecided);

#endif /* MCA_BTL_FASTSM_CHUNK_H */
