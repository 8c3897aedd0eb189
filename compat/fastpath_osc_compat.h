/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Differences between Open MPI series in the one-sided framework; see fastpath_opal_compat.h.
 */
#ifndef FASTPATH_OSC_COMPAT_H
#define FASTPATH_OSC_COMPAT_H

#include "compat/fastpath_ompi_compat.h"

#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/op/op.h"
#include "ompi/win/win.h"

/* The types of 6.0 and later: counts of elements, displacement units. */
#if 6 <= OMPI_MAJOR_VERSION
typedef size_t fastpath_osc_count_t;
typedef ptrdiff_t fastpath_osc_disp_unit_t;
#else
typedef int fastpath_osc_count_t;
typedef int fastpath_osc_disp_unit_t;
#    define OMPI_OSC_BASE_VERSION_4_0_0 OMPI_OSC_BASE_VERSION_3_0_0
#endif

/** Whether MPI_Win_shared_query may be asked of windows over the user's memory, too (MPI-4.1, 12.2.3). */
#define FASTPATH_SHARED_QUERY_OF_CREATED (6 <= OMPI_MAJOR_VERSION)

/* The text of an info key as subscribers get and return it. */
#if 5 <= OMPI_MAJOR_VERSION
typedef const char *fastpath_info_text_t;
#else
typedef char *fastpath_info_text_t;
#endif

/** Elements as the runtime's internal functions of this series count them, which take ints before 6.0. */
#define FASTPATH_COLL_COUNT(n) ((fastpath_osc_count_t) (n))

/**
 * Read an info key.
 *
 * @param info  may be NULL
 * @param text  where its value goes, cut to `size` bytes
 *
 * @return whether the key is there
 */
static inline bool fastpath_info_get(opal_info_t *info, const char *key, char *text, size_t size)
{
    int found = 0;

    if (NULL == info) {
        return false;
    }
#if 5 <= OMPI_MAJOR_VERSION
    {
        opal_cstring_t *value = NULL;

        if (OPAL_SUCCESS != opal_info_get(info, key, &value, &found) || !found) {
            return false;
        }
        snprintf(text, size, "%s", value->string);
        OBJ_RELEASE(value);
    }
#else
    if (OPAL_SUCCESS != opal_info_get(info, (char *) key, (int) size - 1, text, &found)) {
        return false;
    }
#endif
    return 0 != found;
}

#endif /* FASTPATH_OSC_COMPAT_H */
