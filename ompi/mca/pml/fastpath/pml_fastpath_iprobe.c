/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Probe, MPI_Iprobe, MPI_Mprobe and MPI_Improbe.
 */
#include "ompi_config.h"

#include "pml_fastpath_accept.h"
#include "pml_fastpath_awaited.h"
#include "pml_fastpath_idle.h"
#include "pml_fastpath_pace.h"
#include "pml_fastpath_pause.h"
#include "pml_fastpath_take.h"

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

/*
 * What a probe has reported is there for whoever looks next (MPI-4.0, section 3.8.1), but progress need not
 * deliver it at once: a message in chunks may have begun only, and of many senders one round does not see
 * all. So the last such message of a communicator is noted. Whoever looks for it and finds nothing looks
 * again until it has come, or where it arrives. Before another one is reported it has to be in the queues.
 * With threads nothing is reported but what is in the queues.
 */

/* Whether the message that a probe has reported is still where it arrives. */
static bool probed_is_there(const mca_pml_fastpath_comm_t *pml_comm)
{
    const mca_pml_fastpath_probed_t *probed = &pml_comm->probed;
    const mca_pml_fastpath_member_t *member;

    if (OPAL_LIKELY(0 > probed->src)) {
        return false;
    }
    member = pml_comm->members[probed->src];
    return probed->number == member->expected && !mca_pml_fastpath_peer_has_failed(member->peer);
}

/* Whether that message is what somebody looks for, and no posted receive's. */
static bool probed_is(mca_pml_fastpath_comm_t *pml_comm, int src, int tag)
{
    const mca_pml_fastpath_probed_t *probed = &pml_comm->probed;

    return OPAL_UNLIKELY(probed_is_there(pml_comm))
           && (MCA_PML_FASTPATH_ANY_SOURCE == src || probed->src == src)
           && (probed->tag == tag || (MCA_PML_FASTPATH_ANY_TAG == tag && 0 <= probed->tag))
           && mca_pml_fastpath_none_before(pml_comm, probed->src, probed->tag);
}

/* Note a message that a probe is about to report. Returns false when it must not, because an earlier one
 * cannot be delivered yet, or because delivering that one has delivered this one, too. */
static bool probed_note(mca_pml_fastpath_comm_t *pml_comm, const mca_pml_fastpath_member_t *member, int src,
                        uint64_t word1)
{
    mca_pml_fastpath_probed_t *probed = &pml_comm->probed;
    const mca_pml_fastpath_probed_t noted = {
        .src = src, .tag = mca_pml_fastpath_match_word1_tag(word1), .number = member->expected};

    if (OPAL_UNLIKELY(probed->src != src && probed_is_there(pml_comm))) {
        const bool before = mca_pml_fastpath_take_all(true);

        (void) member->peer->ext->poll(pml_comm->members[probed->src]->peer->btl_endpoint, 1);
        (void) mca_pml_fastpath_take_all(before);
        if (probed_is_there(pml_comm) || noted.number != member->expected) {
            return false;
        }
    }
    *probed = noted;
    return true;
}

/* Find the member whose next message may be the one that a probe asks for: of the sender that it names or, if
 * it names none, of one from whom something has come. Returns what see_arrived() does. */
static int find_member(const mca_pml_fastpath_comm_t *pml_comm, int *src, mca_pml_fastpath_member_t **member)
{
    if (MCA_PML_FASTPATH_ANY_SOURCE == *src) {
        const int rc = mca_pml_fastpath_find_sender(pml_comm, 1, member, src);

        return OMPI_ERR_NOT_FOUND == rc && !fastpath_one_node() ? OMPI_ERR_NOT_AVAILABLE : rc;
    }
    *member = pml_comm->members[*src];
    return mca_pml_fastpath_member_has_ext(*member) ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}

/* See whether the next message of a member's is what a probe asks for. It stays where it is, so that the
 * receive that follows takes it from there. `whole`: all of it has to be here. Returns what see_arrived()
 * does. */
static int see_next(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, int src, int tag,
                    unsigned spins, bool whole, ompi_status_public_t *status)
{
    const mca_btl_fastsm_ext_t *ext = member->peer->ext;
    mca_pml_fastpath_target_t target = {.tag = tag, .room = SIZE_MAX};
    mca_btl_fastsm_view_t view;
    uint64_t header[2];
    bool fits;
    int rc = ext->peek(member->peer->btl_endpoint, spins, &view);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    fastsm_read_once(header, view.header, sizeof(header));
    fits = MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH == view.tag
           && mca_pml_fastpath_accept(pml_comm, member, src, header, view.length - sizeof(header), &target)
           && (!whole || 0 == view.chunk || ext->move(&view, NULL, NULL, 0, true));
    mca_btl_fastsm_release(&view, false);
    if (!fits || !probed_note(pml_comm, member, src, target.word1)) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (MPI_STATUS_IGNORE != status) {
        mca_pml_fastpath_status_set(status, target.word1, target.length);
    }
    return OMPI_SUCCESS;
}

/*
 * See whether a message is there that MPI_Recv would take from where it arrives; docs/data-path.md, "The
 * immediate path", says why it is the right one. Only without threads.
 *
 * A message in chunks may have begun and not go on. That is enough for a probe that waits for its sender: the
 * receive waits then. Who asks for any may find another one meanwhile, and who does not wait may go on.
 *
 * Returns OMPI_SUCCESS; OMPI_ERR_NOT_FOUND: nothing has come; OMPI_ERR_NOT_AVAILABLE: something else may
 * have, or by another transport.
 */
static int see_arrived(int src, int tag, ompi_communicator_t *comm, bool waits, ompi_status_public_t *status)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    const bool again = probed_is(pml_comm, src, tag);
    const bool whole = !again && (!waits || MCA_PML_FASTPATH_ANY_SOURCE == src);
    mca_pml_fastpath_member_t *member;
    unsigned spins;
    int rc;

    if (opal_using_threads() || !mca_pml_fastpath.use_immediate_recv || NULL == mca_pml_fastpath.fastsm) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    src = again ? pml_comm->probed.src : src;
    rc = find_member(pml_comm, &src, &member);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (!mca_pml_fastpath_none_before(pml_comm, src, tag)) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    rc = see_next(pml_comm, member, src, tag, waits ? mca_pml_fastpath_spin_count() : 1, whole, status);
    spins = waits && OMPI_ERR_NOT_FOUND == rc ? mca_pml_fastpath_spin_again() : 0;
    if (0 < spins) {
        rc = see_next(pml_comm, member, src, tag, spins, whole, status);
        mca_pml_fastpath_spin_result(OMPI_ERR_NOT_FOUND != rc);
    }
    return rc;
}

/* Of so many calls of MPI_Iprobe that have looked where messages arrive, and nothing was there, all but one
 * leave it at that: progress takes several times as long, and what comes meanwhile goes into the queues. */
#define LOOKS_PER_PROGRESS 4u

/* Whether MPI_Iprobe, to which nothing has come, need not let everything have its turn now. Where cores are
 * short it gives its own away each time. */
static inline bool may_return(void)
{
    static unsigned looks;

    return !opal_progress_yield_when_idle && 0 != ++looks % LOOKS_PER_PROGRESS;
}

/* No message is there: call progress. idle: of a probe that waits; else NULL. */
static void let_arrive(mca_pml_fastpath_idle_t *idle)
{
    if (NULL == idle) {
        mca_pml_fastpath_pause(NULL);
    } else {
        mca_pml_fastpath_pause_idle(idle, NULL);
    }
}

/* The same, and then look for a message in the queues, until one is there that a probe has reported. */
static mca_pml_fastpath_message_t *look_later(int src, int tag, ompi_communicator_t *comm, bool take,
                                              ompi_status_public_t *status, mca_pml_fastpath_idle_t *idle)
{
    const bool before = mca_pml_fastpath_take_all(true);
    mca_pml_fastpath_message_t *message;

    do {
        let_arrive(idle);
        message = look_for_message(src, tag, comm, take, status);
    } while (NULL == message && probed_is(mca_pml_fastpath_comm(comm), src, tag));
    (void) mca_pml_fastpath_take_all(before);
    return message;
}

/* Whether there is a message, which is not taken. idle: of a probe that waits; else NULL. */
static bool probe(int src, int tag, ompi_communicator_t *comm, ompi_status_public_t *status,
                  mca_pml_fastpath_idle_t *idle)
{
    int rc;

    mca_pml_fastpath_pace_wait();
    if (NULL != look_for_message(src, tag, comm, false, status)) {
        return true;
    }
    rc = see_arrived(src, tag, comm, NULL != idle, status);
    if (OMPI_SUCCESS == rc) {
        return true;
    }
    if (OMPI_ERR_NOT_FOUND == rc && NULL == idle && may_return()) {
        return false;
    }
    return NULL != look_later(src, tag, comm, false, status, idle);
}

/* Take a message out of the queues, giving it a chance to arrive first. */
static mca_pml_fastpath_message_t *take_message(int src, int tag, ompi_communicator_t *comm,
                                                ompi_status_public_t *status, mca_pml_fastpath_idle_t *idle)
{
    mca_pml_fastpath_message_t *message;

    mca_pml_fastpath_pace_wait();
    message = look_for_message(src, tag, comm, true, status);
    return NULL != message ? message : look_later(src, tag, comm, true, status, idle);
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

    *matched = OMPI_SUCCESS == rc && probe(src, tag, comm, status, NULL);
    return *matched ? OMPI_SUCCESS : probe_error(src, tag, comm);
}

/* Another thread may free the communicator while this one waits (MPI-4.0, section 7.4.3), or as soon as it
 * has taken a message. */
static inline void keep(ompi_communicator_t *comm)
{
    if (OPAL_UNLIKELY(opal_using_threads())) {
        OBJ_RETAIN(comm);
    }
}

static inline void release(ompi_communicator_t *comm)
{
    if (OPAL_UNLIKELY(opal_using_threads())) {
        OBJ_RELEASE(comm);
    }
}

int mca_pml_fastpath_probe(int src, int tag, ompi_communicator_t *comm, ompi_status_public_t *status)
{
    mca_pml_fastpath_idle_t idle = {0};
    int rc = OMPI_SUCCESS;

    keep(comm);
    mca_pml_fastpath_awaited_begin_message();
    while (OMPI_SUCCESS == rc && !probe(src, tag, comm, status, &idle)) {
        rc = probe_error(src, tag, comm);
    }
    mca_pml_fastpath_awaited_end_message();
    release(comm);
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
    int rc;

    if (OPAL_UNLIKELY(NULL == handle)) {
        return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
    }
    keep(comm);
    found = MPI_SUCCESS == fastpath_comm_error(comm, tag) ? take_message(src, tag, comm, status, NULL) : NULL;
    *matched = wrap(handle, found, comm, message);
    rc = *matched ? OMPI_SUCCESS : probe_error(src, tag, comm);
    release(comm);
    return rc;
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
    keep(comm);
    mca_pml_fastpath_awaited_begin_message();
    while (NULL == found && OMPI_SUCCESS == rc) {
        found = take_message(src, tag, comm, status, &idle);
        rc = NULL == found ? probe_error(src, tag, comm) : OMPI_SUCCESS;
    }
    mca_pml_fastpath_awaited_end_message();
    (void) wrap(handle, found, comm, message);
    release(comm);
    return rc; /* an error if there is none */
}
