/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A receiver that sleeps until somebody sends it something, at no price for who sends: a sender reads one
 * word after it has published (fastsm_wake_if_asleep), without a fence.
 *
 *     sleeper: announce -> look for messages -> sleep
 *     sender:  publish -> read the word -> wake
 *
 * What the sender's processor has published may still be on its way when it reads the word.  The sleeper
 * makes up for that by membarrier(), behind which each processor that runs one of the senders has no such
 * stores any more.  That holds for processes that have enlisted.  docs/memory-ordering.md has the argument,
 * test/model/sleep.pml checks it.
 */

#ifndef MCA_BTL_FASTSM_SLEEP_H
#define MCA_BTL_FASTSM_SLEEP_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>
#include <linux/membarrier.h>

/**
 * Enlists this process among those that membarrier() is for.  With several threads that takes as long as
 * each processor needs to pass through the scheduler, 10 to 30 ms.
 *
 * @return  whether the kernel can do that and lets us
 */
static inline bool fastsm_sleep_enlist(void)
{
    return 0 == syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

/**
 * E1, sleeper.  Partner: E2.  Says that it is going to sleep.  Then each message that an enlisted process has
 * not published visibly wakes it.
 *
 * With several threads each of them does that.  As long as the word is what one of them has found or stored
 * before its membarrier(), nobody has been woken since.
 *
 * @param asleep   in its segment
 * @param fresh    what has not been there yet, and not 0: the word from now on, unless it is not 0
 * @param threads  others of this process may sleep, too
 * @return         the word; 0: the kernel does not do that, and nothing has been said
 */
static inline uint32_t fastsm_sleep_announce(_Atomic uint32_t *asleep, uint32_t fresh, bool threads)
{
    uint32_t word = 0;

    if (!atomic_compare_exchange_strong(asleep, &word, fresh)) {
        if (!threads) {
            return word; /* it is behind a membarrier already, and nobody has read it and acted */
        }
    } else {
        word = fresh;
    }
    if (0 == syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0)) {
        return word;
    }
    atomic_store_explicit(asleep, 0, memory_order_relaxed);
    return 0;
}

/**
 * Sleeps unless somebody has sent something since fastsm_sleep_announce().
 *
 * @param word  what that has returned
 * @param time  nanoseconds, less than a second: the most
 * @return      whether nobody has yet: it is still announced
 */
static inline bool fastsm_sleep(_Atomic uint32_t *asleep, uint32_t word, uint64_t time)
{
    const struct timespec most = {.tv_nsec = (long) time};

    /* the kernel compares the word when it has this thread in its list of sleepers: who makes it 0 later
     * finds us there */
    (void) syscall(SYS_futex, asleep, FUTEX_WAIT, word, &most, NULL, 0);
    return word == atomic_load_explicit(asleep, memory_order_relaxed);
}

#endif /* MCA_BTL_FASTSM_SLEEP_H */
