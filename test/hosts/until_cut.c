/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Traffic between all pairs of ranks until a link is cut, which somebody else
 * does after rank 0 has printed "running"; ends by itself after LIMIT seconds.
 * Ranks 0 and 1, 2 and 3, ... are on different hosts.
 *
 * usage: until_cut WHAT LIMIT
 *   short    both sides send and receive short messages, one at a time
 *   long     the same with messages of 4 MiB
 *   answer   short messages, each answered before the next is sent
 *   flood    even ranks send many short messages before they want an answer
 *   receive  even ranks wait for a message, odd ones compute until LIMIT and
 *            send it then
 *   wait     all wait for messages that nobody sends */

#include "support/fp_test.h"

#include <time.h>

enum { TAG = 3, SHORT = 100, KIB = 1024, LONG = 4 << 20, FLOOD = 8000 };

static double end;

static void running(void)
{
    if (0 == fp_rank) {
        printf("running\n");
        fflush(stdout);
    }
}

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

static void exchange_short(int round)
{
    exchange(SHORT, round);
}

static void exchange_long(int round)
{
    exchange(LONG, round);
}

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

static void flood(int round)
{
    int peer = fp_rank ^ 1;

    if (peer < fp_size) {
        for (int i = 0; i < FLOOD; i++) {
            if (fp_rank < peer) {
                fp_send(&fp_modes[FP_STANDARD], KIB, peer, TAG, i, MPI_COMM_WORLD);
            } else {
                fp_recv(KIB, peer, TAG, i, MPI_COMM_WORLD);
            }
        }
    }
    answer(round);
}

static void receive(int round)
{
    int peer = fp_rank ^ 1;
    const struct timespec nap = {.tv_nsec = 10000000};

    exchange(SHORT, round);
    running();
    if (peer < fp_rank) {
        while (fp_now() < end) {
            (void) nanosleep(&nap, NULL); /* not in MPI, which is what matters of computing */
        }
        fp_send(&fp_modes[FP_STANDARD], SHORT, peer, TAG, round, MPI_COMM_WORLD);
    } else if (peer < fp_size) {
        fp_recv(SHORT, peer, TAG, round, MPI_COMM_WORLD);
    }
}

static void wait_for_ever(int round)
{
    exchange(SHORT, round);
    running();
    fp_recv(SHORT, (fp_rank + 1) % fp_size, TAG + 1, round, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*step)(int round);
    int rounds; /* between questions whether it is time to end */
} kinds[] = {{"short", exchange_short, 20}, {"long", exchange_long, 5}, {"answer", answer, 20},
             {"flood", flood, 1},           {"receive", receive, 1},    {"wait", wait_for_ever, 1}};

int main(int argc, char **argv)
{
    const char *what = (1 < argc) ? argv[1] : "short";
    double limit = (2 < argc) ? atof(argv[2]) : 5;
    int round = 0, more = 1;
    size_t kind = 0;

    fp_init(&argc, &argv, 2);
    end = fp_now() + limit;
    while (0 != strcmp(what, kinds[kind].name)) {
        if (sizeof(kinds) / sizeof(kinds[0]) == ++kind) {
            fp_skip("unknown kind of traffic: %s", what);
        }
    }
    while (more) {
        fp_case("%s, round %d", what, round);
        kinds[kind].step(round);
        if (0 == ++round % kinds[kind].rounds) {
            running();
            more = fp_now() < end;
            FP(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
        }
    }
    return fp_finish();
}
