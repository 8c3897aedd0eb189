/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Sending a descriptor.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_dynamic_send.h"
#include "btl_fastsm_room.h"
#include "btl_fastsm_send.h"

void mca_btl_fastsm_pend(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag)
{
    if (OPAL_UNLIKELY(endpoint->failed)) {
        mca_btl_fastsm_frag_done(frag);
        return;
    }
    opal_list_append(&endpoint->pending, &frag->base.super.super);
    ++endpoint->out.n_pending;
    mca_btl_fastsm_activate(endpoint);
}

static bool post_inline(mca_btl_fastsm_endpoint_t *endpoint, const mca_btl_fastsm_frag_t *frag,
                        mca_btl_base_tag_t tag)
{
    const size_t length = frag->segment.seg_len;
    const uint32_t halves = fastsm_fifo_halves(length);
    mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&endpoint->out, halves);

    if (NULL == head) {
        return false;
    }
    fastsm_fifo_fill(&endpoint->out, head, NULL, 0, frag->segment.seg_addr.pval, length);
    fastsm_fifo_describe(head, length, tag, 0);
    fastsm_fifo_commit(&endpoint->out, head, halves);
    return true;
}

static bool post_reference(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                           mca_btl_base_tag_t tag)
{
    mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&endpoint->out, 1);
    mca_btl_fastsm_pool_ref_t reference;

    if (NULL == head) {
        return false;
    }
    mca_btl_fastsm_refer(frag, &reference);
    fastsm_fifo_describe(head, sizeof(reference), tag, MCA_BTL_FASTSM_SLOT_POOL);
    memcpy(head->u.head.data, &reference, sizeof(reference));

    frag->position = endpoint->out.write_pos;
    fastsm_fifo_commit(&endpoint->out, head, 1);
    mca_btl_fastsm_keep(endpoint, frag);
    return true;
}

bool mca_btl_fastsm_post(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                         mca_btl_base_tag_t tag, bool *in_flight)
{
    bool posted;

    *in_flight = frag->segment.seg_len > endpoint->inline_bytes;
    do {
        posted = *in_flight ? post_reference(endpoint, frag, tag) : post_inline(endpoint, frag, tag);
    } while (OPAL_UNLIKELY(!posted) && mca_btl_fastsm_fifo_open(endpoint));
    if (OPAL_UNLIKELY(!posted && NULL != endpoint->dynamic)) {
        return mca_btl_fastsm_dynamic_post(endpoint, frag, tag, in_flight);
    }
    return posted;
}

/* Takes the first frag in flight off the list. */
static void landed(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_frag_t *frag = (mca_btl_fastsm_frag_t *) opal_list_remove_first(&endpoint->in_flight);

    --endpoint->n_in_flight;
    if (MCA_BTL_DES_SEND_ALWAYS_CALLBACK & frag->base.des_flags) {
        --endpoint->n_waiting;
        mca_btl_fastsm_complete_later(frag);
    } else {
        mca_btl_fastsm_frag_return(frag);
    }
}

static void reclaim_dynamic(mca_btl_fastsm_endpoint_t *endpoint)
{
    while (!opal_list_is_empty(&endpoint->in_flight)
           && mca_btl_fastsm_dynamic_was_read(
               endpoint->dynamic,
               ((mca_btl_fastsm_frag_t *) opal_list_get_first(&endpoint->in_flight))->position)) {
        landed(endpoint);
    }
}

/* Nobody will read what a dynamic peer that has left had not read. */
static __opal_attribute_noinline__ void reclaim_left(mca_btl_fastsm_endpoint_t *endpoint)
{
    while (!opal_list_is_empty(&endpoint->in_flight) && mca_btl_fastsm_dynamic_left(endpoint->dynamic)) {
        landed(endpoint);
    }
}

void mca_btl_fastsm_reclaim(mca_btl_fastsm_endpoint_t *endpoint)
{
    const uint32_t read_pos = fastsm_load_read_pos(endpoint->out.shared_read_pos);

    /* a position that we have not written yet says nothing, except that a dynamic peer has no FIFO */
    if (OPAL_UNLIKELY(endpoint->out.write_pos - read_pos > endpoint->out.depth)) {
        if (NULL != endpoint->dynamic) {
            reclaim_dynamic(endpoint);
        }
        return;
    }
    endpoint->out.read_pos = read_pos;

    while (!opal_list_is_empty(&endpoint->in_flight)) {
        mca_btl_fastsm_frag_t *frag = (mca_btl_fastsm_frag_t *) opal_list_get_first(&endpoint->in_flight);

        if (!fastsm_fifo_was_read(&endpoint->out, read_pos, frag->position)) {
            break;
        }
        landed(endpoint);
    }
    if (OPAL_UNLIKELY(NULL != endpoint->dynamic)) {
        reclaim_left(endpoint);
    }
}

/* What both forms of send do; stamp is NULL for btl_send. */
static inline int send_frag(mca_btl_base_endpoint_t *endpoint, mca_btl_base_descriptor_t *des,
                            mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp)
{
    mca_btl_fastsm_frag_t *frag = (mca_btl_fastsm_frag_t *) des;
    bool posted = false, in_flight = false;
    uint32_t flags = des->des_flags;

    frag->endpoint = endpoint;
    frag->tag = tag;

    /* Large buffers are few: whoever fills them one after the other is told when the peer has
     * emptied one.  And an owner must not touch a buffer that the peer still reads. */
    if (frag->segment.seg_len > endpoint->inline_bytes
        && (MCA_BTL_FASTSM_FRAG_MAX == frag->frag_class || !(MCA_BTL_DES_FLAGS_BTL_OWNERSHIP & flags))) {
        flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
        des->des_flags = flags;
    }

    mca_btl_fastsm_lock(endpoint);
    mca_btl_fastsm_stamp(stamp, frag->segment.seg_addr.pval); /* it leaves, now or in its turn */
    if (OPAL_LIKELY(0 == endpoint->out.n_pending)) {
        posted = mca_btl_fastsm_post(endpoint, frag, tag, &in_flight);
    }
    if (OPAL_UNLIKELY(!posted)) {
        des->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
        mca_btl_fastsm_pend(endpoint, frag);
    }
    mca_btl_fastsm_unlock(endpoint);

    /* a frag that is pending or in flight may by now be through and somebody else's */
    if (OPAL_UNLIKELY(!posted)) {
        return OPAL_SUCCESS;
    }
    if (MCA_BTL_DES_SEND_ALWAYS_CALLBACK & flags) {
        if (!in_flight) {
            mca_btl_fastsm_complete_later(frag);
        }
        return OPAL_SUCCESS;
    }
    if (!in_flight && (MCA_BTL_DES_FLAGS_BTL_OWNERSHIP & flags)) {
        mca_btl_fastsm_frag_return(frag);
    }
    return 1;
}

int mca_btl_fastsm_send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *des, mca_btl_base_tag_t tag)
{
    (void) btl;
    return send_frag(endpoint, des, tag, NULL);
}

int mca_btl_fastsm_send_numbered(mca_btl_base_endpoint_t *endpoint, mca_btl_base_descriptor_t *des,
                                 mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp)
{
    return send_frag(endpoint, des, tag, stamp);
}

void mca_btl_fastsm_send_pending(mca_btl_fastsm_endpoint_t *endpoint)
{
    while (0 != endpoint->out.n_pending && !mca_btl_fastsm_fault()) {
        mca_btl_fastsm_frag_t *frag = (mca_btl_fastsm_frag_t *) opal_list_remove_first(&endpoint->pending);
        bool in_flight;

        if (!mca_btl_fastsm_post(endpoint, frag, frag->tag, &in_flight)) {
            opal_list_prepend(&endpoint->pending, &frag->base.super.super);
            return;
        }
        --endpoint->out.n_pending;
        if (!in_flight) {
            mca_btl_fastsm_frag_done(frag);
        }
    }
}
