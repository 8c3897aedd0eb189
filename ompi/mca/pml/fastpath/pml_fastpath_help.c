/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_check.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_help.h"
#include "pml_fastpath_sendreq.h"

/** parts of a message begin with a page, where that is possible */
#define PAGE 4096u

/* Can the sender write into that buffer, and would that be of use? */
static bool can_help(const mca_pml_fastpath_recv_request_t *req, const mca_pml_fastpath_arrival_t *arrival)
{
    const mca_pml_fastpath_peer_t *peer = req->req_peer;

    return 0 != (MCA_PML_FASTPATH_HDR_FLAG_WAITS & arrival->flags) && 0 < mca_pml_fastpath.help_limit
           && mca_pml_fastpath.help_limit <= req->req_accepted && arrival->btl == mca_pml_fastpath.fastsm
           && NULL != peer->ext && !peer->help_refused;
}

static void ask(mca_pml_fastpath_recv_request_t *req, size_t offset)
{
    const mca_pml_fastpath_help_hdr_t help = {.hdr_type = MCA_PML_FASTPATH_HDR_HELP,
                                              .hdr_src_req = req->req_src_req,
                                              .hdr_dst_req = mca_pml_fastpath_recv_request_handle(req),
                                              .hdr_address = (uint64_t) (uintptr_t) req->req_base + offset,
                                              .hdr_offset = offset,
                                              .hdr_length = req->req_accepted - offset};

    mca_pml_fastpath_control_send(req->req_peer, NULL, &help, sizeof(help));
}

size_t mca_pml_fastpath_help_begin(mca_pml_fastpath_recv_request_t *req,
                                   const mca_pml_fastpath_arrival_t *arrival)
{
    size_t own = req->req_accepted;

    req->req_helping = can_help(req, arrival);
    req->req_parts = req->req_helping ? 2 : 1;
    if (req->req_helping) {
        own = own / 2 / PAGE * PAGE;
        ask(req, own);
    }
    req->req_own = own;
    req->req_unread = own;
    req->req_unread_end = own;
    return own;
}

/* The last part is done. */
static void end(mca_pml_fastpath_recv_request_t *req)
{
    const size_t left = req->req_unread_end - req->req_unread;

    if (OPAL_LIKELY(0 == left)) {
        const mca_pml_fastpath_done_hdr_t done = {.hdr_type = MCA_PML_FASTPATH_HDR_GET_DONE,
                                                  .hdr_id = req->req_src_req};

        mca_pml_fastpath_control_send(req->req_peer, NULL, &done, sizeof(done));
    } else {
        mca_pml_fastpath_recv_request_ack(req, MCA_PML_FASTPATH_HDR_FLAG_FIRST, req->req_unread, left, left);
    }
}

static void part_done(mca_pml_fastpath_recv_request_t *req)
{
    if (0 == OPAL_THREAD_ADD_FETCH32(&req->req_parts, -1)) {
        end(req);
    }
}

void mca_pml_fastpath_help_read(mca_pml_fastpath_recv_request_t *req, size_t unread)
{
    req->req_unread = unread; /* up to where the sender's part begins; the other part does not write this */
    part_done(req);
}

void mca_pml_fastpath_help_requested(const mca_btl_base_module_t *btl, const mca_pml_fastpath_help_hdr_t *hdr)
{
    mca_pml_fastpath_send_request_t *req =
        mca_pml_fastpath_handle_hold(MCA_PML_FASTPATH_HANDLE_SEND, hdr->hdr_src_req);
    mca_pml_fastpath_done_hdr_t done = {.hdr_type = MCA_PML_FASTPATH_HDR_HELPED, .hdr_id = hdr->hdr_dst_req};
    mca_pml_fastpath_peer_t *peer;

    if (OPAL_UNLIKELY(NULL == req)) {
        mca_pml_fastpath_stray(btl, hdr->hdr_type, "send that it names");
        return;
    }
    peer = req->req_peer;
    if (!mca_pml_fastpath_has_failed(&req->req_watch)) {
        if (OPAL_UNLIKELY(!req->req_offered || NULL == req->req_base || NULL == peer->ext
                          || 0 == hdr->hdr_length
                          || !mca_pml_fastpath_is_within(hdr->hdr_offset, hdr->hdr_length,
                                                         req->req_send.req_bytes_packed))) {
            mca_pml_fastpath_corrupt(btl, peer->proc, hdr->hdr_type, "part of the message");
        }
        if (!peer->ext->write(peer->btl_endpoint, (const char *) req->req_base + hdr->hdr_offset,
                              hdr->hdr_address, hdr->hdr_length)) {
            done.hdr_flags = MCA_PML_FASTPATH_HDR_FLAG_FAILED;
        }
        mca_pml_fastpath_control_send(peer, NULL, &done, sizeof(done));
    }
    mca_pml_fastpath_send_request_progressed(req, 1);
}

void mca_pml_fastpath_help_done(const mca_btl_base_module_t *btl, const mca_pml_fastpath_done_hdr_t *hdr)
{
    mca_pml_fastpath_recv_request_t *req =
        mca_pml_fastpath_handle_hold(MCA_PML_FASTPATH_HANDLE_RECV, hdr->hdr_id);
    size_t length;
    bool asked;

    if (OPAL_UNLIKELY(NULL == req)) {
        mca_pml_fastpath_stray(btl, hdr->hdr_type, "receive that it names");
        return;
    }
    OPAL_THREAD_LOCK(&req->req_lock);
    asked = req->req_helping;
    req->req_helping = false;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    if (OPAL_UNLIKELY(!asked)) {
        mca_pml_fastpath_corrupt(btl, req->req_peer->proc, hdr->hdr_type, "help that nobody has asked for");
    }
    length = req->req_accepted - req->req_own;
    if (OPAL_LIKELY(0 == (MCA_PML_FASTPATH_HDR_FLAG_FAILED & hdr->hdr_flags))) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_HELPED);
    } else {
        req->req_peer->help_refused = true;
        req->req_unread_end = req->req_accepted;
        length = 0;
    }
    part_done(req);
    mca_pml_fastpath_recv_request_progressed(req, length + 1);
}
