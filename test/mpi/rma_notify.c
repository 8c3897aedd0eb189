/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Put, flush, and a word that it has been done: by a message, by a put into another window, by a third rank.
 * When the word is there, the put is, whatever has been saved of acknowledgements, also within an exclusive
 * lock that rank 0 holds all the time. */

#include "support/fp_test.h"

enum { ORIGIN, TARGET, THIRD, ROUNDS = 25, TAG = 7, MOST = 40000 };
typedef enum { BY_MESSAGE, BY_WINDOW, BY_THIRD, BY_FETCH, WAYS } way_t;

static const char *const way_names[WAYS] = {"message", "other window", "third rank",
                                            "fetch_and_op in other window"};
static long memory[MOST], flag;
static MPI_Win win, flag_win;

/* Tells rank 1 that round I is done. */
static void tell(way_t way, long i)
{
    static long got;

    switch (way) {
    case BY_MESSAGE:
        FP(MPI_Send(&i, 1, MPI_LONG, TARGET, TAG, MPI_COMM_WORLD));
        break;
    case BY_THIRD:
        FP(MPI_Send(&i, 1, MPI_LONG, THIRD, TAG, MPI_COMM_WORLD));
        break;
    case BY_WINDOW:
        FP(MPI_Accumulate(&i, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, MPI_REPLACE, flag_win));
        FP(MPI_Win_flush(TARGET, flag_win));
        break;
    default:
        FP(MPI_Fetch_and_op(&i, &got, MPI_LONG, TARGET, 0, MPI_REPLACE, flag_win));
        FP(MPI_Win_flush(TARGET, flag_win));
        break;
    }
}

static void listen(way_t way, long i)
{
    long word = 0;

    if (BY_MESSAGE == way || BY_THIRD == way) {
        FP(MPI_Recv(&word, 1, MPI_LONG, (BY_THIRD == way) ? THIRD : ORIGIN, TAG, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
        CHECK_INT(word, i);
        return;
    }
    while (word < i) {
        FP(MPI_Fetch_and_op(NULL, &word, MPI_LONG, TARGET, 0, MPI_NO_OP, flag_win));
        FP(MPI_Win_flush(TARGET, flag_win));
    }
}

static void origin(way_t way, int count, long i)
{
    static long values[MOST];

    for (int k = 0; k < count; k++) {
        values[k] = i + k;
    }
    if (i % 2) {
        FP(MPI_Put(values, count, MPI_LONG, TARGET, 0, count, MPI_LONG, win));
    } else { /* in pieces */
        for (int k = 0; k < count; k += (count + 9) / 10) {
            const int piece = (count - k < (count + 9) / 10) ? count - k : (count + 9) / 10;

            FP(MPI_Put(&values[k], piece, MPI_LONG, TARGET, k, piece, MPI_LONG, win));
        }
    }
    FP(MPI_Win_flush(TARGET, win));
    tell(way, i);
    fp_await(TARGET, MPI_COMM_WORLD);
}

static void target(way_t way, int count, long i)
{
    const volatile long *now = memory;
    int wrong = 0;

    listen(way, i);
    for (int k = 0; k < count; k++) {
        wrong += now[k] == i + k ? 0 : 1;
    }
    CHECK_INT(wrong, 0);
    fp_signal(ORIGIN, MPI_COMM_WORLD);
}

static void try_one(way_t way, int count, bool exclusive)
{
    static long i;

    fp_case("%s, %d words, %s", way_names[way], count, exclusive ? "exclusive" : "lock_all");
    if (ORIGIN == fp_rank) {
        FP(exclusive ? MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win) : MPI_Win_lock_all(0, win));
    }
    for (const long last = i + ROUNDS; i < last;) {
        i++;
        if (ORIGIN == fp_rank) {
            origin(way, count, i);
        } else if (TARGET == fp_rank) {
            target(way, count, i);
        } else if (THIRD == fp_rank && BY_THIRD == way) {
            long word;

            FP(MPI_Recv(&word, 1, MPI_LONG, ORIGIN, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            FP(MPI_Send(&word, 1, MPI_LONG, TARGET, TAG, MPI_COMM_WORLD));
        }
    }
    if (ORIGIN == fp_rank) {
        FP(exclusive ? MPI_Win_unlock(TARGET, win) : MPI_Win_unlock_all(win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Memory that the window allocates may be reached by loads and stores, which are faster than any message. */
static void make_flag(bool allocated)
{
    long *word;

    if (!allocated) {
        FP(MPI_Win_create(&flag, sizeof(flag), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &flag_win));
        return;
    }
    FP(MPI_Win_allocate(sizeof(flag), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &word, &flag_win));
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, fp_rank, 0, flag_win));
    *word = 0;
    FP(MPI_Win_unlock(fp_rank, flag_win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 20, 700, 5000, MOST};

    fp_init(&argc, &argv, 2);
    FP(MPI_Win_create(memory, sizeof(memory), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    make_flag(1 < argc && 0 == strcmp("allocated", argv[1]));
    FP(MPI_Win_lock_all(0, flag_win));
    for (way_t way = 0; way < WAYS; way++) {
        for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]) && (BY_THIRD != way || THIRD < fp_size);
             k++) {
            try_one(way, counts[k], true);
            try_one(way, counts[k], false);
        }
    }
    FP(MPI_Win_unlock_all(flag_win));
    FP(MPI_Win_free(&flag_win));
    FP(MPI_Win_free(&win));
    return fp_finish();
}
