/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Ways to lay out a message in memory: datatypes with and without gaps, of which
 * the test knows by itself which bytes go where. Layouts of one signature may
 * stand at the two ends of one message.
 */
#ifndef RANDOM_LAYOUT_H
#define RANDOM_LAYOUT_H

#include "support/fp_test.h"

/** What a message consists of; both ends have to agree on it. */
typedef enum { BYTES, INTS, RECORDS, SIGNATURES } signature_t;

/** One datatype, described twice: for MPI and for the test. */
typedef struct {
    const char *name;
    signature_t signature;
    size_t packed; /**< bytes of data in one item */
    size_t extent; /**< bytes from one item to the next */
    size_t lead;   /**< bytes of the first item before its address */
    int segments;
    struct {
        ptrdiff_t at; /**< from the item's address */
        size_t length;
    } segment[4]; /**< in the order in which they are sent */
    MPI_Datatype type;
} layout_t;

/** Creates and frees the datatypes. */
void layouts_init(void);
void layouts_fini(void);

/** MPI_BYTE, and MPI_PACKED, which may receive any signature. */
extern const layout_t *const layout_of_bytes;
extern const layout_t *const layout_packed;

/** Any layout of a signature. */
const layout_t *layout_choose(fp_random_t *generator, signature_t signature);

/** LENGTH rounded down to what both layouts can hold in whole items. */
size_t layout_round(const layout_t *a, const layout_t *b, size_t length);

/** Items of LENGTH bytes of data. */
int layout_count(const layout_t *layout, size_t length);

/** A poisoned block for LENGTH bytes of data (fp_free frees it), and the address in it that MPI is given. */
unsigned char *layout_alloc(const layout_t *layout, size_t length);
unsigned char *layout_address(const layout_t *layout, unsigned char *block);

/** Lays the first LENGTH bytes of the pattern KEY out in a block. */
void layout_fill(const layout_t *layout, unsigned char *block, size_t length, uint64_t key);

/** Checks that a block for CAPACITY bytes has LENGTH bytes of the pattern, and is untouched elsewhere. */
bool layout_check(const layout_t *layout, const unsigned char *block, size_t capacity, size_t length,
                  uint64_t key);

#endif /* RANDOM_LAYOUT_H */
