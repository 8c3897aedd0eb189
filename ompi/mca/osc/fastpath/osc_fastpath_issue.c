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
#include "osc_fastpath_wait.h"

/* Fill in how much data an operation moves. @return OMPI_SUCCESS, or MPI_ERR_TRUNCATE where it does not fit,
 * or MPI_ERR_TYPE where an element would be cut */
static int measure(mca_osc_fastpath_operation_t *operation)
{
    const size_t there = mca_osc_fastpath_packed_size(operation->type, operation->count);
    const bool returns = mca_osc_fastpath_returns_data(operation->kind);

    operation->bytes = there;
    operation->sent = 0;
    if (MCA_OSC_FASTPATH_GET != operation->kind && &ompi_mpi_op_no_op.op != operation->op) {
        operation->sent = mca_osc_fastpath_packed_size(operation->origin_type, operation->origin_count);
        if (!returns) {
            operation->bytes = operation->sent;
        }
    }
    if (OPAL_UNLIKELY(
            there < operation->sent
            || (returns
                && there > mca_osc_fastpath_packed_size(operation->result_type, operation->result_count)))) {
        return MPI_ERR_TRUNCATE;
    }
    return OPAL_UNLIKELY(there != operation->sent && NULL != operation->element
                         && 0 != operation->sent % operation->element->super.size)
               ? MPI_ERR_TYPE
               : OMPI_SUCCESS;
}

/* An operation has been carried out: nobody has to wait for its request. Open MPI looks at nothing else then,
 * so this is where a process that polls by requests lets others progress. */
static int complete(mca_osc_fastpath_module_t *module, const mca_osc_fastpath_operation_t *operation)
{
    if (NULL != operation->request) {
        *operation->request = &ompi_request_empty;
        mca_osc_fastpath_progress_sometimes(module);
    }
    return OMPI_SUCCESS;
}

int mca_osc_fastpath_issue(ompi_win_t *win, mca_osc_fastpath_operation_t *operation)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer;
    int rc;

    if (OPAL_UNLIKELY(0 > operation->target || operation->target >= module->size)) {
        if (MPI_PROC_NULL != operation->target) {
            return MPI_ERR_RANK;
        }
        return complete(module, operation);
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
    rc = measure(operation);
    if (OMPI_SUCCESS != rc || 0 == operation->bytes) {
        return OMPI_SUCCESS == rc ? complete(module, operation) : rc;
    }
    if (MCA_OSC_FASTPATH_MESSAGE == peer->access) {
        return mca_osc_fastpath_in_bounds(peer, operation->disp, operation->count, operation->type)
                   ? mca_osc_fastpath_message(peer, operation)
                   : OMPI_ERR_RMA_RANGE;
    }
    rc = mca_osc_fastpath_direct(peer, operation);
    return OMPI_SUCCESS == rc ? complete(module, operation) : rc;
}
