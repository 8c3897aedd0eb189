/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How late a message is whose receiver has been blocked for long, and what that costs both sides.  Rank 0
 * rests outside MPI, then sends 8 bytes to rank 1, which is blocked in MPI_Recv; and in turn with that it
 * wakes rank 1 from a futex, which is the least that ending a sleep takes on this machine, if both are on one
 * host.  They need one clock in any case.  Further ranks are blocked in a barrier until the end.
 *
 * Usage: mpirun -np N wakeup [-n ROUNDS] [-b MILLISECONDS]
 *
 * Prints WHAT MILLISECONDS MEDIAN_US LEAST_US, for WHAT in wakeup, futex: from before the call at rank 0
 * until after the call at rank 1; wakeup-send, futex-send: in the call at rank 0; and the part of its time in
 * MPI_Recv for which rank 1 used its core: blocked-cpu MILLISECONDS PERCENT.
 */

#define _GNU_SOURCE
#include <linux/futex.h>
#include <mpi.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"

enum { TAG = 1 };

/* In memory of both. */
typedef struct {
    _Atomic uint32_t word; /* rounds that have been sent */
    double begin;          /* when rank 0 began to wake */
} shared_t;

static int rounds = 50, rest_ms = 20;

static double cpu_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6
           + (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void rest(void)
{
    const struct timespec time = {.tv_sec = rest_ms / 1000, .tv_nsec = rest_ms % 1000 * 1000000L};

    nanosleep(&time, NULL);
}

/* @return how long the call took, at rank 0; how late the message was, at rank 1 */
static double by_message(int rank)
{
    double begin;

    if (0 == rank) {
        rest();
        begin = bench_now_us();
        MPI_Send(&begin, 1, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&begin, 1, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return bench_now_us() - begin;
}

static double by_futex(int rank, shared_t *shared, uint32_t round)
{
    uint32_t seen;

    if (0 == rank) {
        const double begin = (rest(), bench_now_us());

        shared->begin = begin;
        atomic_store_explicit(&shared->word, round, memory_order_release); /* partner: the acquire below */
        syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0);
        return bench_now_us() - begin;
    }
    /* rank 0 may be rounds ahead of one that has lost its core */
    while (round > (seen = atomic_load_explicit(&shared->word, memory_order_acquire))) {
        syscall(SYS_futex, &shared->word, FUTEX_WAIT, seen, NULL, NULL, 0);
    }
    return bench_now_us() - shared->begin;
}

/* @return memory of both, or NULL where they are on different hosts */
static shared_t *share(int rank, MPI_Comm pair, MPI_Win *win)
{
    shared_t *shared;
    MPI_Comm host;
    MPI_Aint size;
    int unit, ranks;

    MPI_Comm_split_type(pair, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &ranks);
    MPI_Comm_free(&host);
    if (2 != ranks) {
        return NULL;
    }
    MPI_Win_allocate_shared(0 == rank ? (MPI_Aint) sizeof(*shared) : 0, 1, MPI_INFO_NULL, pair, &shared, win);
    MPI_Win_shared_query(*win, 0, &size, &unit, &shared);
    if (0 == rank) {
        atomic_init(&shared->word, 0);
    }
    MPI_Barrier(pair);
    return shared;
}

static void measure(int rank, MPI_Comm pair)
{
    MPI_Win win = MPI_WIN_NULL;
    shared_t *shared = share(rank, pair, &win);
    static double message[BENCH_MAX_BATCHES], futex[BENCH_MAX_BATCHES];
    double used = 0, blocked = 0;

    for (int i = 0; i < rounds; ++i) {
        const double cpu = cpu_us(), begin = bench_now_us();

        message[i] = by_message(rank);
        used += cpu_us() - cpu;
        blocked += bench_now_us() - begin;
        if (NULL != shared) {
            futex[i] = by_futex(rank, shared, (uint32_t) i + 1);
        }
    }
    for (int turn = 0; turn < 2; ++turn) {
        MPI_Barrier(pair);
        if (turn == rank) {
            bench_print(0 == rank ? "wakeup-send" : "wakeup", (size_t) rest_ms, message, rounds);
        }
        if (turn == rank && NULL != shared) {
            bench_print(0 == rank ? "futex-send" : "futex", (size_t) rest_ms, futex, rounds);
        }
    }
    if (1 == rank) {
        printf("blocked-cpu %d %.2f\n", rest_ms, 100 * used / blocked);
    }
    if (NULL != shared) {
        MPI_Win_free(&win);
    }
}

int main(int argc, char **argv)
{
    int rank, size, option;
    MPI_Comm pair;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (-1 != (option = getopt(argc, argv, "n:b:"))) {
        if ('n' == option) {
            rounds = atoi(optarg);
        } else if ('b' == option) {
            rest_ms = atoi(optarg);
        } else {
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    if (2 > size || 1 > rounds || BENCH_MAX_BATCHES < rounds || 0 > rest_ms) {
        fprintf(stderr, "wakeup: needs at least two processes, 1 to %d rounds and a time of at least 0 ms\n",
                BENCH_MAX_BATCHES);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_split(MPI_COMM_WORLD, 1 < rank, rank, &pair);
    if (1 >= rank) {
        measure(rank, pair);
    }
    MPI_Comm_free(&pair);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
