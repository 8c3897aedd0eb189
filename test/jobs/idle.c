/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Some traffic between all pairs of ranks, then waits to be killed.  Each rank
 * prints "ready PID". */

#include "support/fp_test.h"

#include <unistd.h>

enum { TAG = 1 };

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 1);
    for (int i = 0; i < fp_few_size_count; i++) {
        for (int distance = 0; distance < fp_size; distance++) {
            fp_message_t message;

            fp_irecv(&message, fp_few_sizes[i], (fp_rank + fp_size - distance) % fp_size, TAG, i,
                     MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], fp_few_sizes[i], (fp_rank + distance) % fp_size, TAG, i,
                    MPI_COMM_WORLD);
            fp_wait_recv(&message);
        }
    }
    printf("ready %ld\n", (long) getpid());
    fflush(stdout);
    fp_await(MPI_ANY_SOURCE, MPI_COMM_WORLD); /* which nobody sends */
    return fp_finish();
}
