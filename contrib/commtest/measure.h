/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * One experiment with one size of packet.
 */

#ifndef FASTPATH_COMMTEST_MEASURE_H
#define FASTPATH_COMMTEST_MEASURE_H

#include <mpi.h>

#include "clock.h"
#include "plan.h"

/** What stays the same for all experiments of a process. */
typedef struct {
    const commtest_options_t *options;
    const char *name; /**< of the program, for messages */
    commtest_clock_t clock;
    int rank;
    char *out;
    char *in;
    size_t in_bytes;     /**< without the guard behind it */
    double *own;         /**< by repetition, us: what this process has taken, and then the slowest one */
    double *minus_begin; /**< the negative of when it began */
    double *end;         /**< and when it was done, by the clock of process 0 */
} commtest_setup_t;

/** Times are of one volume, and of the slowest process in each repetition. */
typedef struct {
    int packet; /**< bytes */
    int packets;
    double best_us, median_us, worst_us;
    double elapsed_us; /**< from the first process's begin to the last one's end: median */
    bool apart; /**< elapsed_us is more than 10 % above median_us, and clocks are good enough to tell */
    int wrong;  /**< processes that have found wrong data, and have said so on standard error */
} commtest_result_t;

/** Collective: makes room, false on all processes if one has no memory. */
bool commtest_setup_open(commtest_setup_t *setup, const commtest_options_t *options, const char *name);

void commtest_setup_close(commtest_setup_t *setup);

/** Collective: packets of that size.  active has the processes that take part, or is MPI_COMM_NULL. */
void commtest_measure(commtest_setup_t *setup, const commtest_experiment_t *experiment,
                      const commtest_partners_t *partners, MPI_Comm active, int packet,
                      commtest_result_t *result);

#endif /* FASTPATH_COMMTEST_MEASURE_H */
