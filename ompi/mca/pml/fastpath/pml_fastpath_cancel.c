/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "opal/runtime/opal_progress.h"

#include "pml_fastpath_cancel.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_recvfrag.h"
#include "pml_fastpath_sendreq.h"

/* Make a request wait for the answer, whether it is under way or complete already. A request that is
 * completing on another thread at this moment (todo is 0) is complete in an instant. */
static void await_answer(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;
    int64_t todo = req->req_todo;

    while (0 != todo && !OPAL_THREAD_COMPARE_EXCHANGE_STRONG_64(&req->req_todo, &todo, todo + 1)) {
        continue;
    }
    if (0 == todo) {
        while (!base->req_pml_complete || !REQUEST_COMPLETE(&base->req_ompi)) {
            opal_progress();
        }
        (void) OPAL_THREAD_ADD_FETCH32(&req->req_holds, 1);
        base->req_pml_complete = false;
        req->req_todo = 1;
    }
    base->req_ompi.req_complete = REQUEST_PENDING;
}

int mca_pml_fastpath_send_request_cancel(ompi_request_t *request, int complete)
{
    mca_pml_fastpath_send_request_t *req = (mca_pml_fastpath_send_request_t *) request;
    mca_pml_fastpath_cancel_hdr_t hdr = {.hdr_sequence = req->req_sequence,
                                         .hdr_src_req = (uint64_t) (uintptr_t) req};

    (void) complete;
    if (OMPI_REQUEST_ACTIVE != request->req_state || req->req_cancelling) {
        return OMPI_SUCCESS;
    }
    await_answer(req);
    req->req_cancelling = true;
    hdr.hdr_match = req->req_hdr;
    hdr.hdr_match.hdr_type = MCA_PML_FASTPATH_HDR_CANCEL;
    mca_pml_fastpath_control_send(req->req_peer, NULL, &hdr, sizeof(hdr));
    return OMPI_SUCCESS;
}

void mca_pml_fastpath_cancel_answered(const mca_pml_fastpath_done_hdr_t *hdr)
{
    mca_pml_fastpath_send_request_t *req = (mca_pml_fastpath_send_request_t *) (uintptr_t) hdr->hdr_id;
    int64_t amount = 1;

    if (0 != (MCA_PML_FASTPATH_HDR_FLAG_DONE & hdr->hdr_flags)
        && mca_pml_fastpath_send_request_answered(req, true)) {
        amount += MCA_PML_FASTPATH_TODO_UNKNOWN; /* no ACK will come */
    }
    if (mca_pml_fastpath_is_copied(req)) {
        mca_pml_fastpath_send_request_mpi_complete(req);
    }
    mca_pml_fastpath_send_request_progressed(req, amount);
}

static void withdraw(mca_pml_fastpath_member_t *member, uint32_t sequence)
{
    mca_pml_fastpath_withdrawn_t *withdrawn = malloc(sizeof(*withdrawn));

    if (NULL == withdrawn) {
        mca_pml_fastpath_abort("no memory", "a message that was cancelled", "malloc");
    }
    OBJ_CONSTRUCT(&withdrawn->super, opal_list_item_t);
    withdrawn->sequence = sequence;
    opal_list_append(&member->withdrawn, &withdrawn->super);
}

bool mca_pml_fastpath_cancel_withdrawn(mca_pml_fastpath_member_t *member, uint32_t sequence)
{
    mca_pml_fastpath_withdrawn_t *withdrawn;

    OPAL_LIST_FOREACH(withdrawn, &member->withdrawn, mca_pml_fastpath_withdrawn_t)
    {
        if (withdrawn->sequence == sequence) {
            opal_list_remove_item(&member->withdrawn, &withdrawn->super);
            OBJ_DESTRUCT(&withdrawn->super);
            free(withdrawn);
            return true;
        }
    }
    return false;
}

/* The unexpected message of that number, or NULL. Looks at all of them: cancelling is rare. */
static mca_pml_fastpath_message_t *find(mca_pml_fastpath_match_link_t *list, int32_t src, uint32_t sequence)
{
    for (mca_pml_fastpath_match_link_t *link = list->next; link != list; link = link->next) {
        mca_pml_fastpath_match_msg_t *msg = mca_pml_fastpath_match_msg(link, MCA_PML_FASTPATH_MATCH_ALL);

        if (msg->src == src && mca_pml_fastpath_message_of(msg)->sequence == sequence) {
            return mca_pml_fastpath_message_of(msg);
        }
    }
    return NULL;
}

/* Drop a message that no receive has matched. @return whether it will not be received */
static bool drop(ompi_communicator_t *comm, int32_t src, uint32_t sequence)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_message_t *message = NULL;
    mca_pml_fastpath_member_t *member;
    bool to_come;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    member = mca_pml_fastpath_member(pml_comm, src);
    if (OPAL_UNLIKELY(NULL == member)) {
        mca_pml_fastpath_abort("no memory", "a communicator's member", "malloc");
    }
    to_come = 0 <= (int32_t) (sequence - member->expected);
    if (to_come) {
        withdraw(member, sequence);
    } else {
        message = find(&pml_comm->matcher.all.unexpected, src, sequence);
        if (NULL == message) {
            message = find(&pml_comm->matcher.internal, src, sequence);
        }
        if (NULL != message) {
            mca_pml_fastpath_match_take(&pml_comm->matcher, &message->msg);
        }
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    if (NULL != message) {
        mca_pml_fastpath_message_consumed(message, comm);
        mca_pml_fastpath_message_return(message);
    }
    return to_come || NULL != message;
}

static void answer(ompi_proc_t *proc, const mca_pml_fastpath_cancel_hdr_t *hdr, bool dropped)
{
    mca_pml_fastpath_peer_t *peer = NULL == proc ? NULL : mca_pml_fastpath_peer_get(proc);
    mca_pml_fastpath_done_hdr_t done = {.hdr_type = MCA_PML_FASTPATH_HDR_CANCELLED,
                                        .hdr_flags = dropped ? MCA_PML_FASTPATH_HDR_FLAG_DONE : 0,
                                        .hdr_id = hdr->hdr_src_req};

    if (NULL == peer || !mca_pml_fastpath_peer_reach(peer)) {
        mca_pml_fastpath_abort("unreachable", "a process that cancels a send", "no BTL reaches it");
    }
    mca_pml_fastpath_control_send(peer, NULL, &done, sizeof(done));
    OBJ_RELEASE(peer);
}

void mca_pml_fastpath_cancel_requested(mca_btl_base_module_t *btl, const mca_pml_fastpath_cancel_hdr_t *hdr)
{
    ompi_communicator_t *comm = mca_pml_fastpath_known_comm(hdr->hdr_match.hdr_ctx);

    if (OPAL_UNLIKELY(NULL == comm)) {
        mca_btl_base_segment_t segment = {.seg_addr.pval = (void *) (uintptr_t) hdr, .seg_len = sizeof(*hdr)};

        /* its message is parked too, or still on its way: both wait for the communicator */
        comm = mca_pml_fastpath_orphan(hdr->hdr_match.hdr_ctx, btl, &segment, 1);
        if (NULL == comm) {
            return;
        }
    }
    answer(ompi_comm_peer_lookup(comm, hdr->hdr_match.hdr_src), hdr,
           drop(comm, hdr->hdr_match.hdr_src, hdr->hdr_sequence));
}
