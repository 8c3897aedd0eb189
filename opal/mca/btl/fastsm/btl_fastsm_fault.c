/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Refusing at random, for tests: with btl_fastsm_debug_fault_percent these stand before the functions that
 * may refuse.  Without it they are nowhere, so they cost nothing.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_chunk_send.h"
#include "btl_fastsm_frag.h"
#include "btl_fastsm_get.h"
#include "btl_fastsm_peek.h"
#include "btl_fastsm_send.h"

/* ob1 4.1 tries refused data again from progress, but a refused control message only when something
 * completes, which may be never.  So it gets what control messages need. */
static mca_btl_base_descriptor_t *refuse_alloc(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                                               uint8_t order, size_t size, uint32_t flags)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    if ((component->confirmed || size > component->inline_bytes) && mca_btl_fastsm_fault()) {
        return NULL;
    }
    return mca_btl_fastsm_alloc(btl, endpoint, order, size, flags);
}

static mca_btl_base_descriptor_t *refuse_prepare_src(mca_btl_base_module_t *btl,
                                                     mca_btl_base_endpoint_t *endpoint,
                                                     opal_convertor_t *convertor, uint8_t order,
                                                     size_t reserve, size_t *size, uint32_t flags)
{
    if (mca_btl_fastsm_fault()) {
        return NULL;
    }
    return mca_btl_fastsm_prepare_src(btl, endpoint, convertor, order, reserve, size, flags);
}

/* As if the FIFO were full. */
static int refuse_send_numbered(mca_btl_base_endpoint_t *endpoint, mca_btl_base_descriptor_t *des,
                                mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp)
{
    mca_btl_fastsm_frag_t *frag = (mca_btl_fastsm_frag_t *) des;

    if (!mca_btl_fastsm_fault()) {
        return mca_btl_fastsm_send_numbered(endpoint, des, tag, stamp);
    }
    frag->endpoint = endpoint;
    frag->tag = tag;
    des->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    mca_btl_fastsm_lock(endpoint);
    mca_btl_fastsm_stamp(stamp, frag->segment.seg_addr.pval);
    mca_btl_fastsm_pend(endpoint, frag);
    mca_btl_fastsm_unlock(endpoint);
    return OPAL_SUCCESS;
}

static int refuse_send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                       mca_btl_base_descriptor_t *des, mca_btl_base_tag_t tag)
{
    (void) btl;
    return refuse_send_numbered(endpoint, des, tag, NULL);
}

static int refuse_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                        opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
                        uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                        mca_btl_base_descriptor_t **descriptor)
{
    if (!mca_btl_fastsm_fault()) {
        return mca_btl_fastsm_sendi(btl, endpoint, convertor, header, header_size, payload_size, order, flags,
                                    tag, descriptor);
    }
    if (NULL != descriptor) {
        *descriptor = refuse_alloc(btl, endpoint, order, header_size + payload_size, flags);
    }
    return OPAL_ERR_OUT_OF_RESOURCE;
}

static int refuse_sendi_contiguous(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                                   const void *payload, size_t payload_size, mca_btl_base_tag_t tag)
{
    if (mca_btl_fastsm_fault()) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return mca_btl_fastsm_sendi_contiguous(endpoint, word0, word1, payload, payload_size, tag);
}

static int refuse_sendi_numbered(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                                 const void *payload, size_t payload_size, mca_btl_base_tag_t tag,
                                 mca_btl_fastsm_stamp_t *stamp)
{
    if (mca_btl_fastsm_fault()) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return mca_btl_fastsm_sendi_numbered(endpoint, word0, word1, payload, payload_size, tag, stamp);
}

static int refuse_sendi_data(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                             const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                             mca_btl_fastsm_stamp_t *stamp)
{
    if (mca_btl_fastsm_fault()) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return mca_btl_fastsm_sendi_data(endpoint, word0, word1, data, size, tag, stamp);
}

/* Nobody goes past us. */
static fastsm_fifo_sender_t *refuse_sender(mca_btl_base_endpoint_t *endpoint)
{
    (void) endpoint;
    return NULL;
}

static fastsm_fifo_receiver_t *refuse_receiver(mca_btl_base_endpoint_t *endpoint)
{
    (void) endpoint;
    return NULL;
}

/* As if something else had come. */
static int refuse_peek(mca_btl_base_endpoint_t *endpoint, unsigned spins, mca_btl_fastsm_view_t *view)
{
    return mca_btl_fastsm_fault() ? OPAL_ERR_NOT_AVAILABLE : mca_btl_fastsm_peek(endpoint, spins, view);
}

static bool refuse_write(mca_btl_base_endpoint_t *endpoint, const void *local, uint64_t remote, size_t size)
{
    return !mca_btl_fastsm_fault() && mca_btl_fastsm_write(endpoint, local, remote, size);
}

void mca_btl_fastsm_fault_install(mca_btl_fastsm_module_t *module)
{
    if (0 == mca_btl_fastsm_component.fault_percent) {
        return;
    }
    module->super.btl_alloc = refuse_alloc;
    module->super.btl_prepare_src = refuse_prepare_src;
    module->super.btl_send = refuse_send;
    module->super.btl_sendi = refuse_sendi;
    module->ext.sendi = refuse_sendi_contiguous;
    module->ext.sendi_numbered = refuse_sendi_numbered;
    module->ext.sendi_data = refuse_sendi_data;
    module->ext.send_numbered = refuse_send_numbered;
    module->ext.sender = refuse_sender;
    module->ext.peek = refuse_peek;
    module->ext.receiver = refuse_receiver;
    module->ext.write = refuse_write;
}
