/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "exchange.h"

#include <limits.h>
#include <stdlib.h>

enum { DATA_TAG = 1, HANDSHAKE_TAG = 2 };

static inline const commtest_side_t *side_of(const commtest_link_t *link)
{
    return &link->protocol->side[link->protocol->ordered && !link->first];
}

/* The request stays MPI_REQUEST_NULL where the send is complete. */
static inline void begin_send(const commtest_link_t *link, const void *out, int bytes, MPI_Request *request)
{
    switch (side_of(link)->send) {
    case COMMTEST_BY_SEND:
        MPI_Send(out, bytes, MPI_BYTE, link->to, DATA_TAG, link->comm);
        break;
    case COMMTEST_BY_BSEND:
        MPI_Bsend(out, bytes, MPI_BYTE, link->to, DATA_TAG, link->comm);
        break;
    case COMMTEST_BY_ISEND:
        MPI_Isend(out, bytes, MPI_BYTE, link->to, DATA_TAG, link->comm, request);
        break;
    case COMMTEST_BY_RSEND:
        MPI_Rsend(out, bytes, MPI_BYTE, link->to, DATA_TAG, link->comm);
        break;
    case COMMTEST_BY_IRSEND:
        MPI_Irsend(out, bytes, MPI_BYTE, link->to, DATA_TAG, link->comm, request);
        break;
    case COMMTEST_BY_SSEND:
        MPI_Ssend(out, bytes, MPI_BYTE, link->to, DATA_TAG, link->comm);
        break;
    case COMMTEST_BY_ISSEND:
        MPI_Issend(out, bytes, MPI_BYTE, link->to, DATA_TAG, link->comm, request);
        break;
    case COMMTEST_BY_SENDRECV: /* is no half of an exchange */
        break;
    }
}

static inline void post_receive(const commtest_link_t *link, void *in, int bytes, MPI_Request *request)
{
    MPI_Irecv(in, bytes, MPI_BYTE, link->from, DATA_TAG, link->comm, request);
}

/* Completes what was posted, or receives. */
static inline void finish_receive(const commtest_link_t *link, void *in, int bytes, MPI_Request *request)
{
    if (side_of(link)->irecv) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, bytes, MPI_BYTE, link->from, DATA_TAG, link->comm, MPI_STATUS_IGNORE);
    }
}

/* "My receive is posted", to who sends to me, and the same from whom I send to.  In one call, because in a
 * cycle all may be here at once. */
static inline void tell_ready(const commtest_link_t *link)
{
    MPI_Sendrecv(NULL, 0, MPI_BYTE, link->from, HANDSHAKE_TAG, NULL, 0, MPI_BYTE, link->to, HANDSHAKE_TAG,
                 link->comm, MPI_STATUS_IGNORE);
}

/* "I am about to receive." */
static inline void tell_step(const commtest_link_t *link)
{
    if (link->protocol->stepwise) {
        MPI_Send(NULL, 0, MPI_BYTE, link->from, HANDSHAKE_TAG, link->comm);
    }
}

static inline void await_step(const commtest_link_t *link)
{
    if (link->protocol->stepwise) {
        MPI_Recv(NULL, 0, MPI_BYTE, link->to, HANDSHAKE_TAG, link->comm, MPI_STATUS_IGNORE);
    }
}

/* Both directions of one packet, in the order that the protocol has for this side; the send may be under way
 * still. */
static inline void both_ways(const commtest_link_t *link, const void *out, int out_bytes, void *in,
                             int in_bytes, MPI_Request *sent, MPI_Request *received)
{
    if (!link->protocol->ordered || link->first) {
        await_step(link);
        begin_send(link, out, out_bytes, sent);
        tell_step(link);
        finish_receive(link, in, in_bytes, received);
    } else {
        tell_step(link);
        finish_receive(link, in, in_bytes, received);
        await_step(link);
        begin_send(link, out, out_bytes, sent);
    }
}

void commtest_exchange(const commtest_link_t *link, const void *out, int out_bytes, void *in, int in_bytes)
{
    MPI_Request sent = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL;

    if (COMMTEST_BY_SENDRECV == side_of(link)->send) {
        MPI_Sendrecv(out, out_bytes, MPI_BYTE, link->to, DATA_TAG, in, in_bytes, MPI_BYTE, link->from,
                     DATA_TAG, link->comm, MPI_STATUS_IGNORE);
        return;
    }
    if (side_of(link)->irecv) {
        post_receive(link, in, in_bytes, &received);
    }
    if (link->protocol->ready) {
        tell_ready(link);
    }
    both_ways(link, out, out_bytes, in, in_bytes, &sent, &received);
    if (MPI_REQUEST_NULL != sent) {
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
}

/* Where a packet lands.  Receives that are posted at once need memory of their own, also if the volume is one
 * packet. */
static inline char *landing(const commtest_volume_t *volume, long number)
{
    int places = volume->packets < 2 ? 2 : volume->packets;

    return volume->in + (size_t) (number % places) * (size_t) volume->packet;
}

static inline const char *source(const commtest_volume_t *volume, long number)
{
    return volume->out + (size_t) (number % volume->packets) * (size_t) volume->packet;
}

/* A packet is received into memory that is posted before the packet in front of it is exchanged. */
static void prepost(commtest_volume_t *volume, long number)
{
    if (side_of(&volume->link)->irecv) {
        post_receive(&volume->link, landing(volume, number), volume->packet, &volume->receive[number & 1]);
    }
    if (volume->link.protocol->ready) {
        tell_ready(&volume->link);
    }
}

void commtest_volume_prepare(commtest_volume_t *volume)
{
    volume->receive[0] = volume->receive[1] = MPI_REQUEST_NULL;
    if (volume->overlapped) {
        prepost(volume, 0);
    }
}

static void run_overlapped(commtest_volume_t *volume)
{
    MPI_Request sent[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    for (long i = 0; i < volume->count; ++i) {
        if (i + 1 < volume->count) {
            prepost(volume, i + 1);
        }
        both_ways(&volume->link, source(volume, i), volume->packet, landing(volume, i), volume->packet,
                  &sent[i & 1], &volume->receive[i & 1]);
        if (MPI_REQUEST_NULL != sent[~i & 1]) {
            MPI_Wait(&sent[~i & 1], MPI_STATUS_IGNORE);
        }
    }
    if (MPI_REQUEST_NULL != sent[(volume->count - 1) & 1]) {
        MPI_Wait(&sent[(volume->count - 1) & 1], MPI_STATUS_IGNORE);
    }
}

void commtest_volume_run(commtest_volume_t *volume)
{
    if (volume->overlapped) {
        run_overlapped(volume);
        return;
    }
    for (long i = 0; i < volume->count; ++i) {
        commtest_exchange(&volume->link, source(volume, i), volume->packet, landing(volume, i),
                          volume->packet);
    }
}

bool commtest_buffer_attach(const commtest_protocol_t *protocol, double packets, double bytes)
{
    double size = bytes + packets * MPI_BSEND_OVERHEAD;
    void *buffer;

    if (!commtest_protocol_buffered(protocol)) {
        return true;
    }
    buffer = size > INT_MAX ? NULL : malloc((size_t) size);
    if (NULL == buffer) {
        return false;
    }
    MPI_Buffer_attach(buffer, (int) size);
    return true;
}

void commtest_buffer_flush(const commtest_protocol_t *protocol)
{
    void *buffer;
    int size;

    if (commtest_protocol_buffered(protocol)) {
        MPI_Buffer_detach(&buffer, &size);
        MPI_Buffer_attach(buffer, size);
    }
}

void commtest_buffer_detach(const commtest_protocol_t *protocol)
{
    void *buffer;
    int size;

    if (commtest_protocol_buffered(protocol)) {
        MPI_Buffer_detach(&buffer, &size);
        free(buffer);
    }
}
