/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Probes for messages of two processes of another job, each before either is received. One that finds nothing
 * returns. */

#include "support/fp_test.h"

enum { TAG = 23, CHILDREN = 2, MANY = 40, ROUNDS = 30, LOOKS = 20, LATE_MS = 3 };

/* So many at first that there is a FIFO from each child to the parent. */
static void begin(MPI_Comm inter, bool parent)
{
    for (int i = 0; i < MANY; i++) {
        for (int child = 0; parent && child < CHILDREN; child++) {
            fp_recv(8, child, TAG, i, inter);
        }
        if (!parent) {
            fp_send(&fp_modes[FP_STANDARD], 8, 0, TAG, i, inter);
        }
    }
}

/* A message that is expected is probed for until it is here: how long it takes is the machine's affair. */
static void ask(int child, bool expected, MPI_Comm inter)
{
    MPI_Status status;
    int flag;

    do {
        FP(MPI_Iprobe(child, TAG, inter, &flag, &status));
    } while (expected && !flag);
    CHECK_INT(flag, expected);
}

static void parent_round(MPI_Comm inter, int round)
{
    char token = 0;

    for (int child = 0; child < CHILDREN; child++) {
        FP(MPI_Send(&token, 1, MPI_CHAR, child, TAG, inter));
    }
    fp_sleep_ms(LATE_MS); /* outside MPI: both messages are where they arrive */
    for (int child = 0; child < CHILDREN; child++) {
        ask((child + round) % CHILDREN, true, inter);
    }
    for (int child = 0; child < CHILDREN; child++) {
        fp_recv(8, child, TAG, MANY + round, inter);
    }
    for (int look = 0; look < LOOKS; look++) {
        ask(look % CHILDREN, false, inter);
    }
}

static void child_round(MPI_Comm inter, int round)
{
    char token;

    FP(MPI_Recv(&token, 1, MPI_CHAR, 0, TAG, inter, MPI_STATUS_IGNORE));
    fp_send(&fp_modes[FP_STANDARD], 8, 0, TAG, MANY + round, inter);
}

int main(int argc, char **argv)
{
    MPI_Comm inter;
    bool parent;

    fp_init(&argc, &argv, 1);
    FP(MPI_Comm_get_parent(&inter));
    parent = MPI_COMM_NULL == inter;
    if (parent) {
        FP(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                          MPI_ERRCODES_IGNORE));
    }
    begin(inter, parent);
    for (int round = 0; round < ROUNDS; round++) {
        fp_case("round %d", round);
        if (parent) {
            parent_round(inter, round);
        } else {
            child_round(inter, round);
        }
    }
    fp_case("part");
    fp_disconnect(&inter);
    if (!parent) { /* only the parent speaks; a child that failed says so by itself */
        fclose(stdout);
    }
    return fp_finish();
}
