/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Large messages that both sides copy: while a sender waits, in a blocking call or for its request, the
 * receiver reads one part of the message and asks the sender to write the other one, or, where both wait,
 * to write or to stream all of it (docs/data-path.md, "Both sides copy").
 */
#ifndef MCA_PML_FASTPATH_HELP_H
#define MCA_PML_FASTPATH_HELP_H

#include "ompi/mca/coll/base/coll_tags.h"

#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sendreq.h"

/** Bytes that the receiver reads of a message before it looks again whether the sender waits. */
static inline size_t mca_pml_fastpath_help_first_piece(void)
{
    return 4 * mca_pml_fastpath.help_limit;
}

/** Bytes from which on a reduction finds what it works on in no cache of its core. */
#define MCA_PML_FASTPATH_HELP_REDUCTION_MAX ((size_t) 1024 * 1024)

/**
 * Whether a message is a part of a reduction in which two processes send to each other, and then work on what
 * they have received. Each had better read all of it: what the sender wrote would lie in the sender's cache.
 *
 * @param size  bytes of the message
 */
static inline bool mca_pml_fastpath_help_is_reduced(int tag, size_t size)
{
    return (MCA_COLL_BASE_TAG_ALLREDUCE == tag || MCA_COLL_BASE_TAG_REDUCE_SCATTER == tag
            || MCA_COLL_BASE_TAG_REDUCE_SCATTER_BLOCK == tag)
           && MCA_PML_FASTPATH_HELP_REDUCTION_MAX > size;
}

/** Sender: whether a message that it waits for had better be copied by both sides than go in chunks. */
static inline bool mca_pml_fastpath_help_pays(const mca_pml_fastpath_peer_t *peer, size_t size)
{
    return mca_pml_fastpath_is_helped(size) && NULL != peer->ext && mca_pml_fastpath.use_get
           && peer->ext->chunks_are_slow(peer->btl_endpoint, size);
}

/**
 * Receiver: begin to receive a message that has been offered to be read.
 *
 * @return bytes that the receiver has to read itself, the first ones; the sender has been asked for the
 * others, or mca_pml_fastpath_help_read() asks for them
 */
size_t mca_pml_fastpath_help_begin(mca_pml_fastpath_recv_request_t *req,
                                   const mca_pml_fastpath_arrival_t *arrival);

/**
 * Receiver: before a further piece is read of a message whose sender does not wait, or did not: it may have
 * come to wait since, and then it is asked for a part of what is left, or for all of it. req_lock is held,
 * and left for a moment; the caller keeps others from reading.
 *
 * @param next  first byte that has not been read
 * @return end of what the receiver has to read itself
 */
size_t mca_pml_fastpath_help_again(mca_pml_fastpath_recv_request_t *req, size_t next);

/**
 * Receiver: how much is read before it looks again, so that it soon knows, and that the pieces are few.
 *
 * @param next   first byte that has not been read
 * @param limit  most bytes that the BTL reads at a time
 */
static inline size_t mca_pml_fastpath_help_piece(const mca_pml_fastpath_recv_request_t *req, size_t next,
                                                 size_t limit)
{
    const size_t piece = 0 == next ? mca_pml_fastpath_help_first_piece() : 3 * next;

    return req->req_alone && piece < limit ? piece : limit;
}

/**
 * Receiver: its own part of such a message is done. The sender is told, or asked to stream what has not been
 * read. It may go on when it has written its part, whenever we come to look at that.
 *
 * @param unread  first byte of the own part that has not been read; its end if there is none
 */
void mca_pml_fastpath_help_read(mca_pml_fastpath_recv_request_t *req, size_t unread);

/**
 * Sender: the receiver answers a message. Its HELP may come before or after the answer. Each of the two
 * subtracts its own share from req_todo, so their order does not matter: the answer leaves 1 for the HELP
 * that it announces. req_lock is held.
 *
 * @param flags  of the answer
 * @return false if the answer contradicts what is known, which only a damaged message does
 */
static inline bool mca_pml_fastpath_help_announced(mca_pml_fastpath_send_request_t *req, uint8_t flags)
{
    req->req_announced = 0 != (MCA_PML_FASTPATH_HDR_FLAG_HELP & flags);
    return req->req_announced ? req->req_offered && (req->req_waits || req->req_named) : !req->req_helped;
}

/** Sender: HELP has come by a BTL. */
void mca_pml_fastpath_help_requested(const mca_btl_base_module_t *btl,
                                     const mca_pml_fastpath_help_hdr_t *hdr);

/** Receiver: HELPED has come by a BTL. */
void mca_pml_fastpath_help_done(const mca_btl_base_module_t *btl, const mca_pml_fastpath_done_hdr_t *hdr);

#endif /* MCA_PML_FASTPATH_HELP_H */
