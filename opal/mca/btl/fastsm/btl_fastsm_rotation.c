/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "btl_fastsm_rotation.h"

/** pairs of a trial, and how many of them have to agree before anything changes */
#define PAIRS 8u
#define AGREE 7u
/** buffers that are taken at the begin of a phase and do not count: who takes turns has changed.  Of all it
 * is a whole round, because as long as few have taken turns nothing has driven the others from the reader's
 * cache */
#define SETTLE_FEW (2 * MCA_BTL_FASTSM_ROTATION_FEW)
/** buffers whose time counts */
#define COUNTED 256u
/** buffers of a step between two trials */
#define RESTING 4096u
/** steps that begin no trial after one: twice as many each time, as long as nothing changes */
#define REST_MIN 4u
#define REST_MAX 32u

enum { ALL, FEW };

void mca_btl_fastsm_rotation_init(mca_btl_fastsm_rotation_t *rotation)
{
    *rotation = (mca_btl_fastsm_rotation_t){.left = RESTING, .next_rest = REST_MIN};
}

void mca_btl_fastsm_rotation_stop(mca_btl_fastsm_rotation_t *rotation)
{
    rotation->step = 0;
    rotation->left = RESTING;
    rotation->few_now = rotation->few;
}

/* The phase that a step belongs to, from 0 on.  Each has two, of which the first does not count. */
static unsigned phase_of(uint32_t step)
{
    return (step - 1) / 2;
}

/* All, few, few, all: so what changes slowly meanwhile counts for both. */
static unsigned tried_in(unsigned phase)
{
    return (phase + 1) / 2 % 2;
}

/* The trial is over. */
static void trial_end(mca_btl_fastsm_rotation_t *rotation, bool agree)
{
    if (agree) {
        rotation->few = !rotation->few;
        rotation->next_rest = REST_MIN;
    } else if (REST_MAX > rotation->next_rest) {
        rotation->next_rest *= 2;
    }
    rotation->rest = rotation->next_rest;
    mca_btl_fastsm_rotation_stop(rotation);
}

/* A phase has been measured.  Ends the trial as soon as it is clear whether anything changes. */
static void phase_end(mca_btl_fastsm_rotation_t *rotation, uint64_t now)
{
    const unsigned phase = phase_of(rotation->step), tried = tried_in(phase);

    rotation->ticks[tried] = now - rotation->began;
    if (0 == phase % 2) {
        return;
    }
    if (rotation->ticks[rotation->few ? ALL : FEW] < rotation->ticks[rotation->few ? FEW : ALL]) {
        ++rotation->better;
    } else {
        ++rotation->not_better;
    }
    if (AGREE == rotation->better || PAIRS - AGREE < rotation->not_better) {
        trial_end(rotation, AGREE == rotation->better);
    }
}

/* A trial begins, or goes on with its next step. */
static void next_step(mca_btl_fastsm_rotation_t *rotation, uint32_t all)
{
    ++rotation->step;
    rotation->few_now = FEW == tried_in(phase_of(rotation->step));
    if (0 == rotation->step % 2) {
        rotation->left = COUNTED;
    } else {
        rotation->left = rotation->few_now ? SETTLE_FEW : all;
    }
}

void mca_btl_fastsm_rotation_step(mca_btl_fastsm_rotation_t *rotation, uint64_t now, uint32_t all)
{
    if (0 == all) {
        mca_btl_fastsm_rotation_stop(rotation);
        return;
    }
    if (0 < rotation->rest) {
        --rotation->rest;
        rotation->left = RESTING;
        return;
    }
    if (0 == rotation->step) {
        rotation->better = 0;
        rotation->not_better = 0;
    } else if (0 == rotation->step % 2) {
        phase_end(rotation, now);
        if (0 == rotation->step) {
            return;
        }
    }
    next_step(rotation, all);
    rotation->began = now;
}
