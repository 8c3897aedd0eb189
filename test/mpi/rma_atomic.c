/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* All ranks change one location by all calls that are atomic: accumulate, get_accumulate, fetch_and_op and
 * compare_and_swap, alone, in the middle of an array, and as an element of a derived datatype; for types of
 * each size, aligned and not, also pairs, which no processor changes at a time. The order of accumulates of
 * one origin, too, and data at absolute addresses.
 *
 * usage: rma_atomic [sm | stock]        sm: only memory that MPI allocates; stock: without compare_and_swap
 */

#include "support/fp_test.h"

enum { NUMBERS = 40, AT = 17, ROUNDS = 60 };

static bool no_swap;

/* A window over NUMBERS elements of 16 bytes, of either kind. */
typedef struct {
    MPI_Win win;
    unsigned char *memory;
    bool allocated;
    bool shifted; /* elements lie one byte behind multiples of their size; displacements are bytes then */
} place_t;

static place_t make(bool allocated, int unit)
{
    place_t place = {.allocated = allocated};

    if (allocated) {
        FP(MPI_Win_allocate(NUMBERS * 16, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &place.memory, &place.win));
    } else {
        place.memory = fp_alloc(NUMBERS * 16);
        FP(MPI_Win_create(place.memory, NUMBERS * 16, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &place.win));
    }
    memset(place.memory, 0, NUMBERS * 16);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    return place;
}

static void drop(place_t *place)
{
    FP(MPI_Win_free(&place->win));
    if (!place->allocated) {
        fp_free(place->memory);
    }
}

/* ------------------------------------------------------------------ adding up */

/* An integer type, and the number 1 of it. */
typedef struct {
    const char *name;
    MPI_Datatype type;
    int size;
    long long mask;
} integer_t;

static const integer_t integers[] = {{"8", MPI_LONG_LONG, 8, -1},
                                     {"4", MPI_INT, 4, 0xffffffff},
                                     {"2", MPI_UNSIGNED_SHORT, 2, 0xffff},
                                     {"1", MPI_UNSIGNED_CHAR, 1, 0xff}};

static long long load(const void *at, int size)
{
    long long value = 0;

    memcpy(&value, at, (size_t) size);
    return value;
}

/* Displacement of an element. */
static MPI_Aint displacement(const place_t *place, const integer_t *integer, int element)
{
    return place->shifted ? element * integer->size + 1 : element;
}

/* Adds 1 by compare_and_swap, as often as it takes. */
static void add_by_swap(const place_t *place, const integer_t *integer, MPI_Aint at)
{
    long long old = 0, next, found;

    FP(MPI_Fetch_and_op(NULL, &old, integer->type, 0, at, MPI_NO_OP, place->win));
    FP(MPI_Win_flush(0, place->win));
    for (;; old = found) {
        next = old + 1;
        found = 0;
        FP(MPI_Compare_and_swap(&next, &old, &found, integer->type, 0, at, place->win));
        FP(MPI_Win_flush(0, place->win));
        if (load(&found, integer->size) == load(&old, integer->size)) {
            return;
        }
    }
}

static void add(const place_t *place, const integer_t *integer, MPI_Datatype derived, int way)
{
    static const long long ones[3] = {1, 1, 1};
    static unsigned char three[24], fetched[24]; /* until the flush or unlock that follows */
    const MPI_Aint at = displacement(place, integer, AT);

    for (int i = 0; i < 3; i++) {
        memcpy(three + i * integer->size, &ones[0], (size_t) integer->size);
    }
    switch (way) {
    case 0:
        FP(MPI_Accumulate(ones, 1, integer->type, 0, at, 1, integer->type, MPI_SUM, place->win));
        break;
    case 1:
        FP(MPI_Fetch_and_op(ones, fetched, integer->type, 0, at, MPI_SUM, place->win));
        break;
    case 2:
        FP(MPI_Get_accumulate(ones, 1, integer->type, fetched, 1, integer->type, 0, at, 1, integer->type,
                              MPI_SUM, place->win));
        break;
    case 3: /* and its two neighbours */
        FP(MPI_Accumulate(three, 3, integer->type, 0, displacement(place, integer, AT - 1), 3, integer->type,
                          MPI_SUM, place->win));
        break;
    case 4: /* and others at a distance */
        FP(MPI_Accumulate(three, 3, integer->type, 0, displacement(place, integer, AT - 7), 1, derived,
                          MPI_SUM, place->win));
        break;
    case 5:
        FP(MPI_Get_accumulate(three, 3, integer->type, fetched, 3, integer->type, 0,
                              displacement(place, integer, AT - 7), 1, derived, MPI_SUM, place->win));
        break;
    default:
        add_by_swap(place, integer, at);
        break;
    }
}

static void try_integer(const integer_t *integer, bool allocated, bool all_lock, bool shifted)
{
    place_t place = make(allocated, shifted ? 1 : integer->size);
    MPI_Datatype derived; /* elements 0, 7 and 14, the second of which is the one at AT */
    const int ways = no_swap ? 6 : 7;

    fp_case("integers of %s bytes, %s, %s%s", integer->name, allocated ? "allocated" : "created",
            all_lock ? "lock_all" : "single locks", shifted ? ", not aligned" : "");
    place.shifted = shifted;
    FP(MPI_Type_vector(3, 1, 7, integer->type, &derived));
    FP(MPI_Type_commit(&derived));
    if (all_lock) {
        FP(MPI_Win_lock_all(0, place.win));
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (!all_lock) {
            FP(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, place.win));
        }
        add(&place, integer, derived, (i + fp_rank) % ways);
        FP(all_lock ? MPI_Win_flush(0, place.win) : MPI_Win_unlock(0, place.win));
    }
    if (all_lock) {
        FP(MPI_Win_unlock_all(place.win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, place.win));
        CHECK_INT(load(place.memory + AT * integer->size + shifted, integer->size),
                  ROUNDS * fp_size & integer->mask);
        FP(MPI_Win_unlock(0, place.win));
    }
    FP(MPI_Type_free(&derived));
    drop(&place);
}

/* ----------------------------------------------------------------------- pairs */

typedef struct {
    double value;
    int rank;
} pair_t;

/* The greatest value with the rank that brought it: half of one pair and half of another is never seen. */
static void try_pairs(bool allocated)
{
    place_t place = make(allocated, sizeof(pair_t));
    pair_t mine, seen;

    fp_case("pairs, %s", allocated ? "allocated" : "created");
    for (int i = 1; i <= ROUNDS; i++) {
        mine = (pair_t){.value = 100 * i + fp_rank, .rank = fp_rank + 1000 * i};
        seen = (pair_t){0};
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, place.win));
        if (i % 2) {
            FP(MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, 1, 1, MPI_DOUBLE_INT, MPI_MAXLOC, place.win));
            FP(MPI_Get_accumulate(&mine, 0, MPI_DOUBLE_INT, &seen, 1, MPI_DOUBLE_INT, 0, 1, 1, MPI_DOUBLE_INT,
                                  MPI_NO_OP, place.win));
        } else {
            FP(MPI_Fetch_and_op(&mine, &seen, MPI_DOUBLE_INT, 0, 1, MPI_MAXLOC, place.win));
        }
        FP(MPI_Win_unlock(0, place.win));
        CHECK_INT(seen.rank % 1000, (int) seen.value % 100);
        CHECK_INT(seen.rank / 1000, (int) seen.value / 100);
        CHECK(0 == i % 2 || seen.value >= mine.value);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        pair_t last;

        memcpy(&last, place.memory + sizeof(last), sizeof(last));
        CHECK_INT(last.rank, fp_size - 1 + 1000 * ROUNDS);
    }
    drop(&place);
}

/* ----------------------------------------------------------------------- order */

/* Accumulates of one origin at one location come in order: each rank replaces its number by the next, reads
 * it, adds, swaps; half of it with derived datatypes, which go another way. */
static void try_order(bool allocated)
{
    place_t place = make(allocated, sizeof(long));
    const int target = (fp_rank + 1) % fp_size;
    long values[ROUNDS][3], fetched[ROUNDS][4], swapped = -1;
    MPI_Datatype derived;

    fp_case("order of accumulates, %s", allocated ? "allocated" : "created");
    FP(MPI_Type_vector(2, 1, 5, MPI_LONG, &derived));
    FP(MPI_Type_commit(&derived));
    FP(MPI_Win_lock_all(0, place.win));
    for (int i = 0; i < ROUNDS; i++) {
        values[i][0] = 10L * i;
        values[i][1] = 10L * i;
        values[i][2] = 5;
        if (i % 2) {
            FP(MPI_Accumulate(values[i], 2, MPI_LONG, target, 3, 1, derived, MPI_REPLACE, place.win));
        } else {
            FP(MPI_Accumulate(values[i], 1, MPI_LONG, target, 3, 1, MPI_LONG, MPI_REPLACE, place.win));
        }
        FP(MPI_Fetch_and_op(&values[i][2], &fetched[i][0], MPI_LONG, target, 3, MPI_SUM, place.win));
        FP(MPI_Get_accumulate(NULL, 0, MPI_LONG, &fetched[i][1], 2, MPI_LONG, target, 3, 1, derived,
                              MPI_NO_OP, place.win));
        if (!no_swap) {
            FP(MPI_Compare_and_swap(&swapped, &values[i][0], &fetched[i][3], MPI_LONG, target, 3, place.win));
        }
    }
    FP(MPI_Win_unlock_all(place.win));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_INT(fetched[i][0], 10 * i);
        CHECK_INT(fetched[i][1], 10 * i + 5);
        CHECK(no_swap || 10 * i + 5 == fetched[i][3]);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Type_free(&derived));
    drop(&place);
}

/* -------------------------------------------------------------------- MPI_BOTTOM */

/* COUNT numbers at an absolute address. */
static MPI_Datatype absolute(const int *numbers, int count)
{
    MPI_Datatype type;
    MPI_Aint address;

    FP(MPI_Get_address(numbers, &address));
    FP(MPI_Type_create_hindexed(1, &count, &address, MPI_INT, &type));
    FP(MPI_Type_commit(&type));
    return type;
}

/* Where data is named by its datatype, its address is NULL: that is no call without data. */
static void try_bottom(bool allocated)
{
    enum { COUNT = 4 };
    place_t place = make(allocated, sizeof(int));
    int mine[COUNT] = {1, 2, 3, 4}, found[COUNT] = {-1, -1, -1, -1}, at_end[COUNT] = {-1, -1, -1, -1};
    MPI_Datatype from = absolute(mine, COUNT), to = absolute(found, COUNT), last = absolute(at_end, COUNT);
    const int target = (fp_rank + 1) % fp_size;

    fp_case("MPI_BOTTOM, %s", allocated ? "allocated" : "created");
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, place.win));
    FP(MPI_Put(MPI_BOTTOM, 1, from, target, 0, COUNT, MPI_INT, place.win));
    FP(MPI_Win_flush(target, place.win));
    FP(MPI_Accumulate(MPI_BOTTOM, 1, from, target, 0, COUNT, MPI_INT, MPI_SUM, place.win));
    FP(MPI_Get_accumulate(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, to, target, 0, COUNT, MPI_INT, MPI_SUM,
                          place.win));
    FP(MPI_Win_flush(target, place.win));
    FP(MPI_Get(MPI_BOTTOM, 1, last, target, 0, COUNT, MPI_INT, place.win));
    FP(MPI_Win_unlock(target, place.win));
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(found[i], 2 * (i + 1));
        CHECK_INT(at_end[i], 3 * (i + 1));
    }
    FP(MPI_Type_free(&from));
    FP(MPI_Type_free(&to));
    FP(MPI_Type_free(&last));
    drop(&place);
}

int main(int argc, char **argv)
{
    bool sm;

    fp_init(&argc, &argv, 1);
    sm = 1 < argc && 0 == strcmp(argv[1], "sm");
    no_swap = 1 < argc && 0 == strcmp(argv[1], "stock");
    for (int allocated = sm; allocated < 2; allocated++) {
        for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
            try_integer(&integers[i], allocated, false, false);
            try_integer(&integers[i], allocated, true, false);
            if (!sm && !no_swap) {
                try_integer(&integers[i], allocated, true, true);
            }
        }
        try_pairs(allocated);
        try_order(allocated);
        try_bottom(allocated);
    }
    return fp_finish();
}
