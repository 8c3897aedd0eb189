/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Probe, Iprobe, Mprobe, Improbe, Mrecv and Imrecv: what they find, what they
 * leave, and in which order. */

#include "support/fp_test.h"

enum { TAG = 21, ROUNDS = 20 };

static void receive_matched(MPI_Message *message, size_t length, int src, int tag, int sequence,
                            bool blocking)
{
    unsigned char *buffer = fp_alloc(length);
    MPI_Request request;
    MPI_Status status;

    if (blocking) {
        FP(MPI_Mrecv(buffer, (int) length, MPI_BYTE, message, &status));
    } else {
        FP(MPI_Imrecv(buffer, (int) length, MPI_BYTE, message, &request));
        CHECK(MPI_MESSAGE_NULL == *message);
        FP(MPI_Wait(&request, &status));
    }
    CHECK(MPI_MESSAGE_NULL == *message);
    CHECK_STATUS(&status, src, tag, length);
    CHECK_DATA(buffer, length, fp_key(src, fp_rank, tag, sequence));
    fp_free(buffer);
}

/* Every way to look for a message, with and without wildcards; it is found
 * twice by a probe, and received by what the status says. */
static void probe_finds(size_t length, bool any_source, bool any_tag, bool blocking)
{
    int source = any_source ? MPI_ANY_SOURCE : 0, tag = any_tag ? MPI_ANY_TAG : TAG;
    MPI_Status status;
    int flag = 0;

    if (0 == fp_rank) {
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, 0, MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (blocking) {
            FP(MPI_Probe(source, tag, MPI_COMM_WORLD, &status));
        } else {
            for (flag = 0; !flag;) {
                FP(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status));
            }
        }
        CHECK_STATUS(&status, 0, TAG, length);
    }
    fp_recv(length, status.MPI_SOURCE, status.MPI_TAG, 0, MPI_COMM_WORLD);
    FP(MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag);
}

/* A matched message is gone for everybody else; the next one comes instead. */
static void mprobe_takes(size_t length, bool any_source, bool any_tag, bool blocking)
{
    int source = any_source ? MPI_ANY_SOURCE : 0, tag = any_tag ? MPI_ANY_TAG : TAG;
    MPI_Message messages[ROUNDS];
    MPI_Status status;
    int flag;

    if (0 == fp_rank) {
        fp_message_t sends[ROUNDS];

        for (int i = 0; i < ROUNDS; i++) {
            fp_isend(&sends[i], &fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
        }
        for (int i = 0; i < ROUNDS; i++) {
            fp_wait_send(&sends[i]);
        }
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (blocking) {
            FP(MPI_Mprobe(source, tag, MPI_COMM_WORLD, &messages[i], &status));
        } else {
            for (flag = 0; !flag;) {
                FP(MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &messages[i], &status));
            }
        }
        CHECK_STATUS(&status, 0, TAG, length);
    }
    FP(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    for (int i = ROUNDS - 1; 0 <= i; i--) { /* handles keep what they matched */
        receive_matched(&messages[i], length, 0, TAG, i, i % 2);
    }
}

/* A posted receive has the message before a probe can see it. */
static void receive_goes_first(size_t length)
{
    fp_message_t message;
    int flag;

    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, 0, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], 5, 1, TAG, 1, MPI_COMM_WORLD);
        return;
    }
    fp_irecv(&message, length, 0, MPI_ANY_TAG, 0, MPI_COMM_WORLD);
    message.tag = TAG;
    message.key = fp_key(0, 1, TAG, 0);
    fp_signal(0, MPI_COMM_WORLD);
    FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    fp_recv(5, 0, TAG, 1, MPI_COMM_WORLD);
    fp_wait_recv(&message);
    FP(MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
}

/* Rank 0 sends a message while rank 1 waits for it in MPI_Probe. Returns whether this is rank 1. */
static bool probed(size_t length)
{
    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, 0, MPI_COMM_WORLD);
        return false;
    }
    fp_signal(0, MPI_COMM_WORLD);
    FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return true;
}

/* What MPI_Probe has found is there for who looks next, also when its rest is still on its way. */
static void found_again(size_t length, bool take)
{
    MPI_Message message;
    MPI_Status status;
    int flag;

    if (!probed(length)) {
        return;
    }
    if (take) {
        FP(MPI_Improbe(0, TAG, MPI_COMM_WORLD, &flag, &message, &status));
        CHECK(flag);
        CHECK_STATUS(&status, 0, TAG, length);
        receive_matched(&message, length, 0, TAG, 0, true);
        return;
    }
    FP(MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag);
    CHECK_STATUS(&status, 0, TAG, length);
    FP(MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag);
    CHECK_STATUS(&status, 0, TAG, length);
    fp_recv(length, 0, TAG, 0, MPI_COMM_WORLD);
}

/* A receive that is posted takes what a probe has found, and nobody else finds it then. */
static void taken_by_receive(size_t length)
{
    fp_message_t message;
    int flag;

    if (!probed(length)) {
        return;
    }
    fp_irecv(&message, length, 0, TAG, 0, MPI_COMM_WORLD);
    FP(MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    FP(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    fp_wait_recv(&message);
}

/* The last rank's message is found again, however much comes from all others meanwhile. */
static void found_among_others(int round)
{
    enum { OTHERS_TAG = 22, OTHERS_SEND = 8 };
    const int last = fp_size - 1;
    MPI_Message message;
    MPI_Status status;
    int flag = 0;

    if (0 < fp_rank) {
        fp_await(0, MPI_COMM_WORLD);
        for (int i = 0; last != fp_rank && i < OTHERS_SEND; i++) {
            fp_send(&fp_modes[FP_STANDARD], 8, 0, OTHERS_TAG, i, MPI_COMM_WORLD);
        }
        if (last == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], 8, 0, TAG, round, MPI_COMM_WORLD);
        }
        return;
    }
    for (int other = 1; other < fp_size; other++) {
        fp_signal(other, MPI_COMM_WORLD);
    }
    while (!flag) {
        FP(MPI_Iprobe(last, TAG, MPI_COMM_WORLD, &flag, &status));
    }
    if (round % 2) {
        FP(MPI_Improbe(last, TAG, MPI_COMM_WORLD, &flag, &message, &status));
        CHECK(flag);
        receive_matched(&message, 8, last, TAG, round, true);
    } else {
        FP(MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, &status));
        CHECK(flag);
        CHECK_STATUS(&status, last, TAG, 8);
        fp_recv(8, last, TAG, round, MPI_COMM_WORLD);
    }
    for (int other = 1; other < last; other++) {
        for (int i = 0; i < OTHERS_SEND; i++) {
            fp_recv(8, other, OTHERS_TAG, i, MPI_COMM_WORLD);
        }
    }
}

static void selective(void)
{
    MPI_Status status;
    int flag;

    if (0 == fp_rank) {
        for (int tag = 0; tag < ROUNDS; tag++) {
            fp_send(&fp_modes[FP_STANDARD], (size_t) tag * 100, 1, tag, tag, MPI_COMM_WORLD);
        }
        return;
    }
    FP(MPI_Probe(0, ROUNDS - 1, MPI_COMM_WORLD, &status)); /* all have come */
    FP(MPI_Iprobe(0, ROUNDS, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag);
    FP(MPI_Iprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag);
    for (int tag = ROUNDS - 1; 0 <= tag; tag--) {
        FP(MPI_Iprobe(0, tag, MPI_COMM_WORLD, &flag, &status));
        CHECK(flag);
        CHECK_STATUS(&status, 0, tag, (size_t) tag * 100);
        FP(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
        CHECK_STATUS(&status, 0, 0, 0); /* the earliest of those left */
        fp_recv((size_t) tag * 100, 0, tag, tag, MPI_COMM_WORLD);
    }
}

static void nobody(void)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;

    FP(MPI_Probe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &status));
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    FP(MPI_Iprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag);
    FP(MPI_Mprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &message, &status));
    CHECK(MPI_MESSAGE_NO_PROC == message);
    FP(MPI_Mrecv(NULL, 0, MPI_BYTE, &message, &status));
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    FP(MPI_Improbe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(flag);
    FP(MPI_Imrecv(NULL, 0, MPI_BYTE, &message, &request));
    FP(MPI_Wait(&request, &status));
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

/* The next message must not come before rank 1 has looked for another. */
static void in_step(void)
{
    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
    } else {
        fp_signal(0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    if (1 >= fp_rank) {
        for (int i = 0; i < fp_few_size_count; i++) {
            size_t length = fp_few_sizes[i];

            for (int way = 0; way < 8; way++) {
                fp_case("%s probe, %s source, %s tag, %zu bytes", (way & 4) ? "blocking" : "immediate",
                        (way & 1) ? "any" : "named", (way & 2) ? "any" : "named", length);
                probe_finds(length, way & 1, way & 2, way & 4);
                in_step();
                mprobe_takes(length, way & 1, way & 2, way & 4);
                in_step();
            }
            fp_case("a posted receive goes first, %zu bytes", length);
            receive_goes_first(length);
            in_step();
        }
        for (int round = 0; round < 3 * ROUNDS; round++) {
            const size_t length = (size_t[]){8, 16000, 100000}[round % 3];

            fp_case("a message of %zu bytes is found again", length);
            found_again(length, true);
            in_step();
            found_again(length, false);
            in_step();
            taken_by_receive(length);
            in_step();
        }
        fp_case("selective probes");
        selective();
        fp_case("MPI_PROC_NULL");
        nobody();
    }
    for (int round = 0; 2 < fp_size && round < 10 * ROUNDS; round++) {
        fp_case("a message is found again among others, round %d", round);
        found_among_others(round);
    }
    return fp_finish();
}
