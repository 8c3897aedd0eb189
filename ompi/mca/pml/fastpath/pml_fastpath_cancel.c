/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"

#include "pml_fastpath_cancel.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_freed.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_pending.h"
#include "pml_fastpath_sendreq.h"
#include "pml_fastpath_sync.h"
#include "pml_fastpath_unanswered.h"

/* Make a request incomplete until the answer comes, whether it is under way or complete. If another thread is
 * completing it at this moment (todo is 0), wait for that. A thread that waits for the request has stored its
 * synchronisation object in req_complete, which must stay. */
static void await_answer(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;
    void *completed = REQUEST_COMPLETED;

    if (!mca_pml_fastpath_hold(&req->req_todo)) {
        while (!base->req_pml_complete || !REQUEST_COMPLETE(&base->req_ompi)) {
            opal_progress();
        }
        (void) OPAL_THREAD_ADD_FETCH32(&req->req_holds, 1);
        base->req_pml_complete = false;
        req->req_todo = 1;
    }
    (void) OPAL_ATOMIC_COMPARE_EXCHANGE_STRONG_PTR(&base->req_ompi.req_complete, &completed, REQUEST_PENDING);
}

/* The answer needs the communicator, and so that its id does not come to mean another one, it has to
 * exist until then. A request that was complete at once does not hold it: it may be gone already. */
static bool keep_comm(mca_pml_fastpath_send_request_t *req)
{
    ompi_communicator_t *comm;

    if (!mca_pml_fastpath_is_precompleted(req)) {
        return true;
    }
    comm = mca_pml_fastpath_comm_hold(req->req_ctx);
    if (NULL == comm) {
        return false;
    }
    if (mca_pml_fastpath_comm(comm)->incarnation != req->req_incarnation) {
        OBJ_RELEASE(comm);
        return false;
    }
    req->req_send.req_base.req_comm = comm;
    req->req_send.req_base.req_ompi.req_mpi_object.comm = comm;
    req->req_send.req_base.req_ompi.req_type = OMPI_REQUEST_PML; /* there is a communicator to look into */
    return true;
}

/* Whether the message of this round is the request's, and nobody has asked for it back. */
static inline bool may_cancel(const mca_pml_fastpath_send_request_t *req)
{
    return MCA_PML_FASTPATH_SEND_ORDINARY == req->req_state
           || MCA_PML_FASTPATH_SEND_PRECOMPLETED == req->req_state;
}

/* @return whether the receiver has to be asked: once per start. A send that is complete may be one that
 * cannot be cancelled any more (its message will be received), and so is one whose communicator is gone. */
static bool cancel_begin(mca_pml_fastpath_send_request_t *req)
{
    bool ask;

    OPAL_THREAD_LOCK(&req->req_lock);
    ask = may_cancel(req) && keep_comm(req);
    if (ask) {
        req->req_state = mca_pml_fastpath_is_precompleted(req) ? MCA_PML_FASTPATH_SEND_RECALLED
                                                               : MCA_PML_FASTPATH_SEND_CANCELLING;
    }
    OPAL_THREAD_UNLOCK(&req->req_lock);
    return ask;
}

/* Ask the receiver. The message has its number. */
static void cancel_send(mca_pml_fastpath_send_request_t *req)
{
    const mca_pml_base_request_t *base = &req->req_send.req_base;
    mca_pml_fastpath_cancel_hdr_t hdr = {.hdr_sequence = req->req_sequence,
                                         .hdr_name = opal_proc_local_get()->proc_name};
    char packet[sizeof(mca_pml_fastpath_extcid_hdr_t) + sizeof(hdr)] __attribute__((aligned(8)));
    uint8_t type = MCA_PML_FASTPATH_HDR_CANCEL;
    char *to;

    mca_pml_fastpath_unanswered_begin(req);
    req->req_cancel_sent = true;
    hdr.hdr_src_req = mca_pml_fastpath_send_request_handle(req);
    hdr.hdr_epoch = mca_pml_fastpath_epoch_number(base->req_comm, req->req_peer->proc->super.proc_name);
    mca_pml_fastpath_send_request_hdr(req, &hdr.hdr_match, type, 0);
    if (!mca_pml_fastpath_is_precompleted(req)) { /* one that left at once knows */
        mca_pml_fastpath_extcid_look(&hdr.hdr_match, base->req_comm, base->req_peer);
    }
    to = mca_pml_fastpath_extcid_put(base->req_comm, &hdr.hdr_match, packet, &type);
    memcpy(to, &hdr, sizeof(hdr));
    mca_pml_fastpath_control_send_last(req->req_peer, packet, (size_t) (to - packet) + sizeof(hdr));
}

/* @return whether the message can be named; if not, whoever gives it its number goes on */
static bool has_number(mca_pml_fastpath_send_request_t *req)
{
    bool has;

    OPAL_THREAD_LOCK(&req->req_lock);
    has = mca_pml_fastpath_is_precompleted(req) || req->req_numbered;
    req->req_cancel_waits = !has;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    return has;
}

void mca_pml_fastpath_cancel_leave(mca_pml_fastpath_send_request_t *req)
{
    bool mine;

    OPAL_THREAD_LOCK(&req->req_lock);
    mine = req->req_cancel_waits && req->req_numbered;
    req->req_cancel_waits = req->req_cancel_waits && !mine;
    OPAL_THREAD_UNLOCK(&req->req_lock);
    if (mine) {
        cancel_send(req);
    }
}

/* Somebody wants a send back: its user, or Open MPI because it cannot complete. @return whether its receiver
 * is there to be asked */
static bool can_be_asked(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;

    if (!mca_pml_fastpath_ft()) {
        return true;
    }
    if (fastpath_proc_failed(req->req_peer->proc)) {
        mca_pml_fastpath_failures_look_soon();
        return false;
    }
    if (!mca_pml_fastpath_is_precompleted(req) && !REQUEST_COMPLETE(&base->req_ompi)) {
        req->req_watch.error = fastpath_comm_error(base->req_comm, base->req_tag);
    }
    return true;
}

int mca_pml_fastpath_send_request_cancel(ompi_request_t *request, int complete)
{
    mca_pml_fastpath_send_request_t *req = (mca_pml_fastpath_send_request_t *) request;

    (void) complete;
    if (OMPI_REQUEST_ACTIVE != request->req_state || !can_be_asked(req) || !cancel_begin(req)
        || !mca_pml_fastpath_watch(req->req_peer, &req->req_send.req_base, &req->req_watch)) {
        return OMPI_SUCCESS;
    }
    mca_pml_fastpath_unanswered_expect();
    await_answer(req);
    if (OPAL_LIKELY(has_number(req))) {
        cancel_send(req);
    }
    return OMPI_SUCCESS;
}

void mca_pml_fastpath_cancel_answered(const mca_btl_base_module_t *btl,
                                      const mca_pml_fastpath_done_hdr_t *hdr)
{
    mca_pml_fastpath_send_request_t *req =
        mca_pml_fastpath_send_request_named(btl, hdr->hdr_type, hdr->hdr_id);
    int64_t amount = 2; /* for what waits for the answer, and for us */

    if (OPAL_UNLIKELY(NULL == req)) {
        return;
    }
    if (OPAL_UNLIKELY(!mca_pml_fastpath_take_flag(&req->req_lock, &req->req_cancel_sent))) {
        mca_pml_fastpath_corrupt(btl, req->req_peer->proc, hdr->hdr_type,
                                 "a send that is not being cancelled");
    }
    mca_pml_fastpath_unanswered_end(req);
    if (0 != (MCA_PML_FASTPATH_HDR_FLAG_DONE & hdr->hdr_flags)
        && mca_pml_fastpath_send_request_answered(req, true)) {
        amount += MCA_PML_FASTPATH_TODO_UNKNOWN; /* neither ACK nor MATCHED will come */
        mca_pml_fastpath_sync_end(req);
    }
    if (mca_pml_fastpath_is_copied(req)) {
        mca_pml_fastpath_send_request_mpi_complete(req);
    }
    mca_pml_fastpath_send_request_progressed(req, amount);
}

void mca_pml_fastpath_cancel_answer(opal_process_name_t name, uint64_t src_req, bool dropped)
{
    ompi_proc_t *proc = (ompi_proc_t *) ompi_proc_for_name(name);
    mca_pml_fastpath_peer_t *peer = NULL == proc ? NULL : mca_pml_fastpath_peer_get(proc);
    mca_pml_fastpath_done_hdr_t done = {.hdr_type = MCA_PML_FASTPATH_HDR_CANCELLED,
                                        .hdr_flags = dropped ? MCA_PML_FASTPATH_HDR_FLAG_DONE : 0,
                                        .hdr_id = src_req};

    if (NULL == peer || (!mca_pml_fastpath_peer_reach(peer) && !mca_pml_fastpath_peer_has_failed(peer))) {
        mca_pml_fastpath_abort("unreachable", "a process that cancels a send", "no BTL reaches it");
    }
    mca_pml_fastpath_control_send(peer, NULL, &done, sizeof(done));
    OBJ_RELEASE(peer);
}

static void withdraw(mca_pml_fastpath_member_t *member, const mca_pml_fastpath_cancel_hdr_t *hdr)
{
    mca_pml_fastpath_withdrawn_t *withdrawn =
        mca_pml_fastpath_needed(malloc(sizeof(*withdrawn)), "a message that was cancelled", "malloc");

    OBJ_CONSTRUCT(&withdrawn->super, opal_list_item_t);
    withdrawn->sequence = hdr->hdr_sequence;
    withdrawn->answered = 0 != (MCA_PML_FASTPATH_HDR_FLAG_DONE & hdr->hdr_match.hdr_flags);
    withdrawn->name = hdr->hdr_name;
    withdrawn->src_req = hdr->hdr_src_req;
    opal_list_append(&member->withdrawn, &withdrawn->super);
}

mca_pml_fastpath_withdrawn_t *mca_pml_fastpath_cancel_withdrawn(mca_pml_fastpath_member_t *member,
                                                                uint32_t sequence)
{
    mca_pml_fastpath_withdrawn_t *withdrawn;

    OPAL_LIST_FOREACH(withdrawn, &member->withdrawn, mca_pml_fastpath_withdrawn_t)
    {
        if (withdrawn->sequence == sequence) {
            opal_list_remove_item(&member->withdrawn, &withdrawn->super);
            return withdrawn;
        }
    }
    return NULL;
}

void mca_pml_fastpath_cancel_withdrawn_done(mca_pml_fastpath_withdrawn_t *withdrawn)
{
    if (!withdrawn->answered) {
        mca_pml_fastpath_cancel_answer(withdrawn->name, withdrawn->src_req, true);
    }
    OBJ_DESTRUCT(&withdrawn->super);
    free(withdrawn);
}

/* The unexpected message of that number, or NULL. Looks at all of them: cancelling is rare. */
static mca_pml_fastpath_message_t *find_unexpected(mca_pml_fastpath_match_link_t *list, int32_t src,
                                                   uint32_t sequence)
{
    for (mca_pml_fastpath_match_link_t *link = list->next; link != list; link = link->next) {
        mca_pml_fastpath_match_msg_t *msg = mca_pml_fastpath_match_msg(link, MCA_PML_FASTPATH_MATCH_ALL);

        if (msg->src == src && mca_pml_fastpath_message_of(msg)->sequence == sequence) {
            return mca_pml_fastpath_message_of(msg);
        }
    }
    return NULL;
}

static mca_pml_fastpath_message_t *take_unexpected(mca_pml_fastpath_matcher_t *matcher, int32_t src,
                                                   uint32_t sequence)
{
    mca_pml_fastpath_message_t *message = find_unexpected(&matcher->all.unexpected, src, sequence);

    if (NULL == message) {
        message = find_unexpected(&matcher->internal, src, sequence);
    }
    if (NULL != message) {
        mca_pml_fastpath_match_take(matcher, &message->msg);
    }
    return message;
}

/* Messages from one sender that may be on their way: their numbers have to differ in 16 bits. */
#define MOST_UNDER_WAY 65536

/* Drop a message that no receive has matched, now or when its turn comes.
 * @return whether the answer is known now; it is in dropped */
static bool drop(const mca_btl_base_module_t *btl, ompi_communicator_t *comm,
                 const mca_pml_fastpath_cancel_hdr_t *hdr, bool *dropped)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_message_t *message = NULL;
    mca_pml_fastpath_member_t *member;
    int32_t ahead;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    member = mca_pml_fastpath_needed(mca_pml_fastpath_member(pml_comm, hdr->hdr_match.hdr_src),
                                     "a communicator's member", "malloc");
    ahead = (int32_t) (hdr->hdr_sequence - member->expected);
    if (OPAL_UNLIKELY(MOST_UNDER_WAY < ahead)) {
        mca_pml_fastpath_corrupt(btl, NULL, hdr->hdr_match.hdr_type, "a message that has not been sent");
    }
    if (0 <= ahead) {
        withdraw(member, hdr);
    } else {
        message = take_unexpected(&pml_comm->matcher, hdr->hdr_match.hdr_src, hdr->hdr_sequence);
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    if (NULL != message) {
        mca_pml_fastpath_message_consumed(message, comm);
        mca_pml_fastpath_multi_return(message);
    }
    *dropped = NULL != message;
    return 0 > ahead;
}

/* The communicator is not here, but one that was freed had its id. */
static bool freed_dropped(const mca_pml_fastpath_cancel_hdr_t *hdr)
{
    bool dropped;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    dropped = mca_pml_fastpath_freed_dropped(hdr);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return dropped;
}

/* A CANCEL that contradicts itself, or is about a message that cannot be. */
static void check_cancel(const mca_btl_base_module_t *btl, const mca_pml_fastpath_cancel_hdr_t *hdr)
{
    mca_pml_fastpath_name_check(btl, hdr->hdr_match.hdr_type, hdr->hdr_name);
    if (OPAL_UNLIKELY((uint16_t) hdr->hdr_sequence != hdr->hdr_match.hdr_seq)) {
        mca_pml_fastpath_corrupt(btl, NULL, hdr->hdr_match.hdr_type, "two sequence numbers");
    }
}

void mca_pml_fastpath_cancel_requested(mca_btl_base_module_t *btl, const mca_pml_fastpath_cancel_hdr_t *hdr)
{
    ompi_communicator_t *comm = mca_pml_fastpath_comm_hold(hdr->hdr_match.hdr_ctx);
    bool known = true;
    bool dropped;

    check_cancel(btl, hdr);
    if (OPAL_UNLIKELY(NULL == comm)) {
        comm = mca_pml_fastpath_pending(btl, (const mca_pml_fastpath_hdr_t *) hdr, NULL, 0, 0);
        if (NULL == comm) {
            return;
        }
    }
    if (mca_pml_fastpath_is_meant(btl, comm, &hdr->hdr_match, hdr->hdr_name)) {
        known = drop(btl, comm, hdr, &dropped);
    } else {
        dropped = freed_dropped(hdr);
    }
    if (known && 0 == (MCA_PML_FASTPATH_HDR_FLAG_DONE & hdr->hdr_match.hdr_flags)) {
        mca_pml_fastpath_cancel_answer(hdr->hdr_name, hdr->hdr_src_req, dropped);
    }
    OBJ_RELEASE(comm);
}
