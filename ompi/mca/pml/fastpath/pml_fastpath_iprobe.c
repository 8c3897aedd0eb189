/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_accept.h"
#include "pml_fastpath_idle.h"
#include "pml_fastpath_pace.h"
#include "pml_fastpath_pause.h"

/* Look for a message that nobody has received. With take it is the caller's; its status is read under
 * the lock in any case, because otherwise another thread may receive it meanwhile. */
static mca_pml_fastpath_message_t *look_for_message(int src, int tag, ompi_communicator_t *comm, bool take,
                                                    ompi_status_public_t *status)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_message_t *message = NULL;
    mca_pml_fastpath_match_msg_t *msg;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    msg = mca_pml_fastpath_match_find(&pml_comm->matcher, src, tag);
    if (NULL != msg) {
        message = mca_pml_fastpath_message_of(msg);
        if (MPI_STATUS_IGNORE != status) {
            mca_pml_fastpath_status_set(
                status, mca_pml_fastpath_match_word1(message->msg.src, message->msg.tag), message->length);
        }
        if (take) {
            mca_pml_fastpath_match_take(&pml_comm->matcher, msg);
        }
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return message;
}

/* The same, giving the message a chance to arrive first. idle: of a probe that waits; else NULL. */
static mca_pml_fastpath_message_t *look_progress(int src, int tag, ompi_communicator_t *comm, bool take,
                                                 ompi_status_public_t *status, mca_pml_fastpath_idle_t *idle)
{
    mca_pml_fastpath_message_t *message;

    mca_pml_fastpath_pace_wait();
    message = look_for_message(src, tag, comm, take, status);
    if (NULL == message) {
        if (NULL == idle) {
            mca_pml_fastpath_pause();
        } else {
            mca_pml_fastpath_pause_idle(idle);
        }
        message = look_for_message(src, tag, comm, take, status);
    }
    return message;
}

/* What a probe says that has found nothing, or on a communicator that is of no use any more. */
static inline int probe_error(int src, int tag, ompi_communicator_t *comm)
{
    return mca_pml_fastpath_ft() ? fastpath_source_error(comm, src, tag) : OMPI_SUCCESS;
}

int mca_pml_fastpath_iprobe(int src, int tag, ompi_communicator_t *comm, int *matched,
                            ompi_status_public_t *status)
{
    int rc = fastpath_comm_error(comm, tag);

    *matched = OMPI_SUCCESS == rc && NULL != look_progress(src, tag, comm, false, status, NULL);
    return *matched ? OMPI_SUCCESS : probe_error(src, tag, comm);
}

int mca_pml_fastpath_probe(int src, int tag, ompi_communicator_t *comm, ompi_status_public_t *status)
{
    mca_pml_fastpath_idle_t idle = {0};
    int rc = OMPI_SUCCESS;

    while (OMPI_SUCCESS == rc && NULL == look_progress(src, tag, comm, false, status, &idle)) {
        rc = probe_error(src, tag, comm);
    }
    return rc;
}

/* Wrap a message that was taken out of the queues; NULL: there was none. handle is allocated before the look,
 * so that nothing can fail once the message has been taken. It keeps the communicator, which its user may
 * free before the message is received. @return whether there is a message */
static bool wrap(ompi_message_t *handle, mca_pml_fastpath_message_t *found, ompi_communicator_t *comm,
                 ompi_message_t **message)
{
    if (NULL == found) {
        ompi_message_return(handle);
        *message = MPI_MESSAGE_NULL;
        return false;
    }
    OBJ_RETAIN(comm);
    handle->comm = comm;
    handle->req_ptr = found;
    handle->peer = found->msg.src;
    handle->count = found->length;
    *message = handle;
    return true;
}

int mca_pml_fastpath_improbe(int src, int tag, ompi_communicator_t *comm, int *matched,
                             ompi_message_t **message, ompi_status_public_t *status)
{
    ompi_message_t *handle = ompi_message_alloc();
    mca_pml_fastpath_message_t *found;

    if (OPAL_UNLIKELY(NULL == handle)) {
        return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
    }
    found = MPI_SUCCESS == fastpath_comm_error(comm, tag) ? look_progress(src, tag, comm, true, status, NULL)
                                                          : NULL;
    *matched = wrap(handle, found, comm, message);
    return *matched ? OMPI_SUCCESS : probe_error(src, tag, comm);
}

int mca_pml_fastpath_mprobe(int src, int tag, ompi_communicator_t *comm, ompi_message_t **message,
                            ompi_status_public_t *status)
{
    ompi_message_t *handle = ompi_message_alloc();
    mca_pml_fastpath_message_t *found = NULL;
    mca_pml_fastpath_idle_t idle = {0};
    int rc = OMPI_SUCCESS;

    if (OPAL_UNLIKELY(NULL == handle)) {
        return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
    }
    while (NULL == found && OMPI_SUCCESS == rc) {
        found = look_progress(src, tag, comm, true, status, &idle);
        rc = NULL == found ? probe_error(src, tag, comm) : OMPI_SUCCESS;
    }
    (void) wrap(handle, found, comm, message);
    return rc; /* an error if there is none */
}
