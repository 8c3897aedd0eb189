/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "operations.h"

enum { MODULUS = 4096 };

static double combine(commtest_operation_t operation, double a, double b)
{
    double sum = a + b;

    switch (operation) {
    case COMMTEST_MAX:
        return a > b ? a : b;
    case COMMTEST_USER:
        return sum >= MODULUS ? sum - MODULUS : sum;
    default:
        return sum;
    }
}

static void user(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    const double *a = in;
    double *b = inout;

    (void) datatype;
    for (int i = 0; i < *count; ++i) {
        b[i] = combine(COMMTEST_USER, a[i], b[i]);
    }
}

MPI_Op commtest_operation_open(commtest_operation_t operation)
{
    MPI_Op op = COMMTEST_MAX == operation ? MPI_MAX : MPI_SUM;

    if (COMMTEST_USER == operation) {
        MPI_Op_create(user, 1, &op);
    }
    return op;
}

void commtest_operation_close(commtest_operation_t operation, MPI_Op *op)
{
    if (COMMTEST_USER == operation) {
        MPI_Op_free(op);
    }
}

/* Small integers, of which sums are exact, and below MODULUS. */
static double element(int number, int process)
{
    return (double) (((unsigned) number * 17u + (unsigned) process * 1031u) % MODULUS);
}

void commtest_vector_fill(double *vector, int count, int process)
{
    for (int i = 0; i < count; ++i) {
        vector[i] = element(i, process);
    }
}

int commtest_vector_wrong(const double *result, int count, commtest_operation_t operation, int processes)
{
    for (int i = 0; i < count; ++i) {
        double right = element(i, 0);

        for (int p = 1; p < processes; ++p) {
            right = combine(operation, right, element(i, p));
        }
        if (right != result[i]) {
            return i;
        }
    }
    return count;
}
