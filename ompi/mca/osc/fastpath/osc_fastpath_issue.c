/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * From an operation to the access that its target has.
 */
#include "ompi_config.h"

#include "osc_fastpath_locate.h"
#include "osc_fastpath_operation.h"
#include "osc_fastpath_peer.h"
#include "osc_fastpath_sync.h"

/* @return whether origin and target speak of the same amount of data */
static bool sizes_agree(const mca_osc_fastpath_operation_t *operation, size_t total)
{
    const bool sends = MCA_OSC_FASTPATH_GET != operation->kind && &ompi_mpi_op_no_op.op != operation->op;

    return (!sends || total == mca_osc_fastpath_packed_size(operation->origin_type, operation->origin_count))
           && (NULL == operation->result_type
               || total == mca_osc_fastpath_packed_size(operation->result_type, operation->result_count));
}

/* An operation has been carried out: nobody has to wait for its request. */
static int complete(const mca_osc_fastpath_operation_t *operation)
{
    if (NULL != operation->request) {
        *operation->request = &ompi_request_empty;
    }
    return OMPI_SUCCESS;
}

int mca_osc_fastpath_issue(ompi_win_t *win, mca_osc_fastpath_operation_t *operation)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    const size_t total = mca_osc_fastpath_packed_size(operation->type, operation->count);
    mca_osc_fastpath_peer_t *peer;
    int rc;

    if (OPAL_UNLIKELY(0 > operation->target || operation->target >= module->size)) {
        if (MPI_PROC_NULL != operation->target) {
            return MPI_ERR_RANK;
        }
        return complete(operation);
    }
    if (OPAL_UNLIKELY(NULL == module->peers[operation->target])) {
        mca_osc_fastpath_enter(module);
        (void) mca_osc_fastpath_peer(module, operation->target);
        mca_osc_fastpath_leave(module);
    }
    peer = module->peers[operation->target];
    if (OPAL_UNLIKELY(NULL == peer)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (OPAL_UNLIKELY(!mca_osc_fastpath_accessible(module, peer))) {
        return OMPI_ERR_RMA_SYNC;
    }
    module->fence_used = true;
    if (0 == total) {
        return complete(operation);
    }
    if (OPAL_UNLIKELY(!sizes_agree(operation, total))) {
        return MPI_ERR_TRUNCATE;
    }
    if (MCA_OSC_FASTPATH_MESSAGE == peer->access) {
        return mca_osc_fastpath_in_bounds(peer, operation->disp, operation->count, operation->type)
                   ? mca_osc_fastpath_message(peer, operation)
                   : OMPI_ERR_RMA_RANGE;
    }
    rc = mca_osc_fastpath_direct(peer, operation);
    return OMPI_SUCCESS == rc ? complete(operation) : rc;
}
