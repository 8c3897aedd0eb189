/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Large messages that a BTL moves by get (the receiver reads) or put (the sender
 * writes). Whatever fails is streamed instead.
 */
#ifndef MCA_PML_FASTPATH_RDMA_H
#define MCA_PML_FASTPATH_RDMA_H

#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_retry.h"
#include "pml_fastpath_sendreq.h"

/** One get of a whole message, one PUT asked for, or one put being done. */
typedef struct {
    mca_pml_fastpath_retry_t super;
    void *request;                                    /**< receive (get, PUT asked for) or send (put) */
    mca_bml_base_btl_t *bml_btl;                      /**< that moves the data */
    mca_btl_base_registration_handle_t *local_handle; /**< of our memory, or NULL */
    uint64_t remote_address;
    size_t next;          /**< get: first byte not yet asked for; else offset within the message */
    size_t end;           /**< behind the last byte */
    size_t failed_at;     /**< get: lowest offset of a piece that failed, or end */
    unsigned in_flight;   /**< get: pieces being read */
    bool busy;            /**< get: somebody is issuing pieces, or waits for room to do so */
    uint64_t remote_rdma; /**< put: the receiver's record, opaque */
    uint64_t remote_req;  /**< put: the receiver's request, opaque */
    uint64_t remote_handle[MCA_BTL_REG_HANDLE_MAX_SIZE / sizeof(uint64_t)];
} mca_pml_fastpath_rdma_t;
OBJ_CLASS_DECLARATION(mca_pml_fastpath_rdma_t);

/**
 * Sender: offer the message to be read.
 *
 * @return OMPI_SUCCESS; OMPI_ERR_NOT_AVAILABLE when no BTL of this peer can;
 *         OMPI_ERR_OUT_OF_RESOURCE or another error of the BTL's
 */
int mca_pml_fastpath_get_offer(mca_pml_fastpath_send_request_t *req);

/** Whether there is a BTL to offer it by, once it is contiguous. */
bool mca_pml_fastpath_can_offer(const mca_pml_fastpath_send_request_t *req);

/** Receiver: read the message, or ask for it to be streamed where that cannot be done. */
void mca_pml_fastpath_get_start(mca_pml_fastpath_recv_request_t *req,
                                const mca_pml_fastpath_arrival_t *arrival);

/**
 * @return whether a BTL can write to that peer, or it to us, without memory being registered: then a large
 *         message goes that way from its first byte on, and nobody has to copy it
 */
bool mca_pml_fastpath_put_is_free(const mca_pml_fastpath_peer_t *peer);

/** Receiver: @return how many of the bytes left shall be streamed; the rest is to be put */
size_t mca_pml_fastpath_put_share(const mca_pml_fastpath_recv_request_t *req, size_t left);

/**
 * Receiver: ask for everything from offset on to be written into the user's buffer.
 *
 * @param first  there has been no ACK: the first PUT says how much is wanted
 */
void mca_pml_fastpath_put_start(mca_pml_fastpath_recv_request_t *req, size_t offset, bool first);

/** Sender: a PUT has come by a BTL. */
void mca_pml_fastpath_put_requested(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                    size_t num_segments);

/** Receiver: a PUT_DONE has come by a BTL. */
void mca_pml_fastpath_put_done(const mca_btl_base_module_t *btl, const mca_pml_fastpath_done_hdr_t *hdr);

#endif /* MCA_PML_FASTPATH_RDMA_H */
