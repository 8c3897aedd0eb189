/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stddef.h>

#include "opal/datatype/opal_datatype_internal.h"

#include "opal/mca/common/fastpath/common_fastpath_copy.h"

#include "fastpath_ompi_compat.h"
#include "pml_fastpath_blocks.h"

bool mca_pml_fastpath_blocks_of(const ompi_datatype_t *datatype, mca_pml_fastpath_blocks_t *blocks)
{
    const opal_datatype_t *super = &datatype->super;
    const dt_type_desc_t *desc = 0 < super->opt_desc.used ? &super->opt_desc : &super->desc;
    const ddt_elem_desc_t *elem;

    if (1 != desc->used || 0 == (OPAL_DATATYPE_FLAG_DATA & desc->desc[0].elem.common.flags)
        || fastpath_have_accelerator()) {
        return false;
    }
    elem = &desc->desc[0].elem;
    *blocks = (mca_pml_fastpath_blocks_t){.first = elem->disp,
                                          .stride = elem->extent,
                                          .block = elem->blocklen
                                                   * opal_datatype_basicDatatypes[elem->common.type]->size,
                                          .blocks = elem->count,
                                          .extent = super->ub - super->lb};
    /* what the description says of one element has to be all of it */
    return 0 < super->size && blocks->block * blocks->blocks == super->size;
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
