/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "pml_fastpath_bml.h"
#include "pml_fastpath_cancel.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_named.h"

static void comm_construct(mca_pml_fastpath_comm_t *pml_comm)
{
    OBJ_CONSTRUCT(&pml_comm->lock, opal_mutex_t);
    pml_comm->comm = NULL;
    pml_comm->ctx = MCA_PML_FASTPATH_CTX_UNKNOWN;
    pml_comm->incarnation = 0;
    pml_comm->size = 0;
    pml_comm->any_src = 0;
    pml_comm->any_streak = 0;
    pml_comm->any_hits = 0;
    pml_comm->members = NULL;
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

static void comm_destruct(mca_pml_fastpath_comm_t *pml_comm)
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
    OBJ_DESTRUCT(&pml_comm->lock);
}

OBJ_CLASS_INSTANCE(mca_pml_fastpath_comm_t, opal_object_t, comm_construct, comm_destruct);

/* What a message cost. When the job is ending nobody waits for that. */
static void give_back(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm, int rank, int64_t cost)
{
    mca_pml_fastpath_peer_t *peer = mca_pml_fastpath_member_peer(pml_comm->members[rank], comm, rank);

    if (NULL != peer && !mca_pml_fastpath_at_end()) {
        mca_pml_fastpath_credit_consumed(peer, cost);
    }
}

static void give_back_list(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm,
                           mca_pml_fastpath_match_link_t *list)
{
    for (mca_pml_fastpath_match_link_t *link = list->next; link != list; link = link->next) {
        mca_pml_fastpath_match_msg_t *msg = mca_pml_fastpath_match_msg(link, MCA_PML_FASTPATH_MATCH_ALL);
        const mca_pml_fastpath_message_t *message = mca_pml_fastpath_message_of(msg);

        give_back(pml_comm, comm, msg->src,
                  mca_pml_fastpath_credit_cost(message->type, mca_pml_fastpath_message_payload(message)));
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
            give_back(
                pml_comm, comm, rank,
                mca_pml_fastpath_credit_cost(parked->hdr->hdr_type, mca_pml_fastpath_parked_payload(parked)));
        }
        while (NULL != (item = opal_list_remove_first(&member->withdrawn))) {
            mca_pml_fastpath_cancel_withdrawn_done((mca_pml_fastpath_withdrawn_t *) item);
        }
    }
}

void mca_pml_fastpath_comm_enter(mca_pml_fastpath_comm_t *pml_comm)
{
    mca_pml_fastpath.comms[pml_comm->ctx % MCA_PML_FASTPATH_COMMS] = pml_comm;
}

void mca_pml_fastpath_comm_leave(mca_pml_fastpath_comm_t *pml_comm)
{
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    if (pml_comm == mca_pml_fastpath.comms[pml_comm->ctx % MCA_PML_FASTPATH_COMMS]) {
        mca_pml_fastpath.comms[pml_comm->ctx % MCA_PML_FASTPATH_COMMS] = NULL;
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

int mca_pml_fastpath_comm_init(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    int size = comm->c_remote_group->grp_proc_count;

    if (0 != mca_pml_fastpath_matcher_init(&pml_comm->matcher)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    pml_comm->members = calloc(0 == size ? 1 : (size_t) size, sizeof(pml_comm->members[0]));
    if (NULL == pml_comm->members) {
        mca_pml_fastpath_matcher_fini(&pml_comm->matcher);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    pml_comm->ctx =
        fastpath_comm_has_name(comm) ? mca_pml_fastpath_named_begin(comm) : fastpath_comm_cid(comm);
    if (OPAL_UNLIKELY(!mca_pml_fastpath_ctx_is_known(pml_comm->ctx))) {
        return OMPI_ERR_OUT_OF_RESOURCE; /* the destructor sees to the rest */
    }
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    pml_comm->incarnation = ++mca_pml_fastpath.incarnations;
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    pml_comm->size = size;
    pml_comm->comm = comm;
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
    member->ahead = MCA_PML_FASTPATH_AHEAD;
    member->ctx = mca_pml_fastpath_comm_is_named(pml_comm) ? MCA_PML_FASTPATH_CTX_UNKNOWN : pml_comm->ctx;
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

/* With pml_fastpath_debug_refuse: as if the FIFO were full. */
static int refuse_sendi(struct mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                        const void *payload, size_t payload_size, mca_btl_base_tag_t tag)
{
    if (mca_pml_fastpath_refuse()) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return mca_pml_fastpath.fastsm_ext->sendi(endpoint, word0, word1, payload, payload_size, tag);
}

void mca_pml_fastpath_member_open(mca_pml_fastpath_member_t *member)
{
    const mca_pml_fastpath_peer_t *peer = member->peer;

    if (NULL == peer->ext || !mca_pml_fastpath.use_sendi || !mca_pml_fastpath.use_immediate
        || !mca_pml_fastpath_ctx_is_known(member->ctx)) {
        return;
    }
    opal_atomic_wmb(); /* whoever sees sendi sees the communicator's number */
    if (0 != mca_pml_fastpath.refuse) {
        member->sendi = refuse_sendi;
        return;
    }
    member->sendi = peer->ext->sendi;
    member->out = peer->ext->sender(peer->btl_endpoint);
}
