/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What arrives: finding the window, the order of packets, and what has to wait.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "osc_fastpath_abort.h"
#include "osc_fastpath_mail.h"
#include "osc_fastpath_packet.h"
#include "osc_fastpath_peer.h"
#include "osc_fastpath_recv.h"
#include "osc_fastpath_request.h"
#include "osc_fastpath_target.h"
#include "osc_fastpath_ticket.h"
#include "osc_fastpath_wake.h"

OBJ_CLASS_INSTANCE(mca_osc_fastpath_parked_t, opal_list_item_t, NULL, NULL);

/* Copy a message that cannot be processed yet. Without memory for it the job ends: the message would be lost.
 */
static mca_osc_fastpath_parked_t *keep_arrived(const void *data, size_t length)
{
    mca_osc_fastpath_parked_t *parked = malloc(sizeof(*parked) + length);

    if (NULL == parked) {
        mca_osc_fastpath_no_memory("a packet that has to wait");
    }
    OBJ_CONSTRUCT(parked, mca_osc_fastpath_parked_t);
    parked->position = sizeof(mca_osc_fastpath_hdr_t);
    parked->locked = false;
    parked->length = length;
    memcpy(parked->data, data, length);
    return parked;
}

static void unkeep(mca_osc_fastpath_parked_t *parked)
{
    OBJ_DESTRUCT(parked);
    free(parked);
}

static uint32_t sequence_of(const mca_osc_fastpath_parked_t *parked)
{
    return ((const mca_osc_fastpath_hdr_t *) parked->data)->sequence;
}

/* Keep a packet until its turn comes. */
static mca_osc_fastpath_parked_t *park(mca_osc_fastpath_peer_t *peer, const void *data, size_t length)
{
    mca_osc_fastpath_parked_t *parked = keep_arrived(data, length);
    opal_list_item_t *item = opal_list_get_last(&peer->target.parked);

    mca_osc_fastpath_count(MCA_OSC_FASTPATH_PACKETS_PARKED);
    /* most come last */
    while (item != opal_list_get_end(&peer->target.parked)
           && 0 > (int32_t) (sequence_of(parked) - sequence_of((mca_osc_fastpath_parked_t *) item))) {
        item = opal_list_get_prev(item);
    }
    opal_list_insert_pos(&peer->target.parked, opal_list_get_next(item), &parked->super);
    return parked;
}

/* Members of the node may have the lock for which somebody waits here: who gives it back wakes us. */
static void block(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_module_t *module = peer->module;

    if (!peer->target.blocked) {
        peer->target.blocked = true;
        if (1 < module->node.count && opal_list_is_empty(&module->blocked)) {
            mca_osc_fastpath_lock_register_sleeper(&module->member->lock, module->node.index);
        }
        opal_list_append(&module->blocked, &peer->target.blocked_item);
        mca_osc_fastpath_pend(1);
    }
}

static void unblock(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_module_t *module = peer->module;

    if (peer->target.blocked) {
        peer->target.blocked = false;
        opal_list_remove_item(&module->blocked, &peer->target.blocked_item);
        if (1 < module->node.count && opal_list_is_empty(&module->blocked)) {
            mca_osc_fastpath_lock_unregister_sleeper(&module->member->lock, module->node.index);
        }
        mca_osc_fastpath_pend(-1);
    }
}

/* Work on the packets of a peer whose turn it is, until one has to wait. @return whether there was any */
static bool run_parked(mca_osc_fastpath_peer_t *peer)
{
    bool any = false;

    while (!opal_list_is_empty(&peer->target.parked)) {
        mca_osc_fastpath_parked_t *parked =
            (mca_osc_fastpath_parked_t *) opal_list_get_first(&peer->target.parked);

        /* packets behind a duplicate must not wait for ever */
        if (0 >= (int32_t) (sequence_of(parked) - peer->target.done)) {
            mca_osc_fastpath_complain((const mca_osc_fastpath_hdr_t *) parked->data,
                                      "a packet has come twice");
            opal_list_remove_item(&peer->target.parked, &parked->super);
            unkeep(parked);
            continue;
        }
        if (sequence_of(parked) != peer->target.done + 1) {
            break;
        }
        if (OMPI_SUCCESS
            != mca_osc_fastpath_target_run(peer, parked->data, &parked->position, &parked->locked)) {
            block(peer);
            return any;
        }
        opal_list_remove_item(&peer->target.parked, &parked->super);
        unkeep(parked);
        any = true;
    }
    unblock(peer);
    return any;
}

/* The own rank waits for its turn like everybody else. @return whether it has the lock now */
static bool run_own_lock(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_lockword_t *word = &peer->member->lock;

    bool taken;

    if (MPI_LOCK_EXCLUSIVE == peer->origin.lock_type) {
        taken = mca_osc_fastpath_lock_exclusive(word, &peer->origin.waits_for_lock);
    } else {
        taken = mca_osc_fastpath_share_own(peer, 0 < mca_osc_fastpath_component.locks_held);
    }
    if (taken) {
        mca_osc_fastpath_set_locked(&peer->origin.lock_sent, true);
        peer->target.wants_lock = false;
        unblock(peer);
    } else {
        block(peer);
    }
    return taken;
}

bool mca_osc_fastpath_own_lock(mca_osc_fastpath_peer_t *peer)
{
    peer->target.wants_lock = true;
    return run_own_lock(peer);
}

void mca_osc_fastpath_own_lock_give_up(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_lock_give_up(&peer->member->lock, &peer->origin.waits_for_lock);
    peer->target.wants_lock = false;
    peer->target.refused_since = 0;
    unblock(peer);
}

bool mca_osc_fastpath_unblock(mca_osc_fastpath_module_t *module)
{
    opal_list_item_t *item, *next;
    bool any = false;

    do {
        module->rerun = false;
        for (item = opal_list_get_first(&module->blocked); item != opal_list_get_end(&module->blocked);
             item = next) {
            mca_osc_fastpath_peer_t *peer =
                (mca_osc_fastpath_peer_t *) ((char *) item
                                             - offsetof(mca_osc_fastpath_peer_t, target.blocked_item));

            next = opal_list_get_next(item);
            any = (peer->target.wants_lock ? run_own_lock(peer) : run_parked(peer)) || any;
        }
    } while (module->rerun);
    return any;
}

static void acknowledged(mca_osc_fastpath_peer_t *peer, uint32_t acked)
{
    if (0 < (int32_t) (acked - peer->origin.acked) && 0 <= (int32_t) (peer->origin.sent - acked)) {
        peer->origin.acked = acked;
        /* numbers are compared by their difference, so what is long done must not fall behind for ever */
        if (0 < (int32_t) (acked - peer->origin.operations)) {
            peer->origin.operations = acked;
        }
        if (0 < (int32_t) (acked - peer->origin.lock_sequence)) {
            peer->origin.lock_sequence = acked;
        }
    }
}

static void packet_arrived(mca_osc_fastpath_peer_t *peer, const void *data, size_t length)
{
    const uint32_t sequence = ((const mca_osc_fastpath_hdr_t *) data)->sequence;
    size_t position = sizeof(mca_osc_fastpath_hdr_t);
    bool locked = false;

    if (OPAL_UNLIKELY(0 >= (int32_t) (sequence - peer->target.done))) {
        mca_osc_fastpath_complain(data, "a packet has come twice");
        return;
    }
    if (sequence != peer->target.done + 1 || peer->target.blocked) {
        (void) park(peer, data, length);
        return;
    }
    if (OMPI_SUCCESS != mca_osc_fastpath_target_run(peer, data, &position, &locked)) {
        mca_osc_fastpath_parked_t *parked = park(peer, data, length);

        parked->position = position;
        parked->locked = locked;
        block(peer);
        return;
    }
    if (OPAL_UNLIKELY(!opal_list_is_empty(&peer->target.parked))) {
        (void) run_parked(peer);
    }
    if (OPAL_UNLIKELY(peer->module->rerun)) {
        (void) mca_osc_fastpath_unblock(peer->module);
    }
}

/* What the user gets to see has to be an error of MPI or of Open MPI's, which are negative. */
static int error_of(const mca_osc_fastpath_hdr_t *hdr)
{
    return MPI_ERR_LASTCODE < hdr->error ? OMPI_ERROR : hdr->error;
}

/* Requests that end are put into `ended`, for when module.lock has been given back. */
static void reply_arrived(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_hdr_t *hdr,
                          const unsigned char *data, opal_list_t *ended)
{
    size_t position = sizeof(*hdr), end = sizeof(*hdr) + hdr->length;

    while (position < end) {
        mca_osc_fastpath_request_t *request;
        mca_osc_fastpath_entry_t entry;
        size_t length;

        if (sizeof(entry) > end - position) {
            mca_osc_fastpath_complain(hdr, "a reply is cut off");
            return;
        }
        memcpy(&entry, data + position, sizeof(entry));
        position += sizeof(entry);
        length = MCA_OSC_FASTPATH_ENTRY_DATA == entry.what ? entry.length : 0;
        if (length > end - position
            || OMPI_SUCCESS
                   != mca_osc_fastpath_ticket_data(peer, &entry, data + position, error_of(hdr), &request)) {
            mca_osc_fastpath_complain(hdr, "a reply that nobody waits for");
            return;
        }
        position += MCA_OSC_FASTPATH_PAD(length);
        if (NULL != request) {
            opal_list_append(ended, &request->ended);
        }
    }
    if (OPAL_UNLIKELY(OMPI_SUCCESS != hdr->error)) {
        *(MCA_OSC_FASTPATH_EPOCH_PASSIVE == hdr->epoch ? &peer->origin.error : &peer->module->active_error) =
            error_of(hdr);
    }
}

/* Inside module.lock. */
static void work(mca_osc_fastpath_module_t *module, const void *data, size_t length, opal_list_t *ended)
{
    mca_osc_fastpath_hdr_t hdr;
    mca_osc_fastpath_peer_t *peer;

    memcpy(&hdr, data, sizeof(hdr));
    peer = mca_osc_fastpath_peer(module, (int) hdr.rank);
    if (NULL == peer) {
        mca_osc_fastpath_no_memory("another member of a window");
    }
    acknowledged(peer, hdr.acked);
    if (MCA_OSC_FASTPATH_PACKET == hdr.type) {
        packet_arrived(peer, data, length);
    } else {
        reply_arrived(peer, &hdr, data, ended);
    }
}

static void complete_all(opal_list_t *ended)
{
    opal_list_item_t *item;

    while (NULL != (item = opal_list_remove_first(ended))) {
        mca_osc_fastpath_request_t *request =
            (mca_osc_fastpath_request_t *) ((char *) item - offsetof(mca_osc_fastpath_request_t, ended));

        mca_osc_fastpath_request_complete(request, request->super.req_status.MPI_ERROR);
    }
}

/* What cannot be worked on now, because a thread is inside, waits for progress. */
static void to_inbox(mca_osc_fastpath_module_t *module, const void *data, size_t length)
{
    mca_osc_fastpath_parked_t *parked = keep_arrived(data, length);

    mca_common_fastpath_lock(&module->inbox_lock);
    opal_list_append(&module->inbox, &parked->super);
    mca_common_fastpath_unlock(&module->inbox_lock);
    mca_osc_fastpath_pend(1);
}

static mca_osc_fastpath_parked_t *from_inbox(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_parked_t *parked;

    mca_common_fastpath_lock(&module->inbox_lock);
    parked = (mca_osc_fastpath_parked_t *) opal_list_remove_first(&module->inbox);
    mca_common_fastpath_unlock(&module->inbox_lock);
    return parked;
}

/* The window a message is for; it stays until mca_osc_fastpath_release_window(). NULL: it has been freed. */
static mca_osc_fastpath_module_t *find_window(const mca_osc_fastpath_hdr_t *hdr)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    void *module = NULL;

    mca_common_fastpath_lock(&component->lock);
    if (OPAL_SUCCESS == opal_hash_table_get_value_uint32(&component->windows, hdr->window, &module)) {
        ++((mca_osc_fastpath_module_t *) module)->users;
    } else if (hdr->window >= component->next_id) {
        mca_osc_fastpath_complain(hdr, "no such window");
    }
    mca_common_fastpath_unlock(&component->lock);
    return module;
}

void mca_osc_fastpath_release_window(mca_osc_fastpath_module_t *module)
{
    mca_common_fastpath_lock(&mca_osc_fastpath_component.lock);
    --module->users;
    mca_common_fastpath_unlock(&mca_osc_fastpath_component.lock);
}

static void deliver_to_window(const void *data, size_t length)
{
    mca_osc_fastpath_module_t *module;
    mca_osc_fastpath_hdr_t hdr;
    opal_list_t ended;

    if (sizeof(hdr) > length) {
        return;
    }
    memcpy(&hdr, data, sizeof(hdr));
    module = find_window(&hdr);
    if (NULL == module) {
        return;
    }
    if (hdr.length > length - sizeof(hdr) || hdr.rank >= (uint32_t) module->size
        || hdr.rank == (uint32_t) module->rank
        || (MCA_OSC_FASTPATH_PACKET != hdr.type && MCA_OSC_FASTPATH_REPLY != hdr.type)) {
        mca_osc_fastpath_complain(&hdr, "a header that makes no sense");
    } else if (OPAL_LIKELY(mca_osc_fastpath_try_enter(module))) {
        OBJ_CONSTRUCT(&ended, opal_list_t);
        work(module, data, sizeof(hdr) + hdr.length, &ended);
        mca_osc_fastpath_leave(module);
        complete_all(&ended);
        OBJ_DESTRUCT(&ended);
    } else {
        to_inbox(module, data, sizeof(hdr) + hdr.length);
    }
    mca_osc_fastpath_release_window(module);
}

static void arrived(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments, size_t num_segments)
{
    size_t length = 0, position = 0;
    char *all;

    (void) btl;
    if (OPAL_LIKELY(1 == num_segments)) {
        deliver_to_window(segments->seg_addr.pval, segments->seg_len);
        return;
    }
    for (size_t i = 0; i < num_segments; ++i) {
        length += segments[i].seg_len;
    }
    all = malloc(length);
    if (NULL == all) {
        mca_osc_fastpath_no_memory("a packet in several pieces");
    }
    for (size_t i = 0; i < num_segments; ++i) {
        memcpy(all + position, segments[i].seg_addr.pval, segments[i].seg_len);
        position += segments[i].seg_len;
    }
    deliver_to_window(all, length);
    free(all);
}
FASTPATH_BTL_RECV_CALLBACK(arrived_callback, arrived)

int mca_osc_fastpath_recv_register(void)
{
    return mca_bml.bml_register(MCA_OSC_FASTPATH_TAG, arrived_callback, NULL);
}

/* Try again what had to wait in one window. */
static int progress_window(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_parked_t *parked;
    opal_list_t ended;
    int events = 0;

    if (!mca_osc_fastpath_try_enter(module)) {
        mca_osc_fastpath_missed();
        return 0;
    }
    OBJ_CONSTRUCT(&ended, opal_list_t);
    while (NULL != (parked = from_inbox(module))) {
        work(module, parked->data, parked->length, &ended);
        unkeep(parked);
        mca_osc_fastpath_pend(-1);
        ++events;
    }
    if (!opal_list_is_empty(&module->blocked) && mca_osc_fastpath_unblock(module)) {
        ++events;
    }
    if (!opal_list_is_empty(&module->refused) && mca_osc_fastpath_packets_retry(module)) {
        ++events;
    }
    mca_osc_fastpath_leave(module);
    complete_all(&ended);
    OBJ_DESTRUCT(&ended);
    return events;
}

int mca_osc_fastpath_progress(void)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    mca_osc_fastpath_module_t *module;
    opal_list_item_t *item;
    int events = mca_osc_fastpath_look(NULL);

    if (OPAL_LIKELY(0 == component->pending)) {
        return events;
    }
    mca_common_fastpath_lock(&component->lock);
    for (item = opal_list_get_first(&component->modules); item != opal_list_get_end(&component->modules);
         item = opal_list_get_next(item)) {
        module = (mca_osc_fastpath_module_t *) ((char *) item - offsetof(mca_osc_fastpath_module_t, item));
        ++module->users; /* keeps it, and its place in the list */
        mca_common_fastpath_unlock(&component->lock);
        events += progress_window(module);
        mca_common_fastpath_lock(&component->lock);
        --module->users;
    }
    mca_common_fastpath_unlock(&component->lock);
    if (0 < events) {
        mca_osc_fastpath_wake_threads();
    }
    return events;
}
