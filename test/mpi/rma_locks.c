/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Locks: that exclusive ones exclude, that a writer gets in while readers come and go, and a reader while
 * writers do, that readers who hold several locks, in one window or two, do not wait for each other because
 * of a writer, nor writers who lock in one order, also in two windows, the own rank's lock, all of which one
 * comes late, epochs with nothing inside.
 *
 * usage: rma_locks [sm]        only what osc/sm of Open MPI has: memory that MPI allocates */

#include "support/fp_test.h"

enum { NUMBERS = 600, WRITER_ROUNDS = 20, READER_ROUNDS = 4, LATE_MS = 20 };

static MPI_Win win;
static long *memory;

/* All ranks count at all targets, by get and put under exclusive locks. */
static void exclude(int rounds)
{
    fp_case("exclusive locks");
    for (int round = 0; round < rounds; round++) {
        const int target = (fp_rank + round) % fp_size;
        long value[NUMBERS];

        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        FP(MPI_Get(value, NUMBERS, MPI_LONG, target, 0, NUMBERS, MPI_LONG, win));
        FP(MPI_Win_flush(target, win));
        CHECK_INT(value[0], value[NUMBERS - 1]);
        for (int i = 0; i < NUMBERS; i++) {
            value[i]++;
        }
        FP(MPI_Put(value, NUMBERS, MPI_LONG, target, 0, NUMBERS, MPI_LONG, win));
        FP(MPI_Win_unlock(target, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock(MPI_LOCK_SHARED, fp_rank, 0, win));
    CHECK_INT(memory[0], rounds);
    CHECK_INT(memory[NUMBERS - 1], rounds);
    FP(MPI_Win_unlock(fp_rank, win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* The last rank writes, all others read without a pause until the writer has been in often enough, so at any
 * time some reader has the lock or asks for it. */
static void writer_gets_in(void)
{
    const int writer = fp_size - 1;
    long seen[NUMBERS], stop = 0, value;

    fp_case("a writer among readers");
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, fp_rank, 0, win));
    memset(memory, 0, NUMBERS * sizeof(*memory));
    FP(MPI_Win_unlock(fp_rank, win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (writer == fp_rank) {
        for (value = 1; value <= WRITER_ROUNDS; value++) {
            for (int i = 0; i < NUMBERS; i++) {
                seen[i] = value;
            }
            FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            FP(MPI_Put(seen, NUMBERS, MPI_LONG, 0, 0, NUMBERS, MPI_LONG, win));
            FP(MPI_Win_unlock(0, win));
        }
    }
    while (writer != fp_rank && WRITER_ROUNDS > stop) {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        FP(MPI_Get(seen, NUMBERS, MPI_LONG, 0, 0, NUMBERS, MPI_LONG, win));
        FP(MPI_Win_flush(0, win));
        CHECK_INT(seen[NUMBERS - 1], seen[0]);
        CHECK(stop <= seen[0]);
        stop = seen[0];
        FP(MPI_Win_unlock(0, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* One rank shares locks and writes, of one target or of all, and all others have some lock exclusively at any
 * time until they have read the last value: each that of rank 0, or each another one. */
static void reader_gets_in(int reader, bool all)
{
    const int target = all && reader != fp_rank ? fp_rank : 0;
    long seen[NUMBERS];

    fp_case("rank %d reads among writers, %s", reader, all ? "lock_all" : "of one lock");
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, fp_rank, 0, win));
    memset(memory, 0, NUMBERS * sizeof(*memory));
    FP(MPI_Win_unlock(fp_rank, win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 1; reader == fp_rank && round <= READER_ROUNDS; round++) {
        const long value = round;

        if (all) {
            FP(MPI_Win_lock_all(0, win));
        } else {
            FP(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        }
        for (int to = 0; to < (all ? fp_size : 1); to++) {
            FP(MPI_Put(&value, 1, MPI_LONG, to, 0, 1, MPI_LONG, win));
        }
        if (all) {
            FP(MPI_Win_unlock_all(win));
        } else {
            FP(MPI_Win_unlock(target, win));
        }
    }
    for (seen[0] = 0; reader != fp_rank && READER_ROUNDS > seen[0];) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        FP(MPI_Get(seen, NUMBERS, MPI_LONG, target, 0, NUMBERS, MPI_LONG, win));
        FP(MPI_Win_flush(target, win));
        fp_sleep_ms(1);
        FP(MPI_Win_unlock(target, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Readers take the locks of ranks 0 and 1 in opposite order and keep both, while writers ask for one of them:
 * a waiting writer must not make the one reader wait for the other, whom it would wait for. */
static void readers_with_two(int rounds)
{
    const int first = fp_rank % 2;
    long value[2];

    fp_case("readers with two locks");
    for (int round = 0; round < rounds; round++) {
        if (2 > fp_rank) {
            for (int i = 0; i < 2; i++) {
                const int target = (first + i) % 2;

                FP(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
                FP(MPI_Get(&value[i], 1, MPI_LONG, target, 3, 1, MPI_LONG, win));
                FP(MPI_Win_flush(target, win));
            }
            FP(MPI_Win_unlock(0, win));
            FP(MPI_Win_unlock(1, win));
            FP(MPI_Win_lock_all(0, win));
            for (int i = 0; i < 2; i++) {
                FP(MPI_Get(&value[i], 1, MPI_LONG, (first + i) % 2, 3, 1, MPI_LONG, win));
                FP(MPI_Win_flush((first + i) % 2, win));
            }
            FP(MPI_Win_unlock_all(win));
        } else {
            value[0] = round;
            FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, fp_rank % 2, 0, win));
            FP(MPI_Put(value, 1, MPI_LONG, fp_rank % 2, 3, 1, MPI_LONG, win));
            FP(MPI_Win_unlock(fp_rank % 2, win));
        }
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Who locks all waits for its own lock, which another one has, for so long that it may go to sleep. */
static void all_late(int rounds)
{
    long value = 0;

    fp_case("all locks, the own one late");
    for (int round = 0; round < rounds; round++) {
        if (1 == fp_rank) {
            value = round;
            FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            FP(MPI_Put(&value, 1, MPI_LONG, 0, 4, 1, MPI_LONG, win));
            FP(MPI_Win_flush(0, win));
            FP(MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD));
            fp_sleep_ms(LATE_MS);
            FP(MPI_Win_unlock(0, win));
        } else if (0 == fp_rank) {
            FP(MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            FP(MPI_Win_lock_all(0, win));
            FP(MPI_Get(&value, 1, MPI_LONG, 0, 4, 1, MPI_LONG, win));
            FP(MPI_Win_unlock_all(win));
            CHECK_INT(value, round);
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* The own lock is there when MPI_Win_lock returns, whatever comes next: loads and stores are safe then. */
static void own_lock(int rounds)
{
    const int target = 0;
    long value;

    fp_case("own lock");
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (target == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        memory[7] = memory[8] = 0;
        FP(MPI_Win_unlock(target, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    for (int round = 0; round < rounds; round++) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        if (target == fp_rank) {
            const long before = *(volatile long *) &memory[7];

            *(volatile long *) &memory[8] = before;
            *(volatile long *) &memory[7] = before + 1;
        } else {
            FP(MPI_Get(&value, 1, MPI_LONG, target, 7, 1, MPI_LONG, win));
            FP(MPI_Win_flush(target, win));
            value++;
            FP(MPI_Put(&value, 1, MPI_LONG, target, 7, 1, MPI_LONG, win));
        }
        FP(MPI_Win_unlock(target, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (target == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        CHECK_INT(memory[7], (long) rounds * fp_size);
        FP(MPI_Win_unlock(target, win));
    }
}

/* Nothing inside, of all kinds, mixed with others' exclusive locks. */
static void nothing_inside(int rounds)
{
    fp_case("nothing inside");
    for (int round = 0; round < rounds; round++) {
        for (int target = 0; target < fp_size; target++) {
            FP(MPI_Win_lock((round % 2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win));
            FP(MPI_Win_flush(target, win));
            FP(MPI_Win_unlock(target, win));
        }
        FP(MPI_Win_lock_all(0, win));
        FP(MPI_Win_flush_all(win));
        FP(MPI_Win_flush_local_all(win));
        FP(MPI_Win_sync(win));
        FP(MPI_Win_unlock_all(win));
        FP(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
        FP(MPI_Win_unlock_all(win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Those ranks but the first two lock these two, the first one first, and then access the one or the other
 * first: who has locked both has to get both, whichever it accesses first. */
static void two_in_order(int rounds)
{
    fp_case("exclusive locks of two targets, always in the same order");
    for (int round = 0; round < rounds && 2 <= fp_rank; round++) {
        const int first = (fp_rank + round) % 2;
        long value;

        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        FP(MPI_Get(&value, 1, MPI_LONG, first, 0, 1, MPI_LONG, win));
        FP(MPI_Win_flush(first, win));
        fp_sleep_ms(1);
        FP(MPI_Get(&value, 1, MPI_LONG, 1 - first, 0, 1, MPI_LONG, win));
        FP(MPI_Win_unlock(0, win));
        FP(MPI_Win_unlock(1, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* The same with one target in two windows. */
static void two_windows_in_order(int rounds)
{
    MPI_Win wins[2] = {win, MPI_WIN_NULL};
    long *other, value;

    fp_case("exclusive locks in two windows, always in the same order");
    FP(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &other, &wins[1]));
    for (int round = 0; round < rounds; round++) {
        const int first = (fp_rank + round) % 2;

        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[0]));
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, wins[1]));
        FP(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, wins[first]));
        FP(MPI_Win_flush(0, wins[first]));
        fp_sleep_ms(1);
        FP(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, wins[1 - first]));
        FP(MPI_Win_flush(0, wins[1 - first]));
        FP(MPI_Win_unlock(0, wins[1]));
        FP(MPI_Win_unlock(0, wins[0]));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_free(&wins[1]));
}

/* Have the lock of a rank, and not only have asked for it. */
static void have(int type, int rank, MPI_Win window)
{
    long value;

    FP(MPI_Win_lock(type, rank, 0, window));
    FP(MPI_Get(&value, 1, MPI_LONG, rank, 0, 1, MPI_LONG, window));
    FP(MPI_Win_flush(rank, window));
}

/* Rank 0 shares a lock, rank 3 one of the other window and waits for rank 0's, rank 2 waits for rank 3's. Now
 * rank 0 shares that one, too, by MPI_Win_lock_all or because it is its own: were it to wait for rank 2,
 * nobody would go on. */
static void reader_of_two_windows(bool all)
{
    const int rank = all ? 1 : 0;
    long *other_memory;
    MPI_Win other;

    fp_case("a reader with locks in two windows, %s", all ? "lock_all" : "its own");
    FP(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &other_memory, &other));
    if (3 == fp_rank) {
        have(MPI_LOCK_SHARED, rank, other);
    } else if (0 == fp_rank) {
        have(MPI_LOCK_SHARED, 1, win);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (2 == fp_rank) {
        have(MPI_LOCK_EXCLUSIVE, rank, other);
        FP(MPI_Win_unlock(rank, other));
    } else if (3 == fp_rank) {
        have(MPI_LOCK_EXCLUSIVE, 1, win);
        FP(MPI_Win_unlock(1, win));
        FP(MPI_Win_unlock(rank, other));
    } else if (0 == fp_rank) {
        fp_sleep_ms(50); /* most likely both wait by now */
        if (all) {
            FP(MPI_Win_lock_all(0, other));
            FP(MPI_Win_unlock_all(other));
        } else {
            have(MPI_LOCK_SHARED, rank, other);
            FP(MPI_Win_unlock(rank, other));
        }
        FP(MPI_Win_unlock(1, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_free(&other));
}

static void try_all(bool sm)
{
    exclude(60);
    writer_gets_in();
    for (int all = 0; all < 2; all++) {
        reader_gets_in(fp_size - 1, all);
        reader_gets_in(1, all);
    }
    if (!sm) {
        readers_with_two(100);
        two_in_order(20);
        two_windows_in_order(20);
        for (int all = 0; all < 2 && 3 < fp_size; all++) {
            reader_of_two_windows(all);
        }
    }
    own_lock(60);
    all_late(5);
    nothing_inside(40);
    FP(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    const MPI_Aint bytes = NUMBERS * sizeof(long);
    const bool sm = 1 < argc;

    fp_init(&argc, &argv, 2);
    if (!sm) {
        memory = calloc(NUMBERS, sizeof(*memory));
        FP(MPI_Win_create(memory, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        try_all(sm);
        free(memory);
    }
    FP(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memset(memory, 0, (size_t) bytes);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    try_all(sm);
    return fp_finish();
}
