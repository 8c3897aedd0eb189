/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Operations on vectors of doubles whose result is exact in whatever order it comes about, and the vectors.
 */

#ifndef FASTPATH_COMMTEST_OPERATIONS_H
#define FASTPATH_COMMTEST_OPERATIONS_H

#include <mpi.h>
#include <stdbool.h>

/** Which one. */
typedef enum {
    COMMTEST_SUM,
    COMMTEST_MAX,
    COMMTEST_USER, /**< the sum modulo 4096, by a function that MPI calls */
} commtest_operation_t;

enum { COMMTEST_OPERATIONS = 3 };

/** The operation as MPI knows it.  Free it with commtest_operation_close(). */
MPI_Op commtest_operation_open(commtest_operation_t operation);

void commtest_operation_close(commtest_operation_t operation, MPI_Op *op);

/** Writes the vector of a process. */
void commtest_vector_fill(double *vector, int count, int process);

/** The first element that is not the result for so many processes; count if all are. */
int commtest_vector_wrong(const double *result, int count, commtest_operation_t operation, int processes);

#endif /* FASTPATH_COMMTEST_OPERATIONS_H */
