/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Room for one buffered send.  Once its message has been received there is room for the next one, whoever
 * says so.  A persistent one that is started while its last message waits there is complete only when its
 * data may be overwritten. */

#include "support/fp_test.h"

enum { TAG = 3, LENGTH = 300000, ROUNDS = 200, SMALL = 1000, AHEAD = 2000 };

/* Attaches room for a message of so many bytes. */
static void *attach(size_t length)
{
    void *room = fp_alloc(length + MPI_BSEND_OVERHEAD);

    FP(MPI_Buffer_attach(room, (int) (length + MPI_BSEND_OVERHEAD)));
    return room;
}

static void detach(void *room)
{
    int size;
    void *attached;

    FP(MPI_Buffer_detach(&attached, &size));
    CHECK(room == attached);
    fp_free(room);
}

/* Rank 1 has received it, and rank 2 says so. */
static void room_again(void)
{
    if (0 == fp_rank) {
        void *room = attach(LENGTH);

        for (int i = 0; i < ROUNDS; i++) {
            fp_send(&fp_modes[FP_BUFFERED], LENGTH, 1, TAG, i, MPI_COMM_WORLD);
            fp_await(2, MPI_COMM_WORLD);
        }
        detach(room);
    } else if (1 == fp_rank) {
        for (int i = 0; i < ROUNDS; i++) {
            fp_recv(LENGTH, 0, TAG, i, MPI_COMM_WORLD);
            fp_signal(2, MPI_COMM_WORLD);
        }
    } else if (2 == fp_rank) {
        for (int i = 0; i < ROUNDS; i++) {
            fp_await(1, MPI_COMM_WORLD);
            fp_signal(0, MPI_COMM_WORLD);
        }
    }
}

/* Others are ahead of both messages, and their receiver looks away. */
static void started_twice(void)
{
    static MPI_Request ahead[AHEAD];
    unsigned char data[SMALL];
    MPI_Request request;
    void *room;

    if (0 == fp_rank) {
        room = attach(SMALL);
        for (int i = 0; i < AHEAD; i++) {
            FP(MPI_Isend(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &ahead[i]));
        }
        FP(MPI_Bsend_init(data, SMALL, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        for (int i = 0; i < 2; i++) {
            fp_fill(data, SMALL, fp_key(0, 1, TAG, i));
            FP(MPI_Start(&request));
            FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        fp_fill(data, SMALL, fp_key(0, 1, TAG, 2));
        FP(MPI_Waitall(AHEAD, ahead, MPI_STATUSES_IGNORE));
        FP(MPI_Request_free(&request));
        detach(room);
    } else if (1 == fp_rank) {
        fp_sleep_ms(200);
        for (int i = 0; i < AHEAD; i++) {
            FP(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        for (int i = 0; i < 2; i++) {
            fp_recv(SMALL, 0, TAG, i, MPI_COMM_WORLD);
        }
    }
}

/* The word that a message has been received comes behind others of its receiver's, every other one of which
 * nobody has asked for.  Rank 2 tells that they are there. */
static void behind_others(void)
{
    enum { OTHERS = 20 };
    fp_message_t asked[OTHERS];

    if (0 == fp_rank) {
        void *room = attach(LENGTH);

        for (int i = 0; i < OTHERS; i++) {
            fp_irecv(&asked[i], 8, 1, TAG, i, MPI_COMM_WORLD);
        }
        fp_send(&fp_modes[FP_BUFFERED], LENGTH, 1, TAG, 0, MPI_COMM_WORLD);
        fp_await(2, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_BUFFERED], LENGTH, 1, TAG, 1, MPI_COMM_WORLD);
        for (int i = 0; i < OTHERS; i++) {
            fp_wait_recv(&asked[i]);
            fp_recv(8, 1, TAG + 1, i, MPI_COMM_WORLD);
        }
        fp_signal(1, MPI_COMM_WORLD);
        detach(room);
    } else if (1 == fp_rank) {
        for (int i = 0; i < OTHERS; i++) {
            fp_send(&fp_modes[FP_STANDARD], 8, 0, TAG, i, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], 8, 0, TAG + 1, i, MPI_COMM_WORLD);
        }
        fp_recv(LENGTH, 0, TAG, 0, MPI_COMM_WORLD);
        fp_signal(2, MPI_COMM_WORLD);
        fp_recv(LENGTH, 0, TAG, 1, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
    } else if (2 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_signal(0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 3);
    fp_case("room again");
    room_again();
    fp_case("started twice");
    started_twice();
    fp_case("behind others");
    behind_others();
    return fp_finish();
}
