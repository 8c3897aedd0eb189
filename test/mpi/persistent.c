/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Persistent requests in all send modes: start, restart, startall, inactive
 * requests in wait and test, and freeing an active one.  With the argument
 * "buffered" only restarts of MPI_Bsend_init, of which stock ob1 sends garbage
 * when the message is longer than the eager limit. */

#include "support/fp_test.h"

enum { TAG = 31, ROUNDS = 10, BATCH = 8 };

/* One persistent pair started many times; the bytes change each round. */
static void restarted(const fp_mode_t *mode, size_t length)
{
    unsigned char *buffer = fp_alloc(length);
    MPI_Request request;
    MPI_Status status;

    if (0 == fp_rank) {
        FP(mode->init(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    } else {
        FP(MPI_Recv_init(buffer, (int) length, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (0 == fp_rank) {
            fp_fill(buffer, length, fp_key(0, 1, TAG, i));
            fp_await(1, MPI_COMM_WORLD); /* ready mode needs the receive */
            FP(MPI_Start(&request));
            FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_DATA(buffer, length, fp_key(0, 1, TAG, i));
        } else {
            fp_poison(buffer, length);
            FP(MPI_Start(&request));
            fp_signal(0, MPI_COMM_WORLD);
            FP(MPI_Wait(&request, &status));
            CHECK_STATUS(&status, 0, TAG, length);
            CHECK_DATA(buffer, length, fp_key(0, 1, TAG, i));
        }
        CHECK(MPI_REQUEST_NULL != request);
    }
    FP(MPI_Request_free(&request));
    CHECK(MPI_REQUEST_NULL == request);
    fp_free(buffer);
}

/* Both directions in one MPI_Startall, with wildcard receives among them. */
static void batch(size_t length)
{
    unsigned char *buffers[2 * BATCH];
    MPI_Request requests[2 * BATCH];
    MPI_Status statuses[2 * BATCH];
    int peer = 1 - fp_rank;

    for (int i = 0; i < BATCH; i++) {
        buffers[i] = fp_alloc(length);
        buffers[BATCH + i] = fp_alloc(length);
        FP(MPI_Recv_init(buffers[i], (int) length, MPI_BYTE, (i % 2) ? MPI_ANY_SOURCE : peer, TAG + i,
                         MPI_COMM_WORLD, &requests[i]));
        FP(MPI_Send_init(buffers[BATCH + i], (int) length, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD,
                         &requests[BATCH + i]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BATCH; i++) {
            fp_poison(buffers[i], length);
            fp_fill(buffers[BATCH + i], length, fp_key(fp_rank, peer, TAG + i, round));
        }
        FP(MPI_Startall(2 * BATCH, requests));
        FP(MPI_Waitall(2 * BATCH, requests, statuses));
        for (int i = 0; i < BATCH; i++) {
            CHECK_STATUS(&statuses[i], peer, TAG + i, length);
            CHECK_DATA(buffers[i], length, fp_key(peer, fp_rank, TAG + i, round));
            CHECK_DATA(buffers[BATCH + i], length, fp_key(fp_rank, peer, TAG + i, round));
        }
    }
    for (int i = 0; i < 2 * BATCH; i++) {
        FP(MPI_Request_free(&requests[i]));
        fp_free(buffers[i]);
    }
}

/* An inactive request is done, with an empty status; it can be freed unused. */
static void inactive(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    char byte;
    int flag = 0, index = 0;

    FP(MPI_Recv_init(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &requests[0]));
    FP(MPI_Ssend_init(&byte, 1, MPI_BYTE, fp_rank, TAG, MPI_COMM_WORLD, &requests[1]));
    for (int i = 0; i < 2; i++) {
        FP(MPI_Wait(&requests[i], &status));
        CHECK_EMPTY_STATUS(&status);
        FP(MPI_Test(&requests[i], &flag, &status));
        CHECK(flag);
        CHECK_EMPTY_STATUS(&status);
    }
    FP(MPI_Waitany(2, requests, &index, &status));
    CHECK_INT(index, MPI_UNDEFINED);
    FP(MPI_Request_free(&requests[0]));
    FP(MPI_Request_free(&requests[1]));
}

/* So many that most of their memory has never been a request before: nothing that only a start sets is looked
 * at. */
static void never_started(void)
{
    enum { COUNT = 200 };
    MPI_Request requests[2 * COUNT];
    MPI_Status statuses[2 * COUNT];
    int indices[2 * COUNT], index = 0, count = 0, flag = 0;
    char byte;

    for (int i = 0; i < COUNT; i++) {
        FP(MPI_Recv_init(&byte, 1, MPI_BYTE, (i % 2) ? MPI_ANY_SOURCE : 1 - fp_rank, TAG, MPI_COMM_WORLD,
                         &requests[i]));
        FP(fp_modes[i % FP_MODES].init(&byte, i % 2, MPI_BYTE, 1 - fp_rank, TAG, MPI_COMM_WORLD,
                                       &requests[COUNT + i]));
    }
    for (int i = 0; i < 2 * COUNT; i++) {
        FP(MPI_Request_get_status(requests[i], &flag, &statuses[i]));
        CHECK(flag);
        CHECK_EMPTY_STATUS(&statuses[i]);
    }
    FP(MPI_Waitall(2 * COUNT, requests, statuses));
    FP(MPI_Testall(2 * COUNT, requests, &flag, statuses));
    CHECK(flag);
    for (int i = 0; i < 2 * COUNT; i++) {
        CHECK_EMPTY_STATUS(&statuses[i]);
    }
    FP(MPI_Testany(2 * COUNT, requests, &index, &flag, statuses));
    CHECK_INT(index, MPI_UNDEFINED);
    FP(MPI_Waitsome(2 * COUNT, requests, &count, indices, statuses));
    CHECK_INT(count, MPI_UNDEFINED);
    FP(MPI_Testsome(2 * COUNT, requests, &count, indices, statuses));
    CHECK_INT(count, MPI_UNDEFINED);
    for (int i = 0; i < 2 * COUNT; i++) {
        FP(MPI_Request_free(&requests[i]));
    }
}

/* Freed while active: the transfer completes all the same. */
static void freed_while_active(size_t length)
{
    unsigned char *buffer = fp_alloc(length);
    MPI_Request request;

    if (0 == fp_rank) {
        fp_fill(buffer, length, fp_key(0, 1, TAG, 1));
        FP(MPI_Send_init(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Start(&request));
        FP(MPI_Request_free(&request));
        fp_await(1, MPI_COMM_WORLD); /* all has arrived */
    } else {
        fp_recv(length, 0, TAG, 1, MPI_COMM_WORLD);
        fp_signal(0, MPI_COMM_WORLD);
    }
    fp_free(buffer);
}

/* A started receive can be cancelled, and its request used again. */
static void cancelled_and_restarted(void)
{
    int value = -1, cancelled = 0;
    MPI_Request request;
    MPI_Status status;

    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        FP(MPI_Send(&fp_size, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        return;
    }
    FP(MPI_Recv_init(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request));
    for (int i = 0; i < 3; i++) {
        FP(MPI_Start(&request));
        FP(MPI_Cancel(&request));
        FP(MPI_Wait(&request, &status));
        FP(MPI_Test_cancelled(&status, &cancelled));
        CHECK(cancelled);
        CHECK_INT(value, -1);
    }
    FP(MPI_Start(&request));
    fp_signal(0, MPI_COMM_WORLD);
    FP(MPI_Wait(&request, &status));
    CHECK_STATUS(&status, 0, TAG, sizeof(int));
    CHECK_INT(value, fp_size);
    FP(MPI_Request_free(&request));
}

/* Rounds of which the receiver takes nothing until all have been started, so that the first one's copy is
 * under way all the time. The handle stays. The last round may be cancelled, or not. */
static void started_ahead(size_t length)
{
    unsigned char *buffer = fp_alloc(length);
    MPI_Request request, copy;
    MPI_Status status;
    int cancelled = 0;

    if (0 == fp_rank) {
        FP(MPI_Bsend_init(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        copy = request;
        for (int i = 0; i < ROUNDS; i++) {
            fp_fill(buffer, length, fp_key(0, 1, TAG, i));
            FP(MPI_Start(&request));
            CHECK(copy == request);
            if (ROUNDS - 1 == i) {
                FP(MPI_Cancel(&copy));
                fp_signal(1, MPI_COMM_WORLD);
            }
            FP(MPI_Wait(&copy, &status));
            CHECK(copy == request);
            FP(MPI_Test_cancelled(&status, &cancelled));
            CHECK(!cancelled || ROUNDS - 1 == i);
        }
        FP(MPI_Send(&cancelled, 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD));
        FP(MPI_Request_free(&copy));
    } else {
        fp_await(0, MPI_COMM_WORLD);
        FP(MPI_Recv(&cancelled, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < ROUNDS - cancelled; i++) {
            FP(MPI_Recv(buffer, (int) length, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status));
            CHECK_STATUS(&status, 0, TAG, length);
            CHECK_DATA(buffer, length, fp_key(0, 1, TAG, i));
        }
    }
    fp_free(buffer);
}

static void buffered_restarts(void)
{
    enum { ROOM = 16 << 20 };
    void *room;
    int size;

    FP(MPI_Buffer_attach(fp_alloc(ROOM), ROOM));
    for (int i = 0; i < fp_few_size_count; i++) {
        fp_case("persistent buffered, %zu bytes", fp_few_sizes[i]);
        restarted(&fp_modes[FP_BUFFERED], fp_few_sizes[i]);
        fp_case("persistent buffered, started ahead, %zu bytes", fp_few_sizes[i]);
        started_ahead(fp_few_sizes[i]);
    }
    FP(MPI_Buffer_detach(&room, &size));
    fp_free(room);
}

static void all_but_buffered(void)
{
    for (int i = 0; i < fp_few_size_count; i++) {
        size_t length = fp_few_sizes[i];

        for (int mode = 0; mode < FP_MODES; mode++) {
            if (!fp_modes[mode].needs_buffer) {
                fp_case("persistent %s, %zu bytes", fp_modes[mode].name, length);
                restarted(&fp_modes[mode], length);
            }
        }
        fp_case("startall, %zu bytes", length);
        batch(length);
        fp_case("freed while active, %zu bytes", length);
        freed_while_active(length);
    }
    fp_case("inactive requests");
    inactive();
    fp_case("cancelled and restarted");
    cancelled_and_restarted();
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    if (1 >= fp_rank) {
        fp_case("never started");
        never_started();
        (1 < argc) ? buffered_restarts() : all_but_buffered();
    }
    return fp_finish();
}
