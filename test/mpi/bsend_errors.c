/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A buffered send that does not fit is MPI_ERR_BUFFER, sends nothing and leaves
 * the pair usable.  (Messages that go out at once need no buffer, so these are
 * long.  Stock ob1 loses a sequence number here and hangs.) */

#include "support/fp_test.h"

enum { TAG = 3, LENGTH = 300000, ROUNDS = 3 };

/* Attaches room for SIZE bytes, unless that is 0, and tries one send that
 * must fail. */
static void refused(const void *data, int size)
{
    MPI_Request request = MPI_REQUEST_NULL;
    void *buffer = NULL;

    if (0 < size) {
        buffer = fp_alloc((size_t) size);
        FP(MPI_Buffer_attach(buffer, size));
    }
    FP_ERROR(MPI_ERR_BUFFER, MPI_Bsend(data, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    FP_ERROR(MPI_ERR_BUFFER, MPI_Ibsend(data, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    if (0 < size) {
        FP(MPI_Buffer_detach(&buffer, &size));
        fp_free(buffer);
    }
}

/* A persistent one starts once there is room, after a start for which there was none. */
static void refused_and_started(int size)
{
    unsigned char *data = fp_alloc(LENGTH);
    void *buffer = fp_alloc((size_t) size);
    MPI_Request request;

    fp_fill(data, LENGTH, fp_key(0, 1, TAG, 0));
    FP(MPI_Bsend_init(data, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(MPI_SUCCESS != MPI_Start(&request)); /* Open MPI returns a code of its own here */
        FP(MPI_Buffer_attach(buffer, size));
        FP(MPI_Start(&request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        FP(MPI_Buffer_detach(&buffer, &size));
    }
    FP(MPI_Request_free(&request));
    fp_free(buffer);
    fp_free(data);
}

int main(int argc, char **argv)
{
    int size = LENGTH + MPI_BSEND_OVERHEAD;

    fp_init(&argc, &argv, 2);
    for (int i = 0; i < ROUNDS; i++) {
        fp_case("round %d", i);
        if (0 == fp_rank) {
            void *data = fp_alloc(LENGTH), *buffer = fp_alloc((size_t) size);

            refused(data, 0);
            refused(data, LENGTH - 1);
            FP(MPI_Buffer_attach(buffer, size));
            fp_send(&fp_modes[FP_BUFFERED], LENGTH, 1, TAG, i, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG, i, MPI_COMM_WORLD);
            FP(MPI_Buffer_detach(&buffer, &size));
            fp_free(buffer);
            fp_free(data);
        } else if (1 == fp_rank) {
            fp_recv(LENGTH, 0, TAG, i, MPI_COMM_WORLD);
            fp_recv(8, 0, TAG, i, MPI_COMM_WORLD);
        }
    }
    fp_case("persistent");
    if (0 == fp_rank) {
        refused_and_started(size);
    } else if (1 == fp_rank) {
        for (int i = 0; i < ROUNDS; i++) {
            fp_recv(LENGTH, 0, TAG, 0, MPI_COMM_WORLD);
        }
    }
    return fp_finish();
}
