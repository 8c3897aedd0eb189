/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_bml.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_sendreq.h"

/*
 * Try to send a message whole, before anything else is set up for it. Completes it or leaves no trace
 * but the sequence number, which the caller keeps for the ordinary path.
 */
static inline int send_immediate(mca_pml_fastpath_member_t *member, const void *buf, size_t count,
                                 ompi_datatype_t *datatype, int tag, uint32_t sequence,
                                 ompi_communicator_t *comm)
{
    mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_next(&member->peer->endpoint->btl_eager);
    mca_pml_fastpath_peer_t *peer = member->peer;
    mca_pml_fastpath_match_hdr_t hdr;
    opal_convertor_t convertor;
    int64_t cost;
    size_t size;
    int rc;

    ompi_datatype_type_size(datatype, &size);
    size *= count;
    cost = mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MATCH, size);
    if (NULL == bml_btl->btl->btl_sendi || 0 != peer->queued || size > mca_pml_fastpath_eager_limit(bml_btl)
        || !mca_pml_fastpath_credit_take(peer, cost)) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    mca_pml_fastpath_match_hdr_init(&hdr, MCA_PML_FASTPATH_HDR_MATCH, 0, comm, tag, (uint16_t) sequence);
    if (0 == size) {
        rc = mca_pml_fastpath_bml_sendi(bml_btl, NULL, &hdr, 0);
    } else {
        OBJ_CONSTRUCT(&convertor, opal_convertor_t);
        opal_convertor_copy_and_prepare_for_send(peer->proc->super.proc_convertor, &datatype->super, count,
                                                 buf, 0, &convertor);
        rc = mca_pml_fastpath_bml_sendi(bml_btl, &convertor, &hdr, size);
        opal_convertor_cleanup(&convertor);
    }
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        mca_pml_fastpath_credit_untake(peer, cost);
    }
    return rc;
}

/* The ordinary path of both flavours: a request that stands for the message until it has left. */
static int send_request(mca_pml_fastpath_member_t *member, const void *buf, size_t count,
                        ompi_datatype_t *datatype, int dst, int tag, mca_pml_base_send_mode_t mode,
                        ompi_communicator_t *comm, mca_pml_fastpath_send_request_t **request)
{
    mca_pml_fastpath_send_request_t *req = mca_pml_fastpath_send_request_alloc();
    int rc;

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_send_request_init(req, member->peer, buf, count, datatype, dst, tag, mode, comm, false);
    rc = mca_pml_fastpath_send_request_prepare(req);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        mca_pml_fastpath_send_request_drop(req);
        return rc;
    }
    *request = req;
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_isend_init(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                                mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                                ompi_request_t **request)
{
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_member_reach(comm, dst);
    mca_pml_fastpath_send_request_t *req;

    if (OPAL_UNLIKELY(NULL == member)) {
        return OMPI_ERR_UNREACH;
    }
    req = mca_pml_fastpath_send_request_alloc();
    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_send_request_init(req, member->peer, buf, count, datatype, dst, tag, mode, comm, true);
    req->req_send.req_base.req_pml_complete = true; /* nothing under way: start need not make another one */
    *request = &req->req_send.req_base.req_ompi;
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_isend(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                           mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request)
{
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_member_reach(comm, dst);
    mca_pml_fastpath_send_request_t *req;
    int rc;

    if (OPAL_UNLIKELY(NULL == member)) {
        return OMPI_ERR_UNREACH;
    }
    rc = send_request(member, buf, count, datatype, dst, tag, mode, comm, &req);
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        mca_pml_fastpath_send_request_start(req, mca_pml_fastpath_next_sequence(member));
        *request = &req->req_send.req_base.req_ompi;
    }
    return rc;
}

int mca_pml_fastpath_send(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                          mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_member_reach(comm, dst);
    mca_pml_fastpath_send_request_t *req = NULL;
    uint32_t sequence;
    int rc;

    if (OPAL_UNLIKELY(NULL == member)) {
        return OMPI_ERR_UNREACH;
    }
    if (OPAL_LIKELY(MCA_PML_BASE_SEND_STANDARD == mode || MCA_PML_BASE_SEND_READY == mode)) {
        sequence = mca_pml_fastpath_next_sequence(member);
        if (OPAL_LIKELY(OMPI_SUCCESS == send_immediate(member, buf, count, datatype, tag, sequence, comm))) {
            return OMPI_SUCCESS;
        }
        rc = send_request(member, buf, count, datatype, dst, tag, mode, comm, &req);
        if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
            /* the receiver would wait for this sequence number for ever */
            mca_pml_fastpath_abort("no memory", "a send request", "free list");
        }
    } else {
        rc = send_request(member, buf, count, datatype, dst, tag, mode, comm, &req);
        if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
            return rc;
        }
        sequence = mca_pml_fastpath_next_sequence(member);
    }
    mca_pml_fastpath_send_request_start(req, sequence);
    ompi_request_wait_completion(&req->req_send.req_base.req_ompi);
    rc = req->req_send.req_base.req_ompi.req_status.MPI_ERROR;
    mca_pml_fastpath_send_request_drop(req);
    return rc;
}
