/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* For valgrind: N rounds of sends, receives, probes and truncated receives of
 * all sizes between two ranks.  Memory lost per message shows as a difference
 * between N and 2 N rounds.
 *
 * usage: traffic N */

#include "support/fp_test.h"

enum { TAG = 5 };

static void exchange(size_t length, int round)
{
    int peer = 1 - fp_rank;
    fp_message_t in, out;
    MPI_Status status;
    unsigned char *small;

    /* expected and unexpected */
    fp_irecv(&in, length, peer, TAG, round, MPI_COMM_WORLD);
    fp_isend(&out, &fp_modes[round % 2], length, peer, TAG, round, MPI_COMM_WORLD);
    fp_wait_recv(&in);
    fp_wait_send(&out);
    /* probed, matched and cancelled */
    fp_isend(&out, &fp_modes[FP_STANDARD], length, peer, TAG, round, MPI_COMM_WORLD);
    FP(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, peer, TAG, length);
    fp_recv(length, peer, TAG, round, MPI_COMM_WORLD);
    fp_wait_send(&out);
    fp_irecv(&in, length, peer, TAG + 1, round, MPI_COMM_WORLD);
    FP(MPI_Cancel(&in.request));
    FP(MPI_Wait(&in.request, MPI_STATUS_IGNORE));
    fp_free(in.buffer);
    /* truncated */
    if (0 < length) {
        MPI_Message message;

        small = fp_alloc(length / 2);
        fp_isend(&out, &fp_modes[FP_STANDARD], length, peer, TAG, round, MPI_COMM_WORLD);
        FP_ERROR(MPI_ERR_TRUNCATE,
                 MPI_Recv(small, (int) (length / 2), MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &status));
        fp_wait_send(&out);
        fp_isend(&out, &fp_modes[FP_STANDARD], length, peer, TAG, round, MPI_COMM_WORLD);
        FP(MPI_Mprobe(peer, TAG, MPI_COMM_WORLD, &message, &status));
        FP_ERROR(MPI_ERR_TRUNCATE, MPI_Mrecv(small, (int) (length / 2), MPI_BYTE, &message, &status));
        fp_wait_send(&out);
        fp_free(small);
    }
}

int main(int argc, char **argv)
{
    int rounds = (1 < argc) ? atoi(argv[1]) : 10;

    fp_init(&argc, &argv, 2);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < fp_few_size_count; i++) {
            fp_case("round %d, %zu bytes", round, fp_few_sizes[i]);
            exchange(fp_few_sizes[i], round);
        }
    }
    return fp_finish();
}
