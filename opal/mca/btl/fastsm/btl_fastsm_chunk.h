/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What a message in eager buffers consists of: a chunk is what one of them holds.
 */
#ifndef MCA_BTL_FASTSM_CHUNK_H
#define MCA_BTL_FASTSM_CHUNK_H

#include "btl_fastsm.h"

/** @return bytes of a chunk of ours */
static inline size_t mca_btl_fastsm_chunk_size(void)
{
    return mca_btl_fastsm_layout_chunk(&mca_btl_fastsm_component.layout.params);
}

/** @return chunks of a message of so many bytes, more than 0 */
static inline uint32_t mca_btl_fastsm_chunks_of(size_t bytes, size_t chunk)
{
    return (uint32_t) ((bytes + chunk - 1) / chunk);
}

/** @return a chunk's buffer from the line on that its data begins with */
static inline char *mca_btl_fastsm_chunk_data(const mca_btl_fastsm_frag_t *frag)
{
    return (char *) frag->buffer + MCA_BTL_FASTSM_HEADER_BYTES;
}

#endif /* MCA_BTL_FASTSM_CHUNK_H */
