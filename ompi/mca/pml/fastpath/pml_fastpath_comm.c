/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "pml_fastpath_bml.h"
#include "pml_fastpath_cancel.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_freed.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_number.h"

/* Nobody's: only the lock is used before mca_pml_fastpath_comm_init(). */
static void comm_clear(mca_pml_fastpath_comm_t *pml_comm)
{
    pml_comm->next = NULL;
    pml_comm->comm = NULL;
    pml_comm->incarnation = 0;
    pml_comm->size = 0;
    pml_comm->any_src = 0;
    pml_comm->any_streak = 0;
    pml_comm->any_hits = 0;
    pml_comm->members = NULL;
}

static void comm_construct(mca_pml_fastpath_comm_t *pml_comm)
{
    OBJ_CONSTRUCT(&pml_comm->lock, opal_mutex_t);
    pml_comm->ctx = MCA_PML_FASTPATH_CTX_UNKNOWN;
    comm_clear(pml_comm);
}

/* Messages that nobody received before the communicator was freed go with it. */
static void messages_release(mca_pml_fastpath_matcher_t *matcher, mca_pml_fastpath_match_link_t *list)
{
    while (!mca_pml_fastpath_match_empty(list)) {
        mca_pml_fastpath_match_msg_t *msg =
            mca_pml_fastpath_match_msg(list->next, MCA_PML_FASTPATH_MATCH_ALL);

        mca_pml_fastpath_match_take(matcher, msg);
        mca_pml_fastpath_message_return(mca_pml_fastpath_message_of(msg));
    }
}

static void member_free(mca_pml_fastpath_member_t *member)
{
    opal_list_item_t *item;

    while (NULL != (item = opal_list_remove_first(&member->early))) {
        mca_pml_fastpath_parked_free((mca_pml_fastpath_parked_t *) item);
    }
    OBJ_DESTRUCT(&member->withdrawn);
    OBJ_DESTRUCT(&member->early);
    if (NULL != member->peer) {
        OBJ_RELEASE(member->peer);
    }
    free(member);
}

/* Give back all that belongs to it. */
static void comm_empty(mca_pml_fastpath_comm_t *pml_comm)
{
    if (NULL != pml_comm->members) {
        messages_release(&pml_comm->matcher, &pml_comm->matcher.all.unexpected);
        messages_release(&pml_comm->matcher, &pml_comm->matcher.internal);
        for (int rank = 0; rank < pml_comm->size; ++rank) {
            if (NULL != pml_comm->members[rank]) {
                member_free(pml_comm->members[rank]);
            }
        }
        free(pml_comm->members);
        mca_pml_fastpath_matcher_fini(&pml_comm->matcher);
    }
}

static void comm_destruct(mca_pml_fastpath_comm_t *pml_comm)
{
    comm_empty(pml_comm);
    OBJ_DESTRUCT(&pml_comm->lock);
}

OBJ_CLASS_INSTANCE(mca_pml_fastpath_comm_t, opal_object_t, comm_construct, comm_destruct);

/* What a message cost. When the job is ending nobody waits for that. */
static void give_back(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm, int rank, uint8_t type,
                      size_t payload)
{
    if (!mca_pml_fastpath_at_end()) {
        mca_pml_fastpath_consumed(pml_comm->members[rank], comm, rank, type, payload);
    }
}

static void give_back_list(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm,
                           mca_pml_fastpath_match_link_t *list)
{
    for (mca_pml_fastpath_match_link_t *link = list->next; link != list; link = link->next) {
        mca_pml_fastpath_match_msg_t *msg = mca_pml_fastpath_match_msg(link, MCA_PML_FASTPATH_MATCH_ALL);
        const mca_pml_fastpath_message_t *message = mca_pml_fastpath_message_of(msg);

        give_back(pml_comm, comm, msg->src, message->type, mca_pml_fastpath_message_unasked(message));
    }
}

void mca_pml_fastpath_comm_abandon(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    give_back_list(pml_comm, comm, &pml_comm->matcher.all.unexpected);
    give_back_list(pml_comm, comm, &pml_comm->matcher.internal);
    for (int rank = 0; rank < pml_comm->size; ++rank) {
        mca_pml_fastpath_member_t *member = pml_comm->members[rank];
        mca_pml_fastpath_parked_t *parked;
        opal_list_item_t *item;

        if (NULL == member) {
            continue;
        }
        OPAL_LIST_FOREACH(parked, &member->early, mca_pml_fastpath_parked_t)
        {
            give_back(pml_comm, comm, rank, parked->hdr->hdr_type, mca_pml_fastpath_parked_unasked(parked));
            if (MCA_PML_FASTPATH_HDR_MULTI == parked->hdr->hdr_type) {
                mca_pml_fastpath_multi_lost(parked);
            }
            if (0 != (MCA_PML_FASTPATH_HDR_FLAG_TELL & parked->hdr->hdr_match.hdr_flags)
                && mca_pml_fastpath_ctx_is_known(member->ctx) && !mca_pml_fastpath_at_end()) {
                mca_pml_fastpath_number_tell(member, comm, rank, parked->hdr->hdr_match.hdr_seq);
            }
        }
        while (NULL != (item = opal_list_remove_first(&member->withdrawn))) {
            mca_pml_fastpath_cancel_withdrawn_done((mca_pml_fastpath_withdrawn_t *) item);
        }
    }
}

mca_pml_fastpath_comm_t *mca_pml_fastpath_comm_new(void)
{
    mca_pml_fastpath_comm_t *pml_comm;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    pml_comm = mca_pml_fastpath.spare_comms;
    if (NULL != pml_comm) {
        mca_pml_fastpath.spare_comms = pml_comm->next;
        pml_comm->next = NULL;
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return NULL != pml_comm ? pml_comm : OBJ_NEW(mca_pml_fastpath_comm_t);
}

void mca_pml_fastpath_comm_recycle(mca_pml_fastpath_comm_t *pml_comm)
{
    comm_empty(pml_comm);
    comm_clear(pml_comm);
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    pml_comm->next = mca_pml_fastpath.spare_comms;
    mca_pml_fastpath.spare_comms = pml_comm;
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

void mca_pml_fastpath_comms_fini(void)
{
    while (NULL != mca_pml_fastpath.spare_comms) {
        mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath.spare_comms;

        mca_pml_fastpath.spare_comms = pml_comm->next;
        OBJ_RELEASE(pml_comm);
    }
}

/* Take one out of its list, which it may not be in: the one behind before is it. */
static void unlink_behind(mca_pml_fastpath_comm_t *before, mca_pml_fastpath_comm_t *pml_comm)
{
    if (NULL == before) {
        mca_pml_fastpath.comms[pml_comm->ctx % MCA_PML_FASTPATH_COMMS] = pml_comm->next;
    } else {
        before->next = pml_comm->next;
    }
}

/* The one of that number, and the one before it in its list, if it is not the first. The PML is locked. */
static mca_pml_fastpath_comm_t *search(uint32_t ctx, mca_pml_fastpath_comm_t **before)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath.comms[ctx % MCA_PML_FASTPATH_COMMS];

    *before = NULL;
    while (NULL != pml_comm && ctx != pml_comm->ctx) {
        *before = pml_comm;
        pml_comm = pml_comm->next;
    }
    return pml_comm;
}

/* All of it is there before it can be found without the lock. */
static void put_first(mca_pml_fastpath_comm_t *pml_comm)
{
    struct mca_pml_fastpath_comm_t *volatile *first =
        &mca_pml_fastpath.comms[pml_comm->ctx % MCA_PML_FASTPATH_COMMS];

    pml_comm->next = *first;
    opal_atomic_wmb();
    *first = pml_comm;
}

void mca_pml_fastpath_comm_enter(mca_pml_fastpath_comm_t *pml_comm)
{
    mca_pml_fastpath_comm_t *before;
    mca_pml_fastpath_comm_t *old = search(pml_comm->ctx, &before);

    if (OPAL_UNLIKELY(NULL != old)) {
        unlink_behind(before, old); /* Open MPI has announced another one without having freed this one */
    }
    put_first(pml_comm);
}

void mca_pml_fastpath_comm_end(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    mca_pml_fastpath_comm_t *before;

    if (MCA_PML_FASTPATH_CTX_UNKNOWN == pml_comm->ctx) {
        return;
    }
    OPAL_THREAD_LOCK(&pml_comm->lock);
    mca_pml_fastpath_freed_remember(pml_comm, comm);
    if (mca_pml_fastpath_comm_has_extcid(pml_comm)) {
        mca_pml_fastpath_extcid_end(pml_comm->ctx);
    }
    if (pml_comm == search(pml_comm->ctx, &before)) {
        unlink_behind(before, pml_comm);
    }
    pml_comm->ctx = MCA_PML_FASTPATH_CTX_UNKNOWN;
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
}

/* Take a reference, unless the last one has gone. The object is there: who destroys it calls del_comm first,
 * which waits for the PML's lock. */
static bool retain(ompi_communicator_t *comm)
{
    opal_atomic_int32_t *references = (opal_atomic_int32_t *) &((opal_object_t *) comm)->obj_reference_count;
    int32_t count = *references;

    while (0 < count && !OPAL_THREAD_COMPARE_EXCHANGE_STRONG_32(references, &count, count + 1)) {
        continue;
    }
    return 0 < count;
}

ompi_communicator_t *mca_pml_fastpath_comm_hold_locked(uint32_t ctx)
{
    mca_pml_fastpath_comm_t *before;
    mca_pml_fastpath_comm_t *pml_comm = search(ctx, &before);

    if (NULL == pml_comm || pml_comm != mca_pml_fastpath_comm(pml_comm->comm)) {
        return NULL;
    }
    if (NULL != before) { /* the next message to it finds it first */
        mca_pml_fastpath_count(MCA_PML_FASTPATH_COMMS_SEARCHED);
        unlink_behind(before, pml_comm);
        put_first(pml_comm);
    }
    if (OPAL_UNLIKELY(!retain(pml_comm->comm))) {
        mca_pml_fastpath_comm_end(pml_comm, pml_comm->comm); /* as del_comm is about to do */
        return NULL;
    }
    return pml_comm->comm;
}

ompi_communicator_t *mca_pml_fastpath_comm_hold(uint32_t ctx)
{
    ompi_communicator_t *comm;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    comm = mca_pml_fastpath_comm_hold_locked(ctx);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return comm;
}

int mca_pml_fastpath_comm_init(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    int size = comm->c_remote_group->grp_proc_count;
    uint32_t ctx;

    if (0 != mca_pml_fastpath_matcher_init(&pml_comm->matcher)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    pml_comm->members = calloc(0 == size ? 1 : (size_t) size, sizeof(pml_comm->members[0]));
    if (NULL == pml_comm->members) {
        mca_pml_fastpath_matcher_fini(&pml_comm->matcher);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    ctx = fastpath_comm_has_name(comm) ? mca_pml_fastpath_extcid_begin(comm) : fastpath_comm_cid(comm);
    if (OPAL_UNLIKELY(!mca_pml_fastpath_ctx_is_known(ctx))) {
        return OMPI_ERR_OUT_OF_RESOURCE; /* mca_pml_fastpath_comm_recycle() sees to the rest */
    }
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    pml_comm->incarnation = ++mca_pml_fastpath.incarnations;
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    OPAL_THREAD_LOCK(&pml_comm->lock); /* somebody may still look for the one whose memory this was */
    pml_comm->size = size;
    pml_comm->comm = comm;
    pml_comm->ctx = ctx;
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return OMPI_SUCCESS;
}

mca_pml_fastpath_member_t *mca_pml_fastpath_member_create(mca_pml_fastpath_comm_t *pml_comm, int rank)
{
    mca_pml_fastpath_member_t *member = calloc(1, sizeof(*member));
    void *none = NULL;

    if (NULL == member) {
        return NULL;
    }
    OBJ_CONSTRUCT(&member->early, opal_list_t);
    OBJ_CONSTRUCT(&member->withdrawn, opal_list_t);
    member->expected = 1;
    member->early_hits = MCA_PML_FASTPATH_EARLY_HITS;
    member->ctx = mca_pml_fastpath_comm_has_extcid(pml_comm) ? MCA_PML_FASTPATH_CTX_UNKNOWN : pml_comm->ctx;
    /* two threads may come here for the same rank, one of them with the communicator locked */
    opal_atomic_wmb();
    if (!OPAL_THREAD_COMPARE_EXCHANGE_STRONG_PTR((opal_atomic_intptr_t *) &pml_comm->members[rank], &none,
                                                 member)) {
        OBJ_DESTRUCT(&member->withdrawn);
        OBJ_DESTRUCT(&member->early);
        free(member);
    }
    return pml_comm->members[rank];
}

bool mca_pml_fastpath_member_connect(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm, int rank)
{
    ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
    mca_pml_fastpath_peer_t *peer = NULL == proc ? NULL : mca_pml_fastpath_peer_get(proc);
    void *none = NULL;

    if (NULL == peer) {
        return false;
    }
    opal_atomic_wmb();
    if (!OPAL_THREAD_COMPARE_EXCHANGE_STRONG_PTR((opal_atomic_intptr_t *) &member->peer, &none, peer)) {
        OBJ_RELEASE(peer); /* another thread was first; it found the same peer */
    }
    return true;
}

/* With pml_fastpath_debug_fault_percent: as if the FIFO were full. */
static int refuse_sendi(struct mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                        const void *payload, size_t payload_size, mca_btl_base_tag_t tag)
{
    if (mca_pml_fastpath_fault()) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return mca_pml_fastpath.fastsm_ext->sendi(endpoint, word0, word1, payload, payload_size, tag);
}

static int refuse_sendi_numbered(struct mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                                 const void *payload, size_t payload_size, mca_btl_base_tag_t tag,
                                 mca_btl_fastsm_stamp_t *stamp)
{
    if (mca_pml_fastpath_fault()) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return mca_pml_fastpath.fastsm_ext->sendi_numbered(endpoint, word0, word1, payload, payload_size, tag,
                                                       stamp);
}

void mca_pml_fastpath_member_open(mca_pml_fastpath_member_t *member)
{
    const mca_pml_fastpath_peer_t *peer = member->peer;

    if (NULL == peer->ext || !mca_pml_fastpath.use_sendi || !mca_pml_fastpath.use_immediate
        || !mca_pml_fastpath_ctx_is_known(member->ctx)) {
        return;
    }
    opal_atomic_wmb(); /* whoever sees sendi sees the communicator's number */
    if (0 != mca_pml_fastpath.fault_percent) {
        member->sendi_numbered = refuse_sendi_numbered;
        member->sendi = refuse_sendi;
        return;
    }
    member->sendi_numbered = peer->ext->sendi_numbered;
    opal_atomic_wmb(); /* and this */
    member->sendi = peer->ext->sendi;
    member->out = peer->ext->sender(peer->btl_endpoint);
}
