/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Ping-pong of every pair of ranks, one after the other, as the HPC Challenge does it: 8 bytes for latency,
 * 2 000 000 for bandwidth.  The ranks of the other pairs sleep outside MPI.
 *
 * Usage: mpirun -np N allpairs [-c CPU,CPU,...] [-p PAIRS] [-f FRACTION] [-b BATCHES] [-i ITERATIONS]
 *                              [-l LONG_BYTES]
 *
 * -c  processors, one per core: with more ranks than these, the two that measure move to the first two
 * -p  at most so many pairs (default: 4096), taken at even distances from all ordered pairs
 * -f  the first one at this fraction of the distance (default: 0), so that runs with several measure more
 *
 * Prints a line per pair: pair FROM TO LATENCY_US MBYTE_PER_S
 */

#define _GNU_SOURCE
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "parts.h"
#include "turns.h"

enum { TAG = 7, SHORT_BYTES = 8 };

typedef struct {
    double latency; /* microseconds one way */
    double rate;    /* megabytes per second */
} result_t;

static int rank;
static int batches = 5;
static int iterations = 200;
static int long_bytes = 2000000;
static long count = 4096; /* pairs */
static double first_at;   /* in distances between two of them */
static int cpus[CPU_SETSIZE];
static int cpu_count;
static char *out;
static char *in;

/* The time of one way in microseconds, at the side that begins. */
static double to_and_fro(int peer, int size, int count, bool first)
{
    double start = bench_now_us();

    for (int i = 0; i < count; ++i) {
        if (first) {
            bench_fill(out, (size_t) size, (uint64_t) i);
            MPI_Send(out, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        }
        MPI_Recv(in, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!first) {
            bench_fill(out, (size_t) size, (uint64_t) i);
            MPI_Send(out, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        }
    }
    return (bench_now_us() - start) / count / 2.0;
}

/* The median of the batches. */
static double median(int peer, int size, int count, bool first)
{
    static double us[BENCH_MAX_BATCHES];

    to_and_fro(peer, size, count < 8 ? count : 8, first); /* connects, and both are awake */
    for (int i = 0; i < batches; ++i) {
        us[i] = to_and_fro(peer, size, count, first);
    }
    qsort(us, (size_t) batches, sizeof(*us), bench_compare);
    return us[batches / 2];
}

static void measure(int peer, bool first, result_t *result)
{
    double latency = median(peer, SHORT_BYTES, iterations, first);
    double us = median(peer, long_bytes, 1, first);

    if (first) {
        result->latency = latency;
        result->rate = us > 0.0 ? long_bytes / us : 0.0;
    }
}

/* The ordered pair that is measured in a turn. */
static void members(long turn, int ranks, int pair[2])
{
    long all = (long) ranks * (ranks - 1);
    long at = (long) (((double) turn + first_at) * (double) all / (double) count);

    pair[0] = (int) (at / (ranks - 1));
    pair[1] = (int) (at % (ranks - 1));
    pair[1] += pair[1] >= pair[0];
}

static void measure_all(turns_t *turns, result_t *results, int ranks, bool pin)
{
    int pair[2], next[2];

    members(0, ranks, next);
    turns_settle(turns, ranks, rank == next[0]);
    if (rank == next[0]) {
        turns_wake(turns, next[1]);
        turns_wake(turns, next[0]);
    }
    for (long t = 0; t < count; ++t) {
        members(t, ranks, pair);
        if (rank != pair[0] && rank != pair[1]) {
            continue;
        }
        turns_sleep(turns, rank);
        if (pin) {
            turns_pin(cpus[rank == pair[1]]);
        }
        measure(pair[rank == pair[0]], rank == pair[0], &results[t]);
        if (rank == pair[0] && t + 1 < count) {
            members(t + 1, ranks, next);
            turns_wake(turns, next[0]);
            turns_wake(turns, next[1]);
        } else if (rank == pair[0]) {
            for (int other = 0; other < ranks; ++other) {
                turns_wake(turns, other); /* the end */
            }
        }
    }
    turns_sleep(turns, rank);
}

static void parse(int argc, char **argv, int ranks)
{
    bool good = ranks >= 2;
    int option;

    while (-1 != (option = getopt(argc, argv, "c:p:f:b:i:l:"))) {
        switch (option) {
        case 'c':
            cpu_count = turns_parse_cpus(optarg, cpus);
            break;
        case 'p':
            count = atol(optarg);
            break;
        case 'f':
            first_at = atof(optarg);
            break;
        case 'b':
            batches = atoi(optarg);
            break;
        case 'i':
            iterations = atoi(optarg);
            break;
        case 'l':
            long_bytes = atoi(optarg);
            break;
        default:
            good = false;
        }
    }
    if (!good || count < 1 || first_at < 0.0 || first_at >= 1.0 || iterations < 1 || long_bytes < 1
        || batches < 1 || batches > BENCH_MAX_BATCHES) {
        fprintf(stderr, "usage: mpirun -np N allpairs [-c CPU,CPU,...] [-p PAIRS] [-f FRACTION] [-b BATCHES] "
                        "[-i ITERATIONS] "
                        "[-l LONG_BYTES]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (count > (long) ranks * (ranks - 1)) {
        count = (long) ranks * (ranks - 1);
    }
}

void bench_allpairs(int argc, char **argv)
{
    int pair[2], ranks;
    turns_t *turns;
    void *room = NULL;
    result_t *results;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parse(argc, argv, ranks);
    out = calloc(1, (size_t) long_bytes + SHORT_BYTES);
    in = calloc(1, (size_t) long_bytes + SHORT_BYTES);
    if (NULL == out || NULL == in) {
        fprintf(stderr, "allpairs: no memory for two buffers of %d bytes\n", long_bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    turns = turns_open_or_abort((size_t) count * sizeof(*results), &room);
    results = room;
    measure_all(turns, results, ranks, cpu_count >= 2 && ranks > cpu_count);
    for (long t = 0; 0 == rank && t < count; ++t) {
        members(t, ranks, pair);
        printf("pair %d %d %.4f %.4f\n", pair[0], pair[1], results[t].latency, results[t].rate);
    }
    fflush(stdout);
    free(out);
    free(in);
}

#ifndef BENCH_SEVERAL
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bench_allpairs(argc, argv);
    MPI_Finalize();
    return 0;
}
#endif
