/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "pml_fastpath_bml.h"
#include "pml_fastpath_comm.h"
#include "pml_fastpath_counters.h"

/* Reset to an unused communicator: until add_comm has filled it in only its lock is used. */
static void comm_clear(mca_pml_fastpath_comm_t *pml_comm)
{
    pml_comm->next = NULL;
    pml_comm->comm = NULL;
    pml_comm->incarnation = 0;
    pml_comm->size = 0;
    pml_comm->any_src = 0;
    pml_comm->any_streak = 0;
    pml_comm->any_hits = 0;
    pml_comm->probed.src = -1;
    pml_comm->members = NULL;
}

static void comm_construct(mca_pml_fastpath_comm_t *pml_comm)
{
    OBJ_CONSTRUCT(&pml_comm->lock, opal_mutex_t);
    pml_comm->ctx = MCA_PML_FASTPATH_CTX_UNKNOWN;
    comm_clear(pml_comm);
}

static void comm_destruct(mca_pml_fastpath_comm_t *pml_comm)
{
    OBJ_DESTRUCT(&pml_comm->lock);
}

OBJ_CLASS_INSTANCE(mca_pml_fastpath_comm_t, opal_object_t, comm_construct, comm_destruct);

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

/* Unlink a communicator from its list, behind `before`, or as the first one if that is NULL. It need not be
 * in the list. */
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

void mca_pml_fastpath_comm_leave(mca_pml_fastpath_comm_t *pml_comm)
{
    mca_pml_fastpath_comm_t *before;

    if (pml_comm == search(pml_comm->ctx, &before)) {
        unlink_behind(before, pml_comm);
    }
    pml_comm->ctx = MCA_PML_FASTPATH_CTX_UNKNOWN;
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
        mca_pml_fastpath.handlers.end_comm(pml_comm, pml_comm->comm); /* as del_comm is about to do */
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
static int member_refuse_sendi(struct mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                               const void *payload, size_t payload_size, mca_btl_base_tag_t tag)
{
    if (mca_pml_fastpath_fault()) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return mca_pml_fastpath.fastsm_ext->sendi(endpoint, word0, word1, payload, payload_size, tag);
}

static int member_refuse_sendi_numbered(struct mca_btl_base_endpoint_t *endpoint, uint64_t word0,
                                        uint64_t word1, const void *payload, size_t payload_size,
                                        mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp)
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

    if (NULL == peer->ext || !mca_pml_fastpath.use_immediate_send || !mca_pml_fastpath.use_immediate
        || !mca_pml_fastpath_ctx_is_known(member->ctx)) {
        return;
    }
    opal_atomic_wmb(); /* whoever sees sendi sees the communicator's number */
    if (0 != mca_pml_fastpath.fault_percent) {
        member->sendi_numbered = member_refuse_sendi_numbered;
        member->sendi = member_refuse_sendi;
        return;
    }
    member->sendi_numbered = peer->ext->sendi_numbered;
    opal_atomic_wmb(); /* and this */
    member->sendi = peer->ext->sendi;
    member->out = peer->ext->sender(peer->btl_endpoint);
}
