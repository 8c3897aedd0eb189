/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A lock between threads for what takes a few instructions. Taking it is one atomic instruction and giving it
 * back is none; a mutex needs two, and each of them waits until what was stored before, such as a slot whose
 * line another core has, is visible. Who finds it taken looks for a while and then gives its processor away.
 *
 * Zeroed memory is a free lock.
 */
#ifndef COMMON_FASTPATH_LOCK_H
#define COMMON_FASTPATH_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct {
    _Atomic int taken;
} mca_common_fastpath_lock_t;

/** Waits until the lock could be taken. For mca_common_fastpath_lock(). */
void mca_common_fastpath_lock_wait(mca_common_fastpath_lock_t *lock);

/** Take the lock if nobody has it. @return whether it could be taken */
static inline bool mca_common_fastpath_trylock(mca_common_fastpath_lock_t *lock)
{
    /* acquire, with the release below: sees what the last one did who had it */
    return 0 == atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire);
}

/** Take the lock. */
static inline void mca_common_fastpath_lock(mca_common_fastpath_lock_t *lock)
{
    if (__builtin_expect(!mca_common_fastpath_trylock(lock), 0)) {
        mca_common_fastpath_lock_wait(lock);
    }
}

/** Give it back. */
static inline void mca_common_fastpath_unlock(mca_common_fastpath_lock_t *lock)
{
    atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

/** Take the lock if there are threads to be kept out. */
static inline void mca_common_fastpath_lock_if(mca_common_fastpath_lock_t *lock, bool threads)
{
    if (__builtin_expect(threads, 0)) {
        mca_common_fastpath_lock(lock);
    }
}

/** Give it back if it was taken so. */
static inline void mca_common_fastpath_unlock_if(mca_common_fastpath_lock_t *lock, bool threads)
{
    if (__builtin_expect(threads, 0)) {
        mca_common_fastpath_unlock(lock);
    }
}

#endif /* COMMON_FASTPATH_LOCK_H */
