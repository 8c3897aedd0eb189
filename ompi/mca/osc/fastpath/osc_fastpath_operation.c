/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * From an operation to the access that its target has.
 */
#include "ompi_config.h"

#include "osc_fastpath_operation.h"
#include "osc_fastpath_sync.h"

/* Is [begin, end) all in attached memory? Pieces of it may lie side by side. */
static bool attached(const mca_osc_fastpath_module_t *module, uintptr_t begin, uintptr_t end)
{
    size_t low = 0, high = module->num_regions;

    while (low < high) { /* the first region that ends behind `begin` */
        size_t middle = low + (high - low) / 2;

        if (module->regions[middle].end > begin) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (; low < module->num_regions && begin < end; ++low) {
        if (module->regions[low].begin > begin) {
            return false;
        }
        begin = module->regions[low].end;
    }
    return begin >= end;
}

int ompi_osc_fastpath_locate(mca_osc_fastpath_module_t *module, int64_t disp, size_t count,
                             ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory)
{
    ptrdiff_t first, end;

    memory->type = type;
    memory->count = count;
    ompi_osc_fastpath_span(type, count, &first, &end);
    if (MPI_WIN_FLAVOR_DYNAMIC == module->flavor) {
        memory->address = (void *) (uintptr_t) disp;
        return first == end || attached(module, (uintptr_t) (disp + first), (uintptr_t) (disp + end))
                   ? OMPI_SUCCESS
                   : OMPI_ERR_RMA_RANGE;
    }
    memory->address = (char *) module->base + disp * module->disp_unit;
    first += disp * module->disp_unit;
    end += disp * module->disp_unit;
    return first == end || (0 <= first && (size_t) end <= module->bytes) ? OMPI_SUCCESS : OMPI_ERR_RMA_RANGE;
}

/* Does the access lie in the target's window, as far as that is known here? */
static bool in_bounds(const mca_osc_fastpath_module_t *module, const mca_osc_fastpath_peer_t *peer,
                      const mca_osc_fastpath_operation_t *operation)
{
    ptrdiff_t first, end;

    if (!module->sizes_known || MPI_WIN_FLAVOR_DYNAMIC == module->flavor) {
        return true;
    }
    ompi_osc_fastpath_span(operation->type, operation->count, &first, &end);
    first += operation->disp * peer->disp_unit;
    end += operation->disp * peer->disp_unit;
    return first == end || (0 <= first && (size_t) end <= peer->size);
}

/* Do origin and target speak of the same amount of data? */
static bool sizes_agree(const mca_osc_fastpath_operation_t *operation, size_t total)
{
    const bool sends = MCA_OSC_FASTPATH_GET != operation->kind && &ompi_mpi_op_no_op.op != operation->op;

    return (!sends || total == mca_osc_fastpath_packed_size(operation->origin_type, operation->origin_count))
           && (NULL == operation->result_type
               || total == mca_osc_fastpath_packed_size(operation->result_type, operation->result_count));
}

int ompi_osc_fastpath_issue(ompi_win_t *win, mca_osc_fastpath_operation_t *operation)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    const size_t total = mca_osc_fastpath_packed_size(operation->type, operation->count);
    mca_osc_fastpath_peer_t *peer;
    int rc;

    if (OPAL_UNLIKELY(0 > operation->target || operation->target >= module->size)) {
        if (MPI_PROC_NULL != operation->target) {
            return MPI_ERR_RANK;
        }
        if (operation->request_wanted) {
            *operation->request = &ompi_request_empty;
        }
        return OMPI_SUCCESS;
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
        if (operation->request_wanted) {
            *operation->request = &ompi_request_empty;
        }
        return OMPI_SUCCESS;
    }
    if (OPAL_UNLIKELY(!sizes_agree(operation, total))) {
        return MPI_ERR_TRUNCATE;
    }
    if (OPAL_UNLIKELY(!in_bounds(module, peer, operation))) {
        return OMPI_ERR_RMA_RANGE;
    }
    if (MCA_OSC_FASTPATH_MESSAGE == peer->access) {
        return ompi_osc_fastpath_message(peer, operation);
    }
    rc = ompi_osc_fastpath_direct(peer, operation);
    if (operation->request_wanted && OMPI_SUCCESS == rc) {
        *operation->request = &ompi_request_empty;
    }
    return rc;
}
