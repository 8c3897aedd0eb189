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

bool mca_pml_fastpath_blocks_of(const opal_datatype_t *datatype, mca_pml_fastpath_blocks_t *blocks)
{
    const dt_type_desc_t *desc = 0 < datatype->opt_desc.used ? &datatype->opt_desc : &datatype->desc;
    const ddt_elem_desc_t *elem;

    if (1 != desc->used || 0 == (OPAL_DATATYPE_FLAG_DATA & desc->desc[0].elem.common.flags)
        || fastpath_have_accelerator()) {
        return false;
    }
    elem = &desc->desc[0].elem;
    *blocks = (mca_pml_fastpath_blocks_t){.first = elem->disp,
                                          .stride = elem->extent,
                                          .blocks = elem->count,
                                          .extent = datatype->ub - datatype->lb,
                                          .unit = opal_datatype_basicDatatypes[elem->common.type]->size};
    blocks->block = elem->blocklen * blocks->unit;
    /* what the description says of one element has to be all of it */
    return 0 < datatype->size && blocks->block * blocks->blocks == datatype->size;
}

/* Copy whole blocks of one element, from or to contiguous memory; which of both is said by the steps. */
static inline __opal_attribute_always_inline__ void
copy_blocks(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step, size_t block, size_t blocks)
{
    for (; 0 < blocks; --blocks, to += to_step, from += from_step) {
        mca_common_fastpath_copy(to, from, block);
    }
}

/* The same, so that the compiler knows the most common lengths. */
static inline void copy(char *to, ptrdiff_t to_step, const char *from, ptrdiff_t from_step, size_t block,
                        size_t blocks)
{
    if (8 == block) {
        copy_blocks(to, to_step, from, from_step, 8, blocks);
    } else if (4 == block) {
        copy_blocks(to, to_step, from, from_step, 4, blocks);
    } else {
        copy_blocks(to, to_step, from, from_step, block, blocks);
    }
}

/* Copy a part of a block; `within` is where it begins there. */
static inline void copy_part(char *block, char *packed, size_t within, size_t length, bool pack)
{
    memcpy(pack ? packed : block + within, pack ? block + within : packed, length);
}

/* Walk over the data, from an offset on, as far as it goes. */
static inline __opal_attribute_always_inline__ void walk(const mca_pml_fastpath_blocks_t *blocks, char *data,
                                                         char *packed, size_t offset, size_t length,
                                                         bool pack)
{
    const ptrdiff_t step = (ptrdiff_t) blocks->block;
    const size_t skipped = OPAL_UNLIKELY(0 < offset) ? offset / blocks->block : 0;
    size_t within = OPAL_UNLIKELY(0 < offset) ? offset % blocks->block : 0;
    size_t first = OPAL_UNLIKELY(0 < offset) ? skipped % blocks->blocks : 0;

    data += blocks->first;
    if (OPAL_UNLIKELY(0 < offset)) {
        data += (ptrdiff_t) (skipped / blocks->blocks) * blocks->extent;
    }
    for (; 0 < length; data += blocks->extent, first = 0) {
        char *block = data + (ptrdiff_t) first * blocks->stride;
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
        if (pack) {
            copy(packed, step, block, blocks->stride, blocks->block, whole);
        } else {
            copy(block, blocks->stride, packed, step, blocks->block, whole);
        }
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

    (void) mca_pml_fastpath_blocks_of(convertor->pDesc, &blocks); /* it is: it has been asked before */
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
        && mca_pml_fastpath_blocks_of(convertor->pDesc, &blocks)) {
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
