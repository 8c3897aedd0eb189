/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * An adaptive choice between two or three ways to copy. Which one is faster depends on the processor, on how
 * far the cores are apart, and on what the program does meanwhile, so all are measured: the first copies try
 * them in turn, later ones use the best one and try another one now and then.
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

/** Ways at most. */
#define MCA_COMMON_FASTPATH_WAYS_MAX 3u

/** What is known of ways 0, 1 and, where there are three, 2; all 0 in the beginning. */
typedef struct {
    _Atomic uint64_t ticks[MCA_COMMON_FASTPATH_WAYS_MAX]; /**< for 64 KiB of late; 0: not known */
    _Atomic uint32_t uses;     /**< that have asked for a way */
    _Atomic uint32_t pieces;   /**< that mca_common_fastpath_ways_is_due() has been asked about */
} mca_common_fastpath_ways_t;

/** uses of each way in turn, the first ones: memory that a way uses for the first time is slow */
#define MCA_COMMON_FASTPATH_WAYS_TRIALS 4u
/** of pieces of messages one in so many is measured, after those */
#define MCA_COMMON_FASTPATH_WAYS_DUE 8u

/** @return whether all ways have been tried. @param count  of ways */
static inline bool mca_common_fastpath_ways_are_known(mca_common_fastpath_ways_t *ways, unsigned count)
{
    return MCA_COMMON_FASTPATH_WAYS_TRIALS * count <= atomic_load_explicit(&ways->uses, memory_order_relaxed);
}

/** @return whether the next use shall be measured. For uses so short that reading the clock counts */
static inline bool mca_common_fastpath_ways_is_due(mca_common_fastpath_ways_t *ways)
{
    const uint32_t number = atomic_load_explicit(&ways->pieces, memory_order_relaxed);

    atomic_store_explicit(&ways->pieces, number + 1, memory_order_relaxed);
    return 0 == number % MCA_COMMON_FASTPATH_WAYS_DUE;
}

/** @return the way that takes least time; 0 as long as that is not known. For a use that is not measured */
static inline unsigned mca_common_fastpath_ways_best(mca_common_fastpath_ways_t *ways)
{
    uint64_t least = atomic_load_explicit(&ways->ticks[0], memory_order_relaxed);
    unsigned best = 0;

    for (unsigned way = 1; way < MCA_COMMON_FASTPATH_WAYS_MAX; ++way) {
        const uint64_t ticks = atomic_load_explicit(&ways->ticks[way], memory_order_relaxed);

        if (0 != ticks && ticks < least) {
            least = ticks;
            best = way;
        }
    }
    return best;
}

/**
 * The way that the next use shall take. It is to be measured.
 *
 * @param count  of ways, 2 or 3, always the same
 */
unsigned mca_common_fastpath_ways_choose(mca_common_fastpath_ways_t *ways, unsigned count);

/**
 * The way of the next piece of a message.
 *
 * @param count  as of mca_common_fastpath_ways_choose()
 * @param due    receives whether it is to be measured
 */
static inline unsigned mca_common_fastpath_ways_next(mca_common_fastpath_ways_t *ways, unsigned count,
                                                     bool *due)
{
    *due = mca_common_fastpath_ways_is_due(ways) || !mca_common_fastpath_ways_are_known(ways, count);
    return *due ? mca_common_fastpath_ways_choose(ways, count) : mca_common_fastpath_ways_best(ways);
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

/** Ways to copy a piece of a message: mca_common_fastpath_copy(), mca_common_fastpath_copy_string(), and
 * mca_common_fastpath_copy_nontemporal(). */
#define MCA_COMMON_FASTPATH_BY_LOOP        0u
#define MCA_COMMON_FASTPATH_BY_STRING      1u
#define MCA_COMMON_FASTPATH_BY_NONTEMPORAL 2u
/** Of these, who copies for another process has three. */
#define MCA_COMMON_FASTPATH_FILL_WAYS 3u
/** Who takes that has two: it would write its own memory around its own cache. */
#define MCA_COMMON_FASTPATH_TAKE_WAYS 2u

/** memcpy by that way. @param length  at least MCA_COMMON_FASTPATH_COPY_LONG by NONTEMPORAL */
static inline void mca_common_fastpath_copy_by(unsigned way, void *to, const void *from, size_t length)
{
    if (MCA_COMMON_FASTPATH_BY_STRING == way) {
        mca_common_fastpath_copy_string(to, from, length);
    } else if (MCA_COMMON_FASTPATH_BY_NONTEMPORAL == way) {
        mca_common_fastpath_copy_nontemporal(to, from, length);
    } else {
        mca_common_fastpath_copy(to, from, length);
    }
}

/**
 * A piece has been copied by a way. What one side takes depends on how the other copies, and only this side
 * is measured. The loop has to be sooner than the instruction by a fifth: with these two the instruction on
 * both sides is best. What is written around the caches counts four times: its reader waits for memory
 * (docs/data-path.md, "Against other transports").
 */
static inline void mca_common_fastpath_ways_note_copy(mca_common_fastpath_ways_t *ways, unsigned way,
                                                      size_t bytes, uint64_t ticks)
{
    const uint64_t counted[MCA_COMMON_FASTPATH_WAYS_MAX] = {[MCA_COMMON_FASTPATH_BY_LOOP] = ticks + ticks / 4,
                                                            [MCA_COMMON_FASTPATH_BY_STRING] = ticks,
                                                            [MCA_COMMON_FASTPATH_BY_NONTEMPORAL] = 4 * ticks};

    mca_common_fastpath_ways_note(ways, way, bytes, counted[way]);
}

/**
 * memcpy between processes, by the one of these ways that is sooner.
 *
 * @param ways   of the pieces between these two that go in this direction
 * @param count  MCA_COMMON_FASTPATH_FILL_WAYS or _TAKE_WAYS
 */
void mca_common_fastpath_ways_copy(mca_common_fastpath_ways_t *ways, unsigned count, void *to,
                                   const void *from, size_t length);

#endif /* COMMON_FASTPATH_WAYS_H */
