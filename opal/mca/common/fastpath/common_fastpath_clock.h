/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A clock that costs some nanoseconds to read: the processor's counter, where there is one.
 *
 * It is read directly.  Open MPI's timers ask which processor they run on, or wait for earlier instructions
 * by cpuid, which traps in virtual machines.  How fast the counter runs is measured once, between two moments
 * that are some time apart anyway, so nobody waits for it.
 */
#ifndef COMMON_FASTPATH_CLOCK_H
#define COMMON_FASTPATH_CLOCK_H

#include <stdint.h>

/** Nanoseconds of the system's clock, which nobody sets. */
uint64_t mca_common_fastpath_nanoseconds(void);

/**
 * The counter.  Later instructions may overtake it, and so may it overtake earlier ones.  It may go back a
 * little where a thread has moved to another processor; callers compare differences as unsigned numbers, so
 * that this looks like a long time.
 */
static inline uint64_t mca_common_fastpath_ticks(void)
{
#if defined(__x86_64__)
    uint32_t low, high;

    __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t) high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return mca_common_fastpath_nanoseconds();
#endif
}

/** How fast the counter runs, or how that is found out. */
typedef struct {
    uint64_t first_ticks;       /**< the counter when the measurement began */
    uint64_t first_nanoseconds; /**< the system's clock at that moment */
    uint64_t first_error;       /**< ticks: how far the two may be apart */
    uint64_t per_millisecond;   /**< what it counts in a millisecond; 0: not known yet */
} mca_common_fastpath_clock_t;

/** Begin to measure. Returns at once. */
void mca_common_fastpath_clock_start(mca_common_fastpath_clock_t *clock);

/**
 * How much the counter counts in a millisecond.  The first answer that is not 0 is kept.  Several threads
 * may ask at the same time.
 *
 * @return that, to 2 %; or 0 as long as less than a millisecond has passed since
 * mca_common_fastpath_clock_start(), or somebody else had the processor between two reads and so little has
 * passed that it matters
 */
uint64_t mca_common_fastpath_clock_per_millisecond(mca_common_fastpath_clock_t *clock);

#endif /* COMMON_FASTPATH_CLOCK_H */
