/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Flow control: how much a process may send to another one that nobody there
 * has asked for yet.
 *
 * The sender has a credit of pml_fastpath_unexpected_limit bytes per peer, all
 * communicators together. Every eager message takes its cost out of it; without
 * credit a message goes by rendezvous, with nothing but its header. The receiver
 * counts what it has consumed (matched, or dropped) and gives it back when a
 * quarter of the limit has come together, or when a rendezvous says that its
 * sender is short. So no message waits for credit, and what waits at a receiver
 * is bounded by the sender's own count, wherever on the way it is.
 */
#ifndef MCA_PML_FASTPATH_CREDIT_H
#define MCA_PML_FASTPATH_CREDIT_H

#include "pml_fastpath_comm.h"

/** What a message costs its receiver beside its data: the record and the allocator's overhead, bytes. What is
 * unused of a block for data, a quarter at most (pml_fastpath_kept.h), is not counted. */
#define MCA_PML_FASTPATH_MESSAGE_COST 160

/**
 * @param type     MCA_PML_FASTPATH_HDR_MATCH, _RNDV, _RGET or _MULTI
 * @param payload  bytes of data that go with the header, or follow it unasked
 * @return         bytes of credit; a rendezvous without data is free
 */
static inline int64_t mca_pml_fastpath_credit_cost(uint8_t type, size_t payload)
{
    if (MCA_PML_FASTPATH_HDR_MATCH == type) {
        return (int64_t) payload + MCA_PML_FASTPATH_MESSAGE_COST;
    }
    if (MCA_PML_FASTPATH_HDR_MULTI == type) { /* so many more for the records of its fragments */
        return (int64_t) (payload + payload / 16) + MCA_PML_FASTPATH_MESSAGE_COST;
    }
    return MCA_PML_FASTPATH_HDR_RNDV == type && 0 < payload
               ? (int64_t) payload + MCA_PML_FASTPATH_MESSAGE_COST
               : 0;
}

/**
 * Sender: take credit for a message. Threads that take it at the same time never take more than there is.
 *
 * @return false when there is not enough, and nothing was taken
 */
static inline bool mca_pml_fastpath_credit_take(mca_pml_fastpath_peer_t *peer, int64_t cost)
{
    int64_t credit = peer->credit;

    do {
        if (OPAL_UNLIKELY(credit < cost)) {
            return false;
        }
    } while (!OPAL_THREAD_COMPARE_EXCHANGE_STRONG_64(&peer->credit, &credit, credit - cost));
    return true;
}

/** The same in a job without threads. */
static inline bool mca_pml_fastpath_credit_take_st(mca_pml_fastpath_peer_t *peer, int64_t cost)
{
    const int64_t left = peer->credit - cost;

    if (OPAL_UNLIKELY(0 > left)) {
        return false;
    }
    peer->credit = left;
    return true;
}

/** Sender: put back what was taken for a message that did not leave. */
static inline void mca_pml_fastpath_credit_restore(mca_pml_fastpath_peer_t *peer, int64_t cost)
{
    (void) OPAL_THREAD_ADD_FETCH64(&peer->credit, cost);
}

/** Receiver: tell a peer what has been consumed of its messages. Not to be called with a lock held. */
void mca_pml_fastpath_credit_return(mca_pml_fastpath_peer_t *peer);

/**
 * Receiver: a message of a peer has been matched or dropped. Not to be called with a lock held.
 *
 * @param type     MCA_PML_FASTPATH_HDR_MATCH, _RNDV, _RGET or _MULTI
 * @param payload  bytes that came with the header, or follow it unasked
 * @param threads  opal_using_threads()
 */
static inline void mca_pml_fastpath_credit_consumed(mca_pml_fastpath_peer_t *peer, uint8_t type,
                                                    size_t payload, bool threads)
{
    const int64_t cost = mca_pml_fastpath_credit_cost(type, payload);
    int64_t consumed;

    if (OPAL_UNLIKELY(threads)) {
        consumed = opal_atomic_add_fetch_64(&peer->consumed, cost);
    } else {
        consumed = peer->consumed + cost; /* it is volatile: stored, and not loaded again */
        peer->consumed = consumed;
    }
    if (OPAL_UNLIKELY(consumed > mca_pml_fastpath.window_part)) {
        mca_pml_fastpath_credit_return(peer);
    }
}

/** The same for a message of a member. */
static inline void mca_pml_fastpath_consumed(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm,
                                             int rank, uint8_t type, size_t payload)
{
    mca_pml_fastpath_peer_t *peer = mca_pml_fastpath_member_peer(member, comm, rank);

    if (OPAL_LIKELY(NULL != peer)) {
        mca_pml_fastpath_credit_consumed(peer, type, payload, opal_using_threads());
    }
}

/** The same for a message that was kept. */
void mca_pml_fastpath_message_consumed(const mca_pml_fastpath_message_t *message, ompi_communicator_t *comm);

/** Sender: a CREDIT has come by a BTL. */
void mca_pml_fastpath_credit_arrived(const mca_btl_base_module_t *btl,
                                     const mca_pml_fastpath_credit_hdr_t *hdr);

#endif /* MCA_PML_FASTPATH_CREDIT_H */
