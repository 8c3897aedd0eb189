/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Communicators come into being and end, and what there is of their messages then.
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "pml_fastpath_adopt.h"
#include "pml_fastpath_cancel.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_freed.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_number.h"

/* Messages that nobody received before the communicator was freed go with it. */
static void messages_release(mca_pml_fastpath_matcher_t *matcher, mca_pml_fastpath_match_link_t *list)
{
    while (!mca_pml_fastpath_match_empty(list)) {
        mca_pml_fastpath_match_msg_t *msg =
            mca_pml_fastpath_match_msg(list->next, MCA_PML_FASTPATH_MATCH_ALL);

        mca_pml_fastpath_match_take(matcher, msg);
        mca_pml_fastpath_multi_return(mca_pml_fastpath_message_of(msg));
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

/* Give back all that belongs to our part of a communicator, and itself for the next one. */
static void comm_free(mca_pml_fastpath_comm_t *pml_comm)
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
    mca_pml_fastpath_comm_recycle(pml_comm);
}

/* What a message cost. When the job is ending nobody waits for that. */
static void give_back_cost(mca_pml_fastpath_comm_t *pml_comm, int rank, uint8_t type, size_t payload)
{
    if (!mca_pml_fastpath_at_end()) {
        mca_pml_fastpath_consumed(pml_comm->members[rank], pml_comm->comm, rank, type, payload);
    }
}

static void give_back_message(mca_pml_fastpath_match_msg_t *msg, void *pml_comm)
{
    const mca_pml_fastpath_message_t *message = mca_pml_fastpath_message_of(msg);

    give_back_cost(pml_comm, msg->src, message->type, mca_pml_fastpath_message_unasked(message));
}

/* A communicator that nobody can receive on any more: give their senders back what its messages cost, and
 * answer who has cancelled one. */
static void comm_abandon(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    mca_pml_fastpath_match_each_unexpected(&pml_comm->matcher, give_back_message, pml_comm);
    for (int rank = 0; rank < pml_comm->size; ++rank) {
        mca_pml_fastpath_member_t *member = pml_comm->members[rank];
        mca_pml_fastpath_parked_t *parked;
        opal_list_item_t *item;

        if (NULL == member) {
            continue;
        }
        OPAL_LIST_FOREACH(parked, &member->early, mca_pml_fastpath_parked_t)
        {
            give_back_cost(pml_comm, rank, parked->hdr->hdr_type, mca_pml_fastpath_parked_unasked(parked));
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

void mca_pml_fastpath_comm_end(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    if (MCA_PML_FASTPATH_CTX_UNKNOWN == pml_comm->ctx) {
        return;
    }
    OPAL_THREAD_LOCK(&pml_comm->lock);
    mca_pml_fastpath_freed_remember(pml_comm, comm);
    if (mca_pml_fastpath_comm_has_extcid(pml_comm)) {
        mca_pml_fastpath_extcid_set(pml_comm->ctx, NULL);
    }
    mca_pml_fastpath_comm_leave(pml_comm);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
}

/* Prepare the members' table. @return OMPI_SUCCESS or OMPI_ERR_OUT_OF_RESOURCE */
static int comm_init(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
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
        return OMPI_ERR_OUT_OF_RESOURCE; /* comm_free() sees to the rest */
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

/* They have no endpoint when nobody has added them. */
static size_t strangers(ompi_communicator_t *comm, int size, ompi_proc_t **procs)
{
    const opal_jobid_t own = opal_proc_local_get()->proc_name.jobid;
    size_t count = 0;

    for (int rank = 0; rank < size; ++rank) {
        ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);

        if (NULL != proc && own != proc->super.proc_name.jobid
            && NULL == proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML]) {
            procs[count++] = proc;
        }
    }
    return count;
}

/* Add the processes of other jobs that a new communicator connects us with. Open MPI 4.1 does so itself; 5.0
 * and 6.0 hand an empty list to add_procs, and somebody who only receives would never know who sends. */
static int meet_jobs(ompi_communicator_t *comm)
{
    int size = ompi_comm_remote_size(comm), rc;
    ompi_proc_t **procs;

    if (FASTPATH_JOBS_ARE_ADDED || 0 == size) {
        return OMPI_SUCCESS; /* jobs are connected by intercommunicators */
    }
    procs = malloc((size_t) size * sizeof(*procs));
    if (NULL == procs) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = mca_pml_fastpath_add_procs(procs, strangers(comm, size, procs));
    free(procs);
    return rc;
}

int mca_pml_fastpath_add_comm(ompi_communicator_t *comm)
{
    mca_pml_fastpath_comm_t *pml_comm;
    int rc = meet_jobs(comm);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    pml_comm = mca_pml_fastpath_comm_new();
    if (NULL == pml_comm) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = comm_init(pml_comm, comm);
    if (OMPI_SUCCESS != rc) {
        comm_free(pml_comm);
        return rc;
    }
    /* together: whoever looks under the lock finds that it is known, or that it is still to come */
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    rc = mca_pml_fastpath_epoch_begin(pml_comm, comm);
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        opal_atomic_wmb();
        comm->c_pml_comm = (struct mca_pml_comm_t *) pml_comm;
        fastpath_comm_announced(comm);
        mca_pml_fastpath_comm_enter(pml_comm);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    if (OMPI_SUCCESS != rc) {
        pml_comm->ctx = MCA_PML_FASTPATH_CTX_UNKNOWN;
        comm_free(pml_comm);
        return rc;
    }
    if (mca_pml_fastpath_comm_has_extcid(pml_comm)) {
        mca_pml_fastpath_extcid_adopt(comm);
    } else {
        mca_pml_fastpath_pending_adopt(comm);
    }
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_del_comm(ompi_communicator_t *comm)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);

    if (NULL != pml_comm) {
        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        mca_pml_fastpath_comm_end(pml_comm, comm);
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
        comm->c_pml_comm = NULL;
        comm_abandon(pml_comm, comm);
        comm_free(pml_comm);
    }
    return OMPI_SUCCESS;
}

/* From here on requests on it end with an error; Open MPI cancels them when somebody waits for them. */
int mca_pml_fastpath_revoke_comm(ompi_communicator_t *comm, bool coll_only)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);

    if (0 < ompi_comm_remote_size(comm)) {
        (void) mca_pml_fastpath_revoke_comm(comm->c_local_comm, coll_only);
    }
    OPAL_THREAD_LOCK(&pml_comm->lock);
    fastpath_comm_revoke(comm, coll_only);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return OMPI_SUCCESS;
}
