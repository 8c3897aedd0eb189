/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Threads that wait for each other outside MPI by looking again and again, as MPICH's tests do, beside one
 * that waits in MPI: to give the core to them costs time slices, and nothing is gained. Where there are more
 * threads than cores that has to be found out, or the rounds take minutes. */

#include <pthread.h>

#include "support/fp_test.h"

enum { THREADS = 4, ROUNDS = 8, EXCHANGES = 400, TAG = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int here, turn; /* protected by it */

static int turn_now(void)
{
    int now;

    pthread_mutex_lock(&lock);
    now = turn;
    pthread_mutex_unlock(&lock);
    return now;
}

/* All threads of this process. */
static void meet(int round)
{
    pthread_mutex_lock(&lock);
    if (THREADS == ++here) {
        here = 0;
        turn++;
    }
    pthread_mutex_unlock(&lock);
    while (round == turn_now()) {
    }
}

static void send_and_receive(int value)
{
    const int other = 1 - fp_rank;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int got = -1;

    FP(MPI_Isend(&value, 1, MPI_INT, other, TAG, MPI_COMM_WORLD, &request));
    FP(MPI_Mprobe(other, TAG, MPI_COMM_WORLD, &message, &status));
    FP(MPI_Mrecv(&got, 1, MPI_INT, &message, &status));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(got, value);
}

static void *run(void *number)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (round % THREADS == *(int *) number) {
            for (int i = 0; i < EXCHANGES; i++) {
                send_and_receive(i);
            }
            FP(MPI_Barrier(MPI_COMM_WORLD));
        }
        meet(round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];

    if (MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
        fp_skip("no MPI_THREAD_MULTIPLE");
    }
    fp_case("rounds");
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK_INT(pthread_create(&threads[i], NULL, run, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    }
    return fp_finish();
}
