/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_check.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_help.h"
#include "pml_fastpath_sendreq.h"

/** parts of a message begin with a page, where that is possible */
#define PAGE 4096u

/* Whether the sender is of this node, and the message long enough that it may do a part of the work. */
static bool is_large_local(const mca_pml_fastpath_recv_request_t *req,
                           const mca_pml_fastpath_arrival_t *arrival)
{
    return mca_pml_fastpath_is_helped(req->req_accepted) && arrival->btl == mca_pml_fastpath.fastsm
           && NULL != req->req_peer->ext;
}

/* Whether we wait, so that a message whose sender does so, too, may be streamed. Where processes share cores
 * none is; nor is one of a reduction, unless it comes while we wait for sends. */
static bool may_be_streamed(const mca_pml_fastpath_recv_request_t *req)
{
    if (opal_using_threads() || opal_progress_yield_when_idle) {
        return false;
    }
    return mca_pml_fastpath_awaited_sends()
           || (!req->req_reduced && atomic_load_explicit(&mca_pml_fastpath.waits, memory_order_relaxed));
}

/* Whether the sender of a nonblocking send is in a call that waits. Then it stays until it has done the part
 * that we leave to it. */
static bool claim_message(const mca_pml_fastpath_recv_request_t *req)
{
    const mca_pml_fastpath_peer_t *peer = req->req_peer;

    return peer->ext->claim(peer->btl_endpoint, req->req_src_req);
}

/* Whether we can read that peer's memory. */
static bool reads(const mca_pml_fastpath_peer_t *peer)
{
    mca_btl_fastsm_copies_t copies;

    peer->ext->copies(peer->btl_endpoint, &copies);
    return OPAL_LIKELY(copies.reads);
}

/* Where processes share cores, those of an exchange have enough to do with what they read: each question
 * costs a turn. */
static bool costs_turns(const mca_pml_fastpath_recv_request_t *req)
{
    return opal_progress_yield_when_idle && mca_pml_fastpath_awaited_sends() && reads(req->req_peer);
}

/* Whether the sender, if it waits, may do a part of the work. */
static bool may_help(const mca_pml_fastpath_recv_request_t *req)
{
    return !req->req_peer->help_refused && !req->req_reduced && !costs_turns(req);
}

/* Whether we have sent that process something, too, and do not wait for it yet: if it waits, it most likely
 * reads that, or will in a moment. Who waits for its sends asks at once, because a stream may be sooner. */
static bool is_exchange(const mca_pml_fastpath_recv_request_t *req)
{
    return OPAL_UNLIKELY(0 < req->req_peer->offers) && !mca_pml_fastpath_awaited_sends()
           && reads(req->req_peer);
}

/* Whether the sender copies something now, so that it does its part of this later than we could. */
static bool is_copying(const mca_pml_fastpath_recv_request_t *req)
{
    return req->req_peer->ext->is_copying(req->req_peer->btl_endpoint);
}

/* Half of so many bytes, which we read ourselves. */
static size_t half(size_t bytes)
{
    return bytes / 2 / PAGE * PAGE;
}

/* Ask for what is behind our part. */
static void ask_from(mca_pml_fastpath_recv_request_t *req, size_t own)
{
    const mca_pml_fastpath_help_hdr_t help = {.hdr_type = MCA_PML_FASTPATH_HDR_HELP,
                                              .hdr_src_req = req->req_src_req,
                                              .hdr_dst_req = mca_pml_fastpath_recv_request_handle(req),
                                              .hdr_address = (uint64_t) (uintptr_t) req->req_base + own,
                                              .hdr_offset = own,
                                              .hdr_length = req->req_accepted - own};

    req->req_own = own;
    req->req_helping = true;
    (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, 1);
    /* from here on HELPED may come, by another thread */
    mca_pml_fastpath_control_send(req->req_peer, NULL, &help, sizeof(help));
}

static mca_pml_fastpath_asked_kind_t kind_of(const mca_pml_fastpath_recv_request_t *req)
{
    if (!mca_pml_fastpath_awaited_sends()) {
        return MCA_PML_FASTPATH_ASKED_ONE_WAY;
    }
    return req->req_reduced ? MCA_PML_FASTPATH_ASKED_REDUCED : MCA_PML_FASTPATH_ASKED_EXCHANGE;
}

/* The sender waits, and is asked for a part of what has not been read, or for all of that: where streaming is
 * sooner, in an exchange, in which each process writes its own message, and where we cannot read. @return end
 * of what is left to be read */
static size_t ask_for_rest(mca_pml_fastpath_recv_request_t *req, size_t next)
{
    size_t own = next;

    if (may_be_streamed(req) && mca_pml_fastpath_awaited_ask(req, kind_of(req), req->req_accepted - next)) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_STREAMED);
        return next; /* mca_pml_fastpath_help_read asks for what is behind */
    }
    if (!may_help(req)) {
        return req->req_own;
    }
    if (!mca_pml_fastpath_awaited_sends() && reads(req->req_peer)) {
        own += half(req->req_own - next);
    }
    ask_from(req, own);
    return own;
}

/* Choose how to receive a message whose sender waits: streamed, where we wait and that is sooner; with the
 * sender's help; or by reading all of it. */
size_t mca_pml_fastpath_help_begin(mca_pml_fastpath_recv_request_t *req,
                                   const mca_pml_fastpath_arrival_t *arrival)
{
    const size_t all = req->req_accepted;
    bool may, exchange, busy, waits;

    req->req_reduced = mca_pml_fastpath_help_is_reduced(arrival->tag, arrival->length);
    req->req_told = arrival->flags & (MCA_PML_FASTPATH_HDR_FLAG_STREAM | MCA_PML_FASTPATH_HDR_FLAG_KERNEL);
    may = is_large_local(req, arrival) && (may_be_streamed(req) || may_help(req));
    exchange = may && is_exchange(req);
    busy = exchange && is_copying(req);
    waits = may && !busy
            && (0 != (MCA_PML_FASTPATH_HDR_FLAG_WAITS & arrival->flags)
                || (!exchange && OPAL_UNLIKELY(claim_message(req))));
    req->req_alone = may && !busy && !waits && mca_pml_fastpath_help_first_piece() < all / 2;
    req->req_own = all;
    return waits ? ask_for_rest(req, 0) : all;
}

size_t mca_pml_fastpath_help_again(mca_pml_fastpath_recv_request_t *req, size_t next)
{
    size_t own = req->req_own;
    bool exchange;

    if (0 == next || PAGE > half(own - next) || mca_pml_fastpath_has_failed(&req->req_watch)) {
        return own;
    }
    exchange = is_exchange(req);
    if (!(exchange && is_copying(req)) && claim_message(req)) {
        req->req_alone = false;
        OPAL_THREAD_UNLOCK(&req->req_lock);
        own = ask_for_rest(req, next);
        OPAL_THREAD_LOCK(&req->req_lock);
    } else if (exchange) {
        req->req_alone = false; /* both have something to read: the fewer pieces the better */
    }
    return own;
}

void mca_pml_fastpath_help_read(mca_pml_fastpath_recv_request_t *req, size_t unread)
{
    const size_t left = req->req_own - unread;
    const uint8_t flags = req->req_own < req->req_accepted ? MCA_PML_FASTPATH_HDR_FLAG_HELP : 0;

    if (OPAL_LIKELY(0 == left)) {
        const mca_pml_fastpath_done_hdr_t done = {
            .hdr_type = MCA_PML_FASTPATH_HDR_GET_DONE, .hdr_flags = flags, .hdr_id = req->req_src_req};

        mca_pml_fastpath_recv_request_tell(req, &done, sizeof(done));
    } else {
        mca_pml_fastpath_recv_request_ack(req, MCA_PML_FASTPATH_HDR_FLAG_FIRST | flags, unread, left, left);
    }
}

/* Whether a HELP is one that the receiver may send: once, for an offered message whose sender waits, of which
 * it has said nothing yet, or that there is a HELP. Counts it. */
static bool is_welcome(mca_pml_fastpath_send_request_t *req, const mca_pml_fastpath_help_hdr_t *hdr)
{
    bool welcome;

    OPAL_THREAD_LOCK(&req->req_lock);
    welcome = (req->req_waits || req->req_named) && req->req_offered && !req->req_helped
              && (req->req_unanswered || req->req_announced) && 0 < hdr->hdr_length
              && mca_pml_fastpath_is_within(hdr->hdr_offset, hdr->hdr_length, req->req_send.req_bytes_packed);
    req->req_helped = true;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    return welcome;
}

/* The receiver waits for word of its part. */
static void tell_helped(mca_pml_fastpath_send_request_t *req, const mca_pml_fastpath_done_hdr_t *done)
{
    if (OPAL_UNLIKELY(!mca_pml_fastpath_control_at_once(req->req_peer, done, sizeof(*done)))) {
        mca_pml_fastpath_send_request_tell(req, NULL, done);
    }
}

/* Write that part. Where that cannot be it is streamed. */
static void help(mca_pml_fastpath_send_request_t *req, const mca_pml_fastpath_help_hdr_t *hdr)
{
    mca_pml_fastpath_peer_t *peer = req->req_peer;
    const bool written = peer->ext->write(peer->btl_endpoint, (const char *) req->req_base + hdr->hdr_offset,
                                          hdr->hdr_address, hdr->hdr_length);
    const mca_pml_fastpath_done_hdr_t done = {.hdr_type = MCA_PML_FASTPATH_HDR_HELPED,
                                              .hdr_flags = written ? 0 : MCA_PML_FASTPATH_HDR_FLAG_FAILED,
                                              .hdr_id = hdr->hdr_dst_req};

    ++mca_pml_fastpath.pieces_moved;
    tell_helped(req, &done);
    if (OPAL_UNLIKELY(!written)) {
        req->req_dst_req = hdr->hdr_dst_req;
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, (int64_t) hdr->hdr_length);
        mca_pml_fastpath_send_request_stream(req, hdr->hdr_offset, hdr->hdr_length);
    }
}

void mca_pml_fastpath_help_requested(const mca_btl_base_module_t *btl, const mca_pml_fastpath_help_hdr_t *hdr)
{
    mca_pml_fastpath_send_request_t *req =
        mca_pml_fastpath_send_request_named(btl, hdr->hdr_type, hdr->hdr_src_req);

    if (OPAL_UNLIKELY(NULL == req)) {
        return;
    }
    if (OPAL_UNLIKELY(!is_welcome(req, hdr))) {
        mca_pml_fastpath_corrupt(btl, req->req_peer->proc, hdr->hdr_type,
                                 "part of the message, or nobody waits");
    }
    help(req, hdr);
    mca_pml_fastpath_send_request_progressed(req, 2); /* us, and the HELP that the answer announces */
}

void mca_pml_fastpath_help_done(const mca_btl_base_module_t *btl, const mca_pml_fastpath_done_hdr_t *hdr)
{
    mca_pml_fastpath_recv_request_t *req =
        mca_pml_fastpath_handle_named(MCA_PML_FASTPATH_HANDLE_RECV, hdr->hdr_id, btl, hdr->hdr_type);
    size_t length;

    if (OPAL_UNLIKELY(NULL == req)) {
        return;
    }
    if (OPAL_UNLIKELY(!mca_pml_fastpath_take_flag(&req->req_lock, &req->req_helping))) {
        mca_pml_fastpath_corrupt(btl, req->req_peer->proc, hdr->hdr_type, "help that nobody has asked for");
    }
    length = req->req_accepted - req->req_own;
    if (OPAL_LIKELY(0 == (MCA_PML_FASTPATH_HDR_FLAG_FAILED & hdr->hdr_flags))) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_HELPED);
    } else {
        req->req_peer->help_refused = true;
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_uncovered, mca_pml_fastpath_range_sum(req->req_own, length));
        length = 0;
    }
    mca_pml_fastpath_recv_request_progressed(req, length + 2); /* us, and the HELP that this answers */
}
