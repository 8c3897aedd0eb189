/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Immediate sends: without a descriptor.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_chunk_send.h"
#include "btl_fastsm_dynamic_send.h"
#include "btl_fastsm_frag.h"
#include "btl_fastsm_room.h"
#include "btl_fastsm_send.h"

/* Header and contiguous payload straight into the slots.  With a stamp the header takes its number. */
static inline bool sendi_inline(mca_btl_fastsm_endpoint_t *endpoint, void *header, size_t header_size,
                                const void *payload, size_t payload_size, mca_btl_base_tag_t tag,
                                mca_btl_fastsm_stamp_t *stamp)
{
    const size_t length = header_size + payload_size;
    const uint32_t halves = fastsm_fifo_halves(length);
    mca_btl_fastsm_slot_t *head;

    if (OPAL_UNLIKELY(0 != endpoint->out.n_pending)) {
        return false;
    }
    head = fastsm_fifo_reserve(&endpoint->out, halves);
    if (OPAL_UNLIKELY(NULL == head)) {
        mca_btl_fastsm_fifo_open(endpoint); /* for what comes next: this message takes the other way */
        return false;
    }
    mca_btl_fastsm_stamp(stamp, header);
    fastsm_fifo_fill(&endpoint->out, head, header, header_size, payload, payload_size);
    fastsm_fifo_describe(head, length, tag, 0);
    fastsm_fifo_commit(&endpoint->out, head, halves);
    return true;
}

/* The same with threads.  The payload is copied first: while the endpoint is locked nobody touches a user's
 * memory, which may have to come from a disk. */
static __opal_attribute_noinline__ bool sendi_inline_threads(mca_btl_fastsm_endpoint_t *endpoint,
                                                             void *header, size_t header_size,
                                                             const void *payload, size_t payload_size,
                                                             mca_btl_base_tag_t tag,
                                                             mca_btl_fastsm_stamp_t *stamp)
{
    char copy[MCA_BTL_FASTSM_INLINE_BYTES_MAX];
    bool sent;

    if (0 < payload_size) {
        memcpy(copy, payload, payload_size);
    }
    mca_common_fastpath_lock(&endpoint->out.lock);
    sent = sendi_inline(endpoint, header, header_size, copy, payload_size, tag, stamp);
    mca_common_fastpath_unlock(&endpoint->out.lock);
    return sent;
}

/* Whether there is room for a frag, as far as we can know.  Another process may be faster in a ring, so what
 * takes several slots of one is for send, which tells its caller when all of it has left. */
static bool frag_room(mca_btl_fastsm_endpoint_t *endpoint, const mca_btl_fastsm_frag_t *frag)
{
    const size_t length = frag->segment.seg_len;
    const bool is_referred = length > endpoint->inline_bytes;

    if (0 != endpoint->out.n_pending) {
        return false;
    }
    if (fastsm_fifo_prepare(&endpoint->out, is_referred ? 1 : fastsm_fifo_halves(length))) {
        return true;
    }
    return NULL == endpoint->dynamic
               ? mca_btl_fastsm_fifo_open(endpoint)
               : (is_referred || MCA_BTL_FASTSM_RING_DATA >= length) && mca_btl_fastsm_dynamic_room(endpoint);
}

/* One of convertor and payload may be NULL, both if there is no payload. */
static bool frag_fill(mca_btl_fastsm_frag_t *frag, opal_convertor_t *convertor, const void *payload,
                      const void *header, size_t header_size, size_t payload_size)
{
    char *data = (char *) frag->segment.seg_addr.pval;
    size_t packed = payload_size;
    uint32_t iov_count = 1;
    struct iovec iov;

    memcpy(data, header, header_size);
    if (NULL != payload) {
        mca_common_fastpath_copy(data + header_size, payload, payload_size);
    } else if (0 < payload_size) {
        iov.iov_base = (IOVBASE_TYPE *) (data + header_size);
        iov.iov_len = payload_size;
        return 0 <= opal_convertor_pack(convertor, &iov, &iov_count, &packed) && packed == payload_size;
    }
    return true;
}

/* There was room for it. @return whether it has left, or will */
static bool frag_post(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                      mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp, bool *in_flight)
{
    mca_btl_fastsm_stamp(stamp, frag->segment.seg_addr.pval);
    if (OPAL_LIKELY(mca_btl_fastsm_post(endpoint, frag, tag, in_flight))) {
        return true;
    }
    /* another process was faster in the ring */
    if (NULL == stamp) {
        return false;
    }
    frag->tag = tag; /* the message has its number and is in our memory, so it waits there */
    mca_btl_fastsm_pend(endpoint, frag);
    *in_flight = true;
    return true;
}

/* Room is made sure of before anything is packed, with threads before anything has its number.  The convertor
 * is put back: so a refusal leaves it as it was. */
static bool send_frag_now(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                          opal_convertor_t *convertor, const void *payload, const void *header,
                          size_t header_size, size_t payload_size, mca_btl_base_tag_t tag,
                          mca_btl_fastsm_stamp_t *stamp, bool *in_flight)
{
    size_t position = NULL == convertor ? 0 : convertor->bConverted;
    bool sent;

    if (OPAL_LIKELY(!opal_using_threads())) {
        sent = frag_room(endpoint, frag)
               && frag_fill(frag, convertor, payload, header, header_size, payload_size)
               && frag_post(endpoint, frag, tag, stamp, in_flight);
    } else {
        sent = frag_fill(frag, convertor, payload, header, header_size, payload_size);
        if (OPAL_LIKELY(sent)) {
            mca_common_fastpath_lock(&endpoint->out.lock);
            sent = frag_room(endpoint, frag) && frag_post(endpoint, frag, tag, stamp, in_flight);
            mca_common_fastpath_unlock(&endpoint->out.lock);
        }
    }
    if (OPAL_UNLIKELY(!sent && NULL != convertor)) {
        opal_convertor_set_position(convertor, &position);
    }
    return sent;
}

/* Through a frag: what is too long for the slots, or has to be packed. */
static __opal_attribute_noinline__ int sendi_other(mca_btl_fastsm_endpoint_t *endpoint,
                                                   opal_convertor_t *convertor, const void *payload,
                                                   const void *header, size_t header_size,
                                                   size_t payload_size, mca_btl_base_tag_t tag,
                                                   mca_btl_fastsm_stamp_t *stamp)
{
    mca_btl_base_module_t *btl = &mca_btl_fastsm_module.super;
    bool sent, in_flight = false;
    mca_btl_base_descriptor_t *des = mca_btl_fastsm_alloc(
        btl, endpoint, MCA_BTL_NO_ORDER, header_size + payload_size, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);

    if (OPAL_UNLIKELY(NULL == des)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    sent = send_frag_now(endpoint, (mca_btl_fastsm_frag_t *) des, convertor, payload, header, header_size,
                         payload_size, tag, stamp, &in_flight);
    if (!sent || !in_flight) {
        mca_btl_fastsm_free(btl, des);
    }
    return OPAL_LIKELY(sent) ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

/* One of convertor and payload may be NULL, both if there is no payload. */
static inline int sendi_any(mca_btl_base_endpoint_t *endpoint, opal_convertor_t *convertor,
                            const void *payload, void *header, size_t header_size, size_t payload_size,
                            mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp)
{
    const size_t length = header_size + payload_size;
    const bool chunks = sizeof(uint64_t[2]) == header_size && NULL != payload && 0 != endpoint->out.depth;
    bool sent;

    if (length > endpoint->out.sendi_bytes && OPAL_LIKELY(chunks)) {
        return mca_btl_fastsm_sendi_chunks(endpoint, header, payload, NULL, payload_size, tag, stamp);
    }
    if (OPAL_UNLIKELY(length > endpoint->out.sendi_bytes || header_size > MCA_BTL_FASTSM_HEAD_DATA
                      || (0 < payload_size && NULL == payload))) {
        return sendi_other(endpoint, convertor, payload, header, header_size, payload_size, tag, stamp);
    }
    sent = OPAL_UNLIKELY(opal_using_threads())
               ? sendi_inline_threads(endpoint, header, header_size, payload, payload_size, tag, stamp)
               : sendi_inline(endpoint, header, header_size, payload, payload_size, tag, stamp);
    if (OPAL_LIKELY(sent)) {
        return OPAL_SUCCESS;
    }
    /* in a buffer it takes half a slot, which a stream still finds where several slots are not free */
    return chunks && length > fastsm_fifo_capacity(1)
               ? mca_btl_fastsm_sendi_chunks(endpoint, header, payload, NULL, payload_size, tag, stamp)
               : OPAL_ERR_OUT_OF_RESOURCE;
}

/* What takes more than one slot, or finds no room at first sight. */
static __opal_attribute_noinline__ int sendi_rest(mca_btl_base_endpoint_t *endpoint, uint64_t word0,
                                                  uint64_t word1, const void *payload, size_t payload_size,
                                                  mca_btl_base_tag_t tag)
{
    uint64_t header[] = {word0, word1};

    return sendi_any(endpoint, NULL, payload, header, sizeof(header), payload_size, tag, NULL);
}

int mca_btl_fastsm_sendi_contiguous(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                                    const void *payload, size_t payload_size, mca_btl_base_tag_t tag)
{
    if (payload_size <= MCA_BTL_FASTSM_SLOT_PAYLOAD && OPAL_LIKELY(!opal_using_threads())
        && fastsm_fifo_has_slot(&endpoint->out)) {
        fastsm_fifo_send_slot(&endpoint->out, word0, word1, payload, payload_size, tag);
        return OPAL_SUCCESS;
    }
    return sendi_rest(endpoint, word0, word1, payload, payload_size, tag);
}

int mca_btl_fastsm_sendi_numbered(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                                  const void *payload, size_t payload_size, mca_btl_base_tag_t tag,
                                  mca_btl_fastsm_stamp_t *stamp)
{
    uint64_t header[] = {word0, word1};

    return sendi_any(endpoint, NULL, payload, header, sizeof(header), payload_size, tag, stamp);
}

fastsm_fifo_sender_t *mca_btl_fastsm_sender(mca_btl_base_endpoint_t *endpoint)
{
    return &endpoint->out;
}

int mca_btl_fastsm_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
                         uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t **descriptor)
{
    void *payload = NULL;
    int rc;

    if (0 < payload_size && !fastpath_convertor_needs_buffers(convertor)) {
        opal_convertor_get_current_pointer(convertor, &payload);
    }
    rc = sendi_any(endpoint, convertor, payload, header, header_size, payload_size, tag, NULL);
    if (OPAL_UNLIKELY(OPAL_SUCCESS != rc) && NULL != descriptor) {
        *descriptor = mca_btl_fastsm_alloc(btl, endpoint, order, header_size + payload_size, flags);
    }
    return rc;
}
