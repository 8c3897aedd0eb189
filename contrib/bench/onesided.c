/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A program whose instructions can be counted: rank 0, the origin, goes through epochs of one-sided
 * communication with rank 1, the target, whose memory it shares. Nobody waits inside MPI where it is counted:
 * the two wait for each other in read() on named pipes, so that two runs of different lengths differ by the
 * epochs alone.
 *
 * Usage: mpirun -np 2 onesided DIRECTORY TIMES EPOCH
 *
 * DIRECTORY holds the named pipes "go" and "back". EPOCH is one of the table below.
 */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipes.h"

#define COUNTED static __attribute__((noinline))

enum { ORIGIN, TARGET };

/** By when who has said that it calls MPI_Win_fence next is there, even under valgrind */
enum { FENCE_US = 20000 };

static MPI_Win win;
static MPI_Group peer;
static int go, back;
static int64_t one = 1, none, result;

/* Counting is on in the functions named count_ and nowhere else, so they must stay functions. */
COUNTED void count_flush(void)
{
    MPI_Win_flush(TARGET, win);
}

COUNTED void count_put(void)
{
    MPI_Put(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, win);
    MPI_Win_flush(TARGET, win);
}

COUNTED void count_get(void)
{
    MPI_Get(&result, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, win);
    MPI_Win_flush(TARGET, win);
}

COUNTED void count_accumulate(void)
{
    MPI_Accumulate(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(TARGET, win);
}

COUNTED void count_fetch_and_op(void)
{
    MPI_Fetch_and_op(&one, &result, MPI_INT64_T, TARGET, 0, MPI_SUM, win);
    MPI_Win_flush(TARGET, win);
}

COUNTED void count_compare_and_swap(void)
{
    MPI_Compare_and_swap(&one, &none, &result, MPI_INT64_T, TARGET, 0, win);
    MPI_Win_flush(TARGET, win);
}

COUNTED void count_lock_put_unlock(void)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win);
    MPI_Put(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, win);
    MPI_Win_unlock(TARGET, win);
}

COUNTED void count_put_fence(void)
{
    MPI_Put(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, win);
    MPI_Win_fence(0, win);
}

COUNTED void count_start_put_complete(void)
{
    MPI_Win_start(peer, 0, win);
    MPI_Put(&one, 1, MPI_INT64_T, TARGET, 0, 1, MPI_INT64_T, win);
    MPI_Win_complete(win);
}

COUNTED void count_post(void)
{
    MPI_Win_post(peer, 0, win);
}

COUNTED void count_wait(void)
{
    MPI_Win_wait(win);
}

/* The target is there already. */
static void put_fence(void)
{
    pipes_hear(back);
    usleep(FENCE_US);
    count_put_fence();
}

static void fence(void)
{
    pipes_tell(back);
    MPI_Win_fence(0, win);
}

static void start_put_complete(void)
{
    pipes_hear(back);
    count_start_put_complete();
    pipes_tell(go);
}

static void post_wait(void)
{
    count_post();
    pipes_tell(back);
    pipes_hear(go);
    count_wait();
}

static const struct {
    const char *name;
    void (*origin)(void);
    void (*target)(void); /**< NULL: it takes no part */
    int locked;           /**< within MPI_Win_lock_all */
} epochs[] = {
    {"flush", count_flush, NULL, 1},
    {"put", count_put, NULL, 1},
    {"get", count_get, NULL, 1},
    {"accumulate", count_accumulate, NULL, 1},
    {"fetch_and_op", count_fetch_and_op, NULL, 1},
    {"compare_and_swap", count_compare_and_swap, NULL, 1},
    {"lock", count_lock_put_unlock, NULL, 0},
    {"fence", put_fence, fence, 0},
    {"start", start_put_complete, post_wait, 0},
};
enum { EPOCHS = sizeof(epochs) / sizeof(epochs[0]) };

static int find(const char *name)
{
    for (int i = 0; i < EPOCHS; ++i) {
        if (0 == strcmp(name, epochs[i].name)) {
            return i;
        }
    }
    fprintf(stderr, "usage: mpirun -np 2 onesided DIRECTORY TIMES EPOCH\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 0;
}

static void run(int epoch, int rank, int times)
{
    void (*part)(void) = ORIGIN == rank ? epochs[epoch].origin : epochs[epoch].target;

    if (0 == strcmp("fence", epochs[epoch].name)) {
        MPI_Win_fence(0, win);
    } else if (epochs[epoch].locked) {
        MPI_Win_lock_all(0, win);
    }
    for (int i = 0; i < times && NULL != part; ++i) {
        part();
    }
    if (epochs[epoch].locked) {
        MPI_Win_unlock_all(win);
    }
}

int main(int argc, char **argv)
{
    int rank, times, other, epoch;
    MPI_Group world;
    void *memory;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    times = argc > 3 ? atoi(argv[2]) : 0;
    epoch = find(argc > 3 ? argv[3] : "");
    go = pipes_open(argv[1], "go");
    back = pipes_open(argv[1], "back");
    other = 1 - rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &peer);
    MPI_Win_allocate(sizeof(int64_t), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, sizeof(int64_t));
    MPI_Barrier(MPI_COMM_WORLD);
    run(epoch, rank, times);
    if (ORIGIN == rank) {
        pipes_tell(go); /* the target waits here, outside MPI */
    } else {
        pipes_hear(go);
    }
    MPI_Win_free(&win);
    MPI_Group_free(&peer);
    MPI_Group_free(&world);
    MPI_Finalize();
    return 0;
}
