/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Win_post, start, complete, wait and test: posts that come long before their start, also for the epoch
 * after the next; groups of all kinds; a rank that is origin and target at a time; MPI_Win_test until it is
 * true; asserts. */

#include "support/fp_test.h"

enum { NUMBERS = 64 };

static int *memory;
static MPI_Win win;

static MPI_Group group_of(const int *ranks, int count)
{
    MPI_Group all, some;

    FP(MPI_Comm_group(MPI_COMM_WORLD, &all));
    FP(MPI_Group_incl(all, count, ranks, &some));
    FP(MPI_Group_free(&all));
    return some;
}

static MPI_Group all_but(int rank)
{
    int ranks[64], count = 0;

    for (int i = 0; i < fp_size; i++) {
        if (i != rank) {
            ranks[count++] = i;
        }
    }
    return group_of(ranks, count);
}

static void put(int target, int at, int value)
{
    static int kept[NUMBERS];

    kept[at] = value;
    FP(MPI_Put(&kept[at], 1, MPI_INT, target, at, 1, MPI_INT, win));
}

static void wait_or_test(int way)
{
    int flag = 0;

    if (0 == way % 2) {
        FP(MPI_Win_wait(win));
        return;
    }
    while (!flag) {
        FP(MPI_Win_test(win, &flag));
    }
}

/* All ranks write to all others. */
static void everybody(int rounds)
{
    MPI_Group others = all_but(fp_rank);

    fp_case("everybody");
    for (int round = 0; round < rounds; round++) {
        FP(MPI_Win_post(others, 0, win));
        FP(MPI_Win_start(others, 0, win));
        for (int to = 0; to < fp_size; to++) {
            if (to != fp_rank) {
                put(to, fp_rank, 1000 * round + fp_rank);
            }
        }
        FP(MPI_Win_complete(win));
        wait_or_test(round);
        for (int from = 0; from < fp_size; from++) {
            CHECK(from == fp_rank || memory[from] == 1000 * round + from);
        }
    }
    FP(MPI_Group_free(&others));
}

/* Rank 0 is the only target, and posts many epochs faster than the slow origins start theirs: a post of the
 * next epoch is not one of this. */
static void ahead(int rounds)
{
    MPI_Group target = group_of((const int[]){0}, 1), origins = all_but(0);

    fp_case("posts ahead of their start");
    for (int round = 0; round < rounds; round++) {
        if (0 == fp_rank) {
            FP(MPI_Win_post(origins, 0, win));
            wait_or_test(round);
            for (int from = 1; from < fp_size; from++) {
                CHECK_INT(memory[from], 7 * round + from);
            }
        } else {
            if (round % fp_size == fp_rank) {
                fp_sleep_ms(2);
            }
            FP(MPI_Win_start(target, 0, win));
            put(0, fp_rank, 7 * round + fp_rank);
            FP(MPI_Win_complete(win));
        }
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Group_free(&target));
    FP(MPI_Group_free(&origins));
}

/* A ring, without any word between neighbours but these epochs: rank R writes to R + 1, which may be an epoch
 * ahead of R - 1. */
static void ring(int rounds)
{
    const int next = (fp_rank + 1) % fp_size, before = (fp_rank + fp_size - 1) % fp_size;
    MPI_Group target = group_of(&next, 1), origin = group_of(&before, 1);

    fp_case("ring");
    for (int round = 0; round < rounds; round++) {
        FP(MPI_Win_post(origin, 0, win));
        FP(MPI_Win_start(target, 0, win));
        for (int i = 0; i < round % 5; i++) {
            put(next, 10 + i, round * 100 + i);
        }
        FP(MPI_Win_complete(win));
        wait_or_test(round + fp_rank);
        for (int i = 0; i < round % 5; i++) {
            CHECK_INT(memory[10 + i], round * 100 + i);
        }
    }
    FP(MPI_Group_free(&target));
    FP(MPI_Group_free(&origin));
}

/* The own rank, alone and among others; groups without anybody. */
static void self_and_nobody(void)
{
    MPI_Group self = group_of(&fp_rank, 1), all;

    fp_case("self");
    FP(MPI_Win_post(self, 0, win));
    FP(MPI_Win_start(self, 0, win));
    put(fp_rank, 5, 42 + fp_rank);
    FP(MPI_Win_complete(win));
    FP(MPI_Win_wait(win));
    CHECK_INT(memory[5], 42 + fp_rank);
    fp_case("nobody");
    FP(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    FP(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    FP(MPI_Win_complete(win));
    FP(MPI_Win_wait(win));
    fp_case("all");
    FP(MPI_Comm_group(MPI_COMM_WORLD, &all));
    FP(MPI_Win_post(all, MPI_MODE_NOSTORE, win));
    FP(MPI_Win_start(all, 0, win));
    for (int to = 0; to < fp_size; to++) {
        put(to, 20 + fp_rank, to);
    }
    FP(MPI_Win_complete(win));
    FP(MPI_Win_wait(win));
    for (int from = 0; from < fp_size; from++) {
        CHECK_INT(memory[20 + from], fp_rank);
    }
    FP(MPI_Group_free(&self));
    FP(MPI_Group_free(&all));
}

/* MPI_Win_test is false while an origin has not completed, and ends the epoch when it is true. */
static void test_says_no(void)
{
    MPI_Group target = group_of((const int[]){0}, 1), origin = group_of((const int[]){1}, 1);
    int flag = 1;

    fp_case("test");
    if (0 == fp_rank) {
        FP(MPI_Win_post(origin, 0, win));
        for (int i = 0; i < 100; i++) {
            FP(MPI_Win_test(win, &flag));
            CHECK_INT(flag, 0);
        }
        fp_signal(1, MPI_COMM_WORLD);
        for (flag = 0; !flag;) {
            FP(MPI_Win_test(win, &flag));
        }
        CHECK_INT(memory[30], 99);
        FP(MPI_Win_post(origin, MPI_MODE_NOPUT, win));
        FP(MPI_Win_wait(win));
        FP(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
        FP(MPI_Win_test(win, &flag));
        CHECK_INT(flag, 1);
    } else if (1 == fp_rank) {
        int got = 0;

        FP(MPI_Win_start(target, 0, win));
        put(0, 30, 99);
        fp_await(0, MPI_COMM_WORLD);
        FP(MPI_Win_complete(win));
        FP(MPI_Win_start(target, 0, win));
        FP(MPI_Get(&got, 1, MPI_INT, 0, 30, 1, MPI_INT, win));
        FP(MPI_Win_complete(win));
        CHECK_INT(got, 99);
    }
    FP(MPI_Group_free(&target));
    FP(MPI_Group_free(&origin));
}

/* Both sides say that the post has come: a barrier sees to it. */
static void no_check(void)
{
    MPI_Group others = all_but(fp_rank);

    fp_case("MPI_MODE_NOCHECK");
    for (int round = 0; round < 3; round++) {
        FP(MPI_Win_post(others, MPI_MODE_NOCHECK, win));
        FP(MPI_Barrier(MPI_COMM_WORLD));
        FP(MPI_Win_start(others, MPI_MODE_NOCHECK, win));
        for (int to = 0; to < fp_size; to++) {
            if (to != fp_rank) {
                put(to, 40 + fp_rank, round + fp_rank);
            }
        }
        FP(MPI_Win_complete(win));
        FP(MPI_Win_wait(win));
        for (int from = 0; from < fp_size; from++) {
            CHECK(from == fp_rank || memory[40 + from] == round + from);
        }
    }
    FP(MPI_Group_free(&others));
}

static void try_all(int rounds)
{
    everybody(rounds);
    ahead(rounds);
    ring(rounds);
    self_and_nobody();
    test_says_no();
    no_check();
    FP(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    const MPI_Aint bytes = NUMBERS * sizeof(int);

    fp_init(&argc, &argv, 2);
    if (8 < fp_size) {
        fp_skip("it has room for 8 ranks");
    }
    if (2 > argc) {
        memory = fp_alloc((size_t) bytes);
        FP(MPI_Win_create(memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        try_all(200);
        fp_free(memory);
    }
    FP(MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    try_all(200);
    return fp_finish();
}
