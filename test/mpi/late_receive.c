/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A process may send, finish its calls and be in MPI_Finalize long before the
 * other side receives: standard and buffered messages still arrive. */

#include "support/fp_test.h"

enum { TAG = 171, COUNT = 500, LONG = 300000 };

int main(int argc, char **argv)
{
    enum { ROOM = LONG + 1000 };

    fp_init(&argc, &argv, 2);
    fp_case("late receive");
    if (0 == fp_rank) {
        for (int i = 0; i < COUNT; i++) {
            fp_send(&fp_modes[FP_STANDARD], (size_t) (i % 30), 1, TAG, i, MPI_COMM_WORLD);
        }
        FP(MPI_Buffer_attach(fp_alloc(ROOM), ROOM));
        fp_send(&fp_modes[FP_BUFFERED], LONG, 1, TAG, COUNT, MPI_COMM_WORLD);
    } else if (1 == fp_rank) {
        fp_sleep_ms(200);
        for (int i = 0; i < COUNT; i++) {
            fp_recv((size_t) (i % 30), 0, TAG, i, MPI_COMM_WORLD);
        }
        fp_recv(LONG, 0, TAG, COUNT, MPI_COMM_WORLD);
    }
    /* No collective: rank 0 is in MPI_Finalize while rank 1 still sleeps. */
    return fp_finish_alone();
}
