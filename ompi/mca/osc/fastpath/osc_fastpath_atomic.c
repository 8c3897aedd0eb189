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

/** Pieces of memory that a convertor names at a time */
#define PIECES 32

mca_osc_fastpath_integer_t ompi_osc_fastpath_atomic_reduce(ompi_op_t *op, ompi_datatype_t *element, void *at,
                                                           mca_osc_fastpath_integer_t origin)
{
    const size_t size = element->super.size;
    mca_osc_fastpath_integer_t found = mca_osc_fastpath_atomic_load(at, size), value;

    do {
        value = found;
        fastpath_op_reduce(op, &origin, &value, 1, element);
    } while (!mca_osc_fastpath_atomic_swap_if(at, size, &found, value));
    return found;
}

static bool is_plain(const mca_osc_fastpath_memory_t *memory)
{
    return fastpath_is_plain(memory->type, memory->count);
}

/* Of memory that is not one piece, any element may lie anywhere. */
bool ompi_osc_fastpath_needs_lock(const mca_osc_fastpath_update_t *update)
{
    const ompi_datatype_t *element = update->element;
    const char *begin = (const char *) update->memory.address + update->memory.type->super.true_lb;

    return !update->atomic || !mca_osc_fastpath_is_integer(element) || !is_plain(&update->memory)
           || !mca_osc_fastpath_is_aligned(begin, element->super.size);
}

/* One element; `position` is that of its data in the piece. */
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
        return ompi_osc_fastpath_update(&one);
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

/* Some of the memory's pieces, which begin at packed byte *packed; they are cut to what the update is about.
 */
static int update_pieces(const mca_osc_fastpath_update_t *update, const struct iovec *pieces, uint32_t count,
                         size_t *packed)
{
    const size_t end = update->offset + update->length;
    int rc = OMPI_SUCCESS;

    for (uint32_t i = 0; i < count && *packed < end && OMPI_SUCCESS == rc; ++i) {
        const size_t piece_end = *packed + pieces[i].iov_len;
        const size_t from = *packed < update->offset ? update->offset : *packed;
        const size_t to = piece_end < end ? piece_end : end;

        if (from < to) {
            rc = update_run(update, (char *) pieces[i].iov_base + (from - *packed), to - from,
                            from - update->offset);
        }
        *packed = piece_end;
    }
    return rc;
}

int ompi_osc_fastpath_atomic(const mca_osc_fastpath_update_t *update)
{
    const mca_osc_fastpath_memory_t *memory = &update->memory;
    opal_convertor_t convertor;
    struct iovec pieces[PIECES];
    size_t packed = 0, length = 0;
    int rc = OMPI_SUCCESS;

    if (OPAL_LIKELY(is_plain(memory))) {
        return update_run(update, (char *) memory->address + memory->type->super.true_lb + update->offset,
                          update->length, 0);
    }
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &memory->type->super, memory->count,
                                             memory->address, 0, &convertor);
    while (packed < update->offset + update->length && OMPI_SUCCESS == rc) {
        uint32_t count = PIECES;

        (void) opal_convertor_raw(&convertor, pieces, &count, &length);
        if (0 == count) {
            rc = OMPI_ERR_TYPE_MISMATCH;
        }
        rc = OMPI_SUCCESS == rc ? update_pieces(update, pieces, count, &packed) : rc;
    }
    opal_convertor_cleanup(&convertor);
    OBJ_DESTRUCT(&convertor);
    return rc;
}
