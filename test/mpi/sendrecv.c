/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Sendrecv and MPI_Sendrecv_replace in rings, also with oneself; messages
 * to oneself in all modes; MPI_PROC_NULL in every call. */

#include "support/fp_test.h"

enum { TAG = 101 };

/* A shift by DISTANCE ranks; 0 is a message to oneself. */
static void shift(int distance, size_t length, bool replace)
{
    int to = (fp_rank + distance) % fp_size, from = (fp_rank + fp_size - distance) % fp_size;
    uint64_t sent = fp_key(fp_rank, to, TAG + fp_rank, 0), got = fp_key(from, fp_rank, TAG + from, 0);
    unsigned char *out = fp_alloc_filled(length, sent), *in = fp_alloc(length);
    MPI_Status status;

    if (replace) {
        FP(MPI_Sendrecv_replace(out, (int) length, MPI_BYTE, to, TAG + fp_rank, from, TAG + from,
                                MPI_COMM_WORLD, &status));
        CHECK_DATA(out, length, got);
    } else {
        FP(MPI_Sendrecv(out, (int) length, MPI_BYTE, to, TAG + fp_rank, in, (int) length, MPI_BYTE, from,
                        MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        CHECK_DATA(out, length, sent);
        CHECK_DATA(in, length, got);
    }
    CHECK_STATUS(&status, from, TAG + from, length);
    fp_free(out);
    fp_free(in);
}

/* Nonblocking to oneself in every mode, the receive first or last. */
static void to_oneself(const fp_mode_t *mode, size_t length, bool receive_first)
{
    enum { COUNT = 6 };
    fp_message_t in[COUNT], out[COUNT];

    for (int i = 0; i < COUNT && receive_first; i++) {
        fp_irecv(&in[i], length, fp_rank, TAG, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < COUNT; i++) {
        fp_isend(&out[i], mode, length, fp_rank, TAG, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < COUNT; i++) {
        if (!receive_first) {
            fp_irecv(&in[i], length, fp_rank, TAG, i, MPI_COMM_WORLD);
        }
        fp_wait_recv(&in[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        fp_wait_send(&out[i]);
    }
}

static void blocking_to_oneself(size_t length)
{
    fp_message_t in;

    fp_irecv(&in, length, fp_rank, TAG, 7, MPI_COMM_WORLD);
    fp_send(&fp_modes[FP_SYNCHRONOUS], length, fp_rank, TAG, 7, MPI_COMM_WORLD);
    fp_wait_recv(&in);
    fp_irecv(&in, length, 0, TAG, 8, MPI_COMM_SELF);
    fp_send(&fp_modes[FP_STANDARD], length, 0, TAG, 8, MPI_COMM_SELF);
    fp_wait_recv(&in);
}

static void proc_null(void)
{
    char byte = 'x';
    MPI_Request requests[2];
    MPI_Status status;

    for (int mode = 0; mode < FP_MODES; mode++) {
        FP(fp_modes[mode].send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD));
        FP(fp_modes[mode].isend(&byte, 1, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[0]));
        FP(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        FP(fp_modes[mode].init(&byte, 1, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[0]));
        FP(MPI_Recv_init(&byte, 1, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[1]));
        FP(MPI_Startall(2, requests));
        FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        FP(MPI_Request_free(&requests[0]));
        FP(MPI_Request_free(&requests[1]));
    }
    FP(MPI_Recv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    FP(MPI_Irecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &requests[0]));
    FP(MPI_Wait(&requests[0], &status));
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    FP(MPI_Sendrecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, TAG, &byte, 1, MPI_BYTE, MPI_PROC_NULL, TAG,
                    MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK_INT(byte, 'x');
}

int main(int argc, char **argv)
{
    enum { ROOM = 16 << 20 };
    void *room;
    int size;

    fp_init(&argc, &argv, 1);
    FP(MPI_Buffer_attach(fp_alloc(ROOM), ROOM));
    for (int i = 0; i < fp_few_size_count; i++) {
        size_t length = fp_few_sizes[i];

        for (int distance = 0; distance < fp_size; distance++) {
            fp_case("shift by %d, %zu bytes", distance, length);
            shift(distance, length, false);
            shift(distance, length, true);
        }
        for (int mode = 0; mode < FP_MODES; mode++) {
            fp_case("%s to oneself, %zu bytes", fp_modes[mode].name, length);
            to_oneself(&fp_modes[mode], length, true);
            if (!fp_modes[mode].needs_receiver) {
                to_oneself(&fp_modes[mode], length, false);
            }
        }
        fp_case("blocking to oneself, %zu bytes", length);
        blocking_to_oneself(length);
    }
    FP(MPI_Buffer_detach(&room, &size));
    fp_free(room);
    fp_case("MPI_PROC_NULL");
    proc_null();
    return fp_finish();
}
