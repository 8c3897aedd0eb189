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
#include "opal/mca/common/fastpath/common_fastpath_copy.h"
#include "opal/mca/common/fastpath/common_fastpath_process.h"

#include "osc_fastpath_copy.h"
#include "osc_fastpath_long.h"
#include "osc_fastpath_mail.h"
#include "osc_fastpath_operation.h"

/** Data that needs a packed form and is no longer than this has it on the stack */
#define SMALL 1024
/** Most bytes of pieces, on the average, that are read with what lies between them */
#define SPAN_PIECE 256
/** Most bytes of such pieces and what lies between them, which the kernel copies as soon as a few pieces */
#define SPAN_MAX ((size_t) 16 * 1024)

/* What a call of the kernel that has failed means to the caller of MPI. */
static int why(void)
{
    return ESRCH == errno ? MPI_ERR_PROC_FAILED : OMPI_ERR_RMA_RANGE;
}

/* Read pieces with what lies between them, which is the window's as well, or of no interest to anybody.
 * @return false where that is too much, or not in this order, or cannot be read */
static bool read_span(pid_t pid, char *packed, const struct iovec *pieces, unsigned count)
{
    const uintptr_t begin = (uintptr_t) pieces[0].iov_base;
    uintptr_t end = begin;
    char span[SPAN_MAX];

    for (unsigned i = 0; i < count; ++i) {
        const uintptr_t at = (uintptr_t) pieces[i].iov_base;

        if (end > at || SPAN_MAX < at - begin || SPAN_MAX - (at - begin) < pieces[i].iov_len) {
            return false;
        }
        end = at + pieces[i].iov_len;
    }
    if (!mca_common_fastpath_process_copy(pid, false, span, begin, end - begin)) {
        return false;
    }
    for (unsigned i = 0; i < count; ++i) {
        mca_common_fastpath_copy(packed, span + ((uintptr_t) pieces[i].iov_base - begin), pieces[i].iov_len);
        packed += pieces[i].iov_len;
    }
    return true;
}

/* Some pieces, with one call; a call that stops early is made again for each of them. */
static bool move_pieces(pid_t pid, bool write, char *packed, const struct iovec *pieces, unsigned count,
                        size_t length)
{
    const struct iovec here = {.iov_base = packed, .iov_len = length};
    bool good = true;

    if (1 < count && !write && SPAN_PIECE * count >= length && read_span(pid, packed, pieces, count)) {
        return true;
    }
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

/* Move packed data to or from the next pieces of the target's memory. */
static int move_next(const mca_osc_fastpath_peer_t *peer, bool write, mca_osc_fastpath_pieces_t *pieces,
                     char *packed, size_t length)
{
    bool good = true;

    while (0 < length && good) {
        struct iovec some[MCA_OSC_FASTPATH_CALL_PIECES];
        unsigned count = 0;
        size_t bytes = 0;

        while (count < MCA_OSC_FASTPATH_CALL_PIECES && bytes < length
               && mca_osc_fastpath_pieces_next(pieces, length - bytes, &some[count])) {
            bytes += some[count++].iov_len;
        }
        good = 0 < bytes && move_pieces(peer->pid, write, packed, some, count, bytes);
        packed += bytes;
        length -= bytes;
    }
    return good ? OMPI_SUCCESS : why();
}

/* The same from packed byte `offset` of it on. @param walk  where it is kept how far they are, or NULL */
static int move(const mca_osc_fastpath_peer_t *peer, bool write, const mca_osc_fastpath_memory_t *memory,
                size_t offset, mca_osc_fastpath_walk_t *walk, char *packed, size_t length)
{
    mca_osc_fastpath_pieces_t pieces;
    int rc;

    if (NULL != walk) {
        return move_next(peer, write, mca_osc_fastpath_walk_pieces(walk, write, memory, offset), packed,
                         length);
    }
    mca_osc_fastpath_pieces_begin(&pieces, memory, offset);
    rc = move_next(peer, write, &pieces, packed, length);
    mca_osc_fastpath_pieces_end(&pieces);
    return rc;
}

/* Where contiguous memory begins. */
static void *begin_of(const mca_osc_fastpath_memory_t *memory)
{
    return (char *) memory->address + memory->type->super.true_lb;
}

/* Move what is one piece at the target, which makes it or takes part in it where that is sooner. */
static int move_piece(mca_osc_fastpath_peer_t *peer, bool write, void *there, void *here, size_t length)
{
    bool good;
    int rc;

    if (mca_osc_fastpath_mail_bytes(peer, write, here, there, length, NULL, &rc)) {
        return rc;
    }
    good = MCA_OSC_FASTPATH_LONG <= length
               ? mca_osc_fastpath_copy_long(peer, write, here, (uintptr_t) there, length)
               : mca_common_fastpath_process_copy(peer->pid, write, here, (uintptr_t) there, length);
    return good ? OMPI_SUCCESS : why();
}

/* Move so much data between a user's buffer and the target's memory, in its packed form where it is not one
 * piece. */
static int move_buffer(mca_osc_fastpath_peer_t *peer, bool write, void *buffer, size_t count,
                       ompi_datatype_t *type, const mca_osc_fastpath_memory_t *memory, size_t bytes)
{
    mca_osc_fastpath_cursor_t cursor;
    char small[SMALL], *packed;
    size_t done = 0, moved = 1;
    int rc;

    mca_osc_fastpath_cursor_begin(&cursor, buffer, count, type, !write);
    packed = NULL != cursor.memory ? cursor.memory : (sizeof(small) < bytes ? malloc(bytes) : small);
    if (NULL == packed) {
        mca_osc_fastpath_cursor_end(&cursor);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    while (write && packed != cursor.memory && done < bytes && 0 < moved) {
        moved = mca_osc_fastpath_cursor_pack(&cursor, packed + done, bytes - done);
        done += moved;
    }
    rc = mca_osc_fastpath_is_contiguous(memory->type, memory->count)
             ? move_piece(peer, write, begin_of(memory), packed, bytes)
             : move(peer, write, memory, 0, NULL, packed, bytes);
    if (!write && packed != cursor.memory && OMPI_SUCCESS == rc) {
        mca_osc_fastpath_cursor_unpack(&cursor, packed, bytes);
    }
    if (packed != cursor.memory && packed != small) {
        free(packed);
    }
    mca_osc_fastpath_cursor_end(&cursor);
    return rc;
}

/* Inside module.lock. */
static int make_puts(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_batch_t *batch = module->batch;
    int rc = OMPI_SUCCESS;

    if (!atomic_load_explicit(&module->batched, memory_order_relaxed)) {
        return OMPI_SUCCESS;
    }
    if (1 != batch->count
        || !mca_osc_fastpath_mail_bytes(batch->peer, true, batch->data, batch->there[0].iov_base,
                                        batch->bytes, module, &rc)) {
        rc = move_pieces(batch->peer->pid, true, batch->data, batch->there, batch->count, batch->bytes)
                 ? OMPI_SUCCESS
                 : why();
    }
    /* not sooner: another thread that flushes looks at this without the lock. Release, with the acquire of
     * mca_osc_fastpath_make_puts() */
    atomic_store_explicit(&module->batched, false, memory_order_release);
    return rc;
}

int mca_osc_fastpath_make_batch(mca_osc_fastpath_module_t *module)
{
    int rc;

    mca_osc_fastpath_enter(module);
    rc = make_puts(module);
    mca_osc_fastpath_leave(module);
    return rc;
}

/* One more put; neighbours become one piece. Inside module.lock. */
static void add_put(mca_osc_fastpath_batch_t *batch, const void *from, char *to, size_t bytes)
{
    struct iovec *last = 0 < batch->count ? &batch->there[batch->count - 1] : NULL;

    mca_common_fastpath_copy_small(batch->data + batch->bytes, from, bytes);
    batch->bytes += bytes;
    if (NULL != last && (char *) last->iov_base + last->iov_len == to) {
        last->iov_len += bytes;
    } else {
        batch->there[batch->count++] = (struct iovec){.iov_base = to, .iov_len = bytes};
    }
}

/* @return whether it is a put that waits for others */
static bool is_small(const mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_operation_t *operation)
{
    return MCA_OSC_FASTPATH_BATCHED >= operation->bytes && NULL == operation->request && !peer->module->eager
           && mca_osc_fastpath_is_contiguous(operation->type, operation->count)
           && mca_osc_fastpath_is_contiguous(operation->origin_type, operation->origin_count);
}

static int put_small(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_operation_t *operation,
                     const mca_osc_fastpath_memory_t *memory)
{
    const size_t bytes = operation->bytes;
    mca_osc_fastpath_module_t *module = peer->module;
    mca_osc_fastpath_batch_t *batch;
    int rc = OMPI_SUCCESS;

    mca_osc_fastpath_enter(module);
    batch = module->batch;
    if (NULL == batch) {
        batch = module->batch = malloc(sizeof(*batch));
    }
    if (NULL == batch) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    } else if (atomic_load_explicit(&module->batched, memory_order_relaxed)
               && (peer != batch->peer || MCA_OSC_FASTPATH_CALL_PIECES == batch->count
                   || bytes > sizeof(batch->data) - batch->bytes)) {
        rc = make_puts(module);
    }
    if (OMPI_SUCCESS == rc) {
        if (!atomic_load_explicit(&module->batched, memory_order_relaxed)) {
            batch->peer = peer;
            batch->count = 0;
            batch->bytes = 0;
            atomic_store_explicit(&module->batched, true, memory_order_relaxed);
        }
        add_put(batch, (const char *) operation->origin + operation->origin_type->super.true_lb,
                begin_of(memory), bytes);
    }
    mca_osc_fastpath_leave(module);
    return rc;
}

int mca_osc_fastpath_copy_move(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_operation_t *operation,
                               const mca_osc_fastpath_memory_t *memory)
{
    const bool put = MCA_OSC_FASTPATH_PUT == operation->kind;
    int rc;

    if (put && is_small(peer, operation)) {
        return put_small(peer, operation, memory);
    }
    rc = mca_osc_fastpath_make_puts(peer->module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return put ? move_buffer(peer, true, (void *) operation->origin, operation->origin_count,
                             operation->origin_type, memory, operation->bytes)
               : move_buffer(peer, false, operation->result, operation->result_count, operation->result_type,
                             memory, operation->bytes);
}

int mca_osc_fastpath_copy_update(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update)
{
    char small[SMALL], *packed;
    int rc;

    if (mca_osc_fastpath_mail(peer, update, &rc)) {
        return rc;
    }
    packed = sizeof(small) < update->length ? malloc(update->length) : small;
    if (NULL == packed) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = move(peer, false, &update->memory, update->offset, update->walk, packed, update->length);
    if (OMPI_SUCCESS == rc && mca_osc_fastpath_update_packed(update, packed, &rc) && OMPI_SUCCESS == rc) {
        rc = move(peer, true, &update->memory, update->offset, update->walk, packed, update->length);
    }
    if (packed != small) {
        free(packed);
    }
    return rc;
}
