/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "opal_config.h"

#include <time.h>

#include "common_fastpath_clock.h"

#define NANOSECONDS_PER_MILLISECOND 1000000u

/* What a measurement may be wrong by: one such part. */
#define ERROR_PART 50

uint64_t mca_common_fastpath_nanoseconds(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000 * NANOSECONDS_PER_MILLISECOND + (uint64_t) now.tv_nsec;
}

/* Both clocks. Returns ticks by which they may be apart: another process may run between two reads. */
static uint64_t read_both(uint64_t *ticks, uint64_t *nanoseconds)
{
    const uint64_t before = mca_common_fastpath_ticks();

    *nanoseconds = mca_common_fastpath_nanoseconds();
    *ticks = mca_common_fastpath_ticks();
    return *ticks - before;
}

void mca_common_fastpath_clock_start(mca_common_fastpath_clock_t *clock)
{
    clock->first_error = read_both(&clock->first_ticks, &clock->first_nanoseconds);
    clock->per_millisecond = 0;
}

uint64_t mca_common_fastpath_clock_per_millisecond(mca_common_fastpath_clock_t *clock)
{
    uint64_t nanoseconds, ticks, error, rate;

    if (0 != clock->per_millisecond) {
        return clock->per_millisecond;
    }
    error = clock->first_error + read_both(&ticks, &nanoseconds);
    nanoseconds -= clock->first_nanoseconds;
    ticks -= clock->first_ticks;
    if (NANOSECONDS_PER_MILLISECOND > nanoseconds || error > ticks / ERROR_PART) {
        return 0;
    }
    /* in floating point: the product of both may have more than 64 bits where nobody has asked for hours */
    rate = (uint64_t) ((double) ticks / (double) nanoseconds * NANOSECONDS_PER_MILLISECOND);
    clock->per_millisecond = 0 == rate ? 1 : rate;
    return clock->per_millisecond;
}
