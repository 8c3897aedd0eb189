/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_blocks.h"
#include "pml_fastpath_bml.h"
#include "pml_fastpath_cancel.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_help.h"
#include "pml_fastpath_link_failed.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_number.h"
#include "pml_fastpath_pace.h"
#include "pml_fastpath_sendreq_start.h"
#include "pml_fastpath_sync.h"

/** rounds of progress in which a buffered send may get the room that it has not found */
#define BSEND_ROUNDS 8

/* Have the convertor begin with the first byte, and pack by the loops of pml_fastpath_blocks.c where the
 * data is such. That of a buffered send is prepared anew meanwhile, so it is asked each time. */
static inline void convertor_rewind(mca_pml_fastpath_send_request_t *req)
{
    opal_convertor_t *convertor = &req->req_send.req_base.req_convertor;

    if (0 == req->req_send.req_bytes_packed) {
        return;
    }
    if (OPAL_UNLIKELY(opal_convertor_need_buffers(convertor))) {
        mca_pml_fastpath_blocks_convertor(convertor);
    }
    if (OPAL_UNLIKELY(0 != convertor->bConverted)) {
        mca_pml_fastpath_blocks_seek(convertor, 0);
    }
}

/* Touch the first bytes of a message's data, so many at the most. With threads another one may send what is
 * queued, as it makes progress, and copies are made with a lock held: if the data has to be waited for, it is
 * here, by the thread that sends it. */
static void fault_in(mca_pml_fastpath_send_request_t *req, size_t most)
{
    opal_convertor_t *convertor = &req->req_send.req_base.req_convertor;
    size_t left = req->req_send.req_bytes_packed < most ? req->req_send.req_bytes_packed : most;
    char scratch[1024];

    if (!opal_using_threads() || mca_pml_fastpath_is_copied(req)) {
        return;
    }
    convertor_rewind(req);
    while (0 < left) {
        size_t size = left < sizeof(scratch) ? left : sizeof(scratch);
        struct iovec iov = {.iov_base = (IOVBASE_TYPE *) scratch, .iov_len = size};
        uint32_t iov_count = 1;

        if (0 > opal_convertor_pack(convertor, &iov, &iov_count, &size) || 0 == size) {
            return;
        }
        left -= size;
    }
}

/* Copy a buffered send to the attached buffer, so that its user may go on. */
static int bsend_copy(mca_pml_fastpath_send_request_t *req)
{
    int rc;

    if (MCA_PML_BASE_SEND_BUFFERED != req->req_send.req_send_mode || mca_pml_fastpath_is_copied(req)) {
        return OMPI_SUCCESS;
    }
    fault_in(req, SIZE_MAX);
    convertor_rewind(req); /* an attempt that the BTL refused may have packed already */
    rc = mca_pml_fastpath_bsend_copy(req);
    if (OMPI_SUCCESS != rc) {
        req->req_send.req_addr = req->req_send.req_base.req_addr;
        req->req_send.req_base.req_pml_complete = false;
    }
    return rc;
}

/* Take the cost of an eager message out of the peer's credit, once. */
static inline bool eager_pay(mca_pml_fastpath_send_request_t *req)
{
    if (!req->req_paid) {
        req->req_paid = mca_pml_fastpath_credit_take(
            req->req_peer,
            mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MATCH, req->req_send.req_bytes_packed));
    }
    return req->req_paid;
}

/* Copy a buffered send that its user has just begun. Room that earlier ones have taken is given back when the
 * word of their receivers is read, which may lie here unread: MPI counts only what has not been received yet
 * (MPI 4.1, 3.6.1). */
static int bsend_copy_first(mca_pml_fastpath_send_request_t *req)
{
    int rc = bsend_copy(req);

    for (int i = 0; i < BSEND_ROUNDS && OMPI_SUCCESS != rc; ++i) {
        const bool before = mca_pml_fastpath_take_all(true);

        opal_progress();
        (void) mca_pml_fastpath_take_all(before);
        rc = bsend_copy(req);
    }
    return rc;
}

/* Bytes that are eager by any BTL of a peer's: messages take these in turn. */
static size_t min_eager_limit(const mca_pml_fastpath_peer_t *peer)
{
    mca_bml_base_btl_array_t *btls = &peer->endpoint->btl_eager;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < mca_bml_base_btl_array_get_size(btls); ++i) {
        const size_t limit = mca_pml_fastpath_eager_limit(mca_bml_base_btl_array_get_index(btls, i));

        least = limit < least ? limit : least;
    }
    return least;
}

int mca_pml_fastpath_send_request_prepare(mca_pml_fastpath_send_request_t *req)
{
    if (MCA_PML_BASE_SEND_BUFFERED == req->req_send.req_send_mode) {
        /* as long as it would be with the communicator's name in front */
        if (req->req_send.req_bytes_packed
                > min_eager_limit(req->req_peer) - sizeof(mca_pml_fastpath_extcid_hdr_t)
            || !eager_pay(req)) {
            return bsend_copy_first(req);
        }
    }
    return OMPI_SUCCESS;
}

/* Send the data from where it is: no copy, but the buffer is busy until the BTL is done with it. */
static int eager_inplace(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl)
{
    mca_btl_base_descriptor_t *descriptor;
    size_t size = req->req_send.req_bytes_packed;
    mca_pml_fastpath_match_hdr_t *hdr;
    bool later;
    int rc;

    descriptor = mca_pml_fastpath_bml_prepare(
        bml_btl, &req->req_send.req_base.req_convertor, sizeof(req->req_hdr), &size,
        MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (OPAL_UNLIKELY(size < req->req_send.req_bytes_packed)) {
        /* the BTL would take only a part: a matched message has to be whole */
        mca_bml_base_free(bml_btl, descriptor);
        return OMPI_ERR_NOT_SUPPORTED;
    }
    hdr = descriptor->des_segments->seg_addr.pval;
    *hdr = req->req_hdr;
    descriptor->des_cbfunc = mca_pml_fastpath_send_request_left;
    descriptor->des_cbdata = req;
    (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, 1);
    rc = mca_pml_fastpath_send_request_leave(req, bml_btl, descriptor, hdr, MCA_PML_FASTPATH_HDR_MATCH,
                                             &later);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, -1);
    }
    return rc;
}

/* Copy size bytes into a descriptor of the BTL's. Nothing of the request is needed after that, but while the
 * BTL keeps the message for want of room it is not complete: its sender may go on to where nobody calls
 * progress, such as the runtime's part of MPI_Comm_spawn, and wait there for what its receiver does next.
 * A buffered send waits for nobody. */
static int eager_copy(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl, size_t size)
{
    uint8_t type = MCA_PML_FASTPATH_HDR_MATCH;
    mca_btl_base_descriptor_t *descriptor;
    mca_pml_fastpath_match_hdr_t *hdr;
    bool later = false;
    int rc;

    descriptor = mca_pml_fastpath_send_request_pack(
        req, bml_btl, mca_pml_fastpath_extcid_size(&req->req_hdr) + sizeof(*hdr), size,
        MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    hdr = mca_pml_fastpath_extcid_put(req->req_send.req_base.req_comm, &req->req_hdr,
                                      descriptor->des_segments->seg_addr.pval, &type);
    *hdr = req->req_hdr;
    if (MCA_PML_BASE_SEND_BUFFERED == req->req_send.req_send_mode) {
        descriptor->des_cbfunc = mca_pml_fastpath_control_completion;
        descriptor->des_cbdata = NULL;
        return mca_pml_fastpath_send_request_leave(req, bml_btl, descriptor, hdr, type, &later);
    }
    descriptor->des_cbfunc = mca_pml_fastpath_send_request_left;
    descriptor->des_cbdata = req;
    (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, 1);
    rc = mca_pml_fastpath_send_request_leave(req, bml_btl, descriptor, hdr, type, &later);
    if (!later) {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, -1);
    }
    return rc;
}

/* Hand the message to the BTL whole, in a job without threads. The number is taken before: self delivers
 * within the call, and whoever is told there may send, too. */
static int eager_sendi(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl, size_t size)
{
    const bool has_number = req->req_numbered;
    int rc;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_send_request_take_number(req))) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    req->req_hdr.hdr_flags |= mca_pml_fastpath_number_flags(req->req_peer, req->req_sequence);
    rc = mca_pml_fastpath_bml_sendi(bml_btl, &req->req_send.req_base.req_convertor, &req->req_hdr, size);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        convertor_rewind(req);
        req->req_hdr.hdr_flags &= (uint8_t) ~MCA_PML_FASTPATH_HDR_FLAG_TELL;
        if (!has_number) {
            mca_pml_fastpath_number_restore(req->req_member, req->req_sequence);
            req->req_numbered = false;
        }
    }
    return rc;
}

static int start_eager(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl)
{
    size_t size = req->req_send.req_bytes_packed;

    if (OPAL_UNLIKELY(size > mca_pml_fastpath_eager_limit(bml_btl))) {
        return eager_sendi(req, bml_btl, size);
    }
    /* with threads the data has to be copied before the message is numbered, and by us: BTLs hold locks */
    if (OPAL_UNLIKELY(0 != mca_pml_fastpath_extcid_size(&req->req_hdr) || opal_using_threads())) {
        return eager_copy(req, bml_btl, size);
    }
    if (NULL != bml_btl->btl->btl_sendi && OMPI_SUCCESS == eager_sendi(req, bml_btl, size)) {
        return OMPI_SUCCESS;
    }
    if (0 != (MCA_BTL_FLAGS_SEND_INPLACE & bml_btl->btl_flags) && 0 < size
        && MCA_PML_BASE_SEND_BUFFERED != req->req_send.req_send_mode) {
        int rc = eager_inplace(req, bml_btl);

        if (OMPI_ERR_NOT_SUPPORTED != rc) {
            return rc;
        }
        convertor_rewind(req);
    }
    return eager_copy(req, bml_btl, size);
}

static inline bool is_synchronous(const mca_pml_fastpath_send_request_t *req)
{
    return MCA_PML_BASE_SEND_SYNCHRONOUS == req->req_send.req_send_mode;
}

/* Whether chunks are for this message at all: those that have not been tried before there was a request,
 * persistent and synchronous ones. The sender of a synchronous one stays until it is received, so both sides
 * may copy it. */
static bool chunks_suit(const mca_pml_fastpath_send_request_t *req)
{
    if (is_synchronous(req)) {
        return !req->req_waits || !mca_pml_fastpath_help_pays(req->req_peer, req->req_send.req_bytes_packed);
    }
    return req->req_send.req_base.req_ompi.req_persistent;
}

/* Whether a message that is too long for one eager buffer may go in several: over btl/fastsm, which takes
 * them from contiguous memory. */
static bool goes_in_chunks(mca_pml_fastpath_send_request_t *req)
{
    if (NULL == req->req_peer->ext || opal_using_threads()
        || fastpath_convertor_needs_buffers(&req->req_send.req_base.req_convertor)) {
        return false;
    }
    mca_pml_fastpath_member_ready(req->req_member);
    return NULL != req->req_member->sendi
           && req->req_send.req_bytes_packed <= mca_pml_fastpath_sendi_limit(req->req_member)
           && chunks_suit(req);
}

/* Whether a message may go whole. */
static bool goes_whole(mca_pml_fastpath_send_request_t *req, const mca_bml_base_btl_t *bml_btl)
{
    const size_t name = mca_pml_fastpath_extcid_size(&req->req_hdr);

    if (is_synchronous(req) && (0 != name || !mca_pml_fastpath_sync_may(req->req_peer))) {
        return false;
    }
    return req->req_send.req_bytes_packed + name <= mca_pml_fastpath_eager_limit(bml_btl)
           || (0 == name && goes_in_chunks(req));
}

/* Send a synchronous message whole: it has its number before, which its receiver's answer names. */
static int start_sync(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl)
{
    int rc;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_send_request_take_number(req))) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_sync_begin(req);
    rc = start_eager(req, bml_btl);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        mca_pml_fastpath_sync_refused(req);
    }
    return rc;
}

/* Choose the protocol and make one attempt. */
static int start_once(mca_pml_fastpath_send_request_t *req)
{
    mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_next(&req->req_peer->endpoint->btl_eager);

    if (OPAL_UNLIKELY(!req->req_numbered && !mca_pml_fastpath_number_is_free(req->req_member))) {
        return OMPI_ERR_OUT_OF_RESOURCE; /* nothing need be copied to find that out */
    }
    convertor_rewind(req);
    mca_pml_fastpath_extcid_look(&req->req_hdr, req->req_send.req_base.req_comm,
                                 req->req_send.req_base.req_peer);
    if (0 == req->req_multi && goes_whole(req, bml_btl) && eager_pay(req)) {
        const int rc = is_synchronous(req) ? start_sync(req, bml_btl) : start_eager(req, bml_btl);

        if (OPAL_LIKELY(OMPI_SUCCESS == rc)
            || req->req_send.req_bytes_packed <= mca_pml_fastpath_eager_limit(bml_btl)) {
            return rc;
        }
    }
    if (OPAL_UNLIKELY(req->req_paid)) { /* a BTL has refused it; or this one takes less in one piece */
        mca_pml_fastpath_credit_restore(
            req->req_peer,
            mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MATCH, req->req_send.req_bytes_packed));
        req->req_paid = false;
    }
    if (OPAL_UNLIKELY(0 != mca_pml_fastpath.num_multi_limits) && mca_pml_fastpath_multi_begin(req, bml_btl)) {
        return mca_pml_fastpath_multi_start(req, bml_btl);
    }
    return mca_pml_fastpath_send_request_start_rndv(req, bml_btl);
}

/* A message that may have its sequence number, without which its receiver cannot go on. */
static int start_checked(mca_pml_fastpath_send_request_t *req)
{
    int rc = start_once(req);

    if (OPAL_UNLIKELY(req->req_cancel_waits)) {
        mca_pml_fastpath_cancel_leave(req);
    }

    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc && OMPI_ERR_OUT_OF_RESOURCE != rc)) {
        mca_pml_fastpath_link_failed(NULL, NULL, &req->req_peer->proc->super, opal_strerror(rc));
        rc = OMPI_ERR_OUT_OF_RESOURCE; /* the request has failed meanwhile */
    }
    return rc;
}

static int start_retry(mca_pml_fastpath_retry_t *retry)
{
    mca_pml_fastpath_send_request_t *req =
        (mca_pml_fastpath_send_request_t *) ((char *) retry
                                             - offsetof(mca_pml_fastpath_send_request_t, req_retry));
    int rc = mca_pml_fastpath_has_failed(&req->req_watch) ? OMPI_SUCCESS : start_checked(req);

    if (OMPI_SUCCESS == rc) {
        mca_pml_fastpath_send_request_progressed(req, 1);
    }
    return rc;
}

/* The first attempt was accepted. Where nothing else is at work on the request (todo is ours alone) and
 * its user does not have it yet, nobody can look at it: it is completed without atomic operations. A
 * persistent request is known to its user, one that was copied is complete for its user already. */
static inline void start_accepted(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;

    if (OPAL_UNLIKELY(1 != req->req_todo || MCA_PML_FASTPATH_HANDLE_NONE != req->req_handle
                      || base->req_ompi.req_persistent || mca_pml_fastpath_is_copied(req)
                      || mca_pml_fastpath_ft())) {
        mca_pml_fastpath_send_request_progressed(req, 1);
        return;
    }
    req->req_todo = 0;
    req->req_holds = 1;
    base->req_pml_complete = true;
    mca_pml_fastpath_send_request_status(req);
    base->req_ompi.req_complete = REQUEST_COMPLETED;
}

/* Complete a send in error that has just been started, and of which nothing has left. */
static void start_refused(mca_pml_fastpath_send_request_t *req)
{
    req->req_send.req_base.req_pml_complete = true;
    mca_pml_fastpath_send_request_failed(&req->req_send.req_base);
    mca_pml_fastpath_send_request_drop(req);
}

/* A use of the request begins. */
static inline void begin_use(mca_pml_fastpath_send_request_t *req)
{
    req->req_send.req_base.req_pml_complete = false;
    req->req_send.req_base.req_ompi.req_complete = REQUEST_PENDING;
    req->req_send.req_base.req_ompi.req_state = OMPI_REQUEST_ACTIVE;
    req->req_send.req_base.req_ompi.req_status._cancelled = 0;
    /* of what is pending, too: calls that fail give back all requests with an error */
    req->req_send.req_base.req_ompi.req_status.MPI_ERROR = MPI_SUCCESS;
    req->req_numbered = false;
    req->req_cancel_waits = false;
    mca_pml_fastpath_match_hdr_init(&req->req_hdr, MCA_PML_FASTPATH_HDR_MATCH, 0,
                                    req->req_send.req_base.req_comm, req->req_member->ctx,
                                    req->req_send.req_base.req_tag, 0);
    req->req_todo = 1;
    req->req_frags = 0;
    req->req_streaming = false;
    req->req_state = MCA_PML_FASTPATH_SEND_ORDINARY;
    req->req_unanswered = false;
    req->req_multi = 0;
    if (OPAL_LIKELY(!req->req_send.req_base.req_ompi.req_persistent)) {
        req->req_holds = 2; /* its user does not have it yet */
    } else {
        (void) OPAL_THREAD_ADD_FETCH32(&req->req_holds, 1);
    }
}

void mca_pml_fastpath_send_request_kept(mca_pml_fastpath_send_request_t *req, uint32_t number)
{
    begin_use(req);
    req->req_paid = true;
    mca_pml_fastpath_send_request_set_number(req, number);
}

void mca_pml_fastpath_send_request_start(mca_pml_fastpath_send_request_t *req)
{
    begin_use(req);
    if (OPAL_UNLIKELY(!mca_pml_fastpath_watch(req->req_peer, &req->req_send.req_base, &req->req_watch))) {
        start_refused(req);
        return;
    }
    if (mca_pml_fastpath_is_copied(req)) {
        mca_pml_fastpath_send_request_mpi_complete(req);
    }
    if (OPAL_LIKELY(0 == req->req_peer->queued && OMPI_SUCCESS == start_checked(req))) {
        start_accepted(req);
        return;
    }
    fault_in(req,
             mca_bml_base_btl_array_get_index(&req->req_peer->endpoint->btl_eager, 0)->btl->btl_eager_limit);
    if (!mca_pml_fastpath_is_copied(req) && OMPI_SUCCESS == bsend_copy(req)
        && mca_pml_fastpath_is_copied(req)) {
        mca_pml_fastpath_send_request_mpi_complete(req);
    }
    mca_pml_fastpath_retry_later(&req->req_retry, req->req_peer, MCA_PML_FASTPATH_QUEUE_MESSAGES,
                                 start_retry);
}
