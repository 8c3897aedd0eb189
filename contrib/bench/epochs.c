/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What epochs of one-sided communication cost between rank 0, the origin, and rank 1, the target, with any
 * MPI.
 *
 * Usage: epochs [-k KIND] [-b BATCHES] [-u BATCH_US] [-c] [EPOCH ...]
 *
 * KIND of the window: created (default), allocated or dynamic. Without EPOCH all are measured, in the order
 * of the table below. Prints lines: KIND/EPOCH BYTES MEDIAN_US LEAST_US. A kind that this MPI cannot make
 * prints nothing.
 *
 * lockx and locks are exclusive and shared locks; within brackets is what is measured while a lock is held.
 * Rank 1 waits in MPI_Recv, but for fences and post, start, complete and wait. With -c, for one node, it is
 * outside MPI during all others.
 */

#include <mpi.h>
#include <stdbool.h>
#include <unistd.h>

#include "bench.h"

enum {
    ORIGIN,
    TARGET,
    TAG = 5,
    WORDS = 32,
    LONG_ONES = 8,
    MEMORY = 8 << 20,
    MEDIUM = 64 << 10,
    LARGE = 1 << 20
};

static int rank, batches = 31;
static MPI_Win win;
static MPI_Aint base; /* displacement of the target's memory */
static MPI_Group peer;
static char *data, *result;
static volatile long *ended; /* with -c: batches that the origin has ended; in shared memory */

/* ------------------------------------------------------------------------ epochs */

static inline void put(MPI_Aint at)
{
    MPI_Put(data + at, 8, MPI_BYTE, TARGET, base + at, 8, MPI_BYTE, win);
}

static inline void get(void)
{
    MPI_Get(result, 8, MPI_BYTE, TARGET, base, 8, MPI_BYTE, win);
}

static inline void puts_of_words(int count)
{
    for (int i = 0; i < count; ++i) {
        put(8 * i);
    }
}

static inline void lock(int type)
{
    MPI_Win_lock(type, TARGET, 0, win);
}

static inline void unlock(void)
{
    MPI_Win_unlock(TARGET, win);
}

static void flush(void)
{
    MPI_Win_flush(TARGET, win);
}

static void lock_unlock(void)
{
    lock(MPI_LOCK_EXCLUSIVE);
    unlock();
}

static void lock_put_unlock(void)
{
    lock(MPI_LOCK_EXCLUSIVE);
    put(0);
    unlock();
}

static void shared_put_unlock(void)
{
    lock(MPI_LOCK_SHARED);
    put(0);
    unlock();
}

static void lock_get_unlock(void)
{
    lock(MPI_LOCK_EXCLUSIVE);
    get();
    unlock();
}

static void lock_put_get_unlock(void)
{
    lock(MPI_LOCK_EXCLUSIVE);
    put(8);
    get();
    unlock();
}

static void lock_4put_unlock(void)
{
    lock(MPI_LOCK_EXCLUSIVE);
    puts_of_words(4);
    unlock();
}

static void lock_32put_unlock(void)
{
    lock(MPI_LOCK_EXCLUSIVE);
    puts_of_words(WORDS);
    unlock();
}

static void put_flush(void)
{
    put(0);
    flush();
}

static void get_flush(void)
{
    get();
    flush();
}

static void puts_flush(void)
{
    puts_of_words(WORDS);
    flush();
}

static void put_get_flush(void)
{
    put(8);
    get();
    flush();
}

static void put_flush_local(void)
{
    put(0);
    MPI_Win_flush_local(TARGET, win);
}

static void fop_flush(void)
{
    MPI_Fetch_and_op(data, result, MPI_LONG, TARGET, base, MPI_SUM, win);
    flush();
}

static void cas_flush(void)
{
    MPI_Compare_and_swap(data, data + 8, result, MPI_LONG, TARGET, base, win);
    flush();
}

static void acc_flush(void)
{
    MPI_Accumulate(data, 1, MPI_LONG, TARGET, base, 1, MPI_LONG, MPI_SUM, win);
    flush();
}

static void getacc_flush(void)
{
    MPI_Get_accumulate(data, 1, MPI_LONG, result, 1, MPI_LONG, TARGET, base, 1, MPI_LONG, MPI_SUM, win);
    flush();
}

static void fence_put(void)
{
    if (ORIGIN == rank) {
        put(0);
    }
    MPI_Win_fence(0, win);
}

static void pscw_put(void)
{
    if (ORIGIN == rank) {
        MPI_Win_start(peer, 0, win);
        put(0);
        MPI_Win_complete(win);
    } else {
        MPI_Win_post(peer, 0, win);
        MPI_Win_wait(win);
    }
}

static inline void many(bool puts, int size)
{
    for (int i = 0; i < LONG_ONES; ++i) {
        const MPI_Aint at = (MPI_Aint) i * size;

        if (puts) {
            bench_fill(data + at, (size_t) size, (uint64_t) i);
            MPI_Put(data + at, size, MPI_BYTE, TARGET, base + at, size, MPI_BYTE, win);
        } else {
            MPI_Get(result + at, size, MPI_BYTE, TARGET, base + at, size, MPI_BYTE, win);
        }
    }
    flush();
}

static void puts_medium(void)
{
    many(true, MEDIUM);
}

static void gets_medium(void)
{
    many(false, MEDIUM);
}

static void puts_large(void)
{
    many(true, LARGE);
}

static void gets_large(void)
{
    many(false, LARGE);
}

typedef enum { NOTHING, EXCLUSIVE, ALL, ACTIVE } held_t;

/* compare_and_swap comes last: osc/rdma of Open MPI 4.1 may crash in it. */
static const struct {
    const char *name;
    held_t held;
    void (*run)(void);
    size_t bytes;
} epochs[] = {{"lockx_unlock", NOTHING, lock_unlock, 0},
              {"lockx_put_unlock", NOTHING, lock_put_unlock, 8},
              {"locks_put_unlock", NOTHING, shared_put_unlock, 8},
              {"lockx_get_unlock", NOTHING, lock_get_unlock, 8},
              {"lockx_put_get_unlock", NOTHING, lock_put_get_unlock, 16},
              {"lockx_4put_unlock", NOTHING, lock_4put_unlock, 32},
              {"lockx_32put_unlock", NOTHING, lock_32put_unlock, 256},
              {"lockx[put_flush]", EXCLUSIVE, put_flush, 8},
              {"lockx[32put_flush]", EXCLUSIVE, puts_flush, 256},
              {"lockall[put_flush]", ALL, put_flush, 8},
              {"lockall[get_flush]", ALL, get_flush, 8},
              {"lockall[32put_flush]", ALL, puts_flush, 256},
              {"lockall[put_get_flush]", ALL, put_get_flush, 16},
              {"lockall[put_flush_local]", ALL, put_flush_local, 8},
              {"lockall[empty_flush]", ALL, flush, 0},
              {"lockall[fop_flush]", ALL, fop_flush, 8},
              {"lockall[acc8_flush]", ALL, acc_flush, 8},
              {"lockall[getacc8_flush]", ALL, getacc_flush, 8},
              {"fence_put", ACTIVE, fence_put, 8},
              {"pscw_put", ACTIVE, pscw_put, 8},
              {"8put64K", ALL, puts_medium, LONG_ONES *MEDIUM},
              {"8get64K", ALL, gets_medium, LONG_ONES *MEDIUM},
              {"8put1M", ALL, puts_large, LONG_ONES *LARGE},
              {"8get1M", ALL, gets_large, LONG_ONES *LARGE},
              {"lockall[cas_flush]", ALL, cas_flush, 8}};
enum { EPOCHS = sizeof(epochs) / sizeof(epochs[0]) };

/* --------------------------------------------------------------------- measuring */

static void hold(held_t held)
{
    if (ACTIVE == held) {
        MPI_Win_fence(0, win);
    } else if (ORIGIN == rank && EXCLUSIVE == held) {
        lock(MPI_LOCK_EXCLUSIVE);
    } else if (ORIGIN == rank && ALL == held) {
        MPI_Win_lock_all(0, win);
    }
}

static void release(held_t held)
{
    if (ACTIVE == held) {
        MPI_Win_fence(0, win);
    } else if (ORIGIN == rank && EXCLUSIVE == held) {
        unlock();
    } else if (ORIGIN == rank && ALL == held) {
        MPI_Win_unlock_all(win);
    }
}

static void tell(long iterations)
{
    MPI_Send(&iterations, 1, MPI_LONG, TARGET, TAG, MPI_COMM_WORLD);
}

/* Time of so many epochs, together with the target's part. */
static double batch(int which, long iterations)
{
    double start;

    tell(iterations);
    start = bench_now_us();
    for (long i = 0; i < iterations; ++i) {
        epochs[which].run();
    }
    start = bench_now_us() - start;
    if (NULL != ended) {
        ++*ended;
    }
    return start;
}

static void origin(const char *kind, int which)
{
    static double us[BENCH_MAX_BATCHES];
    char name[64];
    long iterations = 8;
    double time;

    batch(which, iterations);
    while ((time = batch(which, iterations)) < bench_batch_us / 4 && 1000000 > iterations) {
        iterations *= 2;
    }
    iterations = bench_iterations(time, iterations);
    for (int i = 0; i < batches; ++i) {
        us[i] = batch(which, iterations) / (double) iterations;
    }
    tell(0);
    snprintf(name, sizeof(name), "%s/%s", kind, epochs[which].name);
    bench_print(name, epochs[which].bytes, us, batches);
}

static void target(int which)
{
    static long batches_begun;
    long iterations;

    for (;;) {
        MPI_Recv(&iterations, 1, MPI_LONG, ORIGIN, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (0 == iterations) {
            return;
        }
        for (long i = 0; ACTIVE == epochs[which].held && i < iterations; ++i) {
            epochs[which].run();
        }
        for (++batches_begun; NULL != ended && *ended < batches_begun;) {
        }
    }
}

static void measure(const char *kind, int which)
{
    hold(epochs[which].held);
    if (ORIGIN == rank) {
        origin(kind, which);
    } else if (TARGET == rank) {
        target(which);
    }
    release(epochs[which].held);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* -------------------------------------------------------------------------- windows */

/* Whether all ranks have got the window of that kind. */
static bool make(const char *kind)
{
    static char *memory;
    int code, worst;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (0 == strcmp(kind, "allocated")) {
        code = MPI_Win_allocate(MEMORY, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    } else {
        memory = aligned_alloc(4096, MEMORY);
        code = (0 == strcmp(kind, "dynamic"))
                   ? MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win)
                   : MPI_Win_create(memory, MEMORY, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    code = (MPI_SUCCESS == code) ? 0 : 1;
    MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (0 != worst) {
        return false;
    }
    memset(memory, 0, MEMORY);
    if (0 == strcmp(kind, "dynamic")) {
        MPI_Win_attach(win, memory, MEMORY);
        MPI_Get_address(memory, &base);
        MPI_Bcast(&base, 1, MPI_AINT, TARGET, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return true;
}

/* The word by which the origin tells a target that computes that a batch has ended. */
static void share_word(void)
{
    MPI_Win words; /* as long as the program */
    MPI_Aint size;
    long *own;
    int unit;

    MPI_Win_allocate_shared(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &words);
    MPI_Win_shared_query(words, ORIGIN, &size, &unit, &own);
    ended = own;
    *ended = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static bool wanted(int which, int count, char **names)
{
    for (int i = 0; i < count; ++i) {
        if (0 == strcmp(names[i], epochs[which].name)) {
            return true;
        }
    }
    return 0 == count;
}

int main(int argc, char **argv)
{
    const char *kind = "created";
    MPI_Group all;
    int option, other;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (-1 != (option = getopt(argc, argv, "k:b:u:c"))) {
        if ('k' == option) {
            kind = optarg;
        } else if ('b' == option && 0 < atoi(optarg) && BENCH_MAX_BATCHES >= atoi(optarg)) {
            batches = atoi(optarg);
        } else if ('u' == option && 0.0 < atof(optarg)) {
            bench_batch_us = atof(optarg);
        } else if ('c' == option) {
            share_word();
        } else {
            fprintf(stderr, "usage: epochs [-k created|allocated|dynamic] [-b BATCHES] [-u BATCH_US] [-c] "
                            "[EPOCH ...]\n");
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    }
    data = calloc(1, MEMORY);
    result = calloc(1, MEMORY);
    data[0] = 1;
    if (make(kind)) {
        other = (ORIGIN == rank) ? TARGET : ORIGIN;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 1, &other, &peer);
        for (int i = 0; i < EPOCHS; ++i) {
            if (wanted(i, argc - optind, argv + optind)) {
                measure(kind, i);
            }
        }
        MPI_Win_free(&win);
    }
    MPI_Finalize();
    return 0;
}
