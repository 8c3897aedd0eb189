/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_bml.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_help.h"
#include "pml_fastpath_rdma.h"

/* Bytes that a link is given at least when a message is divided among several. */
#define LEAST_SHARE (64 * 1024)

OBJ_CLASS_INSTANCE(mca_pml_fastpath_rdma_t, mca_pml_fastpath_retry_t, NULL, NULL);

static mca_pml_fastpath_rdma_t *rdma_alloc(void *request, mca_bml_base_btl_t *bml_btl, size_t next,
                                           size_t end)
{
    mca_pml_fastpath_rdma_t *rdma =
        mca_pml_fastpath_needed(opal_free_list_get(&mca_pml_fastpath.rdmas), "a large message", "free list");

    rdma->request = request;
    rdma->bml_btl = bml_btl;
    rdma->local_handle = NULL;
    rdma->next = next;
    rdma->end = end;
    rdma->failed_at = end;
    rdma->in_flight = 0;
    rdma->busy = false;
    return rdma;
}

static void rdma_return(mca_pml_fastpath_rdma_t *rdma)
{
    if (NULL != rdma->local_handle) {
        mca_bml_base_deregister_mem(rdma->bml_btl, rdma->local_handle);
    }
    opal_free_list_return(&mca_pml_fastpath.rdmas, &rdma->super.super);
}

/* Whether a BTL to a peer moves data that way and can carry our headers. */
static bool moves_data(const mca_pml_fastpath_peer_t *peer, const mca_bml_base_btl_t *bml_btl, uint32_t flag)
{
    return 0 != (flag & bml_btl->btl_flags)
           && NULL != mca_bml_base_btl_array_find(&peer->endpoint->btl_send, bml_btl->btl);
}

/* Next such BTL, or NULL. */
static mca_bml_base_btl_t *rdma_btl(const mca_pml_fastpath_peer_t *peer, uint32_t flag)
{
    mca_bml_base_btl_array_t *array = &peer->endpoint->btl_rdma;

    for (size_t i = 0; i < mca_bml_base_btl_array_get_size(array); ++i) {
        mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_next(array);

        if (moves_data(peer, bml_btl, flag)) {
            return bml_btl;
        }
    }
    return NULL;
}

bool mca_pml_fastpath_put_is_free(const mca_pml_fastpath_peer_t *peer)
{
    const mca_bml_base_btl_t *bml_btl = mca_pml_fastpath.use_put ? rdma_btl(peer, MCA_BTL_FLAGS_PUT) : NULL;

    return NULL != bml_btl && NULL == bml_btl->btl->btl_register_mem;
}

/* Register memory where the BTL wants that. @return false when it should have but did not */
static bool rdma_register(mca_bml_base_btl_t *bml_btl, void *base, size_t size, uint32_t flags,
                          mca_btl_base_registration_handle_t **handle)
{
    *handle = NULL;
    if (NULL == bml_btl->btl->btl_register_mem) {
        return true;
    }
    mca_bml_base_register_mem(bml_btl, base, size, flags, handle);
    return NULL != *handle;
}

/* Whether it is of use to offer a message: the peer can read it, or let us write it while we wait. */
static bool can_be_taken(const mca_pml_fastpath_send_request_t *req)
{
    const mca_pml_fastpath_peer_t *peer = req->req_peer;
    mca_btl_fastsm_copies_t copies;

    if (NULL == peer->ext) {
        return true;
    }
    peer->ext->copies(peer->btl_endpoint, &copies);
    return OPAL_LIKELY(copies.is_read)
           || (copies.writes && req->req_waits && mca_pml_fastpath_is_helped(req->req_send.req_bytes_packed));
}

/* The BTL to offer a message by. One that was refused before has been registered with its BTL. */
static mca_bml_base_btl_t *offer_btl(const mca_pml_fastpath_send_request_t *req)
{
    if (NULL != req->req_get_handle) {
        return req->req_get_btl;
    }
    return mca_pml_fastpath.use_get && can_be_taken(req) ? rdma_btl(req->req_peer, MCA_BTL_FLAGS_GET) : NULL;
}

bool mca_pml_fastpath_can_offer(const mca_pml_fastpath_send_request_t *req)
{
    mca_bml_base_btl_array_t *array = &req->req_peer->endpoint->btl_rdma;

    if (!mca_pml_fastpath.use_get || !can_be_taken(req)) {
        return false;
    }
    for (size_t i = 0; i < mca_bml_base_btl_array_get_size(array); ++i) {
        if (moves_data(req->req_peer, mca_bml_base_btl_array_get_index(array, i), MCA_BTL_FLAGS_GET)) {
            return true;
        }
    }
    return false;
}

/* Flags of an RGET: whether its sender waits, and what it tells of exchanges. */
static uint8_t offer_flags(const mca_pml_fastpath_send_request_t *req)
{
    const size_t size = req->req_send.req_bytes_packed;
    const bool reduced = mca_pml_fastpath_help_is_reduced(req->req_send.req_base.req_tag, size);
    const uint8_t waits = req->req_waits ? MCA_PML_FASTPATH_HDR_FLAG_WAITS : 0;

    if (NULL == req->req_peer->ext || !mca_pml_fastpath_is_helped(size)) {
        return waits;
    }
    return waits
           | mca_pml_fastpath_awaited_tell(req->req_peer, reduced ? MCA_PML_FASTPATH_ASKED_REDUCED
                                                                  : MCA_PML_FASTPATH_ASKED_EXCHANGE);
}

int mca_pml_fastpath_get_offer(mca_pml_fastpath_send_request_t *req)
{
    mca_bml_base_btl_t *bml_btl = offer_btl(req);
    mca_btl_base_descriptor_t *descriptor;
    mca_pml_fastpath_rget_hdr_t *hdr;
    size_t handle_size;
    bool later;

    if (NULL == bml_btl
        || (NULL == req->req_get_handle
            && !rdma_register(bml_btl, req->req_base, req->req_send.req_bytes_packed,
                              MCA_BTL_REG_FLAG_REMOTE_READ, &req->req_get_handle))) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    req->req_get_btl = bml_btl;
    handle_size = NULL == req->req_get_handle ? 0 : bml_btl->btl->btl_registration_handle_size;
    descriptor = mca_pml_fastpath_bml_alloc(bml_btl, sizeof(*hdr) + handle_size,
                                            MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP
                                                | MCA_BTL_DES_FLAGS_SIGNAL);
    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    hdr = descriptor->des_segments->seg_addr.pval;
    mca_pml_fastpath_send_request_hdr(req, &hdr->hdr_rndv.hdr_match, MCA_PML_FASTPATH_HDR_RGET,
                                      offer_flags(req));
    hdr->hdr_rndv.hdr_length = req->req_send.req_bytes_packed;
    hdr->hdr_rndv.hdr_src_req = req->req_handle;
    hdr->hdr_address = (uint64_t) (uintptr_t) req->req_base;
    if (0 < handle_size) {
        memcpy(hdr + 1, req->req_get_handle, handle_size);
    }
    descriptor->des_cbfunc = mca_pml_fastpath_control_completion;
    descriptor->des_cbdata = NULL;
    req->req_offered = true;
    mca_pml_fastpath_awaited_offered(req);
    return mca_pml_fastpath_send_request_leave(req, bml_btl, descriptor, &hdr->hdr_rndv.hdr_match,
                                               MCA_PML_FASTPATH_HDR_RGET, &later);
}

/* Everything that will be read has been: tell the sender, or have the rest streamed. */
static void get_finish(mca_pml_fastpath_rdma_t *rdma)
{
    mca_pml_fastpath_recv_request_t *req = rdma->request;
    size_t good = rdma->failed_at;

    rdma_return(rdma);
    mca_pml_fastpath_help_read(req, good);
    mca_pml_fastpath_recv_request_progressed(req, good + 1);
}

static void get_continue(mca_pml_fastpath_rdma_t *rdma);

static void get_completion(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                           void *local_address, mca_btl_base_registration_handle_t *local_handle,
                           void *context, void *cbdata, int status)
{
    mca_pml_fastpath_rdma_t *rdma = cbdata;
    mca_pml_fastpath_recv_request_t *req = rdma->request;
    size_t offset = (size_t) ((char *) local_address - (char *) req->req_base);
    bool mine;

    ++mca_pml_fastpath.arrived;
    (void) btl;
    (void) endpoint;
    (void) local_handle;
    (void) context;
    OPAL_THREAD_LOCK(&req->req_lock);
    --rdma->in_flight;
    if (OPAL_UNLIKELY(OPAL_SUCCESS != status)) {
        rdma->failed_at = offset < rdma->failed_at ? offset : rdma->failed_at;
    }
    mine = !rdma->busy;
    rdma->busy = true;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    if (mine) {
        get_continue(rdma);
    }
}

/* Read one piece. Local and remote addresses differ by the same amount everywhere. */
static int get_piece(mca_pml_fastpath_rdma_t *rdma, size_t offset, size_t size)
{
    mca_pml_fastpath_recv_request_t *req = rdma->request;

    if (mca_pml_fastpath_has_failed(&req->req_watch)) {
        return OMPI_ERR_UNREACH;
    }
    if (mca_pml_fastpath_fault()) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return mca_bml_base_get(rdma->bml_btl, (char *) req->req_base + offset, rdma->remote_address + offset,
                            rdma->local_handle,
                            (mca_btl_base_registration_handle_t *) (void *) rdma->remote_handle, size, 0,
                            MCA_BTL_NO_ORDER, get_completion, rdma);
}

/* Read pieces until enough are in flight, nothing is left or one fails.
 * @return OMPI_ERR_OUT_OF_RESOURCE when the BTL has no room; otherwise the rdma may be gone */
static int get_issue(mca_pml_fastpath_retry_t *retry)
{
    mca_pml_fastpath_rdma_t *rdma = (mca_pml_fastpath_rdma_t *) retry;
    mca_pml_fastpath_recv_request_t *req = rdma->request;
    const size_t most = rdma->bml_btl->btl->btl_get_limit;
    bool finished;

    OPAL_THREAD_LOCK(&req->req_lock);
    while (rdma->in_flight < mca_pml_fastpath.get_depth && rdma->next < rdma->end
           && rdma->failed_at == rdma->end) {
        size_t offset = rdma->next;
        size_t limit = most, size;
        int rc;

        if (OPAL_UNLIKELY(req->req_alone) && 0 == rdma->in_flight) {
            rdma->end = rdma->failed_at = mca_pml_fastpath_help_again(req, offset);
            limit = mca_pml_fastpath_help_piece(req, offset, most);
        }
        size = rdma->end - offset < limit ? rdma->end - offset : limit;
        if (OPAL_UNLIKELY(0 == size)) {
            break; /* the sender does the rest */
        }

        rdma->next += size;
        ++rdma->in_flight;
        OPAL_THREAD_UNLOCK(&req->req_lock);
        rc = get_piece(rdma, offset, size);
        OPAL_THREAD_LOCK(&req->req_lock);
        if (OPAL_LIKELY(0 <= rc)) {
            continue;
        }
        --rdma->in_flight;
        rdma->next = offset;
        if (OMPI_ERR_OUT_OF_RESOURCE == rc || OMPI_ERR_TEMP_OUT_OF_RESOURCE == rc) {
            OPAL_THREAD_UNLOCK(&req->req_lock);
            return OMPI_ERR_OUT_OF_RESOURCE; /* busy stays set: the retry goes on here */
        }
        rdma->failed_at = offset < rdma->failed_at ? offset : rdma->failed_at;
    }
    rdma->busy = false;
    finished = 0 == rdma->in_flight;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    if (finished) {
        get_finish(rdma);
    }
    return OMPI_SUCCESS;
}

/* Issue pieces unless somebody is at it. */
static void get_continue(mca_pml_fastpath_rdma_t *rdma)
{
    mca_pml_fastpath_recv_request_t *req = rdma->request;

    if (OMPI_SUCCESS != get_issue(&rdma->super)) {
        mca_pml_fastpath_retry_later(&rdma->super, req->req_peer, MCA_PML_FASTPATH_QUEUE_REST, get_issue);
    }
}

static inline bool aligned(uint64_t value, size_t alignment)
{
    return alignment <= 1 || 0 == value % alignment;
}

/* Whether this message can be read into that buffer. Addresses and size as the BTL wants them. */
static bool get_possible(const mca_pml_fastpath_recv_request_t *req,
                         const mca_pml_fastpath_arrival_t *arrival, size_t handle_size)
{
    size_t alignment = arrival->btl->btl_get_alignment;
    size_t expected = NULL == arrival->btl->btl_register_mem ? 0 : arrival->btl->btl_registration_handle_size;

    return NULL != req->req_base && NULL != arrival->btl->btl_get && handle_size == expected
           && aligned(arrival->address, alignment) && aligned((uint64_t) (uintptr_t) req->req_base, alignment)
           && aligned(req->req_accepted, alignment);
}

void mca_pml_fastpath_get_start(mca_pml_fastpath_recv_request_t *req,
                                const mca_pml_fastpath_arrival_t *arrival)
{
    mca_bml_base_btl_t *bml_btl =
        mca_bml_base_btl_array_find(&req->req_peer->endpoint->btl_rdma, arrival->btl);
    size_t handle_size = mca_pml_fastpath_arrival_payload(arrival);
    size_t accepted = req->req_accepted;
    mca_pml_fastpath_rdma_t *rdma;

    req->req_todo = (int64_t) accepted + 1;
    if (NULL == bml_btl || !get_possible(req, arrival, handle_size)) {
        mca_pml_fastpath_recv_request_ack(req, MCA_PML_FASTPATH_HDR_FLAG_FIRST, 0, accepted, accepted);
        mca_pml_fastpath_recv_request_progressed(req, 1);
        return;
    }
    rdma = rdma_alloc(req, bml_btl, 0, mca_pml_fastpath_help_begin(req, arrival));
    rdma->busy = true;
    rdma->remote_address = arrival->address;
    memcpy(rdma->remote_handle, (const char *) arrival->segments->seg_addr.pval + arrival->skip, handle_size);
    if (accepted > bml_btl->btl->btl_get_local_registration_threshold
        && !rdma_register(bml_btl, req->req_base, accepted,
                          MCA_BTL_REG_FLAG_LOCAL_WRITE | MCA_BTL_REG_FLAG_REMOTE_WRITE,
                          &rdma->local_handle)) {
        rdma->failed_at = 0;
    }
    get_continue(rdma);
}

size_t mca_pml_fastpath_put_share(const mca_pml_fastpath_recv_request_t *req, size_t left)
{
    size_t stream =
        mca_pml_fastpath_put_is_free(req->req_peer) ? 0 : req->req_peer->endpoint->btl_pipeline_send_length;

    if (!mca_pml_fastpath.use_put || stream >= left || NULL == rdma_btl(req->req_peer, MCA_BTL_FLAGS_PUT)) {
        return left;
    }
    return stream;
}

/* Ask for one range to be written; where that cannot be, for it to be streamed. The PUT counts in
 * req_todo beside its bytes: should it fail, the bytes may come before its PUT_DONE. */
static void put_ask(mca_pml_fastpath_recv_request_t *req, mca_bml_base_btl_t *bml_btl, uint8_t flags,
                    size_t offset, size_t size)
{
    mca_pml_fastpath_rdma_t *rdma = rdma_alloc(req, bml_btl, offset, offset + size);
    char *to = (char *) req->req_base + offset;
    struct {
        mca_pml_fastpath_put_hdr_t hdr;
        uint8_t handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
    } put = {.hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_PUT,
                     .hdr_flags = flags,
                     .hdr_src_req = req->req_src_req,
                     .hdr_dst_req = mca_pml_fastpath_recv_request_handle(req),
                     .hdr_address = (uint64_t) (uintptr_t) to,
                     .hdr_offset = offset,
                     .hdr_length = size,
                     .hdr_wanted = req->req_accepted - req->req_put_begin}};

    if (!rdma_register(bml_btl, to, size, MCA_BTL_REG_FLAG_LOCAL_WRITE | MCA_BTL_REG_FLAG_REMOTE_WRITE,
                       &rdma->local_handle)) {
        rdma_return(rdma);
        OPAL_THREAD_LOCK(&req->req_lock);
        --req->req_puts;
        OPAL_THREAD_UNLOCK(&req->req_lock);
        mca_pml_fastpath_recv_request_ack(req, flags, offset, size, put.hdr.hdr_wanted);
        return;
    }
    if (NULL != rdma->local_handle) {
        put.hdr.hdr_handle_size = (uint32_t) bml_btl->btl->btl_registration_handle_size;
        memcpy(put.handle, rdma->local_handle, put.hdr.hdr_handle_size);
    }
    (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, 1);
    put.hdr.hdr_rdma = mca_pml_fastpath_handle_new(MCA_PML_FASTPATH_HANDLE_RDMA, rdma, NULL);
    mca_pml_fastpath_control_send(req->req_peer, bml_btl->btl, &put,
                                  sizeof(put.hdr) + put.hdr.hdr_handle_size);
}

/* How much of what is left goes by that BTL at once: its share if there are several, as much as one put may
 * move. Shares are not so small that more connections would cost more than they gain. */
static size_t put_size(const mca_pml_fastpath_recv_request_t *req, const mca_bml_base_btl_t *bml_btl)
{
    size_t left = req->req_accepted - req->req_put_next;
    size_t limit = bml_btl->btl->btl_put_limit;
    size_t fragment = bml_btl->btl->btl_rdma_pipeline_frag_size; /* 0: no limit of its own, as for pml/ob1 */
    size_t share = req->req_accepted - req->req_put_begin;

    if (1 < mca_bml_base_btl_array_get_size(&req->req_peer->endpoint->btl_rdma)) {
        share = (size_t) ((double) share * bml_btl->btl_weight);
        share = share < LEAST_SHARE ? LEAST_SHARE : (share + 4095) / 4096 * 4096;
    }
    limit = 0 == fragment || limit < fragment ? limit : fragment;
    limit = limit < share ? limit : share;
    return left < limit ? left : limit;
}

/* Ask for ranges to be written until enough are in flight or nothing is left. The caller holds the
 * request alive (counts in req_todo). */
static void put_continue(mca_pml_fastpath_recv_request_t *req)
{
    OPAL_THREAD_LOCK(&req->req_lock);
    if (req->req_put_busy) {
        OPAL_THREAD_UNLOCK(&req->req_lock);
        return;
    }
    req->req_put_busy = true;
    while (req->req_puts < mca_pml_fastpath.put_depth && req->req_put_next < req->req_accepted) {
        mca_bml_base_btl_t *bml_btl = rdma_btl(req->req_peer, MCA_BTL_FLAGS_PUT);
        size_t offset = req->req_put_next;
        size_t size = put_size(req, bml_btl);
        uint8_t flags = req->req_put_flags;

        req->req_put_flags = 0;
        req->req_put_next += size;
        ++req->req_puts;
        OPAL_THREAD_UNLOCK(&req->req_lock);
        put_ask(req, bml_btl, flags, offset, size);
        OPAL_THREAD_LOCK(&req->req_lock);
    }
    req->req_put_busy = false;
    OPAL_THREAD_UNLOCK(&req->req_lock);
}

void mca_pml_fastpath_put_start(mca_pml_fastpath_recv_request_t *req, size_t offset, bool first)
{
    req->req_put_begin = offset;
    req->req_put_flags = first ? MCA_PML_FASTPATH_HDR_FLAG_FIRST : 0;
    req->req_put_next = offset;
    req->req_puts = 0;
    req->req_put_busy = false;
    put_continue(req);
}

void mca_pml_fastpath_put_done(const mca_btl_base_module_t *btl, const mca_pml_fastpath_done_hdr_t *hdr)
{
    mca_pml_fastpath_rdma_t *rdma = mca_pml_fastpath_handle_take(MCA_PML_FASTPATH_HANDLE_RDMA, hdr->hdr_id);
    mca_pml_fastpath_recv_request_t *req;
    size_t offset, size;
    bool more;

    if (OPAL_UNLIKELY(NULL == rdma)) {
        mca_pml_fastpath_stray(btl, hdr->hdr_type, "PUT that it names");
        return;
    }
    req = rdma->request;
    offset = rdma->next;
    size = rdma->end - offset;
    rdma_return(rdma);
    OPAL_THREAD_LOCK(&req->req_lock);
    --req->req_puts;
    more = req->req_put_next < req->req_accepted && !mca_pml_fastpath_has_failed(&req->req_watch);
    OPAL_THREAD_UNLOCK(&req->req_lock);
    if (more) {
        put_continue(req);
    }
    if (0 != (MCA_PML_FASTPATH_HDR_FLAG_FAILED & hdr->hdr_flags)) {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_uncovered, mca_pml_fastpath_range_sum(offset, size));
        size = 0;
    }
    mca_pml_fastpath_recv_request_progressed(req, size + 1);
}

/* Sender: a range has been written, or cannot be. Tells the receiver, and streams it in the latter case. */
static void put_finish(mca_pml_fastpath_rdma_t *rdma, bool failed)
{
    mca_pml_fastpath_send_request_t *req = rdma->request;
    const size_t offset = rdma->next, size = rdma->end - rdma->next;
    const mca_pml_fastpath_done_hdr_t done = {.hdr_type = MCA_PML_FASTPATH_HDR_PUT_DONE,
                                              .hdr_flags = failed ? MCA_PML_FASTPATH_HDR_FLAG_FAILED : 0,
                                              .hdr_id = rdma->remote_rdma};

    mca_pml_fastpath_send_request_tell(req, rdma->bml_btl->btl, &done);
    if (failed) {
        req->req_dst_req = rdma->remote_req;
    }
    rdma_return(rdma);
    if (!failed) {
        mca_pml_fastpath_send_request_progressed(req, (int64_t) size);
    } else if (!mca_pml_fastpath_has_failed(&req->req_watch)) {
        mca_pml_fastpath_send_request_stream(req, offset, size);
    }
}

static void put_completion(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                           void *local_address, mca_btl_base_registration_handle_t *local_handle,
                           void *context, void *cbdata, int status)
{
    (void) btl;
    (void) endpoint;
    (void) local_address;
    (void) local_handle;
    (void) context;
    ++mca_pml_fastpath.arrived;
    put_finish(cbdata, OPAL_SUCCESS != status);
}

static int put_try(mca_pml_fastpath_retry_t *retry)
{
    mca_pml_fastpath_rdma_t *rdma = (mca_pml_fastpath_rdma_t *) retry;
    mca_pml_fastpath_send_request_t *req = rdma->request;
    char *from = (char *) req->req_base + rdma->next;
    size_t size = rdma->end - rdma->next;
    int rc;

    if (mca_pml_fastpath_has_failed(&req->req_watch)) {
        rdma_return(rdma);
        return OMPI_SUCCESS;
    }
    if (NULL == rdma->local_handle && size > rdma->bml_btl->btl->btl_put_local_registration_threshold
        && !rdma_register(rdma->bml_btl, from, size, 0, &rdma->local_handle)) {
        put_finish(rdma, true);
        return OMPI_SUCCESS;
    }
    if (mca_pml_fastpath_fault()) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = mca_bml_base_put(rdma->bml_btl, from, rdma->remote_address, rdma->local_handle,
                          (mca_btl_base_registration_handle_t *) (void *) rdma->remote_handle, size, 0,
                          MCA_BTL_NO_ORDER, put_completion, rdma);
    if (OPAL_LIKELY(0 <= rc)) {
        return OMPI_SUCCESS;
    }
    if (OMPI_ERR_OUT_OF_RESOURCE == rc || OMPI_ERR_TEMP_OUT_OF_RESOURCE == rc) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    put_finish(rdma, true);
    return OMPI_SUCCESS;
}

/* Whether what a PUT asks for can be done. Counts it as asked for. */
static bool put_valid(mca_pml_fastpath_send_request_t *req, const mca_bml_base_btl_t *bml_btl,
                      const mca_pml_fastpath_put_hdr_t *hdr, size_t handle_size)
{
    const size_t expected = NULL == bml_btl || NULL == bml_btl->btl->btl_register_mem
                                ? 0
                                : bml_btl->btl->btl_registration_handle_size;

    return NULL != bml_btl && NULL != req->req_base && 0 < hdr->hdr_length
           && handle_size == hdr->hdr_handle_size && handle_size == expected
           && mca_pml_fastpath_send_request_asked(req, hdr->hdr_offset, hdr->hdr_length, hdr->hdr_flags,
                                                  hdr->hdr_wanted);
}

static void put_begin(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl,
                      const mca_pml_fastpath_put_hdr_t *hdr, const void *handle)
{
    mca_pml_fastpath_rdma_t *rdma =
        rdma_alloc(req, bml_btl, hdr->hdr_offset, hdr->hdr_offset + hdr->hdr_length);

    rdma->remote_address = hdr->hdr_address;
    rdma->remote_rdma = hdr->hdr_rdma;
    rdma->remote_req = hdr->hdr_dst_req;
    memcpy(rdma->remote_handle, handle, hdr->hdr_handle_size);
    if (OMPI_SUCCESS != put_try(&rdma->super)) {
        mca_pml_fastpath_retry_later(&rdma->super, req->req_peer, MCA_PML_FASTPATH_QUEUE_REST, put_try);
    }
}

void mca_pml_fastpath_put_requested(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                    size_t num_segments)
{
    mca_pml_fastpath_put_hdr_t hdr;
    size_t handle_size =
        mca_pml_fastpath_hdr_read(MCA_PML_FASTPATH_HDR_PUT, btl, segments, num_segments, &hdr);
    mca_pml_fastpath_send_request_t *req =
        mca_pml_fastpath_send_request_named(btl, hdr.hdr_type, hdr.hdr_src_req);
    mca_bml_base_btl_t *bml_btl;

    if (OPAL_UNLIKELY(NULL == req)) {
        return;
    }
    bml_btl = mca_bml_base_btl_array_find(&req->req_peer->endpoint->btl_rdma, btl);
    if (OPAL_UNLIKELY(!put_valid(req, bml_btl, &hdr, handle_size))) {
        mca_pml_fastpath_corrupt(btl, req->req_peer->proc, hdr.hdr_type, "part of the message, or way there");
    }
    put_begin(req, bml_btl, &hdr, (const char *) segments->seg_addr.pval + sizeof(hdr));
    mca_pml_fastpath_send_request_progressed(req, 1);
}
