/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* The very first thing that all ranks do is to send to all others: transports
 * that connect on first use do so in both directions at once, and have to come
 * to one connection without losing what waits for it, or its order. */

#include "support/fp_test.h"

enum { TAG = 5, COUNT = 3, RANKS = 64 };
static const size_t lengths[COUNT] = {8, 200000, 1};

int main(int argc, char **argv)
{
    static fp_message_t in[RANKS][COUNT], out[RANKS][COUNT];

    fp_init(&argc, &argv, 2);
    fp_case("first words");
    for (int i = 0; i < fp_size && i < RANKS; i++) {
        for (int k = 0; k < COUNT; k++) {
            if (i != fp_rank) {
                fp_isend(&out[i][k], &fp_modes[FP_STANDARD], lengths[k], i, TAG, k, MPI_COMM_WORLD);
            }
        }
    }
    for (int i = 0; i < fp_size && i < RANKS; i++) {
        for (int k = 0; k < COUNT; k++) {
            if (i != fp_rank) {
                fp_irecv(&in[i][k], lengths[k], i, TAG, k, MPI_COMM_WORLD);
            }
        }
    }
    for (int i = 0; i < fp_size && i < RANKS; i++) {
        for (int k = 0; k < COUNT; k++) {
            if (i != fp_rank) {
                fp_wait_recv(&in[i][k]);
                fp_wait_send(&out[i][k]);
            }
        }
    }
    return fp_finish();
}
