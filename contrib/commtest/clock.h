/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Time, also as process 0 has it.
 */

#ifndef FASTPATH_COMMTEST_CLOCK_H
#define FASTPATH_COMMTEST_CLOCK_H

#include <mpi.h>
#include <stdbool.h>

/** How a process's time becomes that of process 0. */
typedef struct {
    bool one_node;     /**< all processes have the same clock */
    double offset_us;  /**< added to this process's time it gives that of process 0 */
    double largest_us; /**< the largest offset of any process, without its sign */
    double error_us;   /**< by how much any offset may be wrong */
} commtest_clock_t;

/** Microseconds since some moment, the same one for all processes of a node. */
double commtest_now_us(void);

/**
 * Collective: whether all processes are on one node, or else their offsets, estimated from the fastest of
 * some messages to and fro.  With estimate they are estimated on one node, too.
 */
void commtest_clock_open(commtest_clock_t *clock, MPI_Comm comm, bool estimate);

#endif /* FASTPATH_COMMTEST_CLOCK_H */
