/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Entries of Open MPI's description of a datatype: items, each of which is equal blocks at equal distances,
 * and loops around entries.
 */
#ifndef MCA_PML_FASTPATH_ENTRIES_H
#define MCA_PML_FASTPATH_ENTRIES_H

#include <stddef.h>
#include <string.h>

#include "opal/datatype/opal_datatype.h"
#include "opal/datatype/opal_datatype_internal.h"

/** Loops within each other. */
#define MCA_PML_FASTPATH_ENTRIES_DEPTH 8

/** @return the description of a datatype that is to be read: the optimized one, where there is one */
static inline const dt_type_desc_t *mca_pml_fastpath_description(const opal_datatype_t *datatype)
{
    return 0 < datatype->opt_desc.used ? &datatype->opt_desc : &datatype->desc;
}

/** @return bytes of a predefined element of an item */
static inline size_t mca_pml_fastpath_item_unit(const ddt_elem_desc_t *item)
{
    return opal_datatype_basicDatatypes[item->common.type]->size;
}

/** @return bytes of a block of an item */
static inline size_t mca_pml_fastpath_item_block(const ddt_elem_desc_t *item)
{
    return item->blocklen * mca_pml_fastpath_item_unit(item);
}

/** @return whether an entry is an item */
static inline bool mca_pml_fastpath_entry_is_item(const dt_elem_desc_t *entry)
{
    return OPAL_LIKELY(0 != (OPAL_DATATYPE_FLAG_DATA & entry->elem.common.flags));
}

/** @return bytes of one round of a loop */
static inline size_t mca_pml_fastpath_round_size(const ddt_loop_desc_t *loop)
{
    return ((const dt_elem_desc_t *) loop)[loop->items].end_loop.size;
}

/** @return bytes of an entry: of an item, or of all rounds of a loop */
static inline size_t mca_pml_fastpath_entry_size(const dt_elem_desc_t *entry)
{
    return mca_pml_fastpath_entry_is_item(entry)
               ? entry->elem.count * mca_pml_fastpath_item_block(&entry->elem)
               : entry->loop.loops * mca_pml_fastpath_round_size(&entry->loop);
}

/** @return the entry after an item or a loop */
static inline const dt_elem_desc_t *mca_pml_fastpath_entry_after(const dt_elem_desc_t *entry)
{
    return mca_pml_fastpath_entry_is_item(entry) ? entry + 1 : entry + entry->loop.items + 1;
}

/** @return whether items are of the same type, and as many of it; only their places differ */
static inline bool mca_pml_fastpath_items_alike(const dt_elem_desc_t *item, const dt_elem_desc_t *other)
{
    return 0 == memcmp(item, other, offsetof(ddt_elem_desc_t, extent));
}

/**
 * Whether the entries of a datatype's description are items that have data, and loops around such entries,
 * whose size is what they say; and all of them are the data of the datatype, which has some. Others are left
 * to the convertor.
 */
bool mca_pml_fastpath_entries_known(const opal_datatype_t *datatype);

#endif /* MCA_PML_FASTPATH_ENTRIES_H */
