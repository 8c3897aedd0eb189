/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_recvreq.h"

int mca_pml_fastpath_irecv_init(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                                ompi_communicator_t *comm, ompi_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req = mca_pml_fastpath_recv_request_alloc();

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_recv_request_init(req, buf, count, datatype, src, tag, comm, true);
    *request = &req->req_recv.req_base.req_ompi;
    return OMPI_SUCCESS;
}

/* A request for one receive, matched or posted. */
static int recv_request(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                        ompi_communicator_t *comm, mca_pml_fastpath_recv_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req = mca_pml_fastpath_recv_request_alloc();
    int rc;

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_recv_request_init(req, buf, count, datatype, src, tag, comm, false);
    rc = mca_pml_fastpath_recv_request_start(req);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        mca_pml_fastpath_recv_request_drop(req);
        return rc;
    }
    *request = req;
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_irecv(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                           ompi_communicator_t *comm, ompi_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req;
    int rc = recv_request(buf, count, datatype, src, tag, comm, &req);

    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        *request = &req->req_recv.req_base.req_ompi;
    }
    return rc;
}

/* Wait for a receive, report it and give the request back. */
static int recv_finish(mca_pml_fastpath_recv_request_t *req, ompi_status_public_t *status)
{
    ompi_request_t *request = &req->req_recv.req_base.req_ompi;
    int rc;

    ompi_request_wait_completion(request);
    if (MPI_STATUS_IGNORE != status) {
        OMPI_COPY_STATUS(status, request->req_status, false);
    }
    rc = request->req_status.MPI_ERROR;
    mca_pml_fastpath_recv_request_drop(req);
    return rc;
}

int mca_pml_fastpath_recv_ordinary(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                                   ompi_communicator_t *comm, ompi_status_public_t *status)
{
    mca_pml_fastpath_recv_request_t *req;
    int rc = recv_request(buf, count, datatype, src, tag, comm, &req);

    return OPAL_LIKELY(OMPI_SUCCESS == rc) ? recv_finish(req, status) : rc;
}

/* A request for the message that a matched probe took out of the queues. */
static int mrecv_request(void *buf, size_t count, ompi_datatype_t *datatype, ompi_message_t **handle,
                         mca_pml_fastpath_recv_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req = mca_pml_fastpath_recv_request_alloc();
    mca_pml_fastpath_message_t *message = (*handle)->req_ptr;
    ompi_communicator_t *comm = (*handle)->comm;

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_recv_request_init(req, buf, count, datatype, message->msg.src, message->msg.tag, comm,
                                       false);
    OBJ_RELEASE(comm); /* the handle's; from here on the request keeps it */
    mca_pml_fastpath_recv_request_activate(req);
    ompi_message_return(*handle);
    *handle = MPI_MESSAGE_NULL;
    mca_pml_fastpath_recv_request_matched_message(req, message);
    *request = req;
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_imrecv(void *buf, size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                            ompi_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req;
    int rc = mrecv_request(buf, count, datatype, message, &req);

    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        *request = &req->req_recv.req_base.req_ompi;
    }
    return rc;
}

int mca_pml_fastpath_mrecv(void *buf, size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                           ompi_status_public_t *status)
{
    mca_pml_fastpath_recv_request_t *req;
    int rc = mrecv_request(buf, count, datatype, message, &req);

    return OPAL_LIKELY(OMPI_SUCCESS == rc) ? recv_finish(req, status) : rc;
}
