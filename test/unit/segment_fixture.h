/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A segment for tests without a launcher: memory that forked processes share.
 */

#ifndef SEGMENT_FIXTURE_H
#define SEGMENT_FIXTURE_H

#include <stdlib.h>
#include <sys/mman.h>

#include "opal/mca/btl/fastsm/btl_fastsm_layout.h"

/** Lays out a segment and maps it, zeroed; ends the test when that fails.  munmap of layout->total ends it.
 */
static inline char *segment_open(const mca_btl_fastsm_layout_params_t *params,
                                 mca_btl_fastsm_layout_t *layout)
{
    void *segment;

    if (0 != mca_btl_fastsm_layout(params, layout)) {
        abort();
    }
    segment = mmap(NULL, layout->total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == segment) {
        abort();
    }
    return (char *) segment;
}

#endif /* SEGMENT_FIXTURE_H */
