/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * MPI_T performance variables that are numbers of the process, which tools only read.
 */
#ifndef MCA_COMMON_FASTPATH_PVAR_H
#define MCA_COMMON_FASTPATH_PVAR_H

#include <stdatomic.h>

#include "opal/constants.h"
#include "opal/mca/base/mca_base_pvar.h"

/** Open MPI's function that reads such a variable. */
static inline int mca_common_fastpath_pvar_get(const mca_base_pvar_t *pvar, void *value, void *object)
{
    (void) object;
    *(unsigned long *) value =
        atomic_load_explicit((_Atomic unsigned long *) pvar->ctx, memory_order_relaxed);
    return OPAL_SUCCESS;
}

/**
 * Register one.
 *
 * @param name     without the framework_component_ prefix
 * @param class    MCA_BASE_PVAR_CLASS_*
 * @param counter  an unsigned long, or an atomic one
 */
static inline void mca_common_fastpath_pvar_register(const mca_base_component_t *component, const char *name,
                                                     const char *text, int class, void *counter)
{
    (void) mca_base_component_pvar_register(
        component, name, text, OPAL_INFO_LVL_4, class, MCA_BASE_VAR_TYPE_UNSIGNED_LONG, NULL,
        MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
        mca_common_fastpath_pvar_get, NULL, NULL, counter);
}

#endif /* MCA_COMMON_FASTPATH_PVAR_H */
