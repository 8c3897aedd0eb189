/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "opal_config.h"

#include <sched.h>

#include "common_fastpath_lock.h"

/** looks at a lock that is taken before its owner may need our processor */
#define LOOKS 100

void mca_common_fastpath_lock_wait(mca_common_fastpath_lock_t *lock)
{
    for (unsigned look = 1;; ++look) {
        /* only looks, so that the line need not travel as long as the lock is taken */
        if (0 == atomic_load_explicit(&lock->taken, memory_order_relaxed)
            && mca_common_fastpath_trylock(lock)) {
            return;
        }
        if (0 == look % LOOKS) {
            sched_yield();
        }
    }
}
