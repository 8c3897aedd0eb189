/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How two processes whose instructions are counted wait for each other without being in MPI: in read() on
 * named pipes.
 */

#ifndef FASTPATH_BENCH_PIPES_H
#define FASTPATH_BENCH_PIPES_H

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

/** @return a descriptor of a named pipe of the directory; a failure ends the job */
static inline int pipes_open(const char *directory, const char *name)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    fd = open(path, O_RDWR); /* read and write, so that opening waits for nobody */
    if (fd < 0) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return fd;
}

/** Let whoever hears go on. */
static inline void pipes_tell(int fd)
{
    if (1 != write(fd, "", 1)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/** Wait until somebody tells. */
static inline void pipes_hear(int fd)
{
    char byte;

    if (1 != read(fd, &byte, 1)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

#endif /* FASTPATH_BENCH_PIPES_H */
