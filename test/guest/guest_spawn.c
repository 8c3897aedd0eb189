/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * guest_spawn COUNT [NAME=VALUE ...]: COUNT children, one after the other and each in a job of its own, with this
 * in their environment.  The last one is expected to fail when there are settings; with a message or two
 * otherwise.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int talk(MPI_Comm inter)
{
    static char buffer[100000];
    int rc = MPI_SUCCESS;

    for (int size = 1; size <= (int) sizeof(buffer) && MPI_SUCCESS == rc; size *= 10) {
        rc = MPI_Sendrecv_replace(buffer, size, MPI_BYTE, 0, 1, 0, 1, inter, MPI_STATUS_IGNORE);
    }
    return rc;
}

int main(int argc, char **argv)
{
    MPI_Comm parent, child;
    int rc = MPI_SUCCESS, count;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (MPI_COMM_NULL != parent) {
        rc = talk(parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return MPI_SUCCESS == rc ? 0 : 1;
    }

    count = 1 < argc ? atoi(argv[1]) : 1;
    for (int i = 2; i < argc; ++i) {
        putenv(argv[i]);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < count && MPI_SUCCESS == rc; ++i) {
        rc = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child,
                            MPI_ERRCODES_IGNORE);
        if (MPI_SUCCESS == rc) {
            rc = talk(child);
        }
        puts(MPI_SUCCESS == rc ? "spawned" : "spawn failed");
        fflush(stdout);
    }
    if (MPI_SUCCESS != rc) {
        MPI_Abort(MPI_COMM_WORLD, 3); /* the child waits for us */
    }
    /* children that talked wait to be parted with; all end together, without a word to each other */
    MPI_Abort(MPI_COMM_WORLD, 4);
    return 4;
}
