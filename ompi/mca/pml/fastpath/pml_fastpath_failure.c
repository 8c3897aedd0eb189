/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdio.h>
#include <stdlib.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "pml_fastpath_failure.h"

/* ---- peers ---- */

static mca_pml_base_request_t *take_watched(mca_pml_fastpath_peer_t *peer)
{
    mca_pml_base_request_t *request;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    request = (mca_pml_base_request_t *) opal_list_remove_first(&peer->watched);
    if (NULL != request) {
        mca_pml_fastpath_watch_t *watch =
            (mca_pml_fastpath_watch_t *) ((char *) request
                                          + mca_pml_fastpath.handlers.kinds[request->req_type].watch);

        watch->state = MCA_PML_FASTPATH_WATCH_FAILED;
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
        mca_pml_fastpath.handlers.kinds[request->req_type].failed(request);
    }
    tell_btls(peer);
}

static void look_at_failures(void)
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
        look_at_failures();
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

static bool has_failed(ompi_communicator_t *comm, int rank)
{
    const ompi_proc_t *proc = mca_pml_fastpath_ft() ? ompi_comm_peer_lookup(comm, rank) : NULL;

    return NULL != proc && fastpath_proc_failed(proc);
}

/* The first time: one such process is reason enough to change the transports. */
static void say_unreachable(const ompi_proc_t *proc)
{
    static opal_atomic_int32_t said = 0;
    char host[200], who[320];

    if (0 != opal_atomic_swap_32(&said, 1)) {
        return;
    }
    fastpath_proc_hostname(&proc->super, host, sizeof(host));
    snprintf(who, sizeof(who), "%s on %s", OPAL_NAME_PRINT(proc->super.proc_name), host);
    mca_common_fastpath_show_help("help-mpi-pml-fastpath.txt", "unreachable", opal_process_info.nodename, who,
                                  "none of the transports that are left can send to it");
}

int mca_pml_fastpath_failure_unreachable(ompi_communicator_t *comm, int rank)
{
    const mca_pml_fastpath_member_t *member = mca_pml_fastpath_comm(comm)->members[rank];

    if (has_failed(comm, rank)) {
        return MPI_ERR_PROC_FAILED;
    }
    if (NULL == member || NULL == member->peer) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    say_unreachable(member->peer->proc);
    return OMPI_ERR_UNREACH;
}

bool mca_pml_fastpath_failure_reach_sender(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm,
                                           int rank)
{
    mca_pml_fastpath_peer_t *peer = mca_pml_fastpath_member_peer(member, comm, rank);

    if (OPAL_LIKELY(NULL != peer && mca_pml_fastpath_peer_reach(peer))) {
        return true;
    }
    if (!has_failed(comm, rank)) {
        mca_pml_fastpath_abort("unreachable", "the sender of a message", "no BTL reaches it");
    }
    return false;
}
