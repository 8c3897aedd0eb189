/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Operations on memory that this process reaches without its owner: the own rank's, and that of members of
 * the node.
 */
#include "ompi_config.h"

#include "osc_fastpath_atomic.h"
#include "osc_fastpath_copy.h"
#include "osc_fastpath_locate.h"
#include "osc_fastpath_operation.h"
#include "osc_fastpath_wait_memory.h"

/** Data that needs a packed form on its way is moved in pieces of so many bytes. */
#define PIECE 8192

/* Copy from one buffer to another that is no shorter. */
static int copy_directly(const void *from, size_t from_count, ompi_datatype_t *from_type, void *to,
                         size_t to_count, ompi_datatype_t *to_type)
{
    mca_osc_fastpath_cursor_t source, sink;
    char piece[PIECE];
    size_t length = 1;

    mca_osc_fastpath_cursor_begin(&source, from, from_count, from_type, false);
    mca_osc_fastpath_cursor_begin(&sink, to, to_count, to_type, true);
    if (NULL != source.memory && NULL != sink.memory) {
        memmove(sink.memory, source.memory, source.bytes);
        return OMPI_SUCCESS;
    }
    while (source.position < source.bytes && 0 < length) {
        if (NULL != sink.memory) {
            length = mca_osc_fastpath_cursor_pack(&source, sink.memory + source.position,
                                                  source.bytes - source.position);
            continue;
        }
        if (NULL != source.memory) {
            mca_osc_fastpath_cursor_unpack(&sink, source.memory, source.bytes);
            break;
        }
        length = mca_osc_fastpath_cursor_pack(&source, piece, sizeof(piece));
        mca_osc_fastpath_cursor_unpack(&sink, piece, length);
    }
    mca_osc_fastpath_cursor_end(&source);
    mca_osc_fastpath_cursor_end(&sink);
    return OMPI_SUCCESS;
}

static bool take_accumulate_lock(mca_osc_fastpath_module_t *module, void *context)
{
    const mca_osc_fastpath_peer_t *peer = context;

    return mca_osc_fastpath_trylock_word(&peer->member->accumulate, module->rank);
}

/* One piece of an update, in the target's accumulate lock if that is needed. */
static int update_piece(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update)
{
    int rc;

    if (!mca_osc_fastpath_needs_lock(update)) {
        return mca_osc_fastpath_update(update);
    }
    rc = mca_osc_fastpath_wait_for_memory(peer->module, take_accumulate_lock, peer);
    if (OMPI_SUCCESS == rc) {
        rc = MCA_OSC_FASTPATH_COPY == peer->access ? mca_osc_fastpath_copy_update(peer, update)
                                                   : mca_osc_fastpath_update(update);
        mca_osc_fastpath_unlock_word(&peer->member->accumulate);
    }
    return rc;
}

/* Begin the next piece of an update: with data of the origin, while there is any, then with MPI_NO_OP.
 * @return whether it has data */
static bool next_piece(mca_osc_fastpath_update_t *update, const mca_osc_fastpath_operation_t *operation)
{
    const bool sends = update->offset < operation->sent;
    const size_t left = (sends ? operation->sent : operation->bytes) - update->offset;
    const size_t most = PIECE - PIECE % operation->element->super.size;

    update->op = sends ? operation->op : &ompi_mpi_op_no_op.op;
    update->origin = NULL;
    update->length = left < most ? left : most;
    return sends;
}

/* Piece by piece: origin data packed, update, result unpacked; without a copy where it is one piece. */
static int update_directly(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_operation_t *operation,
                           const mca_osc_fastpath_memory_t *memory)
{
    const bool sends = 0 < operation->sent;
    const bool returns = mca_osc_fastpath_returns_data(operation->kind);
    mca_osc_fastpath_update_t update = {.memory = *memory,
                                        .element = operation->element,
                                        .compare = operation->compare,
                                        .atomic = peer->module->atomic};
    mca_osc_fastpath_cursor_t source, sink;
    mca_osc_fastpath_walk_t walk;
    char packed[PIECE], old[PIECE];
    int rc = OMPI_SUCCESS;

    if (OPAL_UNLIKELY(PIECE < operation->bytes)) {
        mca_osc_fastpath_walk_begin(&walk);
        update.walk = &walk;
    }
    if (sends) {
        mca_osc_fastpath_cursor_begin(&source, operation->origin, operation->origin_count,
                                      operation->origin_type, false);
    }
    if (returns) {
        mca_osc_fastpath_cursor_begin(&sink, operation->result, operation->result_count,
                                      operation->result_type, true);
    }
    for (; update.offset < operation->bytes && OMPI_SUCCESS == rc; update.offset += update.length) {
        const bool has_data = next_piece(&update, operation);

        if (has_data && NULL != source.memory) {
            update.origin = source.memory + update.offset;
        } else if (has_data) {
            (void) mca_osc_fastpath_cursor_pack(&source, packed, update.length);
            update.origin = packed;
        }
        if (returns) {
            update.result = NULL != sink.memory ? sink.memory + update.offset : old;
        }
        rc = update_piece(peer, &update);
        if (old == update.result) {
            mca_osc_fastpath_cursor_unpack(&sink, old, update.length);
        }
    }
    if (NULL != update.walk) {
        mca_osc_fastpath_walk_end(&walk);
    }
    if (sends) {
        mca_osc_fastpath_cursor_end(&source);
    }
    if (returns) {
        mca_osc_fastpath_cursor_end(&sink);
    }
    return rc;
}

int mca_osc_fastpath_direct(mca_osc_fastpath_peer_t *peer, mca_osc_fastpath_operation_t *operation)
{
    mca_osc_fastpath_memory_t memory;
    int rc = mca_osc_fastpath_locate_peer(peer, operation->disp, operation->count, operation->type, &memory);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (MCA_OSC_FASTPATH_PUT != operation->kind && MCA_OSC_FASTPATH_GET != operation->kind) {
        /* before the accumulate lock is taken, which a put may want for itself */
        rc = mca_osc_fastpath_make_puts(peer->module);
        return OMPI_SUCCESS == rc ? update_directly(peer, operation, &memory) : rc;
    }
    if (MCA_OSC_FASTPATH_COPY == peer->access) {
        return mca_osc_fastpath_copy_move(peer, operation, &memory);
    }
    if (MCA_OSC_FASTPATH_PUT == operation->kind) {
        return copy_directly(operation->origin, operation->origin_count, operation->origin_type,
                             memory.address, memory.count, memory.type);
    }
    return copy_directly(memory.address, memory.count, memory.type, operation->result,
                         operation->result_count, operation->result_type);
}
