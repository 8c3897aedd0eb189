/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_credit.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_take.h"

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

/* The member whose FIFO shows at once whether the message of this receive is there, or NULL. */
static inline mca_pml_fastpath_member_t *member_to_look_at(ompi_communicator_t *comm, int src, int tag)
{
    mca_pml_fastpath_member_t *member;

    if (OPAL_UNLIKELY(!mca_pml_fastpath.use_recvi || !mca_pml_fastpath.use_immediate
                      || MCA_PML_FASTPATH_ANY_SOURCE == src
                      || MPI_SUCCESS != fastpath_comm_error(comm, tag))) {
        return NULL;
    }
    member = mca_pml_fastpath_comm(comm)->members[src];
    return OPAL_LIKELY(NULL != member && NULL != member->peer && NULL != member->peer->ext) ? member : NULL;
}

/* A receive whose data is one piece of memory. What is there already is taken at once, as MPI_Recv would do,
 * and so is what has come unexpectedly; the request is complete then. Else it is posted, under the same lock.
 */
static inline int irecv_plain(mca_pml_fastpath_member_t *member, void *buf, size_t count,
                              ompi_datatype_t *datatype, int src, int tag, ompi_communicator_t *comm,
                              mca_pml_fastpath_recv_request_t *req)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_match_hdr_t hdr;
    size_t length = 0;
    int rc;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    if (mca_pml_fastpath_next_is_ours(pml_comm, member, src, tag)) {
        rc = mca_pml_fastpath_take(pml_comm, member, src, tag, 1, (char *) buf + datatype->super.true_lb,
                                   NULL, datatype->super.size * count, &hdr, &length);
        if (OMPI_SUCCESS == rc) {
            OPAL_THREAD_UNLOCK(&pml_comm->lock);
            --mca_pml_fastpath.recv_countdown; /* who waits sees to it */
            mca_pml_fastpath_recv_request_received(req, comm, &hdr, length);
            mca_pml_fastpath_credit_consumed(
                member->peer, mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MATCH, length));
            return OMPI_SUCCESS;
        }
    }
    mca_pml_fastpath_recv_request_init(req, buf, count, datatype, src, tag, comm, false);
    return mca_pml_fastpath_recv_request_start_locked(req, pml_comm);
}

/* A request for one receive, matched or posted; or complete, if there is a member to look at whose message is
 * there. */
static inline int recv_request(mca_pml_fastpath_member_t *member, void *buf, size_t count,
                               ompi_datatype_t *datatype, int src, int tag, ompi_communicator_t *comm,
                               mca_pml_fastpath_recv_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req = mca_pml_fastpath_recv_request_alloc();
    int rc;

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (OPAL_LIKELY(NULL != member && fastpath_is_plain(datatype, count))) {
        rc = irecv_plain(member, buf, count, datatype, src, tag, comm, req);
    } else {
        mca_pml_fastpath_recv_request_init(req, buf, count, datatype, src, tag, comm, false);
        rc = mca_pml_fastpath_recv_request_start(req);
    }
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
    int rc = recv_request(member_to_look_at(comm, src, tag), buf, count, datatype, src, tag, comm, &req);

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
    if (FASTPATH_HAVE_FT && OPAL_UNLIKELY(!REQUEST_COMPLETE(request))) {
        mca_pml_fastpath_failure_recv_interrupted(req);
    }
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
    int rc = recv_request(NULL, buf, count, datatype, src, tag, comm, &req);

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
