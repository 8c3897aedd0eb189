/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * One thread's windows and what it knows of them.
 */
#ifndef RMA_RANDOM_LANE_H
#define RMA_RANDOM_LANE_H

#include "rma_random_plan.h"

enum { MAX_LANES = 8 };

typedef struct {
    const options_t *options;
    int index;
    fp_random_t choices; /**< of this rank alone: nothing that others have to know follows from them */

    int number;    /**< of the window */
    MPI_Comm base; /**< of all its windows */
    MPI_Comm side; /**< for what the test itself has to say */
    MPI_Win win;
    int rank, ranks;
    window_plan_t plan;
    phase_t phase;
    unsigned char *block[MAX_BLOCKS];    /**< its own memory */
    MPI_Aint address[MAX_SLOTS];         /**< of all slots, in a dynamic window */
    unsigned char *shared[MAX_RANKS];    /**< memory of others, in a shared window */
    unsigned char *model[MAX_RANKS];     /**< what all memories must hold */
    MPI_Datatype made[SHAPES][ELEMENTS]; /**< datatypes that have been used */
} lane_t;

/** Says what is tried now. */
void lane_case(const lane_t *lane, const char *what, const operation_t *op);
bool lane_one_in(lane_t *lane, unsigned n);

/* ------------------------------------------------------------------ windows */

/** Makes and frees window NUMBER of the lane, and the model of what it holds. */
void window_make(lane_t *lane, int number);
void window_free(lane_t *lane);

/** What MPI takes as displacement of an element of a slot. */
MPI_Aint window_displacement(const lane_t *lane, int slot, int element);

/** Own memory of a slot. */
unsigned char *window_slot(const lane_t *lane, int slot);

/** The model of a slot. */
unsigned char *model_slot(const lane_t *lane, int slot);

/** Detaches some blocks of a dynamic window and attaches others with the same bytes.  All ranks call it. */
void window_move(lane_t *lane);

/* ------------------------------------------------------------------- phases */

/** Does what the plan of the phase wants of this rank, epochs and all. */
void run_phase(lane_t *lane);

/** The address that MPI is given for a buffer of some shape. */
unsigned char *run_address(const shape_t *shape, const element_t *element, unsigned char *block);

/* -------------------------------------------------------------------- model */

/** Carries the phase out in the model, and checks what this rank's operations have fetched. */
void model_run(lane_t *lane);

/** Frees the buffers of this rank's operations, whose guard zones must be untouched. */
void model_release(lane_t *lane);

/** Compares this rank's memory with the model: nobody accesses it. */
void model_check_memory(lane_t *lane);

/** The same for the operations at hot slots, whose results all ranks exchange. */
void chain_run(lane_t *lane);

/** What compare_and_swap of a hot slot hopes for, before the model has seen the phase. */
long chain_compared(const lane_t *lane, const operation_t *op);

#endif /* RMA_RANDOM_LANE_H */
