/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Cancel of sends: not yet matched they are taken back wherever they are,
 * matched they are received, and nothing else is disturbed. */

#include "support/fp_test.h"

enum { TAG = 83, ROUNDS = 60 };

static const int modes[] = {FP_STANDARD, FP_SYNCHRONOUS, FP_BUFFERED};

/* Nobody receives it, whether it has been delivered or may still be on its way: the next message
 * takes its place. */
static void unmatched(const fp_mode_t *mode, size_t length, bool delivered)
{
    MPI_Request request;

    if (0 == fp_rank) {
        void *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, 0));

        FP(mode->isend(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        if (delivered) {
            fp_await(1, MPI_COMM_WORLD);
        }
        CHECK(fp_cancel(&request));
        CHECK(MPI_REQUEST_NULL == request);
        fp_free(buffer);
        fp_signal(1, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, 1, MPI_COMM_WORLD);
    } else {
        if (delivered) {
            FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            fp_signal(0, MPI_COMM_WORLD);
        }
        fp_await(0, MPI_COMM_WORLD);
        fp_recv(length, 0, TAG, 1, MPI_COMM_WORLD);
    }
}

/* Too late: it has been received. */
static void matched(const fp_mode_t *mode, size_t length)
{
    MPI_Request request;

    if (0 == fp_rank) {
        void *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, 2));

        FP(mode->isend(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        fp_await(1, MPI_COMM_WORLD);
        CHECK(!fp_cancel(&request));
        fp_free(buffer);
        fp_signal(1, MPI_COMM_WORLD);
    } else {
        fp_recv(length, 0, TAG, 2, MPI_COMM_WORLD);
        fp_signal(0, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
    }
}

/* Cancelled out of a row of messages, from the last to the first: the rest keep their order. */
static void from_the_middle(size_t length)
{
    enum { COUNT = 30 };
    MPI_Request requests[COUNT];
    void *buffers[COUNT];

    if (0 == fp_rank) {
        for (int i = 0; i < COUNT; i++) {
            buffers[i] = fp_alloc_filled(length, fp_key(0, 1, TAG, i));
            FP(MPI_Isend(buffers[i], (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]));
        }
        for (int i = COUNT - 1; i >= 0; i--) {
            if (1 == i % 3) {
                CHECK(fp_cancel(&requests[i]));
            }
        }
        fp_signal(1, MPI_COMM_WORLD);
        FP(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < COUNT; i++) {
            fp_free(buffers[i]);
        }
    } else {
        fp_await(0, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            if (1 != i % 3) {
                fp_recv(length, 0, TAG, i, MPI_COMM_WORLD);
            }
        }
    }
}

/* Either cancelled or received, and both sides agree. */
static void race(const fp_mode_t *mode, size_t length)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (0 == fp_rank) {
            void *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, i));
            MPI_Request request;
            int cancelled;

            FP(mode->isend(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
            for (int spin = 0; spin < i % 20; spin++) {
                int flag;
                FP(MPI_Iprobe(1, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            }
            cancelled = fp_cancel(&request);
            FP(MPI_Send(&cancelled, 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD));
            fp_free(buffer);
            if (cancelled) {
                fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
            }
        } else {
            int cancelled;

            fp_recv(length, 0, TAG, i, MPI_COMM_WORLD);
            FP(MPI_Recv(&cancelled, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* A persistent send can be cancelled and started again. */
static void persistent(size_t length)
{
    enum { STARTS = 6 };
    MPI_Request request;
    MPI_Status status;

    if (0 == fp_rank) {
        void *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, 7));

        FP(MPI_Send_init(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        for (int i = 0; i < STARTS; i++) {
            FP(MPI_Start(&request));
            if (i % 2) {
                CHECK(fp_cancel(&request));
                CHECK(MPI_REQUEST_NULL != request);
            } else {
                int cancelled;

                fp_signal(1, MPI_COMM_WORLD);
                FP(MPI_Wait(&request, &status));
                FP(MPI_Test_cancelled(&status, &cancelled));
                CHECK(!cancelled); /* as it was in the round before */
                fp_await(1, MPI_COMM_WORLD);
            }
        }
        FP(MPI_Request_free(&request));
        fp_free(buffer);
        fp_signal(1, MPI_COMM_WORLD);
    } else {
        for (int i = 0; i < STARTS; i += 2) {
            fp_await(0, MPI_COMM_WORLD);
            fp_recv(length, 0, TAG, 7, MPI_COMM_WORLD);
            fp_signal(0, MPI_COMM_WORLD);
        }
        fp_await(0, MPI_COMM_WORLD);
    }
}

/* Cancelling again changes nothing, before the answer and after it. */
static void again_and_again(const fp_mode_t *mode, size_t length)
{
    if (0 == fp_rank) {
        void *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, 8));
        MPI_Request request;
        MPI_Status status;
        int flag = 0;

        FP(mode->isend(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Cancel(&request));
        FP(MPI_Cancel(&request));
        while (!flag) {
            FP(MPI_Request_get_status(request, &flag, &status));
        }
        CHECK(fp_was_cancelled(&status));
        FP(MPI_Cancel(&request));
        FP(MPI_Wait(&request, &status));
        CHECK(fp_was_cancelled(&status));
        fp_free(buffer);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* To oneself: the message waits in the same process. */
static void to_self(const fp_mode_t *mode, size_t length)
{
    void *buffer = fp_alloc_filled(length, fp_key(fp_rank, fp_rank, TAG, 9));
    MPI_Request request;
    int flag;

    FP(mode->isend(buffer, (int) length, MPI_BYTE, fp_rank, TAG, MPI_COMM_WORLD, &request));
    CHECK(fp_cancel(&request));
    FP(MPI_Iprobe(fp_rank, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    fp_free(buffer);
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

enum { WAYS = 5 };

/* Waits for many requests by one of the calls for that, and notes their statuses. */
static void wait_for_many(int count, MPI_Request *requests, MPI_Status *statuses, int way)
{
    MPI_Status *some = calloc((size_t) count, sizeof(*some));
    int *indices = calloc((size_t) count, sizeof(*indices)), left = count, done, flag;

    if (0 == way) {
        FP(MPI_Waitall(count, requests, statuses));
        left = 0;
    }
    while (0 < left) {
        done = 1;
        if (1 == way) {
            FP(MPI_Waitsome(count, requests, &done, indices, some));
        } else if (2 == way) {
            FP(MPI_Testsome(count, requests, &done, indices, some));
        } else if (3 == way) {
            FP(MPI_Waitany(count, requests, indices, some));
        } else {
            FP(MPI_Testany(count, requests, indices, &flag, some));
            done = flag;
        }
        for (int i = 0; i < done; i++) {
            statuses[indices[i]] = some[i];
        }
        left -= done;
    }
    free(some);
    free(indices);
}

/* Every third of many is cancelled, and all are waited for together. */
static void among_others(const fp_mode_t *mode, size_t length, int way)
{
    enum { COUNT = 12 };
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    void *buffers[COUNT];
    int flag;

    if (1 == fp_rank) {
        fp_await(0, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            if (1 != i % 3) {
                fp_recv(length, 0, TAG, i, MPI_COMM_WORLD);
            }
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
        return;
    }
    for (int i = 0; i < COUNT; i++) {
        buffers[i] = fp_alloc_filled(length, fp_key(0, 1, TAG, i));
        FP(mode->isend(buffers[i], (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 1; i < COUNT; i += 3) {
        FP(MPI_Cancel(&requests[i]));
    }
    for (int i = 1; i < COUNT; i += 3) { /* the others may be received from now on */
        for (flag = 0; !flag;) {
            FP(MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE));
        }
    }
    fp_signal(1, MPI_COMM_WORLD);
    wait_for_many(COUNT, requests, statuses, way);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(fp_was_cancelled(&statuses[i]), 1 == i % 3);
        fp_free(buffers[i]);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD)); /* the attached buffer is free again */
}

/* The attached buffer has room for little more than one message: a cancelled one gives it back. */
static void buffer_space(size_t length)
{
    int size = (int) length + MPI_BSEND_OVERHEAD + 200;
    void *attached = malloc((size_t) size);
    MPI_Request request;

    FP(MPI_Buffer_attach(attached, size));
    if (0 == fp_rank) {
        void *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, 10));

        for (int i = 0; i < ROUNDS; i++) {
            FP(MPI_Ibsend(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
            CHECK(fp_cancel(&request));
        }
        FP(MPI_Bsend(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
        fp_free(buffer);
    } else {
        fp_await(0, MPI_COMM_WORLD);
        fp_recv(length, 0, TAG, 10, MPI_COMM_WORLD);
    }
    if (0 == fp_rank) {
        fp_signal(1, MPI_COMM_WORLD);
    }
    FP(MPI_Buffer_detach(&attached, &size));
    free(attached);
}

/* Matched, but the data is still to come: neither side can take it back. */
static void incomplete(size_t length)
{
    MPI_Request request;
    MPI_Status status;

    if (0 == fp_rank) {
        void *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, 11));

        FP(MPI_Issend(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        fp_await(1, MPI_COMM_WORLD); /* behind the receiver's first answer */
        CHECK(!fp_cancel(&request));
        fp_free(buffer);
    } else {
        unsigned char *buffer = fp_alloc(length);

        FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Irecv(buffer, (int) length, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Cancel(&request));
        fp_signal(0, MPI_COMM_WORLD);
        FP(MPI_Wait(&request, &status));
        CHECK(!fp_was_cancelled(&status));
        CHECK_STATUS(&status, 0, TAG, length);
        CHECK_DATA(buffer, length, fp_key(0, 1, TAG, 11));
        fp_free(buffer);
    }
}

static void one_length(size_t length)
{
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
        const fp_mode_t *mode = &fp_modes[modes[m]];

        fp_case("unmatched %s of %zu bytes", mode->name, length);
        unmatched(mode, length, false);
        fp_case("delivered %s of %zu bytes", mode->name, length);
        unmatched(mode, length, true);
        fp_case("matched %s of %zu bytes", mode->name, length);
        matched(mode, length);
        fp_case("again and again, %s of %zu bytes", mode->name, length);
        again_and_again(mode, length);
        fp_case("%s of %zu bytes to oneself", mode->name, length);
        to_self(mode, length);
        for (int way = 0; way < WAYS; way++) {
            fp_case("among others, %s of %zu bytes, way %d", mode->name, length, way);
            among_others(mode, length, way);
        }
        fp_case("race of %s with %zu bytes", mode->name, length);
        race(mode, length);
    }
    fp_case("from the middle, %zu bytes", length);
    from_the_middle(length);
    fp_case("incomplete, %zu bytes", length);
    incomplete(length);
    fp_case("persistent, %zu bytes", length);
    persistent(length);
}

int main(int argc, char **argv)
{
    enum { ATTACHED = 16 << 20 };
    void *attached = malloc(ATTACHED);
    int size;

    fp_init(&argc, &argv, 2);
    if (CHECK(2 == fp_size)) {
        FP(MPI_Buffer_attach(attached, ATTACHED));
        for (int i = 0; i < fp_few_size_count; i++) {
            if (fp_few_sizes[i] < ATTACHED / 2) {
                one_length(fp_few_sizes[i]);
            }
        }
        FP(MPI_Buffer_detach(&attached, &size));
        for (int i = 0; i < fp_few_size_count; i++) {
            fp_case("space in the attached buffer, %zu bytes", fp_few_sizes[i]);
            buffer_space(fp_few_sizes[i]);
        }
    }
    free(attached);
    return fp_finish();
}
