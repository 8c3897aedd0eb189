/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Whether all eager buffers take turns, or a few of them (docs/shared-layout.md, "Buffers take turns").
 *
 * Which is sooner depends on the processor and its caches, on how far the cores are apart and on what is
 * sent, so it is tried: now and then some hundred buffers are taken of all, then of few, several times, and
 * what counts is the time in which the program takes them.  Where most of these pairs agree that is kept.  So
 * neither somebody else who has the core for a while nor a program that computes meanwhile decides it.
 *
 * Needs nothing of Open MPI.  The list's lock is held.
 */
#ifndef MCA_BTL_FASTSM_ROTATION_H
#define MCA_BTL_FASTSM_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

/** buffers that take turns where few do, or more, for very long messages */
#define MCA_BTL_FASTSM_ROTATION_FEW 64u

/** What is known of both. */
typedef struct {
    uint32_t left;       /**< buffers to be taken until mca_btl_fastsm_rotation_step() is to be called */
    uint32_t step;       /**< of the trial that is under way; 0: none is */
    uint32_t better;     /**< pairs of this trial in which what is not chosen was sooner */
    uint32_t not_better; /**< and in which it was not */
    uint32_t rest;       /**< steps that begin no trial, before the next one that may */
    uint32_t next_rest;  /**< and after that one */
    bool few;            /**< few take turns while none is under way */
    bool few_now;        /**< few take turns until `left` buffers have been taken */
    uint64_t began;      /**< the phase that is measured, in ticks of the clock */
    uint64_t ticks[2];   /**< that the last phases of all and of few took */
} mca_btl_fastsm_rotation_t;

/** All take turns until the first trial. */
void mca_btl_fastsm_rotation_init(mca_btl_fastsm_rotation_t *rotation);

/** No trial is under way any more, if one was. */
void mca_btl_fastsm_rotation_stop(mca_btl_fastsm_rotation_t *rotation);

/**
 * As many buffers have been taken as were `left`: sets `few_now`, and `left` anew.
 *
 * @param now  ticks of the clock
 * @param all  buffers that take turns where all do; 0: not all of them have had one yet, so nothing is tried
 */
void mca_btl_fastsm_rotation_step(mca_btl_fastsm_rotation_t *rotation, uint64_t now, uint32_t all);

#endif /* MCA_BTL_FASTSM_ROTATION_H */
