/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A child sends to its parent, who looks at that later, and leaves MPI for long. What it has sent has left as a
 * whole, or the call does not return. */

#include <signal.h>
#include <unistd.h>

#include "support/fp_test.h"

enum { TAG = 183, MESSAGES = 3 };

static const size_t lengths[] = {0, 30, 100, 300, 500, 560, 3000};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static void child(MPI_Comm inter)
{
    pid_t pid = getpid();

    FP(MPI_Send(&pid, (int) sizeof(pid), MPI_BYTE, 0, TAG, inter));
    for (int i = 0; i < LENGTHS; i++) {
        fp_case("%zu bytes", lengths[i]);
        fp_await(0, inter);
        for (int k = 0; k < MESSAGES; k++) {
            fp_send(&fp_modes[FP_STANDARD], lengths[i], 0, TAG, k, inter);
        }
        CHECK(fp_stay_outside());
    }
}

static void parent(MPI_Comm inter)
{
    pid_t pid;

    FP(MPI_Recv(&pid, (int) sizeof(pid), MPI_BYTE, 0, TAG, inter, MPI_STATUS_IGNORE));
    for (int i = 0; i < LENGTHS; i++) {
        fp_case("%zu bytes", lengths[i]);
        fp_signal(0, inter);
        fp_sleep_ms(50);
        for (int k = 0; k < MESSAGES; k++) {
            fp_recv(lengths[i], 0, TAG, k, inter);
        }
        kill(pid, SIGUSR1);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm inter;

    fp_outside_init();
    fp_init(&argc, &argv, 1);
    FP(MPI_Comm_get_parent(&inter));
    if (MPI_COMM_NULL != inter) {
        child(inter);
        return fp_finish_child();
    }
    FP(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                      MPI_ERRCODES_IGNORE));
    parent(inter);
    FP(MPI_Comm_free(&inter));
    return fp_finish_alone();
}
