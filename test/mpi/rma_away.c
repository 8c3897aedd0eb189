/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A target that computes: rank 1 is outside MPI, for good as far as rank 0 can know, and no epoch waits for
 * it, atomics included. Rank 1 comes back when rank 0 has finished all of them.
 *
 * usage: rma_away [allocated | created | shared | dynamic]        which windows: all
 *        rma_away asked        ranks from 2 on are on other nodes: while they wait for rank 1's lock, rank 0
 *                              gets it nevertheless */

#include "support/fp_counters.h"

enum { NUMBERS = 5000 };

typedef struct {
    long numbers[NUMBERS];
    struct {
        double value;
        int place;
    } pair;
    long double wide;
} memory_t;

static memory_t source, result;
static MPI_Aint base; /* displacement of the target's memory */

static MPI_Aint at(const void *field, const memory_t *of)
{
    return MPI_Aint_add(base, (const char *) field - (const char *) of);
}

/* Accumulates, with a type for each way that there may be: short integers, long arrays, pairs, wide elements.
 */
static void accumulate(MPI_Win win, int target)
{
    long one = 1, found = -1, expected = 0;
    MPI_Datatype gaps;

    FP(MPI_Type_vector(10, 1, 3, MPI_LONG, &gaps));
    FP(MPI_Type_commit(&gaps));
    FP(MPI_Win_lock_all(0, win));
    FP(MPI_Compare_and_swap(&one, &expected, &found, MPI_LONG, target, base, win));
    FP(MPI_Win_flush(target, win));
    CHECK_INT(found, 0);
    FP(MPI_Fetch_and_op(&one, &found, MPI_LONG, target, base, MPI_SUM, win));
    FP(MPI_Win_flush(target, win));
    CHECK_INT(found, 1);
    FP(MPI_Accumulate(source.numbers, NUMBERS, MPI_LONG, target, base, NUMBERS, MPI_LONG, MPI_SUM, win));
    FP(MPI_Accumulate(source.numbers, 10, MPI_LONG, target, base, 1, gaps, MPI_SUM, win));
    FP(MPI_Accumulate(&source.pair, 1, MPI_DOUBLE_INT, target, at(&source.pair, &source), 1, MPI_DOUBLE_INT,
                      MPI_MAXLOC, win));
    FP(MPI_Accumulate(&source.wide, 1, MPI_LONG_DOUBLE, target, at(&source.wide, &source), 1, MPI_LONG_DOUBLE,
                      MPI_SUM, win));
    FP(MPI_Get_accumulate(NULL, 0, MPI_LONG, result.numbers, NUMBERS, MPI_LONG, target, base, NUMBERS,
                          MPI_LONG, MPI_NO_OP, win));
    FP(MPI_Win_unlock_all(win));
    FP(MPI_Type_free(&gaps));
    CHECK_INT(result.numbers[0], 2 + 2 * source.numbers[0]);
    CHECK_INT(result.numbers[NUMBERS - 1], source.numbers[NUMBERS - 1]);
}

/* Puts and gets of a word, of 40 000 bytes and with a datatype, under all kinds of locks. */
static void copy(MPI_Win win, int target)
{
    MPI_Request request;
    MPI_Datatype gaps;

    FP(MPI_Type_vector(100, 2, 7, MPI_LONG, &gaps));
    FP(MPI_Type_commit(&gaps));
    for (int type = 0; type < 2; type++) {
        FP(MPI_Win_lock(type ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win));
        FP(MPI_Win_unlock(target, win));
        memset(&result, 0, sizeof(result));
        FP(MPI_Win_lock(type ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win));
        FP(MPI_Put(source.numbers, 1, MPI_LONG, target, base, 1, MPI_LONG, win));
        FP(MPI_Win_flush(target, win));
        FP(MPI_Get(result.numbers, 1, MPI_LONG, target, base, 1, MPI_LONG, win));
        FP(MPI_Win_unlock(target, win));
        CHECK_INT(result.numbers[0], source.numbers[0]);
        FP(MPI_Win_lock(type ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win));
        FP(MPI_Put(source.numbers, NUMBERS, MPI_LONG, target, base, NUMBERS, MPI_LONG, win));
        FP(MPI_Win_unlock(target, win));
        FP(MPI_Win_lock(type ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win));
        FP(MPI_Rget(result.numbers, 1, gaps, target, base, 1, gaps, win, &request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        FP(MPI_Get(&result.numbers[1000], 4000, MPI_LONG, target, MPI_Aint_add(base, 8000), 4000, MPI_LONG,
                   win));
        FP(MPI_Win_flush_all(win));
        FP(MPI_Win_unlock(target, win));
        CHECK(0 == memcmp(&result.numbers[1000], &source.numbers[1000], 4000 * sizeof(long)));
        CHECK_INT(result.numbers[7 * 99 + 1], source.numbers[7 * 99 + 1]);
        CHECK_INT(result.numbers[2], 0);
    }
    FP(MPI_Type_free(&gaps));
}

static void try_window(MPI_Win win, memory_t *memory)
{
    fp_away_t away;

    memset(memory, 0, sizeof(*memory));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (2 <= fp_rank) {
        FP(MPI_Barrier(MPI_COMM_WORLD));
        return;
    }
    fp_leave(&away, 1, 17);
    if (0 == fp_rank) {
        accumulate(win, 1);
        copy(win, 1);
        fp_come_back(&away);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == fp_rank) {
        CHECK_INT(memory->pair.place, 5);
        CHECK(3.5L == memory->wide);
        CHECK_INT(memory->numbers[NUMBERS - 1], NUMBERS);
    }
}

/* Rank 1 has looked at the lock for who asks for it by message, in vain, and leaves: rank 0, which shares its
 * node, does not wait for it. They get the lock when rank 1 is back. */
static void try_asked(MPI_Win win, const memory_t *memory)
{
    static const char *const names[] = {"osc_fastpath_packets_parked"};
    const int asking = fp_size - 2;
    long number = -1;
    fp_away_t away;

    fp_counters_open(MPI_THREAD_SINGLE, names, 1);
    if (0 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (2 <= fp_rank) {
        number = fp_rank;
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        FP(MPI_Accumulate(&number, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win));
        FP(MPI_Win_unlock(1, win));
    }
    while (1 == fp_rank && fp_counter(0) < (unsigned long) asking) {
        int flag;

        FP(MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    fp_leave(&away, 1, 17);
    if (0 == fp_rank) {
        FP(MPI_Win_unlock(1, win));
        for (int round = 0; round < 3; round++) {
            FP(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
            FP(MPI_Get(&number, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
            FP(MPI_Win_unlock(1, win));
            CHECK_INT(number, 0);
            FP(MPI_Win_lock_all(0, win));
            FP(MPI_Win_unlock_all(win));
            FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
            FP(MPI_Win_unlock(1, win));
        }
        fp_come_back(&away);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        CHECK_INT(memory->numbers[0], (fp_size - 1) * fp_size / 2 - 1);
        FP(MPI_Win_unlock(1, win));
    }
    fp_counters_close();
}

int main(int argc, char **argv)
{
    memory_t *memory, *created = aligned_alloc(64, (sizeof(*created) + 63) / 64 * 64);
    const char *kind;
    MPI_Win win;

    fp_init(&argc, &argv, 2);
    kind = (1 < argc) ? argv[1] : "";
    for (int i = 0; i < NUMBERS; i++) {
        source.numbers[i] = i + 1;
    }
    source.pair.value = 2.5;
    source.pair.place = 5;
    source.wide = 3.5L;
    if (0 == strlen(kind) || 0 == strcmp(kind, "allocated")) {
        fp_case("allocated");
        FP(MPI_Win_allocate(sizeof(*memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        try_window(win, memory);
        FP(MPI_Win_free(&win));
    }
    if (0 == strcmp(kind, "asked")) {
        fp_case("a lock that was asked for by message");
        FP(MPI_Win_allocate(sizeof(*memory), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
        memset(memory, 0, sizeof(*memory));
        FP(MPI_Barrier(MPI_COMM_WORLD));
        try_asked(win, memory);
        FP(MPI_Win_free(&win));
    }
    if (0 == strlen(kind) || 0 == strcmp(kind, "shared")) {
        fp_case("shared");
        FP(MPI_Win_allocate_shared((sizeof(*memory) + 63) & ~63UL, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                                   &win));
        try_window(win, memory);
        FP(MPI_Win_free(&win));
    }
    if (0 == strlen(kind) || 0 == strcmp(kind, "created")) {
        fp_case("created");
        FP(MPI_Win_create(created, sizeof(*created), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        try_window(win, created);
        FP(MPI_Win_free(&win));
    }
    if (0 == strlen(kind) || 0 == strcmp(kind, "dynamic")) {
        fp_case("dynamic");
        FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        FP(MPI_Win_attach(win, created, sizeof(*created)));
        FP(MPI_Get_address(created, &base));
        FP(MPI_Bcast(&base, 1, MPI_AINT, 1, MPI_COMM_WORLD));
        try_window(win, created);
        FP(MPI_Win_detach(win, created));
        FP(MPI_Win_free(&win));
    }
    free(created);
    return fp_finish();
}
