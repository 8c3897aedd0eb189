/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stddef.h>

#include "opal/datatype/opal_datatype_internal.h"

#include "opal/mca/common/fastpath/common_fastpath_convertor.h"
#include "opal/mca/common/fastpath/common_fastpath_copy.h"

#include "fastpath_ompi_compat.h"
#include "pml_fastpath.h"
#include "pml_fastpath_blocks.h"

/* Whether a description is one item of data, with loops around it and nothing else: so many loops begin, then
 * comes the item, then they end. */
static bool is_nest(const dt_type_desc_t *desc)
{
    const uint32_t loops = desc->used / 2;

    if (1 != desc->used % 2 || MCA_PML_FASTPATH_BLOCKS_LOOPS < loops
        || 0 == (OPAL_DATATYPE_FLAG_DATA & desc->desc[loops].elem.common.flags)) {
        return false;
    }
    for (uint32_t i = 0; i < loops; ++i) {
        if (OPAL_DATATYPE_LOOP != desc->desc[i].elem.common.type) {
            return false;
        }
    }
    return true;
}

/* Fills in the loops around a row. @return the row, or NULL where there is more than one
 * @param rows  receives how many an element has */
static __opal_attribute_noinline__ const ddt_elem_desc_t *
nest_of(const opal_datatype_t *datatype, mca_pml_fastpath_blocks_t *blocks, size_t *rows)
{
    /* the optimized description has no loops of a few rounds */
    const dt_type_desc_t *desc = is_nest(&datatype->opt_desc) ? &datatype->opt_desc : &datatype->desc;

    if (!is_nest(desc)) {
        return NULL;
    }
    blocks->loops = desc->used / 2;
    for (unsigned i = 0; i < blocks->loops; ++i) {
        const ddt_loop_desc_t *loop = &desc->desc[blocks->loops - 1 - i].loop;

        blocks->loop[i].count = loop->loops;
        blocks->loop[i].stride = loop->extent;
        *rows *= loop->loops;
    }
    return &desc->desc[blocks->loops].elem;
}

/* Rows of one block each: the loop around them is the row. */
static void merge_rows(mca_pml_fastpath_blocks_t *blocks)
{
    blocks->blocks = blocks->loop[0].count;
    blocks->stride = blocks->loop[0].stride;
    --blocks->loops;
    for (unsigned i = 0; i < blocks->loops; ++i) {
        blocks->loop[i] = blocks->loop[i + 1];
    }
}

static bool describe_blocks(const opal_datatype_t *datatype, mca_pml_fastpath_blocks_t *blocks)
{
    const dt_type_desc_t *desc = 0 < datatype->opt_desc.used ? &datatype->opt_desc : &datatype->desc;
    const ddt_elem_desc_t *elem;
    size_t rows = 1;

    blocks->loops = 0;
    elem = 1 == desc->used ? &desc->desc[0].elem : nest_of(datatype, blocks, &rows);
    if (NULL == elem || 0 == (OPAL_DATATYPE_FLAG_DATA & elem->common.flags)) {
        return false;
    }
    blocks->first = elem->disp;
    blocks->stride = elem->extent;
    blocks->blocks = elem->count;
    blocks->extent = datatype->ub - datatype->lb;
    blocks->unit = opal_datatype_basicDatatypes[elem->common.type]->size;
    blocks->block = elem->blocklen * blocks->unit;
    if (0 == datatype->size || rows * blocks->blocks * blocks->block != datatype->size) {
        return false; /* what the description says of one element has to be all of it */
    }
    if (0 < blocks->loops && 1 == blocks->blocks) {
        merge_rows(blocks);
    }
    return true;
}

bool mca_pml_fastpath_blocks_of(const void *buf, const opal_datatype_t *datatype,
                                mca_pml_fastpath_blocks_t *blocks)
{
    return describe_blocks(datatype, blocks) && fastpath_is_host_memory(buf);
}

static inline __opal_attribute_always_inline__ void copy_block(char *data, char *packed, size_t block,
                                                               bool pack)
{
    mca_common_fastpath_copy(pack ? packed : data, pack ? data : packed, block);
}

/* Copy whole blocks of one row, several in each round: what a loop of single ones takes depends on where the
 * compiler puts it. */
static inline __opal_attribute_always_inline__ void copy_short(char *data, ptrdiff_t stride, char *packed,
                                                               size_t block, size_t blocks, bool pack)
{
    for (; 4 <= blocks; blocks -= 4, data += 4 * stride, packed += 4 * block) {
        copy_block(data, packed, block, pack);
        copy_block(data + stride, packed + block, block, pack);
        copy_block(data + 2 * stride, packed + 2 * block, block, pack);
        copy_block(data + 3 * stride, packed + 3 * block, block, pack);
    }
    for (; 0 < blocks; --blocks, data += stride, packed += block) {
        copy_block(data, packed, block, pack);
    }
}

/* The same for any length; the compiler knows the most common ones. */
static inline __opal_attribute_always_inline__ void copy_blocks(char *data, ptrdiff_t stride, char *packed,
                                                                size_t block, size_t blocks, bool pack)
{
    if (8 == block) {
        copy_short(data, stride, packed, 8, blocks, pack);
    } else if (4 == block) {
        copy_short(data, stride, packed, 4, blocks, pack);
    } else {
        for (; 0 < blocks; --blocks, data += stride, packed += block) {
            copy_block(data, packed, block, pack);
        }
    }
}

/* Copy a part of a block; `within` is where it begins there. */
static inline void copy_part(char *block, char *packed, size_t within, size_t length, bool pack)
{
    memcpy(pack ? packed : block + within, pack ? block + within : packed, length);
}

/* A row of blocks: where it is, and the round of each loop around it. */
typedef struct {
    char *at;
    size_t round[MCA_PML_FASTPATH_BLOCKS_LOOPS];
} row_t;

/* Go to the row of such a number, from the first one of an element on. */
static inline void seek_row(const mca_pml_fastpath_blocks_t *blocks, char *data, size_t number, row_t *row)
{
    row->at = data + blocks->first;
    for (unsigned i = 0; i < blocks->loops; ++i) {
        row->round[i] = number % blocks->loop[i].count;
        row->at += (ptrdiff_t) row->round[i] * blocks->loop[i].stride;
        number /= blocks->loop[i].count;
    }
    row->at += (ptrdiff_t) number * blocks->extent;
}

/* The row after a row, which may be another element's. */
static inline void next_row(const mca_pml_fastpath_blocks_t *blocks, row_t *row)
{
    for (unsigned i = 0; i < blocks->loops; ++i) {
        row->at += blocks->loop[i].stride;
        if (blocks->loop[i].count > ++row->round[i]) {
            return;
        }
        row->at -= (ptrdiff_t) blocks->loop[i].count * blocks->loop[i].stride;
        row->round[i] = 0;
    }
    row->at += blocks->extent;
}

/* Walk over the data, from an offset on, as far as it goes. */
static inline __opal_attribute_always_inline__ void walk(const mca_pml_fastpath_blocks_t *blocks, char *data,
                                                         char *packed, size_t offset, size_t length,
                                                         bool pack)
{
    const size_t skipped = OPAL_UNLIKELY(0 < offset) ? offset / blocks->block : 0;
    size_t within = OPAL_UNLIKELY(0 < offset) ? offset % blocks->block : 0;
    size_t first = OPAL_UNLIKELY(0 < offset) ? skipped % blocks->blocks : 0;
    row_t row;

    seek_row(blocks, data, OPAL_UNLIKELY(0 < offset) ? skipped / blocks->blocks : 0, &row);
    for (; 0 < length; next_row(blocks, &row), first = 0) {
        char *block = row.at + (ptrdiff_t) first * blocks->stride;
        size_t whole = blocks->blocks - first;

        if (OPAL_UNLIKELY(0 < within)) { /* it begins within a block */
            const size_t rest = blocks->block - within < length ? blocks->block - within : length;

            copy_part(block, packed, within, rest, pack);
            packed += rest;
            length -= rest;
            within = 0;
            block += blocks->stride;
            --whole;
        }
        if (length / blocks->block < whole) {
            whole = length / blocks->block;
            copy_part(block + (ptrdiff_t) whole * blocks->stride, packed + whole * blocks->block, 0,
                      length - whole * blocks->block, pack); /* it ends within one */
            length = whole * blocks->block;
        }
        copy_blocks(block, blocks->stride, packed, blocks->block, whole, pack);
        packed += whole * blocks->block;
        length -= whole * blocks->block;
    }
}

void mca_pml_fastpath_blocks_pack(const mca_pml_fastpath_blocks_t *blocks, void *to, const void *buf,
                                  size_t offset, size_t length)
{
    walk(blocks, (char *) (uintptr_t) buf, (char *) to, offset, length, true);
}

void mca_pml_fastpath_blocks_unpack(const mca_pml_fastpath_blocks_t *blocks, void *buf, const void *from,
                                    size_t offset, size_t length)
{
    walk(blocks, (char *) buf, (char *) (uintptr_t) from, offset, length, false);
}

void mca_pml_fastpath_blocks_pack_piece(void *place, void *piece, size_t offset, size_t length)
{
    const mca_pml_fastpath_blocks_place_t *from = place;

    mca_pml_fastpath_blocks_pack(from->blocks, piece, from->buf, offset, length);
}

void mca_pml_fastpath_blocks_unpack_piece(void *place, void *piece, size_t offset, size_t length)
{
    const mca_pml_fastpath_blocks_place_t *to = place;

    mca_pml_fastpath_blocks_unpack(to->blocks, to->buf, piece, offset, length);
}

/* ---- in a convertor's place ---- */

/* How many bytes of a piece of so many are packed from a position on. */
static size_t packable(const mca_pml_fastpath_blocks_t *blocks, size_t position, size_t length)
{
    const size_t part = (position + length) % blocks->unit;

    return part < length ? length - part : length;
}

/* What opal_convertor_pack() and _unpack() do, with data of this kind. @return 1 when that is all of it */
static int32_t advance(opal_convertor_t *convertor, struct iovec *iov, uint32_t *iov_count, size_t *moved,
                       bool pack)
{
    const size_t begin = convertor->bConverted, size = convertor->local_size;
    mca_pml_fastpath_blocks_t blocks;
    uint32_t used = 0;

    (void) describe_blocks(convertor->pDesc, &blocks); /* it is: it has been asked before */
    for (; used < *iov_count && convertor->bConverted < size; ++used) {
        const size_t left = size - convertor->bConverted;

        if (iov[used].iov_len >= left) {
            iov[used].iov_len = left;
        } else if (pack) {
            iov[used].iov_len = packable(&blocks, convertor->bConverted, iov[used].iov_len);
        }
        walk(&blocks, (char *) convertor->pBaseBuf, iov[used].iov_base, convertor->bConverted,
             iov[used].iov_len, pack);
        convertor->bConverted += iov[used].iov_len;
    }
    *iov_count = used;
    *moved = convertor->bConverted - begin;
    if (convertor->bConverted < size) {
        return 0;
    }
    convertor->flags |= CONVERTOR_COMPLETED;
    return 1;
}

static int32_t advance_pack(opal_convertor_t *convertor, struct iovec *iov, uint32_t *iov_count,
                            size_t *packed)
{
    return advance(convertor, iov, iov_count, packed, true);
}

static int32_t advance_unpack(opal_convertor_t *convertor, struct iovec *iov, uint32_t *iov_count,
                              size_t *unpacked)
{
    return advance(convertor, iov, iov_count, unpacked, false);
}

void mca_pml_fastpath_blocks_convertor(opal_convertor_t *convertor)
{
    mca_pml_fastpath_blocks_t blocks;

    if (mca_pml_fastpath.use_immediate && 0 != (CONVERTOR_HOMOGENEOUS & convertor->flags)
        && mca_pml_fastpath_blocks_of(convertor->pBaseBuf, convertor->pDesc, &blocks)) {
        convertor->fAdvance = 0 != (CONVERTOR_SEND & convertor->flags) ? advance_pack : advance_unpack;
    }
}

/* Whether these loops are in its function's place. That of contiguous data has none. */
static bool is_driven(const opal_convertor_t *convertor)
{
    return 0 == (CONVERTOR_NO_OP & convertor->flags)
           && (advance_pack == convertor->fAdvance || advance_unpack == convertor->fAdvance);
}

void mca_pml_fastpath_blocks_seek(opal_convertor_t *convertor, size_t position)
{
    if (!is_driven(convertor)) {
        mca_common_fastpath_convertor_seek(convertor, position);
        return;
    }
    convertor->bConverted = position; /* its stack is not looked at */
    if (position < convertor->local_size) {
        convertor->flags &= ~(uint32_t) CONVERTOR_COMPLETED;
    }
}
