/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Equal blocks at equal distances, and rows of them, packed and unpacked in parts: every part of some
 * layouts, compared with what a list of the addresses of all bytes says. And the same in a convertor's place,
 * in pieces from any position on.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_blocks.c"
#include "ompi/mca/pml/fastpath/pml_fastpath_entries.c"

enum { ORIGIN = 512, MEMORY = 2 * ORIGIN, MOST = 512, POISON = 0xee };

mca_pml_fastpath_t mca_pml_fastpath = {.use_immediate = true};

/* Only convertors that convert themselves are set to positions by it. */
int32_t opal_convertor_set_position_nocheck(opal_convertor_t *convertor, size_t *position)
{
    (void) convertor;
    (void) position;
    fail_msg("a position of a convertor's own");
    return OPAL_ERROR;
}

/* Only of convertors between machines that differ. */
size_t opal_convertor_compute_remote_size(opal_convertor_t *convertor)
{
    (void) convertor;
    fail_msg("the size on another kind of machine");
    return 0;
}

/* Nothing here has been used often. */
const mca_pml_fastpath_block_list_t *mca_pml_fastpath_block_list(const opal_datatype_t *datatype,
                                                                 unsigned uses)
{
    (void) datatype;
    (void) uses;
    return NULL;
}

void mca_pml_fastpath_block_list_copy(const mca_pml_fastpath_block_list_t *list, char *data, char *packed,
                                      size_t offset, size_t length, bool pack)
{
    (void) list;
    (void) data;
    (void) packed;
    (void) offset;
    (void) length;
    (void) pack;
    fail_msg("data of a list");
}

size_t mca_pml_fastpath_block_list_part(const mca_pml_fastpath_block_list_t *list, size_t offset)
{
    (void) list;
    (void) offset;
    fail_msg("an element of a list");
    return 0;
}

/* Only mca_pml_fastpath_blocks_of() reads them. */
const opal_datatype_t *opal_datatype_basicDatatypes[OPAL_DATATYPE_MAX_PREDEFINED];
#if 5 <= OMPI_MAJOR_VERSION
opal_accelerator_base_component_t opal_accelerator_base_selected_component = {
    .base_version = {.mca_component_name = "null"}};
opal_accelerator_base_module_t opal_accelerator;
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
    {"a subarray of three dimensions",
     {.first = 5, .stride = 4, .block = 2, .blocks = 3, .extent = 36, .loops = 1, .loop = {{2, 16}}},
     2},
    {"of four",
     {.stride = 8, .block = 4, .blocks = 2, .extent = 110, .loops = 2, .loop = {{3, 17}, {2, 55}}},
     2},
    {"of five",
     {.stride = 3, .block = 2, .blocks = 2, .extent = 130, .loops = 3, .loop = {{2, 7}, {3, 15}, {2, 50}}},
     2},
    {"a transposed matrix",
     {.stride = 12, .block = 2, .blocks = 4, .extent = 8, .loops = 1, .loop = {{5, 2}}},
     2},
    {"rows backwards",
     {.first = 60,
      .stride = -4,
      .block = 3,
      .blocks = 2,
      .extent = -70,
      .loops = 2,
      .loop = {{2, -8}, {2, 20}}},
     3},
    {"columns", {.stride = 88, .block = 8, .blocks = 3, .extent = 8, .columns = true}, 11},
    {"columns of 3 bytes, backwards",
     {.first = 500, .stride = -80, .block = 3, .blocks = 4, .extent = -5, .columns = true},
     14},
    {"columns of a loop",
     {.stride = 80,
      .block = 8,
      .blocks = 2,
      .extent = 240,
      .columns = true,
      .loops = 2,
      .loop = {{9, 8}, {1, 160}}},
     2},
    {"a loop of one round",
     {.stride = 4, .block = 2, .blocks = 3, .extent = 30, .loops = 2, .loop = {{1, 12}, {2, 14}}},
     2},
};

/* Where each byte of some rows lies, in order: those within so many loops. */
static size_t list_rows(const mca_pml_fastpath_blocks_t *blocks, unsigned loops, ptrdiff_t at,
                        size_t places[MOST], size_t count)
{
    if (0 < loops) {
        for (size_t i = 0; i < blocks->loop[loops - 1].count; ++i) {
            count = list_rows(blocks, loops - 1, at + (ptrdiff_t) i * blocks->loop[loops - 1].stride, places,
                              count);
        }
        return count;
    }
    for (size_t block = 0; block < blocks->blocks; ++block) {
        for (size_t i = 0; i < blocks->block; ++i) {
            assert_true(MOST > count);
            places[count++] = (size_t) (at + (ptrdiff_t) block * blocks->stride + (ptrdiff_t) i);
        }
    }
    return count;
}

/* Where each byte of the data lies, in order, from ORIGIN. */
static size_t list(const layout_t *layout, size_t places[MOST])
{
    const mca_pml_fastpath_blocks_t *blocks = &layout->blocks;
    size_t count = 0;

    for (size_t element = 0; element < layout->elements; ++element) {
        count = list_rows(blocks, blocks->loops,
                          ORIGIN + blocks->first + (ptrdiff_t) element * blocks->extent, places, count);
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

/* ---- in a convertor's place ---- */

enum { ITEMS = 2 * MCA_PML_FASTPATH_BLOCKS_LOOPS + 3 };

/* What Open MPI says of such data, of bytes. */
static void describe(const layout_t *layout, opal_datatype_t *datatype, dt_elem_desc_t desc[ITEMS])
{
    const mca_pml_fastpath_blocks_t *blocks = &layout->blocks;
    const unsigned loops = blocks->loops;

    memset(datatype, 0, sizeof(*datatype));
    memset(desc, 0, ITEMS * sizeof(*desc));
    datatype->size = blocks->block * blocks->blocks;
    for (unsigned i = 0; i < loops; ++i) {
        desc[loops - 1 - i].loop = (ddt_loop_desc_t){
            .common = {.type = OPAL_DATATYPE_LOOP},
            .items = 2 * i + 2,
            .loops = (uint32_t) blocks->loop[i].count,
            .extent = blocks->loop[i].stride,
        };
        desc[loops + 1 + i].end_loop = (ddt_endloop_desc_t){
            .common = {.type = OPAL_DATATYPE_END_LOOP},
            .items = 2 * i + 2,
            .size = datatype->size,
            .first_elem_disp = blocks->first,
        };
        datatype->size *= blocks->loop[i].count;
    }
    desc[loops].elem = (ddt_elem_desc_t){
        .common = {.flags = OPAL_DATATYPE_FLAG_DATA, .type = OPAL_DATATYPE_UINT1},
        .count = (uint32_t) blocks->blocks,
        .blocklen = blocks->block,
        .extent = blocks->stride,
        .disp = blocks->first,
    };
    datatype->ub = blocks->extent;
    datatype->desc.desc = desc;
    datatype->desc.used = 2 * loops + 1;
}

static void prepare(opal_convertor_t *convertor, const layout_t *layout, const opal_datatype_t *datatype,
                    unsigned char *memory, bool pack)
{
    memset(convertor, 0, sizeof(*convertor));
    convertor->flags = CONVERTOR_HOMOGENEOUS | (pack ? CONVERTOR_SEND : CONVERTOR_RECV);
    convertor->pDesc = datatype;
    convertor->count = layout->elements;
    convertor->pBaseBuf = memory + ORIGIN;
    convertor->local_size = datatype->size * layout->elements;
    mca_pml_fastpath_blocks_convertor(convertor);
    assert_non_null(convertor->fAdvance);
}

/* All of it from an offset on, in three pieces at most, the last of which is longer than what is left. */
static void advance_from(opal_convertor_t *convertor, unsigned char *packed, size_t offset, size_t piece)
{
    const size_t left = convertor->local_size - offset;
    struct iovec iov[] = {{packed + offset, piece}, {packed + offset + piece, piece}};
    struct iovec last = {packed + offset + 2 * piece, MOST};
    uint32_t count = 2, one = 1;
    size_t moved = 0, more = 0;
    int32_t rc;

    mca_pml_fastpath_blocks_seek(convertor, offset);
    rc = convertor->fAdvance(convertor, iov, &count, &moved);
    assert_int_equal(rc, left <= 2 * piece);
    assert_int_equal(moved, left < 2 * piece ? left : 2 * piece);
    assert_int_equal(count, left <= piece ? 1 : 2);
    if (0 == rc) {
        assert_int_equal(convertor->fAdvance(convertor, &last, &one, &more), 1);
        assert_int_equal(last.iov_len, left - moved);
        assert_int_equal(more, last.iov_len);
    }
    assert_int_equal(convertor->bConverted, convertor->local_size);
    assert_true(0 != (CONVERTOR_COMPLETED & convertor->flags));
}

static void check_convertor(const layout_t *layout, const size_t *places, size_t count, size_t offset,
                            size_t piece)
{
    unsigned char memory[MEMORY], wanted[MEMORY], packed[3 * MOST], again[3 * MOST];
    opal_convertor_t convertor;
    opal_datatype_t datatype;
    dt_elem_desc_t desc[ITEMS];

    describe(layout, &datatype, desc);
    fill(memory, sizeof(memory), 7);
    prepare(&convertor, layout, &datatype, memory, true);
    assert_int_equal(convertor.local_size, count);
    advance_from(&convertor, packed, 0, count); /* it is complete, and goes back */
    advance_from(&convertor, packed, offset, piece);
    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(packed[i], memory[places[i]]);
    }
    memset(memory, POISON, sizeof(memory));
    memset(wanted, POISON, sizeof(wanted));
    for (size_t i = offset; i < count; ++i) {
        wanted[places[i]] = again[i] = (unsigned char) (3 * i + 1);
    }
    prepare(&convertor, layout, &datatype, memory, false);
    advance_from(&convertor, again, offset, piece);
    assert_memory_equal(memory, wanted, sizeof(memory));
}

static void test_convertor(void **state)
{
    static opal_datatype_t byte = {.size = 1};

    (void) state;
    opal_datatype_basicDatatypes[OPAL_DATATYPE_UINT1] = &byte;
    for (size_t k = 0; k < sizeof(layouts) / sizeof(layouts[0]); ++k) {
        size_t places[MOST];
        const size_t count = list(&layouts[k], places);

        for (size_t offset = 0; offset < count; ++offset) {
            for (size_t piece = 1; piece <= count - offset; ++piece) {
                check_convertor(&layouts[k], places, count, offset, piece);
            }
        }
    }
}

/* What is packed ends with a predefined element, where there is room for one; what is unpacked ends anywhere.
 */
static void test_units(void **state)
{
    static opal_datatype_t number = {.size = 8};
    const layout_t layout = {.blocks = {.stride = 24, .block = 2, .blocks = 5, .extent = 120}, .elements = 1};
    const struct {
        size_t position, room, packed;
    } cases[] = {{0, 20, 16}, {0, 16, 16}, {0, 7, 7},    {3, 7, 5},
                 {3, 4, 4},   {8, 9, 8},   {70, 20, 10}, {64, 15, 8}};
    unsigned char memory[MEMORY], packed[MOST];
    opal_convertor_t convertor;
    opal_datatype_t datatype;
    dt_elem_desc_t desc[ITEMS];

    (void) state;
    fill(memory, sizeof(memory), 7);
    fill(packed, sizeof(packed), 5);
    opal_datatype_basicDatatypes[OPAL_DATATYPE_UINT1] = &number;
    describe(&layout, &datatype, desc);
    datatype.size *= number.size;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        for (int pack = 0; pack < 2; ++pack) {
            const bool rest = 80 <= cases[i].position + cases[i].room;
            struct iovec iov = {packed, cases[i].room};
            uint32_t count = 1;
            size_t moved = 0;

            prepare(&convertor, &layout, &datatype, memory, 0 != pack);
            mca_pml_fastpath_blocks_seek(&convertor, cases[i].position);
            (void) convertor.fAdvance(&convertor, &iov, &count, &moved);
            assert_int_equal(moved, pack || rest ? cases[i].packed : cases[i].room);
            assert_int_equal(iov.iov_len, moved);
        }
    }
}

static bool is_taken(const opal_datatype_t *datatype, uint32_t flags)
{
    unsigned char memory[MEMORY];
    opal_convertor_t convertor;

    memset(&convertor, 0, sizeof(convertor));
    convertor.flags = CONVERTOR_SEND | flags;
    convertor.pDesc = datatype;
    convertor.pBaseBuf = memory;
    mca_pml_fastpath_blocks_convertor(&convertor);
    return NULL != convertor.fAdvance;
}

/* Data that is not of that kind, or comes from another architecture, it leaves to Open MPI. */
static void test_other_convertors(void **state)
{
    static opal_datatype_t byte = {.size = 1};
    opal_datatype_t datatype;
    dt_elem_desc_t desc[ITEMS], other[ITEMS];

    (void) state;
    opal_datatype_basicDatatypes[OPAL_DATATYPE_UINT1] = &byte;
    for (size_t k = 0; k < sizeof(layouts) / sizeof(layouts[0]); ++k) {
        describe(&layouts[k], &datatype, desc);
        assert_false(is_taken(&datatype, 0));
        assert_true(is_taken(&datatype, CONVERTOR_HOMOGENEOUS));
        ++datatype.size;
        assert_false(is_taken(&datatype, CONVERTOR_HOMOGENEOUS));
        --datatype.size;

        /* an optimized description of another form is passed over, one of this form is taken */
        memcpy(other, desc, sizeof(other));
        datatype.opt_desc.desc = other;
        datatype.opt_desc.used = datatype.desc.used + 1;
        assert_true(is_taken(&datatype, CONVERTOR_HOMOGENEOUS));
        datatype.opt_desc.used = datatype.desc.used;
        datatype.desc.used += 1;
        assert_true(is_taken(&datatype, CONVERTOR_HOMOGENEOUS));
        datatype.opt_desc.used += 1;
        assert_false(is_taken(&datatype, CONVERTOR_HOMOGENEOUS));
        datatype.opt_desc.used = 0;
        assert_false(is_taken(&datatype, CONVERTOR_HOMOGENEOUS));
        datatype.desc.used = 0;
        assert_false(is_taken(&datatype, CONVERTOR_HOMOGENEOUS));
    }
}

/* Descriptions whose sizes or ends of loops are not what they say. */
static void test_other_forms(void **state)
{
    const mca_pml_fastpath_blocks_t blocks = {
        .stride = 4, .block = 2, .blocks = 3, .extent = 60, .loops = 1, .loop = {{2, 16}}};
    const layout_t layout = {.blocks = blocks, .elements = 1};
    mca_pml_fastpath_blocks_t result;
    opal_datatype_t datatype;
    dt_elem_desc_t desc[ITEMS], item;

    (void) state;
    describe(&layout, &datatype, desc);
    assert_true(mca_pml_fastpath_blocks_of(NULL, &datatype, &result));
    assert_int_equal(result.loops, 1);
    item = desc[1];
    desc[3] = desc[2];
    desc[2] = item; /* LOOP, item, item, END_LOOP */
    datatype.desc.used = 4;
    assert_false(mca_pml_fastpath_blocks_of(NULL, &datatype, &result));

    describe(&layout, &datatype, desc);
    memmove(desc + 1, desc, 3 * sizeof(desc[0]));
    desc[0] = item; /* item, LOOP, item, END_LOOP, item */
    desc[4] = item;
    datatype.desc.used = 5;
    assert_false(mca_pml_fastpath_blocks_of(NULL, &datatype, &result));

    describe(&layout, &datatype, desc);
    for (int i = 0; i < ITEMS; ++i) {
        desc[i] = ITEMS / 2 > i ? desc[0] : item;
    }
    datatype.desc.used = ITEMS;
    assert_false(mca_pml_fastpath_blocks_of(NULL, &datatype, &result));
}

/* A loop around single blocks is a row of them. */
static void test_single_blocks(void **state)
{
    const layout_t layout = {
        .blocks = {.block = 2, .blocks = 1, .extent = 60, .loops = 2, .loop = {{3, 8}, {2, 30}}},
        .elements = 1};
    mca_pml_fastpath_blocks_t result;
    opal_datatype_t datatype;
    dt_elem_desc_t desc[ITEMS];

    (void) state;
    describe(&layout, &datatype, desc);
    assert_true(mca_pml_fastpath_blocks_of(NULL, &datatype, &result));
    assert_int_equal(result.blocks, 3);
    assert_int_equal(result.stride, 8);
    assert_int_equal(result.loops, 1);
    assert_int_equal(result.loop[0].count, 2);
    assert_int_equal(result.loop[0].stride, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_convertor),
        cmocka_unit_test(test_units),       cmocka_unit_test(test_other_convertors),
        cmocka_unit_test(test_other_forms), cmocka_unit_test(test_single_blocks)};

    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
