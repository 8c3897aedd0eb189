/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Cancel of receives, also in a race with the message, and MPI_Request_free
 * of active requests. */

#include "support/fp_test.h"

enum { TAG = 81, ROUNDS = 100 };

/* A cancelled receive takes no message and leaves its buffer alone. */
static void never_arrives(void)
{
    enum { COUNT = 20 };
    MPI_Request requests[COUNT];
    MPI_Status status;
    int cancelled;

    for (int i = 0; i < COUNT; i++) {
        unsigned char *buffer = fp_alloc(1000);

        FP(MPI_Irecv(buffer, 1000, MPI_BYTE, (i % 2) ? MPI_ANY_SOURCE : 1 - fp_rank,
                     (i % 3) ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &requests[i]));
        FP(MPI_Cancel(&requests[i]));
        FP(MPI_Wait(&requests[i], &status));
        FP(MPI_Test_cancelled(&status, &cancelled));
        CHECK(cancelled);
        CHECK(MPI_REQUEST_NULL == requests[i]);
        CHECK_POISON(buffer, 1000);
        fp_free(buffer);
    }
}

/* Cancelled from the middle of a queue of posted receives: the rest keep their
 * order. */
static void from_the_middle(size_t length)
{
    enum { COUNT = 30 };
    unsigned char *buffers[COUNT];
    MPI_Request requests[COUNT];
    MPI_Status status;
    int cancelled, next = 0;

    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT - COUNT / 3; i++) {
            fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
        }
        return;
    }
    for (int i = 0; i < COUNT; i++) {
        buffers[i] = fp_alloc(length);
        FP(MPI_Irecv(buffers[i], (int) length, MPI_BYTE, (i % 4) ? 0 : MPI_ANY_SOURCE,
                     (i % 5) ? TAG : MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 1; i < COUNT; i += 3) {
        FP(MPI_Cancel(&requests[i]));
    }
    fp_signal(0, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        FP(MPI_Wait(&requests[i], &status));
        FP(MPI_Test_cancelled(&status, &cancelled));
        CHECK_INT(cancelled, 1 == i % 3);
        if (!cancelled) {
            CHECK_STATUS(&status, 0, TAG, length);
            CHECK_DATA(buffers[i], length, fp_key(0, 1, TAG, next));
            next++;
        }
        fp_free(buffers[i]);
    }
}

/* Either cancelled, then the message waits for the next receive, or received. */
static void race(size_t length)
{
    unsigned char *buffer;
    MPI_Request request;
    MPI_Status status;
    int cancelled;

    for (int i = 0; i < ROUNDS; i++) {
        if (0 == fp_rank) {
            fp_await(1, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
            continue;
        }
        buffer = fp_alloc(length);
        FP(MPI_Irecv(buffer, (int) length, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
        fp_signal(0, MPI_COMM_WORLD);
        for (int spin = 0; spin < i % 50; spin++) {
            int flag;
            FP(MPI_Iprobe(0, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        }
        FP(MPI_Cancel(&request));
        FP(MPI_Wait(&request, &status));
        FP(MPI_Test_cancelled(&status, &cancelled));
        if (cancelled) {
            CHECK_POISON(buffer, length);
            fp_recv(length, 0, TAG, i, MPI_COMM_WORLD);
        } else {
            CHECK_STATUS(&status, 0, TAG, length);
            CHECK_DATA(buffer, length, fp_key(0, 1, TAG, i));
        }
        fp_free(buffer);
    }
}

/* Too late: the request is complete and stays so. */
static void after_completion(void)
{
    int value = -1;
    MPI_Request request;
    MPI_Status status;

    FP(MPI_Irecv(&value, 1, MPI_INT, fp_rank, TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Send(&fp_size, 1, MPI_INT, fp_rank, TAG, MPI_COMM_WORLD));
    FP(MPI_Cancel(&request));
    FP(MPI_Wait(&request, &status));
    CHECK_STATUS(&status, fp_rank, TAG, sizeof(int));
    CHECK_INT(value, fp_size);
}

/* Requests freed at once: both transfers complete all the same. */
static void freed(const fp_mode_t *mode, size_t length)
{
    unsigned char *buffer = fp_alloc(length);
    MPI_Request request;

    if (0 == fp_rank) {
        fp_fill(buffer, length, fp_key(0, 1, TAG, 3));
        FP(mode->isend(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Request_free(&request));
        CHECK(MPI_REQUEST_NULL == request);
        fp_await(1, MPI_COMM_WORLD); /* tells that all has come */
        CHECK_DATA(buffer, length, fp_key(0, 1, TAG, 3));
    } else {
        volatile unsigned char *last = buffer + length;
        uint64_t key = fp_key(0, 1, TAG, 3);

        FP(MPI_Irecv(buffer, (int) length, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Request_free(&request));
        /* No status tells when it has come: a later message may overtake the
         * data of a rendezvous, so look until the bytes are there. */
        unsigned char *want = fp_alloc_filled(length, key);
        while (0 != memcmp((void *) (last - length), want, length)) {
            int flag;
            FP(MPI_Iprobe(0, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        }
        fp_free(want);
        fp_signal(0, MPI_COMM_WORLD);
    }
    fp_free(buffer);
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    if (CHECK(2 == fp_size)) {
        fp_case("nothing arrives");
        never_arrives();
        FP(MPI_Barrier(MPI_COMM_WORLD)); /* before the other side sends again */
        fp_case("after completion");
        after_completion();
        for (int i = 0; i < fp_few_size_count; i++) {
            fp_case("from the middle, %zu bytes", fp_few_sizes[i]);
            from_the_middle(fp_few_sizes[i]);
            fp_case("race with %zu bytes", fp_few_sizes[i]);
            race(fp_few_sizes[i]);
            for (int mode = FP_STANDARD; mode <= FP_SYNCHRONOUS; mode++) {
                fp_case("freed %s of %zu bytes", fp_modes[mode].name, fp_few_sizes[i]);
                freed(&fp_modes[mode], fp_few_sizes[i]);
            }
        }
    }
    return fp_finish();
}
