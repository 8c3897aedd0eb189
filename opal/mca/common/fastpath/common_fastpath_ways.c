/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "opal_config.h"

#include "common_fastpath_clock.h"
#include "common_fastpath_ways.h"

/** after the trials one in so many takes a way that was slower.  A prime number, so that where messages of
 * several lengths take turns it is not always the same one */
#define PROBE 31u
/** bytes that ticks are kept for: there are clocks that count some ten for a page */
#define UNIT ((uint64_t) 64 * 1024)

/* The best way; one that is not known is tried. */
static unsigned best_of(const mca_common_fastpath_ways_t *ways, unsigned count)
{
    uint64_t least = UINT64_MAX;
    unsigned best = 0;

    for (unsigned way = 0; way < count; ++way) {
        const uint64_t ticks = atomic_load_explicit(&ways->ticks[way], memory_order_relaxed);

        if (ticks < least) {
            least = ticks;
            best = way;
        }
    }
    return best;
}

unsigned mca_common_fastpath_ways_choose(mca_common_fastpath_ways_t *ways, unsigned count)
{
    const unsigned best = best_of(ways, count);
    const bool known = mca_common_fastpath_ways_are_known(ways, count);
    const uint32_t number = atomic_load_explicit(&ways->uses, memory_order_relaxed);

    atomic_store_explicit(&ways->uses, number + 1, memory_order_relaxed);
    if (!known) {
        return number % count;
    }
    return 0 == number % PROBE ? (best + 1 + number / PROBE % (count - 1)) % count : best;
}

/* Less time than before is what it takes.  More may be somebody else's, who had the core, or a peer's that
 * came late, and counts little. */
void mca_common_fastpath_ways_note(mca_common_fastpath_ways_t *ways, unsigned way, size_t bytes,
                                   uint64_t ticks)
{
    const uint64_t before = atomic_load_explicit(&ways->ticks[way], memory_order_relaxed);
    uint64_t now = ticks * UNIT / bytes + 1;

    if (0 != before && now >= before) {
        now = before + ((now < 2 * before ? now : 2 * before) - before) / 8;
    }
    atomic_store_explicit(&ways->ticks[way], now, memory_order_relaxed);
}

void mca_common_fastpath_ways_copy(mca_common_fastpath_ways_t *ways, unsigned count, void *to,
                                   const void *from, size_t length)
{
    uint64_t begin;
    unsigned way;
    bool due;

    if (MCA_COMMON_FASTPATH_COPY_LONG > length) {
        mca_common_fastpath_copy(to, from, length);
        return;
    }
    way = mca_common_fastpath_ways_next(ways, count, &due);
    begin = due ? mca_common_fastpath_ticks() : 0;
    mca_common_fastpath_copy_by(way, to, from, length);
    if (due) {
        mca_common_fastpath_ways_note_copy(ways, way, length, mca_common_fastpath_ticks() - begin);
    }
}
