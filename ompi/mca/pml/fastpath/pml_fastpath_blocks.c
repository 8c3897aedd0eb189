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

bool mca_pml_fastpath_blocks_of(const ompi_datatype_t *datatype, size_t count,
                                mca_pml_fastpath_blocks_t *blocks)
{
    const opal_datatype_t *super = &datatype->super;
    const dt_type_desc_t *desc = 0 < super->opt_desc.used ? &super->opt_desc : &super->desc;
    const ddt_elem_desc_t *elem;

    if (1 != desc->used || 0 == (OPAL_DATATYPE_FLAG_DATA & desc->desc[0].elem.common.flags)
        || MCA_PML_FASTPATH_BLOCKS_MAX < super->size * count || fastpath_have_accelerator()) {
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

/* Walk over the data, as far as it goes. */
static inline __opal_attribute_always_inline__ void walk(const mca_pml_fastpath_blocks_t *blocks, char *data,
                                                         char *packed, size_t length, bool pack)
{
    const ptrdiff_t step = (ptrdiff_t) blocks->block;

    for (data += blocks->first; 0 < length; data += blocks->extent) {
        const size_t whole =
            length / blocks->block < blocks->blocks ? length / blocks->block : blocks->blocks;
        char *behind = data + (ptrdiff_t) whole * blocks->stride;
        size_t rest;

        if (pack) {
            copy(packed, step, data, blocks->stride, blocks->block, whole);
        } else {
            copy(data, blocks->stride, packed, step, blocks->block, whole);
        }
        packed += whole * blocks->block;
        length -= whole * blocks->block;
        rest = whole < blocks->blocks ? length : 0; /* it ends within a block */
        if (0 < rest) {
            memcpy(pack ? packed : behind, pack ? behind : packed, rest);
            return;
        }
    }
}

void mca_pml_fastpath_blocks_pack(const mca_pml_fastpath_blocks_t *blocks, void *to, const void *buf,
                                  size_t length)
{
    walk(blocks, (char *) (uintptr_t) buf, (char *) to, length, true);
}

void mca_pml_fastpath_blocks_unpack(const mca_pml_fastpath_blocks_t *blocks, void *buf, const void *from,
                                    size_t length)
{
    walk(blocks, (char *) buf, (char *) (uintptr_t) from, length, false);
}
