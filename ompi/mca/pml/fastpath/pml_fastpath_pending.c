/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_cancel.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_freed.h"
#include "pml_fastpath_number.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_pending.h"

static inline bool is_cancel(const mca_pml_fastpath_parked_t *parked)
{
    return MCA_PML_FASTPATH_HDR_CANCEL == parked->hdr->hdr_type;
}

/* Whether the message that a CANCEL names waits here. Messages carry the lower half of their number; the
 * first one of a sender has number 1, and none is 32768 places from where it belongs. */
static bool cancel_is_here(const mca_pml_fastpath_cancel_hdr_t *cancel)
{
    mca_pml_fastpath_parked_t *parked;
    uint32_t sequence = 0;

    OPAL_LIST_FOREACH(parked, &mca_pml_fastpath.pending, mca_pml_fastpath_parked_t)
    {
        const mca_pml_fastpath_match_hdr_t *hdr = &parked->hdr->hdr_match;

        if (!is_cancel(parked) && hdr->hdr_ctx == cancel->hdr_match.hdr_ctx
            && hdr->hdr_src == cancel->hdr_match.hdr_src) {
            sequence += (uint32_t) (int16_t) (uint16_t) (hdr->hdr_seq - (uint16_t) sequence);
            if (sequence == cancel->hdr_sequence) {
                return true;
            }
        }
    }
    return false;
}

/* A CANCEL that waits together with its message, but has not been answered. It is marked as answered:
 * both stay here, so that the communicator will know that the message's number is taken. */
static bool settle(mca_pml_fastpath_cancel_hdr_t *settled)
{
    mca_pml_fastpath_parked_t *parked;

    OPAL_LIST_FOREACH(parked, &mca_pml_fastpath.pending, mca_pml_fastpath_parked_t)
    {
        mca_pml_fastpath_cancel_hdr_t *cancel = &parked->hdr->hdr_cancel;

        if (is_cancel(parked) && 0 == (MCA_PML_FASTPATH_HDR_FLAG_DONE & cancel->hdr_match.hdr_flags)
            && cancel_is_here(cancel)) {
            *settled = *cancel;
            cancel->hdr_match.hdr_flags |= MCA_PML_FASTPATH_HDR_FLAG_DONE;
            --mca_pml_fastpath.pending_unanswered;
            return true;
        }
    }
    return false;
}

/* Whether its communicator has been freed here. Where a communicator may be used before it is known, a
 * message of an id that is being agreed upon is kept until then, or until its CANCEL says which one it means.
 */
static bool is_late(const mca_pml_fastpath_parked_t *parked)
{
    const uint32_t ctx = parked->hdr->hdr_match.hdr_ctx;

    if (!mca_pml_fastpath_freed_is(ctx)) {
        return false;
    }
    if (!FASTPATH_EARLY_INTERCOMMS || mca_pml_fastpath_ctx_is_own(ctx) || !fastpath_comm_id_is_taken(ctx)) {
        return true;
    }
    return is_cancel(parked) && !mca_pml_fastpath_epoch_is_new(&parked->hdr->hdr_cancel);
}

/* What has to be done without the lock about something that has come. */
typedef struct {
    bool late;                             /* it came too late, and is not kept */
    mca_pml_fastpath_parked_t *lost;       /* a message that nobody will receive, or NULL */
    opal_process_name_t sender;            /* of that */
    bool answer;                           /* a CANCEL can be answered now */
    mca_pml_fastpath_cancel_hdr_t settled; /* a copy of it */
    bool dropped;                          /* the answer */
} todo_t;

/* The communicator that a CANCEL means is gone; its message may have been kept for the next one. @return
 * that, taken off the list, or NULL */
static mca_pml_fastpath_parked_t *forget_parked(const mca_pml_fastpath_cancel_hdr_t *cancel)
{
    mca_pml_fastpath_parked_t *parked;

    OPAL_LIST_FOREACH(parked, &mca_pml_fastpath.pending, mca_pml_fastpath_parked_t)
    {
        const mca_pml_fastpath_match_hdr_t *hdr = &parked->hdr->hdr_match;

        if (!is_cancel(parked) && hdr->hdr_ctx == cancel->hdr_match.hdr_ctx
            && hdr->hdr_src == cancel->hdr_match.hdr_src && hdr->hdr_seq == (uint16_t) cancel->hdr_sequence) {
            opal_list_remove_item(&mca_pml_fastpath.pending, &parked->super);
            ++mca_pml_fastpath.late;
            return parked;
        }
    }
    return NULL;
}

/* It came too late. Only a CANCEL says which process it is from; the sender of a message is whoever had that
 * rank in the last communicator of that id. */
static void see_late(mca_pml_fastpath_parked_t *parked, todo_t *todo)
{
    const mca_pml_fastpath_match_hdr_t *hdr = &parked->hdr->hdr_match;

    if (is_cancel(parked)) {
        todo->answer = true;
        todo->settled = parked->hdr->hdr_cancel;
        todo->dropped = mca_pml_fastpath_freed_dropped(&todo->settled);
        if (todo->dropped) {
            todo->lost = forget_parked(&todo->settled);
            todo->sender = todo->settled.hdr_name;
        }
        return;
    }
    ++mca_pml_fastpath.late;
    if (MCA_PML_FASTPATH_HDR_MULTI == hdr->hdr_type) { /* but for such a one */
        todo->sender = parked->hdr->hdr_multi.hdr_name;
        todo->lost = parked;
    } else if (mca_pml_fastpath_freed_sender(hdr->hdr_ctx, hdr->hdr_src, &todo->sender)) {
        todo->lost = parked;
    }
}

/* Keep it, or say that it is too late. The PML is locked. */
static void keep_parked(mca_pml_fastpath_parked_t *parked, todo_t *todo)
{
    todo->late = is_late(parked);
    if (todo->late) {
        see_late(parked, todo);
        return;
    }
    opal_list_append(&mca_pml_fastpath.pending, &parked->super);
    if (is_cancel(parked)) {
        ++mca_pml_fastpath.pending_unanswered;
    }
    todo->answer = 0 != mca_pml_fastpath.pending_unanswered && settle(&todo->settled);
    todo->dropped = true;
}

/* When this process has come to its end nobody there waits for that. */
void mca_pml_fastpath_pending_drop(const mca_pml_fastpath_parked_t *lost, opal_process_name_t sender)
{
    ompi_proc_t *proc;
    mca_pml_fastpath_peer_t *peer;

    if (NULL != lost && MCA_PML_FASTPATH_HDR_MULTI == lost->hdr->hdr_type) {
        mca_pml_fastpath_multi_lost(lost);
    }
    if (NULL == lost || mca_pml_fastpath_at_end()) {
        return;
    }
    proc = (ompi_proc_t *) ompi_proc_for_name(sender);
    peer = NULL == proc ? NULL : mca_pml_fastpath_peer_get(proc);
    if (NULL != peer) {
        mca_pml_fastpath_credit_consumed(peer, lost->hdr->hdr_type, mca_pml_fastpath_parked_unasked(lost),
                                         opal_using_threads());
        if (0 != (MCA_PML_FASTPATH_HDR_FLAG_TELL & lost->hdr->hdr_match.hdr_flags)) {
            mca_pml_fastpath_number_tell_late(peer, &lost->hdr->hdr_match);
        }
        OBJ_RELEASE(peer);
    }
}

ompi_communicator_t *mca_pml_fastpath_pending(mca_btl_base_module_t *btl, const mca_pml_fastpath_hdr_t *hdr,
                                              const mca_btl_base_segment_t *segments, size_t num_segments,
                                              size_t skip)
{
    mca_pml_fastpath_parked_t *parked = mca_pml_fastpath_park(btl, hdr, segments, num_segments, skip);
    todo_t todo = {.late = false, .lost = NULL, .answer = false};
    ompi_communicator_t *comm;

    /* asked again under the lock: mca_pml_fastpath_pending_adopt looks through the list after the
     * communicator has become known */
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    comm = mca_pml_fastpath_comm_hold_locked(parked->hdr->hdr_match.hdr_ctx);
    if (OPAL_LIKELY(NULL == comm)) {
        keep_parked(parked, &todo);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    mca_pml_fastpath_pending_drop(todo.lost, todo.sender);
    if (NULL != todo.lost && parked != todo.lost) {
        mca_pml_fastpath_parked_free(todo.lost);
    }
    if (NULL != comm || todo.late) {
        mca_pml_fastpath_parked_free(parked);
    }
    if (todo.answer) {
        mca_pml_fastpath_cancel_answer(todo.settled.hdr_name, todo.settled.hdr_src_req, todo.dropped);
    }
    return comm;
}
