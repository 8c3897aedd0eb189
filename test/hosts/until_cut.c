/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Traffic between all pairs of ranks until a link is cut, which somebody else
 * does after rank 0 has printed "running"; ends by itself after LIMIT seconds.
 *
 * usage: until_cut WHAT LIMIT
 *   short    both sides send and receive short messages, one at a time
 *   long     the same with messages of 4 MiB
 *   answer   short messages, each answered before the next is sent */

#include "support/fp_test.h"

enum { TAG = 3, SHORT = 100, LONG = 4 << 20 };

static void exchange(size_t length, int round)
{
    for (int distance = 1; distance < fp_size; distance++) {
        fp_message_t in, out;

        fp_irecv(&in, length, (fp_rank + fp_size - distance) % fp_size, TAG, round, MPI_COMM_WORLD);
        fp_isend(&out, &fp_modes[FP_STANDARD], length, (fp_rank + distance) % fp_size, TAG, round,
                 MPI_COMM_WORLD);
        fp_wait_recv(&in);
        fp_wait_send(&out);
    }
}

/* Even ranks ask, odd ones answer: they are on other hosts. */
static void answer(int round)
{
    int peer = fp_rank ^ 1;

    if (fp_rank < peer && peer < fp_size) {
        fp_send(&fp_modes[FP_STANDARD], SHORT, peer, TAG, round, MPI_COMM_WORLD);
        fp_recv(SHORT, peer, TAG, round, MPI_COMM_WORLD);
    } else if (peer < fp_rank) {
        fp_recv(SHORT, peer, TAG, round, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], SHORT, peer, TAG, round, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    const char *what = (1 < argc) ? argv[1] : "short";
    double limit = (2 < argc) ? atof(argv[2]) : 5, end;
    int round = 0, more = 1;

    fp_init(&argc, &argv, 2);
    end = fp_now() + limit;
    while (more) {
        fp_case("%s, round %d", what, round);
        if (0 == strcmp(what, "answer")) {
            answer(round);
        } else {
            exchange(0 == strcmp(what, "long") ? LONG : SHORT, round);
        }
        if (0 == fp_rank && 10 == round) {
            printf("running\n");
            fflush(stdout);
        }
        if (0 == ++round % 20) {
            more = fp_now() < end;
            FP(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
        }
    }
    return fp_finish();
}
