/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_adopt.h"
#include "pml_fastpath_cancel.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_freed.h"
#include "pml_fastpath_number.h"
#include "pml_fastpath_recvfrag.h"
#include "pml_fastpath_sync.h"

/* A message whose communicator is not here yet. */
typedef struct {
    opal_list_item_t super;
    mca_pml_fastpath_extcid_hdr_t hdr;
    mca_pml_fastpath_parked_t *parked;
} waiting_t;
static OBJ_CLASS_INSTANCE(waiting_t, opal_list_item_t, NULL, NULL);

static opal_list_t waiting_list; /* waiting_t in the order of their arrival; protected by the PML's lock */

void mca_pml_fastpath_adopt_init(void)
{
    OBJ_CONSTRUCT(&waiting_list, opal_list_t);
}

void mca_pml_fastpath_adopt_fini(void)
{
    waiting_t *waiting;

    while (NULL != (waiting = (waiting_t *) opal_list_remove_first(&waiting_list))) {
        mca_pml_fastpath_parked_free(waiting->parked);
        OBJ_RELEASE(waiting);
    }
    OBJ_DESTRUCT(&waiting_list);
}

/* Whether a process can have given a communicator this number. */
static bool is_number(uint32_t ctx)
{
    return mca_pml_fastpath_ctx_is_own(ctx) && mca_pml_fastpath_ctx_is_known(ctx);
}

/* Learn what a member calls the communicator. */
static mca_pml_fastpath_member_t *learn(const mca_btl_base_module_t *btl, uint8_t type,
                                        ompi_communicator_t *comm, int src, uint32_t ctx)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_member_t *member;

    if (OPAL_UNLIKELY(0 > src || src >= pml_comm->size || !mca_pml_fastpath_comm_has_extcid(pml_comm))) {
        mca_pml_fastpath_corrupt(btl, NULL, type, "sender's rank out of range");
    }
    member =
        mca_pml_fastpath_needed(mca_pml_fastpath_member(pml_comm, src), "a communicator's member", "malloc");
    if (OPAL_UNLIKELY(!is_number(ctx)
                      || (mca_pml_fastpath_ctx_is_known(member->ctx) && ctx != member->ctx))) {
        mca_pml_fastpath_corrupt(btl, NULL, type, "the sender's number of the communicator");
    }
    member->ctx = ctx;
    return member;
}

/* Tell a member, once, what the communicator is called here. */
static void tell(ompi_communicator_t *comm, mca_pml_fastpath_member_t *member, int rank)
{
    const mca_pml_fastpath_known_hdr_t known = {.hdr_type = MCA_PML_FASTPATH_HDR_KNOWN,
                                                .hdr_src = comm->c_my_rank,
                                                .hdr_ctx = mca_pml_fastpath_comm(comm)->ctx,
                                                .hdr_their_ctx = member->ctx};

    if (member->told) {
        return;
    }
    member->told = true; /* another thread may do the same, which costs a message */
    if (mca_pml_fastpath_failure_reach_sender(member, comm, rank)) {
        mca_pml_fastpath_control_send(member->peer, NULL, &known, sizeof(known));
    }
}

/* A message whose communicator is known now. */
static void deliver_parked(mca_pml_fastpath_parked_t *parked)
{
    if (MCA_PML_FASTPATH_HDR_CANCEL == parked->hdr->hdr_type) {
        mca_pml_fastpath_cancel_requested(parked->btl, &parked->hdr->hdr_cancel);
    } else if (MCA_PML_FASTPATH_HDR_PASSED == parked->hdr->hdr_type) {
        mca_pml_fastpath_number_passed(parked->btl, &parked->hdr->hdr_passed);
    } else if (MCA_PML_FASTPATH_HDR_MATCHED == parked->hdr->hdr_type) {
        mca_pml_fastpath_sync_matched(parked->btl, &parked->hdr->hdr_match);
    } else {
        mca_pml_fastpath_recvfrag_replay(parked);
    }
    mca_pml_fastpath_parked_free(parked);
}

/* Deliver a message under our id of the communicator instead of the sender's. comm is NULL if it has been
 * freed. */
static void deliver_adopted(ompi_communicator_t *comm, uint32_t ctx, const mca_pml_fastpath_extcid_hdr_t *hdr,
                            mca_pml_fastpath_parked_t *parked)
{
    int src = parked->hdr->hdr_match.hdr_src;

    parked->hdr->hdr_match.hdr_ctx = ctx;
    if (NULL != comm) {
        mca_pml_fastpath_member_t *member = learn(parked->btl, hdr->hdr_type, comm, src, hdr->hdr_ctx);

        tell(comm, member, src);
    }
    deliver_parked(parked);
}

/* @return whether the communicator is here, with a reference in comm, or has been; else the message waits for
 * it
 */
static bool find_or_wait(const mca_pml_fastpath_extcid_hdr_t *hdr, mca_pml_fastpath_parked_t *parked,
                         uint32_t *ctx, ompi_communicator_t **comm)
{
    waiting_t *waiting;
    bool known;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    known = mca_pml_fastpath_extcid_find(&hdr->hdr_name, ctx, comm);
    if (NULL != *comm) {
        *comm = mca_pml_fastpath_comm_hold_locked(*ctx);
    }
    known = known && (NULL != *comm || mca_pml_fastpath_freed_is(*ctx));
    if (!known) {
        waiting = mca_pml_fastpath_needed(OBJ_NEW(waiting_t), "a message that came early", "malloc");
        waiting->hdr = *hdr;
        waiting->parked = parked;
        opal_list_append(&waiting_list, &waiting->super);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return known;
}

/* What follows the name has to be a message that goes by it. It is not read yet. */
static void check_adopted(const mca_pml_fastpath_parked_t *parked)
{
    const mca_btl_base_segment_t segment = {.seg_addr.pval = (void *) (uintptr_t) parked->hdr,
                                            .seg_len = parked->size};
    const uint8_t type = 0 < parked->size ? parked->hdr->hdr_type : 0;
    mca_pml_fastpath_hdr_t hdr;
    size_t behind;

    if (MCA_PML_FASTPATH_HDR_MATCH != type && MCA_PML_FASTPATH_HDR_RNDV != type
        && MCA_PML_FASTPATH_HDR_CANCEL != type && MCA_PML_FASTPATH_HDR_PASSED != type
        && MCA_PML_FASTPATH_HDR_MATCHED != type) {
        mca_pml_fastpath_corrupt(parked->btl, NULL, MCA_PML_FASTPATH_HDR_EXTCID, "type of its message");
    }
    behind = mca_pml_fastpath_hdr_read(type, parked->btl, &segment, 1, &hdr);
    if (MCA_PML_FASTPATH_HDR_RNDV == type) {
        mca_pml_fastpath_rndv_check(parked->btl, &hdr, behind);
    }
}

void mca_pml_fastpath_extcid_arrived(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                     size_t num_segments)
{
    mca_pml_fastpath_parked_t *parked;
    mca_pml_fastpath_extcid_hdr_t hdr;
    ompi_communicator_t *comm;
    uint32_t ctx;

    (void) mca_pml_fastpath_hdr_read(MCA_PML_FASTPATH_HDR_EXTCID, btl, segments, num_segments, &hdr);
    if (OPAL_UNLIKELY(!is_number(hdr.hdr_ctx))) {
        mca_pml_fastpath_corrupt(btl, NULL, hdr.hdr_type, "the sender's number of the communicator");
    }
    parked = mca_pml_fastpath_park(btl, NULL, segments, num_segments, sizeof(hdr));
    check_adopted(parked);
    if (find_or_wait(&hdr, parked, &ctx, &comm)) {
        deliver_adopted(comm, ctx, &hdr, parked);
        if (NULL != comm) {
            OBJ_RELEASE(comm);
        }
    }
}

void mca_pml_fastpath_extcid_adopt(ompi_communicator_t *comm)
{
    const uint32_t ctx = mca_pml_fastpath_comm(comm)->ctx;
    const fastpath_comm_name_t name = fastpath_comm_name(comm);
    waiting_t *waiting, *next;
    opal_list_t adopted;

    OBJ_CONSTRUCT(&adopted, opal_list_t);
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    mca_pml_fastpath_extcid_set(ctx, comm);
    OPAL_LIST_FOREACH_SAFE(waiting, next, &waiting_list, waiting_t)
    {
        if (0 == memcmp(&waiting->hdr.hdr_name, &name, sizeof(name))) {
            opal_list_remove_item(&waiting_list, &waiting->super);
            opal_list_append(&adopted, &waiting->super);
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    while (NULL != (waiting = (waiting_t *) opal_list_remove_first(&adopted))) {
        deliver_adopted(comm, ctx, &waiting->hdr, waiting->parked);
        OBJ_RELEASE(waiting);
    }
    OBJ_DESTRUCT(&adopted);
}

void mca_pml_fastpath_known_arrived(const mca_btl_base_module_t *btl, const mca_pml_fastpath_known_hdr_t *hdr)
{
    ompi_communicator_t *comm = mca_pml_fastpath_comm_hold(hdr->hdr_their_ctx);

    if (NULL != comm) {
        (void) learn(btl, hdr->hdr_type, comm, hdr->hdr_src, hdr->hdr_ctx);
        OBJ_RELEASE(comm);
    }
}

void mca_pml_fastpath_pending_adopt(ompi_communicator_t *comm)
{
    uint32_t ctx = mca_pml_fastpath_comm(comm)->ctx;
    mca_pml_fastpath_parked_t *parked, *next;
    opal_list_t adopted;

    OBJ_CONSTRUCT(&adopted, opal_list_t);
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    OPAL_LIST_FOREACH_SAFE(parked, next, &mca_pml_fastpath.pending, mca_pml_fastpath_parked_t)
    {
        if (parked->hdr->hdr_match.hdr_ctx == ctx) {
            opal_list_remove_item(&mca_pml_fastpath.pending, &parked->super);
            opal_list_append(&adopted, &parked->super);
            if (MCA_PML_FASTPATH_HDR_CANCEL == parked->hdr->hdr_type
                && 0 == (MCA_PML_FASTPATH_HDR_FLAG_DONE & parked->hdr->hdr_match.hdr_flags)) {
                --mca_pml_fastpath.pending_unanswered;
            }
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    while (NULL != (parked = (mca_pml_fastpath_parked_t *) opal_list_remove_first(&adopted))) {
        deliver_parked(parked);
    }
    OBJ_DESTRUCT(&adopted);
}
