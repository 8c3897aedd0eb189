/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <limits.h>

#include "opal/mca/common/fastpath/common_fastpath_runtime.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_adopt.h"
#include "pml_fastpath_block_list.h"
#include "pml_fastpath_cancel.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_freed.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_idle.h"
#include "pml_fastpath_kept.h"
#include "pml_fastpath_link_find.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_neighbor.h"
#include "pml_fastpath_pause.h"
#include "pml_fastpath_rdma.h"
#include "pml_fastpath_sync.h"
#include "pml_fastpath_wait.h"

mca_pml_fastpath_t mca_pml_fastpath;

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
    static const mca_pml_fastpath_handlers_t handlers = {
        .kinds[MCA_PML_REQUEST_SEND] = {offsetof(mca_pml_fastpath_send_request_t, req_watch),
                                        mca_pml_fastpath_send_request_failed},
        .kinds[MCA_PML_REQUEST_RECV] = {offsetof(mca_pml_fastpath_recv_request_t, req_watch),
                                        mca_pml_fastpath_recv_request_failed},
        .cancel_send = mca_pml_fastpath_send_request_cancel,
        .end_comm = mca_pml_fastpath_comm_end,
    };

    mca_pml_fastpath.super = functions;
    mca_pml_fastpath.handlers = handlers;
    if (fastpath_ft()) {
        mca_pml_fastpath.super.pml_recv = mca_pml_fastpath_recv_ft;
    }
}

static int request_list_init(opal_free_list_t *list, opal_class_t *class)
{
    return opal_free_list_init(list, class->cls_sizeof, opal_cache_line_size, class, 0, opal_cache_line_size,
                               0, -1, (int) mca_pml_fastpath.free_list_inc, NULL, 0, NULL, NULL, NULL);
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
    mca_pml_fastpath_awaited_init();
    mca_pml_fastpath_kept_init();
    mca_pml_fastpath_block_lists_init();
    mca_pml_fastpath_messages_init();
    mca_pml_fastpath_extcid_init();
    mca_pml_fastpath_adopt_init();
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
               != request_list_init(&mca_pml_base_send_requests, OBJ_CLASS(mca_pml_fastpath_send_request_t))
        || OPAL_SUCCESS
               != request_list_init(&mca_pml_base_recv_requests, OBJ_CLASS(mca_pml_fastpath_recv_request_t))
        || OPAL_SUCCESS != request_list_init(&pml->rdmas, OBJ_CLASS(mca_pml_fastpath_rdma_t))
        || OPAL_SUCCESS != request_list_init(&pml->ranges, OBJ_CLASS(mca_pml_fastpath_range_t))
        || OPAL_SUCCESS != request_list_init(&pml->packets, OBJ_CLASS(mca_pml_fastpath_packet_t))) {
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
    mca_pml_fastpath_idle_fini();
    mca_pml_fastpath_pause_fini();
    mca_pml_fastpath_neighbors_fini();
    while (NULL != (item = opal_list_remove_first(&pml->pending))) {
        mca_pml_fastpath_parked_free((mca_pml_fastpath_parked_t *) item);
    }
    mca_pml_fastpath_handles_fini();
    OBJ_DESTRUCT(&pml->packets);
    OBJ_DESTRUCT(&pml->ranges);
    OBJ_DESTRUCT(&pml->rdmas);
    mca_pml_fastpath_comms_fini();
    mca_pml_fastpath_links_fini();
    mca_pml_fastpath_adopt_fini();
    mca_pml_fastpath_extcid_fini();
    mca_pml_fastpath_multi_fini();
    mca_pml_fastpath_messages_fini();
    mca_pml_fastpath_block_lists_fini();
    mca_pml_fastpath_kept_fini();
    mca_pml_fastpath_sync_fini();
    for (int i = 0; i < MCA_PML_FASTPATH_QUEUES; ++i) {
        OBJ_DESTRUCT(&pml->retries[i].retries);
    }
    OBJ_DESTRUCT(&pml->epochs);
    mca_pml_fastpath_freed_fini();
    OBJ_DESTRUCT(&pml->freed);
    mca_pml_fastpath_awaited_fini();
    OBJ_DESTRUCT(&pml->pending);
    OBJ_DESTRUCT(&pml->peers);
    OBJ_DESTRUCT(&pml->lock);
}
