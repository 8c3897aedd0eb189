/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_convertor.h"

#include "pml_fastpath_blocks.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_kept.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_rdma.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sync.h"

/* A message of several pieces begins, for a buffer with gaps. A convertor that takes no parts of elements
 * gets it at once, when all of it is here: the pieces that BTLs make know nothing of elements. So do loops
 * that unpack columns of a matrix, because pieces hold few of them. */
static void whole_begin(mca_pml_fastpath_recv_request_t *req)
{
    const ompi_datatype_t *datatype = req->req_recv.req_base.req_datatype;

    if (0 == req->req_accepted || mca_pml_fastpath_recv_request_contiguous(req)) {
        return;
    }
    if (mca_common_fastpath_convertor_takes_parts(&datatype->super)) {
        if (mca_pml_fastpath_blocks_want_all(&req->req_recv.req_base.req_convertor)) {
            req->req_base = req->req_whole = mca_pml_fastpath_kept_borrow(req->req_accepted, false);
        }
        return;
    }
    req->req_whole =
        mca_pml_fastpath_needed(mca_pml_fastpath_kept_borrow(req->req_accepted, true),
                                "a message of long elements that are not one behind the other", "malloc");
    req->req_base = req->req_whole;
}

/* Status and room in the buffer: all that follows from the header alone. A buffer that is one piece of
 * memory needs no convertor; for others it is prepared only now because ANY_SOURCE does not tell whose
 * data it will have to read. */
static void recv_request_bind(mca_pml_fastpath_recv_request_t *req, const mca_pml_fastpath_arrival_t *arrival)
{
    mca_pml_base_request_t *base = &req->req_recv.req_base;

    req->req_accepted = mca_pml_fastpath_recv_request_room(req, arrival->length);
    req->req_recv.req_bytes_packed = arrival->length;
    mca_pml_fastpath_status_set(&base->req_ompi.req_status,
                                mca_pml_fastpath_match_word1(arrival->src, arrival->tag), req->req_accepted);
    req->req_base = NULL;
    if (0 == req->req_accepted) {
        return;
    }
    if (OPAL_LIKELY(mca_pml_fastpath_recv_request_contiguous(req))) {
        req->req_base = req->req_buffer;
    } else {
        base->req_proc = ompi_comm_peer_lookup(base->req_comm, arrival->src);
        opal_convertor_cleanup(&base->req_convertor); /* a persistent request comes here again */
        opal_convertor_copy_and_prepare_for_recv(base->req_proc->super.proc_convertor,
                                                 &base->req_datatype->super, base->req_count, base->req_addr,
                                                 0, &base->req_convertor);
        mca_pml_fastpath_blocks_convertor(&base->req_convertor);
    }
}

/* The sender waits for an answer: find how to reach it. @return false when it has failed */
static bool recv_request_answerable(mca_pml_fastpath_recv_request_t *req,
                                    const mca_pml_fastpath_arrival_t *arrival)
{
    ompi_communicator_t *comm = req->req_recv.req_base.req_comm;
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_comm(comm)->members[arrival->src];

    if (OPAL_UNLIKELY(!mca_pml_fastpath_failure_reach_sender(member, comm, arrival->src))) {
        return false;
    }
    req->req_peer = member->peer;
    req->req_src_req = arrival->src_req;
    req->req_uncovered = 0;
    if (OPAL_UNLIKELY(!mca_pml_fastpath_watch(req->req_peer, &req->req_recv.req_base, &req->req_watch))) {
        return false;
    }
    if (OPAL_UNLIKELY(0 != (MCA_PML_FASTPATH_HDR_FLAG_SHORT & arrival->flags))) {
        mca_pml_fastpath_credit_return(req->req_peer);
    }
    return true;
}

/* Bytes of a message that its sender has to send. Of data with gaps that is all of it, also what finds no
 * room: the sender's convertor makes no parts of elements, and only the sender knows where these end. */
static size_t wanted_of(const mca_pml_fastpath_recv_request_t *req, const mca_pml_fastpath_arrival_t *arrival,
                        size_t eager)
{
    return 0 == (MCA_PML_FASTPATH_HDR_FLAG_CONTIG & arrival->flags) && eager < req->req_accepted
               ? arrival->length
               : req->req_accepted;
}

static void matched_rndv(mca_pml_fastpath_recv_request_t *req, const mca_pml_fastpath_arrival_t *arrival)
{
    size_t eager = mca_pml_fastpath_recv_request_unpack(req, arrival->segments, arrival->num_segments,
                                                        arrival->skip, 0, req->req_accepted);
    size_t left = wanted_of(req, arrival, eager) - eager;
    size_t stream = left;

    req->req_todo = (int64_t) left + 1;
    if (0 != (MCA_PML_FASTPATH_HDR_FLAG_CONTIG & arrival->flags) && NULL != req->req_base) {
        stream = mca_pml_fastpath_put_share(req, left);
    }
    if (0 < stream || 0 == left) {
        mca_pml_fastpath_recv_request_ack(req, MCA_PML_FASTPATH_HDR_FLAG_FIRST, eager, stream, left);
    }
    if (stream < left) {
        mca_pml_fastpath_put_start(req, eager + stream, 0 == stream);
    }
    mca_pml_fastpath_recv_request_progressed(req, 1);
}

/* A message in several fragments. What has arrived before its sender failed is received. */
static void matched_multi(mca_pml_fastpath_recv_request_t *req, const mca_pml_fastpath_arrival_t *arrival)
{
    mca_pml_fastpath_multi_t *multi =
        NULL != arrival->multi ? arrival->multi : mca_pml_fastpath_multi_first(arrival);

    if (OPAL_UNLIKELY(!mca_pml_fastpath_multi_is_whole(multi) && !recv_request_answerable(req, arrival))) {
        mca_pml_fastpath_recv_request_refused(req, MPI_ERR_PROC_FAILED);
    } else {
        whole_begin(req);
        mca_pml_fastpath_multi_matched(multi, req, arrival);
    }
    if (NULL == arrival->multi) {
        mca_pml_fastpath_multi_release(multi);
    }
}

static void complete_whole(void *context)
{
    mca_pml_fastpath_recv_request_t *req = context;

    mca_pml_fastpath_recv_request_check_length(req);
    mca_pml_fastpath_recv_request_complete(req);
}

/* The sender of a whole message waits for word of it. The receive is complete when that has left: its process
 * need not call MPI again soon. */
static void matched_sync(mca_pml_fastpath_recv_request_t *req, const mca_pml_fastpath_arrival_t *arrival)
{
    ompi_communicator_t *comm = req->req_recv.req_base.req_comm;

    if (OPAL_LIKELY(mca_pml_fastpath_sync_tell(mca_pml_fastpath_comm(comm)->members[arrival->src], comm,
                                               arrival->src, arrival->sequence, complete_whole, req))) {
        complete_whole(req);
    }
}

void mca_pml_fastpath_recv_request_matched(mca_pml_fastpath_recv_request_t *req,
                                           const mca_pml_fastpath_arrival_t *arrival)
{
    recv_request_bind(req, arrival);
    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_HDR_MULTI == arrival->type)) {
        matched_multi(req, arrival);
        return;
    }
    if (OPAL_LIKELY(MCA_PML_FASTPATH_HDR_MATCH == arrival->type)) {
        if (OPAL_UNLIKELY(1 < arrival->num_segments)) {
            whole_begin(req);
        }
        (void) mca_pml_fastpath_recv_request_unpack(req, arrival->segments, arrival->num_segments,
                                                    arrival->skip, 0, req->req_accepted);
        if (OPAL_UNLIKELY(NULL != req->req_whole)) {
            mca_pml_fastpath_recv_request_whole(req, true);
        }
        if (OPAL_UNLIKELY(0 != (MCA_PML_FASTPATH_HDR_FLAG_SYNC & arrival->flags))) {
            matched_sync(req, arrival);
        } else {
            complete_whole(req);
        }
        return;
    }
    if (OPAL_UNLIKELY(!recv_request_answerable(req, arrival))) {
        mca_pml_fastpath_recv_request_refused(req, MPI_ERR_PROC_FAILED);
        return;
    }
    whole_begin(req);
    if (MCA_PML_FASTPATH_HDR_RGET == arrival->type) {
        mca_pml_fastpath_get_start(req, arrival);
    } else {
        matched_rndv(req, arrival);
    }
}

void mca_pml_fastpath_recv_request_matched_message(mca_pml_fastpath_recv_request_t *req,
                                                   mca_pml_fastpath_message_t *message)
{
    ompi_communicator_t *comm = req->req_recv.req_base.req_comm;
    mca_pml_fastpath_arrival_t arrival;
    mca_btl_base_segment_t segment;

    mca_pml_fastpath_message_consumed(message, comm);
    mca_pml_fastpath_message_arrival(message, &segment, &arrival);
    mca_pml_fastpath_recv_request_matched(req, &arrival);
    mca_pml_fastpath_multi_return(message);
}

int mca_pml_fastpath_recv_request_start(mca_pml_fastpath_recv_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_recv.req_base;
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(base->req_comm);
    mca_pml_fastpath_match_msg_t *msg;
    int rc = 0;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    mca_pml_fastpath_recv_request_activate(req);
    if (OPAL_UNLIKELY(MPI_SUCCESS != fastpath_comm_error(base->req_comm, base->req_tag))) {
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
        mca_pml_fastpath_recv_request_refused(req, fastpath_comm_error(base->req_comm, base->req_tag));
        return OMPI_SUCCESS;
    }
    msg = mca_pml_fastpath_match_find(&pml_comm->matcher, base->req_peer, base->req_tag);
    if (NULL == msg) {
        rc = mca_pml_fastpath_match_post(&pml_comm->matcher, &req->req_post, base->req_peer, base->req_tag);
    } else {
        mca_pml_fastpath_match_take(&pml_comm->matcher, msg);
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    if (NULL != msg) {
        mca_pml_fastpath_recv_request_matched_message(req, mca_pml_fastpath_message_of(msg));
        return OMPI_SUCCESS;
    }
    return OPAL_LIKELY(0 == rc) ? OMPI_SUCCESS : mca_pml_fastpath_recv_request_unstart(req);
}
