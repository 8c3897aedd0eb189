/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "protocol.h"

#include <stddef.h>

const commtest_protocol_t commtest_protocols[COMMTEST_PROTOCOLS] = {
    {0, 0, "simple", {{COMMTEST_BY_BSEND, false}, {COMMTEST_BY_BSEND, false}}, false, false},
    {0, 1, "nonblocking send", {{COMMTEST_BY_ISEND, false}, {COMMTEST_BY_ISEND, false}}, false, false},
    {0, 2, "nonblocking receive", {{COMMTEST_BY_SEND, true}, {COMMTEST_BY_SEND, true}}, false, false},
    {0,
     3,
     "nonblocking send and receive",
     {{COMMTEST_BY_ISEND, true}, {COMMTEST_BY_ISEND, true}},
     false,
     false},
    {0, 4, "ready send", {{COMMTEST_BY_RSEND, true}, {COMMTEST_BY_RSEND, true}}, true, false},
    {0, 5, "nonblocking ready send", {{COMMTEST_BY_IRSEND, true}, {COMMTEST_BY_IRSEND, true}}, true, false},
    {0, 6, "native sendrecv", {{COMMTEST_BY_SENDRECV, false}, {COMMTEST_BY_SENDRECV, false}}, false, false},
    {0,
     7,
     "nonblocking synchronous send",
     {{COMMTEST_BY_ISSEND, false}, {COMMTEST_BY_ISSEND, false}},
     false,
     false},
    {0,
     8,
     "synchronous send, nonblocking receive",
     {{COMMTEST_BY_SSEND, true}, {COMMTEST_BY_SSEND, true}},
     false,
     false},
    {0,
     9,
     "nonblocking synchronous send and receive",
     {{COMMTEST_BY_ISSEND, true}, {COMMTEST_BY_ISSEND, true}},
     false,
     false},
    {1, 0, "simple", {{COMMTEST_BY_SEND, false}, {COMMTEST_BY_SEND, false}}, false, false},
    {1, 1, "nonblocking send", {{COMMTEST_BY_ISEND, false}, {COMMTEST_BY_SEND, false}}, false, false},
    {1, 2, "nonblocking receive", {{COMMTEST_BY_SEND, true}, {COMMTEST_BY_SEND, false}}, false, false},
    {1,
     3,
     "nonblocking send and receive",
     {{COMMTEST_BY_ISEND, true}, {COMMTEST_BY_SEND, false}},
     false,
     false},
    /* Nobody knows that a blocking receive is posted, so with ready sends both sides post nonblocking ones.
     */
    {1, 4, "ready send", {{COMMTEST_BY_RSEND, true}, {COMMTEST_BY_RSEND, true}}, true, false},
    {1, 5, "nonblocking ready send", {{COMMTEST_BY_IRSEND, true}, {COMMTEST_BY_RSEND, true}}, true, false},
    {1, 6, "synchronous", {{COMMTEST_BY_SEND, false}, {COMMTEST_BY_SEND, false}}, false, true},
    {1,
     7,
     "nonblocking synchronous send",
     {{COMMTEST_BY_ISSEND, false}, {COMMTEST_BY_SSEND, false}},
     false,
     false},
    {1,
     8,
     "synchronous send, nonblocking receive",
     {{COMMTEST_BY_SSEND, true}, {COMMTEST_BY_SSEND, false}},
     false,
     false},
    {1,
     9,
     "nonblocking synchronous send and receive",
     {{COMMTEST_BY_ISSEND, true}, {COMMTEST_BY_SSEND, false}},
     false,
     false},
    {1, 10, "synchronous send", {{COMMTEST_BY_SSEND, false}, {COMMTEST_BY_SSEND, false}}, false, false},
};

static const char *const send_names[] = {"MPI_Send",   "MPI_Bsend", "MPI_Isend",  "MPI_Rsend",
                                         "MPI_Irsend", "MPI_Ssend", "MPI_Issend", "MPI_Sendrecv"};

const commtest_protocol_t *commtest_protocol_find(int ordered, int number)
{
    for (int i = 0; i < COMMTEST_PROTOCOLS; ++i) {
        if (ordered == commtest_protocols[i].ordered && number == commtest_protocols[i].number) {
            return &commtest_protocols[i];
        }
    }
    return NULL;
}

const char *commtest_protocol_refusal(const commtest_protocol_t *protocol, bool overlapped)
{
    commtest_send_t send = protocol->side[0].send;
    bool nonblocking = protocol->side[0].irecv || COMMTEST_BY_ISEND == send || COMMTEST_BY_IRSEND == send
                       || COMMTEST_BY_ISSEND == send;

    return overlapped && !nonblocking ? "has no nonblocking call that could be overlapped" : NULL;
}

bool commtest_protocol_buffered(const commtest_protocol_t *protocol)
{
    return COMMTEST_BY_BSEND == protocol->side[0].send || COMMTEST_BY_BSEND == protocol->side[1].send;
}

/* The calls of one side in their order, without MPI_Wait. */
static void list_side(FILE *file, const commtest_protocol_t *protocol, int side)
{
    const char *send = send_names[protocol->side[side].send];
    const char *ready = protocol->ready ? " (handshake)" : "";
    const char *step = protocol->stepwise ? "(handshake) " : "";

    if (COMMTEST_BY_SENDRECV == protocol->side[side].send) {
        fprintf(file, "%s", send);
    } else if (protocol->side[side].irecv) {
        fprintf(file, "MPI_Irecv%s %s", ready, send);
    } else if (0 == side) {
        fprintf(file, "%s%s %sMPI_Recv", step, send, step);
    } else {
        fprintf(file, "%sMPI_Recv %s%s", step, step, send);
    }
}

static void list_one(FILE *file, const commtest_protocol_t *protocol, const char *program,
                     const char *command)
{
    fprintf(file, "%-10s %-8s (%d,%d)%s %s: ", program, command, protocol->ordered, protocol->number,
            protocol->number < 10 ? " " : "", protocol->what);
    list_side(file, protocol, 0);
    if (protocol->ordered) {
        fprintf(file, " | ");
        list_side(file, protocol, 1);
    }
    fprintf(file, "\n");
}

void commtest_protocol_list(FILE *file)
{
    static const char *const commands[] = {"swap", "sendrecv"};

    for (int overlapped = 0; overlapped < 2; ++overlapped) {
        for (int command = 0; command < 2; ++command) {
            for (int i = 0; i < COMMTEST_PROTOCOLS; ++i) {
                if (NULL == commtest_protocol_refusal(&commtest_protocols[i], overlapped)) {
                    list_one(file, &commtest_protocols[i], overlapped ? "overlapped" : "basic",
                             commands[command]);
                }
            }
        }
    }
}
