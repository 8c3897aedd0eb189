/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "ompi/attribute/attribute.h"
#include "opal/mca/common/fastpath/common_fastpath_copy.h"

#include "pml_fastpath.h"
#include "pml_fastpath_block_list.h"
#include "pml_fastpath_entries.h"

/** What a datatype says: how often it has been used, this, or where its list is. */
#define UNLISTED UINT64_C(16)
/** Blocks in a list for each entry of the description, at most: the list has 16 bytes for each, and Open MPI
 * keeps two descriptions of at least 32 bytes for each entry. */
#define BLOCKS_PER_ENTRY 4u

static struct {
    opal_mutex_t lock; /* taken last: nothing is called while it is held */
    opal_list_t all;   /* mca_pml_fastpath_block_list_t */
    int keyval;        /* of the attribute whose deletion frees a list; MPI_KEYVAL_INVALID: no list is made */
} lists;

static void free_list(mca_pml_fastpath_block_list_t *list)
{
    OPAL_THREAD_LOCK(&lists.lock);
    opal_list_remove_item(&lists.all, &list->super);
    OPAL_THREAD_UNLOCK(&lists.lock);
    OBJ_DESTRUCT(&list->super);
    free(list);
}

/* A datatype goes, and so does its list. */
static int delete_list(ompi_datatype_t *type, int keyval, void *value, void *extra)
{
    (void) keyval;
    (void) extra;
    type->pml_data = UNLISTED;
    free_list(value);
    return MPI_SUCCESS;
}

void mca_pml_fastpath_block_lists_init(void)
{
    ompi_attribute_fn_ptr_union_t copy, delete = {.attr_datatype_delete_fn = delete_list};

    /* a duplicate gets a list of its own when it is used; 4.1 passes an argument more, which nobody looks at
     */
    copy.attr_datatype_copy_fn =
        (__typeof__(copy.attr_datatype_copy_fn)) (void (*)(void)) MPI_TYPE_NULL_COPY_FN;
    OBJ_CONSTRUCT(&lists.lock, opal_mutex_t);
    OBJ_CONSTRUCT(&lists.all, opal_list_t);
    if (OMPI_SUCCESS != ompi_attr_create_keyval(TYPE_ATTR, copy, delete, &lists.keyval, NULL, 0, NULL)) {
        lists.keyval = MPI_KEYVAL_INVALID;
    }
}

/* The program has not freed these datatypes, or nobody has heard of it. */
void mca_pml_fastpath_block_lists_fini(void)
{
    mca_pml_fastpath_block_list_t *list, *next;

    OPAL_LIST_FOREACH_SAFE(list, next, &lists.all, mca_pml_fastpath_block_list_t)
    {
        if (NULL != list->type) {
            (void) ompi_attr_delete(TYPE_ATTR, list->type, list->type->d_keyhash, lists.keyval, false);
        } else {
            free_list(list);
        }
    }
    if (MPI_KEYVAL_INVALID != lists.keyval) {
        (void) ompi_attr_free_keyval(TYPE_ATTR, &lists.keyval, false);
    }
    OBJ_DESTRUCT(&lists.all);
    OBJ_DESTRUCT(&lists.lock);
}

/* ---- making one ---- */

/* Blocks of some entries, but not many more than `most`. */
static size_t count_blocks(const dt_elem_desc_t *entry, const dt_elem_desc_t *end, size_t most)
{
    size_t count = 0;

    for (; entry < end && most >= count; entry = mca_pml_fastpath_entry_after(entry)) {
        const bool item = mca_pml_fastpath_entry_is_item(entry);
        const size_t rounds = item ? entry->elem.count : entry->loop.loops;
        const size_t each = item ? 1 : count_blocks(entry + 1, entry + entry->loop.items, most);

        if (0 < each && most / each < rounds) {
            return most + 1;
        }
        count += rounds * each;
    }
    return count;
}

/* Append a block, or lengthen the last one. The entry after the last one says where that ends. */
static void append_block(mca_pml_fastpath_block_list_t *list, ptrdiff_t disp, size_t length, size_t unit)
{
    mca_pml_fastpath_listed_t *next = &list->block[list->count];

    if (0 < list->count && unit == next[-1].unit
        && disp == next[-1].disp + (ptrdiff_t) (next->offset - next[-1].offset)) {
        next->offset += length;
        return;
    }
    next->disp = disp;
    next->unit = unit;
    next[1] = (mca_pml_fastpath_listed_t){.offset = next->offset + length};
    ++list->count;
}

/* Append the blocks of some entries, as many as have been counted. @param at  of what the entries are */
static void append_entries(mca_pml_fastpath_block_list_t *list, const dt_elem_desc_t *entry,
                           const dt_elem_desc_t *end, ptrdiff_t at)
{
    for (; entry < end; entry = mca_pml_fastpath_entry_after(entry)) {
        if (mca_pml_fastpath_entry_is_item(entry)) {
            for (size_t i = 0; i < entry->elem.count; ++i) {
                append_block(list, at + entry->elem.disp + (ptrdiff_t) i * entry->elem.extent,
                             mca_pml_fastpath_item_block(&entry->elem),
                             mca_pml_fastpath_item_unit(&entry->elem));
            }
        } else {
            for (size_t i = 0; i < entry->loop.loops; ++i) {
                append_entries(list, entry + 1, entry + entry->loop.items,
                               at + (ptrdiff_t) i * entry->loop.extent);
            }
        }
    }
}

/* The length of all blocks, or 0 */
static size_t equal_length(const mca_pml_fastpath_block_list_t *list)
{
    const size_t length = list->block[1].offset;

    for (size_t i = 1; i < list->count; ++i) {
        if (length != list->block[i + 1].offset - list->block[i].offset) {
            return 0;
        }
    }
    return length;
}

/* @return NULL: there is no memory, or no list of that */
static mca_pml_fastpath_block_list_t *make_list(const opal_datatype_t *datatype)
{
    const dt_type_desc_t *desc = mca_pml_fastpath_description(datatype);
    const size_t most = BLOCKS_PER_ENTRY * (size_t) desc->used;
    mca_pml_fastpath_block_list_t *list;
    size_t count;

    if (!mca_pml_fastpath_entries_known(datatype)) {
        return NULL;
    }
    count = count_blocks(desc->desc, desc->desc + desc->used, most);
    if (most < count) {
        return NULL;
    }
    list = malloc(sizeof(*list) + (count + 1) * sizeof(list->block[0]));
    if (NULL != list) {
        OBJ_CONSTRUCT(&list->super, opal_list_item_t);
        list->count = 0;
        list->extent = datatype->ub - datatype->lb;
        memset(&list->block[0], 0, sizeof(list->block[0]));
        append_entries(list, desc->desc, desc->desc + desc->used, 0);
        list->length = equal_length(list);
    }
    return list;
}

/* Say that a datatype has this list. Another thread may have made one meanwhile. @return what it says now */
static uint64_t keep_list(ompi_datatype_t *type, mca_pml_fastpath_block_list_t *list)
{
    const uint64_t word = NULL == list ? UNLISTED : (uint64_t) (uintptr_t) list;
    uint64_t kept;

    OPAL_THREAD_LOCK(&lists.lock);
    kept = type->pml_data;
    if (UNLISTED > kept) {
        if (NULL != list) {
            list->type = type;
            opal_list_append(&lists.all, &list->super);
        }
        __atomic_store_n(&type->pml_data, word, __ATOMIC_RELEASE);
    }
    OPAL_THREAD_UNLOCK(&lists.lock);
    if (UNLISTED > kept) {
        return word;
    }
    free(list);
    return kept;
}

static __opal_attribute_noinline__ uint64_t add_list(ompi_datatype_t *type)
{
    mca_pml_fastpath_block_list_t *list = MPI_KEYVAL_INVALID == lists.keyval ? NULL : make_list(&type->super);
    const uint64_t word = keep_list(type, list);

    if (NULL != list && (uint64_t) (uintptr_t) list == word
        && OMPI_SUCCESS != ompi_attr_set_c(TYPE_ATTR, type, &type->d_keyhash, lists.keyval, list, false)) {
        list->type = NULL; /* others may use it already: it stays until the end */
    }
    return word;
}

/* One use more, or the list. @return what the datatype says now */
static __opal_attribute_noinline__ uint64_t use(ompi_datatype_t *type, uint64_t word, unsigned uses)
{
    if (uses <= word + 1) {
        return add_list(type);
    }
    return __atomic_compare_exchange_n(&type->pml_data, &word, word + 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_ACQUIRE)
               ? word + 1
               : word;
}

const mca_pml_fastpath_block_list_t *mca_pml_fastpath_block_list(const opal_datatype_t *datatype,
                                                                 unsigned uses)
{
    ompi_datatype_t *type = (ompi_datatype_t *) (uintptr_t) datatype;
    uint64_t word = __atomic_load_n(&type->pml_data, __ATOMIC_ACQUIRE);

    if (OPAL_UNLIKELY(UNLISTED > word) && 0 < uses) {
        word = use(type, word, uses);
    }
    return UNLISTED >= word ? NULL : (const mca_pml_fastpath_block_list_t *) (uintptr_t) word;
}

/* ---- using one ---- */

/* The block that a byte of an element's packed data is in. */
static const mca_pml_fastpath_listed_t *find_block(const mca_pml_fastpath_block_list_t *list, size_t offset)
{
    size_t first = 0, count = list->count;

    while (1 < count) {
        const size_t half = count / 2;

        if (list->block[first + half].offset <= offset) {
            first += half;
            count -= half;
        } else {
            count = half;
        }
    }
    return &list->block[first];
}

static inline __opal_attribute_always_inline__ void copy_listed(char *data, char *packed, size_t length,
                                                                bool pack)
{
    mca_common_fastpath_copy(pack ? packed : data, pack ? data : packed, length);
}

/* Copy whole blocks. @param length  of each, or 0: they differ. @return where they end in packed memory */
static inline __opal_attribute_always_inline__ char *copy_run(const mca_pml_fastpath_listed_t *block,
                                                              const mca_pml_fastpath_listed_t *end,
                                                              char *data, char *packed, size_t length,
                                                              bool pack)
{
    for (; block < end; ++block) {
        const size_t size = 0 < length ? length : block[1].offset - block->offset;

        copy_listed(data + block->disp, packed, size, pack);
        packed += size;
    }
    return packed;
}

/* The same; the compiler knows the most common lengths. */
static inline __opal_attribute_always_inline__ char *copy_whole(const mca_pml_fastpath_block_list_t *list,
                                                                const mca_pml_fastpath_listed_t *block,
                                                                const mca_pml_fastpath_listed_t *end,
                                                                char *data, char *packed, bool pack)
{
    switch (list->length) {
    case 4:
        return copy_run(block, end, data, packed, 4, pack);
    case 8:
        return copy_run(block, end, data, packed, 8, pack);
    case 12:
        return copy_run(block, end, data, packed, 12, pack);
    case 16:
        return copy_run(block, end, data, packed, 16, pack);
    case 24:
        return copy_run(block, end, data, packed, 24, pack);
    default:
        return copy_run(block, end, data, packed, 0, pack);
    }
}

/* Copy what one element has, from an offset on, as far as it goes. */
static inline __opal_attribute_always_inline__ void copy_element(const mca_pml_fastpath_block_list_t *list,
                                                                 char *data, char *packed, size_t offset,
                                                                 size_t length, bool pack)
{
    const mca_pml_fastpath_listed_t *block = 0 == offset ? list->block : find_block(list, offset);
    const size_t end = offset + length;
    const mca_pml_fastpath_listed_t *last =
        list->block[list->count].offset == end ? &list->block[list->count] : find_block(list, end);

    if (block->offset < offset) { /* it begins within a block */
        const size_t rest = block[1].offset - offset, part = rest < length ? rest : length;

        copy_listed(data + block->disp + (offset - block->offset), packed, part, pack);
        if (part == length) {
            return;
        }
        packed += part;
        ++block;
    }
    packed = copy_whole(list, block, last, data, packed, pack);
    copy_listed(data + last->disp, packed, end - last->offset, pack); /* it ends within one */
}

static inline __opal_attribute_always_inline__ void copy_elements(const mca_pml_fastpath_block_list_t *list,
                                                                  char *data, char *packed, size_t offset,
                                                                  size_t length, bool pack)
{
    const size_t size = list->block[list->count].offset;

    data += (ptrdiff_t) (offset / size) * list->extent;
    for (offset %= size; 0 < length; offset = 0, data += list->extent) {
        const size_t part = size - offset < length ? size - offset : length;

        copy_element(list, data, packed, offset, part, pack);
        packed += part;
        length -= part;
    }
}

void mca_pml_fastpath_block_list_copy(const mca_pml_fastpath_block_list_t *list, char *data, char *packed,
                                      size_t offset, size_t length, bool pack)
{
    if (pack) {
        copy_elements(list, data, packed, offset, length, true);
    } else {
        copy_elements(list, data, packed, offset, length, false);
    }
}

size_t mca_pml_fastpath_block_list_part(const mca_pml_fastpath_block_list_t *list, size_t offset)
{
    const mca_pml_fastpath_listed_t *block = find_block(list, offset);

    return (offset - block->offset) % block->unit;
}
