/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Several of the programs here in one job, one after the other.
 *
 * Usage: mpirun -np N several PROGRAM [OPTION ...] [then PROGRAM [OPTION ...]] ...
 *
 * PROGRAM  allpairs, pingpong, ragged or rings
 */

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"

static const struct {
    const char *name;
    void (*run)(int argc, char **argv);
} parts[] = {{"allpairs", bench_allpairs},
             {"pingpong", bench_pingpong},
             {"ragged", bench_ragged},
             {"rings", bench_rings}};

static void run(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i) {
        if (0 < argc && 0 == strcmp(parts[i].name, argv[0])) {
            optind = 1;
            parts[i].run(argc, argv);
            return;
        }
    }
    fprintf(stderr, "usage: mpirun -np N several PROGRAM [OPTION ...] [then PROGRAM [OPTION ...]] ...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv)
{
    cpu_set_t processors;
    int begin = 1;

    MPI_Init(&argc, &argv);
    sched_getaffinity(0, sizeof(processors), &processors);
    for (int end = 1; end <= argc; ++end) {
        if (end == argc || 0 == strcmp("then", argv[end])) {
            char *next = argv[end];

            argv[end] = NULL; /* as behind the last option of a command line */
            run(end - begin, argv + begin);
            argv[end] = next;
            sched_setaffinity(0, sizeof(processors), &processors); /* which it may have changed */
            begin = end + 1;
        }
    }
    MPI_Finalize();
    return 0;
}
