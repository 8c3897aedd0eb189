/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Rings of MPI_Sendrecv, 8 bytes to one side and then to the other, as the HPC Challenge does them: natural
 * (in the order of ranks) and random.  Each ring is measured cold, by its first step, which follows a
 * barrier, and warm, after 100 further steps.
 *
 * Usage: mpirun -np N rings [-c CPU,CPU,...] [-n RINGS] [-w WARM_UPS] [-s STEPS] [-S SEED]
 *
 * -c  processors, one per core: rings of as many ranks as these, each on one of them, while all others sleep
 *     outside MPI, on one host.  Without it all ranks are in every ring, on as many hosts as there are.
 * -n  random rings (default: 10); of the natural one there is one
 *
 * Prints the time of one MPI_Sendrecv at the slowest rank: WHAT-cold RANKS_IN_RING MEDIAN_US LEAST_US, and
 * WHAT-warm.
 */

#define _GNU_SOURCE
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "parts.h"
#include "turns.h"

enum { TAG = 7, BYTES = 8 };

/* What all members of a ring see. */
typedef struct {
    _Alignas(TURNS_LINE) double us;
} slot_t;

static int rank;
static int warm_ups = 100;
static int steps = 100;
static int rings = 10; /* random ones */
static int cpus[CPU_SETSIZE];
static int cpu_count;
static turns_t *turns; /* NULL where all ranks are in every ring */
static slot_t *slots;  /* by rank; with turns only */

static uint64_t random_state;

static uint32_t random_u32(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t) (random_state >> 33);
}

/* The first ranks of a random order of all; the same on all ranks. */
static void shuffle(int *ring, int ranks)
{
    for (int i = ranks - 1; i > 0; --i) {
        int other = (int) (random_u32() % (uint32_t) (i + 1));
        int swap = ring[i];

        ring[i] = ring[other];
        ring[other] = swap;
    }
}

static double run_steps(int left, int right, int count)
{
    char out[BYTES] = {0}, in[BYTES];
    double start = bench_now_us();

    for (int i = 0; i < count; ++i) {
        out[0] = (char) i;
        MPI_Sendrecv(out, BYTES, MPI_BYTE, right, TAG, in, BYTES, MPI_BYTE, left, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(out, BYTES, MPI_BYTE, left, TAG, in, BYTES, MPI_BYTE, right, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (out[0] != in[0]) {
            fprintf(stderr, "rings: wrong data in step %d\n", i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    return (bench_now_us() - start) / count / 2.0;
}

/* A barrier of the members: MPI's own if they are all ranks, as the HPC Challenge has it. */
static void meet(int members, int ranks)
{
    if (members == ranks) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        turns_meet(turns, members);
    }
}

/* Time of the slowest. */
static double slowest(const int *ring, int members, int ranks, double us)
{
    double most = 0.0;

    if (NULL == turns) {
        MPI_Allreduce(&us, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return most;
    }
    slots[rank].us = us;
    meet(members, ranks);
    for (int i = 0; i < members; ++i) {
        most = slots[ring[i]].us > most ? slots[ring[i]].us : most;
    }
    meet(members, ranks); /* all have read */
    return most;
}

/* One ring, in which this rank has the given place. */
static void measure(const int *ring, int members, int ranks, int at, double *cold, double *warm)
{
    int left = ring[(at + members - 1) % members];
    int right = ring[(at + 1) % members];

    meet(members, ranks);
    *cold = slowest(ring, members, ranks, run_steps(left, right, 1));
    run_steps(left, right, warm_ups);
    *warm = slowest(ring, members, ranks, run_steps(left, right, steps));
}

static int place(const int *ring, int members)
{
    int at = 0;

    while (at < members && rank != ring[at]) {
        ++at;
    }
    return at;
}

static void wake(const int *ranks, int count)
{
    for (int i = 0; i < count; ++i) {
        turns_wake(turns, ranks[i]);
    }
}

/*
 * The natural ring and then random ones; ring 0 is the natural one.  results[i] is written by the first
 * member of ring i, or by all where each of them has its own.  With turns the members of each ring are woken
 * by the first member of the one before.
 */
static void measure_all(int members, int ranks, double (*results)[2])
{
    int *ring = malloc(2 * (size_t) ranks * sizeof(*ring));
    int *next = ring + ranks;

    if (NULL == ring) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < ranks; ++i) {
        next[i] = i;
    }
    if (NULL != turns) {
        turns_settle(turns, ranks, 0 == rank);
        wake(next, 0 == rank ? members : 0);
    }
    for (int r = 0; r <= rings; ++r) {
        double cold, warm;
        int at;

        memcpy(ring, next, (size_t) ranks * sizeof(*ring));
        shuffle(next, ranks);
        at = place(ring, members);
        if (at == members) {
            continue;
        }
        if (NULL != turns) {
            turns_sleep(turns, rank);
            turns_pin(cpus[at]);
        }
        measure(ring, members, ranks, at, &cold, &warm);
        if (0 == at || NULL == turns) {
            results[r][0] = cold;
            results[r][1] = warm;
        }
        if (0 == at && NULL != turns) {
            wake(next, r < rings ? members : ranks); /* after the last ring: all */
        }
    }
    if (NULL != turns) {
        turns_sleep(turns, rank);
    }
    free(ring);
}

static void print(const char *what, int members, double (*results)[2], int count, int warm)
{
    static double us[BENCH_MAX_BATCHES];

    for (int i = 0; i < count; ++i) {
        us[i] = results[i][warm];
    }
    bench_print(what, (size_t) members, us, count);
}

static void parse(int argc, char **argv, int ranks)
{
    bool good = ranks >= 2;
    int option;

    random_state = 1;
    cpu_count = 0;
    while (-1 != (option = getopt(argc, argv, "c:n:w:s:S:"))) {
        switch (option) {
        case 'c':
            cpu_count = turns_parse_cpus(optarg, cpus);
            break;
        case 'n':
            rings = atoi(optarg);
            break;
        case 'w':
            warm_ups = atoi(optarg);
            break;
        case 's':
            steps = atoi(optarg);
            break;
        case 'S':
            random_state = strtoull(optarg, NULL, 0);
            break;
        default:
            good = false;
        }
    }
    if (!good || rings < 1 || rings > BENCH_MAX_BATCHES || warm_ups < 0 || steps < 1 || 1 == cpu_count) {
        fprintf(stderr,
                "usage: mpirun -np N rings [-c CPU,CPU,...] [-n RINGS] [-w WARM_UPS] [-s STEPS] [-S SEED]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

void bench_rings(int argc, char **argv)
{
    int members, ranks;
    double(*results)[2];

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    parse(argc, argv, ranks);
    members = 0 == cpu_count || ranks < cpu_count ? ranks : cpu_count;
    if (0 == cpu_count) {
        turns = NULL;
        results = calloc((size_t) rings + 1, sizeof(*results));
        if (NULL == results) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    } else {
        void *room = NULL;

        turns = turns_open_or_abort((size_t) ranks * sizeof(*slots) + ((size_t) rings + 1) * sizeof(*results),
                                    &room);
        slots = room;
        results = (void *) (slots + ranks);
    }
    measure_all(members, ranks, results);
    if (0 == rank) {
        print("natural-cold", members, results, 1, 0);
        print("natural-warm", members, results, 1, 1);
        print("random-cold", members, results + 1, rings, 0);
        print("random-warm", members, results + 1, rings, 1);
    }
    if (NULL == turns) {
        free(results);
    }
}

#ifndef BENCH_SEVERAL
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bench_rings(argc, argv);
    MPI_Finalize();
    return 0;
}
#endif
