/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How far apart ranks leave a collective: the time from the first rank's return to the last one's, of
 * MPI_Barrier and of MPI_Allreduce of 8 bytes, and what the collective takes at the slowest rank.  All ranks
 * are on one host, so that they have one clock.
 *
 * Usage: mpirun -np N ragged [-n ROUNDS]
 *
 * Prints WHAT BYTES MEDIAN_US LEAST_US, for WHAT in barrier-apart, barrier, allreduce-apart, allreduce-all.
 */

#include <mpi.h>
#include <stdbool.h>
#include <unistd.h>

#include "bench.h"
#include "parts.h"

enum { WARM_UPS = 20 };

static int rounds = 200;

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    int64_t in = 1, out;

    MPI_Allreduce(&in, &out, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

/* Each round begins after a barrier that is not measured, so that all are awake and nobody comes much later
 * than the rest. */
static void measure(void (*collective)(void), const char *what, const char *apart, size_t bytes, int rank)
{
    static double took[BENCH_MAX_BATCHES], first[BENCH_MAX_BATCHES], last[BENCH_MAX_BATCHES];

    for (int i = -WARM_UPS; i < rounds; ++i) {
        int at = i < 0 ? 0 : i;
        double begin;

        MPI_Barrier(MPI_COMM_WORLD);
        begin = bench_now_us();
        collective();
        last[at] = bench_now_us();
        first[at] = -last[at];
        took[at] = last[at] - begin;
    }
    MPI_Allreduce(MPI_IN_PLACE, took, rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, first, rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, last, rounds, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < rounds; ++i) {
        last[i] += first[i]; /* the negative of the earliest */
    }
    if (0 == rank) {
        bench_print(apart, bytes, last, rounds);
        bench_print(what, bytes, took, rounds);
    }
}

static void parse(int argc, char **argv, int ranks)
{
    bool good = ranks >= 2;
    int option;

    while (-1 != (option = getopt(argc, argv, "n:"))) {
        if ('n' == option) {
            rounds = atoi(optarg);
        } else {
            good = false;
        }
    }
    if (!good || rounds < 1 || rounds > BENCH_MAX_BATCHES) {
        fprintf(stderr, "usage: mpirun -np N ragged [-n ROUNDS]       (at most %d)\n", BENCH_MAX_BATCHES);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

void bench_ragged(int argc, char **argv)
{
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parse(argc, argv, ranks);
    measure(barrier, "barrier", "barrier-apart", 0, rank);
    measure(allreduce, "allreduce-all", "allreduce-apart", 8, rank);
}

#ifndef BENCH_SEVERAL
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bench_ragged(argc, argv);
    MPI_Finalize();
    return 0;
}
#endif
