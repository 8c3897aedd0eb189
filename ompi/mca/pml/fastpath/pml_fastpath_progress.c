/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What a BTL refused waits here, in order, and is tried again each time Open MPI
 * makes progress. Nothing else has to happen for it to go out.
 */
#include "ompi_config.h"

#include "opal/mca/btl/base/base.h"

#include "pml_fastpath_bml.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_pace.h"
#include "pml_fastpath_peer.h"

OBJ_CLASS_INSTANCE(mca_pml_fastpath_retry_t, opal_list_item_t, NULL, NULL);

static void packet_construct(mca_pml_fastpath_packet_t *packet)
{
    OBJ_CONSTRUCT(&packet->retry, mca_pml_fastpath_retry_t);
}

static void packet_destruct(mca_pml_fastpath_packet_t *packet)
{
    OBJ_DESTRUCT(&packet->retry);
}

OBJ_CLASS_INSTANCE(mca_pml_fastpath_packet_t, opal_free_list_item_t, packet_construct, packet_destruct);

void mca_pml_fastpath_retry_later(mca_pml_fastpath_retry_t *retry, mca_pml_fastpath_peer_t *peer, int queue,
                                  int (*fn)(mca_pml_fastpath_retry_t *retry))
{
    mca_pml_fastpath_queue_t *retries = &mca_pml_fastpath.retries[queue];

    retry->peer = peer;
    retry->fn = fn;
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    opal_list_append(&retries->retries, &retry->super);
    if (1 == ++peer->waiting[queue]) {
        ++retries->waited_for;
    }
    (void) OPAL_THREAD_ADD_FETCH32(&peer->queued, 1);
    (void) OPAL_THREAD_ADD_FETCH32(&mca_pml_fastpath.num_retries, 1);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

/* A retry has left its queue. The PML is locked. */
static void retry_left(mca_pml_fastpath_queue_t *retries, int queue, mca_pml_fastpath_peer_t *peer)
{
    if (0 == --peer->waiting[queue]) {
        --retries->waited_for;
    }
    opal_atomic_wmb(); /* who sees that nothing is queued sees the numbers of what was */
    (void) OPAL_THREAD_ADD_FETCH32(&peer->queued, -1);
    (void) OPAL_THREAD_ADD_FETCH32(&mca_pml_fastpath.num_retries, -1);
}

/* Take the first retry whose peer has had room so far in this pass. */
static mca_pml_fastpath_retry_t *retry_take(opal_list_t *retries, opal_list_t *waiting, uint64_t pass)
{
    mca_pml_fastpath_retry_t *retry;

    while (NULL != (retry = (mca_pml_fastpath_retry_t *) opal_list_remove_first(retries))) {
        if (pass != retry->peer->blocked_pass) {
            return retry;
        }
        opal_list_append(waiting, &retry->super);
    }
    return NULL;
}

/* One pass over a queue of what was refused. A peer that has no room is not asked again in the same pass,
 * so what waits for it keeps its order; when there is no other, the pass ends, however much waits. The
 * peer is read before the call: fn may complete and free what the retry is part of. */
static int retry_all(int queue)
{
    static uint64_t pass_counter = 0;
    mca_pml_fastpath_queue_t *retries = &mca_pml_fastpath.retries[queue];
    mca_pml_fastpath_retry_t *retry;
    opal_list_t waiting;
    int accepted = 0, blocked = 0;
    uint64_t pass;

    OBJ_CONSTRUCT(&waiting, opal_list_t);
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    pass = ++pass_counter;
    while (blocked < retries->waited_for && NULL != (retry = retry_take(&retries->retries, &waiting, pass))) {
        mca_pml_fastpath_peer_t *peer = retry->peer;
        int rc;

        OBJ_RETAIN(peer);
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
        rc = retry->fn(retry);
        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        if (OMPI_ERR_OUT_OF_RESOURCE == rc) {
            peer->blocked_pass = pass;
            ++blocked;
            opal_list_append(&waiting, &retry->super);
        } else {
            retry_left(retries, queue, peer);
            ++accepted;
        }
        OBJ_RELEASE(peer);
    }
    opal_list_join(&retries->retries, opal_list_get_first(&retries->retries), &waiting);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    OBJ_DESTRUCT(&waiting);
    return accepted;
}

/* Both queues, in turns: what one of them sends may be what the other one finds no room for. */
static int retry_both(void)
{
    static int first = 0;

    first = !first;
    return retry_all(first) + retry_all(!first);
}

int mca_pml_fastpath_progress(void)
{
    static opal_atomic_int32_t busy = 0;
    int accepted = 0;

    mca_pml_fastpath_pace_note();
    if (OPAL_UNLIKELY(mca_pml_fastpath_at_end())) {
        mca_pml_fastpath_links_end();
    }
    if (OPAL_UNLIKELY(0
                      > --mca_pml_fastpath.link_countdown)) { /* not atomic: some calls more do not matter */
        mca_pml_fastpath_failures_look();
        mca_pml_fastpath_links_look();
    }
    if (OPAL_LIKELY(0 == mca_pml_fastpath.num_retries)) {
        return 0;
    }
    /* One pass at a time, also against ourselves: fn may reach progress again. */
    if (1 == OPAL_THREAD_ADD_FETCH32(&busy, 1)) {
        accepted = retry_both();
    }
    (void) OPAL_THREAD_ADD_FETCH32(&busy, -1);
    return accepted;
}

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
    if (OPAL_UNLIKELY(OPAL_SUCCESS != status)) {
        mca_pml_fastpath_link_failed(btl, endpoint, NULL, opal_strerror(status));
    }
}

static int control_try(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl, const void *hdr,
                       size_t size)
{
    const mca_pml_fastpath_hdr_t *any = hdr;
    mca_btl_base_descriptor_t *descriptor;
    mca_bml_base_btl_t *bml_btl;
    int rc;

    if (mca_pml_fastpath_peer_has_failed(peer)) {
        return OMPI_SUCCESS; /* nobody waits for it */
    }
    bml_btl = control_btl(peer, btl);
    descriptor = mca_pml_fastpath_bml_alloc(bml_btl, size,
                                            MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP
                                                | MCA_BTL_DES_FLAGS_SIGNAL);
    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    memcpy(descriptor->des_segments->seg_addr.pval, hdr, size);
    descriptor->des_cbfunc = mca_pml_fastpath_control_completion;
    descriptor->des_cbdata = NULL;
    rc = mca_pml_fastpath_bml_send(bml_btl, descriptor, any->hdr_type);
    if (OPAL_UNLIKELY(OMPI_SUCCESS != rc && OMPI_ERR_OUT_OF_RESOURCE != rc)) {
        mca_pml_fastpath_link_failed(bml_btl->btl, NULL, &peer->proc->super, opal_strerror(rc));
        rc = OMPI_SUCCESS;
    }
    return rc;
}

static int packet_retry(mca_pml_fastpath_retry_t *retry)
{
    mca_pml_fastpath_packet_t *packet =
        (mca_pml_fastpath_packet_t *) ((char *) retry - offsetof(mca_pml_fastpath_packet_t, retry));
    int rc = control_try(retry->peer, packet->btl, packet->bytes, packet->size);

    if (OMPI_SUCCESS == rc) {
        opal_free_list_return(&mca_pml_fastpath.packets, &packet->super);
    }
    return rc;
}

static void control_later(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl, const void *hdr,
                          size_t size, int queue)
{
    mca_pml_fastpath_packet_t *packet =
        (mca_pml_fastpath_packet_t *) opal_free_list_get(&mca_pml_fastpath.packets);

    if (NULL == packet) {
        mca_pml_fastpath_abort("no memory", "a control message", "malloc");
    }
    packet->btl = btl;
    packet->size = size;
    memcpy(packet->bytes, hdr, size);
    mca_pml_fastpath_retry_later(&packet->retry, peer, queue, packet_retry);
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
