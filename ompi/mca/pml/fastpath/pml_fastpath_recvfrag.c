/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "pml_fastpath_rdma.h"
#include "pml_fastpath_recvfrag.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sendreq.h"

OBJ_CLASS_INSTANCE(mca_pml_fastpath_message_t, opal_free_list_item_t, NULL, NULL);

/* Keep a copy of what arrived. */
static mca_pml_fastpath_message_t *message_keep(mca_btl_base_module_t *btl,
                                                const mca_btl_base_segment_t *segments, size_t num_segments)
{
    mca_pml_fastpath_message_t *message
        = (mca_pml_fastpath_message_t *) opal_free_list_get(&mca_pml_fastpath.messages);
    char *to;

    if (OPAL_UNLIKELY(NULL == message)) {
        mca_pml_fastpath_abort("no memory", "an unexpected message", "free list");
    }
    message->btl = btl;
    message->size = mca_pml_fastpath_segments_size(segments, num_segments);
    message->hdr = (mca_pml_fastpath_hdr_t *) message->inlined;
    if (message->size > mca_pml_fastpath.unexpected_inline) {
        message->hdr = malloc(message->size);
        if (OPAL_UNLIKELY(NULL == message->hdr)) {
            mca_pml_fastpath_abort("no memory", "an unexpected message", "malloc");
        }
    }
    to = (char *) message->hdr;
    for (size_t i = 0; i < num_segments; ++i) {
        memcpy(to, segments[i].seg_addr.pval, segments[i].seg_len);
        to += segments[i].seg_len;
    }
    return message;
}

void mca_pml_fastpath_message_return(mca_pml_fastpath_message_t *message)
{
    if ((void *) message->hdr != (void *) message->inlined) {
        free(message->hdr);
    }
    opal_free_list_return(&mca_pml_fastpath.messages, &message->super);
}

size_t mca_pml_fastpath_message_length(const mca_pml_fastpath_message_t *message)
{
    return MCA_PML_FASTPATH_HDR_MATCH == message->hdr->hdr_type ? message->size - sizeof(message->hdr->hdr_match)
                                                                : message->hdr->hdr_rndv.hdr_length;
}

/* Keep a message that came before its turn: another one from the same sender is still on its way. */
static void early_insert(mca_pml_fastpath_member_t *member, mca_pml_fastpath_message_t *message)
{
    uint16_t ahead = (uint16_t) (message->hdr->hdr_match.hdr_seq - member->expected);
    opal_list_item_t *item = opal_list_get_last(&member->early);

    while (item != opal_list_get_end(&member->early)
           && (uint16_t) (((mca_pml_fastpath_message_t *) item)->hdr->hdr_match.hdr_seq - member->expected)
                  > ahead) {
        item = opal_list_get_prev(item);
    }
    opal_list_insert_pos(&member->early, opal_list_get_next(item), &message->super.super);
}

/* The next message in turn, if it came early. */
static mca_pml_fastpath_message_t *early_take(mca_pml_fastpath_member_t *member)
{
    mca_pml_fastpath_message_t *message;

    if (OPAL_LIKELY(opal_list_is_empty(&member->early))) {
        return NULL;
    }
    message = (mca_pml_fastpath_message_t *) opal_list_get_first(&member->early);
    if (message->hdr->hdr_match.hdr_seq != member->expected) {
        return NULL;
    }
    (void) opal_list_remove_first(&member->early);
    return message;
}

static mca_pml_fastpath_recv_request_t *match(mca_pml_fastpath_comm_t *pml_comm,
                                              const mca_pml_fastpath_match_hdr_t *hdr)
{
    mca_pml_fastpath_match_post_t *post = mca_pml_fastpath_match_arrive(&pml_comm->matcher, hdr->hdr_src,
                                                                        hdr->hdr_tag);
    mca_pml_fastpath_recv_request_t *req;

    if (NULL == post) {
        return NULL;
    }
    req = (mca_pml_fastpath_recv_request_t *) ((char *) post - offsetof(mca_pml_fastpath_recv_request_t, req_post));
    req->req_matched = true;
    return req;
}

static void unexpected(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_message_t *message)
{
    const mca_pml_fastpath_match_hdr_t *hdr = &message->hdr->hdr_match;

    if (OPAL_UNLIKELY(
            0 != mca_pml_fastpath_match_store(&pml_comm->matcher, &message->msg, hdr->hdr_src, hdr->hdr_tag))) {
        mca_pml_fastpath_abort("no memory", "an unexpected message", "match queues");
    }
}

/* Messages that came early and whose turn it is now. */
static void early_deliver(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member)
{
    mca_pml_fastpath_message_t *message;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    while (NULL != (message = early_take(member))) {
        mca_pml_fastpath_recv_request_t *req = match(pml_comm, &message->hdr->hdr_match);

        ++member->expected;
        if (NULL == req) {
            unexpected(pml_comm, message);
            continue;
        }
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
        mca_pml_fastpath_recv_request_matched_message(req, message);
        OPAL_THREAD_LOCK(&pml_comm->lock);
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
}

/* A message of a communicator that exists here: match it, keep it, or let it wait its turn. */
static void deliver(ompi_communicator_t *comm, mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                    size_t num_segments)
{
    const mca_pml_fastpath_match_hdr_t *hdr = segments->seg_addr.pval;
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_recv_request_t *req = NULL;
    mca_pml_fastpath_member_t *member;
    bool more;

    if (OPAL_UNLIKELY(hdr->hdr_src < 0 || hdr->hdr_src >= pml_comm->size)) {
        mca_pml_fastpath_abort("corrupt message", btl->btl_component->btl_version.mca_component_name,
                               "sender's rank out of range");
    }
    OPAL_THREAD_LOCK(&pml_comm->lock);
    member = mca_pml_fastpath_member(pml_comm, hdr->hdr_src);
    if (OPAL_UNLIKELY(NULL == member)) {
        mca_pml_fastpath_abort("no memory", "a communicator's member", "malloc");
    }
    if (OPAL_UNLIKELY(hdr->hdr_seq != member->expected)) {
        early_insert(member, message_keep(btl, segments, num_segments));
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
        return;
    }
    ++member->expected;
    req = match(pml_comm, hdr);
    if (NULL == req) {
        unexpected(pml_comm, message_keep(btl, segments, num_segments));
    }
    more = !opal_list_is_empty(&member->early);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    if (NULL != req) {
        mca_pml_fastpath_recv_request_matched(req, btl, segments, num_segments);
    }
    if (OPAL_UNLIKELY(more)) {
        early_deliver(pml_comm, member);
    }
}

static ompi_communicator_t *known_comm(uint32_t ctx)
{
    ompi_communicator_t *comm = ompi_comm_lookup(ctx);

    return NULL == comm || NULL == comm->c_pml_comm ? NULL : comm;
}

/* A message of a communicator that does not exist here yet. Asked again under the lock, because
 * orphans_adopt looks through the list after the communicator has become known. */
static void orphan(uint32_t ctx, mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                   size_t num_segments)
{
    ompi_communicator_t *comm;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    comm = known_comm(ctx);
    if (NULL == comm) {
        opal_list_append(&mca_pml_fastpath.orphans, &message_keep(btl, segments, num_segments)->super.super);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    if (NULL != comm) {
        deliver(comm, btl, segments, num_segments);
    }
}

void mca_pml_fastpath_orphans_adopt(ompi_communicator_t *comm)
{
    mca_pml_fastpath_message_t *message, *next;
    opal_list_t adopted;

    OBJ_CONSTRUCT(&adopted, opal_list_t);
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    OPAL_LIST_FOREACH_SAFE(message, next, &mca_pml_fastpath.orphans, mca_pml_fastpath_message_t) {
        if (message->hdr->hdr_match.hdr_ctx == fastpath_comm_cid(comm)) {
            opal_list_remove_item(&mca_pml_fastpath.orphans, &message->super.super);
            opal_list_append(&adopted, &message->super.super);
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    while (NULL != (message = (mca_pml_fastpath_message_t *) opal_list_remove_first(&adopted))) {
        mca_btl_base_segment_t segment = {.seg_addr.pval = message->hdr, .seg_len = message->size};

        deliver(comm, message->btl, &segment, 1);
        mca_pml_fastpath_message_return(message);
    }
    OBJ_DESTRUCT(&adopted);
}

static inline void recv_message(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                size_t num_segments)
{
    const mca_pml_fastpath_match_hdr_t *hdr = segments->seg_addr.pval;
    ompi_communicator_t *comm = known_comm(hdr->hdr_ctx);

    if (OPAL_LIKELY(NULL != comm)) {
        deliver(comm, btl, segments, num_segments);
    } else {
        orphan(hdr->hdr_ctx, btl, segments, num_segments);
    }
}

static inline void recv_ack(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                            size_t num_segments)
{
    (void) btl;
    (void) num_segments;
    mca_pml_fastpath_send_request_acked(segments->seg_addr.pval);
}

static inline void recv_frag(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                             size_t num_segments)
{
    const mca_pml_fastpath_frag_hdr_t *hdr = segments->seg_addr.pval;
    mca_pml_fastpath_recv_request_t *req = (mca_pml_fastpath_recv_request_t *) (uintptr_t) hdr->hdr_dst_req;

    (void) btl;
    mca_pml_fastpath_recv_request_progressed(
        req, mca_pml_fastpath_recv_request_unpack(req, segments, num_segments, sizeof(*hdr), hdr->hdr_offset,
                                                  SIZE_MAX));
}

static inline void recv_put(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                            size_t num_segments)
{
    (void) num_segments;
    mca_pml_fastpath_put_requested(btl, segments->seg_addr.pval);
}

static inline void recv_put_done(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                 size_t num_segments)
{
    (void) btl;
    (void) num_segments;
    mca_pml_fastpath_put_done(segments->seg_addr.pval);
}

static inline void recv_get_done(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                 size_t num_segments)
{
    (void) btl;
    (void) num_segments;
    mca_pml_fastpath_send_request_read(segments->seg_addr.pval);
}

FASTPATH_BTL_RECV_CALLBACK(callback_message, recv_message)
FASTPATH_BTL_RECV_CALLBACK(callback_ack, recv_ack)
FASTPATH_BTL_RECV_CALLBACK(callback_frag, recv_frag)
FASTPATH_BTL_RECV_CALLBACK(callback_put, recv_put)
FASTPATH_BTL_RECV_CALLBACK(callback_put_done, recv_put_done)
FASTPATH_BTL_RECV_CALLBACK(callback_get_done, recv_get_done)

int mca_pml_fastpath_recvfrag_register(void)
{
    static const mca_btl_base_module_recv_cb_fn_t callbacks[MCA_PML_FASTPATH_HDR_MAX] = {
        [MCA_PML_FASTPATH_HDR_MATCH] = callback_message,      [MCA_PML_FASTPATH_HDR_RNDV] = callback_message,
        [MCA_PML_FASTPATH_HDR_RGET] = callback_message,       [MCA_PML_FASTPATH_HDR_ACK] = callback_ack,
        [MCA_PML_FASTPATH_HDR_FRAG] = callback_frag,          [MCA_PML_FASTPATH_HDR_PUT] = callback_put,
        [MCA_PML_FASTPATH_HDR_PUT_DONE] = callback_put_done,  [MCA_PML_FASTPATH_HDR_GET_DONE] = callback_get_done,
    };

    for (int type = MCA_PML_FASTPATH_HDR_MATCH; type < MCA_PML_FASTPATH_HDR_MAX; ++type) {
        int rc = mca_bml.bml_register(MCA_BTL_TAG_PML + type, callbacks[type], NULL);

        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}
