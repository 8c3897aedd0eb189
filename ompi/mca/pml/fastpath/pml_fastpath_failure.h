/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Peers that fail while the others go on: jobs that were started with fault
 * tolerance (mpirun --with-ft ulfm, Open MPI 5.0 on).
 *
 * Open MPI learns that a process has failed and says so to nobody; who waits for
 * a request asks whether it can still complete, and cancels it if not. That is
 * enough for receives that no message has matched. Where a peer is at work on a
 * request, or has to answer, we see to it ourselves: while such a request is
 * under way it is on its peer's list (watched), and progress looks now and then
 * whether somebody has failed.
 *
 * A request that has failed is complete for its user. For us it is not: what the
 * peer sent before it failed may still arrive, and BTLs may call back with its
 * address. So it is kept, and touches the user's memory no
 * more, until all of that has come, or for good.
 */
#ifndef MCA_PML_FASTPATH_FAILURE_H
#define MCA_PML_FASTPATH_FAILURE_H

#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sendreq.h"
#include "pml_fastpath_watch.h"

BEGIN_C_DECLS

/** Called from progress every now and then: looks whether a process has failed. */
void mca_pml_fastpath_failures_look(void);

/** Have the next call of progress look. */
static inline void mca_pml_fastpath_failures_look_soon(void)
{
    mca_pml_fastpath.link_countdown = 0;
}

/**
 * A BTL has lost a process. With fault tolerance it has failed from here on; all others are told.
 * @param proc  NULL: nobody knows which
 * @return false without fault tolerance, or without a process: the job has to end
 */
bool mca_pml_fastpath_failure_report(ompi_proc_t *proc);

/** @return the process that a BTL's endpoint leads to, or NULL */
ompi_proc_t *mca_pml_fastpath_failure_proc_of(const struct mca_btl_base_endpoint_t *endpoint);

/** The same for a send, where there is fault tolerance. */
static inline bool mca_pml_fastpath_send_watch(mca_pml_fastpath_send_request_t *req)
{
    return !mca_pml_fastpath_ft()
           || mca_pml_fastpath_watch_begin(req->req_peer, &req->req_send.req_base, &req->req_watch);
}

static inline bool mca_pml_fastpath_send_unwatch(mca_pml_fastpath_send_request_t *req)
{
    return !mca_pml_fastpath_ft()
           || mca_pml_fastpath_watch_end(req->req_peer, &req->req_send.req_base, &req->req_watch);
}

/** And for a receive. */
static inline bool mca_pml_fastpath_recv_watch(mca_pml_fastpath_recv_request_t *req)
{
    return !mca_pml_fastpath_ft()
           || mca_pml_fastpath_watch_begin(req->req_peer, &req->req_recv.req_base, &req->req_watch);
}

static inline bool mca_pml_fastpath_recv_unwatch(mca_pml_fastpath_recv_request_t *req)
{
    return !mca_pml_fastpath_ft()
           || mca_pml_fastpath_watch_end(req->req_peer, &req->req_recv.req_base, &req->req_watch);
}

/** Complete a send in error that has just been started, and of which nothing has left. */
void mca_pml_fastpath_failure_send_refused(mca_pml_fastpath_send_request_t *req);

/** Complete a receive in error that nothing is under way for. @param error an error class */
void mca_pml_fastpath_failure_recv_refused(mca_pml_fastpath_recv_request_t *req, int error);

/**
 * No BTL leads to a member that MPI_Isend names.
 * @return OMPI_SUCCESS: its process has failed, and request is complete with that error; else
 * OMPI_ERR_UNREACH or OMPI_ERR_OUT_OF_RESOURCE
 */
int mca_pml_fastpath_failure_isend(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                                   mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                                   ompi_request_t **request);

/** @return the error of an operation that names a member that no BTL leads to */
int mca_pml_fastpath_failure_unreachable(ompi_communicator_t *comm, int rank);

/**
 * Find how to reach the sender of a message that has come. Ends the job where no BTL leads to it.
 *
 * @param member  the sender
 * @return false when its process has failed
 */
bool mca_pml_fastpath_failure_reach_sender(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm,
                                           int rank);

/**
 * Somebody wants a send back: its user, or Open MPI because it cannot complete.
 * @return whether its receiver is there to be asked
 */
bool mca_pml_fastpath_failure_cancel(mca_pml_fastpath_send_request_t *req);

/** The wait for a receive from whomever has ended without it, because somebody has failed: take it back, or
 * wait for the message that it has been matched with meanwhile. Complete on return. */
void mca_pml_fastpath_failure_recv_interrupted(mca_pml_fastpath_recv_request_t *req);

END_C_DECLS

#endif /* MCA_PML_FASTPATH_FAILURE_H */
