/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How two processes, or the processes of a cycle, exchange a packet: the protocols of COMMTEST.  The
 * unordered ones, (0,0) to (0,9), have all processes send and receive at once (ping-ping).  In the ordered
 * ones, (1,0) to (1,10), one process sends first and its partner receives first (ping-pong).
 */

#ifndef FASTPATH_COMMTEST_PROTOCOL_H
#define FASTPATH_COMMTEST_PROTOCOL_H

#include <stdbool.h>
#include <stdio.h>

/** The command that is measured. */
typedef enum {
    COMMTEST_SWAP,     /**< two processes exchange packets with each other */
    COMMTEST_SENDRECV, /**< each process of a cycle sends to the next and receives from the one before */
} commtest_command_t;

/** The MPI function that sends a packet. */
typedef enum {
    COMMTEST_BY_SEND,
    COMMTEST_BY_BSEND,
    COMMTEST_BY_ISEND,
    COMMTEST_BY_RSEND,
    COMMTEST_BY_IRSEND,
    COMMTEST_BY_SSEND,
    COMMTEST_BY_ISSEND,
    COMMTEST_BY_SENDRECV, /**< which receives, too */
} commtest_send_t;

/** What one side of an exchange calls. */
typedef struct {
    commtest_send_t send;
    bool irecv; /**< MPI_Irecv before it sends, and MPI_Wait; otherwise MPI_Recv */
} commtest_side_t;

/** A protocol.  Both sides of an unordered one are alike. */
typedef struct {
    int ordered;             /**< 0 or 1: the first number of its name */
    int number;              /**< the second one */
    const char *what;        /**< in words */
    commtest_side_t side[2]; /**< of who sends first, and of who receives first */
    bool ready;              /**< all post their receive and tell it before anybody sends */
    bool stepwise;           /**< who sends waits for word that the other side is about to receive */
} commtest_protocol_t;

enum { COMMTEST_PROTOCOLS = 21 };

/** All protocols, unordered ones first, COMMTEST_PROTOCOLS of them. */
extern const commtest_protocol_t commtest_protocols[];

/** The protocol of that name, (ordered,number), or NULL. */
const commtest_protocol_t *commtest_protocol_find(int ordered, int number);

/** Why the overlapped program cannot use a protocol, as the rest of a sentence; NULL if it can. */
const char *commtest_protocol_refusal(const commtest_protocol_t *protocol, bool overlapped);

/** Whether either side sends by MPI_Bsend, so that a buffer has to be attached. */
bool commtest_protocol_buffered(const commtest_protocol_t *protocol);

/** Prints one line for each program, command and protocol that can be measured, with what both sides call. */
void commtest_protocol_list(FILE *file);

#endif /* FASTPATH_COMMTEST_PROTOCOL_H */
