/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Send modes: standard, synchronous, buffered and ready, blocking and not; that
 * a synchronous send waits for its match; that MPI_Buffer_detach waits. */

#include "support/fp_test.h"

enum { TAG = 3, OTHER_TAG = 4, BUFFER_SIZE = 4 << 20, PATIENCE_MS = 40 };

static void attach(int size)
{
    FP(MPI_Buffer_attach(fp_alloc((size_t) size), size));
}

static void detach(void)
{
    void *buffer;
    int size;

    FP(MPI_Buffer_detach(&buffer, &size));
    fp_free(buffer);
}

/* Every mode into a posted receive and, but for ready mode, into none. */
static void delivers(const fp_mode_t *mode, size_t length, bool posted, bool blocking)
{
    fp_message_t message;

    if (0 == fp_rank) {
        if (posted) {
            fp_await(1, MPI_COMM_WORLD);
        }
        if (blocking) {
            fp_send(mode, length, 1, TAG, 1, MPI_COMM_WORLD);
        } else {
            fp_isend(&message, mode, length, 1, TAG, 1, MPI_COMM_WORLD);
            fp_wait_send(&message);
        }
    } else {
        if (posted) {
            fp_irecv(&message, length, 0, TAG, 1, MPI_COMM_WORLD);
            fp_signal(0, MPI_COMM_WORLD);
            fp_wait_recv(&message);
        } else {
            fp_sleep_ms(1);
            fp_recv(length, 0, TAG, 1, MPI_COMM_WORLD);
        }
    }
}

static void all_modes_deliver(void)
{
    for (int mode = 0; mode < FP_MODES; mode++) {
        for (int i = 0; i < fp_few_size_count; i++) {
            for (int way = 0; way < 4; way++) {
                bool posted = way & 1, blocking = way & 2;

                if (fp_modes[mode].needs_receiver && !posted) {
                    continue;
                }
                fp_case("%s %s of %zu bytes, receive %s", blocking ? "blocking" : "nonblocking",
                        fp_modes[mode].name, fp_few_sizes[i], posted ? "posted" : "later");
                delivers(&fp_modes[mode], fp_few_sizes[i], posted, blocking);
            }
        }
    }
}

/* The request must stay incomplete for a while. */
static void stays_incomplete(MPI_Request *request)
{
    double until = fp_now() + 1e-3 * PATIENCE_MS;
    int done = 0;

    while (!done && fp_now() < until) {
        FP(MPI_Test(request, &done, MPI_STATUS_IGNORE));
    }
    CHECK(!done);
}

/* Neither arrival nor a probe is a match. */
static void not_matched(MPI_Request *request)
{
    stays_incomplete(request);
    fp_signal(1, MPI_COMM_WORLD);
    fp_await(1, MPI_COMM_WORLD);
    stays_incomplete(request);
    fp_signal(1, MPI_COMM_WORLD);
}

static void issend_waits(size_t length, bool persistent)
{
    fp_message_t message;
    MPI_Status status;

    if (0 == fp_rank && persistent) {
        void *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, 2));
        MPI_Request request;

        FP(MPI_Ssend_init(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Start(&request));
        not_matched(&request);
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        FP(MPI_Request_free(&request));
        fp_free(buffer);
    } else if (0 == fp_rank) {
        fp_isend(&message, &fp_modes[FP_SYNCHRONOUS], length, 1, TAG, 2, MPI_COMM_WORLD);
        not_matched(&message.request);
        fp_wait_send(&message);
    } else {
        fp_await(0, MPI_COMM_WORLD);
        FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, 0, TAG, length);
        fp_signal(0, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
        fp_recv(length, 0, TAG, 2, MPI_COMM_WORLD);
    }
}

/* A blocking call returns no earlier than the other side posts its receive. */
static void returns_after_receive(size_t length, void (*call)(size_t length))
{
    double posted;

    if (0 == fp_rank) {
        call(length);
        double returned = fp_now();
        FP(MPI_Recv(&posted, 1, MPI_DOUBLE, 1, OTHER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(returned >= posted);
    } else {
        fp_sleep_ms(PATIENCE_MS);
        posted = fp_now();
        fp_recv(length, 0, TAG, 3, MPI_COMM_WORLD);
        FP(MPI_Send(&posted, 1, MPI_DOUBLE, 0, OTHER_TAG, MPI_COMM_WORLD));
    }
}

static void ssend(size_t length)
{
    fp_send(&fp_modes[FP_SYNCHRONOUS], length, 1, TAG, 3, MPI_COMM_WORLD);
}

/* Of several synchronous sends those are complete whose messages have been received, in whatever order. */
static void issends_in_any_order(size_t length)
{
    const int count = length < 10000 ? 300 : 70; /* what waits for a match is in a table, which grows */
    fp_message_t *messages = calloc((size_t) count, sizeof(messages[0]));

    for (int i = 0; 0 == fp_rank && i < count; i++) {
        fp_isend(&messages[i], &fp_modes[FP_SYNCHRONOUS], length, 1, TAG + i, i, MPI_COMM_WORLD);
    }
    for (int i = count - 1; 0 <= i; i--) {
        if (0 == fp_rank) {
            int done;

            FP(MPI_Test(&messages[i / 2].request, &done, MPI_STATUS_IGNORE));
            CHECK(!done);
            fp_signal(1, MPI_COMM_WORLD);
            fp_wait_send(&messages[i]);
        } else {
            fp_await(0, MPI_COMM_WORLD);
            fp_recv(length, 0, TAG + i, i, MPI_COMM_WORLD);
        }
    }
    free(messages);
}

/* A message too long to be eager leaves the buffer only when it is received. */
static void bsend_then_detach(size_t length)
{
    attach((int) length + MPI_BSEND_OVERHEAD);
    fp_send(&fp_modes[FP_BUFFERED], length, 1, TAG, 3, MPI_COMM_WORLD);
    detach();
}

/* The buffer's room comes back as messages are delivered, and can be reused. */
static void bsend_reuses_buffer(void)
{
    enum { LENGTH = 30000, ROUNDS = 50 };

    if (0 == fp_rank) {
        attach(2 * (LENGTH + MPI_BSEND_OVERHEAD));
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (0 == fp_rank) {
            fp_send(&fp_modes[FP_BUFFERED], LENGTH, 1, TAG, i, MPI_COMM_WORLD);
            fp_await(1, MPI_COMM_WORLD);
        } else {
            fp_recv(LENGTH, 0, TAG, i, MPI_COMM_WORLD);
            fp_signal(0, MPI_COMM_WORLD);
        }
    }
    if (0 == fp_rank) {
        detach();
    }
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    if (1 >= fp_rank) {
        fp_case("bsend reuses its buffer");
        bsend_reuses_buffer();
        attach(BUFFER_SIZE);
        all_modes_deliver();
        for (int i = 0; i < fp_few_size_count; i++) {
            fp_case("issend of %zu bytes waits for its match", fp_few_sizes[i]);
            issend_waits(fp_few_sizes[i], false);
            fp_case("started synchronous send of %zu bytes waits for its match", fp_few_sizes[i]);
            issend_waits(fp_few_sizes[i], true);
            fp_case("issends of %zu bytes, received in any order", fp_few_sizes[i]);
            issends_in_any_order(fp_few_sizes[i]);
            fp_case("ssend of %zu bytes waits for its match", fp_few_sizes[i]);
            returns_after_receive(fp_few_sizes[i], ssend);
        }
        detach();
        fp_case("detach waits for a large message");
        returns_after_receive(1000000, bsend_then_detach);
    }
    return fp_finish();
}
