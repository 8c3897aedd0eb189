/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * How often a wait polls before everything else progresses and, where there are more processes than cores,
 * others get the core (docs/waiting.md, "Polling where cores are shared").
 */
#ifndef MCA_PML_FASTPATH_SPIN_H
#define MCA_PML_FASTPATH_SPIN_H

#include "opal/runtime/opal_progress.h"

#include "pml_fastpath.h"

/** @return how often a wait polls at first: once where processes share cores */
static inline unsigned mca_pml_fastpath_spin_count(void)
{
    return OPAL_LIKELY(!opal_progress_yield_when_idle) ? mca_pml_fastpath.spin_count : 1;
}

/** @return how often to poll in place of so many times, where each looks at several slots, or takes a lock */
static inline unsigned mca_pml_fastpath_spins_of_several(unsigned spins)
{
    return 1 + spins / 8;
}

/** mca_pml_fastpath_spin_again() where processes share cores. */
unsigned mca_pml_fastpath_spin_again_shared(void);

/**
 * How often to poll again after that has found nothing. The caller says by mca_pml_fastpath_spin_result()
 * what has come of it. Any thread may call both.
 * @return polls, or 0: do not
 */
static inline unsigned mca_pml_fastpath_spin_again(void)
{
    return OPAL_LIKELY(!opal_progress_yield_when_idle) ? 0 : mca_pml_fastpath_spin_again_shared();
}

/** So many polls have found something, or nothing. */
void mca_pml_fastpath_spin_result(bool found);

#endif /* MCA_PML_FASTPATH_SPIN_H */
