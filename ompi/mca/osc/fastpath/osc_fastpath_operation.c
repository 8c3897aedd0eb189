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
#include "osc_fastpath_regions.h"
#include "osc_fastpath_sync.h"

/* Which bytes an access covers, relative to where displacements count from. Counts and displacements are the
 * user's, or have come in a packet. @return false when no memory is as large as that */
static bool covers(int64_t disp, ptrdiff_t unit, size_t count, ompi_datatype_t *type, ptrdiff_t *first,
                   ptrdiff_t *end)
{
    ptrdiff_t start;

    return !__builtin_mul_overflow(disp, unit, &start) && ompi_osc_fastpath_span(type, count, first, end)
           && !__builtin_add_overflow(*first, start, first) && !__builtin_add_overflow(*end, start, end);
}

/* Does an access lie in a window of so many bytes? */
static bool inside(size_t bytes, ptrdiff_t unit, int64_t disp, size_t count, ompi_datatype_t *type)
{
    ptrdiff_t first, end;

    return covers(disp, unit, count, type, &first, &end)
           && (first == end || (0 <= first && (size_t) end <= bytes));
}

static bool inside_attached(const mca_osc_fastpath_module_t *module, int64_t disp, size_t count,
                            ompi_datatype_t *type)
{
    ptrdiff_t first, end;

    return covers(disp, 1, count, type, &first, &end)
           && (first == end
               || (0 <= first && ompi_osc_fastpath_attached(module, (uintptr_t) first, (uintptr_t) end)));
}

/* An access to nothing may name any place, so this is no arithmetic of pointers. */
static void *address_of(const void *base, int64_t disp, ptrdiff_t unit)
{
    return (void *) ((uintptr_t) base + (uintptr_t) (disp * unit));
}

int ompi_osc_fastpath_locate(mca_osc_fastpath_module_t *module, int64_t disp, size_t count,
                             ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory)
{
    const bool dynamic = MPI_WIN_FLAVOR_DYNAMIC == module->flavor;

    if (dynamic ? !inside_attached(module, disp, count, type)
                : !inside(module->bytes, module->disp_unit, disp, count, type)) {
        return OMPI_ERR_RMA_RANGE;
    }
    memory->type = type;
    memory->count = count;
    memory->address = dynamic ? (void *) (uintptr_t) disp : address_of(module->base, disp, module->disp_unit);
    return OMPI_SUCCESS;
}

/* The own rank's memory; other threads may attach some meanwhile. */
static int locate_own(mca_osc_fastpath_module_t *module, int64_t disp, size_t count, ompi_datatype_t *type,
                      mca_osc_fastpath_memory_t *memory)
{
    int rc;

    if (MPI_WIN_FLAVOR_DYNAMIC != module->flavor) {
        return ompi_osc_fastpath_locate(module, disp, count, type, memory);
    }
    mca_osc_fastpath_enter(module);
    rc = ompi_osc_fastpath_locate(module, disp, count, type, memory);
    mca_osc_fastpath_leave(module);
    return rc;
}

/* Dynamic windows: may so much memory of another member of the node be accessed? */
static int peer_attached(mca_osc_fastpath_peer_t *peer, int64_t disp, size_t count, ompi_datatype_t *type)
{
    ptrdiff_t first, end;

    if (!covers(disp, 1, count, type, &first, &end)) {
        return OMPI_ERR_RMA_RANGE;
    }
    return first == end ? OMPI_SUCCESS
                        : ompi_osc_fastpath_peer_attached(peer, (uintptr_t) first, (uintptr_t) end);
}

int ompi_osc_fastpath_locate_peer(mca_osc_fastpath_peer_t *peer, ptrdiff_t disp, size_t count,
                                  ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory)
{
    int rc = OMPI_SUCCESS;

    if (peer->rank == peer->module->rank) {
        return locate_own(peer->module, disp, count, type, memory);
    }
    if (MPI_WIN_FLAVOR_DYNAMIC == peer->module->flavor) {
        rc = peer_attached(peer, disp, count, type);
    } else if (!inside(peer->size, peer->disp_unit, disp, count, type)) {
        rc = OMPI_ERR_RMA_RANGE;
    }
    if (OMPI_SUCCESS == rc) {
        memory->type = type;
        memory->count = count;
        memory->address = (void *) ((uintptr_t) peer->base + (uintptr_t) (disp * peer->disp_unit));
    }
    return rc;
}

/* Does the access lie in the target's window, as far as that is known here? */
static bool in_bounds(const mca_osc_fastpath_module_t *module, const mca_osc_fastpath_peer_t *peer,
                      const mca_osc_fastpath_operation_t *operation)
{
    return !module->sizes_known || MPI_WIN_FLAVOR_DYNAMIC == module->flavor
           || inside(peer->size, peer->disp_unit, operation->disp, operation->count, operation->type);
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
    if (MCA_OSC_FASTPATH_MESSAGE == peer->access) {
        return in_bounds(module, peer, operation) ? ompi_osc_fastpath_message(peer, operation)
                                                  : OMPI_ERR_RMA_RANGE;
    }
    rc = ompi_osc_fastpath_direct(peer, operation);
    if (operation->request_wanted && OMPI_SUCCESS == rc) {
        *operation->request = &ompi_request_empty;
    }
    return rc;
}
