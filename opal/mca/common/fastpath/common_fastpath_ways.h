/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Two ways to copy the same, of which one is sooner: which one depends on the processor, on how far the cores
 * are apart, and on what the program does meanwhile.  So both are measured.  The first uses take both in
 * turn, later ones the better one, and now and then the other one, which may be better by now.
 *
 * For one thread at a time.
 */
#ifndef COMMON_FASTPATH_WAYS_H
#define COMMON_FASTPATH_WAYS_H

#include <stddef.h>
#include <stdint.h>

/** What is known of ways 0 and 1; all 0 in the beginning. */
typedef struct {
    uint64_t ticks[2]; /**< for 64 KiB of late; 0: not known */
    uint32_t uses;     /**< that have asked for a way */
} mca_common_fastpath_ways_t;

/** @return the way that the next use shall take, 0 or 1 */
unsigned mca_common_fastpath_ways_choose(mca_common_fastpath_ways_t *ways);

/**
 * Something has been copied.
 *
 * @param way    that it has taken
 * @param bytes  not 0
 * @param ticks  of mca_common_fastpath_ticks() that it took
 */
void mca_common_fastpath_ways_note(mca_common_fastpath_ways_t *ways, unsigned way, size_t bytes,
                                   uint64_t ticks);

#endif /* COMMON_FASTPATH_WAYS_H */
