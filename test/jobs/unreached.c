/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Rank 0 sends to rank 1, which no transport sends to, and wants errors back: there is no request then, and
 * those that are made later are sound.  Ends the job, as nobody could finish it. */

#include "support/fp_test.h"

enum { TAG = 7 };

int main(int argc, char **argv)
{
    int number = 1, received = 0;
    MPI_Request requests[2], refused = MPI_REQUEST_NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &fp_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (0 == fp_rank) {
        CHECK(MPI_SUCCESS != MPI_Isend(&number, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &refused));
        CHECK(MPI_REQUEST_NULL == refused);
        MPI_Irecv(&received, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(&number, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_INT(received, number);
        puts(MPI_REQUEST_NULL == refused ? "no request" : "a request");
        fflush(stdout);
    } else {
        fp_sleep_ms(1000000);
    }
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}
