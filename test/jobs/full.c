/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * full FILE: after MPI_Init rank 0 fills the file system of FILE, then all send each other messages.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

enum { LONG = 100000 };

static void fill(const char *name)
{
    static char zeros[65536];
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    size_t piece = sizeof(zeros);

    while (-1 != fd && 0 < piece) {
        if ((ssize_t) piece != write(fd, zeros, piece)) {
            piece /= 2;
        }
    }
}

int main(int argc, char **argv)
{
    static char out[LONG], in[LONG];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (0 == rank && 2 == argc) {
        fill(argv[1]);
        printf("full\n");
        fflush(stdout);
    }
    for (int length = 1; length < LONG; length *= 10) {
        for (int distance = 1; distance < size; ++distance) {
            MPI_Sendrecv(out, length, MPI_CHAR, (rank + distance) % size, 7, in, length, MPI_CHAR,
                         (rank + size - distance) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (0 == rank) {
        printf("No errors\n");
    }
    MPI_Finalize();
    return 0;
}
