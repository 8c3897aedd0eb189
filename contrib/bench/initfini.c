/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * MPI_Init and MPI_Finalize, and nothing in between.  Each process prints one line when it is through:
 *
 *     startup BEGIN INITIALIZED END CPU
 *
 * The first three are times of CLOCK_MONOTONIC in microseconds, which all processes of a machine share:
 * before MPI_Init, after it, and after MPI_Finalize.  CPU are the microseconds of processor time between the
 * first and the last.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/* of all threads of this process */
static long long cpu(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec
           + usage.ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
    const long long cpu_before = cpu(), begin = now();
    long long initialized, end;

    MPI_Init(&argc, &argv);
    initialized = now();
    MPI_Finalize();
    end = now();
    printf("startup %lld %lld %lld %lld\n", begin, initialized, end, cpu() - cpu_before);
    return EXIT_SUCCESS;
}
