/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Placing: the target of a get has its BTL write the data into the origin's memory, so that neither of them
 * copies it. All of it inside module.lock.
 */
#ifndef MCA_OSC_FASTPATH_PLACE_H
#define MCA_OSC_FASTPATH_PLACE_H

#include "osc_fastpath_operation.h"

/** Data that is being written, or has been. */
typedef struct mca_osc_fastpath_placing_t {
    struct mca_osc_fastpath_placing_t *next; /**< of the peer's */
    mca_osc_fastpath_peer_t *peer;           /**< the origin */
    mca_bml_base_btl_t *bml_btl;   /**< of the link that writes: what tells of it goes by that, too */
    mca_osc_fastpath_op_hdr_t hdr; /**< the piece of the get */
    void *from;                    /**< its data in the window */
    int status;                    /**< valid when peer.target.writing is 0 */
} mca_osc_fastpath_placing_t;

/** Origin: @return whether a get of `total` bytes may be placed */
bool mca_osc_fastpath_may_place(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_operation_t *operation,
                                size_t total);

/** Origin: @return where byte `offset` of the data of such a get goes */
uint64_t mca_osc_fastpath_place_address(const mca_osc_fastpath_operation_t *operation, size_t offset);

/**
 * Target: begin to write data of a get.
 *
 * @param hdr   the piece of the get
 * @param from  its bytes, `hdr->length` of them, which stay until nothing is written any more
 * @param to    where they go, in the origin's process
 *
 * @return how many bytes at the begin of the piece are being written; the others no BTL has taken
 */
size_t mca_osc_fastpath_place(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_op_hdr_t *hdr, void *from,
                              uint64_t to);

/** Target: @return whether a BTL is still writing for a peer */
static inline bool mca_osc_fastpath_is_placing(const mca_osc_fastpath_peer_t *peer)
{
    /* acquire, with the release of the BTL's callback: the status of each */
    return 0 != atomic_load_explicit(&peer->target.writing, memory_order_acquire);
}

/** Target: @return what has been written for a peer, one after the other, to be freed; or NULL */
mca_osc_fastpath_placing_t *mca_osc_fastpath_placed(mca_osc_fastpath_peer_t *peer);

#endif /* MCA_OSC_FASTPATH_PLACE_H */
