/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Windows that come and go: operations that reach a rank before it has made the window, a rank that frees it
 * while others still work in it, many windows at a time and in any order of end, windows of some of the
 * ranks.
 *
 * usage: rma_windows [sm]        only memory that MPI allocates */

#include "support/fp_test.h"

enum { MANY = 40, NUMBERS = 32 };

static bool only_allocated;

typedef struct {
    MPI_Win win;
    long *memory;
    bool allocated;
} place_t;

static place_t make_of(MPI_Comm comm, int number, MPI_Aint bytes)
{
    place_t place = {.allocated = only_allocated || 0 == number % 2};

    if (place.allocated) {
        FP(MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, comm, &place.memory, &place.win));
    } else {
        place.memory = fp_alloc((size_t) bytes);
        FP(MPI_Win_create(place.memory, bytes, sizeof(long), MPI_INFO_NULL, comm, &place.win));
    }
    return place;
}

static place_t make(MPI_Comm comm, int number)
{
    return make_of(comm, number, NUMBERS * (MPI_Aint) sizeof(long));
}

static void drop(place_t *place)
{
    FP(MPI_Win_free(&place->win));
    if (!place->allocated) {
        fp_free(place->memory);
    }
}

/* Whoever is first out of the creation begins at once, others are late; whoever is ready first frees. */
static void early_and_late(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        place_t place;
        long value;

        fp_case("early and late, round %d", round);
        if (round % fp_size == fp_rank && 0 == round % 4) {
            fp_sleep_ms(1);
        }
        place = make(MPI_COMM_WORLD, round);
        for (int to = 0; to < fp_size; to++) {
            value = 100 * round + fp_rank;
            FP(MPI_Win_lock((round % 3) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, to, 0, place.win));
            FP(MPI_Put(&value, 1, MPI_LONG, to, fp_rank, 1, MPI_LONG, place.win));
            FP(MPI_Win_unlock(to, place.win));
            value = -1;
            FP(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, place.win));
            FP(MPI_Get(&value, 1, MPI_LONG, to, fp_rank, 1, MPI_LONG, place.win));
            FP(MPI_Win_unlock(to, place.win));
            CHECK_INT(value, 100 * round + fp_rank);
        }
        drop(&place);
    }
}

/* Ranks do different numbers of epochs before they free, and count at rank 0, which frees first. */
static void free_ahead(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        place_t place = make(MPI_COMM_WORLD, round);
        const long one = 1;
        long got, last = -1;

        fp_case("free while others work, round %d", round);
        FP(MPI_Win_lock_all(0, place.win));
        for (int i = 0; i < 10 * fp_rank; i++) {
            FP(MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, fp_rank, (0 == i) ? MPI_REPLACE : MPI_SUM,
                                place.win));
            FP(MPI_Win_flush(0, place.win));
            CHECK(0 == i || last + 1 == got || 1 == i);
            last = got;
        }
        FP(MPI_Win_unlock_all(place.win));
        drop(&place);
    }
}

/* All at a time, freed in an order that has nothing to do with that of their creation. */
static void many(void)
{
    place_t places[MANY];
    long value;

    fp_case("many");
    for (int i = 0; i < MANY; i++) {
        places[i] = make(MPI_COMM_WORLD, i);
        FP(MPI_Win_fence(0, places[i].win));
    }
    for (int i = 0; i < MANY; i++) {
        value = i + fp_rank;
        FP(MPI_Accumulate(&value, 1, MPI_LONG, (fp_rank + i) % fp_size, 3, 1, MPI_LONG, MPI_REPLACE,
                          places[i].win));
        FP(MPI_Win_fence(0, places[i].win));
    }
    for (int i = 0; i < MANY; i++) {
        const int which = (i * 7) % MANY;

        CHECK_INT(places[which].memory[3], which + (fp_rank + which * (fp_size - 1)) % fp_size);
        drop(&places[which]);
    }
}

/* In all of them an epoch is under way with an operation that need not have left yet. Meanwhile the last one
 * is flushed, and messages come and go: whatever buffers those operations wait in, there are some left. */
static void messages_meanwhile(int count)
{
    enum { BYTES = 5000, TAG = 3 };
    const int to = (fp_rank + 1) % fp_size, from = (fp_rank + fp_size - 1) % fp_size;
    const MPI_Aint bytes = count * (MPI_Aint) sizeof(long);
    long *values = fp_alloc((size_t) bytes);
    place_t places[MANY];

    fp_case("messages while epochs with %d numbers are under way in many", count);
    for (int i = 0; i < count; i++) {
        values[i] = 100 * i + fp_rank;
    }
    for (int i = 0; i < MANY; i++) {
        places[i] = make_of(MPI_COMM_WORLD, i, bytes);
        FP(MPI_Win_lock_all(0, places[i].win));
        FP(MPI_Put(values, count, MPI_LONG, to, 0, count, MPI_LONG, places[i].win));
    }
    FP(MPI_Win_flush(to, places[MANY - 1].win));
    for (int i = 0; i < MANY; i++) {
        fp_message_t message;

        fp_irecv(&message, BYTES, from, TAG, i, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], BYTES, to, TAG, i, MPI_COMM_WORLD);
        fp_wait_recv(&message);
    }
    for (int i = 0; i < MANY; i++) {
        FP(MPI_Win_unlock_all(places[i].win));
        FP(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_INT(places[i].memory[0], from);
        CHECK_INT(places[i].memory[count - 1], 100 * (count - 1) + from);
        drop(&places[i]);
    }
    fp_free(values);
}

/* Halves of the ranks have windows of their own, and one rank takes part in windows of pairs. */
static void some_ranks(int rounds)
{
    MPI_Comm half, pair;

    FP(MPI_Comm_split(MPI_COMM_WORLD, fp_rank % 2, -fp_rank, &half));
    FP(MPI_Comm_split(MPI_COMM_WORLD, (2 > fp_rank) ? 0 : MPI_UNDEFINED, 0, &pair));
    for (int round = 0; round < rounds; round++) {
        place_t first = make(half, round), second = {.win = MPI_WIN_NULL};
        const long one = 1;
        int size, rank;

        fp_case("some ranks, round %d", round);
        if (MPI_COMM_NULL != pair) {
            second = make(pair, round + 1);
        }
        FP(MPI_Comm_size(half, &size));
        FP(MPI_Comm_rank(half, &rank));
        first.memory[0] = 0;
        FP(MPI_Win_fence(0, first.win));
        for (int to = 0; to < size; to++) {
            FP(MPI_Accumulate(&one, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, first.win));
        }
        if (MPI_WIN_NULL != second.win) {
            const long mine = 10 * round + fp_rank;

            FP(MPI_Win_fence(0, second.win));
            FP(MPI_Put(&mine, 1, MPI_LONG, 1 - fp_rank, 1, 1, MPI_LONG, second.win));
            FP(MPI_Win_fence(0, second.win));
            CHECK_INT(second.memory[1], 10 * round + 1 - fp_rank);
        }
        FP(MPI_Win_fence(0, first.win));
        CHECK_INT(first.memory[0], size);
        if (round % 2) {
            drop(&first);
        }
        if (MPI_WIN_NULL != second.win) {
            drop(&second);
        }
        if (0 == round % 2) {
            drop(&first);
        }
    }
    FP(MPI_Comm_free(&half));
    if (MPI_COMM_NULL != pair) {
        FP(MPI_Comm_free(&pair));
    }
}

/* A window outlives its communicator. */
static void without_comm(void)
{
    place_t place;
    MPI_Comm comm;
    const long value = fp_rank;

    fp_case("communicator freed");
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    place = make(comm, 1);
    FP(MPI_Comm_free(&comm));
    FP(MPI_Win_fence(0, place.win));
    FP(MPI_Put(&value, 1, MPI_LONG, (fp_rank + 1) % fp_size, 5, 1, MPI_LONG, place.win));
    FP(MPI_Win_fence(0, place.win));
    CHECK_INT(place.memory[5], (fp_rank + fp_size - 1) % fp_size);
    drop(&place);
}

/* Nobody puts before the target has come to the fence that opens the epoch, and so stored what it begins
 * with. */
static void first_fence(void)
{
    int *memory, value = 2;
    MPI_Win win;

    fp_case("the first fence");
    FP(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    if (1 == fp_rank) {
        fp_sleep_ms(50);
    }
    *memory = 1;
    FP(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    if (0 == fp_rank) {
        FP(MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win));
    }
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_INT(*memory, 1 == fp_rank ? 2 : 1);
    FP(MPI_Win_free(&win));
}

/* Who has left a fence and locks a target finds all that has been put there before the fence, though the
 * target may not have left it. */
static void lock_after_fence(void)
{
    enum { LONG = 1 << 18 };
    int *memory, *source = calloc(LONG, sizeof(*source)), got = -1;
    const int value = 2;
    MPI_Win win;

    fp_case("a lock behind a fence");
    source[LONG - 1] = 1;
    FP(MPI_Win_allocate(LONG * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memory[LONG - 1] = 0;
    FP(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    if (1 == fp_rank) {
        FP(MPI_Put(source, LONG, MPI_INT, 2, 0, LONG, MPI_INT, win));
    }
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (0 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win));
        FP(MPI_Get(&got, 1, MPI_INT, 2, LONG - 1, 1, MPI_INT, win));
        FP(MPI_Win_flush(2, win));
        CHECK_INT(got, 1);
        FP(MPI_Put(&value, 1, MPI_INT, 2, LONG - 1, 1, MPI_INT, win));
        FP(MPI_Win_unlock(2, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (2 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win));
        CHECK_INT(memory[LONG - 1], value);
        FP(MPI_Win_unlock(2, win));
    }
    FP(MPI_Win_free(&win));
    free(source);
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    if (NUMBERS < fp_size) {
        fp_skip("it has room for %d ranks", NUMBERS);
    }
    only_allocated = 1 < argc;
    early_and_late(80);
    free_ahead(12);
    many();
    messages_meanwhile(1);
    messages_meanwhile(2500); /* longer than an eager limit */
    some_ranks(20);
    without_comm();
    for (int round = 0; round < 3; round++) {
        first_fence();
    }
    for (int round = 0; round < 20 && 2 < fp_size; round++) {
        lock_after_fence();
    }
    return fp_finish();
}
