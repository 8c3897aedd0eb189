/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "rma_random_types.h"

const op_t ops[OPS] = {{"NO_OP", MPI_NO_OP, CAN_REPLACE},  {"REPLACE", MPI_REPLACE, CAN_REPLACE},
                       {"SUM", MPI_SUM, CAN_ADD},          {"PROD", MPI_PROD, CAN_ADD},
                       {"MAX", MPI_MAX, CAN_COMPARE},      {"MIN", MPI_MIN, CAN_COMPARE},
                       {"LAND", MPI_LAND, CAN_LOGIC},      {"LOR", MPI_LOR, CAN_LOGIC},
                       {"LXOR", MPI_LXOR, CAN_LOGIC},      {"BAND", MPI_BAND, CAN_BITS},
                       {"BOR", MPI_BOR, CAN_BITS},         {"BXOR", MPI_BXOR, CAN_BITS},
                       {"MAXLOC", MPI_MAXLOC, CAN_LOCATE}, {"MINLOC", MPI_MINLOC, CAN_LOCATE}};

typedef struct {
    float value;
    int index;
} float_int_t;
typedef struct {
    double value;
    int index;
} double_int_t;
typedef struct {
    long value;
    int index;
} long_int_t;
typedef struct {
    short value;
    int index;
} short_int_t;
typedef struct {
    int value, index;
} int_int_t;
typedef struct {
    long double value;
    int index;
} long_double_int_t;
typedef struct {
    int number;
    double real;
    signed char small;
} record_t;

enum {
    LONG_DOUBLE_SIZE = 10, /* of the 80 bits of x86; the rest of 16 bytes is padding */
    COUNTS = CAN_COMPARE | CAN_ADD | CAN_LOGIC | CAN_BITS | CAN_SWAP | CAN_REPLACE,
    REALS = CAN_COMPARE | CAN_ADD | CAN_REPLACE,
    FIELD = CAN_ADD | CAN_REPLACE,
    PLACES = CAN_LOCATE | CAN_REPLACE
};

#define INTEGER(name, c_type)                                                                                \
    {                                                                                                        \
#        name, name, sizeof(c_type), COUNTS, 1,                                                              \
        {                                                                                                    \
            {                                                                                                \
                PART_INTEGER, 0, sizeof(c_type)                                                              \
            }                                                                                                \
        }                                                                                                    \
    }
#define PAIR(name, c_type, kind, size)                                                                       \
    {                                                                                                        \
#        name, name, sizeof(c_type), PLACES, 2,                                                              \
        {                                                                                                    \
            {kind, 0, size},                                                                                 \
            {                                                                                                \
                PART_INTEGER, offsetof(c_type, index), sizeof(int)                                           \
            }                                                                                                \
        }                                                                                                    \
    }
#define COMPLEX(name, kind, c_type)                                                                          \
    {                                                                                                        \
#        name, name, 2 * sizeof(c_type), FIELD, 2,                                                           \
        {                                                                                                    \
            {kind, 0, sizeof(c_type)},                                                                       \
            {                                                                                                \
                kind, sizeof(c_type), sizeof(c_type)                                                         \
            }                                                                                                \
        }                                                                                                    \
    }

element_t elements[ELEMENTS] = {
    INTEGER(MPI_INT, int),
    INTEGER(MPI_LONG, long),
    INTEGER(MPI_SHORT, short),
    INTEGER(MPI_UNSIGNED_SHORT, unsigned short),
    INTEGER(MPI_UNSIGNED, unsigned),
    INTEGER(MPI_UNSIGNED_LONG, unsigned long),
    INTEGER(MPI_LONG_LONG, long long),
    INTEGER(MPI_UNSIGNED_LONG_LONG, unsigned long long),
    INTEGER(MPI_SIGNED_CHAR, signed char),
    INTEGER(MPI_UNSIGNED_CHAR, unsigned char),
    INTEGER(MPI_INT8_T, int8_t),
    INTEGER(MPI_INT16_T, int16_t),
    INTEGER(MPI_INT32_T, int32_t),
    INTEGER(MPI_INT64_T, int64_t),
    INTEGER(MPI_UINT8_T, uint8_t),
    INTEGER(MPI_UINT16_T, uint16_t),
    INTEGER(MPI_UINT32_T, uint32_t),
    INTEGER(MPI_UINT64_T, uint64_t),
    INTEGER(MPI_AINT, MPI_Aint),
    INTEGER(MPI_OFFSET, MPI_Offset),
    INTEGER(MPI_COUNT, MPI_Count),
    {"MPI_BYTE", MPI_BYTE, 1, CAN_BITS | CAN_SWAP | CAN_REPLACE, 1, {{PART_INTEGER, 0, 1}}},
    {"MPI_C_BOOL", MPI_C_BOOL, 1, CAN_LOGIC | CAN_SWAP | CAN_REPLACE, 1, {{PART_BOOL, 0, 1}}},
    {"MPI_FLOAT", MPI_FLOAT, sizeof(float), REALS, 1, {{PART_FLOAT, 0, sizeof(float)}}},
    {"MPI_DOUBLE", MPI_DOUBLE, sizeof(double), REALS, 1, {{PART_DOUBLE, 0, sizeof(double)}}},
    {"MPI_C_LONG_DOUBLE_COMPLEX",
     MPI_C_LONG_DOUBLE_COMPLEX,
     2 * sizeof(long double),
     FIELD,
     2,
     {{PART_LONG_DOUBLE, 0, LONG_DOUBLE_SIZE}, {PART_LONG_DOUBLE, sizeof(long double), LONG_DOUBLE_SIZE}}},
    {"MPI_LONG_DOUBLE",
     MPI_LONG_DOUBLE,
     sizeof(long double),
     REALS,
     1,
     {{PART_LONG_DOUBLE, 0, LONG_DOUBLE_SIZE}}},
    COMPLEX(MPI_C_FLOAT_COMPLEX, PART_FLOAT, float),
    COMPLEX(MPI_C_DOUBLE_COMPLEX, PART_DOUBLE, double),
    PAIR(MPI_FLOAT_INT, float_int_t, PART_FLOAT, sizeof(float)),
    PAIR(MPI_DOUBLE_INT, double_int_t, PART_DOUBLE, sizeof(double)),
    PAIR(MPI_LONG_INT, long_int_t, PART_INTEGER, sizeof(long)),
    PAIR(MPI_SHORT_INT, short_int_t, PART_INTEGER, sizeof(short)),
    PAIR(MPI_2INT, int_int_t, PART_INTEGER, sizeof(int)),
    PAIR(MPI_LONG_DOUBLE_INT, long_double_int_t, PART_LONG_DOUBLE, LONG_DOUBLE_SIZE),
    {"record",
     MPI_DATATYPE_NULL,
     sizeof(record_t),
     0,
     3,
     {{PART_INTEGER, offsetof(record_t, number), sizeof(int)},
      {PART_DOUBLE, offsetof(record_t, real), sizeof(double)},
      {PART_INTEGER, offsetof(record_t, small), 1}}}};
enum { RECORD = ELEMENTS - 1 };

const shape_t shapes[SHAPES] = {
    {"plain", 1, 1, 0, 1, {{0, 1}}, BY_NAME},
    {"contiguous", 4, 4, 0, 1, {{0, 4}}, BY_CONTIGUOUS},
    {"every third", 1, 3, 0, 1, {{0, 1}}, BY_INDEXED},
    {"vector", 4, 7, 0, 2, {{0, 2}, {4, 2}}, BY_VECTOR},
    {"thin vector", 4, 8, 0, 4, {{0, 1}, {2, 1}, {4, 1}, {6, 1}}, BY_VECTOR},
    {"indexed", 6, 12, 0, 3, {{8, 3}, {0, 1}, {4, 2}}, BY_INDEXED},
    {"indexed, some before", 3, 5, 2, 2, {{1, 2}, {-2, 1}}, BY_INDEXED},
    {"struct", 3, 5, 0, 3, {{4, 1}, {0, 1}, {2, 1}}, BY_STRUCT},
    {"subarray", 2, 6, 0, 1, {{3, 2}}, BY_SUBARRAY},
    {"nested", 12, 20, 0, 4, {{0, 3}, {5, 3}, {10, 3}, {15, 3}}, BY_NESTING},
};

void types_init(void)
{
    const int counts[] = {1, 1, 1};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_SIGNED_CHAR};
    const MPI_Aint at[] = {offsetof(record_t, number), offsetof(record_t, real), offsetof(record_t, small)};
    MPI_Datatype gaps;

    FP(MPI_Type_create_struct(3, counts, at, types, &gaps));
    FP(MPI_Type_create_resized(gaps, 0, sizeof(record_t), &elements[RECORD].type));
    FP(MPI_Type_free(&gaps));
    FP(MPI_Type_commit(&elements[RECORD].type));
}

void types_fini(void)
{
    FP(MPI_Type_free(&elements[RECORD].type));
}

/* ---------------------------------------------------------------------- shapes */

static MPI_Datatype make_indexed(const shape_t *shape, MPI_Datatype element)
{
    int at[MOST_SEGMENTS], lengths[MOST_SEGMENTS];
    MPI_Datatype made;

    for (int i = 0; i < shape->segments; i++) {
        at[i] = shape->segment[i].at;
        lengths[i] = shape->segment[i].length;
    }
    FP(MPI_Type_indexed(shape->segments, lengths, at, element, &made));
    return made;
}

static MPI_Datatype make_struct(const shape_t *shape, const element_t *element)
{
    MPI_Aint at[MOST_SEGMENTS];
    int lengths[MOST_SEGMENTS];
    MPI_Datatype types[MOST_SEGMENTS], made;

    for (int i = 0; i < shape->segments; i++) {
        at[i] = shape->segment[i].at * (MPI_Aint) element->extent;
        lengths[i] = shape->segment[i].length;
        types[i] = element->type;
    }
    FP(MPI_Type_create_struct(shape->segments, lengths, at, types, &made));
    return made;
}

/* A vector of contiguous pieces. */
static MPI_Datatype make_nested(const shape_t *shape, const element_t *element)
{
    MPI_Aint stride = (shape->segment[1].at - shape->segment[0].at) * (MPI_Aint) element->extent;
    MPI_Datatype piece, made;

    FP(MPI_Type_contiguous(shape->segment[0].length, element->type, &piece));
    FP(MPI_Type_create_hvector(shape->segments, 1, stride, piece, &made));
    FP(MPI_Type_free(&piece));
    return made;
}

static MPI_Datatype make_unsized(const shape_t *shape, const element_t *element)
{
    MPI_Datatype made = MPI_DATATYPE_NULL;

    switch (shape->made) {
    case BY_VECTOR:
        FP(MPI_Type_vector(shape->segments, shape->segment[0].length,
                           shape->segment[1].at - shape->segment[0].at, element->type, &made));
        break;
    case BY_STRUCT:
        made = make_struct(shape, element);
        break;
    case BY_SUBARRAY:
        FP(MPI_Type_create_subarray(1, &shape->extent, &shape->segment[0].length, &shape->segment[0].at,
                                    MPI_ORDER_C, element->type, &made));
        break;
    case BY_NESTING:
        made = make_nested(shape, element);
        break;
    default:
        made = make_indexed(shape, element->type);
        break;
    }
    return made;
}

MPI_Datatype shape_type(const shape_t *shape, const element_t *element)
{
    MPI_Datatype unsized, made = element->type;

    if (BY_NAME == shape->made) {
        return made;
    }
    if (BY_CONTIGUOUS == shape->made) {
        FP(MPI_Type_contiguous(shape->count, element->type, &made));
    } else {
        unsized = make_unsized(shape, element);
        FP(MPI_Type_create_resized(unsized, 0, shape->extent * (MPI_Aint) element->extent, &made));
        FP(MPI_Type_free(&unsized));
    }
    FP(MPI_Type_commit(&made));
    return made;
}

int shape_span(const shape_t *shape, int items)
{
    int end = 0;

    for (int i = 0; i < shape->segments; i++) {
        int after = shape->segment[i].at + shape->segment[i].length;

        end = (end < after) ? after : end;
    }
    return (0 == items) ? 0 : shape->lead + (items - 1) * shape->extent + end;
}

void shape_gather(const shape_t *shape, const element_t *element, int items, const unsigned char *at,
                  unsigned char *packed)
{
    if (shape->count == shape->extent) {
        memcpy(packed, at, (size_t) items * (size_t) shape->extent * element->extent);
        return;
    }
    for (int item = 0; item < items; item++) {
        for (int i = 0; i < shape->segments; i++) {
            size_t length = (size_t) shape->segment[i].length * element->extent;

            memcpy(packed, at + shape->segment[i].at * (ptrdiff_t) element->extent, length);
            packed += length;
        }
        at += (size_t) shape->extent * element->extent;
    }
}

void shape_scatter(const shape_t *shape, const element_t *element, int items, unsigned char *at,
                   const unsigned char *packed)
{
    if (shape->count == shape->extent) {
        memcpy(at, packed, (size_t) items * (size_t) shape->extent * element->extent);
        return;
    }
    for (int item = 0; item < items; item++) {
        for (int i = 0; i < shape->segments; i++) {
            size_t length = (size_t) shape->segment[i].length * element->extent;

            memcpy(at + shape->segment[i].at * (ptrdiff_t) element->extent, packed, length);
            packed += length;
        }
        at += (size_t) shape->extent * element->extent;
    }
}

/* -------------------------------------------------------------------- elements */

static void set_part(const part_t *part, unsigned char *at, long value)
{
    const float single = (float) value;
    const double real = (double) value;
    const long double precise = (long double) value;
    const bool truth = 0 != value;

    switch (part->kind) {
    case PART_BOOL:
        memcpy(at, &truth, sizeof(truth));
        break;
    case PART_FLOAT:
        memcpy(at, &single, sizeof(single));
        break;
    case PART_DOUBLE:
        memcpy(at, &real, sizeof(real));
        break;
    case PART_LONG_DOUBLE:
        memcpy(at, &precise, part->size);
        break;
    default:
        memcpy(at, &value, part->size);
        break;
    }
}

void element_set(const element_t *element, unsigned char *at, long value)
{
    for (int i = 0; i < element->parts; i++) {
        set_part(&element->part[i], at + element->part[i].at, value);
    }
}

long long element_value(const element_t *element, const unsigned char *at)
{
    unsigned long long value = 0;
    const size_t bits = 8 * element->part[0].size;

    memcpy(&value, at, element->part[0].size);
    if (bits < 64 && (value >> (bits - 1))) {
        value |= ~0ULL << bits;
    }
    return (long long) value;
}

void element_fill(const element_t *element, const op_t *op, unsigned char *at, size_t count, uint64_t key)
{
    const bool signs =
        (CAN_ADD == op->needs && SUM_INDEX != op - ops) && PART_INTEGER != element->part[0].kind;
    uint64_t state = key;

    memset(at, 0, count * element->extent);
    for (size_t i = 0; i < count; i++) {
        unsigned char *one = at + i * element->extent;

        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        for (int p = 0; p < element->parts; p++) {
            long value = 1 + (long) ((state >> (40 + 5 * p)) % 15);

            if (PART_BOOL == element->part[p].kind) {
                value = value % 2;
            } else if (signs) { /* of a product, which must neither grow nor be rounded */
                value = (0 == p) ? ((value % 2) ? 1 : -1) : 0;
            }
            set_part(&element->part[p], one + element->part[p].at, value);
        }
    }
}

static bool same(const element_t *element, const unsigned char *a, const unsigned char *b)
{
    for (int i = 0; i < element->parts; i++) {
        const part_t *part = &element->part[i];

        if (0 != memcmp(a + part->at, b + part->at, part->size)) {
            return false;
        }
    }
    return true;
}

ptrdiff_t element_difference(const element_t *element, const unsigned char *a, const unsigned char *b,
                             size_t count)
{
    if (0 == memcmp(a, b, count * element->extent)) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (!same(element, a + i * element->extent, b + i * element->extent)) {
            return (ptrdiff_t) i;
        }
    }
    return -1;
}

void element_combine(const element_t *element, const op_t *op, unsigned char *inout, const unsigned char *in,
                     size_t count)
{
    if (MPI_REPLACE == op->op) {
        memcpy(inout, in, count * element->extent);
    } else if (MPI_NO_OP != op->op) {
        FP(MPI_Reduce_local(in, inout, (int) count, element->type, op->op));
    }
}

const op_t *op_choose(fp_random_t *r, const element_t *element)
{
    const op_t *op;

    if (0 == element->can) {
        return &ops[NO_OP_INDEX];
    }
    do {
        op = &ops[1 + fp_random(r) % (OPS - 1)];
    } while (op->needs != (element->can & op->needs));
    return op;
}
