/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* waiting DIRECTORY: 2 ranks with receives that nobody sends to and sends that
 * nobody receives, in two communicators. Rank R writes them to DIRECTORY/R, in
 * the format of msgq.c, waits for the file DIRECTORY/go, and clears up. */

#include "support/fp_test.h"

#include <sys/prctl.h>
#include <unistd.h>

enum {
    RECEIVES = 100, /* more than the lists of requests have at first */
    SENDS = 5,
    TAG = 1000,
    NEVER_SENT = 5000,
    DONE = 9000,
    LARGE = 1 << 20,
    COUNT = 2 * (RECEIVES + SENDS),
};

static MPI_Request receives[2 * RECEIVES], sends[2 * SENDS];
static int send_tags[2 * SENDS];
static int receive_buffers[2 * RECEIVES][2 * RECEIVES];
static char *send_buffer;
static FILE *list;

static void note(MPI_Comm comm, const char *what, int peer, int tag, const void *buffer, size_t bytes)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;

    FP(MPI_Comm_get_name(comm, name, &length));
    /* There are two ranks, and the second communicator has them the other way round. */
    fprintf(list, "%s %s %d %d %d 0x%lx %zu\n", name, what, peer,
            peer < 0 || MPI_COMM_WORLD == comm ? peer : 1 - peer, tag, (unsigned long) buffer, bytes);
}

/** Receives of rising length, with wildcards here and there. */
static void post(MPI_Comm comm, int first)
{
    int rank;

    FP(MPI_Comm_rank(comm, &rank));
    for (int i = first; i < first + RECEIVES; i++) {
        int tag = 3 == i % 7 ? MPI_ANY_TAG : NEVER_SENT + i;
        int peer = 2 == i % 5 ? MPI_ANY_SOURCE : 1 - rank;

        /* Both wild would take what others are for. */
        if (MPI_ANY_TAG == tag) {
            peer = rank;
        }
        FP(MPI_Irecv(receive_buffers[i], i, MPI_INT, peer, tag, comm, &receives[i]));
        note(comm, "receive pending", peer, tag, receive_buffers[i], (size_t) i * sizeof(int));
    }
}

static void send(MPI_Comm comm, int first)
{
    int rank;

    FP(MPI_Comm_rank(comm, &rank));
    for (int i = first; i < first + SENDS; i++) {
        /* short and synchronous, or long in either mode */
        int length = 0 == i % 3 ? i : LARGE + i;

        send_tags[i] = TAG + i;
        if (0 == i % 3 || 0 == i % 2) {
            FP(MPI_Issend(send_buffer + i, length, MPI_CHAR, 1 - rank, TAG + i, comm, &sends[i]));
        } else {
            FP(MPI_Isend(send_buffer + i, length, MPI_CHAR, 1 - rank, TAG + i, comm, &sends[i]));
        }
        note(comm, "send pending", 1 - rank, TAG + i, send_buffer + i, (size_t) length);
    }
}

static void clear_up(MPI_Comm comm, int first)
{
    char *buffer = malloc(LARGE + COUNT);
    int rank;

    FP(MPI_Comm_rank(comm, &rank));
    for (int i = first * RECEIVES; i < (first + 1) * RECEIVES; i++) {
        MPI_Status status;
        int cancelled = 0;

        FP(MPI_Cancel(&receives[i]));
        FP(MPI_Wait(&receives[i], &status));
        FP(MPI_Test_cancelled(&status, &cancelled));
        CHECK(cancelled);
    }
    for (int i = first * SENDS; i < (first + 1) * SENDS; i++) {
        FP(MPI_Recv(buffer, LARGE + COUNT, MPI_CHAR, 1 - rank, TAG + i, comm, MPI_STATUS_IGNORE));
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    char path[4096], ready[4096];
    MPI_Request ended = MPI_REQUEST_NULL;
    MPI_Comm reversed;
    int byte = 0;

    fp_init(&argc, &argv, 2);
    if (2 != argc || 2 != fp_size) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* where only parents may look */
    snprintf(path, sizeof(path), "%s/writing.%d", argv[1], fp_rank);
    list = fopen(path, "w");
    if (NULL == list) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    send_buffer = fp_alloc_filled(LARGE + COUNT, 1);
    FP(MPI_Comm_split(MPI_COMM_WORLD, 0, -fp_rank, &reversed));
    FP(MPI_Comm_set_name(reversed, "reversed"));

    /* Something that has ended and is not pending, with its request still there. */
    FP(MPI_Isend(&byte, 1, MPI_CHAR, 1 - fp_rank, DONE, MPI_COMM_WORLD, &ended));
    FP(MPI_Recv(&byte, 1, MPI_CHAR, 1 - fp_rank, DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE));

    post(MPI_COMM_WORLD, 0);
    post(reversed, RECEIVES);
    send(MPI_COMM_WORLD, 0);
    send(reversed, SENDS);
    FP(MPI_Barrier(MPI_COMM_WORLD));

    fclose(list);
    snprintf(ready, sizeof(ready), "%s/%d.%ld", argv[1], fp_rank, (long) getpid());
    rename(path, ready);
    snprintf(path, sizeof(path), "%s/go", argv[1]);
    while (0 != access(path, F_OK)) {
        fp_sleep_ms(20);
    }
    clear_up(MPI_COMM_WORLD, 0);
    clear_up(reversed, 1);
    FP(MPI_Waitall(2 * SENDS, sends, MPI_STATUSES_IGNORE));
    FP(MPI_Wait(&ended, MPI_STATUS_IGNORE));
    FP(MPI_Comm_free(&reversed));
    fp_free(send_buffer);
    return fp_finish();
}
