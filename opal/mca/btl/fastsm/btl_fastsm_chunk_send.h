/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Sending messages in eager buffers, one or several.
 */
#ifndef MCA_BTL_FASTSM_CHUNK_SEND_H
#define MCA_BTL_FASTSM_CHUNK_SEND_H

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

/** The extension's sendi_data (btl_fastsm_ext.h). */
int mca_btl_fastsm_sendi_data(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                              const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                              mca_btl_fastsm_stamp_t *stamp);

#endif /* MCA_BTL_FASTSM_CHUNK_SEND_H */
