/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Win_flush and its kind, MPI_Win_sync, and what all synchronisations have in common.
 */
#include "ompi_config.h"

#include "opal/runtime/opal_progress.h"

#include "osc_fastpath_copy.h"
#include "osc_fastpath_packet.h"
#include "osc_fastpath_sync.h"
#include "osc_fastpath_ticket.h"
#include "osc_fastpath_wait.h"

static bool has_operations(const mca_osc_fastpath_packet_t *packet)
{
    return NULL != packet && sizeof(mca_osc_fastpath_hdr_t) < packet->length;
}

int mca_osc_fastpath_send_empty(mca_osc_fastpath_peer_t *peer, uint8_t flags)
{
    if (NULL == mca_osc_fastpath_origin_packet(peer, 0, 0)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    mca_osc_fastpath_origin_send(peer, flags);
    return OMPI_SUCCESS;
}

/* Send what there is, and ask for an acknowledgement where one is needed. */
static int send_for_flush(mca_osc_fastpath_peer_t *peer, uint8_t flags)
{
    const bool unacked = 0 < (int32_t) (peer->origin.operations - peer->origin.acked);
    const bool asked = 0 <= (int32_t) (peer->origin.ack_asked - peer->origin.operations);

    if (has_operations(peer->origin.packet)) {
        mca_osc_fastpath_origin_send(peer, flags | MCA_OSC_FASTPATH_ACK);
        return OMPI_SUCCESS;
    }
    if (unacked && !asked) {
        return mca_osc_fastpath_send_empty(peer, flags | MCA_OSC_FASTPATH_ACK);
    }
    if (!unacked) {
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_ACKS_ELIMINATED);
    }
    return 0 == flags ? OMPI_SUCCESS : mca_osc_fastpath_send_empty(peer, flags);
}

int mca_osc_fastpath_flush_begin(mca_osc_fastpath_peer_t *peer, uint8_t flags)
{
    int rc = send_for_flush(peer, flags);

    peer->origin.flushing = peer->origin.operations;
    return rc;
}

/* What a flush waits for. Other threads may go on with the same peer, and what they begin later is not waited
 * for: it may never end, and nobody need acknowledge what they have not flushed. */
typedef struct {
    mca_osc_fastpath_peer_t *peer;
    uint32_t packets; /**< up to this one have to be acknowledged */
    uint64_t tickets; /**< data of all with lower numbers has to be here */
} awaited_t;

static bool flushed(mca_osc_fastpath_module_t *module, void *context)
{
    const awaited_t *awaited = context;
    mca_osc_fastpath_peer_t *peer = awaited->peer;

    if (0 <= (int32_t) (peer->origin.acked - awaited->packets)
        && mca_osc_fastpath_tickets_ended(peer, awaited->tickets)) {
        return true;
    }
    /* a get of another thread that began before may have its last piece in a packet */
    mca_osc_fastpath_send_gets(module, peer);
    return false;
}

/* Wait for one peer. `acks`: not only for data. */
static int await_peer(mca_osc_fastpath_peer_t *peer, bool acks)
{
    awaited_t awaited = {.peer = peer,
                         .packets = acks ? peer->origin.flushing : peer->origin.acked,
                         .tickets = peer->module->tickets->taken};

    return mca_osc_fastpath_wait_until(peer->module, flushed, &awaited);
}

/* Wait for `peer` or, one after the other, all active ones. These are found by rank: other threads may change
 * the list meanwhile. */
static int await_peers(mca_osc_fastpath_module_t *module, mca_osc_fastpath_peer_t *peer, bool acks)
{
    int rc = OMPI_SUCCESS;

    if (NULL != peer) {
        return await_peer(peer, acks);
    }
    if (opal_list_is_empty(&module->active)) {
        return OMPI_SUCCESS;
    }
    for (int rank = 0; rank < module->size && OMPI_SUCCESS == rc; ++rank) {
        peer = module->peers[rank];
        if (NULL != peer && peer->origin.active) {
            rc = await_peer(peer, acks);
        }
    }
    return rc;
}

int mca_osc_fastpath_flush_end(mca_osc_fastpath_module_t *module, mca_osc_fastpath_peer_t *peer)
{
    return await_peers(module, peer, true);
}

int mca_osc_fastpath_wait_for_data(mca_osc_fastpath_module_t *module, mca_osc_fastpath_peer_t *peer)
{
    return await_peers(module, peer, false);
}

int mca_osc_fastpath_take_error(mca_osc_fastpath_peer_t *peer)
{
    int error = peer->origin.error;

    peer->origin.error = OMPI_SUCCESS;
    return error;
}

int mca_osc_fastpath_take_active_error(mca_osc_fastpath_module_t *module, int rc)
{
    const int error = module->active_error;

    module->active_error = OMPI_SUCCESS;
    return OMPI_SUCCESS == rc ? error : rc;
}

void mca_osc_fastpath_deactivate(mca_osc_fastpath_peer_t *peer)
{
    if (peer->origin.active) {
        peer->origin.active = false;
        opal_list_remove_item(&peer->module->active, &peer->super);
    }
}

int mca_osc_fastpath_end_active(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_peer_t *peer, *next;
    int rc = OMPI_SUCCESS;

    OPAL_LIST_FOREACH_SAFE(peer, next, &module->active, mca_osc_fastpath_peer_t)
    {
        int error = mca_osc_fastpath_take_error(peer);

        peer->origin.operations = peer->origin.acked;
        mca_osc_fastpath_set_locked(&peer->origin.lock_sent, false);
        mca_osc_fastpath_deactivate(peer);
        rc = OMPI_SUCCESS == rc ? error : rc;
    }
    return rc;
}

/* MPI 3.1, 11.5.4: only within passive target epochs. */
static bool may_flush(const mca_osc_fastpath_module_t *module, const mca_osc_fastpath_peer_t *peer)
{
    return MCA_OSC_FASTPATH_EPOCH_PASSIVE == module->epoch
           || (NULL != peer ? 0 != peer->origin.lock_type : 0 < module->locks);
}

/* Whether a peer can notice something without a message from us: windows of a node share memory. */
static bool may_see_memory(const mca_osc_fastpath_peer_t *peer)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(peer->module->comm, peer->rank);

    return mca_osc_fastpath_component.shared_memory && OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
}

/* @return whether there is one way to a peer only, on which everything stays in order, and what has arrived
 * is worked on before what comes after it */
static bool in_order(const mca_osc_fastpath_peer_t *peer)
{
    const mca_bml_base_endpoint_t *endpoint = mca_osc_fastpath_endpoint(peer);
    const mca_bml_base_btl_t *link;

    if (NULL == endpoint || 1 != endpoint->btl_eager.arr_size || 1 != endpoint->btl_send.arr_size
        || 1 < endpoint->btl_rdma.arr_size || peer->module->threads) {
        return false;
    }
    link = &endpoint->btl_eager.bml_btls[0];
    return link->btl == endpoint->btl_send.bml_btls[0].btl
           && (0 == endpoint->btl_rdma.arr_size || link->btl == endpoint->btl_rdma.bml_btls[0].btl)
           && 0 == strcmp("tcp", link->btl->btl_component->btl_version.mca_component_name);
}

/*
 * @return whether a flush may do without an acknowledgement. While the origin has the exclusive lock nobody
 * else accesses the window, so an operation that has not taken effect yet can be noticed only by who gets a
 * message that the origin has sent later, the target or a third process. In a job of two processes there is
 * no third, and on one TCP connection no message overtakes another. But on one node the target may see it in
 * memory.
 */
static bool unnoticed(const mca_osc_fastpath_peer_t *peer)
{
    return MPI_LOCK_EXCLUSIVE == peer->origin.lock_type && peer->origin.lock_sent
           && 0 <= (int32_t) (peer->origin.acked - peer->origin.lock_sequence) && 0 == peer->origin.tickets
           && (NULL == peer->origin.packet || !peer->origin.packet->data_from_target)
           && 2 == fastpath_num_procs() && 0 == ompi_comm_num_dyncomm && !may_see_memory(peer)
           && in_order(peer);
}

static bool all_left(mca_osc_fastpath_module_t *module, void *context)
{
    (void) context;
    return opal_list_is_empty(&module->refused);
}

/* The peer that a flush is about. @return NULL when there is nothing to flush, or an error, which is in *rc
 */
static mca_osc_fastpath_peer_t *peer_to_flush(mca_osc_fastpath_module_t *module, int target, int *rc)
{
    mca_osc_fastpath_peer_t *peer;

    if (OPAL_UNLIKELY(0 > target || target >= module->size)) {
        *rc = MPI_ERR_RANK;
        return NULL;
    }
    peer = module->peers[target];
    if (OPAL_UNLIKELY(!may_flush(module, peer))) {
        *rc = OMPI_ERR_RMA_SYNC;
        return NULL;
    }
    *rc = OMPI_SUCCESS;
    if (NULL == peer || MCA_OSC_FASTPATH_MESSAGE != peer->access) {
        mca_osc_fastpath_progress_sometimes(module);
        return NULL;
    }
    return peer;
}

/* Flush one peer and wait for it. */
static int flush_peer(mca_osc_fastpath_peer_t *peer)
{
    int rc;

    if (has_operations(peer->origin.packet) && unnoticed(peer)) {
        mca_osc_fastpath_origin_send(peer, 0);
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_ACKS_ELIMINATED);
        return mca_osc_fastpath_wait_until(peer->module, all_left, NULL);
    }
    rc = mca_osc_fastpath_flush_begin(peer, 0);
    return OMPI_SUCCESS == rc ? mca_osc_fastpath_flush_end(peer->module, peer) : rc;
}

int mca_osc_fastpath_flush(int target, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer;
    int rc;

    /* orders what was loaded and stored in memory that others reach, with the same in their calls */
    mca_osc_fastpath_order_window();
    peer = peer_to_flush(module, target, &rc);
    if (NULL == peer) {
        return OMPI_SUCCESS == rc ? mca_osc_fastpath_make_puts(module) : rc;
    }
    mca_osc_fastpath_enter(module);
    rc = flush_peer(peer);
    if (OMPI_SUCCESS == rc) {
        rc = mca_osc_fastpath_take_error(peer);
    }
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_progress_sometimes(module);
    return rc;
}

int mca_osc_fastpath_flush_all(ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer;
    int rc = OMPI_SUCCESS, made;

    mca_osc_fastpath_order_window();
    if (OPAL_UNLIKELY(!may_flush(module, NULL))) {
        return OMPI_ERR_RMA_SYNC;
    }
    made = mca_osc_fastpath_make_puts(module);
    mca_osc_fastpath_enter(module);
    OPAL_LIST_FOREACH(peer, &module->active, mca_osc_fastpath_peer_t)
    {
        int one = mca_osc_fastpath_flush_begin(peer, 0);

        rc = OMPI_SUCCESS == rc ? one : rc;
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_osc_fastpath_flush_end(module, NULL);
    }
    OPAL_LIST_FOREACH(peer, &module->active, mca_osc_fastpath_peer_t)
    {
        int error = mca_osc_fastpath_take_error(peer);

        rc = OMPI_SUCCESS == rc ? error : rc;
    }
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_progress_sometimes(module);
    return OMPI_SUCCESS == rc ? made : rc;
}

/* Data that goes to a target is in packets when its call returns; only data from there has to come. */
static void flush_local_begin(mca_osc_fastpath_peer_t *peer)
{
    if (has_operations(peer->origin.packet)) {
        mca_osc_fastpath_origin_send(peer, 0);
    }
}

int mca_osc_fastpath_flush_local(int target, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc;
    mca_osc_fastpath_peer_t *peer = peer_to_flush(module, target, &rc);

    if (NULL == peer) {
        return rc;
    }
    mca_osc_fastpath_enter(module);
    flush_local_begin(peer);
    rc = mca_osc_fastpath_wait_for_data(module, peer);
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_progress_sometimes(module);
    return rc;
}

int mca_osc_fastpath_flush_local_all(ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer;
    int rc;

    if (OPAL_UNLIKELY(!may_flush(module, NULL))) {
        return OMPI_ERR_RMA_SYNC;
    }
    mca_osc_fastpath_enter(module);
    OPAL_LIST_FOREACH(peer, &module->active, mca_osc_fastpath_peer_t)
    {
        flush_local_begin(peer);
    }
    rc = mca_osc_fastpath_wait_for_data(module, NULL);
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_progress_sometimes(module);
    return rc;
}

int mca_osc_fastpath_sync(ompi_win_t *win)
{
    (void) win;
    opal_progress();
    mca_osc_fastpath_order_window();
    return OMPI_SUCCESS;
}
