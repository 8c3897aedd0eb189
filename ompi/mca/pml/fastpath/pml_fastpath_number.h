/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Sequence numbers of messages, the sender's side.
 *
 * A message takes its number while it leaves: its data has been copied before, so a thread that waits for its
 * data (a page that comes from a disk, a processor that somebody else has) has no number yet. Nobody waits
 * for it, and nobody overtakes it.
 *
 * Headers carry 16 bits of a number, so it has to be known which of all messages with these bits comes. Over
 * btl/fastsm messages arrive in the order in which they leave, and with threads they are numbered with the
 * FIFO's lock held (mca_btl_fastsm_stamp_t): it is always the next one. Other BTLs may deliver in any order.
 * There only a bounded number of messages of a member is under way. Every so often a message
 * has the flag TELL; when its turn has come, the receiver says so (PASSED). A member that has sent
 * as many as may be under way queues the next ones until it hears that. A message's turn comes when all
 * before it have arrived, whether a receive has been posted for them or not: nothing waits for the receiving
 * program.
 */
#ifndef MCA_PML_FASTPATH_NUMBER_H
#define MCA_PML_FASTPATH_NUMBER_H

#include "pml_fastpath_comm.h"
#include "pml_fastpath_window.h"

/** @return whether a peer gets our messages in the order of their numbers, whatever happens */
static inline bool mca_pml_fastpath_in_order_at(const mca_pml_fastpath_peer_t *peer)
{
    return NULL != peer->ext;
}

/** @return the number of the last message to a member */
static inline uint32_t mca_pml_fastpath_last_number(const mca_pml_fastpath_member_t *member)
{
    return atomic_load_explicit(&member->sent, memory_order_relaxed);
}

/** The last message to a member has this number. In a job without threads. */
static inline void mca_pml_fastpath_number_set(mca_pml_fastpath_member_t *member, uint32_t number)
{
    atomic_store_explicit(&member->sent, number, memory_order_relaxed);
}

/** @return whether a message to a member may leave now, as far as its number goes */
static inline bool mca_pml_fastpath_number_is_free(const mca_pml_fastpath_member_t *member)
{
    return mca_pml_fastpath_in_order_at(member->peer)
           || mca_pml_fastpath_window_is_open(mca_pml_fastpath_last_number(member), member->passed);
}

/**
 * Take the next number of a member's messages. Not with threads where messages arrive in order: there they
 * are numbered by btl/fastsm.
 *
 * @param number  receives it
 * @return false when too many are under way
 */
static inline bool mca_pml_fastpath_number_take(mca_pml_fastpath_member_t *member, uint32_t *number)
{
    uint32_t last = mca_pml_fastpath_last_number(member);

    do {
        if (OPAL_UNLIKELY(!mca_pml_fastpath_in_order_at(member->peer)
                          && !mca_pml_fastpath_window_is_open(last, member->passed))) {
            return false;
        }
        *number = last + 1;
        if (!opal_using_threads()) {
            mca_pml_fastpath_number_set(member, *number);
            return true;
        }
        /* relaxed: that no number is given out twice is all that it has to see to */
    } while (!atomic_compare_exchange_weak_explicit(&member->sent, &last, *number, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

/** Put the last number back that was taken, for a message that did not leave. In a job without threads. */
static inline void mca_pml_fastpath_number_restore(mca_pml_fastpath_member_t *member, uint32_t number)
{
    mca_pml_fastpath_number_set(member, number - 1);
}

/** @return the flags that the header of a message has for its number's sake: FLAG_TELL or none */
static inline uint8_t mca_pml_fastpath_number_flags(const mca_pml_fastpath_peer_t *peer, uint32_t number)
{
    return !mca_pml_fastpath_in_order_at(peer) && mca_pml_fastpath_window_asks(number)
               ? MCA_PML_FASTPATH_HDR_FLAG_TELL
               : 0;
}

/**
 * Receiver: the turn of a message with FLAG_TELL has come. Not to be called with a lock held.
 *
 * @param member    the sender
 * @param rank      its rank
 * @param sequence  of the message
 */
void mca_pml_fastpath_number_tell(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm, int rank,
                                  uint16_t sequence);

/**
 * The same for a message whose communicator has been freed here, so that it was dropped.
 *
 * @param peer  the sender
 * @param hdr   of the message
 */
void mca_pml_fastpath_number_tell_late(mca_pml_fastpath_peer_t *peer,
                                       const mca_pml_fastpath_match_hdr_t *hdr);

/** Sender: a PASSED has come by a BTL. Not to be called with a lock held. */
void mca_pml_fastpath_number_passed(const mca_btl_base_module_t *btl,
                                    const mca_pml_fastpath_passed_hdr_t *hdr);

#endif /* MCA_PML_FASTPATH_NUMBER_H */
