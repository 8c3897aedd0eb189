/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "random_layout.h"

enum { INT = (int) sizeof(int), RECORD = (int) (sizeof(int) + sizeof(double) + 3) };

/* Data of one item in the order sent, as the functions below tell MPI. */
static layout_t layouts[] = {
    {"bytes", BYTES, 1, 1, 0, 1, {{0, 1}}, MPI_DATATYPE_NULL},
    {"packed", BYTES, 1, 1, 0, 1, {{0, 1}}, MPI_DATATYPE_NULL},
    {"every third byte", BYTES, 1, 3, 0, 1, {{0, 1}}, MPI_DATATYPE_NULL},
    {"vector of bytes", BYTES, 6, 12, 0, 2, {{0, 3}, {7, 3}}, MPI_DATATYPE_NULL},
    {"indexed bytes", BYTES, 12, 20, 0, 3, {{14, 5}, {0, 1}, {3, 6}}, MPI_DATATYPE_NULL},
    {"ints", INTS, INT, INT, 0, 1, {{0, INT}}, MPI_DATATYPE_NULL},
    {"vector of ints", INTS, 4 * INT, 6 * INT, 0, 2, {{0, 2 * INT}, {3 * INT, 2 * INT}}, MPI_DATATYPE_NULL},
    {"indexed ints, one before",
     INTS,
     2 * INT,
     4 * INT,
     INT,
     2,
     {{2 * INT, INT}, {-INT, INT}},
     MPI_DATATYPE_NULL},
    {"struct", RECORDS, RECORD, 24, 0, 3, {{0, INT}, {8, 8}, {16, 3}}, MPI_DATATYPE_NULL},
    {"struct backwards", RECORDS, RECORD, 40, 0, 3, {{32, INT}, {16, 8}, {1, 3}}, MPI_DATATYPE_NULL},
    {"struct without gaps",
     RECORDS,
     RECORD,
     RECORD,
     0,
     3,
     {{0, INT}, {INT, 8}, {INT + 8, 3}},
     MPI_DATATYPE_NULL},
};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]), PACKED = 1 };

const layout_t *const layout_of_bytes = &layouts[0];
const layout_t *const layout_packed = &layouts[PACKED];

/* A derived type of the layout's segments, each of elements of TYPES[i]. */
static void make_type(layout_t *layout, const MPI_Datatype types[])
{
    MPI_Datatype gaps;
    MPI_Aint at[4];
    int counts[4];

    for (int i = 0; i < layout->segments; i++) {
        int size;

        FP(MPI_Type_size(types[i], &size));
        at[i] = layout->segment[i].at;
        counts[i] = (int) layout->segment[i].length / size;
    }
    FP(MPI_Type_create_struct(layout->segments, counts, at, types, &gaps));
    FP(MPI_Type_create_resized(gaps, 0, (MPI_Aint) layout->extent, &layout->type));
    FP(MPI_Type_free(&gaps));
    FP(MPI_Type_commit(&layout->type));
}

/* The same by the constructor that programs use for regular blocks. */
static void make_vector(layout_t *layout, MPI_Datatype element)
{
    ptrdiff_t stride = layout->segment[1].at - layout->segment[0].at;
    MPI_Datatype gaps;
    int size;

    FP(MPI_Type_size(element, &size));
    FP(MPI_Type_create_hvector(layout->segments, (int) layout->segment[0].length / size, stride, element,
                               &gaps));
    FP(MPI_Type_create_resized(gaps, 0, (MPI_Aint) layout->extent, &layout->type));
    FP(MPI_Type_free(&gaps));
    FP(MPI_Type_commit(&layout->type));
}

void layouts_init(void)
{
    static const MPI_Datatype bytes[] = {MPI_BYTE, MPI_BYTE, MPI_BYTE}, ints[] = {MPI_INT, MPI_INT};
    static const MPI_Datatype record[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};

    for (int i = 0; i < LAYOUTS; i++) {
        layout_t *layout = &layouts[i];

        if (1 == layout->segments && layout->extent == layout->packed) {
            layout->type = (PACKED == i) ? MPI_PACKED : (INTS == layout->signature) ? MPI_INT : MPI_BYTE;
        } else if (2 == layout->segments && layout->segment[0].at < layout->segment[1].at) {
            make_vector(layout, (INTS == layout->signature) ? MPI_INT : MPI_BYTE);
        } else {
            make_type(layout, (BYTES == layout->signature)  ? bytes
                              : (INTS == layout->signature) ? ints
                                                            : record);
        }
    }
}

void layouts_fini(void)
{
    for (int i = 0; i < LAYOUTS; i++) {
        if (1 != layouts[i].segments || layouts[i].extent != layouts[i].packed) {
            FP(MPI_Type_free(&layouts[i].type));
        }
    }
}

const layout_t *layout_choose(fp_random_t *generator, signature_t signature)
{
    const layout_t *layout;

    if (BYTES == signature && 0 != fp_random(generator) % 3) {
        return layout_of_bytes;
    }
    do {
        layout = &layouts[fp_random(generator) % LAYOUTS];
    } while (layout->signature != signature || layout == layout_packed);
    return layout;
}

size_t layout_round(const layout_t *a, const layout_t *b, size_t length)
{
    size_t unit = a->packed;

    while (0 != unit % b->packed) {
        unit += a->packed;
    }
    return length / unit * unit;
}

int layout_count(const layout_t *layout, size_t length)
{
    return (int) (length / layout->packed);
}

static size_t span(const layout_t *layout, size_t length)
{
    return layout->lead + length / layout->packed * layout->extent;
}

unsigned char *layout_alloc(const layout_t *layout, size_t length)
{
    return fp_alloc(span(layout, length));
}

unsigned char *layout_address(const layout_t *layout, unsigned char *block)
{
    return block + layout->lead;
}

void layout_fill(const layout_t *layout, unsigned char *block, size_t length, uint64_t key)
{
    unsigned char *item = layout_address(layout, block), *bytes;
    size_t done = 0;

    if (layout->extent == layout->packed) {
        fp_fill(block, length, key);
        return;
    }
    bytes = malloc(length + 1);
    fp_fill(bytes, length, key);
    for (; done < length; item += layout->extent) {
        for (int i = 0; i < layout->segments; i++) {
            memcpy(item + layout->segment[i].at, bytes + done, layout->segment[i].length);
            done += layout->segment[i].length;
        }
    }
    free(bytes);
}

bool layout_check(const layout_t *layout, const unsigned char *block, size_t capacity, size_t length,
                  uint64_t key)
{
    unsigned char *want;
    bool good;

    if (layout->extent == layout->packed) {
        return CHECK_DATA(block, length, key) && CHECK_POISON(block + length, capacity - length);
    }
    want = layout_alloc(layout, capacity);
    layout_fill(layout, want, length, key);
    good = CHECK(0 == memcmp(block, want, span(layout, capacity)));
    fp_free(want);
    return good;
}
