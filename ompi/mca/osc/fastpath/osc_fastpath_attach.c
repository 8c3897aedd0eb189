/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Memory of dynamic windows.
 */
#include "ompi_config.h"

#include "osc_fastpath.h"

/* The place in the order of addresses of a region that begins at `begin`. */
static size_t place_of(const mca_osc_fastpath_module_t *module, uintptr_t begin)
{
    size_t low = 0, high = module->num_regions;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (module->regions[middle].begin < begin) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int insert(mca_osc_fastpath_module_t *module, uintptr_t begin, uintptr_t end)
{
    const size_t place = place_of(module, begin);
    mca_osc_fastpath_region_t *regions = module->regions;

    if ((place < module->num_regions && regions[place].begin < end)
        || (0 < place && regions[place - 1].end > begin)) {
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

int ompi_osc_fastpath_attach(ompi_win_t *win, void *base, size_t size)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc;

    if (MPI_WIN_FLAVOR_DYNAMIC != module->flavor) {
        return OMPI_ERR_RMA_FLAVOR;
    }
    if (0 == size) {
        return OMPI_SUCCESS;
    }
    if (NULL == base || (uintptr_t) base + size < (uintptr_t) base) {
        return OMPI_ERR_RMA_ATTACH;
    }
    mca_osc_fastpath_enter(module);
    rc = insert(module, (uintptr_t) base, (uintptr_t) base + size);
    mca_osc_fastpath_leave(module);
    return rc;
}

int ompi_osc_fastpath_detach(ompi_win_t *win, const void *base)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc = OMPI_ERR_RMA_ATTACH;
    size_t place;

    if (MPI_WIN_FLAVOR_DYNAMIC != module->flavor) {
        return OMPI_ERR_RMA_FLAVOR;
    }
    mca_osc_fastpath_enter(module);
    place = place_of(module, (uintptr_t) base);
    if (place < module->num_regions && (uintptr_t) base == module->regions[place].begin) {
        --module->num_regions;
        memmove(&module->regions[place], &module->regions[place + 1],
                (module->num_regions - place) * sizeof(module->regions[0]));
        rc = OMPI_SUCCESS;
    }
    mca_osc_fastpath_leave(module);
    return rc;
}
