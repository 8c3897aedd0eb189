/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What MPI_Wait* and MPI_Test* have in common: what can be said of a request, where to poll for what it waits
 * for, and how it ends.
 */
#ifndef MCA_PML_FASTPATH_REQUESTS_H
#define MCA_PML_FASTPATH_REQUESTS_H

#include "pml_fastpath_counters.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sendreq.h"
#include "pml_fastpath_take.h"

/** What was in Open MPI's table of functions that wait and test before ours. */
extern ompi_request_fns_t mca_pml_fastpath_original_requests __opal_attribute_visibility__("hidden");

/** What can be said of a request. */
typedef enum {
    MCA_PML_FASTPATH_REQUEST_PENDING, /**< not complete */
    MCA_PML_FASTPATH_REQUEST_EMPTY,   /**< MPI_REQUEST_NULL, or persistent and not started */
    MCA_PML_FASTPATH_REQUEST_SIMPLE,  /**< complete without error: hand out its status and give it back */
    MCA_PML_FASTPATH_REQUEST_OTHER    /**< complete, and a matter for the original functions */
} mca_pml_fastpath_request_kind_t;

/** @return what can be said of a request; what was written before it was complete can be read then */
static inline mca_pml_fastpath_request_kind_t mca_pml_fastpath_request_kind_of(const ompi_request_t *request)
{
    if (OMPI_REQUEST_INACTIVE == request->req_state) {
        return MCA_PML_FASTPATH_REQUEST_EMPTY;
    }
    if (!REQUEST_COMPLETE(request)) {
        return MCA_PML_FASTPATH_REQUEST_PENDING;
    }
    opal_atomic_rmb(); /* what was written before it was complete */
    return OMPI_REQUEST_GEN != request->req_type && !request->req_persistent
                   && MPI_SUCCESS == request->req_status.MPI_ERROR
               ? MCA_PML_FASTPATH_REQUEST_SIMPLE
               : MCA_PML_FASTPATH_REQUEST_OTHER;
}

/** @return whether a request of that kind is complete in error: a call that waits for all need not wait for
 * the others */
static inline bool mca_pml_fastpath_ended_in_error(const ompi_request_t *request,
                                                   mca_pml_fastpath_request_kind_t kind)
{
    return OPAL_UNLIKELY(MCA_PML_FASTPATH_REQUEST_OTHER == kind)
           && MPI_SUCCESS != request->req_status.MPI_ERROR;
}

/** Give a simple request back without a call, if that is possible. Only without threads. @return whether it
 * was */
static inline bool mca_pml_fastpath_release_request_st(ompi_request_t *request)
{
    return mca_pml_fastpath_recv_request_free == request->req_free
               ? mca_pml_fastpath_recv_request_release_st((mca_pml_fastpath_recv_request_t *) request)
               : mca_pml_fastpath_send_request_free == request->req_free
                     && mca_pml_fastpath_send_request_release_st((mca_pml_fastpath_send_request_t *) request);
}

/** Give a simple request back. @param alone  no other thread calls MPI. @return as ompi_request_free() */
static inline int mca_pml_fastpath_give_back_request(ompi_request_t **request, bool alone)
{
    if (OPAL_LIKELY(alone && mca_pml_fastpath_release_request_st(*request))) {
        *request = MPI_REQUEST_NULL;
        return OMPI_SUCCESS;
    }
    return ompi_request_free(request);
}

/** End a simple request. MPI_ERROR of a single status stays as it is. @return as ompi_request_free() */
static inline __opal_attribute_always_inline__ int
mca_pml_fastpath_finish_request(ompi_request_t **request, ompi_status_public_t *status)
{
    if (MPI_STATUS_IGNORE != status) {
        OMPI_COPY_STATUS(status, (*request)->req_status, false);
    }
    return mca_pml_fastpath_give_back_request(request, !opal_using_threads());
}

/** End a simple request that is one of several. @param at  of its status. @return as ompi_request_free() */
static inline int mca_pml_fastpath_finish_one_of(ompi_request_t **request, ompi_status_public_t *statuses,
                                                 size_t at, bool alone)
{
    if (MPI_STATUSES_IGNORE != statuses) {
        OMPI_COPY_STATUS(&statuses[at], (*request)->req_status, false);
        statuses[at].MPI_ERROR = MPI_SUCCESS;
    }
    return mca_pml_fastpath_give_back_request(request, alone);
}

/** End simple and empty requests. @return the first error of ompi_request_free(), or OMPI_SUCCESS */
static inline __opal_attribute_always_inline__ int
mca_pml_fastpath_finish_all(size_t count, ompi_request_t **requests, ompi_status_public_t *statuses)
{
    const bool alone = !opal_using_threads();
    int first_error = OMPI_SUCCESS;

    for (size_t i = 0; i < count; ++i) {
        if (OPAL_LIKELY(OMPI_REQUEST_INACTIVE != requests[i]->req_state)) {
            const int rc = mca_pml_fastpath_finish_one_of(&requests[i], statuses, i, alone);

            if (OPAL_UNLIKELY(OMPI_SUCCESS != rc && OMPI_SUCCESS == first_error)) {
                first_error = rc;
            }
        } else if (MPI_STATUSES_IGNORE != statuses) {
            OMPI_COPY_STATUS(&statuses[i], ompi_status_empty, true);
        }
    }
    return first_error;
}

/**
 * End all that are complete, if they are simple.
 *
 * @param rc  set to the first error of ompi_request_free(), or OMPI_SUCCESS
 *
 * @return false when nothing has been done
 */
bool mca_pml_fastpath_finish_some(size_t count, ompi_request_t **requests, int *outcount, int *indices,
                                  ompi_status_public_t *statuses, int *rc);

/** A message has been taken for a posted receive, and what it took is free. */
static inline __opal_attribute_always_inline__ void
mca_pml_fastpath_delivered(mca_pml_fastpath_member_t *member, const mca_pml_fastpath_target_t *target)
{
    mca_pml_fastpath_count(MCA_PML_FASTPATH_WAITS_IMMEDIATE);
    mca_pml_fastpath_recv_request_status(target->req, target->word1, target->length, target->accepted);
    mca_pml_fastpath_recv_request_complete_st(target->req);
    mca_pml_fastpath_credit_consumed(member->peer, MCA_PML_FASTPATH_HDR_MATCH, target->length, false);
}

/** mca_pml_fastpath_deliver_awaited() for a message that is in buffers of its sender's. */
int mca_pml_fastpath_deliver_long(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member,
                                  int src);

/**
 * Take the next message of a member's, and deliver it if it is the next in turn and its receive is posted.
 * Only without threads.
 *
 * @param slot  where it begins, or NULL
 *
 * @return 0, FASTSM_NOTHING, or FASTSM_SOMETHING_ELSE: it is left as it was
 */
static inline __opal_attribute_always_inline__ int
mca_pml_fastpath_deliver_awaited(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member,
                                 int src, const mca_btl_fastsm_slot_t *slot)
{
    mca_pml_fastpath_target_t target = {.posted = true};
    const int rc = mca_pml_fastpath_take_slots(pml_comm, member, src, slot, &target);

    if (OPAL_UNLIKELY(0 != rc)) {
        return FASTSM_NOTHING == rc ? rc : mca_pml_fastpath_deliver_long(pml_comm, member, src);
    }
    mca_pml_fastpath_delivered(member, &target);
    return 0;
}

/** Where to poll for what a pending request waits for. */
typedef struct {
    struct mca_btl_base_endpoint_t *endpoint; /**< the sender's; NULL: all of them */
    bool exists;                              /**< it may come through btl/fastsm at all */
    mca_pml_fastpath_comm_t *pml_comm;        /**< of one sender, as are the next */
    mca_pml_fastpath_member_t *member;
    int src;
} mca_pml_fastpath_poll_target_t;

/** @return where to poll for what a pending request waits for */
static inline mca_pml_fastpath_poll_target_t mca_pml_fastpath_poll_target_of(const ompi_request_t *request)
{
    const mca_pml_base_request_t *base = (const mca_pml_base_request_t *) request;
    mca_pml_fastpath_comm_t *pml_comm;
    mca_pml_fastpath_member_t *member;

    if (mca_pml_fastpath_recv_request_free != request->req_free) {
        return (mca_pml_fastpath_poll_target_t){.exists = false};
    }
    if (MCA_PML_FASTPATH_ANY_SOURCE == base->req_peer) {
        return (mca_pml_fastpath_poll_target_t){.exists = true};
    }
    pml_comm = mca_pml_fastpath_comm(base->req_comm);
    member = pml_comm->members[base->req_peer];
    if (OPAL_UNLIKELY(!mca_pml_fastpath_member_has_ext(member))) {
        return (mca_pml_fastpath_poll_target_t){.exists = false};
    }
    return (mca_pml_fastpath_poll_target_t){.endpoint = member->peer->btl_endpoint,
                                            .exists = true,
                                            .pml_comm = pml_comm,
                                            .member = member,
                                            .src = base->req_peer};
}

/**
 * Poll, and deliver what has come: one message that is waited for, or whatever there is.
 *
 * @param spins  how often, at least 1
 *
 * @return how many messages have come
 */
int mca_pml_fastpath_poll_sender(const mca_pml_fastpath_poll_target_t *target, unsigned spins);

#endif /* MCA_PML_FASTPATH_REQUESTS_H */
