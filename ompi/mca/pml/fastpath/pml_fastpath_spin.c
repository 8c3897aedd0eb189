/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_clock.h"

#include "pml_fastpath_spin.h"

/** Factor of the spin count: a peer that polls only once between two calls of progress must have time to
 * answer. */
#define SHARED_SPINS 2u
/** What spins that have found something count, less those that have not, at most: about as many as there are
 * in a time slice in which both processes run. */
#define SCORE_MAX 255u
/** and where it pays to spin, at least */
#define SCORE_PAYS 4u
/** What one counts that has found something: it saves that much of what one costs that has not. */
#define SCORE_FOUND 2u
/** Nanoseconds from one trial to the next, and of one. */
#define TRIAL_PERIOD (UINT64_C(1) << 22)
#define TRIAL_TIME   (UINT64_C(1) << 17)

static volatile unsigned score; /* threads that count at the same time may lose one */

/* Whether everybody tries it. Two processes find out that they answer each other at once only if both spin,
 * so all do at the same time, by a clock that is the same for all. */
static bool is_trial(void)
{
    return mca_common_fastpath_nanoseconds() % TRIAL_PERIOD < TRIAL_TIME;
}

unsigned mca_pml_fastpath_spin_again_shared(void)
{
    return SCORE_PAYS <= score || is_trial() ? SHARED_SPINS * mca_pml_fastpath.spin_count : 0;
}

void mca_pml_fastpath_spin_result(bool found)
{
    const unsigned before = score;

    if (found) {
        score = SCORE_MAX - SCORE_FOUND > before ? before + SCORE_FOUND : SCORE_MAX;
    } else {
        score = 0 < before ? before - 1 : 0;
    }
}
