/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_cancel.h"
#include "pml_fastpath_former.h"
#include "pml_fastpath_joint.h"
#include "pml_fastpath_orphan.h"
#include "pml_fastpath_recvfrag.h"

static inline bool is_cancel(const mca_pml_fastpath_parked_t *parked)
{
    return MCA_PML_FASTPATH_HDR_CANCEL == parked->hdr->hdr_type;
}

/* Does the message that a CANCEL names wait here? Messages carry the lower half of their number; the
 * first one of a sender has number 1, and none is 32768 places from where it belongs. */
static bool is_here(const mca_pml_fastpath_cancel_hdr_t *cancel)
{
    mca_pml_fastpath_parked_t *parked;
    uint32_t sequence = 0;

    OPAL_LIST_FOREACH(parked, &mca_pml_fastpath.orphans, mca_pml_fastpath_parked_t)
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

    OPAL_LIST_FOREACH(parked, &mca_pml_fastpath.orphans, mca_pml_fastpath_parked_t)
    {
        mca_pml_fastpath_cancel_hdr_t *cancel = &parked->hdr->hdr_cancel;

        if (is_cancel(parked) && 0 == (MCA_PML_FASTPATH_HDR_FLAG_DONE & cancel->hdr_match.hdr_flags)
            && is_here(cancel)) {
            *settled = *cancel;
            cancel->hdr_match.hdr_flags |= MCA_PML_FASTPATH_HDR_FLAG_DONE;
            --mca_pml_fastpath.orphans_unanswered;
            return true;
        }
    }
    return false;
}

/* Has its communicator been freed here? Where a communicator may be used before it is known, a message of
 * an id that is being agreed upon is kept until then, or until its CANCEL says which one it means. */
static bool is_late(const mca_pml_fastpath_parked_t *parked)
{
    const uint32_t ctx = parked->hdr->hdr_match.hdr_ctx;

    if (!mca_pml_fastpath_former_is(ctx)) {
        return false;
    }
    if (!FASTPATH_EARLY_INTERCOMMS || mca_pml_fastpath_ctx_is_own(ctx) || !fastpath_comm_id_is_taken(ctx)) {
        return true;
    }
    return is_cancel(parked) && !mca_pml_fastpath_joint_is_new(&parked->hdr->hdr_cancel);
}

/* The communicator that a CANCEL means is gone; its message may have been kept for the next one. */
static void forget(const mca_pml_fastpath_cancel_hdr_t *cancel)
{
    mca_pml_fastpath_parked_t *parked;

    OPAL_LIST_FOREACH(parked, &mca_pml_fastpath.orphans, mca_pml_fastpath_parked_t)
    {
        const mca_pml_fastpath_match_hdr_t *hdr = &parked->hdr->hdr_match;

        if (!is_cancel(parked) && hdr->hdr_ctx == cancel->hdr_match.hdr_ctx
            && hdr->hdr_src == cancel->hdr_match.hdr_src && hdr->hdr_seq == (uint16_t) cancel->hdr_sequence) {
            opal_list_remove_item(&mca_pml_fastpath.orphans, &parked->super);
            mca_pml_fastpath_parked_free(parked);
            ++mca_pml_fastpath.late;
            return;
        }
    }
}

/* Keep it, or say that it is too late. @return whether a CANCEL can be answered now, a copy of which is
 * in settled. The PML is locked. */
static bool keep(mca_pml_fastpath_parked_t *parked, bool *late, mca_pml_fastpath_cancel_hdr_t *settled,
                 bool *dropped)
{
    *late = is_late(parked);
    if (*late) {
        if (is_cancel(parked)) {
            *settled = parked->hdr->hdr_cancel;
            *dropped = mca_pml_fastpath_former_dropped(settled);
            if (*dropped) {
                forget(settled);
            }
            return true;
        }
        ++mca_pml_fastpath.late;
        return false;
    }
    opal_list_append(&mca_pml_fastpath.orphans, &parked->super);
    if (is_cancel(parked)) {
        ++mca_pml_fastpath.orphans_unanswered;
    }
    return 0 != mca_pml_fastpath.orphans_unanswered && settle(settled);
}

ompi_communicator_t *mca_pml_fastpath_orphan(mca_btl_base_module_t *btl,
                                             const mca_btl_base_segment_t *segments, size_t num_segments)
{
    mca_pml_fastpath_parked_t *parked = mca_pml_fastpath_park(btl, segments, num_segments);
    mca_pml_fastpath_cancel_hdr_t settled;
    ompi_communicator_t *comm;
    bool dropped = true;
    bool answer = false;
    bool late = false;

    /* asked again under the lock: orphans_adopt looks through the list after the communicator has become
     * known */
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    comm = mca_pml_fastpath_known_comm(parked->hdr->hdr_match.hdr_ctx);
    if (OPAL_LIKELY(NULL == comm)) {
        answer = keep(parked, &late, &settled, &dropped);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    if (NULL != comm || late) {
        mca_pml_fastpath_parked_free(parked);
    }
    if (answer) {
        mca_pml_fastpath_cancel_answer(settled.hdr_name, settled.hdr_src_req, dropped);
    }
    return comm;
}

void mca_pml_fastpath_orphans_adopt(ompi_communicator_t *comm)
{
    uint32_t ctx = mca_pml_fastpath_comm(comm)->ctx;
    mca_pml_fastpath_parked_t *parked, *next;
    opal_list_t adopted;

    OBJ_CONSTRUCT(&adopted, opal_list_t);
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    OPAL_LIST_FOREACH_SAFE(parked, next, &mca_pml_fastpath.orphans, mca_pml_fastpath_parked_t)
    {
        if (parked->hdr->hdr_match.hdr_ctx == ctx) {
            opal_list_remove_item(&mca_pml_fastpath.orphans, &parked->super);
            opal_list_append(&adopted, &parked->super);
            if (is_cancel(parked)
                && 0 == (MCA_PML_FASTPATH_HDR_FLAG_DONE & parked->hdr->hdr_match.hdr_flags)) {
                --mca_pml_fastpath.orphans_unanswered;
            }
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    while (NULL != (parked = (mca_pml_fastpath_parked_t *) opal_list_remove_first(&adopted))) {
        if (is_cancel(parked)) {
            mca_pml_fastpath_cancel_requested(parked->btl, &parked->hdr->hdr_cancel);
        } else {
            mca_pml_fastpath_recvfrag_replay(parked);
        }
        mca_pml_fastpath_parked_free(parked);
    }
    OBJ_DESTRUCT(&adopted);
}
