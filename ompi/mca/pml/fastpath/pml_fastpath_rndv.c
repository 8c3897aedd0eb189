/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Rendezvous, the sender's side: the first part of a message, and the streaming
 * of the ranges that the receiver asks for.
 */
#include "ompi_config.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_blocks.h"
#include "pml_fastpath_bml.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_help.h"
#include "pml_fastpath_kept.h"
#include "pml_fastpath_link_failed.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_rdma.h"
#include "pml_fastpath_sendreq.h"

OBJ_CLASS_INSTANCE(mca_pml_fastpath_range_t, opal_free_list_item_t, NULL, NULL);

/* Payload of a descriptor whose header has so many bytes. */
static size_t payload_of(const mca_btl_base_descriptor_t *descriptor, size_t hdr_size)
{
    return mca_pml_fastpath_segments_size(descriptor->des_segments, descriptor->des_segment_count) - hdr_size;
}

/* Bytes of data that go with the header: as many as the BTL takes in one piece, none without credit. None
 * either where all can be written to its place as soon as that is known: the receiver would have to copy
 * them. */
static size_t rndv_share(const mca_pml_fastpath_send_request_t *req, const mca_bml_base_btl_t *bml_btl)
{
    size_t limit = bml_btl->btl->btl_eager_limit;
    size_t hdr_size = mca_pml_fastpath_extcid_size(&req->req_hdr) + sizeof(mca_pml_fastpath_rndv_hdr_t);

    if (NULL != req->req_base && req->req_send.req_bytes_packed > mca_pml_fastpath_eager_limit(bml_btl)
        && mca_pml_fastpath_put_is_free(req->req_peer)) {
        return 0;
    }

    if (limit > bml_btl->btl->btl_rndv_eager_limit) {
        limit = bml_btl->btl->btl_rndv_eager_limit;
    }
    limit = limit > hdr_size ? limit - hdr_size : 0;
    return req->req_send.req_bytes_packed < limit ? req->req_send.req_bytes_packed : limit;
}

/* size: bytes of data that shall go with the header; becomes those that do, which end with an element. */
static int rndv_send(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl, size_t *size,
                     uint8_t flags)
{
    const uint32_t des_flags =
        MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    mca_pml_base_request_t *base = &req->req_send.req_base;
    mca_btl_base_descriptor_t *descriptor;
    mca_pml_fastpath_rndv_hdr_t *hdr;
    uint8_t type = MCA_PML_FASTPATH_HDR_RNDV;
    size_t hdr_size = mca_pml_fastpath_extcid_size(&req->req_hdr) + sizeof(*hdr);
    bool later;

    if (0 == *size || opal_using_threads()) {
        descriptor = mca_pml_fastpath_send_request_pack(req, bml_btl, hdr_size, *size, des_flags);
    } else {
        descriptor = mca_pml_fastpath_bml_prepare(bml_btl, &base->req_convertor, hdr_size, size, des_flags);
    }
    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *size = payload_of(descriptor, hdr_size);
    hdr = mca_pml_fastpath_extcid_put(base->req_comm, &req->req_hdr, descriptor->des_segments->seg_addr.pval,
                                      &type);
    mca_pml_fastpath_send_request_hdr(req, &hdr->hdr_match, MCA_PML_FASTPATH_HDR_RNDV,
                                      flags | (NULL != req->req_base ? MCA_PML_FASTPATH_HDR_FLAG_CONTIG : 0));
    hdr->hdr_length = req->req_send.req_bytes_packed;
    hdr->hdr_src_req = req->req_handle;
    descriptor->des_cbfunc = mca_pml_fastpath_send_request_left;
    descriptor->des_cbdata = req;
    return mca_pml_fastpath_send_request_leave(req, bml_btl, descriptor, &hdr->hdr_match, type, &later);
}

void mca_pml_fastpath_send_request_await_answer(mca_pml_fastpath_send_request_t *req, uint64_t wanted)
{
    OPAL_THREAD_LOCK(&req->req_lock);
    req->req_wanted = wanted;
    (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, MCA_PML_FASTPATH_TODO_UNKNOWN);
    req->req_unanswered = true;
    req->req_offered = false;
    req->req_helped = false;
    req->req_announced = false;
    OPAL_THREAD_UNLOCK(&req->req_lock);
}

bool mca_pml_fastpath_send_request_answered(mca_pml_fastpath_send_request_t *req, bool cancelled)
{
    bool unanswered;

    OPAL_THREAD_LOCK(&req->req_lock);
    unanswered = req->req_unanswered;
    req->req_unanswered = false;
    req->req_wanted = 0;
    if (cancelled) {
        req->req_send.req_base.req_ompi.req_status._cancelled = true;
    }
    OPAL_THREAD_UNLOCK(&req->req_lock);
    return unanswered;
}

/* The first part with its data, and what that costs. The descriptor may go on using the user's buffer
 * after the call, so it counts in req_todo too. */
static int start_rndv(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl)
{
    size_t size = rndv_share(req, bml_btl);
    int64_t cost = mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_RNDV, size);
    const bool credit = mca_pml_fastpath_credit_take(req->req_peer, cost);
    int rc;

    size = credit ? size : 0;
    (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, 1);
    rc = rndv_send(req, bml_btl, &size, credit ? 0 : MCA_PML_FASTPATH_HDR_FLAG_SHORT);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, -1);
    } else {
        cost -= mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_RNDV, size); /* that comes back by itself */
    }
    if (credit && OPAL_UNLIKELY(0 != cost)) {
        mca_pml_fastpath_credit_restore(req->req_peer, cost);
    }
    return rc;
}

/* Data with gaps that had better be packed at once than in pieces, if it can be read then.
 * @return where it is, until the request is complete; or NULL */
static void *packed_data(mca_pml_fastpath_send_request_t *req)
{
    opal_convertor_t *convertor = &req->req_send.req_base.req_convertor;
    struct iovec iov = {.iov_len = req->req_send.req_bytes_packed};
    size_t size = req->req_send.req_bytes_packed;
    uint32_t iov_count = 1;

    if (NULL == req->req_packed && mca_pml_fastpath_blocks_want_all(convertor)
        && mca_pml_fastpath_can_offer(req)) {
        req->req_packed = mca_pml_fastpath_kept_borrow(size, false);
        if (NULL != req->req_packed) {
            iov.iov_base = (IOVBASE_TYPE *) req->req_packed;
            mca_pml_fastpath_blocks_seek(convertor, 0);
            (void) opal_convertor_pack(convertor, &iov, &iov_count, &size);
            mca_pml_fastpath_blocks_seek(convertor, 0);
        }
    }
    return req->req_packed;
}

/* @return where all of a message is, contiguous; or NULL */
static void *contiguous_data(mca_pml_fastpath_send_request_t *req)
{
    void *data = NULL;

    if (0 == req->req_send.req_bytes_packed) {
        return NULL;
    }
    if (OPAL_UNLIKELY(fastpath_convertor_needs_buffers(&req->req_send.req_base.req_convertor))) {
        return packed_data(req);
    }
    opal_convertor_get_current_pointer(&req->req_send.req_base.req_convertor, &data);
    return data;
}

int mca_pml_fastpath_send_request_start_rndv(mca_pml_fastpath_send_request_t *req,
                                             mca_bml_base_btl_t *bml_btl)
{
    int rc = OMPI_ERR_NOT_AVAILABLE;

    (void) mca_pml_fastpath_send_request_handle(req); /* the answer may come before the send returns */
    mca_pml_fastpath_send_request_await_answer(req, req->req_send.req_bytes_packed);
    req->req_base = contiguous_data(req);
    if (NULL != req->req_base && req->req_send.req_bytes_packed > mca_pml_fastpath_eager_limit(bml_btl)
        && 0 == mca_pml_fastpath_extcid_size(&req->req_hdr)) {
        rc = mca_pml_fastpath_get_offer(req);
    }
    if (OMPI_ERR_NOT_AVAILABLE == rc) {
        rc = start_rndv(req, bml_btl);
    }
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc && mca_pml_fastpath_send_request_answered(req, false))) {
        /* unless a cancel was answered meanwhile, which has done this already */
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, -MCA_PML_FASTPATH_TODO_UNKNOWN);
    }
    return rc;
}

static void frag_has_left(mca_pml_fastpath_send_request_t *req, size_t size);

static size_t frag_hdr_size(const mca_pml_fastpath_send_request_t *req)
{
    return OPAL_LIKELY(0 == req->req_multi) ? sizeof(mca_pml_fastpath_frag_hdr_t)
                                            : sizeof(mca_pml_fastpath_multi_frag_hdr_t);
}

/* Fill in the header of another fragment of a message that goes in several eager ones. */
static void multi_frag_hdr(const mca_pml_fastpath_send_request_t *req, mca_pml_fastpath_multi_frag_hdr_t *hdr,
                           size_t offset)
{
    *hdr = (mca_pml_fastpath_multi_frag_hdr_t){.hdr_type = MCA_PML_FASTPATH_HDR_MULTI_FRAG,
                                               .hdr_name = opal_proc_local_get()->proc_name,
                                               .hdr_id = req->req_multi,
                                               .hdr_offset = offset};
}

/* Fill in the header of a piece. @return its type */
static uint8_t frag_hdr(const mca_pml_fastpath_send_request_t *req, void *to, size_t offset)
{
    mca_pml_fastpath_frag_hdr_t *hdr = to;

    if (OPAL_UNLIKELY(0 != req->req_multi)) {
        multi_frag_hdr(req, to, offset);
        return MCA_PML_FASTPATH_HDR_MULTI_FRAG;
    }
    memset(hdr, 0, sizeof(*hdr));
    hdr->hdr_type = MCA_PML_FASTPATH_HDR_FRAG;
    hdr->hdr_dst_req = req->req_dst_req;
    hdr->hdr_offset = offset;
    return hdr->hdr_type;
}

static void frag_completion(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            mca_btl_base_descriptor_t *descriptor, int status)
{
    mca_pml_fastpath_send_request_t *req = descriptor->des_cbdata;
    const size_t size = payload_of(descriptor, frag_hdr_size(req));

    mca_pml_fastpath_control_completion(btl, endpoint, descriptor, status);
    frag_has_left(req, size);
}

/* Send a piece that fits into an eager fragment without a descriptor, if the BTL can. Of data that has to be
 * packed fewer bytes may be to be had, which sendi could not tell. @return whether it was sent */
static bool frag_sendi(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl, size_t offset,
                       size_t size)
{
    const size_t hdr_size = frag_hdr_size(req);
    mca_pml_fastpath_hdr_t hdr;
    uint8_t type;

    if (NULL == bml_btl->btl->btl_sendi || size + hdr_size > bml_btl->btl->btl_eager_limit
        || fastpath_convertor_needs_buffers(&req->req_send.req_base.req_convertor)) {
        return false;
    }
    type = frag_hdr(req, &hdr, offset);
    mca_pml_fastpath_blocks_seek(&req->req_send.req_base.req_convertor, offset);
    return OMPI_SUCCESS
           == mca_pml_fastpath_bml_sendi_hdr(bml_btl, &req->req_send.req_base.req_convertor, &hdr, hdr_size,
                                             size, 0, type);
}

/* Send it with one: from where the data is if the BTL can, or packed. size says how many bytes it became. */
static int frag_send_described(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl,
                               size_t offset, size_t *size)
{
    mca_btl_base_descriptor_t *descriptor;

    mca_pml_fastpath_blocks_seek(&req->req_send.req_base.req_convertor, offset);
    descriptor =
        mca_pml_fastpath_bml_prepare(bml_btl, &req->req_send.req_base.req_convertor, frag_hdr_size(req), size,
                                     MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    descriptor->des_cbfunc = frag_completion;
    descriptor->des_cbdata = req;
    return mca_pml_fastpath_bml_send(bml_btl, descriptor,
                                     frag_hdr(req, descriptor->des_segments->seg_addr.pval, offset));
}

/* Send one piece, at most size bytes from offset on. size says how many it became. */
static int send_piece(mca_pml_fastpath_send_request_t *req, size_t offset, size_t *size)
{
    mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_next(&req->req_peer->endpoint->btl_send);
    const size_t limit = bml_btl->btl->btl_max_send_size - frag_hdr_size(req);
    int rc;

    *size = *size < limit ? *size : limit;
    if (frag_sendi(req, bml_btl, offset, *size)) {
        frag_has_left(req, *size);
        return OMPI_SUCCESS;
    }
    rc = frag_send_described(req, bml_btl, offset, size);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc && OMPI_ERR_OUT_OF_RESOURCE != rc)) {
        mca_pml_fastpath_link_failed(bml_btl->btl, NULL, &req->req_peer->proc->super, opal_strerror(rc));
        rc = OMPI_ERR_OUT_OF_RESOURCE; /* the request has failed meanwhile */
    }
    return rc;
}

/* Send FRAGs until enough are in flight or nothing is left. One thread at a time does it, without the
 * lock while it is in the BTL. A completion that comes meanwhile lowers req_frags under the lock, and
 * so is seen by the next look at the condition; one that comes after req_streaming was cleared starts
 * again by itself. */
static int stream(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_fastpath_range_t *range;
    int rc = OMPI_SUCCESS;

    OPAL_THREAD_LOCK(&req->req_lock);
    while (req->req_frags < mca_pml_fastpath.send_depth && !opal_list_is_empty(&req->req_ranges)
           && !mca_pml_fastpath_has_failed(&req->req_watch)) {
        size_t size;

        range = (mca_pml_fastpath_range_t *) opal_list_get_first(&req->req_ranges);
        size = range->end - range->next;
        ++req->req_frags;
        OPAL_THREAD_UNLOCK(&req->req_lock);
        rc = send_piece(req, range->next, &size);
        OPAL_THREAD_LOCK(&req->req_lock);
        if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
            --req->req_frags;
            OPAL_THREAD_UNLOCK(&req->req_lock);
            return rc; /* req_streaming stays set: the retry goes on here */
        }
        range->next += size;
        if (range->next == range->end) {
            opal_list_remove_item(&req->req_ranges, &range->super.super);
            opal_free_list_return(&mca_pml_fastpath.ranges, &range->super);
        }
    }
    req->req_streaming = false;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    return rc;
}

static int stream_retry(mca_pml_fastpath_retry_t *retry)
{
    mca_pml_fastpath_send_request_t *req =
        (mca_pml_fastpath_send_request_t *) ((char *) retry
                                             - offsetof(mca_pml_fastpath_send_request_t, req_retry));
    int rc = stream(req);

    if (OMPI_SUCCESS == rc) {
        mca_pml_fastpath_send_request_progressed(req, 1);
    }
    return rc;
}

/* Begin streaming unless somebody is at it. Whoever is at it counts in req_todo. */
static void stream_start(mca_pml_fastpath_send_request_t *req)
{
    bool mine;

    OPAL_THREAD_LOCK(&req->req_lock);
    mine = !req->req_streaming;
    if (mine) {
        req->req_streaming = true;
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, 1);
    }
    OPAL_THREAD_UNLOCK(&req->req_lock);
    if (!mine) {
        return;
    }
    if (OPAL_LIKELY(OMPI_SUCCESS == stream(req))) {
        mca_pml_fastpath_send_request_progressed(req, 1);
    } else {
        mca_pml_fastpath_retry_later(&req->req_retry, req->req_peer, MCA_PML_FASTPATH_QUEUE_REST,
                                     stream_retry);
    }
}

/* A piece is on its way, and its memory is not needed any more. */
static void frag_has_left(mca_pml_fastpath_send_request_t *req, size_t size)
{
    bool more;

    OPAL_THREAD_LOCK(&req->req_lock);
    --req->req_frags;
    mca_pml_fastpath.pieces_moved += 0 != req->req_claimed ? 1 : 0;
    more = !opal_list_is_empty(&req->req_ranges) && !mca_pml_fastpath_has_failed(&req->req_watch);
    OPAL_THREAD_UNLOCK(&req->req_lock);
    if (more) {
        stream_start(req);
    }
    mca_pml_fastpath_send_request_progressed(req, (int64_t) size);
}

void mca_pml_fastpath_send_request_stream(mca_pml_fastpath_send_request_t *req, size_t offset, size_t length)
{
    mca_pml_fastpath_range_t *range = mca_pml_fastpath_needed(opal_free_list_get(&mca_pml_fastpath.ranges),
                                                              "a message to be streamed", "free list");

    range->next = offset;
    range->end = offset + length;
    OPAL_THREAD_LOCK(&req->req_lock);
    opal_list_append(&req->req_ranges, &range->super.super);
    OPAL_THREAD_UNLOCK(&req->req_lock);
    stream_start(req);
}

bool mca_pml_fastpath_send_request_asked(mca_pml_fastpath_send_request_t *req, uint64_t offset,
                                         uint64_t length, uint8_t flags, uint64_t wanted)
{
    const bool first = 0 != (MCA_PML_FASTPATH_HDR_FLAG_FIRST & flags);
    bool valid = mca_pml_fastpath_is_within(offset, length, req->req_send.req_bytes_packed);

    OPAL_THREAD_LOCK(&req->req_lock);
    if (first) {
        valid = valid && req->req_unanswered && !mca_pml_fastpath_is_sync(req) && wanted <= req->req_wanted
                && mca_pml_fastpath_help_announced(req, flags);
        req->req_unanswered = false;
        req->req_wanted = wanted;
    }
    valid = valid && req->req_asked <= req->req_wanted && length <= req->req_wanted - req->req_asked;
    req->req_asked += length;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    if (first && valid) {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, (int64_t) wanted + (req->req_announced ? 1 : 0)
                                                           - MCA_PML_FASTPATH_TODO_UNKNOWN);
    }
    return valid;
}

void mca_pml_fastpath_send_request_acked(const mca_btl_base_module_t *btl,
                                         const mca_pml_fastpath_ack_hdr_t *hdr)
{
    mca_pml_fastpath_send_request_t *req =
        mca_pml_fastpath_send_request_named(btl, hdr->hdr_type, hdr->hdr_src_req);

    if (OPAL_UNLIKELY(NULL == req)) {
        return;
    }
    if (OPAL_UNLIKELY(!mca_pml_fastpath_send_request_asked(req, hdr->hdr_offset, hdr->hdr_length,
                                                           hdr->hdr_flags, hdr->hdr_wanted))) {
        mca_pml_fastpath_corrupt(btl, req->req_peer->proc, hdr->hdr_type, "part of the message");
    }
    req->req_dst_req = hdr->hdr_dst_req;
    mca_pml_fastpath_awaited_answered(req);
    if (0 < hdr->hdr_length) {
        mca_pml_fastpath_send_request_stream(req, hdr->hdr_offset, hdr->hdr_length);
    }
    mca_pml_fastpath_send_request_progressed(req, 1);
}

/* @return whether that answers an offer */
static bool read_whole(mca_pml_fastpath_send_request_t *req, uint8_t flags)
{
    bool valid;

    OPAL_THREAD_LOCK(&req->req_lock);
    valid = req->req_offered && req->req_unanswered && mca_pml_fastpath_help_announced(req, flags);
    req->req_unanswered = false;
    req->req_wanted = 0;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    return valid;
}

void mca_pml_fastpath_send_request_read(const mca_btl_base_module_t *btl,
                                        const mca_pml_fastpath_done_hdr_t *hdr)
{
    mca_pml_fastpath_send_request_t *req =
        mca_pml_fastpath_handle_named(MCA_PML_FASTPATH_HANDLE_SEND, hdr->hdr_id, btl, hdr->hdr_type);

    if (OPAL_UNLIKELY(NULL == req)) {
        return;
    }
    if (OPAL_UNLIKELY(!read_whole(req, hdr->hdr_flags))) {
        mca_pml_fastpath_corrupt(btl, req->req_peer->proc, hdr->hdr_type,
                                 "a message that is not there to be read");
    }
    mca_pml_fastpath_awaited_answered(req);
    mca_pml_fastpath_send_request_progressed(req,
                                             MCA_PML_FASTPATH_TODO_UNKNOWN + (req->req_announced ? 0 : 1));
}
