/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Put, flush, and a word to a third rank, which passes it on to the target: there the put has to be, though
 * the word came another way. Rank 0 holds an exclusive lock all the time, so nobody but rank 1 itself could
 * see that a flush had not waited for the put. For hosts with two networks, one of them slow.
 *
 * usage: third [local]        local: flush_local instead, after which the word may come first; reports if it
 * never does, for then this network shows nothing */

#include "support/fp_test.h"

enum { ORIGIN, TARGET, THIRD, ROUNDS = 20, TAG = 7, NUMBERS = 6000 };

static long memory[NUMBERS];
static MPI_Win win;

static void origin(bool local)
{
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win));
    for (long i = 1; i <= ROUNDS; i++) {
        static long values[NUMBERS];

        for (int k = 0; k < NUMBERS; k++) {
            values[k] = i;
        }
        FP(MPI_Put(values, NUMBERS, MPI_LONG, TARGET, 0, NUMBERS, MPI_LONG, win));
        FP(local ? MPI_Win_flush_local(TARGET, win) : MPI_Win_flush(TARGET, win));
        FP(MPI_Send(&i, 1, MPI_LONG, THIRD, TAG, MPI_COMM_WORLD));
        fp_await(TARGET, MPI_COMM_WORLD);
    }
    FP(MPI_Win_unlock(TARGET, win));
}

static void third(void)
{
    for (long i = 1; i <= ROUNDS; i++) {
        long word;

        FP(MPI_Recv(&word, 1, MPI_LONG, ORIGIN, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Send(&word, 1, MPI_LONG, TARGET, TAG, MPI_COMM_WORLD));
    }
}

/* Returns how often the word came before the put. */
static int target(bool local)
{
    int early = 0;

    for (long i = 1; i <= ROUNDS; i++) {
        volatile long *now = memory;
        long word, oldest = ROUNDS;

        FP(MPI_Recv(&word, 1, MPI_LONG, THIRD, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int k = 0; k < NUMBERS; k++) {
            oldest = (now[k] < oldest) ? now[k] : oldest;
        }
        early += oldest < word ? 1 : 0;
        CHECK(local || oldest == word);
        fp_signal(ORIGIN, MPI_COMM_WORLD);
    }
    return early;
}

int main(int argc, char **argv)
{
    bool local;
    int early = 0;

    fp_init(&argc, &argv, 3);
    local = 1 < argc && 0 == strcmp(argv[1], "local");
    FP(MPI_Win_create(memory, sizeof(memory), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (ORIGIN == fp_rank) {
        origin(local);
    } else if (TARGET == fp_rank) {
        early = target(local);
        printf("# the word came first %d times of %d\n", early, ROUNDS);
        CHECK(!local || 0 < early);
    } else if (THIRD == fp_rank) {
        third();
    }
    FP(MPI_Win_free(&win));
    return fp_finish();
}
