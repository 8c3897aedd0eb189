/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Filling packets and replies, and handing them to BTLs. All of it inside module.lock.
 */
#ifndef MCA_OSC_FASTPATH_PACKET_H
#define MCA_OSC_FASTPATH_PACKET_H

#include "osc_fastpath.h"

/** @return whether a call of a BTL shall fail (osc_fastpath_debug_fault_percent) */
bool mca_osc_fastpath_inject_fault(void);

/** @return the links to a peer, or NULL when there are none */
static inline mca_bml_base_endpoint_t *mca_osc_fastpath_endpoint(const mca_osc_fastpath_peer_t *peer)
{
    return mca_bml_base_get_endpoint(ompi_comm_peer_lookup(peer->module->comm, peer->rank));
}

/**
 * Get a packet to fill.
 *
 * @param type      MCA_OSC_FASTPATH_PACKET or _REPLY
 * @param expected  bytes that are to go into it: more than fits into an ordinary packet get one as large as
 *                  the BTL allows
 * @param by        the link of the peer that it leaves by, or NULL: any
 *
 * @return a packet with an empty header, or NULL when there is no memory
 */
mca_osc_fastpath_packet_t *mca_osc_fastpath_packet_open(mca_osc_fastpath_peer_t *peer, uint8_t type,
                                                        size_t expected, mca_bml_base_btl_t *by);

/** @return bytes of room in a packet */
static inline size_t mca_osc_fastpath_packet_room(const mca_osc_fastpath_packet_t *packet)
{
    return packet->capacity - packet->length;
}

/** @return where the next bytes of a packet go */
static inline unsigned char *mca_osc_fastpath_packet_end(mca_osc_fastpath_packet_t *packet)
{
    return packet->data + packet->length;
}

/** @return the header of a packet */
static inline mca_osc_fastpath_hdr_t *mca_osc_fastpath_packet_hdr(mca_osc_fastpath_packet_t *packet)
{
    return (mca_osc_fastpath_hdr_t *) packet->data;
}

/** `length` bytes more have been filled. What is left of the last 8 is zero: nothing of this process leaks.
 */
static inline void mca_osc_fastpath_packet_filled(mca_osc_fastpath_packet_t *packet, size_t length)
{
    unsigned char *end = packet->data + packet->length + length;

    packet->length += MCA_OSC_FASTPATH_PAD(length);
    while (end < packet->data + packet->length) {
        *end++ = 0;
    }
}

/** Hand a packet or a reply to its BTL, or keep it for progress where the BTL has no room. */
void mca_osc_fastpath_packet_send(mca_osc_fastpath_packet_t *packet);

/** Try again to send what BTLs have refused. @return whether anything has gone */
bool mca_osc_fastpath_packets_retry(mca_osc_fastpath_module_t *module);

/**
 * Whether everything for some members has left, as a function that ends an epoch has to see to: its process
 * need not call MPI again soon. Members that are not reached by message have nothing to wait for.
 *
 * @param ranks  of them, count; NULL: of the first count
 */
bool mca_osc_fastpath_have_left(const mca_osc_fastpath_module_t *module, const int *ranks, int count);

/** Give up a packet that has not been sent. */
void mca_osc_fastpath_packet_drop(mca_osc_fastpath_packet_t *packet);

/**
 * Origin: get the packet for a target that is being filled, with at least `room` bytes of room; what is in
 * the way is sent. A new one has room for `expected` bytes if the BTL allows it. Must not be called when
 * mca_osc_fastpath_may_send() says no.
 *
 * @return the packet or NULL when there is no memory
 */
mca_osc_fastpath_packet_t *mca_osc_fastpath_origin_packet(mca_osc_fastpath_peer_t *peer, size_t room,
                                                          size_t expected);

/** Origin: @return whether another packet may be sent to a target without an acknowledgement first */
static inline bool mca_osc_fastpath_may_send(const mca_osc_fastpath_peer_t *peer)
{
    return peer->origin.sent - peer->origin.acked < mca_osc_fastpath_component.max_packets;
}

/** Origin: send the packet that is being filled with these flags in addition; there is one. */
void mca_osc_fastpath_origin_send(mca_osc_fastpath_peer_t *peer, uint8_t flags);

/**
 * Origin: send the packets that ask for data of `peer` (NULL: of all active peers). For who waits for data:
 * another thread may have asked for some, and may send its packet only when the caller is ready.
 */
void mca_osc_fastpath_send_gets(mca_osc_fastpath_module_t *module, mca_osc_fastpath_peer_t *peer);

#endif /* MCA_OSC_FASTPATH_PACKET_H */
