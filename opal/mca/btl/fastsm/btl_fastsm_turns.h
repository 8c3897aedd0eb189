/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Chunks or the kernel: which way a long message had better go.
 */
#ifndef MCA_BTL_FASTSM_TURNS_H
#define MCA_BTL_FASTSM_TURNS_H

#include "btl_fastsm.h"

/** The extension's chunks_are_slow (btl_fastsm_ext.h). */
bool mca_btl_fastsm_chunks_are_slow(mca_btl_base_endpoint_t *endpoint, size_t size);
/** The extension's exchange_is_slow (btl_fastsm_ext.h). */
bool mca_btl_fastsm_exchange_is_slow(mca_btl_base_endpoint_t *endpoint, size_t size, bool alone);
/**
 * Whether the peer had better read a long message itself, if it can, and so copy it once, because it is the
 * slower one in a stream of messages, which take longer in chunks: it has not read the last one yet and has
 * not answered it either.  Not if exchange_is_slow has just said otherwise.  Where processes share cores:
 * because chunks take long at this time.
 *
 * @param buffers  that the message would take, 2 or more
 * @param size     bytes
 */
bool mca_btl_fastsm_had_better_read(mca_btl_fastsm_endpoint_t *endpoint, uint32_t buffers, size_t size);
/**
 * How to fill the buffer of a message that is in one, and too short for what that takes to be measured.
 * Without threads.
 *
 * @param size  bytes
 * @return      MCA_COMMON_FASTPATH_BY_LOOP, _STRING or _NONTEMPORAL
 */
unsigned mca_btl_fastsm_stream_way(mca_btl_fastsm_endpoint_t *endpoint, size_t size);
/** A chunk of so many bytes, not 0, has been filled the usual way in so many ticks. */
void mca_btl_fastsm_note_fill(mca_btl_fastsm_endpoint_t *endpoint, unsigned way, size_t bytes,
                              uint64_t ticks);

#endif /* MCA_BTL_FASTSM_TURNS_H */
