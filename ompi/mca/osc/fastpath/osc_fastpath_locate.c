/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "osc_fastpath_locate.h"
#include "osc_fastpath_regions.h"

/* Which bytes an access covers, relative to where displacements count from. Counts and displacements are the
 * user's, or have come in a packet. @return false when no memory is as large as that */
static bool covers(int64_t disp, ptrdiff_t unit, size_t count, ompi_datatype_t *type, ptrdiff_t *first,
                   ptrdiff_t *end)
{
    ptrdiff_t start;

    return !__builtin_mul_overflow(disp, unit, &start) && mca_osc_fastpath_span(type, count, first, end)
           && !__builtin_add_overflow(*first, start, first) && !__builtin_add_overflow(*end, start, end);
}

/* @return whether an access lies in a window of so many bytes */
static bool inside(size_t bytes, ptrdiff_t unit, int64_t disp, size_t count, ompi_datatype_t *type)
{
    ptrdiff_t first, end;

    return covers(disp, unit, count, type, &first, &end)
           && (first == end || (0 <= first && (size_t) end <= bytes));
}

static bool inside_attached(const mca_osc_fastpath_module_t *module, int64_t disp,
                            const mca_osc_fastpath_memory_t *memory)
{
    ptrdiff_t first, end;

    return covers(disp, 1, memory->count, memory->type, &first, &end)
           && (first == end
               || (0 <= first
                   && mca_osc_fastpath_attached(module, (uintptr_t) first, (uintptr_t) end, memory)));
}

/* An access to nothing, or one that is not checked yet, may name any place, so this is no arithmetic of
 * pointers. */
static void *address_of(const void *base, int64_t disp, ptrdiff_t unit)
{
    return (void *) ((uintptr_t) base + (uintptr_t) disp * (uintptr_t) unit);
}

int mca_osc_fastpath_locate(mca_osc_fastpath_module_t *module, int64_t disp, size_t count,
                            ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory)
{
    const bool dynamic = MPI_WIN_FLAVOR_DYNAMIC == module->flavor;

    memory->type = type;
    memory->count = count;
    memory->address = dynamic ? (void *) (uintptr_t) disp : address_of(module->base, disp, module->disp_unit);
    return (dynamic ? inside_attached(module, disp, memory)
                    : inside(module->bytes, module->disp_unit, disp, count, type))
               ? OMPI_SUCCESS
               : OMPI_ERR_RMA_RANGE;
}

/* The own rank's memory; other threads may attach some meanwhile. */
static int locate_own(mca_osc_fastpath_module_t *module, int64_t disp, size_t count, ompi_datatype_t *type,
                      mca_osc_fastpath_memory_t *memory)
{
    int rc;

    if (MPI_WIN_FLAVOR_DYNAMIC != module->flavor) {
        return mca_osc_fastpath_locate(module, disp, count, type, memory);
    }
    mca_osc_fastpath_enter(module);
    rc = mca_osc_fastpath_locate(module, disp, count, type, memory);
    mca_osc_fastpath_leave(module);
    return rc;
}

/* Dynamic windows: @return OMPI_SUCCESS if so much memory of another member of the node may be accessed */
static int peer_attached(mca_osc_fastpath_peer_t *peer, int64_t disp, const mca_osc_fastpath_memory_t *memory)
{
    ptrdiff_t first, end;

    if (!covers(disp, 1, memory->count, memory->type, &first, &end)) {
        return OMPI_ERR_RMA_RANGE;
    }
    return first == end ? OMPI_SUCCESS
                        : mca_osc_fastpath_peer_attached(peer, (uintptr_t) first, (uintptr_t) end, memory);
}

int mca_osc_fastpath_locate_peer(mca_osc_fastpath_peer_t *peer, ptrdiff_t disp, size_t count,
                                 ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory)
{
    if (peer->rank == peer->module->rank) {
        return locate_own(peer->module, disp, count, type, memory);
    }
    memory->type = type;
    memory->count = count;
    memory->address = address_of(peer->base, disp, peer->disp_unit);
    if (MPI_WIN_FLAVOR_DYNAMIC == peer->module->flavor) {
        return peer_attached(peer, disp, memory);
    }
    return inside(peer->size, peer->disp_unit, disp, count, type) ? OMPI_SUCCESS : OMPI_ERR_RMA_RANGE;
}

bool mca_osc_fastpath_in_bounds(const mca_osc_fastpath_peer_t *peer, ptrdiff_t disp, size_t count,
                                ompi_datatype_t *type)
{
    const mca_osc_fastpath_module_t *module = peer->module;

    return !module->sizes_known || MPI_WIN_FLAVOR_DYNAMIC == module->flavor
           || inside(peer->size, peer->disp_unit, disp, count, type);
}
