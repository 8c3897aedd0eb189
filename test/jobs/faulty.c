/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Makes a mistake that a sanitizer has to report: in this program, or, by what it is given, in the code
 * of pml/fastpath.  A build without sanitizers may do anything. */

#include <limits.h>

#include "support/fp_test.h"

/* Has MPI_Probe write its status to an address of the caller's. */
static void probe_into(void *status)
{
    enum { TAG = 5 };
    MPI_Request request;

    FP(MPI_Isend(NULL, 0, MPI_BYTE, fp_rank, TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Probe(fp_rank, TAG, MPI_COMM_WORLD, status));
    FP(MPI_Recv(NULL, 0, MPI_BYTE, fp_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* Has MPI_Iprobe write its flag to an address of the caller's. */
static void flag_into(void *flag)
{
    FP(MPI_Iprobe(fp_rank, 0, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    const char *what = (1 < argc) ? argv[1] : "";
    volatile int one = 1, largest = INT_MAX;
    char *block, *volatile hidden;

    fp_init(&argc, &argv, 1);
    fp_case("fault: %s", what);
    block = malloc(sizeof(MPI_Status) + 1);
    probe_into(block);
    if (0 == strcmp(what, "program-address")) {
        hidden = block; /* its size must not be known to the compiler */
        hidden[(int) sizeof(MPI_Status) + one] = 0;
    }
    if (0 == strcmp(what, "program-undefined")) {
        largest += one;
    }
    if (0 == strcmp(what, "component-address")) {
        probe_into(block + 8); /* too short by 7 bytes */
    }
    if (0 == strcmp(what, "component-undefined")) {
        flag_into(block + 1); /* misaligned */
    }
    free(block);
    return fp_finish();
}
