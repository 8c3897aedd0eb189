/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A program whose instructions can be counted: rank 0 sends bursts of small messages, rank 1 receives each
 * burst when all of it has arrived.  The two wait for each other in read() on named pipes, never inside MPI,
 * so that two runs with different bursts differ by the messages alone.
 *
 * Usage: mpirun -np 2 oneway DIRECTORY BURSTS MESSAGES_PER_BURST [posted|late|isend|windows|immediate|any
 * [BYTES [unexpected|waiting N]]]
 *
 * DIRECTORY holds the named pipes "go" and "back".  With "posted" the receives are posted before the burst is
 * sent, with "late" only when it has arrived, with "isend" the burst is sent by MPI_Isend, with "windows"
 * both "posted" and "isend", and the receives end in MPI_Waitall; with "any" it is received from
 * MPI_ANY_SOURCE. BYTES is the size of a message, a multiple of 8 (default: 8). "unexpected N": so many
 * messages of other tags wait at the receiver all the time; "waiting N": so many receives of other tags are
 * posted there.
 */

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipes.h"

enum { TAG = 7, MAX_BURST = 64, FIRST_OTHER_TAG = 100, MAX_OTHERS = 30000, MAX_WORDS = 8192 };

static int words = 1;                      /* of a message */
static double data[MAX_BURST * MAX_WORDS]; /* of each message of a burst */

/* Counting is on in the functions named count_ and nowhere else, so they must stay functions. */
static __attribute__((noinline)) void count_send(int burst)
{
    for (int i = 0; i < burst; ++i) {
        MPI_Send(data, words, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD);
    }
}

static __attribute__((noinline)) void count_isend(int burst)
{
    MPI_Request request[MAX_BURST];

    for (int i = 0; i < burst; ++i) {
        MPI_Isend(data, words, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD, &request[i]);
    }
    MPI_Waitall(burst, request, MPI_STATUSES_IGNORE);
}

static __attribute__((noinline)) void count_post(int burst, MPI_Request *request)
{
    for (int i = 0; i < burst; ++i) {
        MPI_Irecv(&data[i * words], words, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD, &request[i]);
    }
}

static __attribute__((noinline)) void count_receive(int burst, MPI_Request *request, int src)
{
    for (int i = 0; i < burst; ++i) {
        if (NULL != request) {
            MPI_Wait(&request[i], MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&data[i * words], words, MPI_DOUBLE, src, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static __attribute__((noinline)) void count_receive_all(int burst, MPI_Request *request)
{
    MPI_Waitall(burst, request, MPI_STATUSES_IGNORE);
}

static void send_others(int others)
{
    for (int i = 0; i < others; ++i) {
        MPI_Send(NULL, 0, MPI_BYTE, 1, FIRST_OTHER_TAG + i, MPI_COMM_WORLD);
    }
}

static void receive_others(int others)
{
    for (int i = 0; i < others; ++i) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, FIRST_OTHER_TAG + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void post_others(int others, MPI_Request *request)
{
    for (int i = 0; i < others; ++i) {
        MPI_Irecv(NULL, 0, MPI_BYTE, 0, FIRST_OTHER_TAG + i, MPI_COMM_WORLD, &request[i]);
    }
}

static void sender(int go, int back, int burst, bool nonblocking)
{
    pipes_hear(back);
    if (nonblocking) {
        count_isend(burst);
    } else {
        count_send(burst);
    }
    pipes_tell(go);
}

static void receiver(int go, int back, int burst, bool posted, bool late, bool all, int src)
{
    MPI_Request request[MAX_BURST];

    if (posted && !late) {
        count_post(burst, request);
    }
    pipes_tell(back);
    pipes_hear(go);
    if (late) {
        count_post(burst, request);
    }
    if (all) {
        count_receive_all(burst, request);
    } else {
        count_receive(burst, posted ? request : NULL, src);
    }
}

/* Before the bursts, with collect false, and after them. */
static void others(int rank, int count, bool unexpected, bool collect)
{
    static MPI_Request request[MAX_OTHERS];

    if (0 == rank && collect != unexpected) {
        send_others(count);
    } else if (1 == rank && unexpected && collect) {
        receive_others(count);
    } else if (1 == rank && !unexpected && !collect) {
        post_others(count, request);
    } else if (1 == rank && !unexpected) {
        MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int rank;
    int bursts = argc > 3 ? atoi(argv[2]) : 0;
    int burst = argc > 3 ? atoi(argv[3]) : 0;
    const char *style = argc > 4 ? argv[4] : "immediate";
    bool windows = 0 == strcmp("windows", style);
    bool late = 0 == strcmp("late", style);
    int bytes = argc > 5 ? atoi(argv[5]) : 8;
    bool unexpected = argc > 7 && 0 == strcmp("unexpected", argv[6]);
    int count = argc > 7 ? atoi(argv[7]) : 0; /* of others */
    int go;
    int back;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    words = bytes / 8;
    if (bursts < 1 || burst < 0 || burst > MAX_BURST || count < 0 || count > MAX_OTHERS || bytes < 0 || 0 != bytes % 8
        || words > MAX_WORDS) {
        fprintf(stderr, "usage: mpirun -np 2 oneway DIRECTORY BURSTS MESSAGES_PER_BURST "
                        "[posted|late|isend|windows|immediate|any [BYTES [unexpected|waiting N]]]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    go = pipes_open(argv[1], "go");
    back = pipes_open(argv[1], "back");
    others(rank, count, unexpected, false);
    MPI_Barrier(MPI_COMM_WORLD); /* behind them, so that they have arrived */
    for (int i = 0; i < bursts; ++i) {
        if (0 == rank) {
            sender(go, back, burst, windows || 0 == strcmp("isend", style));
        } else if (1 == rank) {
            receiver(go, back, burst, late || windows || 0 == strcmp("posted", style), late, windows,
                     0 == strcmp("any", style) ? MPI_ANY_SOURCE : 0);
        }
    }
    others(rank, count, unexpected, true);
    MPI_Finalize();
    return 0;
}
