/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Data between user buffers, packed bytes and the memory of a window.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_convertor.h"
#include "opal/mca/common/fastpath/common_fastpath_copy.h"

#include "osc_fastpath_atomic.h"

void mca_osc_fastpath_cursor_begin(mca_osc_fastpath_cursor_t *cursor, const void *address, size_t count,
                                   ompi_datatype_t *type, bool unpack)
{
    cursor->bytes = mca_osc_fastpath_packed_size(type, count);
    cursor->position = 0;
    cursor->memory = NULL;
    if (0 == cursor->bytes) {
        return;
    }
    if (mca_osc_fastpath_is_contiguous(type, count)) {
        cursor->memory = (char *) address + type->super.true_lb;
        return;
    }
    OBJ_CONSTRUCT(&cursor->convertor, opal_convertor_t);
    if (unpack) {
        opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count, address, 0,
                                                 &cursor->convertor);
    } else {
        opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count, address, 0,
                                                 &cursor->convertor);
    }
}

void mca_osc_fastpath_cursor_seek(mca_osc_fastpath_cursor_t *cursor, size_t position)
{
    cursor->position = position;
    if (NULL == cursor->memory && 0 != cursor->bytes) {
        mca_common_fastpath_convertor_seek(&cursor->convertor, position);
    }
}

size_t mca_osc_fastpath_cursor_pack(mca_osc_fastpath_cursor_t *cursor, void *packed, size_t length)
{
    struct iovec iov = {.iov_base = packed, .iov_len = length};
    uint32_t count = 1;

    if (length > cursor->bytes - cursor->position) {
        length = cursor->bytes - cursor->position;
    }
    if (0 == length) {
        return 0;
    }
    if (NULL != cursor->memory) {
        mca_common_fastpath_copy(packed, cursor->memory + cursor->position, length);
    } else {
        iov.iov_len = length;
        (void) opal_convertor_pack(&cursor->convertor, &iov, &count, &length);
    }
    cursor->position += length;
    return length;
}

void mca_osc_fastpath_cursor_unpack(mca_osc_fastpath_cursor_t *cursor, const void *packed, size_t length)
{
    struct iovec iov = {.iov_base = (void *) packed, .iov_len = length};
    uint32_t count = 1;

    if (0 == length) {
        return;
    }
    if (NULL != cursor->memory) {
        mca_common_fastpath_copy(cursor->memory + cursor->position, packed, length);
    } else {
        (void) opal_convertor_unpack(&cursor->convertor, &iov, &count, &length);
    }
    cursor->position += length;
}

void mca_osc_fastpath_cursor_end(mca_osc_fastpath_cursor_t *cursor)
{
    if (NULL == cursor->memory && 0 != cursor->bytes) {
        opal_convertor_cleanup(&cursor->convertor);
        OBJ_DESTRUCT(&cursor->convertor);
    }
}

mca_osc_fastpath_pieces_t *mca_osc_fastpath_walk_pieces(mca_osc_fastpath_walk_t *walk, bool write,
                                                        const mca_osc_fastpath_memory_t *memory,
                                                        size_t offset)
{
    mca_osc_fastpath_pieces_t *pieces = &walk->pieces[write];

    if (walk->has_pieces[write] && offset == pieces->position) {
        return pieces;
    }
    if (walk->has_pieces[write]) {
        mca_osc_fastpath_pieces_end(pieces);
    }
    mca_osc_fastpath_pieces_begin(pieces, memory, offset);
    walk->has_pieces[write] = true;
    return pieces;
}

mca_osc_fastpath_cursor_t *mca_osc_fastpath_walk_cursor(mca_osc_fastpath_walk_t *walk, bool write,
                                                        const mca_osc_fastpath_memory_t *memory,
                                                        size_t offset)
{
    mca_osc_fastpath_cursor_t *cursor = &walk->cursor[write];

    if (!walk->has_cursor[write]) {
        mca_osc_fastpath_cursor_begin(cursor, memory->address, memory->count, memory->type, write);
        walk->has_cursor[write] = true;
    }
    mca_osc_fastpath_cursor_seek(cursor, offset);
    return cursor;
}

void mca_osc_fastpath_walk_end(mca_osc_fastpath_walk_t *walk)
{
    for (int i = 0; i < 2; ++i) {
        if (walk->has_pieces[i]) {
            mca_osc_fastpath_pieces_end(&walk->pieces[i]);
        }
        if (walk->has_cursor[i]) {
            mca_osc_fastpath_cursor_end(&walk->cursor[i]);
        }
    }
}

bool mca_osc_fastpath_span(ompi_datatype_t *type, size_t count, ptrdiff_t *first, ptrdiff_t *end)
{
    const ptrdiff_t extent = type->super.ub - type->super.lb;
    ptrdiff_t last;

    if (0 == mca_osc_fastpath_packed_size(type, count)) {
        *first = *end = 0;
        return true;
    }
    return !__builtin_mul_overflow(extent, count - 1, &last)
           && !__builtin_add_overflow(type->super.true_lb, 0 > last ? last : 0, first)
           && !__builtin_add_overflow(type->super.true_ub, 0 < last ? last : 0, end);
}

/* The predefined operations that windows know, by their index in packets. */
static ompi_op_t *const ops[] = {
    &ompi_mpi_op_max.op,   &ompi_mpi_op_min.op,     &ompi_mpi_op_sum.op,    &ompi_mpi_op_prod.op,
    &ompi_mpi_op_land.op,  &ompi_mpi_op_band.op,    &ompi_mpi_op_lor.op,    &ompi_mpi_op_bor.op,
    &ompi_mpi_op_lxor.op,  &ompi_mpi_op_bxor.op,    &ompi_mpi_op_maxloc.op, &ompi_mpi_op_minloc.op,
    &ompi_mpi_op_no_op.op, &ompi_mpi_op_replace.op,
};
#define NUM_OPS ((int) (sizeof(ops) / sizeof(ops[0])))

int mca_osc_fastpath_op_index(const ompi_op_t *op)
{
    for (int i = 0; i < NUM_OPS; ++i) {
        if (op == ops[i]) {
            return i;
        }
    }
    return -1;
}

ompi_op_t *mca_osc_fastpath_op(int index)
{
    return 0 <= index && index < NUM_OPS ? ops[index] : NULL;
}

bool mca_osc_fastpath_op_defined(ompi_op_t *op, ompi_datatype_t *element)
{
    char *reason = NULL;
    bool defined = &ompi_mpi_op_no_op.op == op || &ompi_mpi_op_replace.op == op
                   || ompi_op_is_valid(op, element, &reason, "");

    free(reason);
    return defined;
}

ompi_datatype_t *mca_osc_fastpath_element(ompi_datatype_t *type)
{
    return ompi_datatype_is_predefined(type) ? type
                                             : ompi_datatype_get_single_predefined_type_from_args(type);
}

ompi_datatype_t *mca_osc_fastpath_predefined(uint32_t id)
{
    return id < OMPI_DATATYPE_MPI_MAX_PREDEFINED ? (ompi_datatype_t *) ompi_datatype_basicDatatypes[id]
                                                 : NULL;
}

/* What is packed has no gaps, but the elements of an operation may have: of MPI_SHORT_INT, for instance. */
static bool has_gaps(const ompi_datatype_t *element)
{
    return element->super.size != (size_t) (element->super.ub - element->super.lb);
}

/* Whether an operation may load and store elements where they are. Those of more than 8 bytes may have to be
 * aligned, as _Float128 has, and data in packets is not. */
static bool may_reduce_there(const ompi_datatype_t *element, const void *origin, const void *target)
{
    const uintptr_t bits = element->super.align - 1;

    return MCA_OSC_FASTPATH_ALIGN > bits || 0 == (((uintptr_t) origin | (uintptr_t) target) & bits);
}

/* target = origin op target, both packed; `count` elements. */
static int reduce_packed(ompi_op_t *op, ompi_datatype_t *element, const void *origin, void *target,
                         size_t count)
{
    const size_t extent = (size_t) (element->super.ub - element->super.lb);
    mca_osc_fastpath_cursor_t cursor;
    char *spread;

    if (OPAL_LIKELY(!has_gaps(element) && may_reduce_there(element, origin, target))) {
        ompi_op_reduce(op, (void *) origin, target, count, element);
        return OMPI_SUCCESS;
    }
    spread = calloc(2 * count, extent); /* aligned; gaps are copied, too */
    if (NULL == spread) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_osc_fastpath_cursor_begin(&cursor, spread, count, element, true);
    mca_osc_fastpath_cursor_unpack(&cursor, origin, cursor.bytes);
    mca_osc_fastpath_cursor_end(&cursor);
    mca_osc_fastpath_cursor_begin(&cursor, spread + count * extent, count, element, true);
    mca_osc_fastpath_cursor_unpack(&cursor, target, cursor.bytes);
    mca_osc_fastpath_cursor_end(&cursor);
    ompi_op_reduce(op, spread, spread + count * extent, count, element);
    mca_osc_fastpath_cursor_begin(&cursor, spread + count * extent, count, element, false);
    (void) mca_osc_fastpath_cursor_pack(&cursor, target, cursor.bytes);
    mca_osc_fastpath_cursor_end(&cursor);
    free(spread);
    return OMPI_SUCCESS;
}

bool mca_osc_fastpath_update_packed(const mca_osc_fastpath_update_t *update, void *target, int *rc)
{
    *rc = OMPI_SUCCESS;
    if (NULL != update->result) {
        mca_common_fastpath_copy(update->result, target, update->length);
    }
    if (NULL == update->op) {
        if (0 != memcmp(target, update->compare, update->length)) {
            return false;
        }
        mca_common_fastpath_copy(target, update->origin, update->length);
        return true;
    }
    if (&ompi_mpi_op_no_op.op == update->op) {
        return false;
    }
    if (&ompi_mpi_op_replace.op == update->op) {
        mca_common_fastpath_copy(target, update->origin, update->length);
    } else {
        *rc = reduce_packed(update->op, update->element, update->origin, target,
                            update->length / update->element->super.size);
    }
    return true;
}

/* By a packed copy of the memory. */
static int update_by_copy(const mca_osc_fastpath_update_t *update, mca_osc_fastpath_walk_t *walk)
{
    mca_osc_fastpath_cursor_t *from, *to;
    char *packed = malloc(update->length);
    size_t done = 0, moved = 1;
    int rc;

    if (NULL == packed) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    from = mca_osc_fastpath_walk_cursor(walk, false, &update->memory, update->offset);
    while (done < update->length && 0 < moved) {
        moved = mca_osc_fastpath_cursor_pack(from, packed + done, update->length - done);
        done += moved;
    }
    if (mca_osc_fastpath_update_packed(update, packed, &rc) && OMPI_SUCCESS == rc) {
        to = mca_osc_fastpath_walk_cursor(walk, true, &update->memory, update->offset);
        mca_osc_fastpath_cursor_unpack(to, packed, update->length);
    }
    free(packed);
    return rc;
}

/* Memory that is not one piece, or whose elements have gaps. */
static int update_with_gaps(const mca_osc_fastpath_update_t *update)
{
    mca_osc_fastpath_walk_t own;
    int rc;

    if (NULL != update->walk) {
        return update_by_copy(update, update->walk);
    }
    mca_osc_fastpath_walk_begin(&own);
    rc = update_by_copy(update, &own);
    mca_osc_fastpath_walk_end(&own);
    return rc;
}

int mca_osc_fastpath_update(const mca_osc_fastpath_update_t *update)
{
    int rc;

    if (0 == update->length) {
        return OMPI_SUCCESS;
    }
    if (update->atomic && mca_osc_fastpath_is_integer(update->element)) {
        return mca_osc_fastpath_atomic(update);
    }
    if (OPAL_UNLIKELY(has_gaps(update->element)
                      || !mca_osc_fastpath_is_contiguous(update->memory.type, update->memory.count))) {
        return update_with_gaps(update);
    }
    (void) mca_osc_fastpath_update_packed(
        update, (char *) update->memory.address + update->memory.type->super.true_lb + update->offset, &rc);
    return rc;
}
