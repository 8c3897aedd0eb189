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

/** Windows by what has made them. */
typedef enum {
    MCA_OSC_FASTPATH_EXT_OTHER, /**< any other function */
    MCA_OSC_FASTPATH_EXT_SHARED /**< MPI_Win_allocate_shared */
} mca_osc_fastpath_ext_kind_t;

/** The beginning of osc/fastpath's component. */
typedef struct {
    ompi_osc_base_component_t super;
    uint64_t magic;         /**< MCA_OSC_FASTPATH_EXT_MAGIC */
    _Atomic int windows[2]; /**< open ones of this process, by mca_osc_fastpath_ext_kind_t */
} mca_osc_fastpath_public_component_t;

/** @return the kind of a window of that flavor */
static inline mca_osc_fastpath_ext_kind_t mca_osc_fastpath_ext_kind(int flavor)
{
    return MPI_WIN_FLAVOR_SHARED == flavor ? MCA_OSC_FASTPATH_EXT_SHARED : MCA_OSC_FASTPATH_EXT_OTHER;
}

/** @return the component of that name that may make windows here, or NULL */
static inline const void *mca_osc_fastpath_ext_component(const char *name)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &ompi_osc_base_framework.framework_components, mca_base_component_list_item_t)
    {
        if (0 == strcmp(name, item->cli_component->mca_component_name)) {
            return item->cli_component;
        }
    }
    return NULL;
}

/** @param open  windows of that kind. @return whether one of them is not osc/fastpath's */
static inline bool mca_osc_fastpath_ext_has_foreign(int open, mca_osc_fastpath_ext_kind_t kind)
{
    const mca_osc_fastpath_public_component_t *component = mca_osc_fastpath_ext_component("fastpath");
    const bool known = NULL != component && MCA_OSC_FASTPATH_EXT_MAGIC == component->magic;

    return (known ? atomic_load_explicit(&component->windows[kind], memory_order_relaxed) : 0) < open;
}

/**
 * @return whether this process has an open window that another component has made. Those of osc/sm that
 * MPI_Win_allocate_shared has made are left out: all that their operations need is in shared memory. While
 * another thread makes or frees a window the answer may be wrong for a moment.
 */
static inline bool mca_osc_fastpath_ext_foreign_windows(void)
{
    opal_pointer_array_t *windows = &ompi_mpi_windows;
    int open[2] = {0};

    if (1 >= windows->size - windows->number_free) {
        return false; /* one is MPI_WIN_NULL */
    }
    OPAL_THREAD_LOCK(&windows->lock);
    for (int i = 1; i < windows->size; ++i) {
        const ompi_win_t *win = windows->addr[i];

        if (NULL != win) {
            ++open[mca_osc_fastpath_ext_kind(win->w_flavor)];
        }
    }
    OPAL_THREAD_UNLOCK(&windows->lock);
    return mca_osc_fastpath_ext_has_foreign(open[MCA_OSC_FASTPATH_EXT_OTHER], MCA_OSC_FASTPATH_EXT_OTHER)
           || (mca_osc_fastpath_ext_has_foreign(open[MCA_OSC_FASTPATH_EXT_SHARED],
                                                MCA_OSC_FASTPATH_EXT_SHARED)
               && NULL == mca_osc_fastpath_ext_component("sm"));
}

#endif /* MCA_OSC_FASTPATH_EXT_H */
