/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Every size in fp_sizes, blocking and nonblocking, into a waiting receive and
 * as an unexpected message, between ranks 0 and 1, and to oneself. */

#include "support/fp_test.h"

enum { TAG = 7 };

/* The receive is posted before rank 1 lets rank 0 send. */
static void expected(size_t length, int sequence)
{
    fp_message_t message;

    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, sequence, MPI_COMM_WORLD);
    } else {
        fp_irecv(&message, length, 0, TAG, sequence, MPI_COMM_WORLD);
        fp_signal(0, MPI_COMM_WORLD);
        fp_wait_recv(&message);
    }
}

/* A later message has arrived before the receive is posted. */
static void unexpected(size_t length, int sequence)
{
    fp_message_t message;

    if (0 == fp_rank) {
        fp_isend(&message, &fp_modes[FP_STANDARD], length, 1, TAG, sequence, MPI_COMM_WORLD);
        fp_signal(1, MPI_COMM_WORLD);
        fp_wait_send(&message);
    } else {
        fp_await(0, MPI_COMM_WORLD);
        fp_recv(length, 0, TAG, sequence, MPI_COMM_WORLD);
    }
}

/* Both directions at once, nothing but MPI_Send and MPI_Recv on one side. */
static void crossing(size_t length, int sequence)
{
    fp_message_t out, in;
    int peer = 1 - fp_rank;

    fp_isend(&out, &fp_modes[FP_STANDARD], length, peer, TAG, sequence, MPI_COMM_WORLD);
    fp_irecv(&in, length, peer, TAG, sequence, MPI_COMM_WORLD);
    fp_wait_recv(&in);
    fp_wait_send(&out);
}

static void to_oneself(size_t length, int sequence)
{
    fp_message_t out, in;

    fp_isend(&out, &fp_modes[FP_STANDARD], length, fp_rank, TAG, sequence, MPI_COMM_WORLD);
    fp_irecv(&in, length, fp_rank, TAG, sequence, MPI_COMM_WORLD);
    fp_wait_recv(&in);
    fp_wait_send(&out);
}

/* The largest tag there is, and 0. */
static void extreme_tags(void)
{
    int *bound = NULL, flag = 0;

    FP(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag));
    if (!CHECK(flag && NULL != bound)) {
        return;
    }
    for (int i = 0; i < fp_few_size_count; i++) {
        if (0 == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], fp_few_sizes[i], 1, 0, i, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], fp_few_sizes[i], 1, *bound, i, MPI_COMM_WORLD);
        } else {
            fp_message_t message;

            fp_irecv(&message, fp_few_sizes[i], 0, *bound, i, MPI_COMM_WORLD);
            fp_recv(fp_few_sizes[i], 0, 0, i, MPI_COMM_WORLD);
            fp_wait_recv(&message);
        }
    }
}

/* The receive buffer is larger than the message. */
static void shorter(size_t length, int sequence)
{
    size_t capacity = length + 100;
    unsigned char *buffer;
    MPI_Status status;

    if (0 == fp_rank) {
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, sequence, MPI_COMM_WORLD);
        return;
    }
    buffer = fp_alloc(capacity);
    FP(MPI_Recv(buffer, (int) capacity, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, 0, TAG, length);
    CHECK_DATA(buffer, length, fp_key(0, 1, TAG, sequence));
    CHECK_POISON(buffer + length, capacity - length);
    fp_free(buffer);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(size_t length, int sequence);
    } cases[] = {{"expected", expected},
                 {"unexpected", unexpected},
                 {"crossing", crossing},
                 {"to oneself", to_oneself},
                 {"shorter than the buffer", shorter}};
    int count = (int) (sizeof(cases) / sizeof(cases[0]));

    fp_init(&argc, &argv, 2);
    for (int i = 0; i < fp_size_count && 1 >= fp_rank; i++) {
        for (int k = 0; k < count; k++) {
            fp_case("%s, %zu bytes", cases[k].name, fp_sizes[i]);
            cases[k].run(fp_sizes[i], i * count + k);
        }
    }
    fp_case("extreme tags");
    if (1 >= fp_rank) {
        extreme_tags();
    }
    return fp_finish();
}
