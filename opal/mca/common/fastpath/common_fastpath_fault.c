/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "opal_config.h"

#include <stdint.h>
#include <unistd.h>

#include "common_fastpath_fault.h"

bool mca_common_fastpath_fault(unsigned percent)
{
    static _Thread_local uint32_t state = 0;

    if (0 == state) {
        /* any number but 0, different in each process, thread and component */
        state = ((uint32_t) getpid() ^ (uint32_t) (uintptr_t) &state) * 2654435761u | 1u;
    }
    state ^= state << 13; /* Marsaglia's xorshift, period 2^32 - 1 */
    state ^= state >> 17;
    state ^= state << 5;
    return state % 100 < percent;
}
