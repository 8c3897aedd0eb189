/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Sending a descriptor, or at once.
 */
#ifndef MCA_BTL_FASTSM_SEND_H
#define MCA_BTL_FASTSM_SEND_H

#include "btl_fastsm.h"

/**
 * btl_send: sends a descriptor from btl_alloc or btl_prepare_src.
 *
 * @return  1 when the caller is through with it: no callback comes, and the descriptor is ours if it had
 *          BTL_OWNERSHIP, else the caller's.  OPAL_SUCCESS when the callback comes later, from progress
 */
int mca_btl_fastsm_send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *des, mca_btl_base_tag_t tag);

/**
 * Puts a frag into the peer's FIFO.  The endpoint's lock is held.
 *
 * @return  true when it is posted.  *in_flight then says whether the peer still
 *          reads the frag's buffer; if so the frag is on endpoint->in_flight.
 *          false when there is no room; nothing has changed
 */
bool mca_btl_fastsm_post(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                         mca_btl_base_tag_t tag, bool *in_flight);

/**
 * Takes the frags that the peer is through with off endpoint->in_flight.
 * Those nobody waits for become free, the others go to component.done.
 * The endpoint's lock is held.
 */
void mca_btl_fastsm_reclaim(mca_btl_fastsm_endpoint_t *endpoint);

/** Sends what is pending, in order, as far as there is room.  The endpoint's lock is held. */
void mca_btl_fastsm_send_pending(mca_btl_fastsm_endpoint_t *endpoint);

/** Appends a frag to those that wait for room.  The endpoint's lock is held. */
void mca_btl_fastsm_pend(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag);

/**
 * btl_sendi: sends header and payload at once and completely, or not at all.
 *
 * @param descriptor  when nothing was sent: a descriptor of the right size for the caller to fill and
 *                    send, or NULL.  May be NULL
 * @return            OPAL_SUCCESS or OPAL_ERR_OUT_OF_RESOURCE
 */
int mca_btl_fastsm_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
                         uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t **descriptor);

/** The extension's sendi (btl_fastsm_ext.h). */
int mca_btl_fastsm_sendi_contiguous(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                                    const void *payload, size_t payload_size, mca_btl_base_tag_t tag);

/** The extension's sendi_numbered (btl_fastsm_ext.h). */
int mca_btl_fastsm_sendi_numbered(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                                  const void *payload, size_t payload_size, mca_btl_base_tag_t tag,
                                  mca_btl_fastsm_stamp_t *stamp);
/** The extension's send_numbered (btl_fastsm_ext.h). */
int mca_btl_fastsm_send_numbered(mca_btl_base_endpoint_t *endpoint, mca_btl_base_descriptor_t *des,
                                 mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp);

/** The extension's sender (btl_fastsm_ext.h). */
fastsm_fifo_sender_t *mca_btl_fastsm_sender(mca_btl_base_endpoint_t *endpoint);

#endif /* MCA_BTL_FASTSM_SEND_H */
