/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_bml.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_link_failed.h"

OBJ_CLASS_INSTANCE(mca_pml_fastpath_packet_t, mca_pml_fastpath_retry_t, NULL, NULL);

static mca_bml_base_btl_t *control_btl(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl)
{
    mca_bml_base_btl_t *bml_btl = NULL;

    if (NULL != btl) {
        bml_btl = mca_bml_base_btl_array_find(&peer->endpoint->btl_rdma, btl);
        if (NULL == bml_btl) {
            bml_btl = mca_bml_base_btl_array_find(&peer->endpoint->btl_send, btl);
        }
    }
    if (NULL == bml_btl) {
        bml_btl = mca_bml_base_btl_array_get_next(&peer->endpoint->btl_eager);
    }
    return bml_btl;
}

void mca_pml_fastpath_control_completion(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                                         mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) descriptor;
    ++mca_pml_fastpath.arrived;
    if (OPAL_UNLIKELY(OPAL_SUCCESS != status)) {
        mca_pml_fastpath_link_failed(btl, endpoint, NULL, opal_strerror(status));
    }
}

/* Without a descriptor, where that is possible. */
static inline bool control_sendi(const mca_pml_fastpath_peer_t *peer, const mca_btl_base_module_t *btl,
                                 const void *hdr, size_t size)
{
    uint64_t words[2];

    if (NULL == peer->ext || (NULL != btl && mca_pml_fastpath.fastsm != btl) || mca_pml_fastpath_fault()) {
        return false;
    }
    memcpy(words, hdr, sizeof(words));
    ++mca_pml_fastpath.btl_sends;
    return OPAL_SUCCESS
           == peer->ext->sendi(peer->btl_endpoint, words[0], words[1], (const char *) hdr + sizeof(words),
                               size - sizeof(words),
                               MCA_BTL_TAG_PML + ((const mca_pml_fastpath_hdr_t *) hdr)->hdr_type);
}

bool mca_pml_fastpath_control_at_once(const mca_pml_fastpath_peer_t *peer, const void *hdr, size_t size)
{
    return !peer->left && !mca_pml_fastpath_peer_has_failed(peer) && control_sendi(peer, NULL, hdr, size);
}

/* With a descriptor. btl: as for mca_pml_fastpath_control_send() */
static int control_describe(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl, const void *hdr,
                            size_t size, uint32_t flags, mca_btl_base_completion_fn_t completion,
                            void *context)
{
    mca_bml_base_btl_t *bml_btl = control_btl(peer, btl);
    mca_btl_base_descriptor_t *descriptor = mca_pml_fastpath_bml_alloc(
        bml_btl, size, MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | flags);
    int rc;

    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    memcpy(descriptor->des_segments->seg_addr.pval, hdr, size);
    descriptor->des_cbfunc = completion;
    descriptor->des_cbdata = context;
    rc = mca_pml_fastpath_bml_send(bml_btl, descriptor, ((const mca_pml_fastpath_hdr_t *) hdr)->hdr_type);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc && OMPI_ERR_OUT_OF_RESOURCE != rc)) {
        mca_pml_fastpath_link_failed(bml_btl->btl, NULL, &peer->proc->super, opal_strerror(rc));
    }
    return rc;
}

static int control_try(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl, const void *hdr,
                       size_t size)
{
    if (peer->left || mca_pml_fastpath_peer_has_failed(peer)) {
        return OMPI_SUCCESS; /* nobody waits for it */
    }
    if (OPAL_LIKELY(control_sendi(peer, btl, hdr, size))) {
        return OMPI_SUCCESS;
    }
    return OMPI_ERR_OUT_OF_RESOURCE
                   == control_describe(peer, btl, hdr, size, MCA_BTL_DES_FLAGS_SIGNAL,
                                       mca_pml_fastpath_control_completion, NULL)
               ? OMPI_ERR_OUT_OF_RESOURCE
               : OMPI_SUCCESS;
}

static mca_pml_fastpath_packet_t *packet_get(mca_btl_base_module_t *btl, const void *hdr, size_t size)
{
    mca_pml_fastpath_packet_t *packet = mca_pml_fastpath_needed(opal_free_list_get(&mca_pml_fastpath.packets),
                                                                "a control message", "free list");

    packet->btl = btl;
    packet->size = size;
    memcpy(packet->bytes, hdr, size);
    return packet;
}

static int packet_retry(mca_pml_fastpath_retry_t *retry)
{
    mca_pml_fastpath_packet_t *packet = (mca_pml_fastpath_packet_t *) retry;
    int rc = control_try(retry->peer, packet->btl, packet->bytes, packet->size);

    if (OMPI_SUCCESS == rc) {
        opal_free_list_return(&mca_pml_fastpath.packets, &retry->super);
    }
    return rc;
}

/* It has left, or does not need to. */
static void packet_end(mca_pml_fastpath_packet_t *packet)
{
    void (*left)(void *) = packet->left;
    void *context = packet->context;

    opal_free_list_return(&mca_pml_fastpath.packets, &packet->super.super);
    left(context);
}

static void packet_completion(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                              mca_btl_base_descriptor_t *descriptor, int status)
{
    mca_pml_fastpath_packet_t *packet = descriptor->des_cbdata;

    mca_pml_fastpath_control_completion(btl, endpoint, descriptor, status);
    packet_end(packet);
}

static int packet_retry_until(mca_pml_fastpath_retry_t *retry)
{
    mca_pml_fastpath_packet_t *packet = (mca_pml_fastpath_packet_t *) retry;
    mca_pml_fastpath_peer_t *peer = retry->peer;
    int rc = OMPI_ERR_UNREACH;

    if (!peer->left && !mca_pml_fastpath_peer_has_failed(peer)) {
        rc = control_describe(peer, packet->btl, packet->bytes, packet->size,
                              MCA_BTL_DES_SEND_ALWAYS_CALLBACK, packet_completion, packet);
    }
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc && OMPI_ERR_OUT_OF_RESOURCE != rc)) {
        packet_end(packet); /* nobody waits for it */
        rc = OMPI_SUCCESS;
    }
    return rc;
}

void mca_pml_fastpath_control_send_until(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl,
                                         const void *hdr, size_t size, void (*left)(void *context),
                                         void *context)
{
    mca_pml_fastpath_packet_t *packet = packet_get(btl, hdr, size);

    packet->left = left;
    packet->context = context;
    packet->super.peer = peer;
    if (OPAL_UNLIKELY(OMPI_SUCCESS != packet_retry_until(&packet->super))) {
        mca_pml_fastpath_retry_later(&packet->super, peer, MCA_PML_FASTPATH_QUEUE_REST, packet_retry_until);
    }
}

static void control_later(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl, const void *hdr,
                          size_t size, int queue)
{
    mca_pml_fastpath_retry_later(&packet_get(btl, hdr, size)->super, peer, queue, packet_retry);
}

void mca_pml_fastpath_control_send(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl, const void *hdr,
                                   size_t size)
{
    if (OPAL_UNLIKELY(OMPI_SUCCESS != control_try(peer, btl, hdr, size))) {
        control_later(peer, btl, hdr, size, MCA_PML_FASTPATH_QUEUE_REST);
    }
}

void mca_pml_fastpath_control_send_last(mca_pml_fastpath_peer_t *peer, const void *hdr, size_t size)
{
    if (0 != peer->queued || OMPI_SUCCESS != control_try(peer, NULL, hdr, size)) {
        control_later(peer, NULL, hdr, size, MCA_PML_FASTPATH_QUEUE_MESSAGES);
    }
}
