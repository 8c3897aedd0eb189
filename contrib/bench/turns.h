/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Some ranks measure while all others sleep in the kernel, outside MPI: a futex per rank, in memory that all
 * ranks of a host share.  No MPI is asked for it, so that every MPI is measured alike.
 */

#ifndef FASTPATH_BENCH_TURNS_H
#define FASTPATH_BENCH_TURNS_H

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TURNS_LINE = 64 };

/** What all ranks share.  Followed by the room that turns_open was asked for. */
typedef struct turns_t {
    _Alignas(TURNS_LINE) _Atomic uint32_t settled; /**< ranks that go to sleep next, or wait for that */
    _Alignas(TURNS_LINE) _Atomic uint32_t met;     /**< arrivals in turns_meet, ever */
    struct {
        _Alignas(TURNS_LINE) _Atomic uint32_t awake; /**< 1: woken and not yet seen */
    } rank[];
} turns_t;

/**
 * Makes the shared memory; collective over MPI_COMM_WORLD.  *room gets room_bytes of zeros that all share.
 * Returns NULL, on all ranks, unless all are on one host and may open rank 0's memory.
 */
static inline turns_t *turns_open(size_t room_bytes, void **room)
{
    char path[64] = "";
    turns_t *turns = MAP_FAILED;
    size_t bytes;
    int ranks, rank, fd = -1, good, all_good;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bytes = sizeof(turns_t) + (size_t) ranks * sizeof(turns->rank[0]);
    if (0 == rank) {
        fd = memfd_create("turns", 0); /* has no name that could be left behind */
        if (fd >= 0 && 0 == ftruncate(fd, (off_t) (bytes + room_bytes))) {
            snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) getpid(), fd);
        }
    }
    MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (0 != rank && '\0' != path[0]) {
        fd = open(path, O_RDWR);
    }
    if (fd >= 0) {
        turns = mmap(NULL, bytes + room_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    good = MAP_FAILED != turns;
    MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (fd >= 0) {
        close(fd);
    }
    if (!all_good) {
        return NULL;
    }
    if (NULL != room) {
        *room = (char *) turns + bytes;
    }
    return turns;
}

static inline turns_t *turns_open_or_abort(size_t room_bytes, void **room)
{
    turns_t *turns = turns_open(room_bytes, room);

    if (NULL == turns) {
        fprintf(stderr, "all ranks have to be on one host, where they can open each other's memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return turns;
}

/** Wakes a rank, or lets it go on at once when it goes to sleep next. */
static inline void turns_wake(turns_t *turns, int rank)
{
    /* release: what was written before is seen by who is woken; the partner is the acquire in turns_sleep */
    atomic_store_explicit(&turns->rank[rank].awake, 1, memory_order_release);
    syscall(SYS_futex, &turns->rank[rank].awake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/** Sleeps until somebody has called turns_wake for this rank since the last time. */
static inline void turns_sleep(turns_t *turns, int rank)
{
    /* acquire: the partner is the release in turns_wake */
    while (0 == atomic_exchange_explicit(&turns->rank[rank].awake, 0, memory_order_acquire)) {
        syscall(SYS_futex, &turns->rank[rank].awake, FUTEX_WAIT, 0, NULL, NULL, 0);
    }
}

/** Before the first measurement: called by all, waits with some until all others are about to sleep. */
static inline void turns_settle(turns_t *turns, int ranks, bool wait)
{
    atomic_fetch_add(&turns->settled, 1);
    while (wait && atomic_load(&turns->settled) < (uint32_t) ranks) {
        usleep(1000);
    }
}

/** A barrier without MPI of as many ranks as there are processors, always the same number. */
static inline void turns_meet(turns_t *turns, int members)
{
    uint32_t mine = atomic_fetch_add(&turns->met, 1);
    uint32_t all = mine - mine % (uint32_t) members + (uint32_t) members;

    while ((int32_t) (atomic_load(&turns->met) - all) < 0) {
        sched_yield();
    }
}

/** Processors named as "0,2,4"; returns how many, at most CPU_SETSIZE. */
static inline int turns_parse_cpus(const char *text, int *cpus)
{
    int count = 0;
    char *end;

    while ('\0' != *text && count < CPU_SETSIZE) {
        cpus[count++] = (int) strtol(text, &end, 10);
        text = ',' == *end ? end + 1 : "";
    }
    return count;
}

/** Moves this process to one processor. */
static inline void turns_pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (0 != sched_setaffinity(0, sizeof(set), &set)) {
        perror("sched_setaffinity");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

#endif /* FASTPATH_BENCH_TURNS_H */
