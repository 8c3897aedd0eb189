/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_ways.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_blocks.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_kept.h"
#include "pml_fastpath_recvreq.h"

int mca_pml_fastpath_recv_request_free(ompi_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req = (mca_pml_fastpath_recv_request_t *) *request;

    req->req_recv.req_base.req_free_called = true;
    *request = MPI_REQUEST_NULL;
    mca_pml_fastpath_recv_request_drop(req);
    return OMPI_SUCCESS;
}

void mca_pml_fastpath_recv_request_fini(mca_pml_fastpath_recv_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_recv.req_base;

    if (!mca_pml_fastpath_recv_request_contiguous(req)) {
        opal_convertor_cleanup(&base->req_convertor);
    }
    OBJ_RELEASE(base->req_comm);
    OMPI_DATATYPE_RELEASE(base->req_datatype);
}

/* Whether no message has been found for a receive. One that has begun to come is the receive's, and what
 * there is of it may have been written; but if the sender may have failed, nothing else ends the receive. The
 * communicator is locked. */
static bool can_be_cancelled(const mca_pml_fastpath_recv_request_t *req)
{
    return req->req_post.queued && (!req->req_begun || mca_pml_fastpath_ft());
}

static int recv_request_cancel(ompi_request_t *request, int complete)
{
    mca_pml_fastpath_recv_request_t *req = (mca_pml_fastpath_recv_request_t *) request;
    mca_pml_fastpath_comm_t *pml_comm;
    bool cancelled;

    (void) complete;
    if (MCA_PML_FASTPATH_RECV_PRECOMPLETED == req->req_state) {
        return OMPI_SUCCESS; /* too late */
    }
    pml_comm = mca_pml_fastpath_comm(req->req_recv.req_base.req_comm);
    OPAL_THREAD_LOCK(&pml_comm->lock);
    cancelled = can_be_cancelled(req);
    if (cancelled) {
        mca_pml_fastpath_match_cancel(&pml_comm->matcher, &req->req_post);
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    if (cancelled) {
        mca_pml_fastpath_status_set(&request->req_status, MCA_PML_FASTPATH_NO_ORIGIN, 0);
        request->req_status._cancelled = true;
        req->req_recv.req_base.req_pml_complete = true;
        mca_pml_fastpath_request_complete(request);
        mca_pml_fastpath_recv_request_drop(req);
    } else if (mca_pml_fastpath_ft()) {
        mca_pml_fastpath_failures_look_soon(); /* Open MPI has been told that it cannot complete */
    }
    return OMPI_SUCCESS;
}

static void recv_request_construct(mca_pml_fastpath_recv_request_t *req)
{
    req->req_watch = (mca_pml_fastpath_watch_t){.state = MCA_PML_FASTPATH_WATCH_NONE};
    req->req_post.queued = false;
    req->req_handle = MCA_PML_FASTPATH_HANDLE_NONE;
    req->req_whole = NULL;
    req->req_helping = false;
    req->req_asked = NULL;
    req->req_recv.req_base.req_ompi.req_start = mca_pml_fastpath.super.pml_start;
    req->req_recv.req_base.req_ompi.req_free = mca_pml_fastpath_recv_request_free;
    req->req_recv.req_base.req_ompi.req_cancel = recv_request_cancel;
    OBJ_CONSTRUCT(&req->req_lock, opal_mutex_t);
}

static void recv_request_destruct(mca_pml_fastpath_recv_request_t *req)
{
    OBJ_DESTRUCT(&req->req_lock);
}

OBJ_CLASS_INSTANCE(mca_pml_fastpath_recv_request_t, mca_pml_base_recv_request_t, recv_request_construct,
                   recv_request_destruct);

void mca_pml_fastpath_recv_request_failed(mca_pml_base_request_t *base)
{
    mca_pml_fastpath_awaited_come((mca_pml_fastpath_recv_request_t *) base, false);
    base->req_ompi.req_status.MPI_ERROR = MPI_ERR_PROC_FAILED;
    mca_pml_fastpath_request_complete(&base->req_ompi);
}

void mca_pml_fastpath_recv_request_refused(mca_pml_fastpath_recv_request_t *req, int error)
{
    req->req_recv.req_base.req_ompi.req_status.MPI_ERROR = error;
    mca_pml_fastpath_recv_request_complete(req);
}

int mca_pml_fastpath_recv_request_unstart(mca_pml_fastpath_recv_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_recv.req_base;

    base->req_pml_complete = true;
    base->req_ompi.req_state = OMPI_REQUEST_INACTIVE;
    base->req_ompi.req_complete = REQUEST_COMPLETED;
    mca_pml_fastpath_recv_request_drop(req);
    return OMPI_ERR_OUT_OF_RESOURCE;
}

uint64_t mca_pml_fastpath_recv_request_handle(mca_pml_fastpath_recv_request_t *req)
{
    if (MCA_PML_FASTPATH_HANDLE_NONE == req->req_handle) {
        req->req_handle = mca_pml_fastpath_handle_new(MCA_PML_FASTPATH_HANDLE_RECV, req, &req->req_todo);
    }
    return req->req_handle;
}

/* Data into a buffer that is not contiguous. FRAGs may come in any order, and several at a time. */
static void unpack_iov(mca_pml_fastpath_recv_request_t *req, struct iovec *iov, uint32_t iov_count,
                       size_t offset, size_t size)
{
    OPAL_THREAD_LOCK(&req->req_lock);
    mca_pml_fastpath_blocks_seek(&req->req_recv.req_base.req_convertor, offset);
    opal_convertor_unpack(&req->req_recv.req_base.req_convertor, iov, &iov_count, &size);
    OPAL_THREAD_UNLOCK(&req->req_lock);
}

void mca_pml_fastpath_recv_request_whole(mca_pml_fastpath_recv_request_t *req, bool unpack)
{
    struct iovec iov = {.iov_base = (IOVBASE_TYPE *) req->req_whole, .iov_len = req->req_accepted};

    if (unpack) {
        unpack_iov(req, &iov, 1, 0, req->req_accepted);
    }
    mca_pml_fastpath_kept_give_back(req->req_whole, req->req_accepted);
    req->req_whole = NULL;
}

void mca_pml_fastpath_recv_request_finish(mca_pml_fastpath_recv_request_t *req, int64_t todo)
{
    bool wanted;

    if (OPAL_UNLIKELY(0 > todo
                      || (0 != req->req_uncovered && !mca_pml_fastpath_has_failed(&req->req_watch)))) {
        mca_pml_fastpath_corrupt(
            mca_bml_base_btl_array_get_index(&req->req_peer->endpoint->btl_eager, 0)->btl,
            req->req_peer->proc, MCA_PML_FASTPATH_HDR_FRAG, "pieces of a message that are not the message");
    }
    mca_pml_fastpath_handle_end(&req->req_handle);
    mca_pml_fastpath_awaited_come(req, true);
    wanted = mca_pml_fastpath_unwatch(req->req_peer, &req->req_recv.req_base, &req->req_watch);
    if (OPAL_UNLIKELY(NULL != req->req_whole)) {
        mca_pml_fastpath_recv_request_whole(req, wanted);
    }
    if (OPAL_LIKELY(wanted)) {
        mca_pml_fastpath_recv_request_check_length(req);
        mca_pml_fastpath_recv_request_complete(req);
    } else {
        mca_pml_fastpath_recv_request_drop(req);
    }
}

/* Of copying what BTLs have delivered; whose it is tells an eager message's request nothing. */
static mca_common_fastpath_ways_t take_ways;

void mca_pml_fastpath_recv_request_take(void *to, const void *from, size_t length)
{
    mca_common_fastpath_ways_copy(&take_ways, MCA_COMMON_FASTPATH_TAKE_WAYS, to, from, length);
}

size_t mca_pml_fastpath_recv_request_unpack(mca_pml_fastpath_recv_request_t *req,
                                            const mca_btl_base_segment_t *segments, size_t num_segments,
                                            size_t skip, size_t offset, size_t limit)
{
    struct iovec iov[MCA_BTL_DES_MAX_SEGMENTS];
    uint32_t iov_count = 0;
    size_t taken = 0, unpacked = 0;

    for (size_t i = 0; i < num_segments && taken < limit; ++i) {
        char *from = (char *) segments[i].seg_addr.pval + skip;
        size_t size = segments[i].seg_len;

        if (size <= skip) {
            skip -= size;
            continue;
        }
        size = size - skip < limit - taken ? size - skip : limit - taken;
        skip = 0;
        if (OPAL_LIKELY(NULL != req->req_base)) {
            mca_pml_fastpath_recv_request_take((char *) req->req_base + offset + taken, from, size);
        } else {
            if (MCA_BTL_DES_MAX_SEGMENTS == iov_count) {
                unpack_iov(req, iov, iov_count, offset + unpacked, taken - unpacked);
                unpacked = taken;
                iov_count = 0;
            }
            iov[iov_count].iov_base = (IOVBASE_TYPE *) from;
            iov[iov_count].iov_len = size;
            ++iov_count;
        }
        taken += size;
    }
    if (0 < iov_count) {
        unpack_iov(req, iov, iov_count, offset + unpacked, taken - unpacked);
    }
    return taken;
}

static void answer_left(void *context)
{
    mca_pml_fastpath_recv_request_progressed(context, 1);
}

void mca_pml_fastpath_recv_request_tell(mca_pml_fastpath_recv_request_t *req, const void *hdr, size_t size)
{
    if (OPAL_UNLIKELY(!mca_pml_fastpath_control_at_once(req->req_peer, hdr, size))) {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, 1);
        mca_pml_fastpath_control_send_until(req->req_peer, NULL, hdr, size, answer_left, req);
    }
}

void mca_pml_fastpath_recv_request_ack(mca_pml_fastpath_recv_request_t *req, uint8_t flags, size_t offset,
                                       size_t length, size_t wanted)
{
    mca_pml_fastpath_ack_hdr_t ack = {.hdr_type = MCA_PML_FASTPATH_HDR_ACK,
                                      .hdr_flags = flags,
                                      .hdr_src_req = req->req_src_req,
                                      .hdr_dst_req = MCA_PML_FASTPATH_HANDLE_NONE,
                                      .hdr_offset = offset,
                                      .hdr_length = length,
                                      .hdr_wanted = wanted};

    if (0 < length) {
        ack.hdr_dst_req = mca_pml_fastpath_recv_request_handle(req);
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_uncovered, mca_pml_fastpath_range_sum(offset, length));
    }
    mca_pml_fastpath_recv_request_tell(req, &ack, sizeof(ack));
}
