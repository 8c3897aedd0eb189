/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Packets by a protocol: one at a time, or a volume of them that lie behind each other in memory.
 */

#ifndef FASTPATH_COMMTEST_EXCHANGE_H
#define FASTPATH_COMMTEST_EXCHANGE_H

#include <mpi.h>
#include <stdbool.h>

#include "protocol.h"

/** Where a process sends to and receives from, and how.  Either may be MPI_PROC_NULL. */
typedef struct {
    const commtest_protocol_t *protocol;
    MPI_Comm comm;
    int to;
    int from;
    bool first; /**< sends first, where the protocol is ordered */
} commtest_link_t;

/** Sends one packet and receives another one; returns when both are complete. */
void commtest_exchange(const commtest_link_t *link, const void *out, int out_bytes, void *in, int in_bytes);

/** A volume on its way. */
typedef struct {
    commtest_link_t link;
    const char *out;
    char *in;    /**< room for max(packets, 2) packets */
    int packet;  /**< bytes */
    int packets; /**< that the volume consists of */
    long count;  /**< packets to exchange: those of the volume, one or more times */
    bool overlapped;
    MPI_Request receive[2]; /**< of the packets with even and odd numbers */
} commtest_volume_t;

/** What is done before the clock starts: the overlapped program posts its first receive. */
void commtest_volume_prepare(commtest_volume_t *volume);

/** Exchanges all packets. */
void commtest_volume_run(commtest_volume_t *volume);

/**
 * Attaches a buffer that has room for so many packets, if the protocol needs one.  Returns false, with
 * nothing attached, if it would have more than INT_MAX bytes or there is no memory for it.
 */
bool commtest_buffer_attach(const commtest_protocol_t *protocol, double packets, double bytes);

/** Waits until all that has been sent is out of the buffer, as if it were attached anew. */
void commtest_buffer_flush(const commtest_protocol_t *protocol);

/** Waits until all of its packets have been received, and takes the buffer back. */
void commtest_buffer_detach(const commtest_protocol_t *protocol);

#endif /* FASTPATH_COMMTEST_EXCHANGE_H */
