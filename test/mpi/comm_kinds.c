/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Every call that makes a communicator, while older ones have messages under
 * way; and that thousands of them leave no memory behind. */

#include "support/fp_test.h"

#include <malloc.h>

enum { TAG = 67, MOST = 64 };

/* Everybody to everybody (of the other group, in an intercommunicator). */
static void exchange(MPI_Comm comm, size_t length)
{
    fp_message_t in[MOST], out[MOST];
    int inter, peers;

    FP(MPI_Comm_test_inter(comm, &inter));
    FP((inter ? MPI_Comm_remote_size : MPI_Comm_size)(comm, &peers));
    for (int i = 0; i < peers; i++) {
        fp_isend(&out[i], &fp_modes[i % 2], length, i, TAG, i, comm);
    }
    for (int i = 0; i < peers; i++) {
        int me;

        FP(MPI_Comm_rank(comm, &me));
        fp_irecv(&in[i], length, i, TAG, me, comm);
    }
    for (int i = 0; i < peers; i++) {
        fp_wait_recv(&in[i]);
        fp_wait_send(&out[i]);
    }
}

static void finish(MPI_Comm *comm)
{
    if (MPI_COMM_NULL != *comm) {
        exchange(*comm, 100);
        exchange(*comm, 30000);
        FP(MPI_Comm_free(comm));
    }
}

static MPI_Comm split(int colour, int key)
{
    MPI_Comm comm;

    FP(MPI_Comm_split(MPI_COMM_WORLD, colour, key, &comm));
    return comm;
}

/* A communicator of each rank's own, one of pairs, one without me. */
static void splits(void)
{
    MPI_Comm comms[] = {split(fp_rank, 0), split(fp_rank / 2, -fp_rank), split(1000000 * (fp_rank % 3), 5),
                        split(0 == fp_rank ? MPI_UNDEFINED : 7, fp_rank)};

    for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
        finish(&comms[i]);
    }
}

static void of_one_node(void)
{
    MPI_Comm node, kept;
    MPI_Info info;

    FP(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -fp_rank, MPI_INFO_NULL, &node));
    FP(MPI_Info_create(&info));
    FP(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    FP(MPI_Comm_dup_with_info(node, info, &kept));
    FP(MPI_Info_free(&info));
    finish(&kept);
    finish(&node);
    FP(MPI_Comm_split_type(MPI_COMM_WORLD, fp_rank % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
                           MPI_INFO_NULL, &node));
    finish(&node);
}

/* Overlapping groups, made by their members only, in the same order everywhere. */
static void groups(void)
{
    MPI_Group world, some;
    MPI_Comm made[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    int ranks[MOST];

    FP(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < fp_size; i++) {
        ranks[i] = fp_size - 1 - i;
    }
    for (int first = 0; first < 2; first++) {
        FP(MPI_Group_incl(world, fp_size - 1, ranks + first, &some));
        if (fp_rank != (first ? fp_size - 1 : 0)) {
            FP(MPI_Comm_create_group(MPI_COMM_WORLD, some, TAG + first, &made[first]));
        }
        FP(MPI_Group_free(&some));
    }
    finish(&made[1]);
    finish(&made[0]);
    FP(MPI_Group_incl(world, fp_size - 1, ranks, &some));
    FP(MPI_Comm_create(MPI_COMM_WORLD, some, &made[0]));
    FP(MPI_Group_free(&some));
    FP(MPI_Group_free(&world));
    finish(&made[0]);
}

static void topologies(void)
{
    int dims[1] = {fp_size}, periods[1] = {1}, index[MOST], edges[2 * MOST];
    int next = (fp_rank + 1) % fp_size, before = (fp_rank + fp_size - 1) % fp_size;
    MPI_Comm comm, row;
    int keep[1] = {1}, weight = 1;

    FP(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    FP(MPI_Cart_sub(comm, keep, &row));
    finish(&row);
    finish(&comm);
    for (int i = 0; i < fp_size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + 1) % fp_size;
        edges[2 * i + 1] = (i + fp_size - 1) % fp_size;
    }
    FP(MPI_Graph_create(MPI_COMM_WORLD, fp_size, index, edges, 0, &comm));
    finish(&comm);
    FP(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &weight, 1, &next, &weight, MPI_INFO_NULL,
                                      0, &comm));
    finish(&comm);
}

/* Everything that can be made of an intercommunicator. */
static void between_groups(void)
{
    int side = fp_rank % 2;
    MPI_Comm half = split(side, fp_rank), inter, made;
    MPI_Request request;
    MPI_Group group, one;
    const int zero = 0;

    FP(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, TAG, &inter));
    FP(MPI_Comm_dup(inter, &made));
    finish(&made);
    FP(MPI_Comm_idup(inter, &made, &request));
    exchange(inter, 1000);
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    finish(&made);
    FP(MPI_Comm_split(inter, 0, -fp_rank, &made));
    finish(&made);
    FP(MPI_Comm_group(inter, &group));
    FP(MPI_Group_incl(group, 1, &zero, &one));
    FP(MPI_Comm_create(inter, one, &made));
    finish(&made);
    FP(MPI_Group_free(&one));
    FP(MPI_Group_free(&group));
    FP(MPI_Intercomm_merge(inter, side, &made));
    finish(&made);
    finish(&inter);
    finish(&half);
}

/* Several at once in the making, the old ones in use, the new ones as soon as they are there. */
static void overlapping(void)
{
    enum { COUNT = 8 };
    MPI_Comm base[COUNT], made[COUNT];
    MPI_Request requests[COUNT];
    int index;

    for (int i = 0; i < COUNT; i++) {
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &base[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        FP(MPI_Comm_idup(base[i], &made[i], &requests[i]));
        exchange(base[i], (size_t) i * 1500);
    }
    for (int i = 0; i < COUNT; i++) {
        /* in an order that all agree on: an exchange waits for everybody */
        FP(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        exchange(made[i], (size_t) i * 1500);
        FP(MPI_Testany(COUNT, requests, &index, &(int){0}, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < COUNT; i++) {
        finish(&base[i]);
        finish(&made[i]);
    }
}

/* Bytes that are allocated. Made visible by a tool in other C libraries. */
static size_t allocated(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* One cycle: a message under way when its communicator is freed, one that was not expected. */
static void cycle(int round)
{
    int next = (fp_rank + 1) % fp_size, before = (fp_rank + fp_size - 1) % fp_size;
    size_t length = fp_few_sizes[round % 5];
    fp_message_t in, out[2];
    MPI_Comm comm;

    if (round % 2) {
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    } else {
        comm = split(0, -fp_rank);
        next = fp_size - 1 - next;
        before = fp_size - 1 - before;
    }
    fp_isend(&out[0], &fp_modes[FP_STANDARD], length, next, TAG, 0, comm);
    fp_isend(&out[1], &fp_modes[FP_SYNCHRONOUS], length, next, TAG, 1, comm);
    FP(MPI_Probe(before, TAG, comm, MPI_STATUS_IGNORE));
    fp_recv(length, before, TAG, 0, comm);
    fp_irecv(&in, length, before, TAG, 1, comm);
    FP(MPI_Comm_free(&comm));
    fp_wait_recv(&in);
    fp_wait_send(&out[0]);
    fp_wait_send(&out[1]);
}

/* Bytes that this process has more after so many communicators. */
static long growth(int count)
{
    size_t before;

    FP(MPI_Barrier(MPI_COMM_WORLD));
    before = allocated();
    for (int i = 0; i < count; i++) {
        cycle(i);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    return (long) (allocated() - before);
}

/* What is kept for the next communicator, or is more because this time more of them were there at once, is
 * allocated once; what is lost is lost each time. */
static void thousands(int count)
{
    long grown = 0, most = 8L * count;

    for (int i = 0; i < count / 4; i++) {
        cycle(i);
    }
    for (int attempt = 0; 8L * count <= most && attempt < 3; attempt++) {
        grown = growth(count);
        FP(MPI_Allreduce(&grown, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
    }
    if (0 == fp_rank) {
        printf("# at most %ld bytes more after %d communicators\n", most, count);
    }
    CHECK(8L * count > grown);
}

int main(int argc, char **argv)
{
    int count = 1 < argc ? atoi(argv[1]) : 2000;

    fp_init(&argc, &argv, 2);
    if (!CHECK(MOST >= fp_size)) {
        return fp_finish();
    }
    for (int round = 0; round < 3; round++) {
        fp_case("split");
        splits();
        fp_case("split by node, dup with info");
        of_one_node();
        fp_case("groups");
        groups();
        fp_case("topologies");
        topologies();
        fp_case("intercommunicators");
        between_groups();
        fp_case("several at once");
        overlapping();
    }
    fp_case("%d one after the other", count);
    thousands(count);
    return fp_finish();
}
