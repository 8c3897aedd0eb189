/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Patterns of two ranks: how messages are sent, received and waited for.  To and fro unless said otherwise.
 */

#include "bench.h"
#include "patterns.h"

enum { OTHER_TAG = 6, SEVERAL = 4, WORK_US = 20 };

static MPI_Comm pair_comm = MPI_COMM_NULL; /* an intercommunicator */
static MPI_Request persistent[2];
static void *attached; /* to MPI_Bsend */

static inline void fill(int messages, int size)
{
    bench_fill(patterns_out, (size_t) messages * (size_t) size, 1);
}

static inline void received(int messages, int size)
{
    bench_read(patterns_in, (size_t) messages * (size_t) size);
}

static inline void irecv(int i, int size, MPI_Request *request)
{
    MPI_Irecv(patterns_in_of(i, size), size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD,
              request);
}

static inline void isend(int i, int size, MPI_Request *request)
{
    MPI_Isend(patterns_out_of(i, size), size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD,
              request);
}

static inline void send_short(int tag)
{
    MPI_Send(NULL, 0, MPI_BYTE, patterns_partner(), tag, MPI_COMM_WORLD);
}

static inline void recv_short(int tag)
{
    MPI_Recv(NULL, 0, MPI_BYTE, patterns_partner(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void work(void)
{
    const double begin = bench_now_us();

    while (bench_now_us() - begin < WORK_US) {
    }
}

/* ---- one message to and fro ---- */

static inline void to_and_fro(int size, void (*send)(int), void (*receive)(int))
{
    if (!patterns_first()) {
        receive(size);
        received(1, size);
    }
    fill(1, size);
    send(size);
    if (patterns_first()) {
        receive(size);
        received(1, size);
    }
}

static inline void send_blocking(int size)
{
    MPI_Send(patterns_out, size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD);
}

static inline void receive_blocking(int size)
{
    MPI_Recv(patterns_in, size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void pairs(int size)
{
    to_and_fro(size, send_blocking, receive_blocking);
}

static inline void send_nonblocking(int size)
{
    MPI_Request request;

    isend(0, size, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static inline void receive_nonblocking(int size)
{
    MPI_Request request;

    irecv(0, size, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void nonblocking(int size)
{
    to_and_fro(size, send_nonblocking, receive_nonblocking);
}

static inline void test_until_done(MPI_Request *request)
{
    int done = 0;

    while (!done) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
}

static inline void send_tested(int size)
{
    MPI_Request request;

    isend(0, size, &request);
    test_until_done(&request);
}

static inline void receive_tested(int size)
{
    MPI_Request request;

    irecv(0, size, &request);
    test_until_done(&request);
}

static void tested(int size)
{
    to_and_fro(size, send_tested, receive_tested);
}

static inline void send_synchronous(int size)
{
    MPI_Ssend(patterns_out, size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD);
}

static void synchronous(int size)
{
    to_and_fro(size, send_synchronous, receive_blocking);
}

static void attach(int size)
{
    const int bytes = 2 * (size + MPI_BSEND_OVERHEAD) + BENCH_LINE;

    attached = malloc((size_t) bytes);
    if (NULL == attached) {
        fprintf(stderr, "patterns: no memory for a buffer of %d bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Buffer_attach(attached, bytes);
}

static void detach(void)
{
    int bytes;

    MPI_Buffer_detach(&attached, &bytes);
    free(attached);
}

static inline void send_buffered(int size)
{
    MPI_Bsend(patterns_out, size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD);
}

static void buffered(int size)
{
    to_and_fro(size, send_buffered, receive_blocking);
}

static inline void receive_wildcard(int size)
{
    MPI_Recv(patterns_in, size, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, pair_comm, MPI_STATUS_IGNORE);
}

static inline void send_inter(int size)
{
    MPI_Send(patterns_out, size, MPI_BYTE, 0, PATTERNS_TAG, pair_comm);
}

static void make_pair(int size)
{
    (void) size;
    if (MPI_PROC_NULL == patterns_partner()) {
        MPI_Comm_dup(MPI_COMM_SELF, &pair_comm);
    } else {
        MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, patterns_partner(), OTHER_TAG, &pair_comm);
    }
}

static void free_pair(void)
{
    MPI_Comm_free(&pair_comm);
}

/* Wildcards, and an intercommunicator, so that with many ranks only the partner's messages match. */
static void wildcards(int size)
{
    if (MPI_PROC_NULL != patterns_partner()) {
        to_and_fro(size, send_inter, receive_wildcard);
    }
}

static inline void receive_probed(int size)
{
    MPI_Status status;
    int count;

    (void) size;
    MPI_Probe(patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Recv(patterns_in, count, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void probed(int size)
{
    to_and_fro(size, send_blocking, receive_probed);
}

static inline void receive_iprobed(int size)
{
    int there = 0;

    while (!there) {
        MPI_Iprobe(patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
    receive_blocking(size);
}

static void iprobed(int size)
{
    to_and_fro(size, send_blocking, receive_iprobed);
}

static inline void receive_matched(int size)
{
    MPI_Message message;

    MPI_Mprobe(patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(patterns_in, size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}

static void matched(int size)
{
    to_and_fro(size, send_blocking, receive_matched);
}

/* The receiver has something else to do before each message. */
static inline void receive_late(int size)
{
    work();
    receive_blocking(size);
}

static void late(int size)
{
    to_and_fro(size, send_blocking, receive_late);
}

/* The sender has something else to do after each message. */
static inline void send_and_work(int size)
{
    MPI_Request request;

    isend(0, size, &request);
    work();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void busy(int size)
{
    to_and_fro(size, send_and_work, receive_blocking);
}

/* ---- one message each way at the same time ---- */

static void exchange(int size)
{
    fill(1, size);
    MPI_Sendrecv(patterns_out, size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, patterns_in, size, MPI_BYTE,
                 patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    received(1, size);
}

static void replace(int size)
{
    fill(1, size);
    MPI_Sendrecv_replace(patterns_out, size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, patterns_partner(),
                         PATTERNS_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bench_read(patterns_out, (size_t) size);
}

static void isend_recv(int size)
{
    MPI_Request request;

    fill(1, size);
    isend(0, size, &request);
    receive_blocking(size);
    received(1, size);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void irecv_send(int size)
{
    MPI_Request request;

    irecv(0, size, &request);
    fill(1, size);
    send_blocking(size);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    received(1, size);
}

static void synchronous_exchange(int size)
{
    MPI_Request request[2];

    irecv(0, size, &request[0]);
    fill(1, size);
    MPI_Issend(patterns_out, size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    received(1, size);
}

static void make_persistent(int size)
{
    MPI_Recv_init(patterns_in, size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD,
                  &persistent[0]);
    MPI_Send_init(patterns_out, size, MPI_BYTE, patterns_partner(), PATTERNS_TAG, MPI_COMM_WORLD,
                  &persistent[1]);
}

static void free_persistent(void)
{
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);
}

static void persistent_exchange(int size)
{
    fill(1, size);
    MPI_Startall(2, persistent);
    MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
    received(1, size);
}

/* A rank and itself; both of a pair do that at the same time. */
static void self(int size)
{
    fill(1, size);
    MPI_Sendrecv(patterns_out, size, MPI_BYTE, 0, PATTERNS_TAG, patterns_in, size, MPI_BYTE, 0, PATTERNS_TAG,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
    received(1, size);
}

/* ---- several messages each way, each from and to a place of its own ---- */

static inline void start(int count, int size, MPI_Request *requests)
{
    for (int i = 0; i < count; ++i) {
        irecv(i, size, &requests[i]);
    }
    fill(count, size);
    for (int i = 0; i < count; ++i) {
        isend(i, size, &requests[count + i]);
    }
}

static void window(int size)
{
    MPI_Request requests[2 * PATTERNS_WINDOW];

    start(PATTERNS_WINDOW, size, requests);
    MPI_Waitall(2 * PATTERNS_WINDOW, requests, MPI_STATUSES_IGNORE);
    received(PATTERNS_WINDOW, size);
}

static void waitany(int size)
{
    MPI_Request requests[2 * SEVERAL];
    int i;

    start(SEVERAL, size, requests);
    for (int left = 2 * SEVERAL; 0 < left; --left) {
        MPI_Waitany(2 * SEVERAL, requests, &i, MPI_STATUS_IGNORE);
    }
    received(SEVERAL, size);
}

/* The same with a call that completes some. */
static inline void complete_some(int size, int (*some)(int, MPI_Request[], int *, int[], MPI_Status[]))
{
    MPI_Request requests[2 * SEVERAL];
    int done[2 * SEVERAL], n;

    start(SEVERAL, size, requests);
    for (int left = 2 * SEVERAL; 0 < left; left -= n) {
        some(2 * SEVERAL, requests, &n, done, MPI_STATUSES_IGNORE);
    }
    received(SEVERAL, size);
}

static void waitsome(int size)
{
    complete_some(size, MPI_Waitsome);
}

static void testsome(int size)
{
    complete_some(size, MPI_Testsome);
}

static void testall(int size)
{
    MPI_Request requests[2 * SEVERAL];
    int done = 0;

    start(SEVERAL, size, requests);
    while (!done) {
        MPI_Testall(2 * SEVERAL, requests, &done, MPI_STATUSES_IGNORE);
    }
    received(SEVERAL, size);
}

/* ---- one way ---- */

/* A request that is answered by a short message. */
static void answered(int size)
{
    MPI_Request request;

    if (patterns_first()) {
        fill(1, size);
        isend(0, size, &request);
        recv_short(OTHER_TAG);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        receive_blocking(size);
        received(1, size);
        send_short(OTHER_TAG);
    }
}

/* The other way round: what is sent is what was asked for by a short message. */
static void fetched(int size)
{
    MPI_Request request;

    if (patterns_first()) {
        irecv(0, size, &request);
        send_short(OTHER_TAG);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        received(1, size);
    } else {
        recv_short(OTHER_TAG);
        fill(1, size);
        send_blocking(size);
    }
}

/* A window of messages into receives that wait. */
static void stream(int size)
{
    MPI_Request requests[PATTERNS_WINDOW];

    if (patterns_first()) {
        fill(PATTERNS_WINDOW, size);
        for (int i = 0; i < PATTERNS_WINDOW; ++i) {
            isend(i, size, &requests[i]);
        }
        MPI_Waitall(PATTERNS_WINDOW, requests, MPI_STATUSES_IGNORE);
        recv_short(OTHER_TAG);
    } else {
        for (int i = 0; i < PATTERNS_WINDOW; ++i) {
            irecv(i, size, &requests[i]);
        }
        MPI_Waitall(PATTERNS_WINDOW, requests, MPI_STATUSES_IGNORE);
        received(PATTERNS_WINDOW, size);
        send_short(OTHER_TAG);
    }
}

/* The same one after the other. */
static void series(int size)
{
    if (patterns_first()) {
        fill(PATTERNS_WINDOW, size);
        for (int i = 0; i < PATTERNS_WINDOW; ++i) {
            MPI_Send(patterns_out_of(i, size), size, MPI_BYTE, patterns_partner(), PATTERNS_TAG,
                     MPI_COMM_WORLD);
        }
        recv_short(OTHER_TAG);
    } else {
        for (int i = 0; i < PATTERNS_WINDOW; ++i) {
            MPI_Recv(patterns_in_of(i, size), size, MPI_BYTE, patterns_partner(), PATTERNS_TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        received(PATTERNS_WINDOW, size);
        send_short(OTHER_TAG);
    }
}

/* Messages that have arrived before they are received, the last one first. */
static void unexpected(int size)
{
    MPI_Request requests[SEVERAL];

    if (patterns_first()) {
        fill(SEVERAL, size);
        for (int i = 0; i < SEVERAL; ++i) {
            MPI_Isend(patterns_out_of(i, size), size, MPI_BYTE, patterns_partner(), OTHER_TAG + 1 + i,
                      MPI_COMM_WORLD, &requests[i]);
        }
        send_short(PATTERNS_TAG);
        MPI_Waitall(SEVERAL, requests, MPI_STATUSES_IGNORE);
        recv_short(OTHER_TAG);
    } else {
        recv_short(PATTERNS_TAG);
        for (int i = SEVERAL - 1; 0 <= i; --i) {
            MPI_Recv(patterns_in_of(i, size), size, MPI_BYTE, patterns_partner(), OTHER_TAG + 1 + i,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        received(SEVERAL, size);
        send_short(OTHER_TAG);
    }
}

const patterns_t patterns_pairs[] = {{"pairs", pairs, NULL, NULL},
                                     {"nonblocking", nonblocking, NULL, NULL},
                                     {"tested", tested, NULL, NULL},
                                     {"synchronous", synchronous, NULL, NULL},
                                     {"buffered", buffered, attach, detach},
                                     {"wildcards", wildcards, make_pair, free_pair},
                                     {"probed", probed, NULL, NULL},
                                     {"iprobed", iprobed, NULL, NULL},
                                     {"matched", matched, NULL, NULL},
                                     {"late", late, NULL, NULL},
                                     {"busy", busy, NULL, NULL},
                                     {"exchange", exchange, NULL, NULL},
                                     {"replace", replace, NULL, NULL},
                                     {"isendrecv", isend_recv, NULL, NULL},
                                     {"irecvsend", irecv_send, NULL, NULL},
                                     {"issend", synchronous_exchange, NULL, NULL},
                                     {"persistent", persistent_exchange, make_persistent, free_persistent},
                                     {"self", self, NULL, NULL},
                                     {"window", window, NULL, NULL},
                                     {"waitany", waitany, NULL, NULL},
                                     {"waitsome", waitsome, NULL, NULL},
                                     {"testsome", testsome, NULL, NULL},
                                     {"testall", testall, NULL, NULL},
                                     {"answered", answered, NULL, NULL},
                                     {"fetched", fetched, NULL, NULL},
                                     {"stream", stream, NULL, NULL},
                                     {"series", series, NULL, NULL},
                                     {"unexpected", unexpected, NULL, NULL},
                                     {NULL, NULL, NULL, NULL}};
