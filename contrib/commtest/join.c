/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "join.h"

#include <mpi.h>
#include <unistd.h>

enum { NAP_US = 1000 };

void commtest_join(bool idle)
{
    MPI_Request request;
    int done = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (!idle) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        usleep(NAP_US);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}
