/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A sender writes a part of a long message for its receiver, sends other messages as well, and leaves MPI
 * when all are complete.  It comes back only when the receiver has got the long one: so whatever that needs
 * has left before, also where there was no room for it.  With "alone" there are no other messages. */

#include "support/fp_test.h"

#include <signal.h>
#include <unistd.h>

enum { TAG = 79, OTHER_TAG, LENGTH = 4 << 20, OTHERS = 60, OTHER_LENGTH = 100, ROUNDS = 30 };

static pid_t sender;
static int others = OTHERS;

static void send_all(int round)
{
    fp_message_t messages[1 + OTHERS];

    fp_isend(&messages[0], &fp_modes[FP_STANDARD], LENGTH, 1, TAG, round, MPI_COMM_WORLD);
    for (int i = 1; i <= others; i++) {
        fp_isend(&messages[i], &fp_modes[FP_STANDARD], OTHER_LENGTH, 1, OTHER_TAG, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i <= others; i++) {
        fp_wait_send(&messages[i]);
    }
    CHECK(fp_stay_outside()); /* else the long one has not come */
}

static void receive_all(int round)
{
    fp_sleep_ms(3); /* the sender waits */
    fp_recv(LENGTH, 0, TAG, round, MPI_COMM_WORLD);
    kill(sender, SIGUSR1);
    for (int i = 1; i <= others; i++) {
        fp_recv(OTHER_LENGTH, 0, OTHER_TAG, i, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    fp_outside_init();
    fp_init(&argc, &argv, 2);
    if (1 < argc && 0 == strcmp("alone", argv[1])) {
        others = 0;
    }
    sender = getpid();
    FP(MPI_Bcast(&sender, (int) sizeof(sender), MPI_BYTE, 0, MPI_COMM_WORLD));
    for (int round = 0; round < ROUNDS; round++) {
        fp_case("round %d", round);
        FP(MPI_Barrier(MPI_COMM_WORLD));
        if (0 == fp_rank) {
            send_all(round);
        } else if (1 == fp_rank) {
            receive_all(round);
        }
    }
    return fp_finish();
}
