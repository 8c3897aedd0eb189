/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Waitall when a receive fails: it returns, it says so, and what has not
 * failed is as it was.  Open MPI's own function of series 4.1 waits for ever with
 * threads if a request has failed before the call, and does not see that a
 * persistent one has; so with "long" only messages that fail meanwhile.
 *
 * Usage: waitall_errors [threads|long] */

#include "support/fp_test.h"

enum { TAG = 51, BIG_TAG, SHORT = 100, ROOM = 60, BIG = 4 << 20, ROUNDS = 10, SENDS = 100 };

/* One receive that is too short and one that is not; both requests end in the call, or the second is pending.
 */
static void one_of_two(bool expected, bool persistent, bool ignore)
{
    unsigned char buffers[2][SHORT];
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    int class = MPI_SUCCESS;

    fp_case("%s receive of a message that has %scome%s", persistent ? "persistent" : "plain",
            expected ? "not " : "", ignore ? ", statuses ignored" : "");
    if (0 == fp_rank) {
        if (expected) {
            fp_await(1, MPI_COMM_WORLD);
            fp_sleep_ms(5); /* the other is inside MPI_Waitall */
        }
        fp_send(&fp_modes[FP_STANDARD], SHORT, 1, TAG, 0, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], SHORT, 1, TAG, 1, MPI_COMM_WORLD);
        if (!expected) {
            fp_signal(1, MPI_COMM_WORLD);
        }
        return;
    }
    if (!expected) {
        fp_await(0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 2; i++) {
        const int room = 0 == i ? ROOM : SHORT;

        fp_poison(buffers[i], SHORT);
        if (persistent) {
            FP(MPI_Recv_init(buffers[i], room, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]));
            FP(MPI_Start(&requests[i]));
        } else {
            FP(MPI_Irecv(buffers[i], room, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]));
        }
    }
    if (expected) {
        fp_signal(0, MPI_COMM_WORLD);
    }
    FP_ERROR(MPI_ERR_IN_STATUS, MPI_Waitall(2, requests, ignore ? MPI_STATUSES_IGNORE : statuses));
    if (!ignore) {
        FP(MPI_Error_class(statuses[0].MPI_ERROR, &class));
        CHECK_INT(class, MPI_ERR_TRUNCATE);
        CHECK(MPI_SUCCESS == statuses[1].MPI_ERROR || MPI_ERR_PENDING == statuses[1].MPI_ERROR);
    }
    CHECK_POISON(buffers[0] + ROOM, SHORT - ROOM);
    FP(MPI_Wait(&requests[1], MPI_STATUS_IGNORE)); /* if it was pending, or persistent */
    CHECK_DATA(buffers[1], SHORT, fp_key(0, 1, TAG, 1));
    for (int i = 0; i < 2; i++) {
        if (MPI_REQUEST_NULL != requests[i]) {
            FP(MPI_Request_free(&requests[i]));
        }
    }
}

/* A long message, too long as well, is still coming when MPI_Waitall ends for another one: its request lives
 * on. */
static void still_coming(const unsigned char *data, unsigned char *buffer, MPI_Datatype gaps)
{
    unsigned char small[ROOM];
    MPI_Request requests[2];
    MPI_Status statuses[2];

    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        FP(MPI_Isend(data, 1, gaps, 1, BIG_TAG, MPI_COMM_WORLD, &requests[0]));
        fp_send(&fp_modes[FP_STANDARD], SHORT, 1, TAG, 0, MPI_COMM_WORLD);
        FP(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        return;
    }
    FP(MPI_Irecv(small, ROOM, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[0]));
    FP(MPI_Irecv(buffer, BIG - SHORT, MPI_BYTE, 0, BIG_TAG, MPI_COMM_WORLD, &requests[1]));
    fp_signal(0, MPI_COMM_WORLD);
    FP_ERROR(MPI_ERR_IN_STATUS, MPI_Waitall(2, requests, statuses));
    CHECK(MPI_REQUEST_NULL == requests[0]);
    if (MPI_ERR_PENDING == statuses[1].MPI_ERROR) {
        CHECK(MPI_REQUEST_NULL != requests[1]);
        FP_ERROR(MPI_ERR_TRUNCATE, MPI_Wait(&requests[1], &statuses[1]));
    } else {
        int class = MPI_SUCCESS;

        FP(MPI_Error_class(statuses[1].MPI_ERROR, &class));
        CHECK_INT(class, MPI_ERR_TRUNCATE);
    }
}

/* Both send each other a long message that is too long, and wait for all of it at once with a short one that
 * is too long, so that they copy the long ones together: what the call reports as pending fails later. */
static void exchange(const unsigned char *data, unsigned char *buffer)
{
    const int peer = 1 - fp_rank;
    unsigned char small[SHORT];
    MPI_Request requests[4];
    MPI_Status statuses[4];

    FP(MPI_Irecv(small, ROOM, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[0]));
    FP(MPI_Irecv(buffer, BIG - SHORT, MPI_BYTE, peer, BIG_TAG, MPI_COMM_WORLD, &requests[1]));
    fp_signal(peer, MPI_COMM_WORLD);
    fp_await(peer, MPI_COMM_WORLD);
    FP(MPI_Isend(data, BIG, MPI_BYTE, peer, BIG_TAG, MPI_COMM_WORLD, &requests[2]));
    FP(MPI_Isend(data, SHORT, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[3]));
    FP_ERROR(MPI_ERR_IN_STATUS, MPI_Waitall(4, requests, statuses));
    for (int i = 0; i < 4; i++) {
        if (MPI_ERR_PENDING == statuses[i].MPI_ERROR) {
            CHECK(MPI_REQUEST_NULL != requests[i]);
            FP_ERROR(2 > i ? MPI_ERR_TRUNCATE : MPI_SUCCESS, MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        }
    }
}

/* Sends that are pending when the call fails for a receive are not given back. */
static void pending_sends(const unsigned char *data, unsigned char *buffer)
{
    unsigned char small[ROOM];
    MPI_Request requests[1 + SENDS];
    MPI_Status statuses[1 + SENDS];

    if (1 == fp_rank) {
        fp_await(0, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], SHORT, 0, TAG, 0, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
        for (int i = 0; i < SENDS; i++) {
            FP(MPI_Recv(buffer, BIG, MPI_BYTE, 0, BIG_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        return;
    }
    FP(MPI_Irecv(small, ROOM, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[0]));
    for (int i = 1; i <= SENDS; i++) {
        FP(MPI_Isend(data, BIG, MPI_BYTE, 1, BIG_TAG, MPI_COMM_WORLD, &requests[i]));
    }
    fp_signal(1, MPI_COMM_WORLD);
    FP_ERROR(MPI_ERR_IN_STATUS, MPI_Waitall(1 + SENDS, requests, statuses));
    for (int i = 1; i <= SENDS; i++) {
        CHECK_INT(statuses[i].MPI_ERROR, MPI_ERR_PENDING);
        CHECK(MPI_REQUEST_NULL != requests[i]);
    }
    fp_signal(1, MPI_COMM_WORLD);
    FP(MPI_Waitall(1 + SENDS, requests, MPI_STATUSES_IGNORE));
}

static void large(void)
{
    unsigned char *data = fp_alloc(2 * BIG);
    unsigned char *buffer = fp_alloc(BIG);
    MPI_Datatype gaps;

    FP(MPI_Type_vector(BIG / 8, 1, 2, MPI_DOUBLE, &gaps));
    FP(MPI_Type_commit(&gaps));
    for (int round = 0; round < ROUNDS; round++) {
        fp_case("a long one is still coming, round %d", round);
        still_coming(data, buffer, gaps);
        fp_case("an exchange of long ones, round %d", round);
        exchange(data, buffer);
    }
    fp_case("pending sends");
    pending_sends(data, buffer);
    FP(MPI_Type_free(&gaps));
    fp_free(data);
    fp_free(buffer);
}

int main(int argc, char **argv)
{
    const bool threads = 1 < argc && 0 == strcmp("threads", argv[1]);
    const bool only_long = 1 < argc && !threads;

    fp_init_thread(&argc, &argv, 2, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    for (int i = 0; i < 8 && !only_long && 1 >= fp_rank; i++) {
        one_of_two(i & 1, i & 2, i & 4);
    }
    if (1 >= fp_rank) {
        large();
    }
    return fp_finish();
}
