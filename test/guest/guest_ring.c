/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A small job that uses every protocol once: messages of several sizes go round a ring and are checked.
 */

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { LARGEST = 1 << 20 };

static unsigned char out[LARGEST];
static unsigned char in[LARGEST];

static int wrong_bytes(size_t size, unsigned char expected)
{
    int wrong = 0;

    for (size_t i = 0; i < size; ++i) {
        wrong += in[i] != (unsigned char) (expected + i);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0, 1, 8, 40, 41, 300, 4000, 5000, 40000, 200000, LARGEST};
    int rank, np, wrong = 0, all_wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        const int left = (rank + np - 1) % np, right = (rank + 1) % np;

        for (size_t i = 0; i < sizes[s]; ++i) {
            out[i] = (unsigned char) (rank + i);
        }
        memset(in, 0xff, sizes[s]);
        MPI_Sendrecv(out, (int) sizes[s], MPI_BYTE, right, 3, in, (int) sizes[s], MPI_BYTE, left, 3,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += wrong_bytes(sizes[s], (unsigned char) left);
    }
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (0 == rank) {
        puts(0 == all_wrong ? "ring ok" : "ring wrong");
    }
    MPI_Finalize();
    return 0 != all_wrong;
}
