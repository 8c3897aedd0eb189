/* -*- Mode: C; c-basic-offset:4 ; indent-tabs-mode:nil -*- */
/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Sending at once, without a descriptor.
 */

#include "opal_config.h"

#include "btl_fastsm.h"

/* Header and contiguous payload straight into the slots. */
static inline bool sendi_inline(mca_btl_fastsm_endpoint_t *endpoint, const void *header, size_t header_size,
                                const void *payload, size_t payload_size, mca_btl_base_tag_t tag)
{
    const size_t length = header_size + payload_size;
    const uint32_t halves = fastsm_fifo_halves(length);
    mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&endpoint->out, halves);

    if (OPAL_UNLIKELY(NULL == head)) {
        return false;
    }
    fastsm_fifo_describe(head, length, tag, 0);
    fastsm_fifo_fill(head, header, header_size, payload, payload_size);
    fastsm_fifo_commit(&endpoint->out, head, halves);
    return true;
}

/* Room is made sure of before anything is packed, so a refusal leaves the convertor as it was. */
static bool sendi_frag(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                       opal_convertor_t *convertor, const void *payload, const void *header,
                       size_t header_size, size_t payload_size, mca_btl_base_tag_t tag, bool *in_flight)
{
    const uint32_t halves =
        frag->segment.seg_len > endpoint->inline_bytes ? 1 : fastsm_fifo_halves(frag->segment.seg_len);
    char *data = (char *) frag->segment.seg_addr.pval;
    size_t packed = payload_size;
    uint32_t iov_count = 1;
    struct iovec iov;

    if (0 != endpoint->out.n_pending
        || (!fastsm_fifo_prepare(&endpoint->out, halves)
            && !(NULL == endpoint->late ? mca_btl_fastsm_fifo_open(endpoint)
                                        : mca_btl_fastsm_late_room(endpoint)))) {
        return false;
    }
    memcpy(data, header, header_size);
    if (NULL != payload) {
        memcpy(data + header_size, payload, payload_size);
    } else if (0 < payload_size) {
        iov.iov_base = (IOVBASE_TYPE *) (data + header_size);
        iov.iov_len = payload_size;
        if (0 > opal_convertor_pack(convertor, &iov, &iov_count, &packed) || packed != payload_size) {
            return false;
        }
    }
    if (OPAL_UNLIKELY(!mca_btl_fastsm_post(endpoint, frag, tag, in_flight))) {
        /* another process was faster in the ring; the message is in our memory, so it waits there */
        frag->tag = tag;
        mca_btl_fastsm_pend(endpoint, frag);
        *in_flight = true;
    }
    return true;
}

/* Through a frag: what is too long for the slots, or has to be packed. */
static __opal_attribute_noinline__ int sendi_other(mca_btl_base_module_t *btl,
                                                   mca_btl_fastsm_endpoint_t *endpoint,
                                                   opal_convertor_t *convertor, const void *payload,
                                                   const void *header, size_t header_size,
                                                   size_t payload_size, mca_btl_base_tag_t tag)
{
    bool sent, in_flight = false;
    mca_btl_base_descriptor_t *des = mca_btl_fastsm_alloc(
        btl, endpoint, MCA_BTL_NO_ORDER, header_size + payload_size, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);

    if (OPAL_UNLIKELY(NULL == des)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    mca_btl_fastsm_lock(endpoint);
    sent = sendi_frag(endpoint, (mca_btl_fastsm_frag_t *) des, convertor, payload, header, header_size,
                      payload_size, tag, &in_flight);
    mca_btl_fastsm_unlock(endpoint);
    if (!sent || !in_flight) {
        mca_btl_fastsm_free(btl, des);
    }
    return OPAL_LIKELY(sent) ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

/* One of convertor and payload may be NULL, both if there is no payload. */
static int sendi_any(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                     opal_convertor_t *convertor, const void *payload, const void *header, size_t header_size,
                     size_t payload_size, mca_btl_base_tag_t tag)
{
    bool sent = false;

    if (OPAL_UNLIKELY(header_size + payload_size > endpoint->sendi_bytes
                      || header_size > MCA_BTL_FASTSM_HEAD_DATA || (0 < payload_size && NULL == payload))) {
        return sendi_other(btl, endpoint, convertor, payload, header, header_size, payload_size, tag);
    }
    mca_btl_fastsm_lock(endpoint);
    if (OPAL_LIKELY(0 == endpoint->out.n_pending)) {
        sent = sendi_inline(endpoint, header, header_size, payload, payload_size, tag);
        if (OPAL_UNLIKELY(!sent)) {
            mca_btl_fastsm_fifo_open(endpoint); /* for what comes next: this message takes the other way */
        }
    }
    mca_btl_fastsm_unlock(endpoint);
    return OPAL_LIKELY(sent) ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

/* What takes more than one slot, or finds no room at first sight. */
static __opal_attribute_noinline__ int sendi_rest(mca_btl_base_endpoint_t *endpoint, uint64_t word0,
                                                  uint64_t word1, const void *payload, size_t payload_size,
                                                  mca_btl_base_tag_t tag)
{
    const uint64_t header[] = {word0, word1};

    return sendi_any(&mca_btl_fastsm_module.super, endpoint, NULL, payload, header, sizeof(header),
                     payload_size, tag);
}

int mca_btl_fastsm_sendi_plain(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                               const void *payload, size_t payload_size, mca_btl_base_tag_t tag)
{
    bool sent = false;

    if (payload_size <= MCA_BTL_FASTSM_SLOT_PAYLOAD) {
        mca_btl_fastsm_lock(endpoint);
        sent = fastsm_fifo_has_slot(&endpoint->out);
        if (sent) {
            fastsm_fifo_send_slot(&endpoint->out, word0, word1, payload, payload_size, tag);
        }
        mca_btl_fastsm_unlock(endpoint);
    }
    return sent ? OPAL_SUCCESS : sendi_rest(endpoint, word0, word1, payload, payload_size, tag);
}

fastsm_fifo_sender_t *mca_btl_fastsm_sender(mca_btl_base_endpoint_t *endpoint)
{
    return &endpoint->out;
}

/**
 * Sends header and payload at once and completely, or not at all.
 *
 * @param descriptor  when nothing was sent: a descriptor of the right size for
 *                    the caller to fill and send, or NULL.  May be NULL
 * @return            OPAL_SUCCESS or OPAL_ERR_OUT_OF_RESOURCE
 */
int mca_btl_fastsm_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
                         uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t **descriptor)
{
    void *payload = NULL;
    int rc;

    if (0 < payload_size && !opal_convertor_need_buffers(convertor)) {
        opal_convertor_get_current_pointer(convertor, &payload);
    }
    rc = sendi_any(btl, endpoint, convertor, payload, header, header_size, payload_size, tag);
    if (OPAL_UNLIKELY(OPAL_SUCCESS != rc) && NULL != descriptor) {
        *descriptor = mca_btl_fastsm_alloc(btl, endpoint, order, header_size + payload_size, flags);
    }
    return rc;
}
