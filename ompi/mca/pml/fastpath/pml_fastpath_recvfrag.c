/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_cancel.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_orphan.h"
#include "pml_fastpath_rdma.h"
#include "pml_fastpath_recvfrag.h"
#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sendreq.h"

/* Keep a message that came before its turn: another one from the same sender is still on its way. */
static void early_insert(mca_pml_fastpath_member_t *member, mca_pml_fastpath_parked_t *parked)
{
    uint16_t expected = (uint16_t) member->expected;
    uint16_t ahead = (uint16_t) (parked->hdr->hdr_match.hdr_seq - expected);
    opal_list_item_t *item = opal_list_get_last(&member->early);

    while (item != opal_list_get_end(&member->early)
           && (uint16_t) (((mca_pml_fastpath_parked_t *) item)->hdr->hdr_match.hdr_seq - expected) > ahead) {
        item = opal_list_get_prev(item);
    }
    opal_list_insert_pos(&member->early, opal_list_get_next(item), &parked->super);
}

/* The next message in turn, if it came early. */
static mca_pml_fastpath_parked_t *early_take(mca_pml_fastpath_comm_t *pml_comm,
                                             mca_pml_fastpath_member_t *member)
{
    mca_pml_fastpath_parked_t *parked = NULL;

    OPAL_THREAD_LOCK(&pml_comm->lock);
    if (!opal_list_is_empty(&member->early)) {
        parked = (mca_pml_fastpath_parked_t *) opal_list_get_first(&member->early);
        if (parked->hdr->hdr_match.hdr_seq == (uint16_t) member->expected) {
            (void) opal_list_remove_first(&member->early);
        } else {
            parked = NULL;
        }
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return parked;
}

/* Keep a message that no receive waits for. The communicator is locked. */
static void keep(mca_pml_fastpath_comm_t *pml_comm, const mca_pml_fastpath_arrival_t *arrival,
                 uint32_t sequence)
{
    mca_pml_fastpath_message_t *message = mca_pml_fastpath_message_keep(arrival, sequence);

    mca_pml_fastpath_count(MCA_PML_FASTPATH_UNEXPECTED);
    if (OPAL_UNLIKELY(
            0
            != mca_pml_fastpath_match_store(&pml_comm->matcher, &message->msg, arrival->src, arrival->tag))) {
        mca_pml_fastpath_abort("no memory", "an unexpected message", "match queues");
    }
}

/* What happens to a message in its turn. */
typedef enum { MATCHED, KEPT, DROPPED, EARLY } fate_t;

/* Match a message, keep it, drop it or let it wait its turn. The communicator is locked. */
static fate_t decide(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, uint16_t seq,
                     const mca_pml_fastpath_arrival_t *arrival, mca_pml_fastpath_recv_request_t **req,
                     mca_pml_fastpath_withdrawn_t **withdrawn)
{
    mca_pml_fastpath_match_post_t *post;
    uint32_t sequence = member->expected;

    if (OPAL_UNLIKELY(seq != (uint16_t) sequence)) {
        return EARLY;
    }
    ++member->expected;
    if (OPAL_UNLIKELY(!opal_list_is_empty(&member->withdrawn))) {
        *withdrawn = mca_pml_fastpath_cancel_withdrawn(member, sequence);
        if (NULL != *withdrawn) {
            return DROPPED;
        }
    }
    post = mca_pml_fastpath_match_arrive(&pml_comm->matcher, arrival->src, arrival->tag);
    if (NULL != post) {
        *req = mca_pml_fastpath_recv_request_of(post);
        return MATCHED;
    }
    keep(pml_comm, arrival, sequence);
    return KEPT;
}

/* Deliver one message of a communicator that exists here.
 * @return the member if the next one of its messages may be here already (the communicator is retained
 *         then), else NULL */
static inline mca_pml_fastpath_member_t *deliver_one(ompi_communicator_t *comm,
                                                     const mca_pml_fastpath_match_hdr_t *hdr,
                                                     const mca_pml_fastpath_arrival_t *arrival)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_withdrawn_t *withdrawn = NULL;
    mca_pml_fastpath_recv_request_t *req = NULL;
    mca_pml_fastpath_member_t *member;
    bool more;
    fate_t fate;

    if (OPAL_UNLIKELY(hdr->hdr_src < 0 || hdr->hdr_src >= pml_comm->size)) {
        mca_pml_fastpath_abort("corrupt message", arrival->btl->btl_component->btl_version.mca_component_name,
                               "sender's rank out of range");
    }
    OPAL_THREAD_LOCK(&pml_comm->lock);
    member = mca_pml_fastpath_member(pml_comm, hdr->hdr_src);
    if (OPAL_UNLIKELY(NULL == member)) {
        mca_pml_fastpath_abort("no memory", "a communicator's member", "malloc");
    }
    fate = decide(pml_comm, member, hdr->hdr_seq, arrival, &req, &withdrawn);
    if (OPAL_UNLIKELY(EARLY == fate)) {
        early_insert(member, mca_pml_fastpath_park(arrival->btl, arrival->segments, arrival->num_segments));
    }
    more = EARLY != fate && !opal_list_is_empty(&member->early);
    if (OPAL_UNLIKELY(more)) {
        OBJ_RETAIN(comm); /* the receive may be all that keeps it */
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    if (MATCHED == fate || DROPPED == fate) {
        mca_pml_fastpath_consumed(member, comm, arrival->src, arrival->type,
                                  mca_pml_fastpath_arrival_payload(arrival));
    }
    if (OPAL_LIKELY(NULL != req)) {
        mca_pml_fastpath_recv_request_matched(req, arrival);
    } else if (OPAL_UNLIKELY(NULL != withdrawn)) {
        mca_pml_fastpath_cancel_withdrawn_done(withdrawn);
    }
    return OPAL_UNLIKELY(more) ? member : NULL;
}

/* What a header and its BTL say of a message. type repeats hdr_type, for the compiler's sake. */
static inline void arrival_init(mca_pml_fastpath_arrival_t *arrival, uint8_t type, mca_btl_base_module_t *btl,
                                const mca_btl_base_segment_t *segments, size_t num_segments)
{
    const mca_pml_fastpath_hdr_t *hdr = segments->seg_addr.pval;

    arrival->type = type;
    arrival->flags = hdr->hdr_match.hdr_flags;
    arrival->src = hdr->hdr_match.hdr_src;
    arrival->tag = hdr->hdr_match.hdr_tag;
    arrival->btl = btl;
    arrival->segments = segments;
    arrival->num_segments = num_segments;
    if (MCA_PML_FASTPATH_HDR_MATCH == type) {
        arrival->skip = sizeof(hdr->hdr_match);
        arrival->length = mca_pml_fastpath_arrival_payload(arrival);
        return;
    }
    arrival->length = hdr->hdr_rndv.hdr_length;
    arrival->src_req = hdr->hdr_rndv.hdr_src_req;
    if (MCA_PML_FASTPATH_HDR_RGET == type) {
        arrival->address = hdr->hdr_rget.hdr_address;
        arrival->skip = sizeof(hdr->hdr_rget);
    } else {
        arrival->address = 0;
        arrival->skip = sizeof(hdr->hdr_rndv);
    }
}

/* Deliver a member's messages that came early, as far as their turn has come now. */
static void deliver_early(ompi_communicator_t *comm, mca_pml_fastpath_member_t *member)
{
    mca_pml_fastpath_parked_t *parked;

    while (NULL != (parked = early_take(mca_pml_fastpath_comm(comm), member))) {
        mca_btl_base_segment_t segment = {.seg_addr.pval = parked->hdr, .seg_len = parked->size};
        mca_pml_fastpath_arrival_t arrival;

        arrival_init(&arrival, parked->hdr->hdr_type, parked->btl, &segment, 1);
        if (NULL != deliver_one(comm, &parked->hdr->hdr_match, &arrival)) {
            OBJ_RELEASE(comm); /* the caller holds it, too */
        }
        mca_pml_fastpath_parked_free(parked);
    }
}

/* A message, perhaps of a communicator that does not exist here yet. */
static __opal_attribute_noinline__ void recv_message(uint8_t type, mca_btl_base_module_t *btl,
                                                     const mca_btl_base_segment_t *segments,
                                                     size_t num_segments)
{
    const mca_pml_fastpath_match_hdr_t *hdr = segments->seg_addr.pval;
    ompi_communicator_t *comm = mca_pml_fastpath_known_comm(hdr->hdr_ctx);
    mca_pml_fastpath_arrival_t arrival;
    mca_pml_fastpath_member_t *member;

    if (OPAL_UNLIKELY(NULL == comm)) {
        comm = mca_pml_fastpath_orphan(btl, segments, num_segments);
        if (NULL == comm) {
            return;
        }
    }
    arrival_init(&arrival, type, btl, segments, num_segments);
    member = deliver_one(comm, hdr, &arrival);
    if (OPAL_UNLIKELY(NULL != member)) {
        deliver_early(comm, member);
        OBJ_RELEASE(comm);
    }
}

/* Keep a message in its turn that no receive waits for. The communicator is locked. */
static __opal_attribute_noinline__ void keep_match(mca_pml_fastpath_comm_t *pml_comm,
                                                   mca_btl_base_module_t *btl,
                                                   const mca_btl_base_segment_t *segment, uint32_t sequence)
{
    mca_pml_fastpath_arrival_t arrival;

    arrival_init(&arrival, MCA_PML_FASTPATH_HDR_MATCH, btl, segment, 1);
    keep(pml_comm, &arrival, sequence);
}

static __opal_attribute_noinline__ void matched_match(mca_pml_fastpath_recv_request_t *req,
                                                      mca_btl_base_module_t *btl,
                                                      const mca_btl_base_segment_t *segment)
{
    mca_pml_fastpath_arrival_t arrival;

    arrival_init(&arrival, MCA_PML_FASTPATH_HDR_MATCH, btl, segment, 1);
    mca_pml_fastpath_recv_request_matched(req, &arrival);
}

/* What nearly all messages are: whole, in one piece, in their turn, from a process that we know.
 * @return false when it is another one; then nothing has been done */
static inline bool deliver_match(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segment)
{
    const mca_pml_fastpath_match_hdr_t *hdr = segment->seg_addr.pval;
    const size_t length = segment->seg_len - sizeof(*hdr);
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm_of(hdr->hdr_ctx);
    mca_pml_fastpath_recv_request_t *req;
    mca_pml_fastpath_match_post_t *post;
    mca_pml_fastpath_member_t *member;

    if (OPAL_UNLIKELY(NULL == pml_comm || (uint32_t) hdr->hdr_src >= (uint32_t) pml_comm->size)) {
        return false;
    }
    OPAL_THREAD_LOCK(&pml_comm->lock);
    member = pml_comm->members[hdr->hdr_src];
    if (OPAL_UNLIKELY(NULL == member || NULL == member->peer || hdr->hdr_seq != (uint16_t) member->expected
                      || !mca_pml_fastpath_member_in_order(member))) {
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
        return false;
    }
    post = mca_pml_fastpath_match_arrive(&pml_comm->matcher, hdr->hdr_src, hdr->hdr_tag);
    if (NULL == post) {
        keep_match(pml_comm, btl, segment, member->expected++);
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
        return true;
    }
    ++member->expected;
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    mca_pml_fastpath_credit_consumed(member->peer,
                                     mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MATCH, length));
    req = mca_pml_fastpath_recv_request_of(post);
    if (OPAL_LIKELY(req->req_plain)) {
        mca_pml_fastpath_recv_request_deliver(req, mca_pml_fastpath_match_word1(hdr->hdr_src, hdr->hdr_tag),
                                              hdr + 1, length);
    } else {
        matched_match(req, btl, segment);
    }
    return true;
}

static inline void recv_match(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                              size_t num_segments)
{
    if (OPAL_LIKELY(1 == num_segments && deliver_match(btl, segments))) {
        return;
    }
    recv_message(MCA_PML_FASTPATH_HDR_MATCH, btl, segments, num_segments);
}

static inline void recv_rndv(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                             size_t num_segments)
{
    const mca_pml_fastpath_hdr_t *hdr = segments->seg_addr.pval;

    recv_message(hdr->hdr_type, btl, segments, num_segments);
}

static inline void recv_cancel(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                               size_t num_segments)
{
    (void) num_segments;
    mca_pml_fastpath_cancel_requested(btl, segments->seg_addr.pval);
}

void mca_pml_fastpath_recvfrag_replay(mca_pml_fastpath_parked_t *parked)
{
    mca_btl_base_segment_t segment = {.seg_addr.pval = parked->hdr, .seg_len = parked->size};

    recv_message(parked->hdr->hdr_type, parked->btl, &segment, 1);
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
    if (mca_pml_fastpath_has_failed(&req->req_watch)) {
        return;
    }
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

static inline void recv_cancelled(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                  size_t num_segments)
{
    (void) btl;
    (void) num_segments;
    mca_pml_fastpath_cancel_answered(segments->seg_addr.pval);
}

static inline void recv_credit(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                               size_t num_segments)
{
    (void) btl;
    (void) num_segments;
    mca_pml_fastpath_credit_arrived(segments->seg_addr.pval);
}

static inline void recv_leave(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                              size_t num_segments)
{
    (void) btl;
    (void) num_segments;
    mca_pml_fastpath_link_left(segments->seg_addr.pval);
}

static inline void recv_known(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                              size_t num_segments)
{
    (void) btl;
    (void) num_segments;
    mca_pml_fastpath_known_arrived(segments->seg_addr.pval);
}

FASTPATH_BTL_RECV_CALLBACK(callback_match, recv_match)
FASTPATH_BTL_RECV_CALLBACK(callback_rndv, recv_rndv)
FASTPATH_BTL_RECV_CALLBACK(callback_ack, recv_ack)
FASTPATH_BTL_RECV_CALLBACK(callback_frag, recv_frag)
FASTPATH_BTL_RECV_CALLBACK(callback_put, recv_put)
FASTPATH_BTL_RECV_CALLBACK(callback_put_done, recv_put_done)
FASTPATH_BTL_RECV_CALLBACK(callback_get_done, recv_get_done)
FASTPATH_BTL_RECV_CALLBACK(callback_cancel, recv_cancel)
FASTPATH_BTL_RECV_CALLBACK(callback_cancelled, recv_cancelled)
FASTPATH_BTL_RECV_CALLBACK(callback_credit, recv_credit)
FASTPATH_BTL_RECV_CALLBACK(callback_leave, recv_leave)
FASTPATH_BTL_RECV_CALLBACK(callback_named, mca_pml_fastpath_named_arrived)
FASTPATH_BTL_RECV_CALLBACK(callback_known, recv_known)

int mca_pml_fastpath_recvfrag_register(void)
{
    static const mca_btl_base_module_recv_cb_fn_t callbacks[MCA_PML_FASTPATH_HDR_MAX] = {
        [MCA_PML_FASTPATH_HDR_MATCH] = callback_match,
        [MCA_PML_FASTPATH_HDR_RNDV] = callback_rndv,
        [MCA_PML_FASTPATH_HDR_RGET] = callback_rndv,
        [MCA_PML_FASTPATH_HDR_ACK] = callback_ack,
        [MCA_PML_FASTPATH_HDR_FRAG] = callback_frag,
        [MCA_PML_FASTPATH_HDR_PUT] = callback_put,
        [MCA_PML_FASTPATH_HDR_PUT_DONE] = callback_put_done,
        [MCA_PML_FASTPATH_HDR_GET_DONE] = callback_get_done,
        [MCA_PML_FASTPATH_HDR_CANCEL] = callback_cancel,
        [MCA_PML_FASTPATH_HDR_CANCELLED] = callback_cancelled,
        [MCA_PML_FASTPATH_HDR_CREDIT] = callback_credit,
        [MCA_PML_FASTPATH_HDR_LEAVE] = callback_leave,
        [MCA_PML_FASTPATH_HDR_NAMED] = callback_named,
        [MCA_PML_FASTPATH_HDR_KNOWN] = callback_known,
    };

    for (int type = MCA_PML_FASTPATH_HDR_MATCH; type < MCA_PML_FASTPATH_HDR_MAX; ++type) {
        int rc = mca_bml.bml_register(MCA_BTL_TAG_PML + type, callbacks[type], NULL);

        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}
