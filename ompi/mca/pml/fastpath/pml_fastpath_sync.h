/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Synchronous sends of whole messages.
 *
 * Such a message is a MATCH with the flag SYNC, in whichever way it leaves, and its send is complete when the
 * receiver has said that a receive has matched it. MATCHED names the message by its number, so the message
 * takes no more room than others. Requests that wait for a MATCHED are in a table, by member and number.
 *
 * With threads btl/fastsm numbers messages while they leave. A MATCHED could come before its request is in
 * the table, so there, and without credit, a synchronous send is a rendezvous.
 */
#ifndef MCA_PML_FASTPATH_SYNC_H
#define MCA_PML_FASTPATH_SYNC_H

#include "pml_fastpath_sendreq.h"

/** @return whether synchronous sends to a peer go whole: their numbers are known before they leave */
static inline bool mca_pml_fastpath_sync_may(const mca_pml_fastpath_peer_t *peer)
{
    return !opal_using_threads() || NULL == peer->ext;
}

/**
 * Sender: the message of a request, which has its number, is about to leave.
 * From now on MATCHED is awaited, which may come before the send returns.
 */
void mca_pml_fastpath_sync_begin(mca_pml_fastpath_send_request_t *req);

/** The process ends MPI: gives back what sends have needed. */
void mca_pml_fastpath_sync_fini(void);

/** Sender: it has not left. */
void mca_pml_fastpath_sync_refused(mca_pml_fastpath_send_request_t *req);

/** Sender: MATCHED will not come, if it is still awaited. */
void mca_pml_fastpath_sync_end(mca_pml_fastpath_send_request_t *req);

/** Sender: a MATCHED has come by a BTL. */
void mca_pml_fastpath_sync_matched(const mca_btl_base_module_t *btl, const mca_pml_fastpath_match_hdr_t *hdr);

/** Receiver: @return whether MATCHED would leave now. Without threads only. */
static inline bool mca_pml_fastpath_sync_has_room(mca_pml_fastpath_member_t *member)
{
    const uint32_t halves = 12; /* for its longest form, wherever in the ring it begins */

    mca_pml_fastpath_member_ready(member);
    return NULL != member->out && 0 == member->out->n_pending && fastsm_fifo_room(member->out, halves);
}

/**
 * Receiver: a receive has matched a message with SYNC. With threads not to be called with a lock held.
 *
 * @param member  the sender
 * @param rank    its rank
 * @param number  of the message
 * @param left    called with context, later, unless this returns true; or NULL
 * @return        whether the sender has been told, or nobody waits for that
 */
bool mca_pml_fastpath_sync_tell(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm, int rank,
                                uint32_t number, void (*left)(void *context), void *context);

#endif /* MCA_PML_FASTPATH_SYNC_H */
