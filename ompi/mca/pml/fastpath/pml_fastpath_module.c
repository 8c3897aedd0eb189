/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <limits.h>
#include <unistd.h>

#include "opal/class/opal_bitmap.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_runtime.h"

#include "pml_fastpath_control.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_freed.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_jobs.h"
#include "pml_fastpath_epoch.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_pending.h"
#include "pml_fastpath_rdma.h"
#include "pml_fastpath_recvfrag.h"
#include "pml_fastpath_wait.h"

void mca_pml_fastpath_module_init(void)
{
    static const mca_pml_base_module_t functions = {
        .pml_add_procs = mca_pml_fastpath_add_procs,
        .pml_del_procs = mca_pml_fastpath_del_procs,
        .pml_enable = mca_pml_fastpath_enable,
        .pml_progress = mca_pml_fastpath_progress,
        .pml_add_comm = mca_pml_fastpath_add_comm,
        .pml_del_comm = mca_pml_fastpath_del_comm,
        .pml_irecv_init = mca_pml_fastpath_irecv_init,
        .pml_irecv = mca_pml_fastpath_irecv,
        .pml_recv = mca_pml_fastpath_recv,
        .pml_isend_init = mca_pml_fastpath_isend_init,
        .pml_isend = mca_pml_fastpath_isend,
        .pml_send = mca_pml_fastpath_send,
        .pml_iprobe = mca_pml_fastpath_iprobe,
        .pml_probe = mca_pml_fastpath_probe,
        .pml_start = mca_pml_fastpath_start,
        .pml_improbe = mca_pml_fastpath_improbe,
        .pml_mprobe = mca_pml_fastpath_mprobe,
        .pml_imrecv = mca_pml_fastpath_imrecv,
        .pml_mrecv = mca_pml_fastpath_mrecv,
        .pml_dump = mca_pml_fastpath_dump,
        .pml_max_contextid = INT32_MAX, /* ids are below it: 32 bits in headers, int in Open MPI */
        .pml_max_tag = INT_MAX,
        FASTPATH_PML_MODULE_SINCE_5_0 /* no comma */
    };

    mca_pml_fastpath.super = functions;
    if (fastpath_ft()) {
        mca_pml_fastpath.super.pml_recv = mca_pml_fastpath_recv_ft;
    }
}

static int list_init(opal_free_list_t *list, size_t size, opal_class_t *class)
{
    return opal_free_list_init(list, size, opal_cache_line_size, class, 0, opal_cache_line_size, 0, -1,
                               (int) mca_pml_fastpath.free_list_inc, NULL, 0, NULL, NULL, NULL);
}

int mca_pml_fastpath_enable(bool enable)
{
    mca_pml_fastpath_t *pml = &mca_pml_fastpath;

    if (!enable) {
        return OMPI_SUCCESS;
    }
    OBJ_CONSTRUCT(&pml->lock, opal_mutex_t);
    OBJ_CONSTRUCT(&pml->peers, opal_hash_table_t);
    OBJ_CONSTRUCT(&pml->pending, opal_list_t);
    OBJ_CONSTRUCT(&pml->freed, opal_hash_table_t);
    OBJ_CONSTRUCT(&pml->epochs, opal_hash_table_t);
    for (int i = 0; i < MCA_PML_FASTPATH_QUEUES; ++i) {
        OBJ_CONSTRUCT(&pml->retries[i].retries, opal_list_t);
        pml->retries[i].waited_for = 0;
    }
    mca_pml_fastpath_messages_init();
    mca_pml_fastpath_extcid_init();
    mca_pml_fastpath_links_init();
    OBJ_CONSTRUCT(&pml->rdmas, opal_free_list_t);
    OBJ_CONSTRUCT(&pml->ranges, opal_free_list_t);
    OBJ_CONSTRUCT(&pml->packets, opal_free_list_t);
    pml->incarnations = 0;
    pml->pending_unanswered = 0;
    pml->late = 0;
    pml->num_retries = 0;
    memset((void *) (uintptr_t) pml->comms, 0, sizeof(pml->comms));
    pml->spare_comms = NULL;
    pml->enabled = true;
    pml->ft = fastpath_ft();
    /* debuggers find the requests on Open MPI's own two lists */
    if (OMPI_SUCCESS != mca_pml_fastpath_handles_init() || OMPI_SUCCESS != mca_pml_fastpath_multi_init()
        || OPAL_SUCCESS != opal_hash_table_init(&pml->peers, 256)
        || OPAL_SUCCESS != opal_hash_table_init(&pml->freed, 64)
        || OPAL_SUCCESS != opal_hash_table_init(&pml->epochs, 64)
        || OPAL_SUCCESS
               != list_init(&mca_pml_base_send_requests, sizeof(mca_pml_fastpath_send_request_t),
                            OBJ_CLASS(mca_pml_fastpath_send_request_t))
        || OPAL_SUCCESS
               != list_init(&mca_pml_base_recv_requests, sizeof(mca_pml_fastpath_recv_request_t),
                            OBJ_CLASS(mca_pml_fastpath_recv_request_t))
        || OPAL_SUCCESS
               != list_init(&pml->rdmas, sizeof(mca_pml_fastpath_rdma_t), OBJ_CLASS(mca_pml_fastpath_rdma_t))
        || OPAL_SUCCESS
               != list_init(&pml->ranges, sizeof(mca_pml_fastpath_range_t),
                            OBJ_CLASS(mca_pml_fastpath_range_t))
        || OPAL_SUCCESS
               != list_init(&pml->packets, sizeof(mca_pml_fastpath_packet_t),
                            OBJ_CLASS(mca_pml_fastpath_packet_t))) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_common_fastpath_runtime_install();
    if (!mca_pml_fastpath_ft()) { /* Open MPI's own functions ask whether a request can still complete */
        mca_pml_fastpath_waits_install();
    }
    return OMPI_SUCCESS;
}

void mca_pml_fastpath_close(void)
{
    mca_pml_fastpath_t *pml = &mca_pml_fastpath;
    opal_list_item_t *item;

    if (!pml->enabled) {
        return;
    }
    pml->enabled = false;
    mca_pml_fastpath_waits_remove();
    mca_common_fastpath_runtime_remove();
    while (NULL != (item = opal_list_remove_first(&pml->pending))) {
        mca_pml_fastpath_parked_free((mca_pml_fastpath_parked_t *) item);
    }
    mca_pml_fastpath_handles_fini();
    OBJ_DESTRUCT(&pml->packets);
    OBJ_DESTRUCT(&pml->ranges);
    OBJ_DESTRUCT(&pml->rdmas);
    mca_pml_fastpath_comms_fini();
    mca_pml_fastpath_links_fini();
    mca_pml_fastpath_extcid_fini();
    mca_pml_fastpath_multi_fini();
    mca_pml_fastpath_messages_fini();
    for (int i = 0; i < MCA_PML_FASTPATH_QUEUES; ++i) {
        OBJ_DESTRUCT(&pml->retries[i].retries);
    }
    OBJ_DESTRUCT(&pml->epochs);
    mca_pml_fastpath_freed_fini();
    OBJ_DESTRUCT(&pml->freed);
    OBJ_DESTRUCT(&pml->pending);
    OBJ_DESTRUCT(&pml->peers);
    OBJ_DESTRUCT(&pml->lock);
}

/* The largest header that has to go out in one piece: it may carry a registration of any BTL over any other.
 */
static size_t largest_control(void)
{
    mca_btl_base_selected_module_t *selected;
    size_t handle_size = 0;

    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        if (handle_size < selected->btl_module->btl_registration_handle_size) {
            handle_size = selected->btl_module->btl_registration_handle_size;
        }
    }
    return sizeof(mca_pml_fastpath_hdr_t) + handle_size;
}

/* Every BTL that sends has to take our headers in one piece. */
static int check_btls(void)
{
    mca_btl_base_selected_module_t *selected;
    const size_t needed = largest_control();

    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        const mca_btl_base_module_t *btl = selected->btl_module;

        if (0 != (MCA_BTL_FLAGS_SEND & btl->btl_flags)
            && (btl->btl_eager_limit < needed || btl->btl_max_send_size < needed)) {
            char limit[64];

            snprintf(limit, sizeof(limit), "%zu bytes, needed are %zu", btl->btl_eager_limit, needed);
            if (mca_common_fastpath_reporting_rank()) {
                mca_common_fastpath_show_help("help-mpi-pml-fastpath.txt", "eager limit too small",
                                              opal_process_info.nodename,
                                              selected->btl_component->btl_version.mca_component_name, limit);
            }
            return OMPI_ERR_BAD_PARAM;
        }
    }
    return OMPI_SUCCESS;
}

/* A BTL has lost a peer or itself. Messages may be missing, and without fault tolerance nothing above us can
 * tell which. */
static void btl_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *errproc, char *info)
{
    (void) flags;
    if (NULL != errproc) {
        mca_pml_fastpath_link_failed(btl, NULL, errproc, NULL == info ? "no reason given" : info);
    } else if (!mca_pml_fastpath_at_end()) {
        mca_pml_fastpath_abort("transport failed", btl->btl_component->btl_version.mca_component_name,
                               NULL == info ? "none given" : info);
    }
}

int mca_pml_fastpath_add_procs(ompi_proc_t **procs, size_t nprocs)
{
    const uint32_t refused = mca_pml_fastpath_jobs_refused();
    opal_bitmap_t reachable;
    int rc;

    if (0 == nprocs) {
        return OMPI_SUCCESS;
    }
    rc = mca_pml_fastpath_jobs_check(procs, nprocs);
    if (OMPI_SUCCESS == rc) {
        rc = mca_pml_base_pml_check_selected("fastpath", procs, nprocs);
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    OBJ_CONSTRUCT(&reachable, opal_bitmap_t);
    rc = opal_bitmap_init(&reachable, (int) nprocs);
    if (OMPI_SUCCESS == rc) {
        rc = mca_bml.bml_add_procs(nprocs, procs, &reachable);
    }
    OBJ_DESTRUCT(&reachable);
    if (OMPI_SUCCESS == rc && refused != mca_pml_fastpath_jobs_refused()) {
        rc = OMPI_ERR_OUT_OF_RESOURCE; /* the BML would take another BTL, which they do not expect */
    }
    if (OMPI_SUCCESS == rc) {
        rc = check_btls();
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_pml_fastpath_recvfrag_register();
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_bml.bml_register_error(btl_error);
    }
    if (OMPI_SUCCESS == rc && OPAL_UNLIKELY(0 < mca_pml_fastpath.verbose)) {
        mca_pml_fastpath_say(procs, nprocs);
    }
    return rc;
}

int mca_pml_fastpath_del_procs(ompi_proc_t **procs, size_t nprocs)
{
    mca_pml_fastpath_links_leave();
    for (size_t i = 0; i < nprocs; ++i) {
        mca_pml_fastpath_peer_forget(procs[i]);
    }
    return mca_pml_fastpath_links_close(procs, nprocs);
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
    rc = mca_pml_fastpath_comm_init(pml_comm, comm);
    if (OMPI_SUCCESS != rc) {
        mca_pml_fastpath_comm_recycle(pml_comm);
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
        mca_pml_fastpath_comm_recycle(pml_comm);
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
        mca_pml_fastpath_comm_abandon(pml_comm, comm);
        mca_pml_fastpath_comm_recycle(pml_comm);
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
