/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A rank leaves MPI, while what it has to say still waits for room at its peer. What a call has to say has
 * left when it returns; and MPI_Bsend returns whether or not.
 *
 * usage: leaving */

#include <signal.h>
#include <unistd.h>

#include "support/fp_test.h"

enum { TAG = 5, AHEAD = 700, AHEAD_LENGTH = 4096, FEW = 300, SHORT = 100, LEAVER = 0, OTHER = 1 };

static pid_t pids[2];
static MPI_Request requests[AHEAD];

static void send_ahead(int count, size_t length, const void *data)
{
    for (int i = 0; i < count; i++) {
        FP(MPI_Isend(data, (int) length, MPI_BYTE, !fp_rank, TAG, MPI_COMM_WORLD, &requests[i]));
    }
}

static void receive_ahead(int count, size_t length)
{
    void *got = fp_alloc(length);

    for (int i = 0; i < count; i++) {
        FP(MPI_Recv(got, (int) length, MPI_BYTE, !fp_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    fp_free(got);
}

/* Buffered sends without data behind messages that nobody reads, and one that is started twice. */
static void buffered_without_data(void)
{
    enum { BUFFERED = 3 };
    MPI_Request request;

    fp_case("buffered, no data");
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (LEAVER == fp_rank) {
        void *data = fp_alloc(AHEAD_LENGTH);

        send_ahead(AHEAD, AHEAD_LENGTH, data);
        FP(MPI_Bsend(NULL, 0, MPI_BYTE, OTHER, TAG + 1, MPI_COMM_WORLD));
        FP(MPI_Bsend_init(NULL, 0, MPI_BYTE, OTHER, TAG + 1, MPI_COMM_WORLD, &request));
        for (int i = 1; i < BUFFERED; i++) {
            FP(MPI_Start(&request));
            FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        kill(pids[OTHER], SIGUSR1);
        FP(MPI_Waitall(AHEAD, requests, MPI_STATUSES_IGNORE));
        FP(MPI_Request_free(&request));
        fp_free(data);
    } else if (OTHER == fp_rank) {
        CHECK(fp_stay_outside());
        receive_ahead(AHEAD, AHEAD_LENGTH);
        for (int i = 0; i < BUFFERED; i++) {
            FP(MPI_Recv(NULL, 0, MPI_BYTE, LEAVER, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
}

/* How a message is received. */
typedef enum { RECV, IRECV, MRECV, HOWS } how_t;

static void receive(how_t how, size_t length)
{
    void *got = fp_alloc(length);
    MPI_Request request;
    MPI_Message message;

    if (RECV == how) {
        FP(MPI_Recv(got, (int) length, MPI_BYTE, OTHER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else if (IRECV == how) {
        FP(MPI_Irecv(got, (int) length, MPI_BYTE, OTHER, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Mprobe(OTHER, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        FP(MPI_Mrecv(got, (int) length, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    }
    fp_free(got);
}

/* Word for the sender of a message that its receiver has got, behind messages that the sender does not read.
 */
static void word_for_sender(how_t how, const fp_mode_t *mode, size_t length)
{
    static const char *const names[HOWS] = {"MPI_Recv", "MPI_Irecv", "MPI_Mrecv"};

    fp_case("%s of %zu bytes of %s", names[how], length, mode->name);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (LEAVER == fp_rank) {
        void *data = fp_alloc(SHORT);

        send_ahead(FEW, SHORT, data);
        receive(how, length);
        CHECK(fp_stay_outside()); /* else the other rank still waits */
        FP(MPI_Waitall(FEW, requests, MPI_STATUSES_IGNORE));
        fp_free(data);
    } else if (OTHER == fp_rank) {
        fp_sleep_ms(20);
        fp_send(mode, length, LEAVER, TAG, 0, MPI_COMM_WORLD);
        kill(pids[LEAVER], SIGUSR1);
        receive_ahead(FEW, SHORT);
    }
}

int main(int argc, char **argv)
{
    static const size_t lengths[] = {0, 100, 10000, 1000000};
    void *room, *attached;
    int size = 8 * MPI_BSEND_OVERHEAD;

    fp_outside_init();
    fp_init(&argc, &argv, 2);
    room = malloc((size_t) size);
    FP(MPI_Buffer_attach(room, size));
    pids[fp_rank] = getpid();
    FP(MPI_Bcast(&pids[0], (int) sizeof(pids[0]), MPI_BYTE, 0, MPI_COMM_WORLD));
    FP(MPI_Bcast(&pids[1], (int) sizeof(pids[1]), MPI_BYTE, 1, MPI_COMM_WORLD));
    buffered_without_data();
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (how_t how = 0; how < HOWS; how++) {
            word_for_sender(how, &fp_modes[FP_STANDARD], lengths[i]);
            word_for_sender(how, &fp_modes[FP_SYNCHRONOUS], lengths[i]);
        }
    }
    FP(MPI_Buffer_detach(&attached, &size));
    free(room);
    return fp_finish();
}
