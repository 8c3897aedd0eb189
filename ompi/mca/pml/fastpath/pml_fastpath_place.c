/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif

#include "ompi_config.h"

#include <string.h>

#include "pml_fastpath_place.h"

static mca_pml_fastpath_place_t own;

const mca_pml_fastpath_place_t *mca_pml_fastpath_place_own(void)
{
    return &own;
}

void mca_pml_fastpath_place_find(void)
{
    memset(&own, 0, sizeof(own));
    (void) mca_common_fastpath_boot_id(own.boot_id);
    if (0 != sched_getaffinity(0, sizeof(own.cores), &own.cores)) {
        CPU_ZERO(&own.cores); /* more cores than a cpu_set_t has room for */
    }
}

size_t mca_pml_fastpath_place_size(const mca_pml_fastpath_place_t *place)
{
    const uint8_t *bytes = (const uint8_t *) place;
    size_t size = sizeof(*place);

    while (offsetof(mca_pml_fastpath_place_t, cores) < size && 0 == bytes[size - 1]) {
        --size;
    }
    return size;
}
