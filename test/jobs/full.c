/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * full FILE [late]: after MPI_Init rank 0 fills the file system of FILE, then all send each other messages.
 *
 * late: they do not before rank 0 has removed FILE again.  Until then it looks for a message of the last
 * rank's, which has sent none so far.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

enum { LONG = 100000, LOOKS = 1000 };

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
    close(fd);
}

/* Rank 0 looks at a sender's slots while nothing is there, nor any memory left. */
static void look(int rank, int last, const char *name, const char *looked)
{
    int there = 0, number = 0;
    MPI_Request request;

    while (0 != rank && 0 != access(looked, F_OK)) {
        usleep(1000);
    }
    if (0 == rank) {
        MPI_Irecv(&number, 1, MPI_INT, last, 7, MPI_COMM_WORLD, &request);
        for (int i = 0; i < LOOKS; ++i) {
            MPI_Iprobe(last, 8, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
            MPI_Test(&request, &there, MPI_STATUS_IGNORE);
        }
        unlink(name);
        close(open(looked, O_WRONLY | O_CREAT, 0600));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(&number, 1, MPI_INT, last, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (last == rank) {
        MPI_Send(&number, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
        MPI_Send(&number, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    }
}

/* Rank 0 knows the last one before that. */
static void meet(int rank, int last)
{
    int number = 0;

    if (0 == rank) {
        MPI_Send(&number, 1, MPI_INT, last, 9, MPI_COMM_WORLD);
    } else if (last == rank) {
        MPI_Recv(&number, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static char out[LONG], in[LONG];
    char looked[256];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (3 == argc) {
        meet(rank, size - 1);
        snprintf(looked, sizeof(looked), "%s.looked", argv[1]);
    }
    if (0 == rank && 2 <= argc) {
        fill(argv[1]);
        printf("full\n");
        fflush(stdout);
    }
    if (3 == argc) {
        look(rank, size - 1, argv[1], looked);
    }
    for (int length = 1; length < LONG; length *= 10) {
        for (int distance = 1; distance < size; ++distance) {
            MPI_Sendrecv(out, length, MPI_CHAR, (rank + distance) % size, 7, in, length, MPI_CHAR,
                         (rank + size - distance) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (0 == rank && 3 == argc) {
        unlink(looked);
    }
    if (0 == rank) {
        printf("No errors\n");
    }
    MPI_Finalize();
    return 0;
}
