/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* last_words [COUNT]: a child sends, calls MPI_Finalize and ends while its messages wait at the
 * parent, who looks at them later.  Those of two children, one after the other, and of one that
 * is there all the time in between. */

#include <signal.h>
#include <unistd.h>

#include "support/fp_test.h"

enum { TAG = 181 };

static size_t length_of(int i)
{
    static const size_t lengths[] = {0, 30, 100, 600, 3000};

    return lengths[i % 5];
}

static void child(MPI_Comm inter, int count)
{
    int pid = (int) getpid();

    FP(MPI_Send(&pid, 1, MPI_INT, 0, TAG, inter));
    for (int i = 0; i < count; i++) {
        fp_send(&fp_modes[FP_STANDARD], length_of(i), 0, TAG, i, inter);
    }
}

/* Without MPI, until the process has ended or a second is over: if the messages do not all have room
 * it waits for us. */
static void wait_for_end(int pid)
{
    for (int i = 0; i < 100 && 0 == kill(pid, 0); i++) {
        fp_sleep_ms(10);
    }
}

int main(int argc, char **argv)
{
    enum { CHILDREN = 3 };
    MPI_Comm inter[CHILDREN];
    char *arguments[] = {NULL, NULL};
    int count, pid[CHILDREN];

    fp_init(&argc, &argv, 1);
    count = 1 < argc ? atoi(argv[1]) : 20;
    FP(MPI_Comm_get_parent(&inter[0]));
    if (MPI_COMM_NULL != inter[0]) {
        child(inter[0], count);
        return fp_finish_child();
    }

    arguments[0] = 1 < argc ? argv[1] : NULL;
    for (int c = 0; c < CHILDREN; c++) {
        fp_case("spawn %d", c);
        FP(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter[c],
                          MPI_ERRCODES_IGNORE));
        FP(MPI_Recv(&pid[c], 1, MPI_INT, 0, TAG, inter[c], MPI_STATUS_IGNORE));
        wait_for_end(pid[c]);
    }
    for (int c = CHILDREN; 0 < c--;) {
        for (int i = 0; i < count; i++) {
            fp_case("message %d of child %d", i, c);
            fp_recv(length_of(i), 0, TAG, i, inter[c]);
        }
        /* Since Open MPI 5.0 who has two or more of these in MPI_Finalize waits there for a message
         * on each, which a child that has but one does not send. */
        FP(MPI_Comm_free(&inter[c]));
    }
    return fp_finish_alone();
}
