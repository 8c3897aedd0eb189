/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Elements, operations on them and ways to lay them out in memory, as the random test of windows knows them
 * by itself: which bytes of an element are data, which operation takes it, which elements a datatype names.
 */
#ifndef RMA_RANDOM_TYPES_H
#define RMA_RANDOM_TYPES_H

#include "support/fp_test.h"

/** What a predefined datatype can be combined with. */
enum {
    CAN_COMPARE = 1, /**< MPI_MAX, MPI_MIN */
    CAN_ADD = 2,     /**< MPI_SUM, MPI_PROD */
    CAN_LOGIC = 4,   /**< MPI_LAND, MPI_LOR, MPI_LXOR */
    CAN_BITS = 8,    /**< MPI_BAND, MPI_BOR, MPI_BXOR */
    CAN_LOCATE = 16, /**< MPI_MINLOC, MPI_MAXLOC */
    CAN_SWAP = 32,   /**< MPI_Compare_and_swap */
    CAN_REPLACE = 64 /**< MPI_REPLACE, MPI_NO_OP: all but records */
};

typedef enum { PART_INTEGER, PART_BOOL, PART_FLOAT, PART_DOUBLE, PART_LONG_DOUBLE } part_kind_t;

/** A number in an element. */
typedef struct {
    part_kind_t kind;
    size_t at;   /**< bytes from the element's address */
    size_t size; /**< bytes of data, without what a long double has unused */
} part_t;

/** An element: a predefined datatype, or a record, which only put and get take. */
typedef struct {
    const char *name;
    MPI_Datatype type;
    size_t extent;
    unsigned can;
    int parts;
    part_t part[3];
} element_t;

enum { NO_OP_INDEX, REPLACE_INDEX, SUM_INDEX, OPS = 14 };

/** An operation of an accumulate. */
typedef struct {
    const char *name;
    MPI_Op op;
    unsigned needs; /**< of what an element can */
} op_t;

extern const op_t ops[OPS];

enum { ELEMENTS = 36, MOST_SEGMENTS = 4 };
extern element_t elements[ELEMENTS];

/** One item of a datatype over some element: positions and lengths count elements. */
typedef struct {
    const char *name;
    int count;  /**< elements in an item */
    int extent; /**< from one item to the next */
    int lead;   /**< elements of an item before its address */
    int segments;
    struct {
        int at, length;
    } segment[MOST_SEGMENTS]; /**< in the order of the data */
    enum { BY_NAME, BY_CONTIGUOUS, BY_VECTOR, BY_INDEXED, BY_STRUCT, BY_SUBARRAY, BY_NESTING } made;
} shape_t;

enum { SHAPES = 10, PLAIN = 0 };
extern const shape_t shapes[SHAPES];

/** Makes and frees the record. */
void types_init(void);
void types_fini(void);

/** A new datatype, committed; that of the element itself for PLAIN. */
MPI_Datatype shape_type(const shape_t *shape, const element_t *element);

/** Elements from the first to the last one of ITEMS items. */
int shape_span(const shape_t *shape, int items);

/** Copies the elements of ITEMS items whose first address is AT one behind the other into PACKED, and back.
 */
void shape_gather(const shape_t *shape, const element_t *element, int items, const unsigned char *at,
                  unsigned char *packed);
void shape_scatter(const shape_t *shape, const element_t *element, int items, unsigned char *at,
                   const unsigned char *packed);

/** Fills COUNT elements with small numbers other than 0 that follow from KEY, for which OP's result does not
 * depend on the order. */
void element_fill(const element_t *element, const op_t *op, unsigned char *at, size_t count, uint64_t key);

/** Sets all parts of an element. */
void element_set(const element_t *element, unsigned char *at, long value);

/** An integer element's value. */
long long element_value(const element_t *element, const unsigned char *at);

/** The first of COUNT elements whose data differ, or -1. */
ptrdiff_t element_difference(const element_t *element, const unsigned char *a, const unsigned char *b,
                             size_t count);

/** INOUT = INOUT op IN, by the rules of accumulates. */
void element_combine(const element_t *element, const op_t *op, unsigned char *inout, const unsigned char *in,
                     size_t count);

/** An operation that the element takes, other than MPI_NO_OP unless there is none. */
const op_t *op_choose(fp_random_t *r, const element_t *element);

#endif /* RMA_RANDOM_TYPES_H */
