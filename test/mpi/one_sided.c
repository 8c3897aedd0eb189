/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Windows of Open MPI's own: from 5.0 on its osc/rdma sends what a BTL cannot do itself as active messages of
 * the BTL, with tags and replies that are none of the PML's. */

#include "support/fp_test.h"

enum { COUNT = 30000, ROUNDS = 3 };

static long *memory;
static MPI_Win window;

static void fill(int round)
{
    for (int i = 0; i < COUNT; i++) {
        memory[i] = 1000000L * fp_rank + 1000L * round + i % 997;
    }
}

/* Each rank writes into its next one's memory, behind what that keeps, and reads what its previous one keeps.
 */
static void put_and_get(int round, int length)
{
    const int next = (fp_rank + 1) % fp_size, before = (fp_rank + fp_size - 1) % fp_size;
    long *mine = fp_alloc((size_t) length * sizeof(long)), *theirs = fp_alloc((size_t) length * sizeof(long));

    fp_case("put and get of %d numbers", length);
    fill(round);
    for (int i = 0; i < length; i++) {
        mine[i] = fp_rank + 7L * i;
    }
    FP(MPI_Win_fence(0, window));
    FP(MPI_Put(mine, length, MPI_LONG, next, COUNT / 2, length, MPI_LONG, window));
    FP(MPI_Get(theirs, length, MPI_LONG, before, 0, length, MPI_LONG, window));
    FP(MPI_Win_fence(0, window));
    for (int i = 0; i < length; i++) {
        CHECK_INT(theirs[i], 1000000L * before + 1000L * round + i % 997);
        CHECK_INT(memory[COUNT / 2 + i], before + 7L * i);
    }
    FP(MPI_Win_fence(0, window));
    fp_free(mine);
    fp_free(theirs);
}

/* All add to the numbers of rank 0, under locks and by atomic operations. */
static void add_up(int round)
{
    const long one = 1, none = 0;
    long before = 0;

    fp_case("add up");
    fill(round);
    memory[0] = memory[1] = 0;
    FP(MPI_Win_fence(0, window));
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    for (int i = 0; i < 100; i++) {
        FP(MPI_Win_lock(0 == i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, window));
        FP(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window));
        FP(MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 1, MPI_SUM, window));
        FP(MPI_Win_unlock(0, window));
        CHECK(0 <= before && before < 100L * fp_size);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
    FP(MPI_Fetch_and_op(&none, &before, MPI_LONG, 0, 0, MPI_NO_OP, window));
    FP(MPI_Win_unlock(0, window));
    CHECK_INT(before, 100L * fp_size);
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    fp_case("window");
    memory = malloc(COUNT * sizeof(*memory));
    fill(0);
    FP(MPI_Win_create(memory, COUNT * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD,
                      &window));
    for (int round = 0; round < ROUNDS; round++) {
        put_and_get(round, 1);
        put_and_get(round, 500);
        put_and_get(round, COUNT / 2);
        add_up(round);
    }
    fp_case("end");
    FP(MPI_Win_free(&window));
    free(memory);
    return fp_finish();
}
