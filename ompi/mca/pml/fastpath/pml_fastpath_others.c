/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stddef.h>

#include "pml_fastpath_others.h"

#define MS UINT64_C(1000000)

/* A yield that takes so long has met somebody who computes. */
#define LATE (1 * MS)

/* So many of them in a time of which they took more than half, and yields do not help. */
#define LATE_MOST 8

/* How long yields are tried; and measured, where they help. */
#define TRIAL_TIME (50 * MS)

/* The core has been taken from us so often while we waited, in looks not farther apart than this, before
 * yields are tried. */
#define TAKEN      3
#define TAKEN_TIME (100 * MS)

/* Until the next try, where yields did not help: the first time, and the most that this is doubled to. */
#define BACKOFF_FIRST (500 * MS)
#define BACKOFF_MOST  (8000 * MS)

/* Nobody has wanted the core for so long: yields are no longer needed. */
#define ALONE_TIME (1000 * MS)

void mca_pml_fastpath_others_init(mca_pml_fastpath_others_t *others)
{
    *others = (mca_pml_fastpath_others_t){.backoff = BACKOFF_FIRST};
}

static void set(mca_pml_fastpath_others_t *others, mca_pml_fastpath_others_state_t state, uint64_t now)
{
    others->state = state;
    others->begun = now;
    others->late_time = 0;
    others->late = 0;
    others->taken = 0;
    others->taken_last = now;
}

void mca_pml_fastpath_others_forget(mca_pml_fastpath_others_t *others, uint64_t now)
{
    if (mca_pml_fastpath_others_want(others)) {
        set(others, MCA_PML_FASTPATH_OTHERS_NONE, now);
    }
}

/* So many late yields have come that something can be said. */
static void late_enough(mca_pml_fastpath_others_t *others, uint64_t now)
{
    if (others->late_time > (now - others->begun) / 2) {
        others->trial_next = now + others->backoff;
        others->backoff = BACKOFF_MOST / 2 > others->backoff ? 2 * others->backoff : BACKOFF_MOST;
        set(others, MCA_PML_FASTPATH_OTHERS_NONE, now);
    } else {
        set(others, MCA_PML_FASTPATH_OTHERS_SHARED, now);
    }
}

void mca_pml_fastpath_others_look(mca_pml_fastpath_others_t *others, uint64_t now, bool taken)
{
    if (taken) {
        others->taken = now - others->taken_last > TAKEN_TIME ? 1 : others->taken + 1;
        others->taken_last = now;
    }
    switch (others->state) {
    case MCA_PML_FASTPATH_OTHERS_NONE:
        if (TAKEN <= others->taken && now >= others->trial_next) {
            set(others, MCA_PML_FASTPATH_OTHERS_TRIAL, now);
        }
        break;
    case MCA_PML_FASTPATH_OTHERS_TRIAL:
        if (now - others->begun > TRIAL_TIME) {
            others->backoff = BACKOFF_FIRST;
            set(others, MCA_PML_FASTPATH_OTHERS_SHARED, now);
        }
        break;
    case MCA_PML_FASTPATH_OTHERS_SHARED:
        if (now - others->taken_last > ALONE_TIME) {
            set(others, MCA_PML_FASTPATH_OTHERS_NONE, now);
        }
        break;
    }
}

void mca_pml_fastpath_others_yielded(mca_pml_fastpath_others_t *others, uint64_t from, uint64_t to)
{
    if (LATE < to - from && mca_pml_fastpath_others_want(others)) {
        others->late_time += to - from;
        if (LATE_MOST == ++others->late) {
            late_enough(others, to);
        }
    }
}
