/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Cancel with MPI_THREAD_MULTIPLE: threads that cancel sends while those of
 * the other side receive or probe, and threads that wait for what others cancel. */

#include "support/fp_test.h"

#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 150, TAG = 300, STOP = 299 };

static _Atomic int received[THREADS][ROUNDS];
static int taken_back[THREADS][ROUNDS];

static size_t length_of(int round)
{
    return 8 + fp_few_sizes[round % fp_few_size_count];
}

/* Sends numbers and takes them back at once or a little later. */
static void canceller(int index)
{
    for (int round = 0; round < ROUNDS; round++) {
        int *words = fp_alloc(length_of(round));
        MPI_Request request;
        MPI_Status status;
        int flag;

        fp_case("thread %d, round %d", index, round);
        words[0] = index;
        words[1] = round;
        FP((0 == round % 2 ? MPI_Isend : MPI_Issend)(words, (int) length_of(round), MPI_BYTE, 1, TAG + index,
                                                     MPI_COMM_WORLD, &request));
        for (int spin = 0; spin < round % 16; spin++) {
            FP(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
        }
        FP(MPI_Cancel(&request));
        FP(MPI_Wait(&request, &status));
        taken_back[index][round] = fp_was_cancelled(&status);
        fp_free(words);
    }
    FP(MPI_Send(NULL, 0, MPI_BYTE, 1, STOP, MPI_COMM_WORLD));
}

/* Receives what is not taken back: the even threads by receives, the odd ones by matched probes. */
static void receiver(int index)
{
    size_t room = length_of(fp_few_size_count - 1);
    int *words = fp_alloc(room);
    MPI_Status status;

    do {
        if (0 == index % 2) {
            FP(MPI_Recv(words, (int) room, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        } else {
            MPI_Message message;

            FP(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
            FP(MPI_Mrecv(words, (int) room, MPI_BYTE, &message, &status));
        }
        if (STOP != status.MPI_TAG
            && CHECK(words[0] >= 0 && words[0] < THREADS && words[1] >= 0 && words[1] < ROUNDS)) {
            CHECK_INT(status.MPI_TAG, TAG + words[0]);
            CHECK_STATUS(&status, 0, TAG + words[0], length_of(words[1]));
            atomic_fetch_add(&received[words[0]][words[1]], 1);
        }
    } while (STOP != status.MPI_TAG);
    fp_free(words);
}

/* Each message was received once or taken back. */
static void both_agree(void)
{
    int cancelled = 0, at_receiver[THREADS][ROUNDS];

    if (1 == fp_rank) {
        FP(MPI_Send(received, THREADS * ROUNDS, MPI_INT, 0, TAG, MPI_COMM_WORLD));
        return;
    }
    FP(MPI_Recv(at_receiver, THREADS * ROUNDS, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < THREADS; i++) {
        for (int round = 0; round < ROUNDS; round++) {
            CHECK_INT(at_receiver[i][round] + taken_back[i][round], 1);
            cancelled += taken_back[i][round];
        }
    }
    printf("# %d of %d sends were cancelled\n", cancelled, THREADS * ROUNDS);
}

/* Half of the threads wait for requests that nobody will match, the others cancel them. */
static MPI_Request requests[THREADS];
static _Atomic int waiting[THREADS];

static void wait_or_cancel(int index)
{
    enum { LENGTH = 100000 };
    int mine = index / 2;

    for (int round = 0; round < ROUNDS; round++) {
        fp_case("thread %d, round %d", index, round);
        if (0 == index % 2) {
            unsigned char *buffer = fp_alloc_filled(LENGTH, 1);
            MPI_Status status;

            if (0 == round % 2) {
                FP(MPI_Issend(buffer, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[mine]));
            } else {
                FP(MPI_Irecv(buffer, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[mine]));
            }
            MPI_Request request = requests[mine];
            atomic_store(&waiting[mine], 1);
            FP(MPI_Wait(&request, &status));
            CHECK(fp_was_cancelled(&status));
            fp_free(buffer);
            while (0 != atomic_load(&waiting[mine])) {
                sched_yield();
            }
        } else {
            while (1 != atomic_load(&waiting[mine])) {
                sched_yield();
            }
            for (int spin = 0; spin < round % 8; spin++) {
                sched_yield(); /* so that the other one has gone to sleep, or not yet */
            }
            FP(MPI_Cancel(&requests[mine]));
            atomic_store(&waiting[mine], 0);
        }
    }
}

int main(int argc, char **argv)
{
    if (MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
        fp_skip("no MPI_THREAD_MULTIPLE");
    }
    if (1 >= fp_rank) {
        fp_case("cancel against receive");
        fp_run_threads(THREADS, 0 == fp_rank ? canceller : receiver);
        both_agree();
        fp_case("cancel what another thread waits for");
        if (0 == fp_rank) {
            fp_run_threads(THREADS, wait_or_cancel);
        }
    }
    return fp_finish();
}
