/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_convertor.h"
#include "opal/mca/common/fastpath/common_fastpath_copy.h"

#include "fastpath_ompi_compat.h"
#include "pml_fastpath.h"
#include "pml_fastpath_blocks.h"
#include "pml_fastpath_entries.h"
#include "pml_fastpath_kept.h"

/** bytes of a cache line */
#define LINE ((size_t) 64)
/** rows that are copied side by side have as many blocks: lines that a cache need not hold from one row to
 * the next */
#define COLUMN_MIN 48u

/* Whether a description consists of one data element inside nested loops: all loop begins, the element, all
 * loop ends. */
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

/* Every row has one block: use the outer loop as the row. */
static void merge_rows(mca_pml_fastpath_blocks_t *blocks)
{
    blocks->blocks = blocks->loop[0].count;
    blocks->stride = blocks->loop[0].stride;
    --blocks->loops;
    for (unsigned i = 0; i < blocks->loops; ++i) {
        blocks->loop[i] = blocks->loop[i + 1];
    }
}

/* Data that is not in such rows. @param begins  this is a use of the datatype more */
static __opal_attribute_noinline__ bool describe_items(const opal_datatype_t *datatype, bool begins,
                                                       mca_pml_fastpath_blocks_t *blocks)
{
    const dt_type_desc_t *desc = mca_pml_fastpath_description(datatype);
    const bool is_short = MCA_PML_FASTPATH_BLOCKS_ITEMS >= desc->used;
    const unsigned uses = is_short ? MCA_PML_FASTPATH_BLOCKS_USES : MCA_PML_FASTPATH_BLOCKS_USES_CONVERTOR;

    if (0 == datatype->size) {
        return false;
    }
    blocks->item = desc->desc;
    blocks->items = (unsigned) desc->used;
    blocks->extent = datatype->ub - datatype->lb;
    blocks->block = datatype->size;
    blocks->list = MCA_PML_FASTPATH_BLOCKS_LISTED > desc->used
                       ? NULL
                       : mca_pml_fastpath_block_list(datatype, begins ? uses : 0);
    return NULL != blocks->list || (is_short && mca_pml_fastpath_entries_known(datatype));
}

/* Elements each of which is one block, in whatever predefined elements: all of them are one row, that never
 * ends. */
static inline void describe_single(const opal_datatype_t *datatype, mca_pml_fastpath_blocks_t *blocks)
{
    blocks->first = datatype->true_lb;
    blocks->stride = blocks->extent = datatype->ub - datatype->lb;
    blocks->block = datatype->size;
    blocks->blocks = SIZE_MAX;
    blocks->unit = 1; /* Open MPI's own function for such data cuts it anywhere, too */
}

static inline size_t distance(ptrdiff_t bytes)
{
    return (size_t) (0 > bytes ? -bytes : bytes);
}

/* Bytes from one row to the next, of the same loop or element. */
static inline ptrdiff_t row_step(const mca_pml_fastpath_blocks_t *blocks)
{
    return 0 < blocks->loops ? blocks->loop[0].stride : blocks->extent;
}

/* Whether blocks of several rows lie side by side in a cache line, where those of one row do not: columns of
 * a matrix. */
static inline bool rows_are_columns(const mca_pml_fastpath_blocks_t *blocks)
{
    const size_t step = distance(row_step(blocks));

    return COLUMN_MIN <= blocks->blocks && 0 < step && LINE >= 2 * step
           && 2 * LINE <= distance(blocks->stride);
}

static bool describe_blocks(const opal_datatype_t *datatype, bool begins, mca_pml_fastpath_blocks_t *blocks)
{
    const dt_type_desc_t *desc = mca_pml_fastpath_description(datatype);
    const ddt_elem_desc_t *elem;
    size_t rows = 1;

    blocks->loops = 0;
    blocks->items = 0;
    blocks->columns = false;
    if (0 < datatype->size && opal_datatype_is_contiguous_memory_layout(datatype, 1)) {
        describe_single(datatype, blocks);
        return true;
    }
    elem = 1 == desc->used ? &desc->desc[0].elem : nest_of(datatype, blocks, &rows);
    if (NULL == elem || 0 == (OPAL_DATATYPE_FLAG_DATA & elem->common.flags)) {
        return describe_items(datatype, begins, blocks);
    }
    blocks->first = elem->disp;
    blocks->stride = elem->extent;
    blocks->blocks = elem->count;
    blocks->extent = datatype->ub - datatype->lb;
    blocks->unit = mca_pml_fastpath_item_unit(elem);
    blocks->block = elem->blocklen * blocks->unit;
    if (0 == datatype->size || rows * blocks->blocks * blocks->block != datatype->size) {
        return false; /* what the description says of one element has to be all of it */
    }
    if (0 < blocks->loops && 1 == blocks->blocks) {
        merge_rows(blocks);
    }
    blocks->columns = rows_are_columns(blocks);
    return true;
}

bool mca_pml_fastpath_blocks_of(const void *buf, const opal_datatype_t *datatype,
                                mca_pml_fastpath_blocks_t *blocks)
{
    return describe_blocks(datatype, true, blocks) && fastpath_is_host_memory(buf);
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

/* Copy a band of rows, block by block of all of them. */
static inline __opal_attribute_always_inline__ void
copy_band(const mca_pml_fastpath_blocks_t *blocks, char *data, char *packed, size_t rows, bool pack)
{
    const ptrdiff_t step = row_step(blocks);
    const size_t block = blocks->block, row = blocks->blocks * block;

    for (size_t i = 0; i < blocks->blocks; ++i, data += blocks->stride, packed += block) {
        for (size_t j = 0; j < rows; ++j) {
            copy_block(data + (ptrdiff_t) j * step, packed + j * row, block, pack);
        }
    }
}

/* The same of eight rows of 8-byte blocks, as a matrix of doubles has. */
static inline __opal_attribute_always_inline__ void copy_eight(const mca_pml_fastpath_blocks_t *blocks,
                                                               char *data, char *packed, bool pack)
{
    const ptrdiff_t step = row_step(blocks), stride = blocks->stride;
    const size_t row = blocks->blocks * 8;
    char *packed_4 = packed + 4 * row;

    for (size_t i = blocks->blocks; 0 < i; --i, data += stride, packed += 8, packed_4 += 8) {
        char *data_4 = data + 4 * step;

        copy_block(data, packed, 8, pack);
        copy_block(data + step, packed + row, 8, pack);
        copy_block(data + 2 * step, packed + 2 * row, 8, pack);
        copy_block(data + 3 * step, packed + 3 * row, 8, pack);
        copy_block(data_4, packed_4, 8, pack);
        copy_block(data_4 + step, packed_4 + row, 8, pack);
        copy_block(data_4 + 2 * step, packed_4 + 2 * row, 8, pack);
        copy_block(data_4 + 3 * step, packed_4 + 3 * row, 8, pack);
    }
}

/* Copy so many whole rows that are columns, a line of each block's after the other: each is loaded once, and
 * not once for each column. */
static inline __opal_attribute_always_inline__ void
copy_columns(const mca_pml_fastpath_blocks_t *blocks, char *data, char *packed, size_t rows, bool pack)
{
    const ptrdiff_t step = row_step(blocks);
    const size_t band = LINE / distance(step);

    while (0 < rows) {
        const size_t some = band < rows ? band : rows;

        if (8 == blocks->block && 8 == some) {
            copy_eight(blocks, data, packed, pack);
        } else {
            copy_band(blocks, data, packed, some, pack);
        }
        data += (ptrdiff_t) some * step;
        packed += some * blocks->blocks * blocks->block;
        rows -= some;
    }
}

static __opal_attribute_noinline__ void pack_columns(const mca_pml_fastpath_blocks_t *blocks, char *data,
                                                     char *packed, size_t rows)
{
    copy_columns(blocks, data, packed, rows, true);
}

static __opal_attribute_noinline__ void unpack_columns(const mca_pml_fastpath_blocks_t *blocks, char *data,
                                                       char *packed, size_t rows)
{
    copy_columns(blocks, data, packed, rows, false);
}

/* How many whole rows there are in so many bytes, up to the end of the innermost loop around them. */
static inline size_t rows_in(const mca_pml_fastpath_blocks_t *blocks, const row_t *row, size_t length)
{
    const size_t rows = length / (blocks->blocks * blocks->block);

    return 0 < blocks->loops && blocks->loop[0].count - row->round[0] < rows
               ? blocks->loop[0].count - row->round[0]
               : rows;
}

/* Go so many rows on, not beyond the last one of the innermost loop. */
static inline void skip_rows(const mca_pml_fastpath_blocks_t *blocks, row_t *row, size_t rows)
{
    row->at += (ptrdiff_t) rows * row_step(blocks);
    if (0 < blocks->loops) {
        row->round[0] += rows;
    }
}

/* Walk over rows of blocks, from an offset on, as far as it goes. */
static inline __opal_attribute_always_inline__ void walk_rows(const mca_pml_fastpath_blocks_t *blocks,
                                                              char *data, char *packed, size_t offset,
                                                              size_t length, bool pack)
{
    const size_t skipped = OPAL_UNLIKELY(0 < offset) ? offset / blocks->block : 0;
    size_t within = OPAL_UNLIKELY(0 < offset) ? offset % blocks->block : 0;
    size_t first = OPAL_UNLIKELY(0 < offset) ? skipped % blocks->blocks : 0;
    row_t row;

    seek_row(blocks, data, OPAL_UNLIKELY(0 < offset) ? skipped / blocks->blocks : 0, &row);
    for (; 0 < length; next_row(blocks, &row), first = 0) {
        char *block = row.at + (ptrdiff_t) first * blocks->stride;
        size_t whole = blocks->blocks - first;

        if (OPAL_UNLIKELY(blocks->columns) && 0 == first + within) {
            const size_t rows = rows_in(blocks, &row, length);

            if (1 < rows) {
                (pack ? pack_columns : unpack_columns)(blocks, block, packed, rows);
                packed += rows * blocks->blocks * blocks->block;
                length -= rows * blocks->blocks * blocks->block;
                skip_rows(blocks, &row, rows - 1);
                continue;
            }
        }
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

/* Copy an item of one block or two, which are always at equal distances. */
static inline __opal_attribute_always_inline__ void
copy_item(const ddt_elem_desc_t *item, char *data, char *packed, size_t block, size_t blocks, bool pack)
{
    copy_block(data + item->disp, packed, block, pack);
    if (2 == blocks) {
        copy_block(data + item->disp + item->extent, packed + block, block, pack);
    }
}

/* The same for each from one on to the last one that is like it. @return the next entry
 * @param packed  where the first one is packed; receives where they end there */
static inline __opal_attribute_always_inline__ const dt_elem_desc_t *
copy_alike(const dt_elem_desc_t *item, const dt_elem_desc_t *end, char *data, char **packed, size_t block,
           size_t blocks, bool pack)
{
    char *at = *packed;

    do {
        copy_item(&item->elem, data, at, block, blocks, pack);
        at += blocks * block;
        ++item;
    } while (item < end && mca_pml_fastpath_items_alike(item, item - 1));
    *packed = at;
    return item;
}

/* Copy one or more items. The compiler knows the most common lengths. */
static inline __opal_attribute_always_inline__ const dt_elem_desc_t *
copy_items(const dt_elem_desc_t *item, const dt_elem_desc_t *end, char *data, char **packed, bool pack)
{
    const size_t block = mca_pml_fastpath_item_block(&item->elem), blocks = item->elem.count;

    if (2 < blocks) {
        copy_blocks(data + item->elem.disp, item->elem.extent, *packed, block, blocks, pack);
    } else if (8 == block) {
        return 2 == blocks ? copy_alike(item, end, data, packed, 8, 2, pack)
                           : copy_alike(item, end, data, packed, 8, 1, pack);
    } else if (4 == block) {
        return 2 == blocks ? copy_alike(item, end, data, packed, 4, 2, pack)
                           : copy_alike(item, end, data, packed, 4, 1, pack);
    } else {
        copy_item(&item->elem, data, *packed, block, blocks, pack);
    }
    *packed += blocks * block;
    return item + 1;
}

/* Copies all that some entries describe. */
typedef char *(list_fn_t) (const dt_elem_desc_t *entry, const dt_elem_desc_t *end, char *data, char *packed);

/* The same, either way; `self` is the function that does it for what is in a loop. */
static inline __opal_attribute_always_inline__ char *copy_list(const dt_elem_desc_t *entry,
                                                               const dt_elem_desc_t *end, char *data,
                                                               char *packed, bool pack, list_fn_t *self)
{
    while (entry < end) {
        if (mca_pml_fastpath_entry_is_item(entry)) {
            entry = copy_items(entry, end, data, &packed, pack);
            continue;
        }
        for (size_t i = 0; i < entry->loop.loops; ++i) {
            packed =
                self(entry + 1, entry + entry->loop.items, data + (ptrdiff_t) i * entry->loop.extent, packed);
        }
        entry = mca_pml_fastpath_entry_after(entry);
    }
    return packed;
}

static char *pack_list(const dt_elem_desc_t *entry, const dt_elem_desc_t *end, char *data, char *packed)
{
    return copy_list(entry, end, data, packed, true, pack_list);
}

static char *unpack_list(const dt_elem_desc_t *entry, const dt_elem_desc_t *end, char *data, char *packed)
{
    return copy_list(entry, end, data, packed, false, unpack_list);
}

/* Packed data of which some is passed over before some is copied. */
typedef struct {
    char *packed;
    size_t skip;
    size_t length;
} span_t;

/* Whether all of the next so many bytes are copied. */
static inline bool span_has(const span_t *span, size_t size)
{
    return 0 == span->skip && size <= span->length;
}

/* So many have been. */
static inline void span_advance(span_t *span, size_t size)
{
    span->packed += size;
    span->length -= size;
    span->skip = 0;
}

static void copy_list_part(const dt_elem_desc_t *entry, const dt_elem_desc_t *end, char *data, span_t *span,
                           bool pack);

/* Copy a part of an item. */
static void copy_item_part(const ddt_elem_desc_t *item, char *data, span_t *span, bool pack)
{
    const mca_pml_fastpath_blocks_t blocks = {.first = item->disp,
                                              .stride = item->extent,
                                              .block = mca_pml_fastpath_item_block(item),
                                              .blocks = item->count};
    const size_t rest = item->count * blocks.block - span->skip;
    const size_t part = rest < span->length ? rest : span->length;

    walk_rows(&blocks, data, span->packed, span->skip, part, pack);
    span_advance(span, part);
}

/* Copy a part of what some entries describe; one round of a loop, or an element. */
static void copy_round(const dt_elem_desc_t *entry, const dt_elem_desc_t *end, char *data, size_t size,
                       span_t *span, bool pack)
{
    if (OPAL_LIKELY(span_has(span, size))) {
        (void) (pack ? pack_list : unpack_list)(entry, end, data, span->packed);
        span_advance(span, size);
    } else {
        copy_list_part(entry, end, data, span, pack);
    }
}

static void copy_loop_part(const ddt_loop_desc_t *loop, char *data, span_t *span, bool pack)
{
    const dt_elem_desc_t *entry = (const dt_elem_desc_t *) loop;
    const size_t size = mca_pml_fastpath_round_size(loop), first = span->skip / size;

    span->skip %= size;
    for (size_t i = first; i < loop->loops && 0 < span->length; ++i) {
        copy_round(entry + 1, entry + loop->items, data + (ptrdiff_t) i * loop->extent, size, span, pack);
    }
}

static void copy_list_part(const dt_elem_desc_t *entry, const dt_elem_desc_t *end, char *data, span_t *span,
                           bool pack)
{
    for (; entry < end && 0 < span->length; entry = mca_pml_fastpath_entry_after(entry)) {
        const size_t size = mca_pml_fastpath_entry_size(entry);

        if (size <= span->skip) {
            span->skip -= size;
        } else if (!mca_pml_fastpath_entry_is_item(entry)) {
            copy_loop_part(&entry->loop, data, span, pack);
        } else if (span_has(span, size)) {
            char *packed = span->packed;

            (void) copy_items(entry, entry + 1, data, &packed, pack);
            span_advance(span, size);
        } else {
            copy_item_part(&entry->elem, data, span, pack);
        }
    }
}

/* Walk over elements that are items, from an offset on, as far as it goes. */
static __opal_attribute_noinline__ void walk_items(const mca_pml_fastpath_blocks_t *blocks, char *data,
                                                   char *packed, size_t offset, size_t length, bool pack)
{
    span_t span = {.packed = packed, .length = length};

    if (OPAL_UNLIKELY(0 < offset)) {
        data += (ptrdiff_t) (offset / blocks->block) * blocks->extent;
        span.skip = offset % blocks->block;
    }
    for (; 0 < span.length; data += blocks->extent) {
        copy_round(blocks->item, blocks->item + blocks->items, data, blocks->block, &span, pack);
    }
}

/* Walk over the data, from an offset on, as far as it goes. */
static inline __opal_attribute_always_inline__ void walk(const mca_pml_fastpath_blocks_t *blocks, char *data,
                                                         char *packed, size_t offset, size_t length,
                                                         bool pack)
{
    if (OPAL_LIKELY(0 == blocks->items)) {
        walk_rows(blocks, data, packed, offset, length, pack);
    } else if (NULL != blocks->list) {
        mca_pml_fastpath_block_list_copy(blocks->list, data, packed, offset, length, pack);
    } else {
        walk_items(blocks, data, packed, offset, length, pack);
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

/* Bytes of an item's predefined element that lie before an offset within an element of the datatype. */
static size_t items_part(const mca_pml_fastpath_blocks_t *blocks, size_t offset)
{
    const dt_elem_desc_t *entry = blocks->item;

    for (;;) {
        const size_t size = mca_pml_fastpath_entry_size(entry);

        if (size <= offset) {
            offset -= size;
            entry = mca_pml_fastpath_entry_after(entry);
        } else if (mca_pml_fastpath_entry_is_item(entry)) {
            return offset % mca_pml_fastpath_item_unit(&entry->elem);
        } else {
            offset %= mca_pml_fastpath_round_size(&entry->loop);
            ++entry;
        }
    }
}

/* The same of any data that is not rows. */
static size_t element_part(const mca_pml_fastpath_blocks_t *blocks, size_t offset)
{
    return NULL != blocks->list ? mca_pml_fastpath_block_list_part(blocks->list, offset)
                                : items_part(blocks, offset);
}

/* How many bytes of a piece of so many are packed from a position on. */
static size_t packable(const mca_pml_fastpath_blocks_t *blocks, size_t position, size_t length)
{
    const size_t end = position + length;
    const size_t part = 0 == blocks->items ? end % blocks->unit : element_part(blocks, end % blocks->block);

    return part < length ? length - part : length;
}

/* What opal_convertor_pack() and _unpack() do, with data of this kind. @return 1 when that is all of it */
static int32_t advance(opal_convertor_t *convertor, struct iovec *iov, uint32_t *iov_count, size_t *moved,
                       bool pack)
{
    const size_t begin = convertor->bConverted, size = convertor->local_size;
    mca_pml_fastpath_blocks_t blocks;
    uint32_t used = 0;

    (void) describe_blocks(convertor->pDesc, false, &blocks); /* it is: it has been asked before */
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

bool mca_pml_fastpath_blocks_want_all(const opal_convertor_t *convertor)
{
    mca_pml_fastpath_blocks_t blocks;

    return is_driven(convertor) && MCA_PML_FASTPATH_KEPT_LONGEST >= convertor->local_size
           && describe_blocks(convertor->pDesc, false, &blocks) && blocks.columns
           && 2 * blocks.blocks * blocks.block <= convertor->local_size;
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
