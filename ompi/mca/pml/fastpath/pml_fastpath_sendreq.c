/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_bml.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_idle.h"
#include "pml_fastpath_kept.h"
#include "pml_fastpath_number.h"
#include "pml_fastpath_sendreq.h"

int mca_pml_fastpath_send_request_free(ompi_request_t **request)
{
    mca_pml_fastpath_send_request_t *req = (mca_pml_fastpath_send_request_t *) *request;

    *request = MPI_REQUEST_NULL;
    if (OPAL_LIKELY(MCA_PML_FASTPATH_SEND_PRECOMPLETED == req->req_state)) { /* nobody else holds it */
        OMPI_REQUEST_FINI(&req->req_send.req_base.req_ompi);
        opal_free_list_return(&mca_pml_base_send_requests, (opal_free_list_item_t *) req);
        return OMPI_SUCCESS;
    }
    req->req_send.req_base.req_free_called = true;
    mca_pml_fastpath_send_request_drop(req);
    return OMPI_SUCCESS;
}

static void send_request_construct(mca_pml_fastpath_send_request_t *req)
{
    req->req_send.req_base.req_ompi.req_start = mca_pml_fastpath.super.pml_start;
    req->req_send.req_base.req_ompi.req_free = mca_pml_fastpath_send_request_free;
    req->req_send.req_base.req_ompi.req_cancel = mca_pml_fastpath.handlers.cancel_send;
    req->req_handle = MCA_PML_FASTPATH_HANDLE_NONE;
    req->req_get_handle = NULL;
    req->req_packed = NULL;
    req->req_bsend_retained = NULL;
    req->req_cancel_sent = false;
    req->req_named = req->req_listed = false;
    req->req_claimed = 0;
    req->req_state = MCA_PML_FASTPATH_SEND_ORDINARY;
    req->req_watch = (mca_pml_fastpath_watch_t){.state = MCA_PML_FASTPATH_WATCH_NONE};
    OBJ_CONSTRUCT(&req->req_offer, opal_list_item_t);
    OBJ_CONSTRUCT(&req->req_retry, mca_pml_fastpath_retry_t);
    OBJ_CONSTRUCT(&req->req_lock, opal_mutex_t);
    OBJ_CONSTRUCT(&req->req_ranges, opal_list_t);
}

static void send_request_destruct(mca_pml_fastpath_send_request_t *req)
{
    OBJ_DESTRUCT(&req->req_ranges);
    OBJ_DESTRUCT(&req->req_lock);
    OBJ_DESTRUCT(&req->req_retry);
    OBJ_DESTRUCT(&req->req_offer);
}

OBJ_CLASS_INSTANCE(mca_pml_fastpath_send_request_t, mca_pml_base_send_request_t, send_request_construct,
                   send_request_destruct);

/* Open MPI 4.1 and 5.0 count the copies in the attached buffer, for MPI_Buffer_detach to wait for them, but
 * not under their lock when they make one. So nobody makes one while another one is given back. */
static opal_mutex_t copies_lock = OPAL_MUTEX_STATIC_INIT;

/* Where the copy of a message without data is. */
static char no_data;

int mca_pml_fastpath_bsend_copy(mca_pml_fastpath_send_request_t *req)
{
    int rc;

    if (0 == req->req_send.req_bytes_packed) {
        req->req_send.req_addr = &no_data;
        return OMPI_SUCCESS;
    }
    OPAL_THREAD_LOCK(&copies_lock);
    rc = mca_pml_base_bsend_request_start(&req->req_send.req_base.req_ompi);
    if (OMPI_SUCCESS == rc) {
        req->req_bsend_retained = fastpath_bsend_retain(req->req_send.req_base.req_comm);
    }
    OPAL_THREAD_UNLOCK(&copies_lock);
    return rc;
}

/* Give the copy of a buffered send in the attached buffer back. */
static void bsend_give_back(mca_pml_fastpath_send_request_t *req)
{
    opal_object_t *retained;

    if (&no_data == req->req_send.req_addr) {
        return;
    }
    OPAL_THREAD_LOCK(&copies_lock);
    mca_pml_base_bsend_request_fini(&req->req_send.req_base.req_ompi);
    retained = req->req_bsend_retained;
    req->req_bsend_retained = NULL;
    OPAL_THREAD_UNLOCK(&copies_lock);
    if (NULL != retained) {
        OBJ_RELEASE(retained);
    }
}

void mca_pml_fastpath_send_request_mpi_complete(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_fastpath_send_request_status(req);
    if (FASTPATH_HAVE_FT && OPAL_UNLIKELY(MPI_SUCCESS != req->req_watch.error)) {
        req->req_send.req_base.req_ompi.req_status.MPI_ERROR = req->req_watch.error;
        req->req_send.req_base.req_ompi.req_status._cancelled = 0; /* not by its user */
        req->req_watch.error = MPI_SUCCESS;
    }
    mca_pml_fastpath_request_complete(&req->req_send.req_base.req_ompi);
}

/* A watched request fails. Its user is told; we keep it, and the state says so to whoever comes to it. One
 * whose user knows already has a copy that waits on the attached buffer, or is being taken back. */
void mca_pml_fastpath_send_request_failed(mca_pml_base_request_t *base)
{
    mca_pml_fastpath_send_request_t *req = (mca_pml_fastpath_send_request_t *) base;

    if (req->req_listed) {
        mca_pml_fastpath_awaited_forget(req);
    }
    if (!mca_pml_fastpath_is_precompleted(req) && mca_pml_fastpath_is_copied(req)) {
        bsend_give_back(req);
    }
    if (!REQUEST_COMPLETE(&base->req_ompi)) {
        mca_pml_fastpath_send_request_status(req);
        base->req_ompi.req_status.MPI_ERROR = MPI_ERR_PROC_FAILED;
        mca_pml_fastpath_request_complete(&base->req_ompi);
    }
}

uint64_t mca_pml_fastpath_send_request_handle(mca_pml_fastpath_send_request_t *req)
{
    OPAL_THREAD_LOCK(&req->req_lock);
    if (MCA_PML_FASTPATH_HANDLE_NONE == req->req_handle) {
        req->req_asked = 0;
        req->req_wanted = 0;
        req->req_offered = false;
        req->req_handle = mca_pml_fastpath_handle_new(MCA_PML_FASTPATH_HANDLE_SEND, req, &req->req_todo);
    }
    OPAL_THREAD_UNLOCK(&req->req_lock);
    return req->req_handle;
}

mca_pml_fastpath_send_request_t *mca_pml_fastpath_send_request_named(const mca_btl_base_module_t *btl,
                                                                     uint8_t type, uint64_t handle)
{
    mca_pml_fastpath_send_request_t *req =
        mca_pml_fastpath_handle_named(MCA_PML_FASTPATH_HANDLE_SEND, handle, btl, type);

    if (NULL != req && mca_pml_fastpath_has_failed(&req->req_watch)) {
        mca_pml_fastpath_send_request_progressed(req, 1);
        return NULL;
    }
    return req;
}

/* The receiver knows it no more, and nothing but what it has been told lets it read the message. */
static void handle_end(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_fastpath_handle_end(&req->req_handle);
    if (NULL != req->req_get_handle) {
        mca_bml_base_deregister_mem(req->req_get_btl, req->req_get_handle);
        req->req_get_handle = NULL;
    }
    mca_pml_fastpath_kept_give_back(req->req_packed, req->req_send.req_bytes_packed); /* which that was of */
    req->req_packed = NULL;
}

void mca_pml_fastpath_send_request_complete(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;
    bool wanted = mca_pml_fastpath_unwatch(req->req_peer, base, &req->req_watch);

    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_HANDLE_NONE != req->req_handle)) {
        if (req->req_listed) {
            mca_pml_fastpath_awaited_forget(req);
        }
        req->req_named = false;
        handle_end(req);
    }
    if (!wanted) {
        base->req_pml_complete = true;
    } else if (mca_pml_fastpath_is_copied(req)) {
        /* its user was told when the data had been copied, or the answer to a cancel had come */
        bsend_give_back(req);
        base->req_pml_complete = true;
    } else {
        base->req_pml_complete = true;
        mca_pml_fastpath_send_request_mpi_complete(req);
    }
    mca_pml_fastpath_send_request_drop(req);
}

void mca_pml_fastpath_send_request_left(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                                        mca_btl_base_descriptor_t *descriptor, int status)
{
    mca_pml_fastpath_send_request_t *req = descriptor->des_cbdata;

    mca_pml_fastpath_control_completion(btl, endpoint, descriptor, status);
    mca_pml_fastpath_send_request_progressed(req, 1);
}

static void word_left(void *request)
{
    mca_pml_fastpath_send_request_progressed((mca_pml_fastpath_send_request_t *) request, 1);
}

void mca_pml_fastpath_send_request_tell(mca_pml_fastpath_send_request_t *req, mca_btl_base_module_t *btl,
                                        const mca_pml_fastpath_done_hdr_t *done)
{
    (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, 1);
    mca_pml_fastpath_control_send_until(req->req_peer, btl, done, sizeof(*done), word_left, req);
}

void mca_pml_fastpath_send_request_set_number(mca_pml_fastpath_send_request_t *req, uint32_t number)
{
    OPAL_THREAD_LOCK(&req->req_lock);
    req->req_send.req_base.req_sequence = number;
    req->req_sequence = number;
    req->req_hdr.hdr_seq = (uint16_t) number;
    req->req_numbered = true;
    OPAL_THREAD_UNLOCK(&req->req_lock);
}

bool mca_pml_fastpath_send_request_take_number(mca_pml_fastpath_send_request_t *req)
{
    uint32_t number;

    if (!req->req_numbered) {
        if (OPAL_UNLIKELY(!mca_pml_fastpath_number_take(req->req_member, &number))) {
            return false;
        }
        mca_pml_fastpath_send_request_set_number(req, number);
    }
    return true;
}

/* With threads and btl/fastsm: numbered as it leaves. Never refused. */
static int leave_numbered(mca_pml_fastpath_send_request_t *req, mca_btl_base_descriptor_t *descriptor,
                          mca_pml_fastpath_match_hdr_t *hdr, uint8_t type, bool *later)
{
    mca_btl_fastsm_stamp_t stamp = {
        .last = &req->req_member->sent,
        .offset = (size_t) ((char *) &hdr->hdr_seq - (char *) descriptor->des_segments->seg_addr.pval)};
    int rc = req->req_peer->ext->send_numbered(req->req_peer->btl_endpoint, descriptor,
                                               MCA_BTL_TAG_PML + type, &stamp);

    mca_pml_fastpath_send_request_set_number(req, stamp.number);
    *later = 1 != rc;
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_send_request_leave(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl,
                                        mca_btl_base_descriptor_t *descriptor,
                                        mca_pml_fastpath_match_hdr_t *hdr, uint8_t type, bool *later)
{
    if (OPAL_UNLIKELY(opal_using_threads()) && mca_pml_fastpath_in_order_at(req->req_peer)) {
        if (OPAL_UNLIKELY(mca_pml_fastpath_fault())) {
            mca_bml_base_free(bml_btl, descriptor);
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        return leave_numbered(req, descriptor, hdr, type, later);
    }
    if (OPAL_UNLIKELY(!mca_pml_fastpath_send_request_take_number(req))) {
        mca_bml_base_free(bml_btl, descriptor);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    hdr->hdr_seq = (uint16_t) req->req_sequence;
    hdr->hdr_flags |= mca_pml_fastpath_number_flags(req->req_peer, req->req_sequence);
    return mca_pml_fastpath_bml_send_or_later(bml_btl, descriptor, type, later);
}

mca_btl_base_descriptor_t *mca_pml_fastpath_send_request_pack(mca_pml_fastpath_send_request_t *req,
                                                              mca_bml_base_btl_t *bml_btl, size_t hdr_size,
                                                              size_t size, uint32_t flags)
{
    mca_btl_base_descriptor_t *descriptor = mca_pml_fastpath_bml_alloc(bml_btl, hdr_size + size, flags);

    if (OPAL_LIKELY(NULL != descriptor) && 0 < size) {
        struct iovec iov = {
            .iov_base = (IOVBASE_TYPE *) ((char *) descriptor->des_segments->seg_addr.pval + hdr_size),
            .iov_len = size};
        uint32_t iov_count = 1;

        (void) opal_convertor_pack(&req->req_send.req_base.req_convertor, &iov, &iov_count, &size);
        descriptor->des_segments->seg_len = hdr_size + size; /* it divides no element of a datatype */
    }
    return descriptor;
}
