/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Waits that may last: when nothing has happened for long, they sleep (docs/waiting.md).
 */
#ifndef MCA_PML_FASTPATH_IDLE_H
#define MCA_PML_FASTPATH_IDLE_H

#include "opal/mca/common/fastpath/common_fastpath_idle.h"

#include "pml_fastpath.h"

/** A wait that may last; all 0 in the beginning. */
typedef struct {
    mca_common_fastpath_idle_wait_t wait;
    unsigned rounds; /**< from one look at the clock to the next */
} mca_pml_fastpath_idle_t;

/**
 * mca_pml_fastpath_pause() for a wait that has no other end than what it waits for: when nothing has happened
 * for long enough, it sleeps, too, as pml_fastpath_wait says. A message of any peer's wakes it. What
 * else it waits for may be late by a 64th of the time that it has waited, and by 10 ms at the most. The
 * caller looks for what it waits for between two calls. With several threads it never sleeps.
 */
void mca_pml_fastpath_pause_idle(mca_pml_fastpath_idle_t *idle);

#endif /* MCA_PML_FASTPATH_IDLE_H */
