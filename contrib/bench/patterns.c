/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * All ranks talk at the same time, as they do in programs: all to all, in pairs, in a ring, to and from one.
 * For more ranks than cores, where waiting and the scheduler count as much as copying.
 *
 * Usage: mpirun -np N patterns [-b BATCHES] [-u US] [-m PATTERN,...] SIZE ...
 *
 * A batch takes about US microseconds (default: 20000).  Prints PATTERN BYTES MEDIAN_US LEAST_US of the
 * batches: what a step takes until all ranks have done it.
 */

#include <mpi.h>
#include <unistd.h>

#include "bench.h"

enum { TAG = 5, WINDOW = 8 };

static int rank, ranks;
static char *out, *in; /* SIZE bytes for each rank, and for each message of a window */

static void alltoall(int size)
{
    bench_fill(out, (size_t) size * (size_t) ranks, 1);
    MPI_Alltoall(out, size, MPI_BYTE, in, size, MPI_BYTE, MPI_COMM_WORLD);
}

/* Of an odd number of ranks the last one has no partner. */
static inline int partner(void)
{
    return (rank ^ 1) < ranks ? rank ^ 1 : MPI_PROC_NULL;
}

static inline void send_blocking(int size)
{
    MPI_Send(out, size, MPI_BYTE, partner(), TAG, MPI_COMM_WORLD);
}

static inline void receive_blocking(int size)
{
    MPI_Recv(in, size, MPI_BYTE, partner(), TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static inline void send_nonblocking(int size)
{
    MPI_Request request;

    MPI_Isend(out, size, MPI_BYTE, partner(), TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static inline void receive_nonblocking(int size)
{
    MPI_Request request;

    MPI_Irecv(in, size, MPI_BYTE, partner(), TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Ping-pong of all pairs: both ways. */
static inline void ping_pong(int size, void (*send)(int), void (*receive)(int))
{
    if (1 == rank % 2) {
        receive(size);
    }
    bench_fill(out, (size_t) size, 1);
    send(size);
    if (0 == rank % 2) {
        receive(size);
    }
}

static void pairs(int size)
{
    ping_pong(size, send_blocking, receive_blocking);
}

static void nonblocking(int size)
{
    ping_pong(size, send_nonblocking, receive_nonblocking);
}

/* One message each way at the same time. */
static void exchange(int size)
{
    bench_fill(out, (size_t) size, 1);
    MPI_Sendrecv(out, size, MPI_BYTE, partner(), TAG, in, size, MPI_BYTE, partner(), TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Several messages each way between the ranks of a pair, each from and to a place of its own, waited for
 * together. */
static void window(int size)
{
    MPI_Request requests[2 * WINDOW];

    for (int i = 0; i < WINDOW; ++i) {
        MPI_Irecv(in + (size_t) i * (size_t) size, size, MPI_BYTE, partner(), TAG, MPI_COMM_WORLD,
                  &requests[i]);
    }
    bench_fill(out, (size_t) size * WINDOW, 1);
    for (int i = 0; i < WINDOW; ++i) {
        MPI_Isend(out + (size_t) i * (size_t) size, size, MPI_BYTE, partner(), TAG, MPI_COMM_WORLD,
                  &requests[WINDOW + i]);
    }
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
}

static void ring(int size)
{
    bench_fill(out, (size_t) size, 1);
    MPI_Sendrecv(out, size, MPI_BYTE, (rank + 1) % ranks, TAG, in, size, MPI_BYTE, (rank + ranks - 1) % ranks,
                 TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bcast(int size)
{
    if (0 == rank) {
        bench_fill(out, (size_t) size, 1);
    }
    MPI_Bcast(out, size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void allreduce(int size)
{
    const int count = size / (int) sizeof(double);

    bench_fill(out, (size_t) size, 0);
    MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*step)(int size);
} patterns[] = {{"alltoall", alltoall}, {"pairs", pairs},        {"nonblocking", nonblocking},
                {"exchange", exchange}, {"window", window},      {"ring", ring},
                {"bcast", bcast},       {"allreduce", allreduce}};

enum { PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };

/* @return microseconds until all ranks have done so many steps */
static double batch(void (*step)(int), int size, long steps)
{
    double begin;

    MPI_Barrier(MPI_COMM_WORLD);
    begin = bench_now_us();
    for (long i = 0; i < steps; ++i) {
        step(size);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return bench_now_us() - begin;
}

static void measure(int pattern, int size, int batches)
{
    static double us[BENCH_MAX_BATCHES];
    void (*step)(int) = patterns[pattern].step;
    long steps = 4;

    for (int again = 0; again < 2; ++again) { /* the first steps are slow */
        steps = bench_iterations(batch(step, size, steps), steps);
        MPI_Bcast(&steps, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < batches; ++i) {
        us[i] = batch(step, size, steps) / (double) steps;
    }
    if (0 == rank) {
        bench_print(patterns[pattern].name, (size_t) size, us, batches);
    }
}

static void usage(void)
{
    if (0 == rank) {
        fprintf(stderr, "usage: mpirun -np N patterns [-b BATCHES] [-u US] [-m PATTERN,...] SIZE ...\n");
    }
    MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv)
{
    const char *list = NULL;
    size_t longest = 1;
    int batches = 11, parts, option;

    bench_batch_us = 20000.0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    while (-1 != (option = getopt(argc, argv, "b:u:m:"))) {
        switch (option) {
        case 'b':
            batches = atoi(optarg);
            break;
        case 'u':
            bench_batch_us = atof(optarg);
            break;
        case 'm':
            list = optarg;
            break;
        default:
            usage();
        }
    }
    if (batches < 1 || batches > BENCH_MAX_BATCHES || optind == argc) {
        usage();
    }
    for (int i = optind; i < argc; ++i) {
        longest = longest < bench_size(argv[i]) ? bench_size(argv[i]) : longest;
    }
    parts = WINDOW < ranks ? ranks : WINDOW;
    out = calloc((size_t) parts, longest);
    in = calloc((size_t) parts, longest);
    if (NULL == out || NULL == in) {
        fprintf(stderr, "patterns: no memory for %d messages of %zu bytes\n", parts, longest);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int pattern = 0; pattern < PATTERNS; ++pattern) {
        const char *name = patterns[pattern].name;

        if (NULL != list && !bench_listed(list, list + strlen(list), name)) {
            continue;
        }
        for (int i = optind; i < argc; ++i) {
            measure(pattern, (int) bench_size(argv[i]), batches);
        }
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
