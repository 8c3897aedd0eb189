/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * Each rank prints "segment RANK BYTES" for the file of its own shared segment.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mpi.h>

/* The only file of ours that a process keeps open is its own segment; 0 when there is not exactly one. */
static long long own_segment(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    long long bytes = 0;
    int found = 0;

    while (NULL != dir && NULL != (entry = readdir(dir))) {
        char target[256] = "";
        struct stat status;

        if (0 < readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1)
            && NULL != strstr(target, "fastsm") && 0 == fstatat(dirfd(dir), entry->d_name, &status, 0)) {
            bytes = (long long) status.st_size;
            ++found;
        }
    }
    if (NULL != dir) {
        closedir(dir);
    }
    return 1 == found ? bytes : 0;
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("segment %d %lld\n", rank, own_segment());
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
