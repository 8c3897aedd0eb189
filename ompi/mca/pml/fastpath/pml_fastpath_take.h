/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Taking a message from where it arrives, for a receive that asks for it now, or that is posted and waited
 * for: docs/data-path.md, "The immediate path".
 */
#ifndef MCA_PML_FASTPATH_TAKE_H
#define MCA_PML_FASTPATH_TAKE_H

#include "pml_fastpath_pace.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_spin.h"
#include "pml_fastpath_sync.h"

/**
 * Whether no message has come earlier that a receive of (src, tag) has to take, and no receive is posted that
 * comes before it: then it gets the next message from src that fits. The communicator is locked.
 */
static inline bool mca_pml_fastpath_none_before(mca_pml_fastpath_comm_t *pml_comm, int src, int tag)
{
    return !mca_pml_fastpath_match_posted_before(&pml_comm->matcher, src, tag)
           && NULL == mca_pml_fastpath_match_find(&pml_comm->matcher, src, tag);
}

/** Where a message goes: what MPI_Recv and MPI_Irecv ask for now, or a receive that is posted. */
typedef struct {
    /** a posted receive gets the message, if matching finds one whose buffer is contiguous; with the members
     * up to data as its own */
    bool posted;
    /** unless it is taken, a receive of another thread's may get it, or that of this target another message,
     * or it may be cancelled. A blocking receive of a process with one thread has it or waits for it */
    bool undecided;
    int tag;       /**< or MCA_PML_FASTPATH_ANY_TAG */
    void *buffer;  /**< where the data goes */
    size_t room;   /**< bytes that fit there. One that is not posted takes no longer message */
    const mca_btl_fastsm_data_t *data; /**< takes the place of buffer; or NULL */

    /* from the message */
    mca_pml_fastpath_recv_request_t *req; /**< the receive, if it was posted */
    uint64_t word1;                       /**< source and tag, as in the header */
    size_t length;                        /**< bytes of data */
    size_t accepted;                      /**< of which so many fit */
    bool begun; /**< this message fits but has not been taken; a part may have been written: no other one will
                   do */
} mca_pml_fastpath_target_t;

/**
 * Whether a message is accepted for a target: the next one that counts from its sender, and what the target
 * asks for. If so the target is complete but for the data. The communicator is locked.
 *
 * @param header  as it has been read, once
 */
static inline __opal_attribute_always_inline__ bool
mca_pml_fastpath_accept(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, int src,
                        const uint64_t header[2], size_t length, mca_pml_fastpath_target_t *target)
{
    const int32_t tag = mca_pml_fastpath_match_word1_tag(header[1]);

    if (OPAL_UNLIKELY(!mca_pml_fastpath_is_next(pml_comm, member, src, header))) {
        return false;
    }
    if (target->posted) {
        mca_pml_fastpath_match_post_t *post = mca_pml_fastpath_match_peek(&pml_comm->matcher, src, tag);

        if (OPAL_UNLIKELY(NULL == post)) {
            return false;
        }
        target->req = mca_pml_fastpath_recv_request_of(post);
        if (OPAL_UNLIKELY(!mca_pml_fastpath_recv_request_contiguous(target->req))) {
            return false;
        }
        target->buffer = target->req->req_buffer;
        target->undecided = MCA_PML_FASTPATH_ANY_SOURCE == post->src;
        target->data = NULL;
        target->accepted = mca_pml_fastpath_recv_request_room(target->req, length);
    } else {
        if (OPAL_UNLIKELY(length > target->room
                          || (tag != target->tag && (MCA_PML_FASTPATH_ANY_TAG != target->tag || 0 > tag)))) {
            return false; /* negative tags are Open MPI's own traffic */
        }
        target->accepted = length;
    }
    target->word1 = header[1];
    target->length = length;
    return true;
}

/** The data of a message that has been accepted is in its place. The communicator is locked. */
static inline __opal_attribute_always_inline__ void
mca_pml_fastpath_accepted(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member,
                          const mca_pml_fastpath_target_t *target)
{
    if (target->posted) {
        mca_pml_fastpath_match_cancel(&pml_comm->matcher, &target->req->req_post);
    }
    (void) mca_pml_fastpath_advance(member);
}

/**
 * Take the next message of a member's from its slots for a target, without a call. Only without threads. Who
 * is called when a receive completes may look into the FIFO, so that comes after it.
 *
 * @param slot  where it begins, or NULL
 * @return      0, or what fastsm_fifo_see() says; FASTSM_SOMETHING_ELSE leaves it as it was: it may be
 *              something for mca_pml_fastpath_take_view()
 */
static inline __opal_attribute_always_inline__ int
mca_pml_fastpath_take_slots(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, int src,
                            const mca_btl_fastsm_slot_t *slot, mca_pml_fastpath_target_t *target)
{
    fastsm_fifo_receiver_t *in = member->peer->in;
    uint64_t header[2];
    const ptrdiff_t length = fastsm_fifo_see(in, slot, MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH, header);

    if (OPAL_UNLIKELY(0 > length)) {
        return (int) length;
    }
    if (OPAL_UNLIKELY(!mca_pml_fastpath_accept(pml_comm, member, src, header, (size_t) length, target))) {
        return FASTSM_SOMETHING_ELSE;
    }
    fastsm_fifo_copy(target->buffer, slot, target->accepted);
    fastsm_fifo_release_message(in, (size_t) length);
    mca_pml_fastpath_accepted(pml_comm, member, target);
    return 0;
}

/* Moves the data of a message that has been accepted. Returns false when it cannot be had now. For long data
 * btl/fastsm knows the way that is sooner. */
static inline bool mca_pml_fastpath_move(const mca_btl_fastsm_ext_t *ext, const mca_btl_fastsm_view_t *view,
                                         const mca_pml_fastpath_target_t *target)
{
    if (OPAL_LIKELY(NULL == target->data && 0 == view->chunk
                    && MCA_COMMON_FASTPATH_COPY_LONG > target->accepted)) {
        mca_btl_fastsm_view_copy(view, target->buffer, target->accepted);
        return true;
    }
    return ext->move(view, target->buffer, target->data, target->accepted, target->undecided);
}

/** mca_pml_fastpath_take_view() for a message that peek() shows. @return whether it has been taken */
static inline __opal_attribute_always_inline__ bool
mca_pml_fastpath_take_shown(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, int src,
                            const mca_btl_fastsm_view_t *view, const uint64_t header[2],
                            mca_pml_fastpath_target_t *target)
{
    const bool fits =
        MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH == view->tag
        && mca_pml_fastpath_accept(pml_comm, member, src, header, view->length - 2 * sizeof(*header), target);
    const bool taken = fits && mca_pml_fastpath_move(member->peer->ext, view, target);

    mca_btl_fastsm_release(view, taken);
    if (OPAL_UNLIKELY(!taken)) {
        target->begun = fits && !target->undecided;
        if (target->begun && target->posted) {
            target->req->req_begun = true;
        }
        return false;
    }
    mca_pml_fastpath_accepted(pml_comm, member, target);
    return true;
}

/** The same for a synchronous message, whose sender is told. */
static __opal_attribute_noinline__ __opal_attribute_unused__ int
mca_pml_fastpath_take_sync(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, int src,
                           mca_pml_fastpath_target_t *target)
{
    const uint32_t number = member->expected;
    mca_btl_fastsm_view_t view;
    uint64_t header[2];
    int rc;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_sync_has_room(member))) {
        return OMPI_ERR_NOT_AVAILABLE; /* MATCHED has to wait for room, which takes a request */
    }
    rc = member->peer->ext->peek(member->peer->btl_endpoint, 1, &view);
    if (OPAL_UNLIKELY(OPAL_SUCCESS != rc)) {
        return rc;
    }
    fastsm_read_once(header, view.header, sizeof(header));
    header[0] &= ~mca_pml_fastpath_match_word0_flags(MCA_PML_FASTPATH_HDR_FLAG_SYNC);
    if (OPAL_UNLIKELY(!mca_pml_fastpath_take_shown(pml_comm, member, src, &view, header, target))) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    (void) mca_pml_fastpath_sync_tell(member, pml_comm->comm, src, number, NULL, NULL);
    return OMPI_SUCCESS;
}

/**
 * Take the next message of a member's for a target, wherever it is. The communicator is locked.
 *
 * @param spins  how often to poll, at least 1
 * @return       OMPI_SUCCESS; OMPI_ERR_NOT_FOUND when nothing has come; OMPI_ERR_NOT_AVAILABLE: something
 *               else has, or another thread is at it. Then it is left as it was
 */
static inline __opal_attribute_always_inline__ int
mca_pml_fastpath_take_view(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, int src,
                           unsigned spins, mca_pml_fastpath_target_t *target)
{
    const uint64_t flag = mca_pml_fastpath_match_word0_flags(MCA_PML_FASTPATH_HDR_FLAG_SYNC);
    mca_btl_fastsm_view_t view;
    uint64_t header[2];
    int rc = member->peer->ext->peek(member->peer->btl_endpoint, spins, &view);

    if (OPAL_UNLIKELY(OPAL_SUCCESS != rc)) {
        return rc;
    }
    fastsm_read_once(header, view.header, sizeof(header));
    if (OPAL_LIKELY(mca_pml_fastpath_take_shown(pml_comm, member, src, &view, header, target))) {
        return OMPI_SUCCESS;
    }
    rc = OMPI_ERR_NOT_AVAILABLE;
    /* with threads nothing is sent while a communicator is locked */
    if (OPAL_UNLIKELY(0 != (flag & header[0]) && !opal_using_threads())) {
        mca_pml_fastpath_target_t copy = *target; /* who takes the address of target keeps it in memory */

        rc = mca_pml_fastpath_take_sync(pml_comm, member, src, &copy);
        *target = copy;
    }
    return rc;
}

/** The same, but without threads what is in slots is taken from there. */
static inline int mca_pml_fastpath_take(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member,
                                        int src, unsigned spins, mca_pml_fastpath_target_t *target)
{
    if (OPAL_LIKELY(NULL != member->peer->in && NULL == target->data && !opal_using_threads())) {
        const int rc = mca_pml_fastpath_take_slots(pml_comm, member, src,
                                                   fastsm_fifo_await(member->peer->in, &spins), target);

        if (OPAL_LIKELY(FASTSM_SOMETHING_ELSE != rc)) {
            return OPAL_LIKELY(0 == rc) ? OMPI_SUCCESS : OMPI_ERR_NOT_FOUND;
        }
        spins = 1;
    }
    return mca_pml_fastpath_take_view(pml_comm, member, src, spins, target);
}

/**
 * The sender of a message that has come, of all of them. Nothing is taken.
 *
 * @param spins   how often to poll, at least 1
 * @param member  receives the sender
 * @param src     receives its rank
 * @return OMPI_SUCCESS; OMPI_ERR_NOT_FOUND when nothing has come; OMPI_ERR_NOT_AVAILABLE: from somebody else
 */
static inline int mca_pml_fastpath_find_sender(const mca_pml_fastpath_comm_t *pml_comm, unsigned spins,
                                               mca_pml_fastpath_member_t **member, int *src)
{
    uint64_t header[2];
    struct mca_btl_base_endpoint_t *endpoint =
        mca_pml_fastpath.fastsm_ext->scan(mca_pml_fastpath.fastsm, spins, header);

    if (NULL == endpoint) {
        return OMPI_ERR_NOT_FOUND;
    }
    *src = mca_pml_fastpath_match_word1_src(header[1]);
    if (OPAL_UNLIKELY((uint32_t) *src >= (uint32_t) pml_comm->size)) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    *member = pml_comm->members[*src];
    return OPAL_LIKELY(mca_pml_fastpath_member_has_ext(*member) && endpoint == (*member)->peer->btl_endpoint)
               ? OMPI_SUCCESS
               : OMPI_ERR_NOT_AVAILABLE;
}

#endif /* MCA_PML_FASTPATH_TAKE_H */
