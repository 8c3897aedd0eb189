/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* What may happen to a message between MPI_Mprobe and MPI_Mrecv: its
 * communicator is freed, its sender cancels; and what counts say of it. Handles are received in any order,
 * from everybody, also from the other group of an intercommunicator. */

#include "support/fp_test.h"

enum { TAG = 31 };

/* MPI_Mrecv or MPI_Imrecv. */
static int receive(void *buffer, int count, MPI_Datatype type, MPI_Message *message, bool blocking,
                   MPI_Status *status)
{
    MPI_Request request;
    int rc;

    if (blocking) {
        return MPI_Mrecv(buffer, count, type, message, status);
    }
    rc = MPI_Imrecv(buffer, count, type, message, &request);
    return MPI_SUCCESS == rc ? MPI_Wait(&request, status) : rc;
}

/* The handle is all that is left of the communicator; its memory and its id may be used AGAIN. */
/* A communicator that is gone for good gives its handle in Fortran to the next one. */
static void is_gone(MPI_Fint handle)
{
    MPI_Comm next;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &next));
    CHECK_INT(MPI_Comm_c2f(next), handle);
    FP(MPI_Comm_free(&next));
}

/* The last receive on a communicator that has been freed keeps it no longer. */
static void last_receive(const fp_mode_t *mode, size_t length)
{
    fp_message_t message;
    MPI_Comm comm;
    MPI_Fint handle;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    handle = MPI_Comm_c2f(comm);
    if (1 == fp_rank) {
        fp_irecv(&message, length, 0, TAG, 0, comm);
        fp_signal(0, MPI_COMM_WORLD);
    } else if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_isend(&message, mode, length, 1, TAG, 0, comm);
    }
    FP(MPI_Comm_free(&comm));
    if (1 == fp_rank) {
        fp_wait_recv(&message);
    } else if (0 == fp_rank) {
        fp_wait_send(&message);
    }
    is_gone(handle);
}

static void communicator_freed(const fp_mode_t *mode, size_t length, bool blocking, bool again)
{
    fp_message_t send;
    MPI_Message message;
    MPI_Status status;
    MPI_Comm comm, next = MPI_COMM_NULL;
    MPI_Fint handle;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    handle = MPI_Comm_c2f(comm);
    if (0 == fp_rank) {
        fp_isend(&send, mode, length, 1, TAG, 0, comm);
    } else if (1 == fp_rank) {
        FP(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status));
    }
    FP(MPI_Comm_free(&comm));
    if (again) {
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &next));
    }
    if (1 == fp_rank) {
        unsigned char *buffer = fp_alloc(length);

        FP(receive(buffer, (int) length, MPI_BYTE, &message, blocking, &status));
        CHECK(MPI_MESSAGE_NULL == message);
        CHECK_STATUS(&status, 0, TAG, length);
        CHECK_DATA(buffer, length, fp_key(0, 1, TAG, 0));
        fp_free(buffer);
    } else if (0 == fp_rank) {
        fp_wait_send(&send);
    }
    if (again) {
        FP(MPI_Comm_free(&next));
    }
    is_gone(handle);
}

/* It has been matched: too late for its sender. */
static void sender_cancels(const fp_mode_t *mode, size_t length, bool blocking)
{
    if (0 == fp_rank) {
        unsigned char *buffer = fp_alloc_filled(length, fp_key(0, 1, TAG, 1));
        MPI_Request request;
        MPI_Status status;

        FP(mode->isend(buffer, (int) length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
        fp_await(1, MPI_COMM_WORLD);
        FP(MPI_Cancel(&request));
        fp_signal(1, MPI_COMM_WORLD);
        FP(MPI_Wait(&request, &status));
        CHECK(!fp_was_cancelled(&status));
        fp_free(buffer);
    } else if (1 == fp_rank) {
        unsigned char *buffer = fp_alloc(length);
        MPI_Message message;
        MPI_Status status;

        FP(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, &status));
        fp_signal(0, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
        FP(receive(buffer, (int) length, MPI_BYTE, &message, blocking, &status));
        CHECK_STATUS(&status, 0, TAG, length);
        CHECK_DATA(buffer, length, fp_key(0, 1, TAG, 1));
        fp_free(buffer);
    }
}

/* A type with a gap. */
typedef struct {
    int i;
    double d;
} pair_t;

static MPI_Datatype pair_type(void)
{
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {offsetof(pair_t, i), offsetof(pair_t, d)};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype type;

    FP(MPI_Type_create_struct(2, lengths, places, types, &type));
    FP(MPI_Type_commit(&type));
    return type;
}

/* Receives a message of so many pairs (MPI_UNDEFINED: not whole ones) and basic elements. */
static void receive_counted(pair_t *got, int room, MPI_Datatype pair, int pairs, int elements)
{
    MPI_Message message;
    MPI_Status status;
    int count;

    FP(MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, &status));
    for (int looks = 0; looks < 2; looks++) {
        FP(MPI_Get_count(&status, pair, &count));
        CHECK_INT(count, pairs);
        FP(MPI_Get_elements(&status, pair, &count));
        CHECK_INT(count, elements);
        if (0 == looks) {
            FP(MPI_Mrecv(got, room, pair, &message, &status));
        }
    }
}

/* Counts of three elements, of a part of one, and of none: after the probe and after the receive. */
static void counts(void)
{
    const pair_t pairs[] = {{0, 0.25}, {1, 0.5}, {2, 0.75}};
    pair_t got[4] = {{-1, 0}, {-1, 0}, {-1, 0}, {-1, 0}};
    MPI_Datatype pair = pair_type();

    if (0 == fp_rank) {
        FP(MPI_Send(pairs, 3, pair, 1, TAG, MPI_COMM_WORLD));
        FP(MPI_Send(&pairs[1].i, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        FP(MPI_Send(NULL, 0, pair, 1, TAG, MPI_COMM_WORLD));
    } else if (1 == fp_rank) {
        receive_counted(got, 4, pair, 3, 6);
        for (int i = 0; i < 3; i++) {
            CHECK(pairs[i].i == got[i].i && pairs[i].d == got[i].d);
        }
        CHECK_INT(got[3].i, -1);
        receive_counted(got, 4, pair, MPI_UNDEFINED, 1);
        CHECK_INT(got[0].i, 1);
        receive_counted(NULL, 0, pair, 0, 0);
    }
    FP(MPI_Type_free(&pair));
}

/* A synchronous send is complete when its message is received, not when it is matched. */
static void to_self(size_t length)
{
    unsigned char *buffer = fp_alloc(length);
    fp_message_t send;
    MPI_Message message;
    MPI_Status status;
    int flag;

    fp_isend(&send, &fp_modes[FP_SYNCHRONOUS], length, 0, TAG, 4, MPI_COMM_SELF);
    FP(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &message, &status));
    for (int i = 0; i < 10; i++) {
        FP(MPI_Test(&send.request, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    FP(MPI_Mrecv(buffer, (int) length, MPI_BYTE, &message, &status));
    CHECK_STATUS(&status, 0, TAG, length);
    CHECK_DATA(buffer, length, fp_key(0, 0, TAG, 4));
    fp_wait_send(&send);
    fp_free(buffer);
}

/* Everybody to everybody: the last handle is received first. */
static void backwards(MPI_Comm comm, int peers, int me, size_t length)
{
    enum { EACH = 5, MOST = 64 };
    fp_message_t sends[MOST * EACH];
    MPI_Message messages[MOST * EACH];
    MPI_Status statuses[MOST * EACH];
    int next[MOST] = {0}, number[MOST * EACH];

    for (int i = 0; i < peers * EACH; i++) {
        fp_isend(&sends[i], &fp_modes[FP_STANDARD], length, i % peers, TAG, i / peers, comm);
    }
    for (int i = 0; i < peers * EACH; i++) {
        FP(MPI_Mprobe(MPI_ANY_SOURCE, TAG, comm, &messages[i], &statuses[i]));
        number[i] = next[statuses[i].MPI_SOURCE]++;
    }
    for (int i = peers * EACH - 1; i >= 0; i--) {
        unsigned char *buffer = fp_alloc(length);
        int src = statuses[i].MPI_SOURCE;
        MPI_Status status;

        FP(receive(buffer, (int) length, MPI_BYTE, &messages[i], i % 2, &status));
        CHECK_STATUS(&status, src, TAG, length);
        CHECK_DATA(buffer, length, fp_key(src, me, TAG, number[i]));
        fp_free(buffer);
    }
    for (int i = 0; i < peers * EACH; i++) {
        CHECK_INT(next[i % peers], EACH);
        fp_wait_send(&sends[i]);
    }
}

/* The odd ranks and the even ones. */
static void intercommunicator(size_t length)
{
    MPI_Comm half, inter;
    int me, peers;

    FP(MPI_Comm_split(MPI_COMM_WORLD, fp_rank % 2, fp_rank, &half));
    FP(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - fp_rank % 2, TAG, &inter));
    FP(MPI_Comm_rank(inter, &me));
    FP(MPI_Comm_remote_size(inter, &peers));
    backwards(inter, peers, me, length);
    FP(MPI_Comm_free(&inter));
    FP(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    for (int i = 0; i < fp_few_size_count; i++) {
        size_t length = fp_few_sizes[i];

        for (int way = 0; way < 4; way++) {
            const fp_mode_t *mode = &fp_modes[way & 1 ? FP_SYNCHRONOUS : FP_STANDARD];

            fp_case("%s of %zu bytes, communicator freed", mode->name, length);
            communicator_freed(mode, length, way & 2, false);
            communicator_freed(mode, length, way & 2, true);
            last_receive(mode, length);
            fp_case("%s of %zu bytes, sender cancels", mode->name, length);
            sender_cancels(mode, length, way & 2);
        }
        fp_case("%zu bytes to oneself", length);
        to_self(length);
        fp_case("%zu bytes from everybody", length);
        FP(MPI_Barrier(MPI_COMM_WORLD));
        backwards(MPI_COMM_WORLD, fp_size, fp_rank, length);
        fp_case("%zu bytes from the other group", length);
        intercommunicator(length);
    }
    fp_case("counts");
    counts();
    return fp_finish();
}
