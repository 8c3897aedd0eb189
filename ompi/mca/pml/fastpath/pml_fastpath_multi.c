/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "opal/util/proc.h"

#include "pml_fastpath_bml.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_multi.h"

/* Messages from one process of which nothing is here yet, while something of a later one is, are fewer. */
#define MOST_AHEAD 65536u

typedef enum {
    FIRST_IS_MISSING, /* the first fragment's turn has not come: nothing is known but what has come */
    KEPT,             /* no receive is known */
    MATCHED,          /* fragments go to a receive */
    DROPPED           /* nobody will receive it */
} state_t;

struct mca_pml_fastpath_multi_t {
    opal_list_item_t super; /* by number, in its pair's list, while listed */
    uint32_t number;
    state_t state;
    bool listed;      /* fragments may still come, of this message or of an earlier one */
    bool held;        /* somebody will release it */
    uint64_t length;  /* of the whole message, once the first fragment is here */
    uint64_t arrived; /* bytes */
    uint64_t
        uncovered;     /* sum of the numbers of the message's bytes, less those of the bytes that have come */
    opal_list_t frags; /* mca_pml_fastpath_parked_t: MULTI_FRAGs that wait for a receive */
    mca_pml_fastpath_recv_request_t *req; /* MATCHED: the receive, until all is here */
};
static OBJ_CLASS_INSTANCE(mca_pml_fastpath_multi_t, opal_list_item_t, NULL, NULL);

/* This process and another one, as long as this one lives. */
typedef struct {
    uint32_t sent;        /* number of the last message to it */
    uint32_t whole;       /* all messages from it up to this number are here, whole */
    opal_list_t messages; /* mca_pml_fastpath_multi_t, later ones */
} pair_t;

static struct {
    opal_mutex_t lock;       /* protects all of it; no BTL is called while it is held */
    opal_hash_table_t pairs; /* name of a process -> pair_t */
} multi;

static inline uint64_t key_of(opal_process_name_t name)
{
    return (uint64_t) name.jobid << 32 | name.vpid;
}

uint64_t mca_pml_fastpath_multi_id(opal_process_name_t sender, uint32_t number)
{
    const uint64_t mixed = (key_of(sender) ^ number) * UINT64_C(0x9e3779b97f4a7c15);

    return (mixed ^ mixed >> 32) << 32 | number;
}

int mca_pml_fastpath_multi_init(void)
{
    OBJ_CONSTRUCT(&multi.lock, opal_mutex_t);
    OBJ_CONSTRUCT(&multi.pairs, opal_hash_table_t);
    return opal_hash_table_init(&multi.pairs, 64);
}

/* Keep a fragment, or no longer. The table is locked. */
static void frag_keep(mca_pml_fastpath_multi_t *message, mca_pml_fastpath_parked_t *frag)
{
    mca_pml_fastpath_messages_account((int64_t) (sizeof(*frag) + frag->size));
    opal_list_append(&message->frags, &frag->super);
}

static void frag_free(mca_pml_fastpath_parked_t *frag)
{
    mca_pml_fastpath_messages_account(-(int64_t) (sizeof(*frag) + frag->size));
    mca_pml_fastpath_parked_free(frag);
}

static void message_free(mca_pml_fastpath_multi_t *message)
{
    opal_list_item_t *frag;

    while (NULL != (frag = opal_list_remove_first(&message->frags))) {
        frag_free((mca_pml_fastpath_parked_t *) frag);
    }
    OBJ_DESTRUCT(&message->frags);
    OBJ_RELEASE(message);
}

void mca_pml_fastpath_multi_fini(void)
{
    pair_t *pair;
    uint64_t key;

    OPAL_HASH_TABLE_FOREACH(key, uint64, pair, &multi.pairs)
    {
        mca_pml_fastpath_multi_t *message;

        while (NULL != (message = (mca_pml_fastpath_multi_t *) opal_list_remove_first(&pair->messages))) {
            message_free(message);
        }
        OBJ_DESTRUCT(&pair->messages);
        free(pair);
    }
    OBJ_DESTRUCT(&multi.pairs);
    OBJ_DESTRUCT(&multi.lock);
}

/* The table is locked. */
static pair_t *pair_of(opal_process_name_t name)
{
    pair_t *pair = NULL;

    if (OPAL_SUCCESS == opal_hash_table_get_value_uint64(&multi.pairs, key_of(name), (void **) &pair)) {
        return pair;
    }
    pair = calloc(1, sizeof(*pair));
    if (NULL == pair || OPAL_SUCCESS != opal_hash_table_set_value_uint64(&multi.pairs, key_of(name), pair)) {
        mca_pml_fastpath_abort("no memory", "messages in several fragments", "malloc");
    }
    OBJ_CONSTRUCT(&pair->messages, opal_list_t);
    return pair;
}

/* ---- sender ---- */

static size_t multi_limit_of(const mca_bml_base_btl_t *bml_btl)
{
    const char *name = bml_btl->btl->btl_component->btl_version.mca_component_name;

    for (size_t i = 0; i < mca_pml_fastpath.num_multi_limits; ++i) {
        if (0 == strcmp(name, mca_pml_fastpath.multi_limits[i].name)) {
            return mca_pml_fastpath.multi_limits[i].limit;
        }
    }
    return 0;
}

bool mca_pml_fastpath_multi_begin(mca_pml_fastpath_send_request_t *req, const mca_bml_base_btl_t *bml_btl)
{
    const size_t size = req->req_send.req_bytes_packed;
    pair_t *pair;

    if (0 != req->req_multi) {
        return true;
    }
    if (MCA_PML_BASE_SEND_SYNCHRONOUS == req->req_send.req_send_mode
        || size <= mca_pml_fastpath_eager_limit(bml_btl) || size > multi_limit_of(bml_btl)
        || 0 != mca_pml_fastpath_extcid_size(&req->req_hdr)
        || !mca_pml_fastpath_credit_take(req->req_peer,
                                         mca_pml_fastpath_credit_cost(MCA_PML_FASTPATH_HDR_MULTI, size))) {
        return false;
    }
    OPAL_THREAD_LOCK(&multi.lock);
    pair = pair_of(req->req_peer->proc->super.proc_name);
    req->req_multi = mca_pml_fastpath_multi_id(opal_proc_local_get()->proc_name, ++pair->sent);
    OPAL_THREAD_UNLOCK(&multi.lock);
    return true;
}

/* The first fragment; size receives the bytes of data in it. */
static int first_send(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl, size_t *size)
{
    const uint32_t flags =
        MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    mca_btl_base_descriptor_t *descriptor;
    mca_pml_fastpath_multi_hdr_t *hdr;
    bool later;

    *size = bml_btl->btl->btl_eager_limit - sizeof(*hdr);
    if (*size > req->req_send.req_bytes_packed) {
        *size =
            req->req_send.req_bytes_packed; /* of a BTL that takes more than the one that was asked first */
    }
    if (opal_using_threads()) {
        descriptor = mca_pml_fastpath_send_request_pack(req, bml_btl, sizeof(*hdr), *size, flags);
    } else {
        descriptor = mca_pml_fastpath_bml_prepare(bml_btl, &req->req_send.req_base.req_convertor,
                                                  sizeof(*hdr), size, flags);
    }
    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *size = mca_pml_fastpath_segments_size(descriptor->des_segments, descriptor->des_segment_count)
            - sizeof(*hdr);
    hdr = descriptor->des_segments->seg_addr.pval;
    mca_pml_fastpath_send_request_hdr(req, &hdr->hdr_rndv.hdr_match, MCA_PML_FASTPATH_HDR_MULTI, 0);
    hdr->hdr_rndv.hdr_length = req->req_send.req_bytes_packed;
    hdr->hdr_rndv.hdr_src_req = req->req_multi;
    hdr->hdr_name = opal_proc_local_get()->proc_name;
    descriptor->des_cbfunc = mca_pml_fastpath_send_request_left;
    descriptor->des_cbdata = req;
    return mca_pml_fastpath_send_request_leave(req, bml_btl, descriptor, &hdr->hdr_rndv.hdr_match,
                                               MCA_PML_FASTPATH_HDR_MULTI, &later);
}

int mca_pml_fastpath_multi_start(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl)
{
    size_t size, rest;
    int rc;

    (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, 1);
    rc = first_send(req, bml_btl, &size);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc)) {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, -1);
        return rc;
    }
    mca_pml_fastpath_count(MCA_PML_FASTPATH_MULTI);
    rest = req->req_send.req_bytes_packed - size;
    if (0 < rest) {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, (int64_t) rest);
        mca_pml_fastpath_send_request_stream(req, size, rest);
    }
    return OMPI_SUCCESS;
}

/* ---- receiver ---- */

static void check_id(const mca_btl_base_module_t *btl, uint8_t type, opal_process_name_t name, uint64_t id)
{
    mca_pml_fastpath_name_check(btl, type, name);
    if (OPAL_UNLIKELY(id != mca_pml_fastpath_multi_id(name, (uint32_t) id))) {
        mca_pml_fastpath_corrupt(btl, NULL, type, "message that it names");
    }
}

void mca_pml_fastpath_multi_check(const mca_btl_base_module_t *btl, const mca_pml_fastpath_multi_hdr_t *hdr)
{
    check_id(btl, MCA_PML_FASTPATH_HDR_MULTI, hdr->hdr_name, hdr->hdr_rndv.hdr_src_req);
}

/* The message that a fragment belongs to, which has been checked to be one of the sender's; NULL when all of
 * it is here already, or it cannot have been sent yet. The table is locked. */
static mca_pml_fastpath_multi_t *message_of(pair_t *pair, uint32_t number)
{
    opal_list_item_t *item = opal_list_get_last(&pair->messages);
    mca_pml_fastpath_multi_t *message;

    if (OPAL_UNLIKELY(0 == number - pair->whole || MOST_AHEAD < number - pair->whole)) {
        return NULL;
    }
    while (item != opal_list_get_end(&pair->messages)
           && 0 > (int32_t) (number - ((mca_pml_fastpath_multi_t *) item)->number)) {
        item = opal_list_get_prev(item);
    }
    message = (mca_pml_fastpath_multi_t *) item;
    if (item != opal_list_get_end(&pair->messages) && number == message->number) {
        return message;
    }
    message =
        mca_pml_fastpath_needed(OBJ_NEW(mca_pml_fastpath_multi_t), "messages in several fragments", "malloc");
    message->number = number;
    message->state = FIRST_IS_MISSING;
    message->listed = true;
    message->held = false;
    message->length = MCA_PML_FASTPATH_TODO_UNKNOWN - 1;
    message->arrived = 0;
    message->uncovered = 0;
    message->req = NULL;
    OBJ_CONSTRUCT(&message->frags, opal_list_t);
    opal_list_insert_pos(&pair->messages, opal_list_get_next(item), &message->super);
    return message;
}

static inline bool is_whole(const mca_pml_fastpath_multi_t *message)
{
    return FIRST_IS_MISSING != message->state && message->arrived == message->length;
}

bool mca_pml_fastpath_multi_is_whole(const mca_pml_fastpath_multi_t *message)
{
    bool whole;

    OPAL_THREAD_LOCK(&multi.lock);
    whole = is_whole(message);
    OPAL_THREAD_UNLOCK(&multi.lock);
    return whole;
}

/* Count a piece that has come. @return whether it can be a piece of the message. The table is locked. */
static bool piece_count(mca_pml_fastpath_multi_t *message, uint64_t offset, uint64_t length)
{
    if (!mca_pml_fastpath_is_within(offset, length, message->length)
        || length > message->length - message->arrived) {
        return false;
    }
    message->arrived += length;
    message->uncovered -= (uint64_t) mca_pml_fastpath_range_sum(offset, length);
    return !is_whole(message) || 0 == message->uncovered;
}

/* Nothing more can come of the messages that are here whole, as far as all earlier ones are. The table is
 * locked. */
static void pair_settle(pair_t *pair)
{
    while (!opal_list_is_empty(&pair->messages)) {
        mca_pml_fastpath_multi_t *message = (mca_pml_fastpath_multi_t *) opal_list_get_first(&pair->messages);

        if (pair->whole + 1 != message->number || !is_whole(message)) {
            return;
        }
        (void) opal_list_remove_first(&pair->messages);
        ++pair->whole;
        message->listed = false;
        if (!message->held) {
            message_free(message);
        }
    }
}

/* The length of the message is known now. @return whether what came before fits into it. The table is locked.
 */
static bool frags_fit(const mca_pml_fastpath_multi_t *message)
{
    mca_pml_fastpath_parked_t *frag;

    OPAL_LIST_FOREACH(frag, &message->frags, mca_pml_fastpath_parked_t)
    {
        if (!mca_pml_fastpath_is_within(frag->hdr->hdr_multi_frag.hdr_offset,
                                        mca_pml_fastpath_parked_payload(frag), message->length)) {
            return false;
        }
    }
    return true;
}

static mca_pml_fastpath_multi_t *first(const mca_btl_base_module_t *btl, opal_process_name_t name,
                                       uint64_t id, uint64_t length, uint64_t payload)
{
    mca_pml_fastpath_multi_t *message;
    bool valid = false;
    pair_t *pair;

    OPAL_THREAD_LOCK(&multi.lock);
    pair = pair_of(name);
    message = message_of(pair, (uint32_t) id);
    if (OPAL_LIKELY(NULL != message && FIRST_IS_MISSING == message->state)) {
        message->state = KEPT;
        message->held = true;
        message->length = length;
        message->uncovered += (uint64_t) mca_pml_fastpath_range_sum(0, length);
        valid = message->arrived <= length && frags_fit(message) && piece_count(message, 0, payload);
        pair_settle(pair);
    }
    OPAL_THREAD_UNLOCK(&multi.lock);
    if (OPAL_UNLIKELY(!valid)) {
        mca_pml_fastpath_corrupt(btl, NULL, MCA_PML_FASTPATH_HDR_MULTI,
                                 NULL == message ? "message that it names" : "length of the message");
    }
    return message;
}

mca_pml_fastpath_multi_t *mca_pml_fastpath_multi_first(const mca_pml_fastpath_arrival_t *arrival)
{
    return first(arrival->btl, arrival->name, arrival->src_req, arrival->length,
                 mca_pml_fastpath_arrival_payload(arrival));
}

void mca_pml_fastpath_multi_lost(const mca_pml_fastpath_parked_t *parked)
{
    const mca_pml_fastpath_multi_hdr_t *hdr = &parked->hdr->hdr_multi;

    mca_pml_fastpath_multi_release(first(parked->btl, hdr->hdr_name, hdr->hdr_rndv.hdr_src_req,
                                         hdr->hdr_rndv.hdr_length, mca_pml_fastpath_parked_payload(parked)));
}

void mca_pml_fastpath_multi_release(mca_pml_fastpath_multi_t *message)
{
    opal_list_item_t *frag;

    OPAL_THREAD_LOCK(&multi.lock);
    message->held = false;
    if (KEPT == message->state) {
        message->state = DROPPED;
    }
    while (NULL != (frag = opal_list_remove_first(&message->frags))) {
        frag_free((mca_pml_fastpath_parked_t *) frag);
    }
    if (!message->listed) {
        message_free(message);
    }
    OPAL_THREAD_UNLOCK(&multi.lock);
}

/* A piece to where it belongs. What does not fit into the buffer is passed over. */
static void piece_deliver(mca_pml_fastpath_recv_request_t *req, const mca_btl_base_segment_t *segments,
                          size_t num_segments, size_t skip, uint64_t offset)
{
    if (offset < req->req_accepted && !mca_pml_fastpath_has_failed(&req->req_watch)) {
        (void) mca_pml_fastpath_recv_request_unpack(req, segments, num_segments, skip, offset,
                                                    req->req_accepted - offset);
    }
}

void mca_pml_fastpath_multi_matched(mca_pml_fastpath_multi_t *message, mca_pml_fastpath_recv_request_t *req,
                                    const mca_pml_fastpath_arrival_t *arrival)
{
    size_t moved = mca_pml_fastpath_arrival_payload(arrival);
    mca_pml_fastpath_parked_t *frag;
    opal_list_t frags;

    req->req_uncovered = 0;
    req->req_todo = (int64_t) arrival->length + 1;
    OBJ_CONSTRUCT(&frags, opal_list_t);
    OPAL_THREAD_LOCK(&multi.lock);
    message->state = MATCHED;
    message->req = req;
    opal_list_join(&frags, opal_list_get_end(&frags), &message->frags);
    OPAL_THREAD_UNLOCK(&multi.lock);
    piece_deliver(req, arrival->segments, arrival->num_segments, arrival->skip, 0);
    while (NULL != (frag = (mca_pml_fastpath_parked_t *) opal_list_remove_first(&frags))) {
        const mca_btl_base_segment_t segment = {.seg_addr.pval = frag->hdr, .seg_len = frag->size};

        piece_deliver(req, &segment, 1, sizeof(mca_pml_fastpath_multi_frag_hdr_t),
                      frag->hdr->hdr_multi_frag.hdr_offset);
        moved += mca_pml_fastpath_parked_payload(frag);
        frag_free(frag);
    }
    OBJ_DESTRUCT(&frags);
    mca_pml_fastpath_recv_request_progressed(req, moved + 1);
}

void mca_pml_fastpath_multi_arrived(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                    size_t num_segments)
{
    mca_pml_fastpath_recv_request_t *req = NULL;
    mca_pml_fastpath_multi_t *message;
    mca_pml_fastpath_hdr_t any;
    const mca_pml_fastpath_multi_frag_hdr_t *hdr = &any.hdr_multi_frag;
    const size_t length =
        mca_pml_fastpath_hdr_read(MCA_PML_FASTPATH_HDR_MULTI_FRAG, btl, segments, num_segments, &any);
    bool valid;
    pair_t *pair;

    check_id(btl, hdr->hdr_type, hdr->hdr_name, hdr->hdr_id);
    OPAL_THREAD_LOCK(&multi.lock);
    pair = pair_of(hdr->hdr_name);
    message = message_of(pair, (uint32_t) hdr->hdr_id);
    valid = NULL != message && 0 < length && piece_count(message, hdr->hdr_offset, length);
    if (OPAL_LIKELY(valid)) {
        req = message->req;
        if (FIRST_IS_MISSING == message->state || KEPT == message->state) {
            frag_keep(message, mca_pml_fastpath_park(btl, &any, segments, num_segments, sizeof(*hdr)));
        }
        pair_settle(pair);
    }
    OPAL_THREAD_UNLOCK(&multi.lock);
    if (OPAL_UNLIKELY(!valid)) {
        mca_pml_fastpath_corrupt(btl, NULL, hdr->hdr_type,
                                 NULL == message ? "message that it names" : "place within the message");
    }
    if (NULL != req) {
        piece_deliver(req, segments, num_segments, sizeof(*hdr), hdr->hdr_offset);
        mca_pml_fastpath_recv_request_progressed(req, length);
    }
}
