/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Data that does not fill the buffer it goes to (MPI-4.0, sections 12.3.1, 12.3.2 and 12.3.4): of a put or an
 * accumulate the target's, of a get the origin's, of MPI_Get_accumulate the target's and that of the results.
 * The rest stays as it is. Contiguous and with gaps, of elements that are alike and not, in one piece and in
 * many, to the end of a datatype and into the middle of one. What does not fit is an error.
 *
 * And buffers in dynamic windows with gaps that are not attached. */

#include "support/fp_test.h"

enum {
    HALF = 60,            /* elements of one kind in a mixed type, which has these twice */
    ROOM = 2 * HALF * 50, /* elements of 4 bytes in each layout */
    SPAN = 10000,         /* of a window, which takes in all layouts */
    NOTHING = -1,
    BEFORE = 1000, /* what is there before an accumulate: this and more */
    DATA = 5000000
};

typedef struct {
    const char *name;
    int block, stride, count; /* elements of each block, between the begins of two, blocks in a type */
    bool mixed;
} layout_t;

static const layout_t layouts[] = {{"contiguous", 1, 1, 1, false},
                                   {"a vector", 5, 8, ROOM / 5, false},
                                   {"short types with gaps", 3, 4, 1, false},
                                   {"types of different elements", HALF, HALF + 4, 2, true}};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };
static const int lengths[] = {0, 1, 7, HALF, HALF + 1, 500, ROOM - 1, ROOM};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static MPI_Win win;
static int *memory, data[ROOM], results[SPAN];

/* Where an element is in a layout. */
static int place_of(const layout_t *layout, int element)
{
    return element / layout->block * layout->stride + element % layout->block;
}

/* The datatype of a layout, ROOM elements of which are *COUNT of that. */
static MPI_Datatype type_of(const layout_t *layout, int *count)
{
    const MPI_Aint extent = (MPI_Aint) layout->count * layout->stride * 4, places[] = {0, layout->stride * 4};
    const int lengths_of[] = {layout->block, layout->block};
    const MPI_Datatype kinds[] = {MPI_INT, MPI_FLOAT};
    MPI_Datatype packed, type;

    if (layout->mixed) {
        FP(MPI_Type_create_struct(2, lengths_of, places, kinds, &packed));
    } else {
        FP(MPI_Type_vector(layout->count, layout->block, layout->stride, MPI_INT, &packed));
    }
    FP(MPI_Type_create_resized(packed, 0, extent, &type));
    FP(MPI_Type_commit(&type));
    FP(MPI_Type_free(&packed));
    *count = ROOM / (layout->count * layout->block);
    return type;
}

/* The same elements side by side, of which there are LENGTH. */
static MPI_Datatype data_type(const layout_t *layout, int length)
{
    enum { MOST = ROOM / HALF };
    int blocks = 0, lengths_of[MOST];
    MPI_Aint places[MOST];
    MPI_Datatype kinds[MOST], type;

    if (layout->mixed) {
        for (; blocks * HALF < length; blocks++) {
            places[blocks] = blocks * HALF * 4;
            lengths_of[blocks] = length - blocks * HALF < HALF ? length - blocks * HALF : HALF;
            kinds[blocks] = blocks % 2 ? MPI_FLOAT : MPI_INT;
        }
        FP(MPI_Type_create_struct(blocks, lengths_of, places, kinds, &type));
    } else {
        FP(MPI_Type_contiguous(length, MPI_INT, &type));
    }
    FP(MPI_Type_commit(&type));
    return type;
}

static void fill(int *to, int count, int first, int step)
{
    for (int i = 0; i < count; i++) {
        to[i] = first + step * i;
    }
}

/* LENGTH elements of a layout are as VALUE says, and all between and behind them is as it was, which REST
 * says. */
static void check(const int *found, const layout_t *layout, int length, int first, int step, int rest,
                  int rest_step)
{
    int bad = 0;

    for (int at = 0, element = 0; at < SPAN; at++) {
        const bool inside = element < length && at == place_of(layout, element);

        bad += found[at] != (inside ? first + step * element++ : rest + rest_step * at);
    }
    CHECK_INT(bad, 0);
}

/* Rank ORIGIN does something with TARGET's memory, which has been filled. */
typedef void operate_t(const layout_t *layout, int length, int target, bool request);

static void put(const layout_t *layout, int length, int target, bool request)
{
    MPI_Datatype from = data_type(layout, length), to;
    MPI_Request done;
    int count;

    to = type_of(layout, &count);
    if (request) {
        FP(MPI_Rput(data, 1, from, target, 0, count, to, win, &done));
        FP(MPI_Wait(&done, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Put(data, 1, from, target, 0, count, to, win));
    }
    FP(MPI_Win_flush(target, win));
    FP(MPI_Type_free(&from));
    FP(MPI_Type_free(&to));
}

static void get(const layout_t *layout, int length, int target, bool request)
{
    MPI_Datatype from = data_type(layout, length), to;
    MPI_Request done;
    int count;

    to = type_of(layout, &count);
    fill(results, SPAN, NOTHING, 0);
    if (request) {
        FP(MPI_Rget(results, count, to, target, 0, 1, from, win, &done));
        FP(MPI_Wait(&done, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Get(results, count, to, target, 0, 1, from, win));
        FP(MPI_Win_flush(target, win));
    }
    check(results, layout, length, BEFORE, 1, NOTHING, 0);
    FP(MPI_Type_free(&from));
    FP(MPI_Type_free(&to));
}

static void accumulate(const layout_t *layout, int length, int target, bool request)
{
    MPI_Request done;
    MPI_Datatype to;
    int count;

    to = type_of(layout, &count);
    if (request) {
        FP(MPI_Raccumulate(data, length, MPI_INT, target, 0, count, to, MPI_SUM, win, &done));
        FP(MPI_Wait(&done, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Accumulate(data, length, MPI_INT, target, 0, count, to, MPI_SUM, win));
    }
    FP(MPI_Win_flush(target, win));
    FP(MPI_Type_free(&to));
}

/* All of the target's elements come back, in another layout, whatever the origin has. */
static void get_accumulate(const layout_t *layout, int length, int target, bool request)
{
    const layout_t *other = &layouts[1];
    MPI_Datatype to, back;
    MPI_Request done;
    int count, back_count, bad = 0;

    to = type_of(layout, &count);
    back = type_of(other, &back_count);
    fill(results, SPAN, NOTHING, 0);
    if (request) {
        FP(MPI_Rget_accumulate(data, length, MPI_INT, results, back_count, back, target, 0, count, to,
                               MPI_SUM, win, &done));
        FP(MPI_Wait(&done, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Get_accumulate(data, length, MPI_INT, results, back_count, back, target, 0, count, to, MPI_SUM,
                              win));
    }
    FP(MPI_Win_flush(target, win));
    for (int i = 0; i < ROOM; i++) {
        bad += results[place_of(other, i)] != BEFORE + place_of(layout, i);
    }
    CHECK_INT(bad, 0);
    FP(MPI_Type_free(&to));
    FP(MPI_Type_free(&back));
}

static const struct {
    const char *name;
    operate_t *operate;
    bool adds;
    bool leaves; /* the target's memory stays as it is */
} verbs[] = {{"put", put, false, false},
             {"get", get, false, true},
             {"accumulate", accumulate, true, false},
             {"get_accumulate", get_accumulate, true, false}};

static void one(size_t verb, const layout_t *layout, int length, int origin, int target, bool request)
{
    fp_case("%s of %d elements, %s, %d to %d%s", verbs[verb].name, length, layout->name, origin, target,
            request ? ", request" : "");
    if (target == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        fill(memory, SPAN, BEFORE, 1);
        FP(MPI_Win_unlock(target, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (origin == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
        verbs[verb].operate(layout, length, target, request);
        FP(MPI_Win_unlock(target, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (target == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        if (verbs[verb].adds) {
            for (int i = 0; i < length; i++) { /* back to what was there */
                memory[place_of(layout, i)] -= DATA + 3 * i;
            }
            check(memory, layout, 0, 0, 0, BEFORE, 1);
        } else {
            check(memory, layout, verbs[verb].leaves ? 0 : length, DATA, 3, BEFORE, 1);
        }
        FP(MPI_Win_unlock(target, win));
    }
}

static void what_does_not_fit(int target)
{
    fp_case("what does not fit, in %d", target);
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FP(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    FP_ERROR(MPI_ERR_TRUNCATE, MPI_Put(data, 3, MPI_INT, target, 0, 2, MPI_INT, win));
    FP_ERROR(MPI_ERR_TRUNCATE, MPI_Get(results, 2, MPI_INT, target, 0, 3, MPI_INT, win));
    FP_ERROR(MPI_ERR_TRUNCATE, MPI_Accumulate(data, 3, MPI_INT, target, 0, 2, MPI_INT, MPI_SUM, win));
    FP_ERROR(MPI_ERR_TRUNCATE,
             MPI_Get_accumulate(data, 1, MPI_INT, results, 1, MPI_INT, target, 0, 2, MPI_INT, MPI_SUM, win));
    FP(MPI_Win_unlock(target, win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

static void try_all(void)
{
    for (size_t verb = 0; verb < sizeof(verbs) / sizeof(verbs[0]); verb++) {
        for (int i = 0; i < LAYOUTS * LENGTHS; i++) {
            const layout_t *layout = &layouts[i % LAYOUTS];

            if (!verbs[verb].adds || !layout->mixed) {
                one(verb, layout, lengths[i / LAYOUTS], 0, fp_size - 1, 0 != i % 2);
                one(verb, layout, lengths[i / LAYOUTS], 0, 0, 0 == i % 2);
            }
        }
    }
    for (int target = 0; target < fp_size; target++) {
        what_does_not_fit(target);
    }
    FP(MPI_Win_free(&win));
}

/* Two pieces of an array are attached; what lies between is nobody's. */
static void try_attached(void)
{
    enum { PIECE = 1000, GAP = 4000 };
    static int array[2 * PIECE + GAP], sent[2 * PIECE], got[2 * PIECE];
    const int before = (fp_rank + fp_size - 1) % fp_size, next = (fp_rank + 1) % fp_size;
    MPI_Aint address, there;
    MPI_Datatype both;

    fp_case("pieces that are attached");
    FP(MPI_Type_vector(2, PIECE, PIECE + GAP, MPI_INT, &both));
    FP(MPI_Type_commit(&both));
    FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    fill(array, 2 * PIECE + GAP, NOTHING, 0);
    FP(MPI_Win_attach(win, array, PIECE * sizeof(int)));
    FP(MPI_Win_attach(win, array + PIECE + GAP, PIECE * sizeof(int)));
    FP(MPI_Get_address(array, &address));
    FP(MPI_Sendrecv(&address, 1, MPI_AINT, before, 0, &there, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    fill(sent, 2 * PIECE, 0, 1);
    FP(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    FP(MPI_Put(sent, 2 * PIECE, MPI_INT, next, there, 1, both, win));
    FP(MPI_Win_flush(next, win));
    FP(MPI_Accumulate(sent, 2 * PIECE, MPI_INT, next, there, 1, both, MPI_SUM, win));
    FP(MPI_Win_flush(next, win));
    FP(MPI_Get(got, 2 * PIECE, MPI_INT, next, there, 1, both, win));
    FP(MPI_Win_unlock(next, win));
    for (int i = 0; i < 2 * PIECE; i++) {
        got[i] -= i;
    }
    CHECK(0 == memcmp(got, sent, sizeof(got)));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < GAP; i++) {
        CHECK_INT(array[PIECE + i], NOTHING);
    }
    FP(MPI_Win_detach(win, array + PIECE + GAP));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    fp_case("one piece is not attached");
    FP(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    if (MPI_SUCCESS == MPI_Put(sent, 2 * PIECE, MPI_INT, next, there, 1, both, win)) { /* it may come later */
        FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Win_unlock(next, win));
    } else {
        FP(MPI_Win_unlock(next, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_detach(win, array));
    FP(MPI_Type_free(&both));
    FP(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 1);
    fill(data, ROOM, DATA, 3);
    FP(MPI_Win_allocate(SPAN * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    try_all();
    memory = fp_alloc(SPAN * 4);
    FP(MPI_Win_create(memory, SPAN * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    try_all();
    fp_free(memory);
    try_attached();
    return fp_finish();
}
