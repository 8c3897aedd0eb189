/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Equal blocks at equal distances, packed and unpacked in parts: every part of some layouts, compared with
 * what a list of the addresses of all bytes says.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_blocks.c"

enum { ORIGIN = 512, MEMORY = 2 * ORIGIN, MOST = 512, POISON = 0xee };

/* Only mca_pml_fastpath_blocks_of() reads them. */
const opal_datatype_t *opal_datatype_basicDatatypes[OPAL_DATATYPE_MAX_PREDEFINED];
#if 5 <= OMPI_MAJOR_VERSION
opal_accelerator_base_component_t opal_accelerator_base_selected_component;
#endif

/** Some elements of such a layout. */
typedef struct {
    const char *name;
    mca_pml_fastpath_blocks_t blocks;
    size_t elements;
} layout_t;

static const layout_t layouts[] = {
    {"a vector", {.first = 0, .stride = 3, .block = 2, .blocks = 4, .extent = 12}, 3},
    {"blocks of 4", {.first = 0, .stride = 8, .block = 4, .blocks = 4, .extent = 32}, 2},
    {"blocks of 8", {.first = 8, .stride = 16, .block = 8, .blocks = 3, .extent = 48}, 3},
    {"one block each", {.first = 1, .stride = 0, .block = 5, .blocks = 1, .extent = 7}, 6},
    {"bytes", {.first = -3, .stride = 2, .block = 1, .blocks = 7, .extent = 14}, 4},
    {"backwards", {.first = 20, .stride = -5, .block = 3, .blocks = 4, .extent = 24}, 3},
    {"elements backwards", {.first = 0, .stride = 4, .block = 2, .blocks = 3, .extent = -12}, 4},
    {"an element among the next", {.first = 0, .stride = 8, .block = 2, .blocks = 3, .extent = 2}, 4},
    {"long blocks", {.first = 2, .stride = 90, .block = 70, .blocks = 2, .extent = 170}, 2},
};

/* Where each byte of the data lies, in order, from ORIGIN. */
static size_t list(const layout_t *layout, size_t places[MOST])
{
    const mca_pml_fastpath_blocks_t *blocks = &layout->blocks;
    size_t count = 0;

    for (size_t element = 0; element < layout->elements; ++element) {
        for (size_t block = 0; block < blocks->blocks; ++block) {
            for (size_t i = 0; i < blocks->block; ++i) {
                assert_true(MOST > count);
                places[count++] = (size_t) (ORIGIN + blocks->first + (ptrdiff_t) element * blocks->extent
                                            + (ptrdiff_t) block * blocks->stride + (ptrdiff_t) i);
            }
        }
    }
    return count;
}

static void fill(unsigned char *bytes, size_t count, unsigned step)
{
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = (unsigned char) (i * step + i / 251);
    }
}

static void check_pack(const layout_t *layout, const size_t *places, size_t offset, size_t length)
{
    unsigned char memory[MEMORY], packed[MOST + 1], wanted[MOST + 1];

    fill(memory, sizeof(memory), 7);
    memset(packed, POISON, sizeof(packed));
    memset(wanted, POISON, sizeof(wanted));
    for (size_t i = 0; i < length; ++i) {
        wanted[i] = memory[places[offset + i]];
    }
    mca_pml_fastpath_blocks_pack(&layout->blocks, packed, memory + ORIGIN, offset, length);
    if (0 != memcmp(packed, wanted, sizeof(packed))) {
        fail_msg("%s: %zu bytes from %zu on are packed as others", layout->name, length, offset);
    }
}

static void check_unpack(const layout_t *layout, const size_t *places, size_t offset, size_t length)
{
    unsigned char memory[MEMORY], packed[MOST], wanted[MEMORY];

    fill(packed, sizeof(packed), 5);
    memset(memory, POISON, sizeof(memory));
    memset(wanted, POISON, sizeof(wanted));
    for (size_t i = 0; i < length; ++i) {
        wanted[places[offset + i]] = packed[i];
    }
    mca_pml_fastpath_blocks_unpack(&layout->blocks, memory + ORIGIN, packed, offset, length);
    if (0 != memcmp(memory, wanted, sizeof(memory))) {
        fail_msg("%s: %zu bytes from %zu on are unpacked to other places", layout->name, length, offset);
    }
}

static void test_parts(void **state)
{
    (void) state;
    for (size_t k = 0; k < sizeof(layouts) / sizeof(layouts[0]); ++k) {
        size_t places[MOST];
        const size_t count = list(&layouts[k], places);

        for (size_t offset = 0; offset <= count; ++offset) {
            for (size_t length = 0; length <= count - offset; ++length) {
                check_pack(&layouts[k], places, offset, length);
                check_unpack(&layouts[k], places, offset, length);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts)};

    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
