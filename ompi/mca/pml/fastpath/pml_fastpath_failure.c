/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "opal/runtime/opal_progress.h"

#include "ompi/runtime/mpiruntime.h"

#include "pml_fastpath_failure.h"
#include "pml_fastpath_link.h"

/* ---- requests ---- */

/* A watched request fails. Its user is told; we keep it, and the state says so to whoever comes to it. One
 * whose user knows already has a copy that waits on the attached buffer, or is being taken back. */
static void fail_send(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;

    if (!req->req_precompleted && mca_pml_fastpath_is_copied(req)) {
        mca_pml_fastpath_bsend_give_back(req);
    }
    if (!REQUEST_COMPLETE(&base->req_ompi)) {
        mca_pml_fastpath_send_request_status(req);
        base->req_ompi.req_status.MPI_ERROR = MPI_ERR_PROC_FAILED;
        ompi_request_complete(&base->req_ompi, true);
    }
}

static void fail_recv(mca_pml_fastpath_recv_request_t *req)
{
    req->req_recv.req_base.req_ompi.req_status.MPI_ERROR = MPI_ERR_PROC_FAILED;
    ompi_request_complete(&req->req_recv.req_base.req_ompi, true);
}

void mca_pml_fastpath_failure_send_refused(mca_pml_fastpath_send_request_t *req)
{
    req->req_send.req_base.req_pml_complete = true;
    fail_send(req);
    mca_pml_fastpath_send_request_drop(req);
}

void mca_pml_fastpath_failure_recv_refused(mca_pml_fastpath_recv_request_t *req, int error)
{
    req->req_recv.req_base.req_ompi.req_status.MPI_ERROR = error;
    mca_pml_fastpath_recv_request_complete(req);
}

/* ---- peers ---- */

static mca_pml_base_request_t *take_watched(mca_pml_fastpath_peer_t *peer)
{
    mca_pml_base_request_t *request;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    request = (mca_pml_base_request_t *) opal_list_remove_first(&peer->watched);
    if (NULL != request) {
        if (MCA_PML_REQUEST_SEND == request->req_type) {
            ((mca_pml_fastpath_send_request_t *) request)->req_watch.state = MCA_PML_FASTPATH_WATCH_FAILED;
        } else {
            ((mca_pml_fastpath_recv_request_t *) request)->req_watch.state = MCA_PML_FASTPATH_WATCH_FAILED;
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return request;
}

/* btl/fastsm does not notice: shared memory stays as it is. Other BTLs do, or have told us. */
static void tell_btls(mca_pml_fastpath_peer_t *peer)
{
    mca_bml_base_endpoint_t *endpoint = peer->endpoint;

    for (size_t i = 0; NULL != endpoint && i < mca_bml_base_btl_array_get_size(&endpoint->btl_send); ++i) {
        mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(&endpoint->btl_send, i);
        const mca_btl_fastsm_ext_t *ext = mca_btl_fastsm_ext(bml_btl->btl);

        if (NULL != ext) {
            ext->failed(bml_btl->btl, bml_btl->btl_endpoint);
        }
    }
}

static void fail_peer(mca_pml_fastpath_peer_t *peer)
{
    mca_pml_base_request_t *request;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    mca_pml_fastpath_peer_mark_failed(peer);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    while (NULL != (request = take_watched(peer))) {
        if (MCA_PML_REQUEST_SEND == request->req_type) {
            fail_send((mca_pml_fastpath_send_request_t *) request);
        } else {
            fail_recv((mca_pml_fastpath_recv_request_t *) request);
        }
    }
    tell_btls(peer);
}

static void look_at_all(void)
{
    mca_pml_fastpath_peer_t **peers;
    size_t count = mca_pml_fastpath_peers_get(&peers);

    for (size_t i = 0; i < count; ++i) {
        if (!peers[i]->failed && fastpath_proc_failed(peers[i]->proc)) {
            fail_peer(peers[i]);
        }
        OBJ_RELEASE(peers[i]);
    }
    free(peers);
}

void mca_pml_fastpath_failures_look(void)
{
    static opal_atomic_int32_t busy = 0;
    static int known = 0;
    int count;

    if (!mca_pml_fastpath_ft()) {
        return;
    }
    count = fastpath_failed_procs();
    if (count <= known) {
        return;
    }
    /* one thread, and not from within itself */
    if (1 == OPAL_THREAD_ADD_FETCH32(&busy, 1)) {
        known = count;
        look_at_all();
    }
    (void) OPAL_THREAD_ADD_FETCH32(&busy, -1);
}

bool mca_pml_fastpath_failure_report(ompi_proc_t *proc)
{
    if (!mca_pml_fastpath_ft() || NULL == proc) {
        return false;
    }
    if (!mca_pml_fastpath_at_end()) {
        fastpath_proc_report_failed(proc);
        mca_pml_fastpath_failures_look();
    }
    return true;
}

static bool leads_there(const mca_pml_fastpath_peer_t *peer, const struct mca_btl_base_endpoint_t *endpoint)
{
    for (size_t i = 0;
         NULL != peer->endpoint && i < mca_bml_base_btl_array_get_size(&peer->endpoint->btl_send); ++i) {
        if (endpoint == mca_bml_base_btl_array_get_index(&peer->endpoint->btl_send, i)->btl_endpoint) {
            return true;
        }
    }
    return false;
}

ompi_proc_t *mca_pml_fastpath_failure_proc_of(const struct mca_btl_base_endpoint_t *endpoint)
{
    mca_pml_fastpath_peer_t **peers;
    size_t count = mca_pml_fastpath_peers_get(&peers);
    ompi_proc_t *proc = NULL;

    for (size_t i = 0; i < count; ++i) {
        if (NULL == proc && leads_there(peers[i], endpoint)) {
            proc = peers[i]->proc;
        }
        OBJ_RELEASE(peers[i]);
    }
    free(peers);
    return proc;
}

/* ---- operations ---- */

int mca_pml_fastpath_failure_unreachable(ompi_communicator_t *comm, int rank)
{
    const ompi_proc_t *proc = mca_pml_fastpath_ft() ? ompi_comm_peer_lookup(comm, rank) : NULL;

    return NULL != proc && fastpath_proc_failed(proc) ? MPI_ERR_PROC_FAILED : OMPI_ERR_UNREACH;
}

bool mca_pml_fastpath_failure_reach_sender(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm,
                                           int rank)
{
    mca_pml_fastpath_peer_t *peer = mca_pml_fastpath_member_peer(member, comm, rank);

    if (OPAL_LIKELY(NULL != peer && mca_pml_fastpath_peer_reach(peer))) {
        return true;
    }
    if (MPI_ERR_PROC_FAILED != mca_pml_fastpath_failure_unreachable(comm, rank)) {
        mca_pml_fastpath_abort("unreachable", "the sender of a message", "no BTL reaches it");
    }
    return false;
}

int mca_pml_fastpath_failure_isend(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                                   mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                                   ompi_request_t **request)
{
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_member(mca_pml_fastpath_comm(comm), dst);
    mca_pml_fastpath_send_request_t *req;

    if (MPI_ERR_PROC_FAILED != mca_pml_fastpath_failure_unreachable(comm, dst)) {
        return OMPI_ERR_UNREACH;
    }
    if (NULL == member || NULL == mca_pml_fastpath_member_peer(member, comm, dst)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    req = mca_pml_fastpath_send_request_alloc();
    if (NULL == req) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_send_request_init(req, member, buf, count, datatype, dst, tag, mode, comm, false);
    mca_pml_fastpath_send_request_start(req);
    *request = &req->req_send.req_base.req_ompi;
    return OMPI_SUCCESS;
}

bool mca_pml_fastpath_failure_cancel(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;

    if (!mca_pml_fastpath_ft()) {
        return true;
    }
    if (fastpath_proc_failed(req->req_peer->proc)) {
        mca_pml_fastpath_failures_look_soon();
        return false;
    }
    if (!req->req_precompleted && !REQUEST_COMPLETE(&base->req_ompi)) {
        req->req_watch.error = fastpath_comm_error(base->req_comm, base->req_tag);
    }
    return true;
}

void mca_pml_fastpath_failure_recv_interrupted(mca_pml_fastpath_recv_request_t *req)
{
    ompi_request_t *request = &req->req_recv.req_base.req_ompi;

    (void) ompi_request_cancel(request);
    while (!REQUEST_COMPLETE(request)) {
        (void) opal_progress();
    }
    if (request->req_status._cancelled) {
        request->req_status._cancelled = 0;
        request->req_status.MPI_ERROR = MPI_ERR_PROC_FAILED;
    }
}
