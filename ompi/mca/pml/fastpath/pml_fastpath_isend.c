/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_blocks.h"
#include "pml_fastpath_bml.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_help.h"
#include "pml_fastpath_link_failed.h"
#include "pml_fastpath_number.h"
#include "pml_fastpath_pace.h"
#include "pml_fastpath_sendreq.h"
#include "pml_fastpath_sendreq_start.h"
#include "pml_fastpath_wait.h"

/* @return whether a message of this mode has to do with nobody but its BTL. A buffered one needs no room in
 * the attached buffer if it leaves at once. */
static inline bool immediate_mode(mca_pml_base_send_mode_t mode)
{
    return MCA_PML_BASE_SEND_STANDARD == mode || MCA_PML_BASE_SEND_READY == mode
           || MCA_PML_BASE_SEND_BUFFERED == mode;
}

/*
 * The same tag in 64 bits, which the compiler has to keep from here on. Otherwise it stores 32 bits and loads
 * 64 to build the header from. Store forwarding does not work for such a load: it waits until the store, and
 * with it all stores to the last message's slot, have left the store buffer.
 */
static inline int keep_wide(int tag)
{
    uint64_t wide = (uint32_t) tag;

    __asm__("" : "+r"(wide));
    return (int) wide;
}

/*
 * Send a short message that is contiguous, if it can leave within the call: nothing is set up for it, and
 * nobody is called. Returns whether it has left; else there is no trace of the attempt.
 *
 * threads   others may send to the same process. The data is copied first. Then the FIFO's lock is held from
 *           the question whether there is room to the message that uses it, so that a number that is taken
 *           is always sent, and nobody waits for a user's memory meanwhile
 * sequence  receives that of the message, if it has left
 */
static inline __opal_attribute_always_inline__ bool
send_slot(const void *buf, size_t count, const ompi_datatype_t *datatype, int dst, int tag,
          mca_pml_base_send_mode_t mode, const ompi_communicator_t *comm, bool threads, uint32_t *sequence)
{
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_comm(comm)->members[dst];
    const size_t size = datatype->super.size * count;
    const int64_t cost = mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MATCH, size);
    /* once the message has left, another thread may free the communicator with its members */
    fastsm_fifo_sender_t *const out = NULL == member ? NULL : member->out;
    char copy[MCA_BTL_FASTSM_SLOT_PAYLOAD];
    bool leaves;

    if (OPAL_UNLIKELY(size > MCA_BTL_FASTSM_SLOT_PAYLOAD || NULL == out || !immediate_mode(mode)
                      || !fastpath_is_contiguous(buf, datatype, count))) {
        return false;
    }
    if (threads) {
        mca_common_fastpath_copy_small(copy, (const char *) buf + datatype->super.true_lb, size);
    }
    fastsm_fifo_lock(out, threads);
    leaves = 0 == member->peer->queued && fastsm_fifo_has_slot(out)
             && (threads ? mca_pml_fastpath_credit_take(member->peer, cost)
                         : mca_pml_fastpath_credit_take_st(member->peer, cost));
    if (OPAL_LIKELY(leaves)) {
        *sequence =
            threads ? mca_btl_fastsm_next_number(&member->sent) : mca_pml_fastpath_last_number(member) + 1;
        fastsm_fifo_send_slot(out, mca_pml_fastpath_match_word0((uint16_t) *sequence, member->ctx),
                              mca_pml_fastpath_match_word1(comm->c_my_rank, tag),
                              threads ? copy : (const char *) buf + datatype->super.true_lb, size,
                              MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH);
        if (threads) {
            fastsm_fifo_fetch_ahead(out);
        } else { /* counted when it has left already: nobody looks meanwhile */
            mca_pml_fastpath_number_set(member, *sequence);
        }
    }
    fastsm_fifo_unlock(out, threads);
    if (OPAL_LIKELY(leaves)) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_SENDS_IMMEDIATE);
    }
    return leaves;
}

static inline mca_pml_fastpath_send_args_t args_of(mca_pml_fastpath_member_t *member, const void *buf,
                                                   size_t count, ompi_datatype_t *datatype, int dst, int tag,
                                                   mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    return (mca_pml_fastpath_send_args_t){.member = member,
                                          .buf = buf,
                                          .count = count,
                                          .datatype = datatype,
                                          .size = datatype->super.size * count,
                                          .dst = dst,
                                          .tag = tag,
                                          .mode = mode,
                                          .comm = comm};
}

static void convertor_begin(opal_convertor_t *convertor, const mca_pml_fastpath_send_args_t *args)
{
    OBJ_CONSTRUCT(convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(args->member->peer->proc->super.proc_convertor,
                                             &args->datatype->super, args->count, args->buf, 0, convertor);
}

static inline bool args_contiguous(const mca_pml_fastpath_send_args_t *args)
{
    return fastpath_is_contiguous(args->buf, args->datatype, args->count);
}

/* @return where a message's contiguous data begins */
static inline const char *args_data(const mca_pml_fastpath_send_args_t *args)
{
    return (const char *) args->buf + args->datatype->super.true_lb;
}

/* Data that has to be packed, or whose BTL knows convertors only. */
static int sendi_convertor(const mca_pml_fastpath_send_args_t *args, mca_bml_base_btl_t *bml_btl,
                           mca_pml_fastpath_match_hdr_t *hdr)
{
    opal_convertor_t convertor;
    int rc;

    if (NULL == bml_btl->btl->btl_sendi) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (0 == args->size) {
        return mca_pml_fastpath_bml_sendi(bml_btl, NULL, hdr, 0);
    }
    convertor_begin(&convertor, args);
    rc = mca_pml_fastpath_bml_sendi(bml_btl, &convertor, hdr, args->size);
    opal_convertor_cleanup(&convertor);
    return rc;
}

/* Data that is contiguous. */
static inline int sendi_contiguous(const mca_pml_fastpath_member_t *member, const void *data, size_t size,
                                   int tag, uint32_t sequence, const ompi_communicator_t *comm)
{
    return member->sendi(member->peer->btl_endpoint,
                         mca_pml_fastpath_match_word0((uint16_t) sequence, member->ctx),
                         mca_pml_fastpath_match_word1(comm->c_my_rank, tag), data, size,
                         MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH);
}

/* Whether a message that does not fit into slots may leave in buffers, without a question who copies it. */
static inline bool fits_buffers(const mca_pml_fastpath_member_t *member, size_t size)
{
    return !mca_pml_fastpath_is_helped(size) && size <= mca_pml_fastpath_sendi_limit(member);
}

/*
 * send_slot() for a longer message, in a job without threads: in several slots, or in buffers of btl/fastsm.
 *
 * refused  receives whether there are no buffers for it, so that nobody need try again
 */
static inline __opal_attribute_always_inline__ bool
send_contiguous(const void *buf, size_t count, const ompi_datatype_t *datatype, int dst, int narrow_tag,
                mca_pml_base_send_mode_t mode, const ompi_communicator_t *comm, uint32_t *sequence,
                bool *refused)
{
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_comm(comm)->members[dst];
    const char *data = (const char *) buf + datatype->super.true_lb;
    const size_t size = datatype->super.size * count;
    const int64_t cost = mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MATCH, size);
    const int tag = keep_wide(narrow_tag);
    bool slots, left;

    *refused = false;
    if (OPAL_UNLIKELY(NULL == member || NULL == member->out || opal_using_threads() || !immediate_mode(mode)
                      || !fastpath_is_contiguous(buf, datatype, count) || 0 != member->peer->queued)) {
        return false;
    }
    slots = OPAL_LIKELY(fastsm_fifo_takes(member->out, sizeof(mca_pml_fastpath_match_hdr_t) + size));
    if ((!slots && !fits_buffers(member, size))
        || OPAL_UNLIKELY(!mca_pml_fastpath_credit_take_st(member->peer, cost))) {
        return false;
    }
    *sequence = mca_pml_fastpath_last_number(member) + 1;
    mca_pml_fastpath_number_set(member, *sequence);
    left = slots ? fastsm_fifo_send_slots(member->out,
                                          mca_pml_fastpath_match_word0((uint16_t) *sequence, member->ctx),
                                          mca_pml_fastpath_match_word1(comm->c_my_rank, tag), data, size,
                                          MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH)
                 : OMPI_SUCCESS == sendi_contiguous(member, data, size, tag, *sequence, comm);
    if (OPAL_UNLIKELY(!left)) {
        mca_pml_fastpath_number_restore(member, *sequence);
        mca_pml_fastpath_credit_restore(member->peer, cost);
        *refused = !slots;
    }
    if (left || *refused) {
        mca_pml_fastpath_count(left ? MCA_PML_FASTPATH_SENDS_IMMEDIATE : MCA_PML_FASTPATH_SENDS_NO_ROOM);
    }
    return left;
}

/* The same with threads: btl/fastsm gives it its number. */
static inline int sendi_numbered(const mca_pml_fastpath_send_args_t *args, const void *data,
                                 uint32_t *sequence)
{
    mca_pml_fastpath_member_t *member = args->member;
    mca_btl_fastsm_stamp_t stamp = {.last = &member->sent,
                                    .offset = offsetof(mca_pml_fastpath_match_hdr_t, hdr_seq)};
    int rc = member->sendi_numbered(member->peer->btl_endpoint, mca_pml_fastpath_match_word0(0, member->ctx),
                                    mca_pml_fastpath_match_word1(args->comm->c_my_rank, args->tag), data,
                                    args->size, MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH, &stamp);

    *sequence = stamp.number;
    return rc;
}

/* Data with gaps that loops pack, longer than what slots hold: it goes straight to where the receiver reads
 * it. */
static __opal_attribute_noinline__ int sendi_long_blocks(const mca_pml_fastpath_send_args_t *args,
                                                         const mca_pml_fastpath_blocks_t *blocks,
                                                         uint32_t *sequence, bool threads)
{
    mca_pml_fastpath_member_t *member = args->member;
    mca_pml_fastpath_blocks_place_t place = {.blocks = blocks, .buf = (void *) (uintptr_t) args->buf};
    const mca_btl_fastsm_data_t data = {.move = mca_pml_fastpath_blocks_pack_piece, .context = &place};
    mca_btl_fastsm_stamp_t stamp = {.last = &member->sent,
                                    .offset = offsetof(mca_pml_fastpath_match_hdr_t, hdr_seq)};
    int rc = member->peer->ext->sendi_data(
        member->peer->btl_endpoint,
        mca_pml_fastpath_match_word0(threads ? 0 : (uint16_t) *sequence, member->ctx),
        mca_pml_fastpath_match_word1(args->comm->c_my_rank, args->tag), &data, args->size,
        MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH, threads ? &stamp : NULL);

    if (threads) {
        *sequence = stamp.number;
    }
    return rc;
}

/* Such data that is short: it is made contiguous here. */
static __opal_attribute_noinline__ int sendi_short_blocks(const mca_pml_fastpath_send_args_t *args,
                                                          const mca_pml_fastpath_blocks_t *blocks,
                                                          uint32_t *sequence, bool threads)
{
    char packed[MCA_PML_FASTPATH_BLOCKS_SHORT];

    mca_pml_fastpath_blocks_pack(blocks, packed, args->buf, 0, args->size);
    return threads ? sendi_numbered(args, packed, sequence)
                   : sendi_contiguous(args->member, packed, args->size, args->tag, *sequence, args->comm);
}

static int sendi_blocks(const mca_pml_fastpath_send_args_t *args, const mca_pml_fastpath_blocks_t *blocks,
                        uint32_t *sequence, bool threads)
{
    return MCA_PML_FASTPATH_BLOCKS_SHORT >= args->size ? sendi_short_blocks(args, blocks, sequence, threads)
                                                       : sendi_long_blocks(args, blocks, sequence, threads);
}

/* Hand a message that has its number to the BTL, whole, in a job without threads. */
static int hand_to_btl(const mca_pml_fastpath_send_args_t *args, mca_bml_base_btl_t *bml_btl,
                       uint32_t sequence)
{
    const mca_pml_fastpath_member_t *member = args->member;
    mca_pml_fastpath_match_hdr_t hdr;
    mca_pml_fastpath_blocks_t blocks;

    if (OPAL_LIKELY(NULL != member->sendi)) {
        if (OPAL_LIKELY(args_contiguous(args))) {
            return sendi_contiguous(member, args_data(args), args->size, args->tag, sequence, args->comm);
        }
        if (mca_pml_fastpath_blocks_of(args->buf, &args->datatype->super, &blocks)) {
            return sendi_blocks(args, &blocks, &sequence, false);
        }
    }
    mca_pml_fastpath_match_hdr_init(&hdr, MCA_PML_FASTPATH_HDR_MATCH,
                                    mca_pml_fastpath_number_flags(member->peer, sequence), args->comm,
                                    member->ctx, args->tag, (uint16_t) sequence);
    return sendi_convertor(args, bml_btl, &hdr);
}

/* The number is taken before: self delivers within the call, and whoever is told there may send, too. */
static int send_whole(const mca_pml_fastpath_send_args_t *args, mca_bml_base_btl_t *bml_btl,
                      uint32_t *sequence)
{
    int rc = OMPI_ERR_OUT_OF_RESOURCE;

    if (OPAL_LIKELY(mca_pml_fastpath_number_take(args->member, sequence))) {
        rc = hand_to_btl(args, bml_btl, *sequence);
        if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
            mca_pml_fastpath_number_restore(args->member, *sequence);
        }
    }
    return rc;
}

/* The same with threads, where data can be copied before the message is numbered. What needs a convertor, or
 * another BTL, is copied to a descriptor, for which it takes a request. */
static int send_whole_threads(const mca_pml_fastpath_send_args_t *args, uint32_t *sequence)
{
    mca_pml_fastpath_blocks_t blocks;

    if (NULL == args->member->sendi) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (OPAL_LIKELY(args_contiguous(args))) {
        return sendi_numbered(args, args_data(args), sequence);
    }
    return mca_pml_fastpath_blocks_of(args->buf, &args->datatype->super, &blocks)
               ? sendi_blocks(args, &blocks, sequence, true)
               : OMPI_ERR_NOT_AVAILABLE;
}

/* Bytes of contiguous data that btl/self may be given whole: it hands the receiver what the user has, of any
 * length, and copies nothing itself. What is not expected is kept, so it is no more than others may send. */
#define TO_ONESELF_MAX ((size_t) 64 * 1024)

static inline bool is_self(const mca_bml_base_btl_t *bml_btl)
{
    return 0 == strcmp("self", bml_btl->btl->btl_component->btl_version.mca_component_name);
}

/* Whether a message is too long to leave whole. */
static inline bool is_too_long(const mca_pml_fastpath_send_args_t *args, const mca_bml_base_btl_t *first)
{
    if (OPAL_LIKELY(NULL != args->member->sendi)) {
        return args->size > mca_pml_fastpath_sendi_limit(args->member);
    }
    return args->size > mca_pml_fastpath_eager_limit(first)
           && (TO_ONESELF_MAX < args->size || !is_self(first) || !args_contiguous(args));
}

/* What keeps a message from being tried, before its size is looked at; MCA_PML_FASTPATH_SENDS_IMMEDIATE:
 * nothing. */
static mca_pml_fastpath_counter_t obstacle(const mca_pml_fastpath_member_t *member,
                                           mca_pml_base_send_mode_t mode)
{
    if (!immediate_mode(mode)) {
        return MCA_PML_FASTPATH_SENDS_MODE;
    }
    if (0 != member->peer->queued) {
        return MCA_PML_FASTPATH_SENDS_QUEUED;
    }
    opal_atomic_rmb(); /* 0: what was queued has its numbers */
    return mca_pml_fastpath.use_immediate_send && mca_pml_fastpath_ctx_is_known(member->ctx)
               ? MCA_PML_FASTPATH_SENDS_IMMEDIATE
               : MCA_PML_FASTPATH_SENDS_OTHER;
}

/* Bytes that are copied for a BTL that has no sendi. What is longer is left to a request, so that btl/tcp
 * sends it from where it is: as long as the BTL needs the data the send is not complete. */
#define COPIED_MAX ((size_t) 2048)

static void pack_whole(const mca_pml_fastpath_send_args_t *args, char *to)
{
    struct iovec iov = {.iov_base = (IOVBASE_TYPE *) to, .iov_len = args->size};
    mca_pml_fastpath_blocks_t blocks;
    opal_convertor_t convertor;
    size_t size = args->size;
    uint32_t iov_count = 1;

    if (args_contiguous(args)) {
        mca_common_fastpath_copy(to, args_data(args), size);
        return;
    }
    if (mca_pml_fastpath_blocks_of(args->buf, &args->datatype->super, &blocks)) {
        mca_pml_fastpath_blocks_pack(&blocks, to, args->buf, 0, size);
        return;
    }
    convertor_begin(&convertor, args);
    (void) opal_convertor_pack(&convertor, &iov, &iov_count, &size);
    opal_convertor_cleanup(&convertor);
}

/* Send a descriptor that has a message's data, with the next number. A BTL that keeps it calls back for the
 * request, which is not set up yet; perhaps at once. A buffered send needs to know nothing of that.
 * kept: receives whether the request stands for the message from here on */
static int send_packed(const mca_pml_fastpath_send_args_t *args, mca_bml_base_btl_t *bml_btl,
                       mca_btl_base_descriptor_t *descriptor, mca_pml_fastpath_send_request_t *req,
                       uint32_t *sequence, bool *kept)
{
    const bool buffered = MCA_PML_BASE_SEND_BUFFERED == args->mode;
    mca_pml_fastpath_member_t *member = args->member;
    int rc;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_number_take(member, sequence))) {
        mca_bml_base_free(bml_btl, descriptor);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_match_hdr_init(descriptor->des_segments->seg_addr.pval, MCA_PML_FASTPATH_HDR_MATCH,
                                    mca_pml_fastpath_number_flags(member->peer, *sequence), args->comm,
                                    member->ctx, args->tag, (uint16_t) *sequence);
    descriptor->des_cbfunc =
        buffered ? mca_pml_fastpath_control_completion : mca_pml_fastpath_send_request_left;
    descriptor->des_cbdata = req;
    req->req_todo = 2; /* the BTL's and ours: so nothing completes it here */
    rc = mca_pml_fastpath_bml_send_or_later(bml_btl, descriptor, MCA_PML_FASTPATH_HDR_MATCH, kept);
    *kept = OMPI_SUCCESS == rc && *kept && !buffered && 2 == req->req_todo;
    req->req_todo = 0;
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        mca_pml_fastpath_number_restore(member, *sequence);
        if (OMPI_ERR_OUT_OF_RESOURCE != rc) {
            /* it may still have the descriptor, and is not to get another one */
            mca_pml_fastpath_link_failed(bml_btl->btl, NULL, &member->peer->proc->super, opal_strerror(rc));
        }
    }
    return rc;
}

/* Send a short message over a BTL that has no sendi, in a job without threads. A request is made only if the
 * BTL keeps the descriptor. req: the request, or NULL; then it receives one from the free list */
static int send_copied(const mca_pml_fastpath_send_args_t *args, mca_pml_fastpath_send_request_t **req,
                       uint32_t *sequence, bool *kept)
{
    mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_next(&args->member->peer->endpoint->btl_eager);
    mca_btl_base_descriptor_t *descriptor;
    int rc;

    if (OPAL_UNLIKELY(mca_pml_fastpath_eager_limit(bml_btl) < args->size)) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (NULL == *req) {
        *req = mca_pml_fastpath_send_request_alloc();
    }
    if (OPAL_UNLIKELY(NULL == *req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    descriptor = mca_pml_fastpath_bml_alloc(bml_btl, sizeof(mca_pml_fastpath_match_hdr_t) + args->size,
                                            MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (0 < args->size) {
        pack_whole(args,
                   (char *) descriptor->des_segments->seg_addr.pval + sizeof(mca_pml_fastpath_match_hdr_t));
    }
    rc = send_packed(args, bml_btl, descriptor, *req, sequence, kept);
    if (OPAL_UNLIKELY(*kept)) {
        mca_pml_fastpath_send_request_init(*req, args, false);
        mca_pml_fastpath_send_request_kept(*req, *sequence);
    }
    return rc;
}

/*
 * Try to send a message whole, whatever its data and its BTL and whoever else sends, before a request is set
 * up for it. Returns whether that has been done; else there is no trace of the attempt, but for its being
 * counted.
 *
 * req       the request, or NULL; then it may receive one from the free list, whatever comes of it
 * sequence  receives the number of the message
 * kept      receives whether the request stands for the message, because the BTL still has it
 */
static bool send_immediate(const mca_pml_fastpath_send_args_t *args, mca_pml_fastpath_send_request_t **req,
                           uint32_t *sequence, bool *kept)
{
    const int64_t cost = mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MATCH, args->size);
    mca_pml_fastpath_peer_t *peer = args->member->peer;
    mca_pml_fastpath_counter_t counter = obstacle(args->member, args->mode);

    *kept = false;
    if (MCA_PML_FASTPATH_SENDS_IMMEDIATE == counter) {
        mca_bml_base_btl_array_t *btls = &peer->endpoint->btl_eager;
        const mca_bml_base_btl_t *first = mca_bml_base_btl_array_get_index(btls, 0);
        const bool copied = NULL == first->btl->btl_sendi;

        if (is_too_long(args, first)) {
            counter = MCA_PML_FASTPATH_SENDS_LONG;
        } else if (copied && (COPIED_MAX < args->size || opal_using_threads() || mca_pml_fastpath_ft())) {
            counter = MCA_PML_FASTPATH_SENDS_NO_SENDI; /* the next BTL's turn is the request's */
        } else if (!mca_pml_fastpath_credit_take(peer, cost)) {
            counter = MCA_PML_FASTPATH_SENDS_NO_CREDIT;
        } else {
            int rc = copied ? send_copied(args, req, sequence, kept)
                     : OPAL_UNLIKELY(opal_using_threads())
                         ? send_whole_threads(args, sequence)
                         : send_whole(args, mca_bml_base_btl_array_get_next(btls), sequence);

            if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
                mca_pml_fastpath_credit_restore(peer, cost);
                counter = OMPI_ERR_OUT_OF_RESOURCE == rc ? MCA_PML_FASTPATH_SENDS_NO_ROOM
                                                         : MCA_PML_FASTPATH_SENDS_NO_SENDI;
            }
        }
    }
    mca_pml_fastpath_count(counter);
    return MCA_PML_FASTPATH_SENDS_IMMEDIATE == counter;
}

/* Messages to a member from one look at what comes from there to the next. */
#define ONE_WAY_MESSAGES 128u

/* Whether fewer than half as many messages have come from a member as have been sent to it: a receive that is
 * posted is for an answer to many of them then, and they are a stream. */
static bool is_one_way(mca_pml_fastpath_member_t *member)
{
    const uint16_t sent = (uint16_t) (member->sent - member->one_way_sent);
    const uint16_t come = (uint16_t) (member->expected - member->one_way_expected);

    if (ONE_WAY_MESSAGES <= sent) {
        member->one_way = come < sent / 2;
        member->one_way_sent = (uint16_t) member->sent;
        member->one_way_expected = (uint16_t) member->expected;
    }
    return member->one_way;
}

/* Whether a message shall take the way of longer ones because one may come from there at the same time. */
static bool is_exchanged(const mca_pml_fastpath_send_args_t *args)
{
    const mca_pml_fastpath_peer_t *peer = args->member->peer;

    return NULL != peer->ext && args->size <= mca_pml_fastpath_sendi_limit(args->member)
           && mca_pml_fastpath.use_get && !opal_using_threads()
           && mca_pml_fastpath_match_posted_for(&mca_pml_fastpath_comm(args->comm)->matcher, args->dst)
           && !is_one_way(args->member)
           && peer->ext->exchange_is_slow(peer->btl_endpoint, args->size, !mca_pml_fastpath.offered);
}

/* Whether a message that could be sent at once is offered to its receiver instead, so that the kernel copies
 * it once. Measured to be faster, but not in reductions: chunks leave the data in the receiver's cache. */
static __opal_attribute_noinline__ bool offer(const mca_pml_fastpath_send_args_t *args, bool waits)
{
    const bool offered =
        MCA_PML_BASE_SEND_BUFFERED != args->mode && MCA_PML_BASE_SEND_SYNCHRONOUS != args->mode
        && args_contiguous(args) && !mca_pml_fastpath_help_is_reduced(args->tag, args->size)
        && ((waits && mca_pml_fastpath_help_pays(args->member->peer, args->size)) || is_exchanged(args));

    if (OPAL_UNLIKELY(offered)) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_SENDS_LONG);
    }
    return offered;
}

static inline bool is_offered(const mca_pml_fastpath_send_args_t *args, bool waits)
{
    return OPAL_UNLIKELY(mca_pml_fastpath_is_helped(args->size)) && offer(args, waits);
}

/* Let a request stand for a message until it has left. Returns OMPI_SUCCESS, or, without a trace of it, what
 * mca_pml_fastpath_send_request_prepare says. */
static int start_request(mca_pml_fastpath_send_request_t *req)
{
    int rc = mca_pml_fastpath_send_request_prepare(req);

    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        mca_pml_fastpath_send_request_drop(req);
        return rc;
    }
    mca_pml_fastpath_send_request_start(req);
    return OMPI_SUCCESS;
}

int mca_pml_fastpath_isend_init(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                                mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                                ompi_request_t **request)
{
    const mca_pml_fastpath_send_args_t args =
        args_of(mca_pml_fastpath_member_reach(comm, dst), buf, count, datatype, dst, tag, mode, comm);
    mca_pml_fastpath_send_request_t *req;

    if (OPAL_UNLIKELY(NULL == args.member)) {
        return mca_pml_fastpath_failure_unreachable(comm, dst);
    }
    req = mca_pml_fastpath_send_request_alloc();
    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_send_request_init(req, &args, true);
    req->req_send.req_base.req_pml_complete = true; /* nothing under way: start need not make another one */
    req->req_send.req_base.req_ompi.req_status = ompi_status_empty; /* it may never be started */
    *request = &req->req_send.req_base.req_ompi;
    return OMPI_SUCCESS;
}

/* No BTL leads to that member. Its request is *request. @return OMPI_SUCCESS: its process has failed, and the
 * request is complete with that error; else OMPI_ERR_UNREACH or OMPI_ERR_OUT_OF_RESOURCE, and no request */
static int isend_unreachable(mca_pml_fastpath_send_args_t *args, ompi_request_t **request)
{
    mca_pml_fastpath_send_request_t *req = (mca_pml_fastpath_send_request_t *) *request;
    const int rc = mca_pml_fastpath_failure_unreachable(args->comm, args->dst);

    args->member = mca_pml_fastpath_member(mca_pml_fastpath_comm(args->comm), args->dst);
    if (MPI_ERR_PROC_FAILED != rc || NULL == args->member
        || NULL == mca_pml_fastpath_member_peer(args->member, args->comm, args->dst)) {
        opal_free_list_return(&mca_pml_base_send_requests, (opal_free_list_item_t *) req);
        *request = MPI_REQUEST_NULL;
        return MPI_ERR_PROC_FAILED == rc ? OMPI_ERR_OUT_OF_RESOURCE : rc;
    }
    mca_pml_fastpath_send_request_init(req, args, false);
    mca_pml_fastpath_send_request_start(req);
    return OMPI_SUCCESS;
}

/* What neither send_slot nor send_contiguous has sent; by the request given, in *request. */
static __opal_attribute_noinline__ int isend_rest(const void *buf, size_t count, ompi_datatype_t *datatype,
                                                  int dst, int tag, mca_pml_base_send_mode_t mode,
                                                  ompi_communicator_t *comm, ompi_request_t **request,
                                                  bool refused)
{
    mca_pml_fastpath_send_request_t *req = (mca_pml_fastpath_send_request_t *) *request;
    mca_pml_fastpath_send_args_t args =
        args_of(mca_pml_fastpath_member_reach(comm, dst), buf, count, datatype, dst, tag, mode, comm);
    uint32_t sequence;
    bool kept;
    int rc;

    if (OPAL_UNLIKELY(NULL == args.member)) {
        return isend_unreachable(&args, request);
    }
    mca_pml_fastpath_member_ready(args.member);
    if (OPAL_LIKELY(!refused && !is_offered(&args, false) && send_immediate(&args, &req, &sequence, &kept))) {
        if (OPAL_LIKELY(!kept)) {
            mca_pml_fastpath_send_request_sent(req, args.member->peer, comm, args.member->ctx, tag, sequence,
                                               args.size);
        }
        return OMPI_SUCCESS;
    }
    mca_pml_fastpath_send_request_init(req, &args, false);
    rc = start_request(req);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        *request = MPI_REQUEST_NULL;
    }
    return rc;
}

/* What send_slot has not sent. */
static __opal_attribute_noinline__ int isend_long(const void *buf, size_t count, ompi_datatype_t *datatype,
                                                  int dst, int tag, mca_pml_base_send_mode_t mode,
                                                  ompi_communicator_t *comm, ompi_request_t **request)
{
    const mca_pml_fastpath_member_t *member;
    uint32_t sequence;
    bool refused;

    if (OPAL_UNLIKELY(!send_contiguous(buf, count, datatype, dst, tag, mode, comm, &sequence, &refused))) {
        return isend_rest(buf, count, datatype, dst, tag, mode, comm, request, refused);
    }
    member = mca_pml_fastpath_comm(comm)->members[dst];
    mca_pml_fastpath_send_request_sent((mca_pml_fastpath_send_request_t *) *request, member->peer, comm,
                                       member->ctx, tag, sequence, datatype->super.size * count);
    return OMPI_SUCCESS;
}

/* The request is made first, because there is no way back from a message that has left. */
static inline __opal_attribute_always_inline__ int
isend(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int narrow_tag,
      mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request, bool threads)
{
    const int tag = keep_wide(narrow_tag);
    mca_pml_fastpath_send_request_t *req =
        (mca_pml_fastpath_send_request_t *) (threads ? opal_free_list_get_mt(&mca_pml_base_send_requests)
                                                     : opal_free_list_get_st(&mca_pml_base_send_requests));
    const mca_pml_fastpath_member_t *member;
    uint32_t sequence;

    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *request = &req->req_send.req_base.req_ompi;
    if (OPAL_UNLIKELY(!send_slot(buf, count, datatype, dst, tag, mode, comm, threads, &sequence))) {
        return isend_long(buf, count, datatype, dst, tag, mode, comm, request);
    }
    member = mca_pml_fastpath_comm(comm)->members[dst];
    mca_pml_fastpath_send_request_sent(req, member->peer, comm, member->ctx, tag, sequence,
                                       datatype->super.size * count);
    return OMPI_SUCCESS;
}

/* As soon as the message has left another thread may free communicator and datatype (MPI-4.0, sections 7.4.3
 * and 5.1.9), which the request is made of only then. */
static __opal_attribute_noinline__ int isend_threads(const void *buf, size_t count, ompi_datatype_t *datatype,
                                                     int dst, int tag, mca_pml_base_send_mode_t mode,
                                                     ompi_communicator_t *comm, ompi_request_t **request)
{
    int rc;

    OMPI_DATATYPE_RETAIN(datatype);
    OBJ_RETAIN(comm);
    rc = isend(buf, count, datatype, dst, tag, mode, comm, request, true);
    OBJ_RELEASE(comm);
    OMPI_DATATYPE_RELEASE(datatype);
    return rc;
}

int mca_pml_fastpath_isend(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                           mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request)
{
    return OPAL_UNLIKELY(opal_using_threads())
               ? isend_threads(buf, count, datatype, dst, tag, mode, comm, request)
               : isend(buf, count, datatype, dst, tag, mode, comm, request, false);
}

/* What is received meanwhile finds that a send is waited for. */
static void await_send(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_fastpath_awaited_t other;

    if (!req->req_waits || opal_using_threads()) {
        mca_pml_fastpath_await(&req->req_send.req_base.req_ompi);
        return;
    }
    other = mca_pml_fastpath_awaited_begin_send();
    mca_pml_fastpath_await(&req->req_send.req_base.req_ompi);
    mca_pml_fastpath_awaited_end(other);
}

/* A request stands for the message: wait until it has left, and give it back. */
static int finish_send(mca_pml_fastpath_send_request_t *req)
{
    int rc;

    await_send(req);
    rc = req->req_send.req_base.req_ompi.req_status.MPI_ERROR;
    mca_pml_fastpath_send_request_drop(req);
    (void) mca_pml_fastpath_pace_sent(opal_using_threads()); /* it may have been complete at once */
    return rc;
}

/* What neither send_slot nor send_contiguous has sent. */
static __opal_attribute_noinline__ int send_rest(const void *buf, size_t count, ompi_datatype_t *datatype,
                                                 int dst, int tag, mca_pml_base_send_mode_t mode,
                                                 ompi_communicator_t *comm, bool refused)
{
    const mca_pml_fastpath_send_args_t args =
        args_of(mca_pml_fastpath_member_reach(comm, dst), buf, count, datatype, dst, tag, mode, comm);
    mca_pml_fastpath_send_request_t *req = NULL;
    uint32_t sequence;
    bool kept;
    int rc;

    if (OPAL_UNLIKELY(NULL == args.member)) {
        return mca_pml_fastpath_failure_unreachable(comm, dst);
    }
    mca_pml_fastpath_member_ready(args.member);
    if (OPAL_LIKELY(!refused && !is_offered(&args, true) && send_immediate(&args, &req, &sequence, &kept))) {
        if (OPAL_UNLIKELY(kept)) {
            return finish_send(req);
        }
        if (NULL != req) { /* it was never set up */
            opal_free_list_return(&mca_pml_base_send_requests, (opal_free_list_item_t *) req);
        }
        return mca_pml_fastpath_pace_sent(opal_using_threads());
    }
    if (NULL == req) {
        req = mca_pml_fastpath_send_request_alloc();
    }
    if (OPAL_UNLIKELY(NULL == req)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_pml_fastpath_send_request_init(req, &args, false);
    req->req_waits = MCA_PML_BASE_SEND_BUFFERED != mode && NULL != args.member->peer->ext;
    rc = start_request(req);
    return OPAL_LIKELY(OMPI_SUCCESS == rc) ? finish_send(req) : rc;
}

/* What send_slot has not sent. */
static __opal_attribute_noinline__ int send_long(const void *buf, size_t count, ompi_datatype_t *datatype,
                                                 int dst, int tag, mca_pml_base_send_mode_t mode,
                                                 ompi_communicator_t *comm)
{
    uint32_t sequence;
    bool refused;

    return OPAL_LIKELY(send_contiguous(buf, count, datatype, dst, tag, mode, comm, &sequence, &refused))
               ? mca_pml_fastpath_pace_sent(false)
               : send_rest(buf, count, datatype, dst, tag, mode, comm, refused);
}

static __opal_attribute_noinline__ int send_threads(const void *buf, size_t count, ompi_datatype_t *datatype,
                                                    int dst, int tag, mca_pml_base_send_mode_t mode,
                                                    ompi_communicator_t *comm)
{
    uint32_t sequence;

    return OPAL_LIKELY(send_slot(buf, count, datatype, dst, tag, mode, comm, true, &sequence))
               ? mca_pml_fastpath_pace_sent(true)
               : send_rest(buf, count, datatype, dst, tag, mode, comm, false);
}

int mca_pml_fastpath_send(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                          mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    uint32_t sequence;

    if (OPAL_UNLIKELY(opal_using_threads())) {
        return send_threads(buf, count, datatype, dst, tag, mode, comm);
    }
    return OPAL_LIKELY(send_slot(buf, count, datatype, dst, tag, mode, comm, false, &sequence))
               ? mca_pml_fastpath_pace_sent(false)
               : send_long(buf, count, datatype, dst, tag, mode, comm);
}
