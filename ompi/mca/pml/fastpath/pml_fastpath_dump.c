/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <inttypes.h>

#include "opal/util/output.h"

#include "pml_fastpath_number.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_retry.h"

static void dump_posted(mca_pml_fastpath_match_post_t *post, void *ctx)
{
    const mca_pml_fastpath_recv_request_t *req = mca_pml_fastpath_recv_request_of(post);

    (void) ctx;
    opal_output(0, "  posted: request %p source %d tag %d buffer %p count %zu", (const void *) req, post->src,
                post->tag, req->req_recv.req_base.req_addr, req->req_recv.req_base.req_count);
}

static void dump_unexpected(mca_pml_fastpath_match_msg_t *msg, void *ctx)
{
    const mca_pml_fastpath_message_t *message = mca_pml_fastpath_message_of(msg);

    (void) ctx;
    opal_output(0, "  unexpected: source %d tag %d sequence %u bytes %zu", msg->src, msg->tag,
                message->sequence, (size_t) message->length);
}

static void dump_peer(const mca_pml_fastpath_peer_t *peer, int verbose)
{
    opal_output(0,
                "    process %s: %" PRId64 " bytes of credit with it, %" PRId64
                " bytes to give back to it, %d waiting for room",
                OPAL_NAME_PRINT(peer->proc->super.proc_name), (int64_t) peer->credit,
                (int64_t) peer->consumed, (int) peer->queued);
    if (0 < verbose && NULL != peer->endpoint) {
        mca_bml_base_btl_array_t *btls = &peer->endpoint->btl_send;

        for (size_t i = 0; i < mca_bml_base_btl_array_get_size(btls); ++i) {
            mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(btls, i);

            if (NULL != bml_btl->btl->btl_dump) {
                bml_btl->btl->btl_dump(bml_btl->btl, bml_btl->btl_endpoint, verbose);
            }
        }
    }
}

static void dump_member(int rank, mca_pml_fastpath_member_t *member, int verbose)
{
    mca_pml_fastpath_withdrawn_t *withdrawn;
    mca_pml_fastpath_parked_t *parked;

    opal_output(0, "  rank %d: last sent %u, next expected %u, %zu early, %zu withdrawn", rank,
                mca_pml_fastpath_last_number(member), member->expected, opal_list_get_size(&member->early),
                opal_list_get_size(&member->withdrawn));
    if (0 != member->passed) {
        opal_output(0, "    known to have passed there: %u", member->passed);
    }
    OPAL_LIST_FOREACH(parked, &member->early, mca_pml_fastpath_parked_t)
    {
        opal_output(0, "    early: tag %d sequence %u, %zu bytes with its header",
                    parked->hdr->hdr_match.hdr_tag, parked->hdr->hdr_match.hdr_seq, parked->size);
    }
    OPAL_LIST_FOREACH(withdrawn, &member->withdrawn, mca_pml_fastpath_withdrawn_t)
    {
        opal_output(0, "    withdrawn: sequence %u", withdrawn->sequence);
    }
    if (NULL != member->peer) {
        dump_peer(member->peer, verbose);
    }
}

/* What belongs to no communicator. */
static void dump_process(void)
{
    mca_pml_fastpath_parked_t *parked;
    mca_pml_fastpath_retry_t *retry;
    size_t most;
    size_t kept = mca_pml_fastpath_messages_kept(&most);

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    opal_output(0,
                "process: %zu pending messages, %d refused, %" PRIu64
                " late, unexpected messages take %zu bytes, at most %zu",
                opal_list_get_size(&mca_pml_fastpath.pending), (int) mca_pml_fastpath.num_retries,
                mca_pml_fastpath.late, kept, most);
    OPAL_LIST_FOREACH(parked, &mca_pml_fastpath.pending, mca_pml_fastpath_parked_t)
    {
        const mca_pml_fastpath_match_hdr_t *hdr = &parked->hdr->hdr_match;

        opal_output(
            0,
            "  pending message: %s communicator %u source %d tag %d sequence %u, %zu bytes with its header",
            MCA_PML_FASTPATH_HDR_CANCEL == hdr->hdr_type ? "cancel" : "message", hdr->hdr_ctx, hdr->hdr_src,
            hdr->hdr_tag, hdr->hdr_seq, parked->size);
    }
    for (int i = 0; i < MCA_PML_FASTPATH_QUEUES; ++i) {
        OPAL_LIST_FOREACH(retry, &mca_pml_fastpath.retries[i].retries, mca_pml_fastpath_retry_t)
        {
            opal_output(0, "  refused: to process %s", OPAL_NAME_PRINT(retry->peer->proc->super.proc_name));
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

int mca_pml_fastpath_dump(ompi_communicator_t *comm, int verbose)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);

    if (NULL != pml_comm) {
        OPAL_THREAD_LOCK(&pml_comm->lock);
        opal_output(0, "communicator %s [%p] id %u rank %d: %zu posted, %zu unexpected", comm->c_name,
                    (void *) comm, pml_comm->ctx, comm->c_my_rank, pml_comm->matcher.posted,
                    pml_comm->matcher.unexpected);
        mca_pml_fastpath_match_each_posted(&pml_comm->matcher, dump_posted, NULL);
        mca_pml_fastpath_match_each_unexpected(&pml_comm->matcher, dump_unexpected, NULL);
        for (int rank = 0; rank < pml_comm->size; ++rank) {
            if (NULL != pml_comm->members[rank]) {
                dump_member(rank, pml_comm->members[rank], verbose);
            }
        }
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
    }
    dump_process();
    return OMPI_SUCCESS;
}
