/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Operations on memory of other processes of the node that the kernel copies.
 */
#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "ompi_config.h"

#include <errno.h>
#include <sys/uio.h>

#include "compat/fastpath_ft_compat.h"
#include "opal/mca/common/fastpath/common_fastpath_process.h"

#include "osc_fastpath_operation.h"

/** Pieces of the target's memory that one call of the kernel is about */
#define PIECES 32
/** Data that needs a packed form and is no longer than this has it on the stack */
#define SMALL 1024

/* What a call of the kernel that has failed means to the caller of MPI. */
static int why(void)
{
    return ESRCH == errno ? MPI_ERR_PROC_FAILED : OMPI_ERR_RMA_RANGE;
}

/* Some pieces, with one call; a call that stops early is made again for each of them. */
static bool move_pieces(pid_t pid, bool write, char *packed, const struct iovec *pieces, unsigned count,
                        size_t length)
{
    const struct iovec here = {.iov_base = packed, .iov_len = length};
    bool good = true;

    if (1 < count
        && (ssize_t) length
               == (write ? process_vm_writev(pid, &here, 1, pieces, count, 0)
                         : process_vm_readv(pid, &here, 1, pieces, count, 0))) {
        return true;
    }
    for (unsigned i = 0; i < count && good; ++i) {
        good = mca_common_fastpath_process_copy(pid, write, packed, (uintptr_t) pieces[i].iov_base,
                                                pieces[i].iov_len);
        packed += pieces[i].iov_len;
    }
    return good;
}

/* Move packed data to or from the target's memory, from packed byte `offset` of it on. */
static int move(const mca_osc_fastpath_peer_t *peer, bool write, const mca_osc_fastpath_memory_t *memory,
                size_t offset, char *packed, size_t length)
{
    mca_osc_fastpath_pieces_t pieces;
    bool good = true;

    ompi_osc_fastpath_pieces_begin(&pieces, memory, offset);
    while (0 < length && good) {
        struct iovec some[PIECES];
        unsigned count = 0;
        size_t bytes = 0;

        while (count < PIECES && bytes < length
               && ompi_osc_fastpath_pieces_next(&pieces, length - bytes, &some[count])) {
            bytes += some[count++].iov_len;
        }
        good = 0 < bytes && move_pieces(peer->pid, write, packed, some, count, bytes);
        packed += bytes;
        length -= bytes;
    }
    ompi_osc_fastpath_pieces_end(&pieces);
    return good ? OMPI_SUCCESS : why();
}

/* Move data between a user's buffer and the target's memory, in its packed form where it is not one piece. */
static int move_buffer(const mca_osc_fastpath_peer_t *peer, bool write, void *buffer, size_t count,
                       ompi_datatype_t *type, const mca_osc_fastpath_memory_t *memory)
{
    mca_osc_fastpath_cursor_t cursor;
    char small[SMALL], *packed;
    size_t done = 0, moved = 1;
    int rc;

    ompi_osc_fastpath_cursor_begin(&cursor, buffer, count, type, !write);
    packed =
        NULL != cursor.memory ? cursor.memory : (sizeof(small) < cursor.bytes ? malloc(cursor.bytes) : small);
    if (NULL == packed) {
        ompi_osc_fastpath_cursor_end(&cursor);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    while (write && packed != cursor.memory && done < cursor.bytes && 0 < moved) {
        moved = ompi_osc_fastpath_cursor_pack(&cursor, packed + done, cursor.bytes - done);
        done += moved;
    }
    rc = move(peer, write, memory, 0, packed, cursor.bytes);
    if (!write && packed != cursor.memory && OMPI_SUCCESS == rc) {
        ompi_osc_fastpath_cursor_unpack(&cursor, packed, cursor.bytes);
    }
    if (packed != cursor.memory && packed != small) {
        free(packed);
    }
    ompi_osc_fastpath_cursor_end(&cursor);
    return rc;
}

int ompi_osc_fastpath_copy_put(const mca_osc_fastpath_peer_t *peer,
                               const mca_osc_fastpath_operation_t *operation,
                               const mca_osc_fastpath_memory_t *memory)
{
    return move_buffer(peer, true, (void *) operation->origin, operation->origin_count,
                       operation->origin_type, memory);
}

int ompi_osc_fastpath_copy_get(const mca_osc_fastpath_peer_t *peer,
                               const mca_osc_fastpath_operation_t *operation,
                               const mca_osc_fastpath_memory_t *memory)
{
    return move_buffer(peer, false, operation->result, operation->result_count, operation->result_type,
                       memory);
}

int ompi_osc_fastpath_copy_update(const mca_osc_fastpath_peer_t *peer,
                                  const mca_osc_fastpath_update_t *update)
{
    char small[SMALL], *packed = sizeof(small) < update->length ? malloc(update->length) : small;
    int rc;

    if (NULL == packed) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = move(peer, false, &update->memory, update->offset, packed, update->length);
    if (OMPI_SUCCESS == rc && ompi_osc_fastpath_update_packed(update, packed, &rc) && OMPI_SUCCESS == rc) {
        rc = move(peer, true, &update->memory, update->offset, packed, update->length);
    }
    if (packed != small) {
        free(packed);
    }
    return rc;
}
