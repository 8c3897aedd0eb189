/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_cancel.h"
#include "pml_fastpath_check.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_freed.h"
#include "pml_fastpath_handle.h"
#include "pml_fastpath_idle.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_number.h"
#include "pml_fastpath_pace.h"
#include "pml_fastpath_pending.h"
#include "pml_fastpath_recvfrag.h"
#include "pml_fastpath_recvreq.h"

/* How far ahead of its turn a message is that came early. */
static inline uint16_t early_ahead(const opal_list_item_t *item, uint16_t expected)
{
    return (uint16_t) (((const mca_pml_fastpath_parked_t *) item)->hdr->hdr_match.hdr_seq - expected);
}

/* Keep a message that came before its turn: another one from the same sender is still on its way. */
static void early_insert(mca_pml_fastpath_member_t *member, mca_pml_fastpath_parked_t *parked)
{
    uint16_t expected = (uint16_t) member->expected;
    uint16_t ahead = (uint16_t) (parked->hdr->hdr_match.hdr_seq - expected);
    opal_list_item_t *item = opal_list_get_last(&member->early);

    while (item != opal_list_get_end(&member->early) && early_ahead(item, expected) > ahead) {
        item = opal_list_get_prev(item);
    }
    if (OPAL_UNLIKELY(item != opal_list_get_end(&member->early) && ahead == early_ahead(item, expected))) {
        mca_pml_fastpath_corrupt(parked->btl, NULL == member->peer ? NULL : member->peer->proc,
                                 parked->hdr->hdr_type, "a sequence number that has come before");
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
        if (mca_pml_fastpath_in_turn(member, parked->hdr->hdr_match.hdr_seq)) {
            (void) opal_list_remove_first(&member->early);
        } else {
            parked = NULL;
        }
    }
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return parked;
}

/* Keep a message that no receive waits for. The communicator is locked. */
static void keep_unexpected(mca_pml_fastpath_comm_t *pml_comm, const mca_pml_fastpath_arrival_t *arrival)
{
    mca_pml_fastpath_multi_t *multi = OPAL_UNLIKELY(MCA_PML_FASTPATH_HDR_MULTI == arrival->type)
                                          ? mca_pml_fastpath_multi_first(arrival)
                                          : NULL;
    mca_pml_fastpath_message_t *message = mca_pml_fastpath_message_keep(arrival, multi);

    mca_pml_fastpath_count(MCA_PML_FASTPATH_UNEXPECTED);
    if (OPAL_UNLIKELY(
            0
            != mca_pml_fastpath_match_store(&pml_comm->matcher, &message->msg, arrival->src, arrival->tag))) {
        mca_pml_fastpath_abort("no memory", "an unexpected message", "match queues");
    }
    mca_pml_fastpath_wake_threads(); /* a probe */
}

/* Whether btl/fastsm may be told to leave something where it is. With several threads nobody may; a receive
 * does not look there for what a peer of several BTLs sends, or not at all; and who looks into the queues
 * after progress expects to find what has come. */
static bool may_leave(const mca_btl_base_module_t *btl, const mca_pml_fastpath_member_t *member)
{
    return btl == mca_pml_fastpath.fastsm && mca_pml_fastpath.use_immediate_recv && !opal_using_threads()
           && NULL != member->peer && NULL != member->peer->ext && !mca_pml_fastpath.takes_all
           && !mca_pml_fastpath_ft() && MCA_BTL_FASTSM_MUST_TAKE != member->peer->ext->handed->choice;
}

/* Whether progress may go on after a message of so many bytes that it keeps. */
static bool may_keep_more(size_t bytes)
{
    mca_pml_fastpath_pace_t *pace = &mca_pml_fastpath_pace;
    const bool more = bytes < pace->may_keep;

    pace->may_keep -= more && SIZE_MAX != pace->may_keep ? bytes : 0;
    return more;
}

/* No receive waits for a message that is still where its BTL has it. After another one that somebody has
 * waited for it stays there: the program may ask for it next, and gets it without a copy in between; then
 * MPI_Irecv looks for it. Nobody waits where progress is made up for in a stream of calls: one message is
 * kept then, so that those behind it come in time, or some short ones.
 * @param bytes  of its data
 * @return whether it stays; else it is to be kept */
static bool leave(const mca_btl_base_module_t *btl, mca_pml_fastpath_member_t *member, size_t bytes)
{
    mca_btl_fastsm_handed_t *handed;

    if (!may_leave(btl, member)) {
        return false;
    }
    handed = member->peer->ext->handed;
    if (MCA_BTL_FASTSM_MAY_STAY == handed->choice) {
        member->early_hits = MCA_PML_FASTPATH_EARLY_HITS;
        handed->answer = MCA_BTL_FASTSM_LEFT;
        return true;
    }
    handed->answer = may_keep_more(bytes) ? MCA_BTL_FASTSM_KEPT : MCA_BTL_FASTSM_KEPT_LAST;
    return false;
}

/* What happens to a message in its turn. */
typedef enum { MATCHED, KEPT, DROPPED, EARLY, LEFT } match_result_t;

/* Match a message, keep it, drop it, let it wait its turn or, if it is in place, for the next look. The
 * communicator is locked. */
static match_result_t decide(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member,
                             uint16_t seq, mca_pml_fastpath_arrival_t *arrival, bool in_place,
                             mca_pml_fastpath_recv_request_t **req, mca_pml_fastpath_withdrawn_t **withdrawn)
{
    mca_pml_fastpath_match_post_t *post = NULL;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_in_turn(member, seq))) {
        return EARLY;
    }
    arrival->sequence = member->expected;
    if (OPAL_UNLIKELY(!opal_list_is_empty(&member->withdrawn))) {
        *withdrawn = mca_pml_fastpath_cancel_withdrawn(member, arrival->sequence);
    }
    if (OPAL_LIKELY(NULL == *withdrawn)) {
        post = mca_pml_fastpath_match_arrive(&pml_comm->matcher, arrival->src, arrival->tag);
        if (NULL == post && in_place && MCA_PML_FASTPATH_HDR_MATCH == arrival->type
            && leave(arrival->btl, member, arrival->length)) {
            return LEFT;
        }
    }
    (void) mca_pml_fastpath_advance(member);
    if (OPAL_UNLIKELY(NULL != *withdrawn)) {
        return DROPPED;
    }
    if (NULL != post) {
        *req = mca_pml_fastpath_recv_request_of(post);
        return MATCHED;
    }
    keep_unexpected(pml_comm, arrival);
    return KEPT;
}

/* Deliver one message of a communicator that exists here, and that the caller holds.
 * @param in_place  it is where its BTL has it
 * @return the member if the next one of its messages may be here already, else NULL */
static inline mca_pml_fastpath_member_t *deliver_one(ompi_communicator_t *comm,
                                                     const mca_pml_fastpath_hdr_t *hdr,
                                                     mca_pml_fastpath_arrival_t *arrival, bool in_place)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_withdrawn_t *withdrawn = NULL;
    mca_pml_fastpath_recv_request_t *req = NULL;
    mca_pml_fastpath_member_t *member;
    bool done, more;
    match_result_t result;

    if (OPAL_UNLIKELY(arrival->src < 0 || arrival->src >= pml_comm->size)) {
        mca_pml_fastpath_corrupt(arrival->btl, NULL, arrival->type, "sender's rank out of range");
    }
    OPAL_THREAD_LOCK(&pml_comm->lock);
    member = mca_pml_fastpath_needed(mca_pml_fastpath_member(pml_comm, arrival->src),
                                     "a communicator's member", "malloc");
    result = decide(pml_comm, member, hdr->hdr_match.hdr_seq, arrival, in_place, &req, &withdrawn);
    if (OPAL_UNLIKELY(EARLY == result)) {
        early_insert(member, mca_pml_fastpath_park(arrival->btl, hdr, arrival->segments,
                                                   arrival->num_segments, arrival->skip));
    }
    done = EARLY != result && LEFT != result;
    more = done && !opal_list_is_empty(&member->early);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    if (OPAL_UNLIKELY(0 != (MCA_PML_FASTPATH_HDR_FLAG_TELL & arrival->flags)) && done) {
        mca_pml_fastpath_number_tell(member, comm, arrival->src, hdr->hdr_match.hdr_seq);
    }
    if (MATCHED == result || DROPPED == result) {
        mca_pml_fastpath_consumed(member, comm, arrival->src, arrival->type,
                                  MCA_PML_FASTPATH_HDR_MULTI == arrival->type
                                      ? arrival->length
                                      : mca_pml_fastpath_arrival_payload(arrival));
    }
    if (OPAL_UNLIKELY(DROPPED == result && MCA_PML_FASTPATH_HDR_MULTI == arrival->type)) {
        mca_pml_fastpath_multi_release(mca_pml_fastpath_multi_first(arrival));
    }
    if (OPAL_LIKELY(NULL != req)) {
        mca_pml_fastpath_recv_request_matched(req, arrival);
    } else if (OPAL_UNLIKELY(NULL != withdrawn)) {
        mca_pml_fastpath_cancel_withdrawn_done(withdrawn);
    }
    return OPAL_UNLIKELY(more) ? member : NULL;
}

/* What a header and its BTL say of a message. type repeats hdr_type, for the compiler's sake. skip: bytes of
 * the segments in front of what follows the header. */
static inline void arrival_init(mca_pml_fastpath_arrival_t *arrival, uint8_t type,
                                const mca_pml_fastpath_hdr_t *hdr, mca_btl_base_module_t *btl,
                                const mca_btl_base_segment_t *segments, size_t num_segments, size_t skip)
{
    arrival->type = type;
    arrival->flags = hdr->hdr_match.hdr_flags;
    arrival->src = hdr->hdr_match.hdr_src;
    arrival->tag = hdr->hdr_match.hdr_tag;
    arrival->btl = btl;
    arrival->segments = segments;
    arrival->num_segments = num_segments;
    arrival->skip = skip;
    if (MCA_PML_FASTPATH_HDR_MATCH == type) {
        arrival->length = mca_pml_fastpath_arrival_payload(arrival);
        return;
    }
    arrival->length = hdr->hdr_rndv.hdr_length;
    arrival->src_req = hdr->hdr_rndv.hdr_src_req;
    if (MCA_PML_FASTPATH_HDR_MULTI == type) {
        arrival->name = hdr->hdr_multi.hdr_name;
        arrival->multi = NULL;
        return;
    }
    arrival->address = MCA_PML_FASTPATH_HDR_RGET == type ? hdr->hdr_rget.hdr_address : 0;
}

/* Deliver a member's messages that came early, as far as their turn has come now. */
static void deliver_early(ompi_communicator_t *comm, mca_pml_fastpath_member_t *member)
{
    mca_pml_fastpath_parked_t *parked;

    while (NULL != (parked = early_take(mca_pml_fastpath_comm(comm), member))) {
        mca_btl_base_segment_t segment = {.seg_addr.pval = parked->hdr, .seg_len = parked->size};
        mca_pml_fastpath_arrival_t arrival;

        arrival_init(&arrival, parked->hdr->hdr_type, parked->hdr, parked->btl, &segment, 1,
                     mca_pml_fastpath_rule(parked->hdr->hdr_type)->size);
        (void) deliver_one(comm, parked->hdr, &arrival, false);
        mca_pml_fastpath_parked_free(parked);
    }
}

/* The first fragment of a message for a communicator that was freed here, whose id has come to mean another
 * one. */
static void lose(const mca_pml_fastpath_hdr_t *hdr, mca_btl_base_module_t *btl,
                 const mca_btl_base_segment_t *segments, size_t num_segments, size_t skip)
{
    mca_pml_fastpath_parked_t *parked = mca_pml_fastpath_park(btl, hdr, segments, num_segments, skip);

    mca_pml_fastpath_pending_drop(parked, hdr->hdr_multi.hdr_name);
    mca_pml_fastpath_parked_free(parked);
}

/* A message, perhaps of a communicator that does not exist here yet. */
static void deliver_message(const mca_pml_fastpath_hdr_t *hdr, mca_btl_base_module_t *btl,
                            const mca_btl_base_segment_t *segments, size_t num_segments, size_t skip,
                            bool in_place)
{
    ompi_communicator_t *comm =
        mca_pml_fastpath_comm_hold(hdr->hdr_match.hdr_ctx); /* a receive may be all that keeps it */
    mca_pml_fastpath_arrival_t arrival;
    mca_pml_fastpath_member_t *member;

    if (OPAL_UNLIKELY(NULL == comm)) {
        comm = mca_pml_fastpath_pending(btl, hdr, segments, num_segments, skip);
        if (NULL == comm) {
            return;
        }
    }
    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_HDR_MULTI == hdr->hdr_type
                      && !mca_pml_fastpath_is_meant(btl, comm, &hdr->hdr_match, hdr->hdr_multi.hdr_name))) {
        lose(hdr, btl, segments, num_segments, skip);
        OBJ_RELEASE(comm);
        return;
    }
    arrival_init(&arrival, hdr->hdr_type, hdr, btl, segments, num_segments, skip);
    member = deliver_one(comm, hdr, &arrival, in_place);
    if (OPAL_UNLIKELY(NULL != member)) {
        deliver_early(comm, member);
    }
    OBJ_RELEASE(comm);
}

void mca_pml_fastpath_rndv_check(const mca_btl_base_module_t *btl, const mca_pml_fastpath_hdr_t *hdr,
                                 size_t behind)
{
    /* what it counts has to leave room for what is added to it: MCA_PML_FASTPATH_TODO_UNKNOWN */
    if (hdr->hdr_rndv.hdr_length >= (uint64_t) MCA_PML_FASTPATH_TODO_UNKNOWN
        || (MCA_PML_FASTPATH_HDR_RGET != hdr->hdr_type && behind > hdr->hdr_rndv.hdr_length)) {
        mca_pml_fastpath_corrupt(btl, NULL, hdr->hdr_type, "length of the message");
    }
    if (MCA_PML_FASTPATH_HDR_MULTI == hdr->hdr_type) {
        mca_pml_fastpath_multi_check(btl, &hdr->hdr_multi);
    }
}

/* A message as it comes from its BTL. */
static __opal_attribute_noinline__ void recv_message(uint8_t type, mca_btl_base_module_t *btl,
                                                     const mca_btl_base_segment_t *segments,
                                                     size_t num_segments)
{
    mca_pml_fastpath_hdr_t hdr;
    size_t behind = mca_pml_fastpath_hdr_read(type, btl, segments, num_segments, &hdr);

    if (MCA_PML_FASTPATH_HDR_MATCH != type) {
        mca_pml_fastpath_rndv_check(btl, &hdr, behind);
    }
    deliver_message(&hdr, btl, segments, num_segments, mca_pml_fastpath_rule(type)->size, true);
}

/* A MATCH of whose header all that counts has been read: source and tag. */
static inline void arrival_init_match(mca_pml_fastpath_arrival_t *arrival, uint64_t word1,
                                      mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                      size_t num_segments)
{
    const mca_pml_fastpath_hdr_t hdr = {.hdr_match = {.hdr_type = MCA_PML_FASTPATH_HDR_MATCH,
                                                      .hdr_src = mca_pml_fastpath_match_word1_src(word1),
                                                      .hdr_tag = mca_pml_fastpath_match_word1_tag(word1)}};

    arrival_init(arrival, MCA_PML_FASTPATH_HDR_MATCH, &hdr, btl, segments, num_segments,
                 sizeof(hdr.hdr_match));
}

/* Keep a message in its turn that no receive waits for. The communicator is locked. */
static __opal_attribute_noinline__ void keep_match(mca_pml_fastpath_comm_t *pml_comm, uint64_t word1,
                                                   mca_btl_base_module_t *btl,
                                                   const mca_btl_base_segment_t *segments,
                                                   size_t num_segments, uint32_t sequence)
{
    mca_pml_fastpath_arrival_t arrival;

    arrival_init_match(&arrival, word1, btl, segments, num_segments);
    arrival.sequence = sequence;
    keep_unexpected(pml_comm, &arrival);
}

static __opal_attribute_noinline__ void matched_match(mca_pml_fastpath_recv_request_t *req, uint64_t word1,
                                                      mca_btl_base_module_t *btl,
                                                      const mca_btl_base_segment_t *segments,
                                                      size_t num_segments)
{
    mca_pml_fastpath_arrival_t arrival;

    arrival_init_match(&arrival, word1, btl, segments, num_segments);
    mca_pml_fastpath_recv_request_matched(req, &arrival);
}

/* What nearly all messages are: whole, their data in one piece, in their turn, from a process that we know.
 * Each field of the header is read once, as mca_pml_fastpath_hdr_read() does.
 * @param data    what is behind the header, in its segment or in the second one
 * @param length  bytes of that
 * @return false when it is another one, or no message at all; then nothing has been done */
static inline bool deliver_match(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                 size_t num_segments, const void *data, size_t length)
{
    const mca_pml_fastpath_match_hdr_t *hdr = segments->seg_addr.pval;
    mca_pml_fastpath_comm_t *pml_comm;
    mca_pml_fastpath_recv_request_t *req;
    mca_pml_fastpath_match_post_t *post;
    mca_pml_fastpath_member_t *member;
    uint64_t header[2];
    uint32_t ctx;
    int32_t src;

    memcpy(header, hdr, sizeof(header));
    __asm__("" : "+r"(header[0]), "+r"(header[1])); /* the compiler has to keep them */
    src = mca_pml_fastpath_match_word1_src(header[1]);
    ctx = mca_pml_fastpath_match_word0_ctx(header[0]);
    pml_comm = mca_pml_fastpath_comm_of(ctx);
    if (OPAL_UNLIKELY(NULL == pml_comm || !mca_pml_fastpath_comm_lock(pml_comm, ctx))) {
        return false;
    }
    if (OPAL_UNLIKELY((uint32_t) src >= (uint32_t) pml_comm->size)) {
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
        return false;
    }
    member = pml_comm->members[src];
    if (OPAL_UNLIKELY(NULL == member || NULL == member->peer
                      || !mca_pml_fastpath_is_next(pml_comm, member, src, header))) {
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
        return false;
    }
    post =
        mca_pml_fastpath_match_arrive(&pml_comm->matcher, src, mca_pml_fastpath_match_word1_tag(header[1]));
    if (NULL == post) {
        if (!leave(btl, member, length)) {
            keep_match(pml_comm, header[1], btl, segments, num_segments, mca_pml_fastpath_advance(member));
        }
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
        return true;
    }
    (void) mca_pml_fastpath_advance(member);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    mca_pml_fastpath_credit_consumed(member->peer, MCA_PML_FASTPATH_HDR_MATCH, length, opal_using_threads());
    req = mca_pml_fastpath_recv_request_of(post);
    if (OPAL_LIKELY(mca_pml_fastpath_recv_request_contiguous(req))) {
        mca_pml_fastpath_recv_request_deliver(req, header[1], data, length);
    } else {
        matched_match(req, header[1], btl, segments, num_segments);
    }
    return true;
}

static inline void recv_match(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                              size_t num_segments)
{
    const size_t hdr_size = sizeof(mca_pml_fastpath_match_hdr_t);
    const bool apart = 2 == num_segments && hdr_size == segments->seg_len; /* as btl/self leaves it */
    const void *data = apart ? segments[1].seg_addr.pval : (char *) segments->seg_addr.pval + hdr_size;
    const size_t length = apart ? segments[1].seg_len : segments->seg_len - hdr_size;

    ++mca_pml_fastpath.arrived;
    if (OPAL_LIKELY((apart || (1 == num_segments && hdr_size <= segments->seg_len))
                    && deliver_match(btl, segments, num_segments, data, length))) {
        return;
    }
    recv_message(MCA_PML_FASTPATH_HDR_MATCH, btl, segments, num_segments);
}

void mca_pml_fastpath_recvfrag_replay(mca_pml_fastpath_parked_t *parked)
{
    mca_btl_base_segment_t segment = {.seg_addr.pval = parked->hdr, .seg_len = parked->size};

    deliver_message(parked->hdr, parked->btl, &segment, 1, mca_pml_fastpath_rule(parked->hdr->hdr_type)->size,
                    false);
}

/* What lies behind the user's buffer is dropped. */
static void unpack_frag(mca_pml_fastpath_recv_request_t *req, const mca_btl_base_segment_t *segments,
                        size_t num_segments, size_t offset)
{
    if (OPAL_LIKELY(offset < req->req_accepted)) {
        (void) mca_pml_fastpath_recv_request_unpack(req, segments, num_segments,
                                                    sizeof(mca_pml_fastpath_frag_hdr_t), offset,
                                                    req->req_accepted - offset);
    }
}

static inline void recv_frag(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                             size_t num_segments)
{
    mca_pml_fastpath_frag_hdr_t hdr;
    size_t length = mca_pml_fastpath_hdr_read(MCA_PML_FASTPATH_HDR_FRAG, btl, segments, num_segments, &hdr);
    mca_pml_fastpath_recv_request_t *req =
        mca_pml_fastpath_handle_named(MCA_PML_FASTPATH_HANDLE_RECV, hdr.hdr_dst_req, btl, hdr.hdr_type);

    if (OPAL_UNLIKELY(NULL == req)) {
        return;
    }
    if (mca_pml_fastpath_has_failed(&req->req_watch)) {
        length = 0; /* nothing of it counts any more */
    } else if (OPAL_UNLIKELY(
                   !mca_pml_fastpath_is_within(hdr.hdr_offset, length, req->req_recv.req_bytes_packed))) {
        mca_pml_fastpath_corrupt(btl, req->req_peer->proc, hdr.hdr_type, "place within the message");
    } else {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_uncovered,
                                       -mca_pml_fastpath_range_sum(hdr.hdr_offset, length));
        unpack_frag(req, segments, num_segments, hdr.hdr_offset);
        mca_pml_fastpath.pieces_moved += NULL != req->req_asked ? 1 : 0;
    }
    mca_pml_fastpath_recv_request_progressed(req, length + 1);
}

/* A message that is matched, and may be anything else than a MATCH. */
#define MESSAGE(type)                                                                                        \
    static inline void recv_##type(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,       \
                                   size_t num_segments)                                                      \
    {                                                                                                        \
        recv_message(MCA_PML_FASTPATH_HDR_##type, btl, segments, num_segments);                              \
    }                                                                                                        \
    FASTPATH_BTL_RECV_CALLBACK(callback_##type, recv_##type)

FASTPATH_BTL_RECV_CALLBACK(callback_match, recv_match)
FASTPATH_BTL_RECV_CALLBACK(callback_frag, recv_frag)
MESSAGE(RNDV)
MESSAGE(RGET)
MESSAGE(MULTI)

void mca_pml_fastpath_recvfrag_callbacks(mca_btl_base_module_recv_cb_fn_t *callbacks)
{
    callbacks[MCA_PML_FASTPATH_HDR_MATCH] = callback_match;
    callbacks[MCA_PML_FASTPATH_HDR_RNDV] = callback_RNDV;
    callbacks[MCA_PML_FASTPATH_HDR_RGET] = callback_RGET;
    callbacks[MCA_PML_FASTPATH_HDR_FRAG] = callback_frag;
    callbacks[MCA_PML_FASTPATH_HDR_MULTI] = callback_MULTI;
}
