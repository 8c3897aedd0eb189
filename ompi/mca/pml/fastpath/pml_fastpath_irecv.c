/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_take.h"
#include "pml_fastpath_wait.h"

int mca_pml_fastpath_irecv_init(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                                ompi_communicator_t *comm, ompi_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req = mca_pml_fastpath_recv_request_alloc();

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_recv_request_init(req, buf, count, datatype, src, tag, comm, true);
    req->req_recv.req_base.req_ompi.req_status = ompi_status_empty; /* it may never be started */
    *request = &req->req_recv.req_base.req_ompi;
    return OMPI_SUCCESS;
}

/* A receive of whatever kind, matched or posted. */
static __opal_attribute_noinline__ int irecv_any(mca_pml_fastpath_recv_request_t *req, void *buf,
                                                 size_t count, ompi_datatype_t *datatype, int src, int tag,
                                                 ompi_communicator_t *comm)
{
    int rc;

    mca_pml_fastpath_recv_request_init(req, buf, count, datatype, src, tag, comm, false);
    rc = mca_pml_fastpath_recv_request_start(req);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        mca_pml_fastpath_recv_request_drop(req);
    }
    return rc;
}

/* The counter for a return code of mca_pml_fastpath_take(). */
static inline mca_pml_fastpath_counter_t outcome(int rc)
{
    return OPAL_LIKELY(OMPI_SUCCESS == rc) ? MCA_PML_FASTPATH_IRECVS_IMMEDIATE
           : OMPI_ERR_NOT_FOUND == rc      ? MCA_PML_FASTPATH_IRECVS_POSTED
                                           : MCA_PML_FASTPATH_IRECVS_OTHER_MESSAGE;
}

/* The sender whose FIFO shows whether the message of this receive is there. From whomever: the one whose
 * message has come; then src becomes its rank. Else what keeps the receive from it. */
static inline mca_pml_fastpath_counter_t find_sender(const mca_pml_fastpath_comm_t *pml_comm, int *src,
                                                     mca_pml_fastpath_member_t **member)
{
    if (OPAL_UNLIKELY(!mca_pml_fastpath.use_immediate_recv || !mca_pml_fastpath.use_immediate
                      || NULL == mca_pml_fastpath.fastsm)) {
        return MCA_PML_FASTPATH_IRECVS_OTHER;
    }
    if (MCA_PML_FASTPATH_ANY_SOURCE == *src) {
        return outcome(mca_pml_fastpath_find_sender(pml_comm, 1, member, src));
    }
    *member = pml_comm->members[*src];
    return OPAL_LIKELY(mca_pml_fastpath_member_has_ext(*member)) ? MCA_PML_FASTPATH_IRECVS_IMMEDIATE
                                                                 : MCA_PML_FASTPATH_IRECVS_NO_RECVI;
}

/* Take the message of a receive from where it arrives, if it is there, and count what has become of it.
 * Nothing is posted that comes before it, and no message waits for it. The communicator is locked, and
 * unlocked on success. */
static __opal_attribute_noinline__ bool take_arrived(mca_pml_fastpath_recv_request_t *req, void *buffer,
                                                     size_t room, int src, int tag, ompi_communicator_t *comm)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_target_t target = {.undecided = true, .tag = tag, .buffer = buffer, .room = room};
    mca_pml_fastpath_member_t *member = NULL;
    mca_pml_fastpath_counter_t counter = find_sender(pml_comm, &src, &member);
    mca_pml_fastpath_peer_t *peer;

    if (OPAL_LIKELY(MCA_PML_FASTPATH_IRECVS_IMMEDIATE == counter)) {
        counter = outcome(mca_pml_fastpath_take(pml_comm, member, src, 1, &target));
    }
    mca_pml_fastpath_count(counter);
    if (MCA_PML_FASTPATH_IRECVS_IMMEDIATE != counter) {
        return false;
    }
    peer = member->peer;
    /* from here on another thread may get what comes next, and free the communicator with its members */
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    mca_pml_fastpath_recv_request_received(req, target.word1, target.length);
    mca_pml_fastpath_credit_consumed(peer, MCA_PML_FASTPATH_HDR_MATCH, target.length, opal_using_threads());
    return true;
}

/*
 * Whether the message of a receive is not likely to be there.
 *
 * Its sender's slot is not looked at. When the next message is on its way, that would mean to wait for the
 * line, and with us all that we send behind it: stores leave in order, and not before the load has ended.
 */
static inline bool is_early(const mca_pml_fastpath_comm_t *pml_comm, int src)
{
    const mca_pml_fastpath_member_t *member;

    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_ANY_SOURCE == src)) {
        return false;
    }
    member = pml_comm->members[src];
    return OPAL_LIKELY(mca_pml_fastpath_member_has_slots(member))
           && MCA_PML_FASTPATH_EARLY_HITS != member->early_hits;
}

/* Whether what has been posted keeps a receive from taking its message: because it comes before, or because
 * to find that out is not worth it. The communicator is locked. */
static inline bool is_behind(mca_pml_fastpath_comm_t *pml_comm, int src, int tag, bool threads)
{
    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_ANY_SOURCE == src)) {
        return 0 != pml_comm->matcher.posted;
    }
    return mca_pml_fastpath_match_posted_for(&pml_comm->matcher, src)
           && (threads || is_early(pml_comm, src)
               || mca_pml_fastpath_match_posted_before(&pml_comm->matcher, src, tag));
}

/* Whether take_arrived() may look and can find anything. Only a look at the slot, where that is possible. If
 * not, that is counted. Where Open MPI's own functions wait for requests, they do not call opal_progress for
 * one that is complete. So from time to time a receive is posted there though its message may be here. */
static inline bool worth_taking(mca_pml_fastpath_comm_t *pml_comm, int src, int tag, bool threads)
{
    mca_pml_fastpath_member_t *member;

    if (OPAL_UNLIKELY(!mca_pml_fastpath.waits_installed) && mca_pml_fastpath_pace_is_due()) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_IRECVS_OTHER);
        return false;
    }
    if (is_behind(pml_comm, src, tag, threads)) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_IRECVS_QUEUED);
        return false;
    }
    if (threads || OPAL_UNLIKELY(MCA_PML_FASTPATH_ANY_SOURCE == src)) {
        return true;
    }
    member = pml_comm->members[src];
    if (OPAL_UNLIKELY(!mca_pml_fastpath_member_has_slots(member))
        || NULL != fastsm_fifo_peek(member->peer->in)) {
        return true;
    }
    member->early_hits = 0;
    mca_pml_fastpath_count(MCA_PML_FASTPATH_IRECVS_POSTED);
    return false;
}

/* A receive whose message has come unexpectedly. The communicator is locked, and unlocked on return. */
static __opal_attribute_noinline__ int matched(mca_pml_fastpath_recv_request_t *req,
                                               mca_pml_fastpath_comm_t *pml_comm,
                                               mca_pml_fastpath_match_msg_t *msg)
{
    mca_pml_fastpath_match_take(&pml_comm->matcher, msg);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    mca_pml_fastpath_recv_request_matched_message(req, mca_pml_fastpath_message_of(msg));
    return OMPI_SUCCESS;
}

/* There is no memory to post a receive. */
static __opal_attribute_noinline__ int not_posted(mca_pml_fastpath_recv_request_t *req)
{
    const int rc = mca_pml_fastpath_recv_request_unstart(req);

    mca_pml_fastpath_recv_request_drop(req);
    return rc;
}

/* A receive whose data is contiguous. If it may look, what is there already is taken immediately, as
 * MPI_Recv would do; and so is what has come unexpectedly; the request is complete then. Else it is posted,
 * under the same lock. */
static inline __opal_attribute_always_inline__ int
irecv_contiguous(mca_pml_fastpath_recv_request_t *req, void *buf, size_t count, ompi_datatype_t *datatype,
                 int src, int tag, ompi_communicator_t *comm, bool may_look)
{
    const bool threads = opal_using_threads();
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_match_msg_t *msg;
    int rc;

    if (threads) {
        opal_mutex_lock(&pml_comm->lock);
    }
    msg = mca_pml_fastpath_match_find(&pml_comm->matcher, src, tag);
    if (may_look && OPAL_LIKELY(NULL == msg) && worth_taking(pml_comm, src, tag, threads)
        && take_arrived(req, (char *) buf + datatype->super.true_lb, datatype->super.size * count, src, tag,
                        comm)) {
        return OMPI_SUCCESS;
    }
    mca_pml_fastpath_recv_request_init_contiguous(req, buf, count, datatype, src, tag, comm, threads);
    if (OPAL_UNLIKELY(NULL != msg)) {
        if (may_look) {
            mca_pml_fastpath_count(MCA_PML_FASTPATH_IRECVS_QUEUED);
        }
        return matched(req, pml_comm, msg);
    }
    rc = mca_pml_fastpath_match_post(&pml_comm->matcher, &req->req_post, src, tag);
    if (threads) {
        opal_mutex_unlock(&pml_comm->lock);
    }
    return OPAL_LIKELY(0 == rc) ? OMPI_SUCCESS : not_posted(req);
}

/* Whether irecv_contiguous knows all that there is to do for a receive. */
static inline bool is_simple(const void *buf, ompi_datatype_t *datatype, size_t count, int tag,
                             ompi_communicator_t *comm)
{
    return fastpath_is_contiguous(buf, datatype, count) && MPI_SUCCESS == fastpath_comm_error(comm, tag);
}

/* MPI_Irecv of any other kind. */
static __opal_attribute_noinline__ int irecv_rest(mca_pml_fastpath_recv_request_t *req, void *buf,
                                                  size_t count, ompi_datatype_t *datatype, int src, int tag,
                                                  ompi_communicator_t *comm)
{
    mca_pml_fastpath_count(fastpath_is_contiguous(buf, datatype, count) ? MCA_PML_FASTPATH_IRECVS_OTHER
                                                                        : MCA_PML_FASTPATH_IRECVS_DATA);
    return irecv_any(req, buf, count, datatype, src, tag, comm);
}

/* MPI_Irecv that is not of the simplest kind. */
static __opal_attribute_noinline__ int irecv(void *buf, size_t count, ompi_datatype_t *datatype, int src,
                                             int tag, ompi_communicator_t *comm, ompi_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req = mca_pml_fastpath_recv_request_alloc();

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *request = &req->req_recv.req_base.req_ompi;
    return OPAL_LIKELY(is_simple(buf, datatype, count, tag, comm))
               ? irecv_contiguous(req, buf, count, datatype, src, tag, comm, true)
               : irecv_rest(req, buf, count, datatype, src, tag, comm);
}

/* A receive with a wildcard tag has to be posted. */
static __opal_attribute_noinline__ int post_receive(mca_pml_fastpath_recv_request_t *req)
{
    const mca_pml_base_request_t *base = &req->req_recv.req_base;
    mca_pml_fastpath_matcher_t *matcher = &mca_pml_fastpath_comm(base->req_comm)->matcher;

    return OPAL_LIKELY(0
                       == mca_pml_fastpath_match_post(matcher, &req->req_post, base->req_peer, base->req_tag))
               ? OMPI_SUCCESS
               : not_posted(req);
}

/* Most receives are posted before their message has come, alone or behind others of the same source and tag:
 * those take the fast path, on which nobody is called. Only without threads. */
int mca_pml_fastpath_irecv(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                           ompi_communicator_t *comm, ompi_request_t **request)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_matcher_t *matcher = &pml_comm->matcher;
    mca_pml_fastpath_recv_request_t *req;
    const bool alone = 0 == matcher->posted;

    if (OPAL_UNLIKELY(
            opal_using_threads() || !is_simple(buf, datatype, count, tag, comm) || 0 != matcher->unexpected
            || !(alone ? is_early(pml_comm, src) : mca_pml_fastpath_match_posted_same(matcher, src, tag)))) {
        return irecv(buf, count, datatype, src, tag, comm, request);
    }
    req = (mca_pml_fastpath_recv_request_t *) opal_free_list_get_st(&mca_pml_base_recv_requests);
    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *request = &req->req_recv.req_base.req_ompi;
    mca_pml_fastpath_recv_request_init_contiguous(req, buf, count, datatype, src, tag, comm, false);
    if (!alone) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_IRECVS_QUEUED);
        mca_pml_fastpath_match_post_same(matcher, &req->req_post, src, tag);
        return OMPI_SUCCESS;
    }
    mca_pml_fastpath_count(MCA_PML_FASTPATH_IRECVS_POSTED);
    return OPAL_LIKELY(mca_pml_fastpath_match_post_lone(matcher, &req->req_post, src, tag))
               ? OMPI_SUCCESS
               : post_receive(req);
}

/* The wait for a receive from whomever has ended without it, because somebody has failed: take it back, or
 * wait for the message that it has been matched with meanwhile. Complete on return. */
static void recv_interrupted(mca_pml_fastpath_recv_request_t *req)
{
    ompi_request_t *request = &req->req_recv.req_base.req_ompi;

    (void) ompi_request_cancel(request);
    while (!REQUEST_COMPLETE(request)) {
        (void) opal_progress();
    }
    if (request->req_status._cancelled) {
        request->req_status._cancelled = 0;
        request->req_status.MPI_ERROR = MPI_ERR_PROC_FAILED;
    }
}

/* Wait for a receive, report it and give the request back. */
static int recv_finish(mca_pml_fastpath_recv_request_t *req, ompi_status_public_t *status)
{
    ompi_request_t *request = &req->req_recv.req_base.req_ompi;
    int rc;

    mca_pml_fastpath_await(request);
    if (FASTPATH_HAVE_FT && OPAL_UNLIKELY(!REQUEST_COMPLETE(request))) {
        recv_interrupted(req);
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
    mca_pml_fastpath_recv_request_t *req = mca_pml_fastpath_recv_request_alloc();
    int rc = OMPI_ERR_OUT_OF_RESOURCE;

    mca_pml_fastpath_awaited_begin_recv();
    if (OPAL_LIKELY(NULL != req)) {
        rc = OPAL_LIKELY(is_simple(buf, datatype, count, tag, comm))
                 ? irecv_contiguous(req, buf, count, datatype, src, tag, comm, false)
                 : irecv_any(req, buf, count, datatype, src, tag, comm);
    }
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        rc = recv_finish(req, status);
    }
    mca_pml_fastpath_awaited_end_recv();
    return rc;
}

/* A request for the message that a matched probe took out of the queues; NULL when memory is short. */
static mca_pml_fastpath_recv_request_t *mrecv_request(void *buf, size_t count, ompi_datatype_t *datatype,
                                                      ompi_message_t **handle)
{
    mca_pml_fastpath_recv_request_t *req = mca_pml_fastpath_recv_request_alloc();
    mca_pml_fastpath_message_t *message = (*handle)->req_ptr;
    ompi_communicator_t *comm = (*handle)->comm;

    if (OPAL_UNLIKELY(NULL == req)) {
        return NULL;
    }
    mca_pml_fastpath_recv_request_init(req, buf, count, datatype, message->msg.src, message->msg.tag, comm,
                                       false);
    OBJ_RELEASE(comm); /* the handle's; from here on the request keeps it */
    mca_pml_fastpath_recv_request_activate(req);
    ompi_message_return(*handle);
    *handle = MPI_MESSAGE_NULL;
    mca_pml_fastpath_recv_request_matched_message(req, message);
    return req;
}

int mca_pml_fastpath_imrecv(void *buf, size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                            ompi_request_t **request)
{
    mca_pml_fastpath_recv_request_t *req = mrecv_request(buf, count, datatype, message);

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *request = &req->req_recv.req_base.req_ompi;
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_mrecv(void *buf, size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                           ompi_status_public_t *status)
{
    mca_pml_fastpath_recv_request_t *req;
    int rc;

    mca_pml_fastpath_pace_wait();
    mca_pml_fastpath_awaited_begin_recv();
    req = mrecv_request(buf, count, datatype, message);
    rc = OPAL_LIKELY(NULL != req) ? recv_finish(req, status) : OMPI_ERR_OUT_OF_RESOURCE;
    mca_pml_fastpath_awaited_end_recv();
    return rc;
}
