/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_ANY_SOURCE on communicators that come and go: what a receive has learned of the senders of one
 * communicator must not be believed of the next one, which may be smaller and lie in the same memory. */

#include "support/fp_test.h"

enum { TAG = 21, ROUNDS = 24, STREAK = 12 };

/* The last rank plays ping-pong with rank 0, which does not ask who it is. */
static void exchange(MPI_Comm comm, int round)
{
    int rank, size, token = 0;

    FP(MPI_Comm_rank(comm, &rank));
    FP(MPI_Comm_size(comm, &size));
    for (int i = 0; i < STREAK; i++) {
        if (0 == rank) {
            MPI_Status status;

            FP(MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &status));
            CHECK_STATUS(&status, size - 1, TAG, sizeof(token));
            CHECK_INT(token, round + i);
            FP(MPI_Send(&token, 1, MPI_INT, size - 1, TAG, comm));
        } else if (size - 1 == rank) {
            token = round + i;
            FP(MPI_Send(&token, 1, MPI_INT, 0, TAG, comm));
            FP(MPI_Recv(&token, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
        }
    }
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 4);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm large, small;
        const bool inside = 2 > fp_rank;

        fp_case("round %d, %d ranks", round, fp_size);
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &large));
        exchange(large, round);
        FP(MPI_Comm_free(&large));
        fp_case("round %d, 2 ranks in memory of %d", round, fp_size);
        FP(MPI_Comm_split(MPI_COMM_WORLD, inside ? 0 : MPI_UNDEFINED, fp_rank, &small));
        if (inside) {
            exchange(small, round);
            FP(MPI_Comm_free(&small));
        }
    }
    return fp_finish();
}
