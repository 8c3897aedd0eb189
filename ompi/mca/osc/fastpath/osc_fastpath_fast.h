/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The fast path to memory that is mapped here: no lock, no operation, no convertor.
 */
#ifndef MCA_OSC_FASTPATH_FAST_H
#define MCA_OSC_FASTPATH_FAST_H

#include "opal/mca/common/fastpath/common_fastpath_copy.h"

#include "osc_fastpath_atomic.h"
#include "osc_fastpath_sync.h"

/**
 * Where `bytes` bytes at a displacement of a DIRECT peer are.
 *
 * @return NULL when they do not all lie in its window
 */
static inline char *mca_osc_fastpath_mapped(const mca_osc_fastpath_peer_t *peer, ptrdiff_t disp, size_t bytes)
{
    ptrdiff_t offset;

    if (OPAL_UNLIKELY(__builtin_mul_overflow(disp, peer->disp_unit, &offset) || 0 > offset
                      || bytes > peer->size || (size_t) offset > peer->size - bytes)) {
        return NULL;
    }
    return (char *) peer->base + offset;
}

/** @return the peer whose memory is mapped here and may be accessed now, or NULL */
static inline mca_osc_fastpath_peer_t *mca_osc_fastpath_direct_peer(const mca_osc_fastpath_module_t *module,
                                                                    int target)
{
    mca_osc_fastpath_peer_t *peer;

    if (OPAL_UNLIKELY((unsigned) target >= (unsigned) module->size)) {
        return NULL;
    }
    peer = module->peers[target];
    if (OPAL_UNLIKELY(NULL == peer) || MCA_OSC_FASTPATH_DIRECT != peer->access
        || OPAL_UNLIKELY(!mca_osc_fastpath_accessible(module, peer))) {
        return NULL;
    }
    return peer;
}

/**
 * Where a put or get of contiguous data goes that needs nothing but a copy.
 *
 * @param bytes  result: of the copy, more than 0
 *
 * @return NULL when it has to be looked at more closely
 */
static inline char *mca_osc_fastpath_copy_target(ompi_win_t *win, size_t origin_count,
                                                 ompi_datatype_t *origin_type, int target, ptrdiff_t disp,
                                                 size_t target_count, ompi_datatype_t *target_type,
                                                 size_t *bytes)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    const mca_osc_fastpath_peer_t *peer = mca_osc_fastpath_direct_peer(module, target);

    if (NULL == peer || origin_type != target_type || origin_count != target_count
        || !ompi_datatype_is_predefined(target_type)
        || !mca_osc_fastpath_is_contiguous(target_type, target_count)) {
        return NULL;
    }
    *bytes = target_type->super.size * target_count;
    if (OPAL_UNLIKELY(0 == *bytes)) {
        return NULL;
    }
    module->fence_used = true;
    return mca_osc_fastpath_mapped(peer, disp, *bytes);
}

/**
 * Where the only element of an update is that one atomic instruction, or a few, can make.
 *
 * @return NULL when it has to be looked at more closely
 */
static inline void *mca_osc_fastpath_atomic_target(ompi_win_t *win, ompi_datatype_t *type, int target,
                                                   ptrdiff_t disp)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    const mca_osc_fastpath_peer_t *peer = mca_osc_fastpath_direct_peer(module, target);
    void *at;

    if (NULL == peer || !module->atomic || !ompi_datatype_is_predefined(type)
        || !mca_osc_fastpath_is_integer(type)) {
        return NULL;
    }
    at = mca_osc_fastpath_mapped(peer, disp, type->super.size);
    module->fence_used = true;
    return mca_osc_fastpath_is_aligned(at, type->super.size) ? at : NULL;
}

/** Copy between memory that may overlap. */
static inline void mca_osc_fastpath_move(void *to, const void *from, size_t bytes)
{
    if (64 < bytes) {
        memmove(to, from, bytes);
    } else {
        mca_common_fastpath_copy_small(to, from, bytes);
    }
}

#endif /* MCA_OSC_FASTPATH_FAST_H */
