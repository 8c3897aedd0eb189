/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Updates of integers by the processor, one element after the other.
 */
#include "ompi_config.h"

#include "osc_fastpath_atomic.h"

mca_osc_fastpath_integer_t mca_osc_fastpath_atomic_reduce(ompi_op_t *op, ompi_datatype_t *element, void *at,
                                                          mca_osc_fastpath_integer_t origin)
{
    const size_t size = element->super.size;
    mca_osc_fastpath_integer_t found = mca_osc_fastpath_atomic_load(at, size), value;

    do {
        value = found;
        ompi_op_reduce(op, &origin, &value, 1, element);
    } while (!mca_osc_fastpath_atomic_swap_if(at, size, &found, value));
    return found;
}

static bool is_contiguous(const mca_osc_fastpath_memory_t *memory)
{
    return mca_osc_fastpath_is_contiguous(memory->type, memory->count);
}

/* Of memory that is not one piece, any element may lie anywhere. */
bool mca_osc_fastpath_needs_lock(const mca_osc_fastpath_update_t *update)
{
    const ompi_datatype_t *element = update->element;
    const char *begin = (const char *) update->memory.address + update->memory.type->super.true_lb;

    return !update->atomic || !mca_osc_fastpath_is_integer(element) || !is_contiguous(&update->memory)
           || !mca_osc_fastpath_is_aligned(begin, element->super.size);
}

/* One element; `position` is that of its data in the piece. Where it is not aligned the caller has the
 * accumulate lock: processors need not update it at a time. */
static int update_element(const mca_osc_fastpath_update_t *update, char *at, size_t position)
{
    const size_t size = update->element->super.size;
    const char *origin = NULL == update->origin ? NULL : (const char *) update->origin + position;
    char *result = NULL == update->result ? NULL : (char *) update->result + position;
    mca_osc_fastpath_integer_t found;

    if (OPAL_UNLIKELY(!mca_osc_fastpath_is_aligned(at, size))) {
        mca_osc_fastpath_update_t one = *update;

        one.memory = (mca_osc_fastpath_memory_t){.address = at, .type = update->element, .count = 1};
        one.offset = 0;
        one.length = size;
        one.origin = origin;
        one.result = result;
        one.atomic = false;
        one.walk = NULL;
        return mca_osc_fastpath_update(&one);
    }
    found = NULL == update->op ? mca_osc_fastpath_atomic_compare(size, at, update->compare, origin)
                               : mca_osc_fastpath_atomic_update(update->op, update->element, at, origin);
    if (NULL != result) {
        mca_osc_fastpath_integer_copy(result, &found, size);
    }
    return OMPI_SUCCESS;
}

/* `length` bytes of elements side by side. A packet that nobody has sent may have less than an element left.
 */
static int update_run(const mca_osc_fastpath_update_t *update, char *at, size_t length, size_t position)
{
    const size_t size = update->element->super.size;
    int rc = OMPI_SUCCESS;

    for (size_t done = 0; size <= length - done && OMPI_SUCCESS == rc; done += size) {
        rc = update_element(update, at + done, position + done);
    }
    return rc;
}

/* Memory that is not one piece. */
static int update_pieces(const mca_osc_fastpath_update_t *update, mca_osc_fastpath_pieces_t *pieces)
{
    struct iovec piece;
    size_t done = 0;
    int rc = OMPI_SUCCESS;

    while (done < update->length && OMPI_SUCCESS == rc
           && mca_osc_fastpath_pieces_next(pieces, update->length - done, &piece)) {
        rc = update_run(update, piece.iov_base, piece.iov_len, done);
        done += piece.iov_len;
    }
    return rc;
}

int mca_osc_fastpath_atomic(const mca_osc_fastpath_update_t *update)
{
    const mca_osc_fastpath_memory_t *memory = &update->memory;
    mca_osc_fastpath_pieces_t pieces;
    int rc;

    if (OPAL_LIKELY(is_contiguous(memory))) {
        return update_run(update, (char *) memory->address + memory->type->super.true_lb + update->offset,
                          update->length, 0);
    }
    if (NULL != update->walk) {
        return update_pieces(update,
                             mca_osc_fastpath_walk_pieces(update->walk, false, memory, update->offset));
    }
    mca_osc_fastpath_pieces_begin(&pieces, memory, update->offset);
    rc = update_pieces(update, &pieces);
    mca_osc_fastpath_pieces_end(&pieces);
    return rc;
}
