/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Memory of dynamic windows.
 *
 * Other members of the node that the kernel copies for read the list of attached memory from this process,
 * and keep it until the version in the member block says that it has changed. The version is odd while the
 * list changes, and tells a reader whether it has changed meanwhile.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_process.h"

#include "osc_fastpath_regions.h"
#include "osc_fastpath_wait.h"

/* The place of the first region of a list that ends behind `begin`; they are in order, and do not overlap. */
static size_t region_place(const mca_osc_fastpath_region_t *regions, size_t count, uintptr_t begin)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (regions[middle].end > begin) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* @return whether [begin, end) is all in regions of a list */
static bool all_in(const mca_osc_fastpath_region_t *regions, size_t count, uintptr_t begin, uintptr_t end)
{
    for (size_t i = region_place(regions, count, begin); i < count && begin < end; ++i) {
        if (regions[i].begin > begin) {
            return false;
        }
        begin = regions[i].end;
    }
    return begin >= end;
}

/* @return whether each piece of some memory is in regions of a list */
static bool pieces_in(const mca_osc_fastpath_region_t *regions, size_t count,
                      const mca_osc_fastpath_memory_t *memory)
{
    mca_osc_fastpath_pieces_t pieces;
    struct iovec piece;
    bool good = true;

    mca_osc_fastpath_pieces_begin(&pieces, memory, 0);
    while (good && mca_osc_fastpath_pieces_next(&pieces, SIZE_MAX, &piece)) {
        const uintptr_t begin = (uintptr_t) piece.iov_base;

        good = all_in(regions, count, begin, begin + piece.iov_len);
    }
    mca_osc_fastpath_pieces_end(&pieces);
    return good;
}

static bool memory_in(const mca_osc_fastpath_region_t *regions, size_t count, uintptr_t begin, uintptr_t end,
                      const mca_osc_fastpath_memory_t *memory)
{
    return all_in(regions, count, begin, end)
           || (NULL != memory && !mca_osc_fastpath_is_contiguous(memory->type, memory->count)
               && pieces_in(regions, count, memory));
}

bool mca_osc_fastpath_attached(const mca_osc_fastpath_module_t *module, uintptr_t begin, uintptr_t end,
                               const mca_osc_fastpath_memory_t *memory)
{
    return memory_in(module->regions, module->num_regions, begin, end, memory);
}

/* The list is about to change. */
static void change_begin(mca_osc_fastpath_module_t *module)
{
    const uint32_t version = atomic_load_explicit(&module->member->regions.version, memory_order_relaxed);

    atomic_store_explicit(&module->member->regions.version, version + 1, memory_order_relaxed);
    /* release, with the acquire fence of read_list(): who reads a part of the change sees the odd version */
    atomic_thread_fence(memory_order_release);
}

/* It has changed. */
static void change_end(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_member_t *member = module->member;
    const uint32_t version = atomic_load_explicit(&member->regions.version, memory_order_relaxed);

    atomic_store_explicit(&member->regions.count, (uint32_t) module->num_regions, memory_order_relaxed);
    atomic_store_explicit(&member->regions.address, (uintptr_t) module->regions, memory_order_relaxed);
    /* release, with the acquire of read_list(): who sees the new version sees the new list */
    atomic_store_explicit(&member->regions.version, version + 1, memory_order_release);
}

/** What a reader of another process's list wants. */
typedef struct {
    mca_osc_fastpath_peer_t *peer;
    int rc;
} reading_t;

/* Read the list unless it is known. Inside module.lock. @return whether it is known now, or cannot be */
static bool read_list(mca_osc_fastpath_module_t *module, void *context)
{
    reading_t *reading = context;
    mca_osc_fastpath_peer_t *peer = reading->peer;
    mca_osc_fastpath_member_t *member = peer->member;
    mca_osc_fastpath_region_t *list;
    /* acquire, with the release of change_end() */
    const uint32_t version = atomic_load_explicit(&member->regions.version, memory_order_acquire);
    const uint32_t count = atomic_load_explicit(&member->regions.count, memory_order_relaxed);
    bool good;

    (void) module;
    if (0 != version % 2) {
        return false;
    }
    if (version == peer->regions.version) {
        return true;
    }
    list = malloc((count + 1) * sizeof(*list));
    if (NULL == list) {
        reading->rc = OMPI_ERR_OUT_OF_RESOURCE;
        return true;
    }
    good = mca_common_fastpath_process_copy(
        peer->pid, false, list, atomic_load_explicit(&member->regions.address, memory_order_relaxed),
        count * sizeof(*list));
    /* acquire, with the release fence of change_begin() */
    atomic_thread_fence(memory_order_acquire);
    if (version != atomic_load_explicit(&member->regions.version, memory_order_relaxed)) {
        free(list);
        return false;
    }
    if (!good) {
        free(list);
        reading->rc = OMPI_ERR_RMA_RANGE;
        return true;
    }
    free(peer->regions.list);
    peer->regions.list = list;
    peer->regions.count = count;
    peer->regions.version = version;
    return true;
}

int mca_osc_fastpath_peer_attached(mca_osc_fastpath_peer_t *peer, uintptr_t begin, uintptr_t end,
                                   const mca_osc_fastpath_memory_t *memory)
{
    mca_osc_fastpath_module_t *module = peer->module;
    reading_t reading = {.peer = peer, .rc = OMPI_SUCCESS};
    int rc;

    mca_osc_fastpath_enter(module);
    rc = mca_osc_fastpath_wait_until(module, read_list, &reading);
    rc = OMPI_SUCCESS == rc ? reading.rc : rc;
    if (OMPI_SUCCESS == rc && !memory_in(peer->regions.list, peer->regions.count, begin, end, memory)) {
        rc = OMPI_ERR_RMA_RANGE;
    }
    mca_osc_fastpath_leave(module);
    return rc;
}

static int insert_region(mca_osc_fastpath_module_t *module, uintptr_t begin, uintptr_t end)
{
    mca_osc_fastpath_region_t *regions = module->regions;
    const size_t place = region_place(regions, module->num_regions, begin);

    if (place < module->num_regions && regions[place].begin < end) {
        return OMPI_ERR_RMA_ATTACH; /* MPI 3.1, 11.2.4: no overlap */
    }
    if (module->num_regions == module->max_regions) {
        const size_t max = 0 == module->max_regions ? 16 : 2 * module->max_regions;

        regions = realloc(module->regions, max * sizeof(*regions));
        if (NULL == regions) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        module->regions = regions;
        module->max_regions = max;
    }
    memmove(&regions[place + 1], &regions[place], (module->num_regions - place) * sizeof(*regions));
    regions[place] = (mca_osc_fastpath_region_t){.begin = begin, .end = end};
    ++module->num_regions;
    return OMPI_SUCCESS;
}

int mca_osc_fastpath_attach(ompi_win_t *win, void *base, size_t size)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc;

    if (MPI_WIN_FLAVOR_DYNAMIC != module->flavor) {
        return OMPI_ERR_RMA_FLAVOR;
    }
    if (0 == size) {
        mca_osc_fastpath_enter(module);
        ++module->empty_regions;
        mca_osc_fastpath_leave(module);
        return OMPI_SUCCESS;
    }
    if (NULL == base || (uintptr_t) base + size < (uintptr_t) base) {
        return OMPI_ERR_RMA_ATTACH;
    }
    if (module->node.copy && !mca_common_fastpath_process_readable(base, size)) {
        return OMPI_ERR_RMA_ATTACH; /* others of the node could not get at it */
    }
    mca_osc_fastpath_enter(module);
    change_begin(module);
    rc = insert_region(module, (uintptr_t) base, (uintptr_t) base + size);
    change_end(module);
    mca_osc_fastpath_leave(module);
    return rc;
}

int mca_osc_fastpath_detach(ompi_win_t *win, const void *base)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc = OMPI_ERR_RMA_ATTACH;
    size_t place;

    if (MPI_WIN_FLAVOR_DYNAMIC != module->flavor) {
        return OMPI_ERR_RMA_FLAVOR;
    }
    mca_osc_fastpath_enter(module);
    place = region_place(module->regions, module->num_regions, (uintptr_t) base);
    if (place < module->num_regions && (uintptr_t) base == module->regions[place].begin) {
        change_begin(module);
        --module->num_regions;
        memmove(&module->regions[place], &module->regions[place + 1],
                (module->num_regions - place) * sizeof(module->regions[0]));
        change_end(module);
        rc = OMPI_SUCCESS;
    } else if (0 < module->empty_regions) {
        --module->empty_regions;
        rc = OMPI_SUCCESS;
    }
    mca_osc_fastpath_leave(module);
    return rc;
}
