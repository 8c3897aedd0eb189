/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sendreq.h"
#include "pml_fastpath_sendreq_start.h"

/* One that has failed is kept as it is, so the next round needs another request. */
static int replace_failed(mca_pml_fastpath_send_request_t *old, ompi_request_t **request)
{
    mca_pml_base_request_t *base = &old->req_send.req_base;
    ompi_request_t *renewed;
    int rc =
        mca_pml_fastpath_isend_init(base->req_addr, base->req_count, base->req_datatype, base->req_peer,
                                    base->req_tag, old->req_send.req_send_mode, base->req_comm, &renewed);

    if (OMPI_SUCCESS == rc) {
        renewed->req_complete_cb = base->req_ompi.req_complete_cb;
        renewed->req_complete_cb_data = base->req_ompi.req_complete_cb_data;
        base->req_free_called = true;
        mca_pml_fastpath_send_request_drop(old);
        *request = renewed;
    }
    return rc;
}

/* A buffered send may be complete for its user while the copy is still under way in the request. Then this
 * round's message has another request, which is complete when it has left or has been copied; where there is
 * no room for that it is waited for, as by MPI_Bsend. The user's handle stays, because there may be copies of
 * it (MPI 4.1, 2.3: what a handle refers to is updated, not the handle). */
static int start_beside(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;
    ompi_request_t *other;
    int rc = mca_pml_fastpath_isend(base->req_addr, base->req_count, base->req_datatype, base->req_peer,
                                    base->req_tag, req->req_send.req_send_mode, base->req_comm, &other);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    ompi_request_wait_completion(other);
    (void) ompi_request_free(&other);
    OPAL_THREAD_LOCK(&req->req_lock);
    req->req_state = MCA_PML_FASTPATH_SEND_BESIDE;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    base->req_ompi.req_status._cancelled = 0;
    base->req_ompi.req_complete = REQUEST_PENDING;
    base->req_ompi.req_state = OMPI_REQUEST_ACTIVE;
    mca_pml_fastpath_send_request_mpi_complete(req);
    return OMPI_SUCCESS;
}

/* A buffered send left its convertor on the attached buffer: turn it back to the user's. */
static void bsend_reset(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;

    if (MCA_PML_BASE_SEND_BUFFERED == req->req_send.req_send_mode) {
        req->req_send.req_addr = base->req_addr;
        opal_convertor_cleanup(&base->req_convertor);
        opal_convertor_copy_and_prepare_for_send(base->req_proc->super.proc_convertor,
                                                 &base->req_datatype->super, base->req_count, base->req_addr,
                                                 0, &base->req_convertor);
    }
}

/* Another thread has given back the copy and is about to say that all is done. */
static void await_end(const mca_pml_fastpath_send_request_t *req)
{
    while (!req->req_send.req_base.req_pml_complete) {
        opal_progress();
    }
}

static int start_send(ompi_request_t **request)
{
    mca_pml_fastpath_send_request_t *req = (mca_pml_fastpath_send_request_t *) *request;
    int rc;

    if (OPAL_UNLIKELY(!req->req_send.req_base.req_pml_complete)) {
        if (mca_pml_fastpath_has_failed(&req->req_watch)) {
            rc = replace_failed(req, request);
            if (OMPI_SUCCESS != rc) {
                return rc;
            }
            req = (mca_pml_fastpath_send_request_t *) *request;
        } else if (mca_pml_fastpath_is_copied(req)) {
            return start_beside(req);
        } else {
            await_end(req);
        }
    }
    bsend_reset(req);
    req->req_paid = false;
    req->req_waits = false;
    rc = mca_pml_fastpath_send_request_prepare(req);
    if (OMPI_SUCCESS == rc) {
        mca_pml_fastpath_send_request_start(req);
    } else {
        req->req_send.req_base.req_pml_complete = true; /* nothing is under way */
    }
    return rc;
}

static int start_recv(ompi_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req = (mca_pml_fastpath_recv_request_t *) *request;
    mca_pml_base_request_t *base = &req->req_recv.req_base;
    ompi_request_t *renewed;

    /* one that has failed is kept, as its sender left it */
    if (mca_pml_fastpath_has_failed(&req->req_watch)) {
        int rc = mca_pml_fastpath_irecv_init(base->req_addr, base->req_count, base->req_datatype,
                                             base->req_peer, base->req_tag, base->req_comm, &renewed);

        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        base->req_free_called = true;
        mca_pml_fastpath_recv_request_drop(req);
        *request = renewed;
        req = (mca_pml_fastpath_recv_request_t *) renewed;
    }
    return mca_pml_fastpath_recv_request_start(req);
}

int mca_pml_fastpath_start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        mca_pml_base_request_t *base = (mca_pml_base_request_t *) requests[i];
        int rc;

        if (NULL == base || OMPI_REQUEST_PML != base->req_ompi.req_type) {
            continue;
        }
        switch (base->req_type) {
        case MCA_PML_REQUEST_SEND:
            rc = start_send(&requests[i]);
            break;
        case MCA_PML_REQUEST_RECV:
            rc = start_recv(&requests[i]);
            break;
        default:
            rc = OMPI_ERR_REQUEST;
        }
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}
