/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <unistd.h>

#include "pml_fastpath_bml.h"

bool mca_pml_fastpath_refuse_roll(void)
{
    static _Thread_local uint32_t state = 0;

    if (0 == state) {
        state = (uint32_t) getpid() * 2654435761u | 1u; /* any number but 0, different in each process */
    }
    state ^= state << 13; /* Marsaglia's xorshift, period 2^32 - 1 */
    state ^= state >> 17;
    state ^= state << 5;
    return state % 100 < mca_pml_fastpath.refuse;
}
