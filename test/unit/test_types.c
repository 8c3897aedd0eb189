/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Datatypes of all kinds, made at random, packed and unpacked in random parts, and in a convertor's place.
 * Where their data lies is listed while they are made: the convertors of some Open MPI releases are
 * themselves wrong for elements of 16 bytes at distances that are no multiple of that, and for lower bounds
 * below 0. For other types the list is compared with what MPI_Pack and MPI_Unpack do.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ompi_config.h"

#include "ompi/datatype/ompi_datatype.h"

#include "ompi/mca/pml/fastpath/pml_fastpath_block_list.c"
#include "ompi/mca/pml/fastpath/pml_fastpath_blocks.c"
#include "ompi/mca/pml/fastpath/pml_fastpath_entries.c"

#include "mpi_fixture.h"

enum { TYPES = 600, MOST_PARTS = 1200, REACH = 1 << 19, GUARD = 64, DEPTH = 3, POISON = 0xee, BLOCKS = 8 };

mca_pml_fastpath_t mca_pml_fastpath = {.use_immediate = true};

static unsigned number;    /* of the type that is made from it */
static uint64_t generator; /* of random numbers */
static bool longer;        /* whether the type may have elements of 16 bytes and more */

/* A number below another one. */
static unsigned any(unsigned limit)
{
    generator = generator * 6364136223846793005u + 1442695040888963407u;
    return (unsigned) (generator >> 33) % limit;
}

/* One from some others to some others. */
static int between(int least, int most)
{
    return least + (int) any((unsigned) (most - least + 1));
}

/* Elements of predefined types, in order: where each is, from the address of the data. */
typedef struct {
    ptrdiff_t at;
    size_t size;
} part_t;

/* A type, and what its data is. */
typedef struct {
    MPI_Datatype type;
    MPI_Aint extent;
    part_t part[MOST_PARTS];
    size_t parts;
    bool fits;    /* all of it has been listed */
    bool trusted; /* no convertor is known to be wrong for it */
} model_t;

static model_t *model_new(void)
{
    model_t *model = calloc(1, sizeof(*model));

    assert_non_null(model);
    model->fits = model->trusted = true;
    return model;
}

static void model_free(model_t *model)
{
    if (MPI_DATATYPE_NULL != model->type) {
        assert_int_equal(MPI_SUCCESS, MPI_Type_free(&model->type));
    }
    free(model);
}

/* There is an element in it. */
static void add_part(model_t *model, ptrdiff_t at, size_t size)
{
    if (MOST_PARTS == model->parts || REACH < at || -REACH > at) {
        model->fits = false;
        return;
    }
    model->part[model->parts++] = (part_t){.at = at, .size = size};
    model->trusted = model->trusted && 16 > size;
}

/* There is a block of some elements of another type in it. */
static void add_block(model_t *model, const model_t *old, ptrdiff_t at, int count)
{
    for (int i = 0; i < count; ++i) {
        for (size_t k = 0; k < old->parts; ++k) {
            add_part(model, at + (ptrdiff_t) i * old->extent + old->part[k].at, old->part[k].size);
        }
    }
    model->trusted = model->trusted && old->trusted;
}

/* It has been made: what Open MPI says of it. */
static void finish_model(model_t *model)
{
    MPI_Aint lower;
    int size;
    size_t sum = 0;

    assert_int_equal(MPI_SUCCESS, MPI_Type_get_extent(model->type, &lower, &model->extent));
    assert_int_equal(MPI_SUCCESS, MPI_Type_size(model->type, &size));
    model->trusted = model->trusted && 0 <= lower;
    for (size_t i = 0; i < model->parts; ++i) {
        sum += model->part[i].size;
    }
    if (model->fits && sum != (size_t) size) {
        fail_msg("type %u has another size than is listed", number);
    }
}

/* A predefined one; pairs have two elements. */
static model_t *make_predefined(void)
{
    static const struct {
        MPI_Datatype type;
        part_t part[2];
    } types[] = {
        {MPI_BYTE, {{0, 1}}},
        {MPI_SHORT, {{0, sizeof(short)}}},
        {MPI_INT, {{0, sizeof(int)}}},
        {MPI_FLOAT, {{0, sizeof(float)}}},
        {MPI_DOUBLE, {{0, sizeof(double)}}},
        {MPI_INT64_T, {{0, sizeof(int64_t)}}},
        {MPI_C_FLOAT_COMPLEX, {{0, 2 * sizeof(float)}}},
        {MPI_DOUBLE_INT, {{0, sizeof(double)}, {sizeof(double), sizeof(int)}}},
        {MPI_SHORT_INT, {{0, sizeof(short)}, {sizeof(int), sizeof(int)}}},
        {MPI_C_DOUBLE_COMPLEX, {{0, 2 * sizeof(double)}}},
        {MPI_LONG_DOUBLE, {{0, sizeof(long double)}}},
        {MPI_C_LONG_DOUBLE_COMPLEX, {{0, 2 * sizeof(long double)}}},
    };
    const size_t k = any(longer ? sizeof(types) / sizeof(types[0]) : 9);
    model_t *model = model_new();

    for (size_t i = 0; i < 2 && 0 < types[k].part[i].size; ++i) {
        add_part(model, types[k].part[i].at, types[k].part[i].size);
    }
    assert_int_equal(MPI_SUCCESS, MPI_Type_dup(types[k].type, &model->type));
    finish_model(model);
    return model;
}

static model_t *make(int depth);

/* Blocks at any places. */
typedef struct {
    int count;
    int length[BLOCKS];
    int place[BLOCKS]; /* in units of an extent */
} blocks_t;

/* Most are apart, in any order, some of no length. */
static blocks_t any_blocks(void)
{
    blocks_t blocks = {.count = between(1, BLOCKS)};
    const int apart = 0 == any(8) ? 1 : 5;
    const int shift = 0 == any(4) ? -between(1, 20) : between(0, 3);

    for (int i = 0; i < blocks.count; ++i) {
        const int other = between(0, i);

        blocks.length[i] = 0 == any(6) ? 0 : between(1, 4);
        blocks.place[i] = blocks.place[other];
        blocks.place[other] = shift + apart * i + (0 == any(3) ? 1 : 0);
    }
    return blocks;
}

static void make_vector(model_t *model, const model_t *old)
{
    const int count = between(1, 6), length = between(0, 4);
    const int stride = 0 == any(5) ? -between(4, 7) : between(length, 7);
    const MPI_Aint bytes = old->extent * stride + (0 == any(3) ? between(0, 9) : 0);
    const bool in_bytes = 0 != any(2);

    for (int i = 0; i < count; ++i) {
        add_block(model, old, i * (in_bytes ? bytes : old->extent * stride), length);
    }
    if (in_bytes) {
        MPI_Type_create_hvector(count, length, bytes, old->type, &model->type);
    } else {
        MPI_Type_vector(count, length, stride, old->type, &model->type);
    }
}

static void make_indexed(model_t *model, const model_t *old)
{
    const blocks_t blocks = any_blocks();
    const int odd = 0 == any(2) ? between(0, 9) : 0, kind = between(0, 2);
    MPI_Aint bytes[BLOCKS];

    for (int i = 0; i < blocks.count; ++i) {
        bytes[i] = old->extent * blocks.place[i] + (1 == kind ? odd * i : 0);
        add_block(model, old, bytes[i], 2 == kind ? blocks.length[0] : blocks.length[i]);
    }
    if (0 == kind) {
        MPI_Type_indexed(blocks.count, blocks.length, blocks.place, old->type, &model->type);
    } else if (1 == kind) {
        MPI_Type_create_hindexed(blocks.count, blocks.length, bytes, old->type, &model->type);
    } else {
        MPI_Type_create_indexed_block(blocks.count, blocks.length[0], blocks.place, old->type, &model->type);
    }
}

static void make_struct(model_t *model, int depth)
{
    const blocks_t blocks = any_blocks();
    const MPI_Aint begin = 0 == any(4) ? -100 : 0, gap = 0 == any(2) ? between(0, 20) : 8 * between(0, 2);
    model_t *old[BLOCKS];
    MPI_Datatype types[BLOCKS];
    MPI_Aint bytes[BLOCKS], distance = 0;

    for (int i = 0; i < blocks.count; ++i) {
        old[i] = make(depth);
        types[i] = old[i]->type;
        distance =
            distance < old[i]->extent * blocks.length[i] ? old[i]->extent * blocks.length[i] : distance;
    }
    for (int i = 0; i < blocks.count; ++i) {
        const int other = between(0, i); /* another order than in memory */

        bytes[i] = bytes[other];
        bytes[other] = begin + i * (distance + gap);
    }
    for (int i = 0; i < blocks.count; ++i) {
        add_block(model, old[i], bytes[i], blocks.length[i]);
    }
    MPI_Type_create_struct(blocks.count, blocks.length, bytes, types, &model->type);
    for (int i = 0; i < blocks.count; ++i) {
        model->fits = model->fits && old[i]->fits;
        model_free(old[i]);
    }
}

/* Of three dimensions, the last of which is contiguous. */
static void make_subarray(model_t *model, const model_t *old)
{
    int sizes[3], some[3], starts[3];

    for (int i = 0; i < 3; ++i) {
        sizes[i] = between(1, 5);
        some[i] = between(1, sizes[i]);
        starts[i] = between(0, sizes[i] - some[i]);
    }
    for (int i = 0; i < some[0]; ++i) {
        for (int k = 0; k < some[1]; ++k) {
            const int place = ((starts[0] + i) * sizes[1] + starts[1] + k) * sizes[2] + starts[2];

            add_block(model, old, old->extent * place, some[2]);
        }
    }
    MPI_Type_create_subarray(3, sizes, some, starts, MPI_ORDER_C, old->type, &model->type);
}

/* The same with other bounds, or the same. */
static void make_resized(model_t *model, const model_t *old)
{
    const bool dup = 0 == any(3);
    MPI_Aint lower, extent;

    add_block(model, old, 0, 1);
    if (dup) {
        MPI_Type_dup(old->type, &model->type);
        return;
    }
    MPI_Type_get_extent(old->type, &lower, &extent);
    lower += 0 == any(3) ? -8 * between(1, 3) : 0;
    MPI_Type_create_resized(old->type, lower, extent + 8 * between(0, 4), &model->type);
}

/* A type that is nested so many times at the most. */
static model_t *make(int depth)
{
    const unsigned kind = any(12);
    model_t *model, *old;

    if (0 == depth || 0 == kind) {
        return make_predefined();
    }
    model = model_new();
    if (4 > kind) {
        make_struct(model, depth - 1);
        finish_model(model);
        return model;
    }
    old = make(depth - 1);
    if (8 > kind) {
        make_indexed(model, old);
    } else if (9 >= kind) {
        make_vector(model, old);
    } else if (10 == kind) {
        make_subarray(model, old);
    } else {
        make_resized(model, old);
    }
    model->fits = model->fits && old->fits;
    finish_model(model);
    model_free(old);
    return model;
}

/* ---- the data of some elements of a type ---- */

typedef struct {
    const model_t *model;
    int elements;
    size_t size;          /* bytes of data */
    ptrdiff_t begin, end; /* of the memory that it is in, from its address on */
    size_t *place;        /* where each byte lies, from `begin` */
    bool *cut;            /* whether an element of a predefined type begins there */
    bool overlaps;
} data_t;

static void list_bytes(data_t *data)
{
    const model_t *model = data->model;
    size_t count = 0;
    bool *taken = calloc((size_t) (data->end - data->begin), sizeof(*taken));

    assert_non_null(taken);
    for (int element = 0; element < data->elements; ++element) {
        for (size_t k = 0; k < model->parts; ++k) {
            for (size_t i = 0; i < model->part[k].size; ++i, ++count) {
                const size_t place = (size_t) (element * (ptrdiff_t) model->extent + model->part[k].at
                                               + (ptrdiff_t) i - data->begin);

                data->place[count] = place;
                data->cut[count] = 0 == i;
                data->overlaps = data->overlaps || taken[place];
                taken[place] = true;
            }
        }
    }
    data->cut[count] = true;
    assert_int_equal(data->size, count);
    free(taken);
}

static data_t data_of(const model_t *model, int elements)
{
    data_t data = {.model = model, .elements = elements};

    for (int element = 0; element < elements; ++element) {
        for (size_t k = 0; k < model->parts; ++k) {
            const ptrdiff_t at = element * (ptrdiff_t) model->extent + model->part[k].at;
            const ptrdiff_t end = at + (ptrdiff_t) model->part[k].size;

            data.begin = at < data.begin ? at : data.begin;
            data.end = end > data.end ? end : data.end;
            data.size += model->part[k].size;
        }
    }
    data.begin -= (data.begin & 15) + GUARD; /* its address is a multiple of 16 */
    data.end += GUARD;
    data.place = malloc((data.size + 1) * sizeof(data.place[0]));
    data.cut = malloc((data.size + 1) * sizeof(data.cut[0]));
    assert_non_null(data.place);
    assert_non_null(data.cut);
    list_bytes(&data);
    return data;
}

static void data_free(data_t *data)
{
    free(data->place);
    free(data->cut);
}

static size_t memory_size(const data_t *data)
{
    return (size_t) (data->end - data->begin);
}

static unsigned char *memory_new(size_t size)
{
    unsigned char *memory = malloc(size + 1);

    assert_non_null(memory);
    memset(memory, POISON, size + 1);
    return memory;
}

static void fill_memory(unsigned char *memory, size_t size)
{
    for (size_t i = 0; i < size; ++i) {
        memory[i] = (unsigned char) (i * 7 + i / 251);
    }
}

/* The packed form of what fill_memory() has left there. */
static unsigned char *packed_new(const data_t *data)
{
    unsigned char *memory = memory_new(memory_size(data)), *packed = memory_new(data->size);

    fill_memory(memory, memory_size(data));
    for (size_t i = 0; i < data->size; ++i) {
        packed[i] = memory[data->place[i]];
    }
    free(memory);
    return packed;
}

/* Memory into which some bytes of it have been unpacked. */
static unsigned char *unpacked_new(const data_t *data, const unsigned char *packed, size_t offset,
                                   size_t length)
{
    unsigned char *memory = memory_new(memory_size(data));

    for (size_t i = offset; i < offset + length; ++i) {
        memory[data->place[i]] = packed[i];
    }
    return memory;
}

static void expect(const void *is, const void *wanted, size_t size, const char *what)
{
    if (0 != memcmp(is, wanted, size)) {
        fail_msg("type %u: %s, and something else comes", number, what);
    }
}

/* ---- what is tried with it ---- */

/* A part of it is packed, and unpacked, between guards, and with nothing behind. */
static void check_part(const data_t *data, const mca_pml_fastpath_blocks_t *blocks,
                       const unsigned char *packed, size_t offset, size_t length)
{
    unsigned char *memory = memory_new(memory_size(data)), *exact = malloc(0 < length ? length : 1);
    unsigned char *wanted = unpacked_new(data, packed, offset, length);
    mca_pml_fastpath_blocks_place_t place = {.blocks = blocks, .buf = memory - data->begin};

    assert_non_null(exact);
    if (!data->overlaps) {
        memcpy(exact, packed + offset, length);
        mca_pml_fastpath_blocks_unpack_piece(&place, exact, offset, length);
        expect(memory, wanted, memory_size(data), "a part is unpacked");
    }
    fill_memory(memory, memory_size(data));
    mca_pml_fastpath_blocks_pack_piece(&place, exact, offset, length);
    expect(exact, packed + offset, length, "a part is packed");
    free(exact);
    free(wanted);
    free(memory);
}

/* All of it is packed, and unpacked, in pieces, which come in their order or the other way round. */
static void check_pieces(const data_t *data, const mca_pml_fastpath_blocks_t *blocks,
                         const unsigned char *packed)
{
    const unsigned most = 1 + any(0 == any(2) ? 40 : (unsigned) data->size + 1);
    const bool backwards = 0 == any(3);
    unsigned char *memory = memory_new(memory_size(data)), *result = memory_new(data->size);
    unsigned char *filled = memory_new(memory_size(data)), *copy = memory_new(data->size);
    unsigned char *wanted = unpacked_new(data, packed, 0, data->size);

    fill_memory(filled, memory_size(data));
    memcpy(copy, packed, data->size);
    for (size_t done = 0, length; done < data->size; done += length) {
        size_t offset;

        length = 1 + any(most);
        length = length < data->size - done ? length : data->size - done;
        offset = backwards ? data->size - done - length : done;
        mca_pml_fastpath_blocks_pack(blocks, result + offset, filled - data->begin, offset, length);
        mca_pml_fastpath_blocks_unpack(blocks, memory - data->begin, copy + offset, offset, length);
    }
    assert_int_equal(result[data->size], POISON);
    expect(result, packed, data->size, "all is packed in pieces");
    if (!data->overlaps) {
        expect(memory, wanted, memory_size(data), "all is unpacked in pieces");
    }
    free(wanted);
    free(copy);
    free(filled);
    free(result);
    free(memory);
}

static void prepare(opal_convertor_t *convertor, const data_t *data, void *address, bool pack)
{
    opal_datatype_t *type = &data->model->type->super;

    OBJ_CONSTRUCT(convertor, opal_convertor_t);
    if (pack) {
        opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, type, (size_t) data->elements,
                                                 address, 0, convertor);
    } else {
        opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, type, (size_t) data->elements,
                                                 address, 0, convertor);
    }
    if (opal_convertor_need_buffers(convertor)) {
        mca_pml_fastpath_blocks_convertor(convertor);
        assert_true(0 == data->size || advance_pack == convertor->fAdvance
                    || advance_unpack == convertor->fAdvance);
    }
}

/* What is packed from a position on, into so much room. Where the predefined elements of the description are
 * those of the type, none of them is split that has room. */
static size_t check_advance(const data_t *data, opal_convertor_t *convertor, const unsigned char *packed,
                            size_t position, size_t room, bool units)
{
    const size_t left = data->size - position;
    unsigned char *exact = malloc(room);
    struct iovec iov = {.iov_base = (IOVBASE_TYPE *) exact, .iov_len = room};
    uint32_t count = 1;
    size_t moved = 0;
    int32_t rc;

    assert_non_null(exact);
    rc = opal_convertor_pack(convertor, &iov, &count, &moved);
    assert_int_equal(moved, iov.iov_len);
    assert_int_equal(rc, moved == left ? 1 : 0);
    assert_true(0 < moved && room >= moved && left >= moved);
    if (units && room < left) {
        const size_t most = position + room;
        size_t cut = most;

        while (cut > position && !data->cut[cut]) {
            --cut;
        }
        if (position + moved != (cut > position ? cut : most)) {
            fail_msg("type %u: %zu bytes are packed from %zu on into %zu", number, moved, position, room);
        }
    }
    expect(exact, packed + position, moved, "a convertor packs");
    free(exact);
    return moved;
}

/* How many predefined elements some entries of a description have. */
static size_t elements_of(const dt_elem_desc_t *entry, const dt_elem_desc_t *end)
{
    size_t count = 0;

    for (; entry < end; entry = mca_pml_fastpath_entry_after(entry)) {
        count += mca_pml_fastpath_entry_is_item(entry)
                     ? entry->elem.count * entry->elem.blocklen
                     : entry->loop.loops * elements_of(entry + 1, entry + entry->loop.items);
    }
    return count;
}

/* Whether the elements of the description are the type's own: if they are not, an element of a type may be
 * split, as it is by Open MPI. */
static bool has_units(const data_t *data, const mca_pml_fastpath_blocks_t *blocks)
{
    return 0 < blocks->items && data->model->parts == elements_of(blocks->item, blocks->item + blocks->items);
}

/* In a convertor's place, from any position on. */
static void check_convertor(const data_t *data, const mca_pml_fastpath_blocks_t *blocks,
                            const unsigned char *packed)
{
    unsigned char *memory = memory_new(memory_size(data)), *copy = memory_new(data->size);
    const size_t begin = any((unsigned) data->size);
    unsigned char *wanted = unpacked_new(data, packed, begin, data->size - begin);
    const bool units = has_units(data, blocks);
    opal_convertor_t convertor;

    memcpy(copy, packed, data->size);
    prepare(&convertor, data, memory - data->begin, false);
    mca_pml_fastpath_blocks_seek(&convertor, begin);
    for (size_t position = begin; !data->overlaps && position < data->size;) {
        const size_t limit = data->size - position, length = 1 + any((unsigned) limit);
        struct iovec iov[] = {{copy + position, length / 2},
                              {copy + position + length / 2, length - length / 2}};
        uint32_t count = 2;
        size_t moved = 0;

        (void) opal_convertor_unpack(&convertor, iov, &count, &moved);
        assert_int_equal(moved, length);
        position += moved;
    }
    OBJ_DESTRUCT(&convertor);
    if (!data->overlaps) {
        expect(memory, wanted, memory_size(data), "a convertor unpacks");
    }
    fill_memory(memory, memory_size(data));
    prepare(&convertor, data, memory - data->begin, true);
    for (int round = 0; round < 3; ++round) {
        size_t position = 0 == round ? 0 : any((unsigned) data->size);

        mca_pml_fastpath_blocks_seek(&convertor, position);
        while (position < data->size) {
            const size_t room = 1 + any(0 == any(3) ? 20 : (unsigned) data->size);

            position += check_advance(data, &convertor, packed, position, room, units);
        }
    }
    OBJ_DESTRUCT(&convertor);
    free(wanted);
    free(copy);
    free(memory);
}

/* That the model is right, where Open MPI is. */
static void check_trusted(const data_t *data, const unsigned char *packed)
{
    unsigned char *memory = memory_new(memory_size(data)), *result = memory_new(data->size);
    unsigned char *wanted = unpacked_new(data, packed, 0, data->size);
    int position = 0;

    if (!data->overlaps) {
        memcpy(result, packed, data->size);
        MPI_Unpack(result, (int) data->size, &position, memory - data->begin, data->elements,
                   data->model->type, MPI_COMM_SELF);
        expect(memory, wanted, memory_size(data), "Open MPI unpacks");
    }
    fill_memory(memory, memory_size(data));
    position = 0;
    MPI_Pack(memory - data->begin, data->elements, data->model->type, result, (int) data->size, &position,
             MPI_COMM_SELF);
    assert_int_equal(position, data->size);
    expect(result, packed, data->size, "Open MPI packs");
    free(wanted);
    free(result);
    free(memory);
}

/* What has been tried, of which kinds. */
static struct {
    unsigned trusted, rows, single, items, loops, units, overlapping, lists;
} tried;

static bool has_loops(const mca_pml_fastpath_blocks_t *blocks)
{
    for (unsigned i = 0; i < blocks->items; ++i) {
        if (!mca_pml_fastpath_entry_is_item(&blocks->item[i])) {
            return true;
        }
    }
    return false;
}

static void count_kind(const data_t *data, const mca_pml_fastpath_blocks_t *blocks)
{
    tried.rows += 0 == blocks->items;
    tried.single += 0 == blocks->items && SIZE_MAX == blocks->blocks && 1 < data->elements;
    tried.items += 0 < blocks->items;
    tried.loops += has_loops(blocks);
    tried.units += has_units(data, blocks);
    tried.overlapping += data->overlaps;
}

static void check_blocks(const data_t *data, const mca_pml_fastpath_blocks_t *blocks,
                         const unsigned char *packed)
{
    for (int i = 0; i < 20; ++i) {
        const size_t offset = any((unsigned) data->size + 1);

        check_part(data, blocks, packed, offset, any((unsigned) (data->size - offset) + 1));
    }
    check_part(data, blocks, packed, 0, data->size);
    check_pieces(data, blocks, packed);
    check_convertor(data, blocks, packed);
}

static void check_model(const model_t *model)
{
    mca_pml_fastpath_blocks_t blocks;
    data_t data = data_of(model, between(1, 4));
    unsigned char *packed = packed_new(&data);

    if (model->trusted) {
        ++tried.trusted;
        check_trusted(&data, packed);
    }
    if (!mca_pml_fastpath_blocks_of(packed, &model->type->super, &blocks)) {
        if (MCA_PML_FASTPATH_BLOCKS_ITEMS >= model->type->super.opt_desc.used) {
            fail_msg("type %u of %zu items is left to the convertor", number,
                     (size_t) model->type->super.opt_desc.used);
        }
        free(packed);
        data_free(&data);
        return;
    }
    count_kind(&data, &blocks);
    check_blocks(&data, &blocks, packed);
    if (0 < blocks.items) {
        blocks.list = mca_pml_fastpath_block_list(&model->type->super, 1);
        if (NULL != blocks.list) {
            ++tried.lists;
            check_blocks(&data, &blocks, packed);
        }
    }
    free(packed);
    data_free(&data);
}

static void test_random_types(void **state)
{
    (void) state;
    memset(&tried, 0, sizeof(tried));
    for (unsigned made = 0; made < TYPES; ++number) {
        model_t *model;

        generator = number;
        longer = 0 == any(2);
        model = make(DEPTH);
        if (model->fits && 0 < model->parts) {
            ++made;
            assert_int_equal(MPI_SUCCESS, MPI_Type_commit(&model->type));
            check_model(model);
        }
        model_free(model);
    }
    print_message(
        "# %u as Open MPI says; %u rows, %u of one block each, %u of items, %u with loops, %u of own "
        "units; %u overlap; %u have a list\n",
        tried.trusted, tried.rows, tried.single, tried.items, tried.loops, tried.units, tried.overlapping,
        tried.lists);
    assert_true(TYPES / 4 < tried.trusted);
    assert_true(TYPES / 4 < tried.items && TYPES / 8 < tried.lists);
    assert_true(TYPES / 10 < tried.rows && TYPES / 10 < tried.loops && TYPES / 10 < tried.units);
    assert_true(TYPES / 50 < tried.single);
    assert_true(TYPES / 2 > tried.overlapping);
}

/* A type of so many blocks at irregular distances. */
static MPI_Datatype irregular(int blocks)
{
    int places[4 * MCA_PML_FASTPATH_BLOCKS_ITEMS];
    MPI_Datatype type;

    for (int i = 0; i < blocks; ++i) {
        places[i] = 3 * i + i * i % 7 % 2;
    }
    assert_int_equal(MPI_SUCCESS, MPI_Type_create_indexed_block(blocks, 1, places, MPI_DOUBLE, &type));
    assert_int_equal(MPI_SUCCESS, MPI_Type_commit(&type));
    return type;
}

/* A type of so many loops within each other. */
static MPI_Datatype nested(int loops)
{
    MPI_Datatype type, inner;
    MPI_Aint distance = 24;

    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    for (int i = 0; i < loops; ++i, distance *= 4) {
        inner = type;
        assert_int_equal(MPI_SUCCESS, MPI_Type_create_hvector(3, 1, distance, inner, &type));
        MPI_Type_free(&inner);
    }
    assert_int_equal(MPI_SUCCESS, MPI_Type_commit(&type));
    return type;
}

/* Is its data taken at the first use, and after some? */
static void check_taken(MPI_Datatype type, bool first, bool later)
{
    mca_pml_fastpath_blocks_t blocks;

    assert_int_equal(first, mca_pml_fastpath_blocks_of(NULL, &type->super, &blocks));
    for (int i = 0; i < MCA_PML_FASTPATH_BLOCKS_USES; ++i) {
        (void) mca_pml_fastpath_blocks_of(NULL, &type->super, &blocks);
    }
    assert_int_equal(later, mca_pml_fastpath_blocks_of(NULL, &type->super, &blocks));
    MPI_Type_free(&type);
}

/* Predefined elements of several types behind each other are one block of each element. */
static void test_single_blocks_of_structs(void **state)
{
    const int lengths[] = {6, 1};
    const MPI_Aint places[] = {0, 48};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
    mca_pml_fastpath_blocks_t blocks;
    MPI_Datatype packed, spaced;

    (void) state;
    MPI_Type_create_struct(2, lengths, places, types, &packed);
    MPI_Type_create_resized(packed, 0, 56, &spaced);
    assert_int_equal(MPI_SUCCESS, MPI_Type_commit(&spaced));
    assert_true(mca_pml_fastpath_blocks_of(NULL, &spaced->super, &blocks));
    assert_int_equal(blocks.items, 0);
    assert_int_equal(blocks.block, 52);
    assert_int_equal(blocks.stride, 56);
    assert_true(SIZE_MAX == blocks.blocks);
    MPI_Type_free(&packed);
    MPI_Type_free(&spaced);
}

/* Whether a type of so many columns of a matrix, in a loop of its own or as elements, is known as one. */
static void check_columns(int rows, int length, int row_bytes, int step, bool loop, bool wanted)
{
    mca_pml_fastpath_blocks_t blocks;
    MPI_Datatype column, type;

    MPI_Type_create_hvector(rows, length, row_bytes, MPI_BYTE, &column);
    if (loop) {
        MPI_Type_create_hvector(5, 1, step, column, &type);
    } else {
        MPI_Type_create_resized(column, 0, step, &type);
    }
    assert_int_equal(MPI_SUCCESS, MPI_Type_commit(&type));
    assert_true(mca_pml_fastpath_blocks_of(NULL, &type->super, &blocks));
    assert_int_equal(blocks.columns, wanted);
    MPI_Type_free(&column);
    MPI_Type_free(&type);
}

static void test_columns(void **state)
{
    (void) state;
    for (int loop = 0; loop < 2; ++loop) {
        check_columns(64, 8, 1024, 8, loop, true);
        check_columns(64, 8, -1024, 8, loop, true);
        check_columns(64, 8, 1024, -8, loop, true);
        check_columns(64, 8, 1024, 32, loop, true);
        check_columns(64, 8, 1024, 64, loop, false); /* no two in a line */
        check_columns(64, 8, 64, 8, loop, false);    /* lines follow each other */
        check_columns(64, 8, 1024, 64 * 1024, loop, false);
        check_columns(16, 8, 1024, 8, loop, false); /* a cache holds them all */
    }
}

/* Types with more loops, and at first those with more items, are left to the convertor. */
static void test_limits(void **state)
{
    (void) state;
    check_taken(irregular(MCA_PML_FASTPATH_BLOCKS_ITEMS / 2), true, true);
    check_taken(irregular(4 * MCA_PML_FASTPATH_BLOCKS_ITEMS), false, true);
    check_taken(nested(MCA_PML_FASTPATH_BLOCKS_LOOPS), true, true);
    check_taken(nested(MCA_PML_FASTPATH_ENTRIES_DEPTH - 1), true, true);
    check_taken(nested(MCA_PML_FASTPATH_ENTRIES_DEPTH + 3), false, false);
}

/* A type gets a list when it has been used several times, and a duplicate one of its own. Both go with their
 * types. */
static void test_lists_come_and_go(void **state)
{
    MPI_Datatype type = irregular(MCA_PML_FASTPATH_BLOCKS_ITEMS / 2), duplicate;
    const mca_pml_fastpath_block_list_t *list;

    (void) state;
    for (unsigned i = 1; i < MCA_PML_FASTPATH_BLOCKS_USES; ++i) {
        assert_null(mca_pml_fastpath_block_list(&type->super, MCA_PML_FASTPATH_BLOCKS_USES));
    }
    list = mca_pml_fastpath_block_list(&type->super, MCA_PML_FASTPATH_BLOCKS_USES);
    assert_non_null(list);
    assert_int_equal(list->count, MCA_PML_FASTPATH_BLOCKS_ITEMS / 2);
    assert_int_equal(list->length, sizeof(double));
    assert_ptr_equal(list, mca_pml_fastpath_block_list(&type->super, 1));
    assert_int_equal(MPI_SUCCESS, MPI_Type_dup(type, &duplicate));
    assert_null(mca_pml_fastpath_block_list(&duplicate->super, 2));
    assert_ptr_not_equal(list, mca_pml_fastpath_block_list(&duplicate->super, 2));
    assert_int_equal(opal_list_get_size(&lists.all), 2);
    MPI_Type_free(&duplicate); /* first: it holds the other one */
    assert_int_equal(opal_list_get_size(&lists.all), 1);
    MPI_Type_free(&type);
    assert_int_equal(opal_list_get_size(&lists.all), 0);
}

/* No list where loops have many rounds: it would take more memory than anything else of the type. */
static void test_lists_are_short(void **state)
{
    MPI_Datatype type, part = irregular(MCA_PML_FASTPATH_BLOCKS_LISTED);

    (void) state;
    MPI_Type_contiguous(100000, part, &type);
    assert_int_equal(MPI_SUCCESS, MPI_Type_commit(&type));
    assert_null(mca_pml_fastpath_block_list(&type->super, 1));
    assert_null(mca_pml_fastpath_block_list(&type->super, 1));
    check_taken(type, true, true);
    MPI_Type_free(&part);
}

/* Types that the program does not free: a list may be there when the PML goes. */
static int end_lists(void **state)
{
    MPI_Datatype type = irregular(MCA_PML_FASTPATH_BLOCKS_ITEMS);

    if (NULL == mca_pml_fastpath_block_list(&type->super, 1)) {
        return -1;
    }
    mca_pml_fastpath_block_lists_fini();
    return UNLISTED == type->pml_data ? end_mpi(state) : -1;
}

static int begin_lists(void **state)
{
    const int rc = begin_mpi(state);

    mca_pml_fastpath_block_lists_init();
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_types),      cmocka_unit_test(test_single_blocks_of_structs),
        cmocka_unit_test(test_columns),           cmocka_unit_test(test_limits),
        cmocka_unit_test(test_lists_come_and_go), cmocka_unit_test(test_lists_are_short)};

    return cmocka_run_group_tests_name("types", tests, begin_lists, end_lists);
}
