/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Descriptors that a caller fills and sends, and buffers for chunks.
 */
#ifndef MCA_BTL_FASTSM_FRAG_H
#define MCA_BTL_FASTSM_FRAG_H

#include "btl_fastsm.h"

/** Makes the lists of free frags, all empty.  The segment's layout is known. */
void mca_btl_fastsm_frags_init(void);
/** Releases all frags; nothing when there are no lists. */
void mca_btl_fastsm_frags_fini(void);

/**
 * btl_alloc: a frag with a buffer of the segment, or of this process for what fits into the FIFO.
 *
 * @param size  bytes, headers included
 * @return      NULL: there is none free, or size is above btl_fastsm_max_send_size
 */
mca_btl_base_descriptor_t *mca_btl_fastsm_alloc(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                                                uint8_t order, size_t size, uint32_t flags);
/** btl_free: gives back a frag that is the caller's.  Returns OPAL_SUCCESS. */
int mca_btl_fastsm_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *des);
/**
 * btl_prepare_src: a frag with data that the convertor has packed into it, behind `reserve` bytes for
 * headers.
 *
 * @param size  bytes that shall be packed; set to those that have been: fewer where the buffer is full, and
 *              where there is none for a peer that has nothing to read
 * @return      NULL: there is none free, none that large, or the convertor cannot pack
 */
mca_btl_base_descriptor_t *mca_btl_fastsm_prepare_src(mca_btl_base_module_t *btl,
                                                      mca_btl_base_endpoint_t *endpoint,
                                                      opal_convertor_t *convertor, uint8_t order,
                                                      size_t reserve, size_t *size, uint32_t flags);

/**
 * Takes so many frags of the eager pool for messages to a peer, linked through super.opal_list_next, or none:
 * where there are no more, or few that peers with some to read do not get.
 *
 * @param last  bytes that the last one will have in its buffer: if that is full, it gets a spacer
 * @return      the first, or NULL
 */
mca_btl_fastsm_frag_t *mca_btl_fastsm_frags_take(mca_btl_fastsm_endpoint_t *endpoint, uint32_t count,
                                                 size_t last);
/** Gives them back, unused. */
void mca_btl_fastsm_frags_put_back(mca_btl_fastsm_frag_t *first, uint32_t count);

#endif /* MCA_BTL_FASTSM_FRAG_H */
