/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The pieces of memory of a window.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_convertor.h"

#include "osc_fastpath_memory.h"

/* Bytes of its block that a convertor is beyond. */
static size_t passed_of_block(const opal_convertor_t *convertor)
{
    const dt_stack_t *top = &convertor->pStack[convertor->stack_pos];
    const ddt_elem_desc_t *block = &convertor->use_desc->desc[top->index].elem;
    const size_t left = top->count % block->blocklen;

    return 0 == left ? 0 : (block->blocklen - left) * opal_datatype_basicDatatypes[block->common.type]->size;
}

/* Set a convertor to a position, or to the begin of the block that it is in: opal_convertor_raw() takes what
 * has been passed of a block for what is left of it. Blocks of contiguous types are not looked for: positions
 * in them are counted in bytes, which opal_convertor_raw() takes for elements. @return the position */
static size_t seek_block(opal_convertor_t *convertor, size_t position)
{
    if (0 == position || (OPAL_DATATYPE_FLAG_CONTIGUOUS & convertor->flags)) {
        return 0;
    }
    mca_common_fastpath_convertor_seek(convertor, position);
    if (!(CONVERTOR_COMPLETED & convertor->flags)) {
        mca_common_fastpath_convertor_seek(convertor, convertor->bConverted - passed_of_block(convertor));
    }
    return convertor->bConverted;
}

/* Begin at memory that has gaps; whole elements of the type are passed over without a look at them. @return
 * the packed bytes that are passed over */
static size_t begin_with_gaps(opal_convertor_t *convertor, const mca_osc_fastpath_memory_t *memory,
                              size_t offset)
{
    const size_t size = memory->type->super.size, whole = 0 == size ? 0 : offset / size;
    const char *address = (const char *) memory->address
                          + (ptrdiff_t) whole * (memory->type->super.ub - memory->type->super.lb);

    OBJ_CONSTRUCT(convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &memory->type->super,
                                             memory->count - whole, address, 0, convertor);
    return whole * size + seek_block(convertor, offset - whole * size);
}

void mca_osc_fastpath_pieces_begin(mca_osc_fastpath_pieces_t *pieces, const mca_osc_fastpath_memory_t *memory,
                                   size_t offset)
{
    struct iovec skipped;

    pieces->next = 0;
    pieces->position = 0;
    pieces->contiguous = mca_osc_fastpath_is_contiguous(memory->type, memory->count);
    pieces->ended = pieces->contiguous;
    pieces->count = pieces->contiguous ? 1 : 0;
    if (pieces->contiguous) {
        pieces->piece[0].iov_base = (char *) memory->address + memory->type->super.true_lb;
        pieces->piece[0].iov_len = mca_osc_fastpath_packed_size(memory->type, memory->count);
    } else {
        pieces->position = begin_with_gaps(&pieces->convertor, memory, offset);
    }
    while (pieces->position < offset
           && mca_osc_fastpath_pieces_next(pieces, offset - pieces->position, &skipped)) {
        ; /* the rest of the way */
    }
}

/* Have the convertor name more pieces. @return whether there are any */
static bool more_pieces(mca_osc_fastpath_pieces_t *pieces)
{
    size_t length = 0;

    if (pieces->ended) {
        return false;
    }
    pieces->count = MCA_OSC_FASTPATH_PIECES;
    pieces->next = 0;
    pieces->ended = 0 != opal_convertor_raw(&pieces->convertor, pieces->piece, &pieces->count, &length)
                    || 0 == pieces->count;
    return 0 < pieces->count;
}

bool mca_osc_fastpath_pieces_next(mca_osc_fastpath_pieces_t *pieces, size_t most, struct iovec *piece)
{
    struct iovec *from;

    if (pieces->next == pieces->count && !more_pieces(pieces)) {
        return false;
    }
    from = &pieces->piece[pieces->next];
    *piece = *from;
    if (from->iov_len > most) {
        piece->iov_len = most;
        from->iov_base = (char *) from->iov_base + most;
        from->iov_len -= most;
    } else {
        ++pieces->next;
    }
    pieces->position += piece->iov_len;
    return true;
}

void mca_osc_fastpath_pieces_end(mca_osc_fastpath_pieces_t *pieces)
{
    if (!pieces->contiguous) {
        opal_convertor_cleanup(&pieces->convertor);
        OBJ_DESTRUCT(&pieces->convertor);
    }
}
