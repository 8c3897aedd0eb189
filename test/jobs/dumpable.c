/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * dumpable RANKS [WHO]: the ranks of MPI_COMM_WORLD whose numbers are in RANKS, a list with commas (or
 * "none", or "all"), make themselves non-dumpable before MPI_Init, so that other processes of the same user
 * may not open what is in their /proc/PID/fd.  Then everybody exchanges messages of several sizes with
 * everybody.
 *
 * With WHO the job also spawns as many processes as it has, which do the same with those of the first job:
 * WHO says in which job RANKS applies, "parents" or "children".
 */

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "support/fp_test.h"

static bool is_named(const char *list, const char *rank)
{
    const size_t length = strlen(rank);

    if (0 == strcmp("all", list)) {
        return true;
    }
    while (NULL != list) {
        if (0 == strncmp(list, rank, length) && (',' == list[length] || '\0' == list[length])) {
            return true;
        }
        list = strchr(list, ',');
        list = NULL == list ? NULL : list + 1;
    }
    return false;
}

static void exchange_with(MPI_Comm comm, int peer, int size)
{
    char *out = fp_alloc((size_t) size), *in = fp_alloc((size_t) size);
    MPI_Request requests[2];
    MPI_Status status[2];

    fp_fill(out, (size_t) size, (uint64_t) size);
    FP(MPI_Irecv(in, size, MPI_BYTE, peer, 7, comm, &requests[0]));
    FP(MPI_Isend(out, size, MPI_BYTE, peer, 7, comm, &requests[1]));
    FP(MPI_Waitall(2, requests, status));
    CHECK_STATUS(&status[0], peer, 7, (size_t) size);
    CHECK_DATA(in, (size_t) size, (uint64_t) size);
    fp_free(in);
    fp_free(out);
}

/* In each round everybody has one peer: the sum of both numbers is that of the round. */
static void exchange(MPI_Comm comm, const char *what, int peers)
{
    static const int sizes[] = {0, 8, 1000, 20000, 300000};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        fp_case("%s, %d bytes", what, sizes[i]);
        for (int round = 0; round < peers; ++round) {
            exchange_with(comm, (peers + round - fp_rank) % peers, sizes[i]);
        }
    }
}

static void meet_children(char *program, char *ranks)
{
    char *arguments[] = {ranks, "child", NULL};
    MPI_Comm children;

    fp_case("spawn");
    FP(MPI_Comm_spawn(program, arguments, fp_size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                      MPI_ERRCODES_IGNORE));
    exchange(children, "parents and children", fp_size);
    FP(MPI_Barrier(children));
    fp_disconnect(&children);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const bool spawns = 3 == argc && 0 != strcmp("child", argv[2]);
    const bool children = spawns && 0 == strcmp("children", argv[2]);
    MPI_Comm parents;

    if (2 > argc || 3 < argc || NULL == rank) {
        fprintf(stderr, "usage: mpirun ... dumpable RANKS [parents|children]\n");
        return EXIT_FAILURE;
    }
    if (!children && is_named(argv[1], rank)) {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    fp_init(&argc, &argv, 1);
    FP(MPI_Comm_get_parent(&parents));
    exchange(MPI_COMM_WORLD, "everybody", fp_size);
    if (MPI_COMM_NULL != parents) {
        exchange(parents, "children and parents", fp_size);
        FP(MPI_Barrier(parents));
        fp_disconnect(&parents);
    } else if (spawns) {
        meet_children(argv[0], children ? argv[1] : "none");
    }
    return fp_finish();
}
