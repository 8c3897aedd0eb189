/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * An adaptive choice between two ways to copy. Which one is faster depends on the processor, on how far the
 * cores are apart, and on what the program does meanwhile, so both are measured: the first copies try both in
 * turn, later ones use the better one and try the other one now and then.
 *
 * Several threads may use one of these at a time: a measurement may be lost then, and nothing else.
 */
#ifndef COMMON_FASTPATH_WAYS_H
#define COMMON_FASTPATH_WAYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common_fastpath_copy.h"

/** What is known of ways 0 and 1; all 0 in the beginning. */
typedef struct {
    _Atomic uint64_t ticks[2]; /**< for 64 KiB of late; 0: not known */
    _Atomic uint32_t uses;     /**< that have asked for a way */
    _Atomic uint32_t pieces;   /**< that mca_common_fastpath_ways_is_due() has been asked about */
} mca_common_fastpath_ways_t;

/** of pieces of messages one in so many is measured */
#define MCA_COMMON_FASTPATH_WAYS_DUE 8u

/** @return whether the next use shall be measured. For uses so short that reading the clock counts */
static inline bool mca_common_fastpath_ways_is_due(mca_common_fastpath_ways_t *ways)
{
    const uint32_t number = atomic_load_explicit(&ways->pieces, memory_order_relaxed);

    atomic_store_explicit(&ways->pieces, number + 1, memory_order_relaxed);
    return 0 == number % MCA_COMMON_FASTPATH_WAYS_DUE;
}

/** @return the way that takes less time; 0 as long as that is not known. For a use that is not measured */
static inline unsigned mca_common_fastpath_ways_better(mca_common_fastpath_ways_t *ways)
{
    const uint64_t second = atomic_load_explicit(&ways->ticks[1], memory_order_relaxed);

    return 0 != second && second < atomic_load_explicit(&ways->ticks[0], memory_order_relaxed) ? 1 : 0;
}

/** @return the way that the next use shall take, 0 or 1. It is to be measured */
unsigned mca_common_fastpath_ways_choose(mca_common_fastpath_ways_t *ways);

/**
 * The way of the next piece of a message.
 *
 * @param due  receives whether it is to be measured
 */
static inline unsigned mca_common_fastpath_ways_next(mca_common_fastpath_ways_t *ways, bool *due)
{
    *due = mca_common_fastpath_ways_is_due(ways);
    return *due ? mca_common_fastpath_ways_choose(ways) : mca_common_fastpath_ways_better(ways);
}

/**
 * Something has been copied.
 *
 * @param way    that it has taken
 * @param bytes  not 0
 * @param ticks  of mca_common_fastpath_ticks() that it took
 */
void mca_common_fastpath_ways_note(mca_common_fastpath_ways_t *ways, unsigned way, size_t bytes,
                                   uint64_t ticks);

/** Ways to copy a piece of a message: mca_common_fastpath_copy(), and mca_common_fastpath_copy_string(). */
#define MCA_COMMON_FASTPATH_BY_LOOP   0u
#define MCA_COMMON_FASTPATH_BY_STRING 1u

/** memcpy by that way. */
static inline void mca_common_fastpath_copy_by(unsigned way, void *to, const void *from, size_t length)
{
    if (MCA_COMMON_FASTPATH_BY_STRING == way) {
        mca_common_fastpath_copy_string(to, from, length);
    } else {
        mca_common_fastpath_copy(to, from, length);
    }
}

/**
 * A piece has been copied by a way.  The loop has to be the sooner one by a fifth: what one side takes
 * depends on how the other copies, and with these two the instruction on both sides is best
 * (docs/data-path.md).
 */
static inline void mca_common_fastpath_ways_note_copy(mca_common_fastpath_ways_t *ways, unsigned way,
                                                      size_t bytes, uint64_t ticks)
{
    mca_common_fastpath_ways_note(ways, way, bytes,
                                  MCA_COMMON_FASTPATH_BY_LOOP == way ? ticks + ticks / 4 : ticks);
}

/**
 * memcpy between processes, by the one of these ways that is sooner.
 *
 * @param ways  of the pieces between these two that go in this direction
 */
void mca_common_fastpath_ways_copy(mca_common_fastpath_ways_t *ways, void *to, const void *from,
                                   size_t length);

#endif /* COMMON_FASTPATH_WAYS_H */
