/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_bml.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_sendreq.h"

/* Data that has to be packed, or whose BTL knows convertors only. */
static __opal_attribute_noinline__ int send_convertor(mca_pml_fastpath_peer_t *peer,
                                                      mca_bml_base_btl_t *bml_btl,
                                                      mca_pml_fastpath_match_hdr_t *hdr, const void *buf,
                                                      size_t count, ompi_datatype_t *datatype, size_t size)
{
    opal_convertor_t convertor;
    int rc;

    if (NULL == bml_btl->btl->btl_sendi) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (0 == size) {
        return mca_pml_fastpath_bml_sendi(bml_btl, NULL, hdr, 0);
    }
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(peer->proc->super.proc_convertor, &datatype->super, count, buf,
                                             0, &convertor);
    rc = mca_pml_fastpath_bml_sendi(bml_btl, &convertor, hdr, size);
    opal_convertor_cleanup(&convertor);
    return rc;
}

/*
 * Try to send a message whole, before anything else is set up for it. Completes it or leaves no trace
 * but the sequence number, which the caller keeps for the ordinary path.
 *
 * hdr   filled in here
 * sent  bytes of the message
 */
static inline int send_immediate(mca_pml_fastpath_member_t *member, const void *buf, size_t count,
                                 ompi_datatype_t *datatype, int tag, uint32_t sequence,
                                 ompi_communicator_t *comm, mca_pml_fastpath_match_hdr_t *hdr, size_t *sent)
{
    mca_pml_fastpath_peer_t *peer = member->peer;
    const uint32_t ctx = member->ctx;
    mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_next(&peer->endpoint->btl_eager);
    const size_t size = datatype->super.size * count;
    const int64_t cost = mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MATCH, size);
    int rc;

    *sent = size;
    if (OPAL_UNLIKELY(0 != peer->queued || !mca_pml_fastpath_ctx_is_known(ctx)
                      || size > mca_pml_fastpath_eager_limit(bml_btl)
                      || !mca_pml_fastpath_credit_take(peer, cost))) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    mca_pml_fastpath_match_hdr_init(hdr, MCA_PML_FASTPATH_HDR_MATCH, 0, comm, ctx, tag, (uint16_t) sequence);
    if (OPAL_LIKELY(NULL != peer->ext && mca_pml_fastpath.use_immediate
                    && fastpath_is_plain(datatype, count))) {
        rc = mca_pml_fastpath_bml_sendi_plain(peer->ext, bml_btl, hdr,
                                              (const char *) buf + datatype->super.true_lb, size);
    } else {
        rc = send_convertor(peer, bml_btl, hdr, buf, count, datatype, size);
    }
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        mca_pml_fastpath_credit_untake(peer, cost);
    }
    return rc;
}

/* Is this one of the modes that need nothing of their receiver or of the attached buffer, and are we to try?
 */
static inline bool immediate_mode(mca_pml_base_send_mode_t mode)
{
    return (MCA_PML_BASE_SEND_STANDARD == mode || MCA_PML_BASE_SEND_READY == mode)
           && mca_pml_fastpath.use_sendi;
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

/* Send now, and let the request remember what a cancel needs. The request exists before the message has
 * its number, because then there is no way back. */
static int isend_immediate(mca_pml_fastpath_member_t *member, const void *buf, size_t count,
                           ompi_datatype_t *datatype, int dst, int tag, mca_pml_base_send_mode_t mode,
                           ompi_communicator_t *comm, ompi_request_t **request)
{
    mca_pml_fastpath_send_request_t *req = mca_pml_fastpath_send_request_alloc();
    uint32_t sequence;
    size_t size;

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    sequence = mca_pml_fastpath_next_sequence(member);
    if (OPAL_LIKELY(
            OMPI_SUCCESS
            == send_immediate(member, buf, count, datatype, tag, sequence, comm, &req->req_hdr, &size))) {
        mca_pml_fastpath_send_request_sent(req, member->peer, comm, sequence, size);
    } else {
        mca_pml_fastpath_send_request_init(req, member->peer, buf, count, datatype, dst, tag, mode, comm,
                                           false);
        mca_pml_fastpath_send_request_start(req, member->ctx, sequence);
    }
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
    if (OPAL_LIKELY(immediate_mode(mode))) {
        return isend_immediate(member, buf, count, datatype, dst, tag, mode, comm, request);
    }
    rc = send_request(member, buf, count, datatype, dst, tag, mode, comm, &req);
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        mca_pml_fastpath_send_request_start(req, member->ctx, mca_pml_fastpath_next_sequence(member));
        *request = &req->req_send.req_base.req_ompi;
    }
    return rc;
}

int mca_pml_fastpath_send(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                          mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_member_reach(comm, dst);
    mca_pml_fastpath_send_request_t *req = NULL;
    mca_pml_fastpath_match_hdr_t hdr;
    uint32_t sequence;
    size_t size;
    int rc;

    if (OPAL_UNLIKELY(NULL == member)) {
        return OMPI_ERR_UNREACH;
    }
    if (OPAL_LIKELY(immediate_mode(mode))) {
        sequence = mca_pml_fastpath_next_sequence(member);
        if (OPAL_LIKELY(OMPI_SUCCESS
                        == send_immediate(member, buf, count, datatype, tag, sequence, comm, &hdr, &size))) {
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
    mca_pml_fastpath_send_request_start(req, member->ctx, sequence);
    ompi_request_wait_completion(&req->req_send.req_base.req_ompi);
    rc = req->req_send.req_base.req_ompi.req_status.MPI_ERROR;
    mca_pml_fastpath_send_request_drop(req);
    return rc;
}
