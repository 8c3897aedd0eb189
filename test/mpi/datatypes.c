/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Derived datatypes: every pair of type maps with the same signature, gaps that
 * stay untouched, self messages, and receives that get less than they asked.
 *
 * usage: datatypes [long]    with long, elements that a transport's pieces divide */

#include <complex.h>

#include "support/fp_test.h"

enum { TAG = 51, INTS = 1200, LONG_INTS = 75000 };

/* COUNT elements of TYPE hold UNITS ints each, in BYTES of memory whose first
 * byte of the type is at ORIGIN. */
typedef struct {
    const char *name;
    MPI_Datatype type;
    size_t units;
} layout_t;

enum { LAYOUTS = 16 };

/* Bytes of memory for so many ints of any layout. */
static size_t span(size_t ints)
{
    return 128 * (ints > INTS ? ints : INTS);
}

static MPI_Datatype committed(MPI_Datatype type)
{
    FP(MPI_Type_commit(&type));
    return type;
}

static MPI_Datatype resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent)
{
    MPI_Datatype type;

    FP(MPI_Type_create_resized(old, lower, extent, &type));
    FP(MPI_Type_free(&old));
    return type;
}

/* So many blocks at irregular places, of 1 int, or a few of 2. The PML keeps a list of them. */
static MPI_Datatype irregular(int blocks, bool mixed)
{
    int places[300], lengths[300];
    MPI_Datatype type;

    for (int i = 0; i < blocks; i++) {
        places[i] = 3 * i + i * i % 7 % 2;
        lengths[i] = (mixed && 2 > i % 13) ? 2 : 1;
    }
    FP(MPI_Type_indexed(blocks, lengths, places, MPI_INT, &type));
    return committed(type);
}

/* All types consist of 4-byte ints, so that any of them can send to any other. */
static void make_layouts(layout_t *layouts)
{
    static int lengths[] = {1, 3, 2}, places[] = {4, 0, 9}, backwards[] = {0, -3, -8};
    static MPI_Aint bytes[] = {8, 0, 41};
    static MPI_Datatype ints[] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Datatype t, inner;
    int n = 0;

    layouts[n++] = (layout_t){"int", MPI_INT, 1};
    FP(MPI_Type_contiguous(6, MPI_INT, &t));
    layouts[n++] = (layout_t){"contiguous", committed(t), 6};
    FP(MPI_Type_vector(4, 1, 3, MPI_INT, &t));
    layouts[n++] = (layout_t){"vector", committed(t), 4};
    FP(MPI_Type_vector(2, 25, 40, MPI_INT, &t));
    layouts[n++] = (layout_t){"vector of blocks", committed(t), 50};
    FP(MPI_Type_vector(3, 2, 5, MPI_INT, &t));
    layouts[n++] = (layout_t){"vector of pairs", committed(t), 6};
    FP(MPI_Type_create_hvector(3, 1, -20, MPI_INT, &t));
    layouts[n++] = (layout_t){"vector backwards", committed(t), 3};
    FP(MPI_Type_indexed(3, lengths, places, MPI_INT, &t));
    layouts[n++] = (layout_t){"indexed out of order", committed(t), 6};
    FP(MPI_Type_create_struct(3, (int[]){1, 2, 1}, bytes, ints, &t));
    layouts[n++] = (layout_t){"struct with gaps, not aligned", committed(resized(t, 0, 48)), 4};
    FP(MPI_Type_contiguous(3, MPI_INT, &t));
    layouts[n++] = (layout_t){"resized with a gap", committed(resized(t, 0, 20)), 3};
    FP(MPI_Type_indexed(3, lengths, backwards, MPI_INT, &t));
    layouts[n++] = (layout_t){"negative lower bound", committed(t), 6};
    FP(MPI_Type_vector(2, 1, 2, MPI_INT, &inner));
    FP(MPI_Type_create_hvector(3, 1, 28, inner, &t));
    FP(MPI_Type_free(&inner));
    layouts[n++] = (layout_t){"vector of vectors", committed(t), 6};
    FP(MPI_Type_create_subarray(4, (int[]){3, 4, 6, 3}, (int[]){2, 3, 5, 2}, (int[]){1, 0, 1, 1}, MPI_ORDER_C,
                                MPI_INT, &t));
    layouts[n++] = (layout_t){"subarray", committed(t), 60};
    FP(MPI_Type_vector(5, 1, 3, MPI_INT, &t));
    inner = resized(t, 0, 4);
    FP(MPI_Type_contiguous(3, inner, &t));
    FP(MPI_Type_free(&inner));
    layouts[n++] = (layout_t){"matrix transposed", committed(resized(t, 0, 60)), 15};
    FP(MPI_Type_vector(60, 1, 40, MPI_INT, &t)); /* a cache line of a row has something of each column */
    inner = resized(t, 0, 4);
    FP(MPI_Type_contiguous(5, inner, &t));
    FP(MPI_Type_free(&inner));
    layouts[n++] = (layout_t){"columns of a matrix", committed(resized(t, 0, 9600)), 300};
    layouts[n++] = (layout_t){"60 irregular blocks", irregular(60, false), 60};
    layouts[n++] = (layout_t){"260 irregular blocks, 40 of two", irregular(260, true), 300};
    CHECK_INT(n, LAYOUTS);
}

static void free_layouts(layout_t *layouts)
{
    for (int i = 1; i < LAYOUTS; i++) {
        FP(MPI_Type_free(&layouts[i].type));
    }
}

/* Memory for UNITS ints of a layout: in the middle, as bounds may be negative. */
static unsigned char *origin(unsigned char *memory, size_t ints)
{
    return memory + span(ints) / 2;
}

/* Spreads LENGTH packed bytes over a layout, or gathers them, by MPI_Pack and
 * MPI_Unpack; these are tested by comparing whole memories afterwards. */
static void spread(const layout_t *layout, const void *packed, size_t length, unsigned char *memory)
{
    int position = 0;

    FP(MPI_Unpack(packed, (int) length, &position, origin(memory, length / 4),
                  (int) (length / 4 / layout->units), layout->type, MPI_COMM_WORLD));
}

/* One message from layout A to layout B; what is not data keeps its bytes. */
static void transfer(const layout_t *a, const layout_t *b, size_t ints, int from, int to)
{
    size_t length = 4 * ints;
    uint64_t key = fp_key(from, to, TAG, (int) ints);
    unsigned char *packed = fp_alloc_filled(length, key);
    unsigned char *got = fp_alloc(span(ints)), *want = fp_alloc(span(ints));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;

    if (fp_rank == from) {
        unsigned char *out = fp_alloc(span(ints));

        spread(a, packed, length, out);
        FP(MPI_Isend(origin(out, ints), (int) (ints / a->units), a->type, to, TAG, MPI_COMM_WORLD, &request));
        if (fp_rank != to) {
            FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        if (fp_rank == to) {
            FP(MPI_Recv(origin(got, ints), (int) (ints / b->units), b->type, from, TAG, MPI_COMM_WORLD,
                        &status));
            FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        fp_free(out);
    } else if (fp_rank == to) {
        FP(MPI_Recv(origin(got, ints), (int) (ints / b->units), b->type, from, TAG, MPI_COMM_WORLD, &status));
    }
    if (fp_rank == to) {
        int count = -1;

        FP(MPI_Get_count(&status, b->type, &count));
        CHECK_INT(count, ints / b->units);
        spread(b, packed, length, want);
        CHECK(0 == memcmp(got, want, span(ints)));
    }
    fp_free(packed);
    fp_free(got);
    fp_free(want);
}

/* A message shorter than the receive: whole elements and basic ones are told. */
static void partial(const layout_t *layout, size_t ints)
{
    size_t length = 4 * ints;
    uint64_t key = fp_key(0, 1, TAG, (int) ints);
    unsigned char *packed = fp_alloc_filled(length, key);

    if (0 == fp_rank) {
        FP(MPI_Send(packed, (int) ints, MPI_INT, 1, TAG, MPI_COMM_WORLD));
    } else {
        size_t whole = ints / layout->units * layout->units, all = whole + 2 * layout->units;
        unsigned char *got = fp_alloc(span(ints)), *out = fp_alloc(4 * all);
        int count = -1, elements = -1, position = 0;
        MPI_Status status;

        FP(MPI_Recv(origin(got, ints), (int) (ints / layout->units) + 2, layout->type, 0, TAG, MPI_COMM_WORLD,
                    &status));
        FP(MPI_Get_count(&status, layout->type, &count));
        CHECK_INT(count, (ints == whole) ? (int) (ints / layout->units) : MPI_UNDEFINED);
        FP(MPI_Get_elements(&status, layout->type, &elements));
        CHECK_INT(elements, ints);
        FP(MPI_Pack(origin(got, ints), (int) (all / layout->units), layout->type, out, (int) (4 * all),
                    &position, MPI_COMM_WORLD));
        CHECK_DATA(out, length, key);
        fp_free(got);
        fp_free(out);
    }
    fp_free(packed);
}

/* Too long by one element of a type with gaps. */
static void truncated(const layout_t *layout, size_t ints)
{
    MPI_Status status;

    if (0 == fp_rank) {
        unsigned char *packed = fp_alloc_filled(4 * ints, 1);

        FP(MPI_Send(packed, (int) ints, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        fp_free(packed);
        fp_send(&fp_modes[FP_STANDARD], 10, 1, TAG, 0, MPI_COMM_WORLD);
    } else {
        unsigned char *got = fp_alloc(span(ints));

        FP_ERROR(MPI_ERR_TRUNCATE, MPI_Recv(origin(got, ints), (int) (ints / layout->units) - 1, layout->type,
                                            0, TAG, MPI_COMM_WORLD, &status));
        fp_recv(10, 0, TAG, 0, MPI_COMM_WORLD);
        fp_free(got);
    }
}

/* Elements of 32 bytes with gaps between, from contiguous: pieces of the message begin and end
 * within elements. They are compared as numbers, because a long double has bytes that are none of its value.
 */
static void long_elements(size_t count)
{
    const size_t size = sizeof(long double _Complex);

    if (0 == fp_rank) {
        long double _Complex *out = fp_alloc(count * size);

        for (size_t i = 0; i < count; i++) {
            out[i] = (long double) (i + 1) + (long double) (2 * i) * I;
        }
        FP(MPI_Send(out, (int) count, MPI_C_LONG_DOUBLE_COMPLEX, 1, TAG, MPI_COMM_WORLD));
        fp_free(out);
    } else {
        long double _Complex *got = fp_alloc(2 * count * size);
        size_t wrong = 0;
        MPI_Datatype type;

        FP(MPI_Type_vector((int) count, 1, 2, MPI_C_LONG_DOUBLE_COMPLEX, &type));
        type = committed(type);
        for (size_t i = 0; i < 2 * count; i++) {
            got[i] = -1;
        }
        FP(MPI_Recv(got, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (size_t i = 0; i < count; i++) {
            wrong += got[2 * i] != (long double) (i + 1) + (long double) (2 * i) * I || got[2 * i + 1] != -1;
        }
        CHECK(0 == wrong);
        FP(MPI_Type_free(&type));
        fp_free(got);
    }
}

static void all_layouts(void)
{
    /* In ints, divisible by all units: in one eager buffer, in two. */
    static const size_t sizes[] = {300, INTS};
    layout_t layouts[LAYOUTS];

    make_layouts(layouts);
    for (int i = 0; i < LAYOUTS * LAYOUTS && 1 >= fp_rank; i++) {
        const layout_t *a = &layouts[i / LAYOUTS], *b = &layouts[i % LAYOUTS];

        for (int s = 0; s < 2; s++) {
            fp_case("%zu ints from %s to %s", sizes[s], a->name, b->name);
            transfer(a, b, sizes[s], 0, 1);
            transfer(a, b, sizes[s], fp_rank, fp_rank);
        }
    }
    for (int i = 0; i < LAYOUTS && 1 >= fp_rank; i++) { /* in fragments */
        fp_case("%d ints from %s to ints and to %s", LONG_INTS, layouts[i].name,
                layouts[(i + 2) % LAYOUTS].name);
        transfer(&layouts[i], &layouts[0], LONG_INTS, 0, 1);
        transfer(&layouts[0], &layouts[i], LONG_INTS, 1, 0);
        transfer(&layouts[i], &layouts[(i + 2) % LAYOUTS], LONG_INTS, 0, 1);
        transfer(&layouts[i], &layouts[i], LONG_INTS, fp_rank, fp_rank);
    }
    for (int i = 0; i < LAYOUTS && 1 >= fp_rank; i++) {
        for (size_t ints = 1; ints < 2000; ints += (ints < 20) ? 1 : 397) {
            fp_case("%zu ints into more of %s", ints, layouts[i].name);
            partial(&layouts[i], ints);
        }
        for (int s = 0; s < 2; s++) {
            fp_case("%zu ints into less of %s", sizes[s], layouts[i].name);
            truncated(&layouts[i], sizes[s]);
        }
    }
    free_layouts(layouts);
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    if (1 < argc && 0 == strcmp(argv[1], "long")) {
        for (size_t count = 1; count < 200000 && 1 >= fp_rank; count = 3 * count + 1) {
            fp_case("%zu long elements into more room each", count);
            long_elements(count);
        }
    } else {
        all_layouts();
    }
    return fp_finish();
}
