/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stddef.h>

#include "pml_fastpath_others.h"

#define MS UINT64_C(1000000)

/* Who has waited so long for the core from one look to the next has yielded to somebody who computes. */
#define LATE (1 * MS)

/* Where yields help, so many of them in a time of which they took more than half, and they do not any more.
 */
#define LATE_MAX 8

/* How long yields are tried. Others begin when they have the core next: what counts is the second half. */
#define TRIAL_TIME (64 * MS)
#define TRIAL_HALF (TRIAL_TIME / 2)

/* The core has been taken from us so often while we waited, in looks not farther apart than this, before
 * yields are tried. */
#define TAKEN      3
#define TAKEN_TIME (100 * MS)

/* A trial begins when the clock shows a multiple of this, which is doubled from the second one on that fails,
 * up to the most. So those who wait for each other meet in a trial, whoever has found out first and however
 * often each of them has failed before: one who yields hides from the others that they share a core. */
#define TRIAL_EVERY_FIRST (125 * MS)
#define TRIAL_EVERY_MAX   (8000 * MS)

/* Nobody has wanted the core for so long: yields are no longer needed. */
#define ALONE_TIME (1000 * MS)

void mca_pml_fastpath_others_init(mca_pml_fastpath_others_t *others)
{
    *others = (mca_pml_fastpath_others_t){0};
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

static uint64_t next_multiple(uint64_t now, uint64_t of)
{
    return (now / of + 1) * of;
}

/* @return what the next trial begins at a multiple of */
static uint64_t trial_every(const mca_pml_fastpath_others_t *others)
{
    uint64_t every = TRIAL_EVERY_FIRST;

    for (int i = 1; i < others->failed && TRIAL_EVERY_MAX > every; ++i) {
        every *= 2;
    }
    return every;
}

/* Yields are over that took so much of the time that was measured. */
static void judge_yields(mca_pml_fastpath_others_t *others, uint64_t now, uint64_t measured)
{
    if (others->late_time > measured / 2) {
        ++others->failed;
        others->trial_next = next_multiple(now, trial_every(others));
        set(others, MCA_PML_FASTPATH_OTHERS_NONE, now);
    } else {
        others->failed = 0;
        others->trial_next = 0;
        set(others, MCA_PML_FASTPATH_OTHERS_SHARED, now);
    }
}

/* Begin a trial if it is time: with those of everybody else or not at all. */
static void begin_trial(mca_pml_fastpath_others_t *others, uint64_t now)
{
    if (0 == others->trial_next || now > others->trial_next + TRIAL_HALF) {
        others->trial_next = next_multiple(now, trial_every(others));
    }
    if (now >= others->trial_next) {
        set(others, MCA_PML_FASTPATH_OTHERS_TRIAL, others->trial_next);
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
        if (TAKEN <= others->taken) {
            begin_trial(others, now);
        }
        break;
    case MCA_PML_FASTPATH_OTHERS_TRIAL:
        if (now - others->begun > TRIAL_TIME) {
            judge_yields(others, now, now - others->begun - TRIAL_HALF);
        }
        break;
    case MCA_PML_FASTPATH_OTHERS_SHARED:
        if (now - others->taken_last > ALONE_TIME) {
            set(others, MCA_PML_FASTPATH_OTHERS_NONE, now);
        }
        break;
    }
}

void mca_pml_fastpath_others_waited(mca_pml_fastpath_others_t *others, uint64_t from, uint64_t to,
                                    uint64_t waited)
{
    const bool trial = MCA_PML_FASTPATH_OTHERS_TRIAL == others->state;

    if (LATE >= waited || TRIAL_TIME < to - from || !mca_pml_fastpath_others_want(others)
        || (trial && from < others->begun + TRIAL_HALF)) {
        return;
    }
    others->late_time += waited; /* of longer times nobody knows in how many parts */
    ++others->late;
    if (trial && others->late_time > TRIAL_HALF / 2) {
        judge_yields(others, to, TRIAL_HALF); /* whatever the rest of it brings */
    } else if (!trial && LATE_MAX == others->late) {
        judge_yields(others, to, to - others->begun);
    }
}
