/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "clock.h"

#include <math.h>
#include <time.h>

enum { TAG = 3, ROUNDS = 64 };

double commtest_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec * 1e6 + (double) now.tv_nsec * 1e-3;
}

static bool on_one_node(MPI_Comm comm)
{
    MPI_Comm node;
    int all, here;

    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_size(comm, &all);
    MPI_Comm_free(&node);
    MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT, MPI_MIN, comm);
    return here == all;
}

/* Process 0: the other one looked at its clock between these two moments, in the fastest round. */
static void ask(int other, MPI_Comm comm, double result[2])
{
    double fastest = INFINITY;

    for (int i = 0; i < ROUNDS; ++i) {
        double begin = commtest_now_us(), theirs, end;

        MPI_Send(&begin, 1, MPI_DOUBLE, other, TAG, comm);
        MPI_Recv(&theirs, 1, MPI_DOUBLE, other, TAG, comm, MPI_STATUS_IGNORE);
        end = commtest_now_us();
        if (end - begin < fastest) {
            fastest = end - begin;
            result[0] = (begin + end) / 2.0 - theirs;
            result[1] = fastest / 2.0;
        }
    }
    MPI_Send(result, 2, MPI_DOUBLE, other, TAG, comm);
}

static void answer(MPI_Comm comm, double result[2])
{
    for (int i = 0; i < ROUNDS; ++i) {
        double mine;

        MPI_Recv(&mine, 1, MPI_DOUBLE, 0, TAG, comm, MPI_STATUS_IGNORE);
        mine = commtest_now_us();
        MPI_Send(&mine, 1, MPI_DOUBLE, 0, TAG, comm);
    }
    MPI_Recv(result, 2, MPI_DOUBLE, 0, TAG, comm, MPI_STATUS_IGNORE);
}

void commtest_clock_open(commtest_clock_t *clock, MPI_Comm comm, bool estimate)
{
    double result[2] = {0.0, 0.0}, most[2];
    int rank, processes;

    *clock = (commtest_clock_t){.one_node = on_one_node(comm)};
    if (clock->one_node && !estimate) {
        return;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &processes);
    if (0 == rank) {
        for (int other = 1; other < processes; ++other) {
            ask(other, comm, result);
        }
        result[0] = result[1] = 0.0;
    } else {
        answer(comm, result);
    }
    clock->offset_us = result[0];
    result[0] = fabs(result[0]);
    MPI_Allreduce(result, most, 2, MPI_DOUBLE, MPI_MAX, comm);
    clock->largest_us = most[0];
    clock->error_us = most[1];
}
