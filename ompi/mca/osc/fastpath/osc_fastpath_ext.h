/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What other components of a process may know of osc/fastpath, and whether it has windows of another
 * component. Operations on those may need this process for something that ends no sleep
 * (docs/waiting.md, "Windows of other components").
 */
#ifndef MCA_OSC_FASTPATH_EXT_H
#define MCA_OSC_FASTPATH_EXT_H

#include "ompi_config.h"

#include <stdatomic.h>
#include <string.h>

#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"

/** The bytes "fastoscW" as a little-endian number. */
#define MCA_OSC_FASTPATH_EXT_MAGIC UINT64_C(0x5763736f74736166)

/** The beginning of osc/fastpath's component. */
typedef struct {
    ompi_osc_base_component_t super;
    uint64_t magic;      /**< MCA_OSC_FASTPATH_EXT_MAGIC */
    _Atomic int windows; /**< open ones of this process, without those of MPI_Win_allocate_shared */
} mca_osc_fastpath_public_component_t;

/** @return open windows that osc/fastpath has made, without those of MPI_Win_allocate_shared */
static inline int mca_osc_fastpath_ext_windows(void)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &ompi_osc_base_framework.framework_components, mca_base_component_list_item_t)
    {
        const mca_osc_fastpath_public_component_t *component = (const void *) item->cli_component;

        if (0 == strcmp("fastpath", item->cli_component->mca_component_name)
            && MCA_OSC_FASTPATH_EXT_MAGIC == component->magic) {
            return atomic_load_explicit(&component->windows, memory_order_relaxed);
        }
    }
    return 0;
}

/**
 * @return whether this process has an open window that another component has made. Those of
 * MPI_Win_allocate_shared are left out: what their operations need is in shared memory. While another thread
 * makes or frees a window, the answer may be that of before or after, or true.
 */
static inline bool mca_osc_fastpath_ext_foreign_windows(void)
{
    opal_pointer_array_t *windows = &ompi_mpi_windows;
    int open = 0;

    if (1 >= windows->size - windows->number_free) {
        return false; /* one is MPI_WIN_NULL */
    }
    OPAL_THREAD_LOCK(&windows->lock);
    for (int i = 1; i < windows->size; ++i) {
        const ompi_win_t *win = windows->addr[i];

        open += NULL != win && MPI_WIN_FLAVOR_SHARED != win->w_flavor;
    }
    OPAL_THREAD_UNLOCK(&windows->lock);
    return 0 < open && mca_osc_fastpath_ext_windows() < open;
}

#endif /* MCA_OSC_FASTPATH_EXT_H */
