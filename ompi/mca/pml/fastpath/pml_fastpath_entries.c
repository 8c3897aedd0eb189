/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_entries.h"

static bool is_loop(const ddt_loop_desc_t *loop, size_t most, unsigned depth);

/* Whether so many entries are of that kind.
 * @param depth  of loops that there may be within each other
 * @param size   receives how many bytes they are */
static bool is_list(const dt_elem_desc_t *entry, size_t entries, unsigned depth, size_t *size)
{
    const dt_elem_desc_t *const end = entry + entries;

    *size = 0;
    while (entry < end) {
        const dt_elem_desc_t *first = entry;

        if (mca_pml_fastpath_entry_is_item(entry) && 0 < mca_pml_fastpath_entry_size(entry)) {
            do {
                ++entry;
            } while (entry < end && mca_pml_fastpath_items_alike(entry, first));
            *size += (size_t) (entry - first) * mca_pml_fastpath_entry_size(first);
        } else if (!mca_pml_fastpath_entry_is_item(entry) && 0 < depth
                   && is_loop(&entry->loop, (size_t) (end - entry), depth - 1)) {
            *size += mca_pml_fastpath_entry_size(first);
            entry = mca_pml_fastpath_entry_after(first);
        } else {
            return false;
        }
    }
    return true;
}

/* @param most  entries left in the description, this one included */
static bool is_loop(const ddt_loop_desc_t *loop, size_t most, unsigned depth)
{
    const dt_elem_desc_t *entry = (const dt_elem_desc_t *) loop;
    size_t size;

    return OPAL_DATATYPE_LOOP == loop->common.type && 0 < loop->items && most > loop->items
           && OPAL_DATATYPE_END_LOOP == entry[loop->items].elem.common.type
           && is_list(entry + 1, loop->items - 1, depth, &size) && size == mca_pml_fastpath_round_size(loop);
}

bool mca_pml_fastpath_entries_known(const opal_datatype_t *datatype)
{
    const dt_type_desc_t *desc = mca_pml_fastpath_description(datatype);
    size_t size;

    return 0 < datatype->size && is_list(desc->desc, desc->used, MCA_PML_FASTPATH_ENTRIES_DEPTH, &size)
           && size == datatype->size;
}
