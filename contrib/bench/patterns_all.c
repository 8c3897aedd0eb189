/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Patterns of all ranks together: collectives, and a ring.
 */

#include "bench.h"
#include "patterns.h"

static MPI_Comm ring_comm = MPI_COMM_NULL;

static inline size_t all_of(int size)
{
    return (size_t) size * (size_t) patterns_ranks;
}

static void fill(size_t bytes)
{
    bench_fill(patterns_out, bytes, 0); /* 0: as numbers, too, all of it may be added up */
}

static int words_of(int size)
{
    return size / (int) sizeof(double);
}

static void alltoall(int size)
{
    fill(all_of(size));
    MPI_Alltoall(patterns_out, size, MPI_BYTE, patterns_in, size, MPI_BYTE, MPI_COMM_WORLD);
    bench_read(patterns_in, all_of(size));
}

static void nonblocking_alltoall(int size)
{
    MPI_Request request;

    fill(all_of(size));
    MPI_Ialltoall(patterns_out, size, MPI_BYTE, patterns_in, size, MPI_BYTE, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    bench_read(patterns_in, all_of(size));
}

static void allgather(int size)
{
    fill((size_t) size);
    MPI_Allgather(patterns_out, size, MPI_BYTE, patterns_in, size, MPI_BYTE, MPI_COMM_WORLD);
    bench_read(patterns_in, all_of(size));
}

static void gather(int size)
{
    fill((size_t) size);
    MPI_Gather(patterns_out, size, MPI_BYTE, patterns_in, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (0 == patterns_rank) {
        bench_read(patterns_in, all_of(size));
    }
}

static void scatter(int size)
{
    if (0 == patterns_rank) {
        fill(all_of(size));
    }
    MPI_Scatter(patterns_out, size, MPI_BYTE, patterns_in, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    bench_read(patterns_in, (size_t) size);
}

static void bcast(int size)
{
    if (0 == patterns_rank) {
        fill((size_t) size);
    }
    MPI_Bcast(patterns_out, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    bench_read(patterns_out, (size_t) size);
}

static void nonblocking_bcast(int size)
{
    MPI_Request request;

    if (0 == patterns_rank) {
        fill((size_t) size);
    }
    MPI_Ibcast(patterns_out, size, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    bench_read(patterns_out, (size_t) size);
}

static void reduce(int size)
{
    fill((size_t) size);
    MPI_Reduce(patterns_out, patterns_in, words_of(size), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (0 == patterns_rank) {
        bench_read(patterns_in, (size_t) size);
    }
}

static void allreduce(int size)
{
    fill((size_t) size);
    MPI_Allreduce(patterns_out, patterns_in, words_of(size), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bench_read(patterns_in, (size_t) size);
}

static void nonblocking_allreduce(int size)
{
    MPI_Request request;

    fill((size_t) size);
    MPI_Iallreduce(patterns_out, patterns_in, words_of(size), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    bench_read(patterns_in, (size_t) size);
}

static void reduce_scatter(int size)
{
    fill(all_of(size));
    MPI_Reduce_scatter_block(patterns_out, patterns_in, words_of(size), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bench_read(patterns_in, (size_t) size);
}

static void scan(int size)
{
    fill((size_t) size);
    MPI_Scan(patterns_out, patterns_in, words_of(size), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bench_read(patterns_in, (size_t) size);
}

static inline int right(void)
{
    return (patterns_rank + 1) % patterns_ranks;
}

static inline int left(void)
{
    return (patterns_rank + patterns_ranks - 1) % patterns_ranks;
}

static void ring(int size)
{
    fill((size_t) size);
    MPI_Sendrecv(patterns_out, size, MPI_BYTE, right(), PATTERNS_TAG, patterns_in, size, MPI_BYTE, left(),
                 PATTERNS_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bench_read(patterns_in, (size_t) size);
}

static void make_ring(int size)
{
    const int periodic = 1;

    (void) size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &patterns_ranks, &periodic, 0, &ring_comm);
}

static void free_ring(void)
{
    MPI_Comm_free(&ring_comm);
}

static void neighbors(int size)
{
    fill(2 * (size_t) size);
    MPI_Neighbor_alltoall(patterns_out, size, MPI_BYTE, patterns_in, size, MPI_BYTE, ring_comm);
    bench_read(patterns_in, 2 * (size_t) size);
}

const patterns_t patterns_all[] = {{"alltoall", alltoall, NULL, NULL},
                                   {"ialltoall", nonblocking_alltoall, NULL, NULL},
                                   {"allgather", allgather, NULL, NULL},
                                   {"gather", gather, NULL, NULL},
                                   {"scatter", scatter, NULL, NULL},
                                   {"bcast", bcast, NULL, NULL},
                                   {"ibcast", nonblocking_bcast, NULL, NULL},
                                   {"reduce", reduce, NULL, NULL},
                                   {"allreduce", allreduce, NULL, NULL},
                                   {"iallreduce", nonblocking_allreduce, NULL, NULL},
                                   {"reducescatter", reduce_scatter, NULL, NULL},
                                   {"scan", scan, NULL, NULL},
                                   {"ring", ring, NULL, NULL},
                                   {"neighbors", neighbors, make_ring, free_ring},
                                   {NULL, NULL, NULL, NULL}};
