/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Multi-eager: a message that is longer than its BTL's eager limit, and not longer than that BTL's
 * multi-eager limit (pml_fastpath_multi_eager_limits), is sent as several fragments that wait for nobody.
 *
 * The first fragment (MULTI) is matched as any message is. It carries the length of the whole and an id; the
 * others (MULTI_FRAG) carry the id, and have nothing to do with matching or its sequence numbers. They go to
 * the user's buffer as they come if a receive is known, and are kept until one is. They may overtake each
 * other, and the first one.
 *
 * An id names a message between two processes: a number, of which each pair has its own, and a check sum of
 * that and the sender's name. The numbers of all messages between two processes follow each other without a
 * gap, so a fragment that nobody can have sent is found out.
 */
#ifndef MCA_PML_FASTPATH_MULTI_H
#define MCA_PML_FASTPATH_MULTI_H

#include "pml_fastpath_multi_limit.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sendreq.h"

/** A message that comes in several fragments, from the first of them on until all are here and a receive has
 * it. */
typedef struct mca_pml_fastpath_multi_t mca_pml_fastpath_multi_t;

/** Prepare what is known of fragments. @return OMPI_SUCCESS or OMPI_ERR_OUT_OF_RESOURCE */
int mca_pml_fastpath_multi_init(void);

/** Give it back, with all that is still kept. No message refers to it any more. */
void mca_pml_fastpath_multi_fini(void);

/** @return the id of a process' message of that number to another one; never 0, as numbers begin with 1 */
uint64_t mca_pml_fastpath_multi_id(opal_process_name_t sender, uint32_t number);

/**
 * Sender: @return whether a message that is too long for an eager one goes so. Then it has got its id and
 * paid its credit, and is not to go in another way any more.
 */
bool mca_pml_fastpath_multi_begin(mca_pml_fastpath_send_request_t *req, const mca_bml_base_btl_t *bml_btl);

/**
 * Sender: send the first fragment, and then the others. The caller holds the request alive over the call.
 * @return OMPI_SUCCESS: the first fragment has left, and the others will; OMPI_ERR_OUT_OF_RESOURCE or
 *         another error of the BTL's: none has
 */
int mca_pml_fastpath_multi_start(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl);

/** End the job if the id of a first fragment is none. */
void mca_pml_fastpath_multi_check(const mca_btl_base_module_t *btl, const mca_pml_fastpath_multi_hdr_t *hdr);

/**
 * Receiver: the turn of a first fragment has come. Once for each message.
 * @return what is known of the message, until mca_pml_fastpath_multi_release()
 */
mca_pml_fastpath_multi_t *mca_pml_fastpath_multi_first(const mca_pml_fastpath_arrival_t *arrival);

/** Receiver: a message that waited before its turn, or for its communicator, is dropped. */
void mca_pml_fastpath_multi_lost(const mca_pml_fastpath_parked_t *parked);

/** @return whether all fragments of a message are here */
bool mca_pml_fastpath_multi_is_whole(const mca_pml_fastpath_multi_t *multi);

/**
 * Receiver: a message has a receive. What is here goes to it now, the rest as it comes. Call without locks;
 * the request may be complete and gone on return.
 */
void mca_pml_fastpath_multi_matched(mca_pml_fastpath_multi_t *multi, mca_pml_fastpath_recv_request_t *req,
                                    const mca_pml_fastpath_arrival_t *arrival);

/** Receiver: a message's caller is done with it. One that has no receive is dropped, with what still comes.
 */
void mca_pml_fastpath_multi_release(mca_pml_fastpath_multi_t *multi);

/** Receiver: give a kept message back, of whatever type. */
static inline void mca_pml_fastpath_multi_return(mca_pml_fastpath_message_t *message)
{
    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_HDR_MULTI == message->type)) {
        mca_pml_fastpath_multi_release(message->u.multi);
    }
    mca_pml_fastpath_message_return(message);
}

/** Receiver: a MULTI_FRAG has come by a BTL. */
void mca_pml_fastpath_multi_arrived(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                    size_t num_segments);

#endif /* MCA_PML_FASTPATH_MULTI_H */
