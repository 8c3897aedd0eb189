/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What a message in eager buffers consists of: a chunk is what one of them holds, or several that lie side by
 * side.
 */
#ifndef MCA_BTL_FASTSM_CHUNK_H
#define MCA_BTL_FASTSM_CHUNK_H

#include "btl_fastsm.h"

/** @return bytes of a message that a buffer of ours holds */
static inline size_t mca_btl_fastsm_buffer_bytes(void)
{
    return mca_btl_fastsm_layout_chunk(&mca_btl_fastsm_component.layout.params);
}

/** @return buffers that so many bytes take, more than 0, of which each holds `each` */
static inline uint32_t mca_btl_fastsm_buffers_of(size_t bytes, size_t each)
{
    return (uint32_t) ((bytes + each - 1) / each);
}

/** @return a chunk's first buffer from the line on that its data begins with */
static inline char *mca_btl_fastsm_chunk_data(const mca_btl_fastsm_frag_t *frag)
{
    return (char *) frag->buffer + MCA_BTL_FASTSM_HEADER_BYTES;
}

#endif /* MCA_BTL_FASTSM_CHUNK_H */
