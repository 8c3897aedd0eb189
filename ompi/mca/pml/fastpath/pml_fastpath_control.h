/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Control headers on their way out: all that the two ends of a message tell each other besides its data.
 */
#ifndef MCA_PML_FASTPATH_CONTROL_H
#define MCA_PML_FASTPATH_CONTROL_H

#include "pml_fastpath_retry.h"

/** A control header that found no room, or of which is to be known when it has left, with the registration
 * handle that may follow it. */
typedef struct {
    mca_pml_fastpath_retry_t super;
    mca_btl_base_module_t *btl;  /**< required BTL, or NULL for any */
    void (*left)(void *context); /**< mca_pml_fastpath_control_send_until() */
    void *context;
    size_t size;
    uint8_t bytes[sizeof(mca_pml_fastpath_hdr_t) + MCA_BTL_REG_HANDLE_MAX_SIZE];
} mca_pml_fastpath_packet_t;
OBJ_CLASS_DECLARATION(mca_pml_fastpath_packet_t);

/**
 * Send a control header: any that no data of a message follows. Never refused: what the BTL does not take
 * now, progress sends later.
 *
 * @param btl   the BTL it has to travel by, or NULL for the fastest
 * @param hdr   header; copied
 * @param size  bytes, at most what mca_pml_fastpath_packet_t holds
 */
void mca_pml_fastpath_control_send(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl, const void *hdr,
                                   size_t size);

/** Send a control header now, without a descriptor. @return whether it has left; false: nothing has been done
 */
bool mca_pml_fastpath_control_at_once(const mca_pml_fastpath_peer_t *peer, const void *hdr, size_t size);

/**
 * As mca_pml_fastpath_control_send(), and know when it has left.
 *
 * @param left  called then, once, with context, or when the peer has failed or gone; perhaps before this
 *              returns
 */
void mca_pml_fastpath_control_send_until(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl,
                                         const void *hdr, size_t size, void (*left)(void *context),
                                         void *context);

/** As mca_pml_fastpath_control_send(), behind all messages that wait for the peer to have room: by the
 * fastest BTL. */
void mca_pml_fastpath_control_send_last(mca_pml_fastpath_peer_t *peer, const void *hdr, size_t size);

/**
 * A BTL's completion of a control header's descriptor. If it failed the message is lost: the job ends, or
 * with fault tolerance the peer counts as failed.
 */
void mca_pml_fastpath_control_completion(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                                         mca_btl_base_descriptor_t *descriptor, int status);

#endif /* MCA_PML_FASTPATH_CONTROL_H */
