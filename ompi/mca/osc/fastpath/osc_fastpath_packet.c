/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Filling packets and replies, and handing them to BTLs.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_fault.h"

#include "osc_fastpath_abort.h"
#include "osc_fastpath_packet.h"

/** Packets that may be filled in BTL buffers at a time, where these leave one for other packets. */
#define FILLED_MAX 3

OBJ_CLASS_INSTANCE(mca_osc_fastpath_packet_t, opal_free_list_item_t, NULL, NULL);

bool mca_osc_fastpath_inject_fault(void)
{
    return OPAL_UNLIKELY(0 != mca_osc_fastpath_component.fault_percent)
           && mca_common_fastpath_fault(mca_osc_fastpath_component.fault_percent);
}

/* The packet is the BTL's from the send on: there is nothing left to do when it has gone. */
static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl;
    (void) endpoint;
    (void) descriptor;
    (void) status;
}

/* A descriptor for `size` bytes. @return whether the BTL had one */
static bool get_descriptor(mca_osc_fastpath_packet_t *packet, size_t size)
{
    mca_btl_base_descriptor_t *descriptor = NULL;

    if (!mca_osc_fastpath_inject_fault()) {
        mca_bml_base_alloc(packet->bml_btl, &descriptor, MCA_BTL_NO_ORDER, size,
                           MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    }
    if (OPAL_UNLIKELY(NULL == descriptor)) {
        return false;
    }
    descriptor->des_cbfunc = sent;
    descriptor->des_cbdata = NULL;
    packet->descriptor = descriptor;
    return true;
}

/* The program may send a message before it completes what is being filled. */
static int filled_max(void)
{
    const mca_btl_fastsm_ext_t *ext = mca_osc_fastpath_component.idle.ext;

    return NULL == ext || 0 == ext->buffers || FILLED_MAX < ext->buffers ? FILLED_MAX
                                                                         : (int) ext->buffers - 1;
}

/* @return whether the packet may be filled in a BTL's buffer */
static bool begin_filling(mca_osc_fastpath_packet_t *packet)
{
    _Atomic int *filling = &mca_osc_fastpath_component.filling;

    packet->filling = filled_max() > atomic_fetch_add_explicit(filling, 1, memory_order_relaxed);
    if (!packet->filling) {
        atomic_fetch_sub_explicit(filling, 1, memory_order_relaxed);
    }
    return packet->filling;
}

/* The packet leaves, or never will. */
static void end_filling(mca_osc_fastpath_packet_t *packet)
{
    if (packet->filling) {
        packet->filling = false;
        atomic_fetch_sub_explicit(&mca_osc_fastpath_component.filling, 1, memory_order_relaxed);
    }
}

/* Where a packet is filled: in the BTL's own memory, so that it is not copied again, or else on the heap. */
static bool get_memory(mca_osc_fastpath_packet_t *packet, size_t size)
{
    packet->capacity = size;
    if (begin_filling(packet)) {
        if (OPAL_LIKELY(get_descriptor(packet, size))) {
            packet->data = packet->descriptor->des_segments->seg_addr.pval;
            return true;
        }
        end_filling(packet);
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_SENDS_REFUSED);
    }
    packet->descriptor = NULL;
    packet->data = malloc(size);
    return NULL != packet->data;
}

/* Bytes of room for a packet that is to have so many, header included. */
static size_t packet_size(const mca_btl_base_module_t *btl, size_t expected)
{
    size_t size = mca_osc_fastpath_component.packet_size + sizeof(mca_osc_fastpath_hdr_t);

    if (size > btl->btl_eager_limit) {
        size = btl->btl_eager_limit;
    }
    if (size < expected && size < btl->btl_max_send_size) {
        size = expected < btl->btl_max_send_size ? MCA_OSC_FASTPATH_PAD(expected) : btl->btl_max_send_size;
    }
    return size;
}

/* The link for the next packet, or NULL. */
static mca_bml_base_btl_t *next_packet_link(const mca_osc_fastpath_peer_t *peer)
{
    mca_bml_base_endpoint_t *endpoint = mca_osc_fastpath_endpoint(peer);

    return NULL == endpoint || 0 == mca_bml_base_btl_array_get_size(&endpoint->btl_eager)
               ? NULL
               : mca_bml_base_btl_array_get_next(&endpoint->btl_eager);
}

/* There is no memory for a packet. An origin says so to its caller, but who waits for a reply would do so for
 * ever. */
static mca_osc_fastpath_packet_t *without_memory(uint8_t type)
{
    if (MCA_OSC_FASTPATH_REPLY == type) {
        mca_osc_fastpath_no_memory("a reply");
    }
    return NULL;
}

mca_osc_fastpath_packet_t *mca_osc_fastpath_packet_open(mca_osc_fastpath_peer_t *peer, uint8_t type,
                                                        size_t expected, mca_bml_base_btl_t *by)
{
    mca_bml_base_btl_t *bml_btl = NULL == by ? next_packet_link(peer) : by;
    mca_osc_fastpath_packet_t *packet;
    size_t size;

    if (NULL == bml_btl) {
        return NULL;
    }
    packet = (mca_osc_fastpath_packet_t *) opal_free_list_get(&mca_osc_fastpath_component.packets);
    if (NULL == packet) {
        return without_memory(type);
    }
    packet->peer = peer;
    packet->bml_btl = bml_btl;
    size = packet_size(bml_btl->btl, expected + sizeof(mca_osc_fastpath_hdr_t));
    if (!get_memory(packet, size & ~(size_t) (MCA_OSC_FASTPATH_ALIGN - 1))) {
        opal_free_list_return(&mca_osc_fastpath_component.packets, &packet->super);
        return without_memory(type);
    }
    packet->length = sizeof(mca_osc_fastpath_hdr_t);
    packet->data_from_target = false;
    packet->place_bytes = 0;
    *mca_osc_fastpath_packet_hdr(packet) = (mca_osc_fastpath_hdr_t){
        .type = type, .window = peer->module->id, .rank = (uint32_t) peer->module->rank};
    return packet;
}

/* One try. @return whether the BTL has taken it */
static bool try_send(mca_osc_fastpath_packet_t *packet)
{
    if (OPAL_UNLIKELY(NULL == packet->descriptor)) {
        unsigned char *data = packet->data;

        if (!get_descriptor(packet, packet->length)) {
            return false;
        }
        packet->data = packet->descriptor->des_segments->seg_addr.pval;
        memcpy(packet->data, data, packet->length);
        free(data);
    }
    if (mca_osc_fastpath_inject_fault()) {
        return false;
    }
    packet->descriptor->des_segments->seg_len = packet->length;
    if (OPAL_UNLIKELY(0 > mca_bml_base_send(packet->bml_btl, packet->descriptor, MCA_OSC_FASTPATH_TAG))) {
        return false;
    }
    opal_free_list_return(&mca_osc_fastpath_component.packets, &packet->super);
    return true;
}

void mca_osc_fastpath_packet_send(mca_osc_fastpath_packet_t *packet)
{
    mca_osc_fastpath_peer_t *peer = packet->peer;
    mca_osc_fastpath_hdr_t *hdr = mca_osc_fastpath_packet_hdr(packet);

    hdr->length = (uint32_t) (packet->length - sizeof(*hdr));
    hdr->acked = peer->target.done;
    end_filling(packet);
    if (OPAL_UNLIKELY(!try_send(packet))) {
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_SENDS_REFUSED);
        opal_list_append(&peer->module->refused, &packet->super.super);
        mca_osc_fastpath_pend(1);
    }
}

/* What has been put into order by its sequence may leave in any. */
bool mca_osc_fastpath_packets_retry(mca_osc_fastpath_module_t *module)
{
    size_t left = opal_list_get_size(&module->refused);
    bool any = false;

    while (0 < left--) {
        mca_osc_fastpath_packet_t *packet =
            (mca_osc_fastpath_packet_t *) opal_list_remove_first(&module->refused);

        if (try_send(packet)) {
            mca_osc_fastpath_pend(-1);
            any = true;
        } else {
            opal_list_append(&module->refused, &packet->super.super);
        }
    }
    return any;
}

/* Where btl/fastsm finds a FIFO full it keeps what it has been given. */
static bool is_kept(const mca_bml_base_btl_t *link)
{
    const mca_btl_fastsm_ext_t *ext = mca_btl_fastsm_ext(link->btl);
    const fastsm_fifo_sender_t *sender = NULL == ext ? NULL : ext->sender(link->btl_endpoint);

    return NULL != sender && 0 != sender->n_pending;
}

/* Whether everything for a peer has left; NULL: for a member that nothing was sent to. */
static bool has_left(const mca_osc_fastpath_peer_t *peer)
{
    mca_bml_base_endpoint_t *endpoint;

    if (NULL == peer || MCA_OSC_FASTPATH_MESSAGE != peer->access) {
        return true;
    }
    if (!opal_list_is_empty(&peer->module->refused)) {
        return false;
    }
    endpoint = mca_osc_fastpath_endpoint(peer);
    for (size_t i = 0; NULL != endpoint && i < mca_bml_base_btl_array_get_size(&endpoint->btl_eager); ++i) {
        if (is_kept(mca_bml_base_btl_array_get_index(&endpoint->btl_eager, i))) {
            return false;
        }
    }
    return true;
}

bool mca_osc_fastpath_have_left(const mca_osc_fastpath_module_t *module, const int *ranks, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!has_left(module->peers[NULL == ranks ? i : ranks[i]])) {
            return false;
        }
    }
    return true;
}

void mca_osc_fastpath_packet_drop(mca_osc_fastpath_packet_t *packet)
{
    end_filling(packet);
    if (NULL != packet->descriptor) {
        mca_bml_base_free(packet->bml_btl, packet->descriptor);
    } else {
        free(packet->data);
    }
    opal_free_list_return(&mca_osc_fastpath_component.packets, &packet->super);
}

mca_osc_fastpath_packet_t *mca_osc_fastpath_origin_packet(mca_osc_fastpath_peer_t *peer, size_t room,
                                                          size_t expected)
{
    mca_osc_fastpath_packet_t *packet = peer->origin.packet;

    if (NULL != packet && room > mca_osc_fastpath_packet_room(packet)) {
        mca_osc_fastpath_origin_send(peer, 0);
        packet = NULL;
    }
    if (NULL == packet) {
        packet = peer->origin.packet =
            mca_osc_fastpath_packet_open(peer, MCA_OSC_FASTPATH_PACKET, expected, NULL);
        mca_osc_fastpath_activate(peer);
    }
    return packet;
}

/* The epoch the packet belongs to, and the lock if this is the first to need it. */
static uint8_t describe_epoch(mca_osc_fastpath_peer_t *peer, mca_osc_fastpath_hdr_t *hdr)
{
    mca_osc_fastpath_module_t *module = peer->module;
    int type = peer->origin.lock_type;
    bool nocheck = peer->origin.nocheck;
    uint8_t pass;

    switch (module->epoch) {
    case MCA_OSC_FASTPATH_EPOCH_FENCE:
        hdr->epoch = MCA_OSC_FASTPATH_EPOCH_FENCE;
        hdr->number = module->fences;
        ++module->fence_sent[peer->rank];
        return 0;
    case MCA_OSC_FASTPATH_EPOCH_START:
        hdr->epoch = MCA_OSC_FASTPATH_EPOCH_START;
        hdr->number = peer->origin.starts;
        return 0;
    case MCA_OSC_FASTPATH_EPOCH_PASSIVE:
        type = MPI_LOCK_SHARED;
        nocheck = module->lock_all_nocheck;
        break;
    default:
        break;
    }
    hdr->epoch = MCA_OSC_FASTPATH_EPOCH_PASSIVE;
    hdr->number = module->fences;
    if (nocheck || peer->origin.lock_sent || 0 == type) {
        return 0;
    }
    pass = 0 < mca_osc_fastpath_component.locks_held ? MCA_OSC_FASTPATH_LOCK_PASS : 0;
    mca_osc_fastpath_set_locked(&peer->origin.lock_sent, true);
    peer->origin.lock_sequence = hdr->sequence;
    return MPI_LOCK_EXCLUSIVE == type ? MCA_OSC_FASTPATH_LOCK_EXCLUSIVE : MCA_OSC_FASTPATH_LOCK_SHARED | pass;
}

void mca_osc_fastpath_origin_send(mca_osc_fastpath_peer_t *peer, uint8_t flags)
{
    mca_osc_fastpath_packet_t *packet = peer->origin.packet;
    mca_osc_fastpath_hdr_t *hdr = mca_osc_fastpath_packet_hdr(packet);

    peer->origin.packet = NULL;
    hdr->sequence = ++peer->origin.sent;
    flags |= describe_epoch(peer, hdr);
    /* so that acknowledgements come in before the limit is reached */
    if (0 == hdr->sequence % (mca_osc_fastpath_component.max_packets / 2)) {
        flags |= MCA_OSC_FASTPATH_ACK;
    }
    hdr->flags = flags;
    if (sizeof(*hdr) < packet->length) {
        peer->origin.operations = hdr->sequence;
    }
    if (packet->data_from_target || (MCA_OSC_FASTPATH_ACK & flags)) {
        peer->origin.ack_asked = hdr->sequence;
    }
    mca_osc_fastpath_count(MCA_OSC_FASTPATH_PACKETS_SENT);
    mca_osc_fastpath_packet_send(packet);
}

static void send_get(mca_osc_fastpath_peer_t *peer)
{
    if (NULL != peer->origin.packet && peer->origin.packet->data_from_target) {
        mca_osc_fastpath_origin_send(peer, 0);
    }
}

void mca_osc_fastpath_send_gets(mca_osc_fastpath_module_t *module, mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_peer_t *active;

    if (NULL != peer) {
        send_get(peer);
        return;
    }
    OPAL_LIST_FOREACH(active, &module->active, mca_osc_fastpath_peer_t)
    {
        send_get(active);
    }
}
