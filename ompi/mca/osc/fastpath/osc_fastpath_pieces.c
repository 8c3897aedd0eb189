/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The pieces of memory of a window.
 */
#include "ompi_config.h"

#include "osc_fastpath_memory.h"

void ompi_osc_fastpath_pieces_begin(mca_osc_fastpath_pieces_t *pieces,
                                    const mca_osc_fastpath_memory_t *memory, size_t offset)
{
    struct iovec skipped;

    pieces->next = 0;
    pieces->contiguous = ompi_osc_fastpath_is_contiguous(memory->type, memory->count);
    pieces->ended = pieces->contiguous;
    pieces->count = pieces->contiguous ? 1 : 0;
    if (pieces->contiguous) {
        pieces->piece[0].iov_base = (char *) memory->address + memory->type->super.true_lb;
        pieces->piece[0].iov_len = mca_osc_fastpath_packed_size(memory->type, memory->count);
    } else {
        OBJ_CONSTRUCT(&pieces->convertor, opal_convertor_t);
        opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &memory->type->super,
                                                 memory->count, memory->address, 0, &pieces->convertor);
    }
    while (0 < offset && ompi_osc_fastpath_pieces_next(pieces, offset, &skipped)) {
        offset -= skipped.iov_len;
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

bool ompi_osc_fastpath_pieces_next(mca_osc_fastpath_pieces_t *pieces, size_t most, struct iovec *piece)
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
    return true;
}

void ompi_osc_fastpath_pieces_end(mca_osc_fastpath_pieces_t *pieces)
{
    if (!pieces->contiguous) {
        opal_convertor_cleanup(&pieces->convertor);
        OBJ_DESTRUCT(&pieces->convertor);
    }
}
