/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Several communicators at once: dup, split, create_group and free with traffic
 * in flight on each, the same tags everywhere, and ranks that leave the creation
 * of a communicator early and send on it at once. */

#include "support/fp_test.h"

enum { TAG = 61, MANY = 60 };

static int size_of(MPI_Comm comm)
{
    int size = 0;

    FP(MPI_Comm_size(comm, &size));
    return size;
}

static int rank_of(MPI_Comm comm)
{
    int rank = -1;

    FP(MPI_Comm_rank(comm, &rank));
    return rank;
}

/* A ring step on each of COUNT communicators, all in flight together and
 * received in the other order; same tag, so only the communicator tells. */
static void rings(MPI_Comm *comms, int count, size_t length)
{
    fp_message_t *in = calloc((size_t) count, sizeof(*in)), *out = calloc((size_t) count, sizeof(*out));

    for (int i = 0; i < count; i++) {
        int rank = rank_of(comms[i]), size = size_of(comms[i]);

        fp_isend(&out[i], &fp_modes[FP_STANDARD], length, (rank + 1) % size, TAG, i, comms[i]);
    }
    for (int i = count - 1; 0 <= i; i--) {
        int rank = rank_of(comms[i]), size = size_of(comms[i]);

        fp_irecv(&in[i], length, (rank + size - 1) % size, TAG, i, comms[i]);
    }
    for (int i = 0; i < count; i++) {
        fp_wait_recv(&in[i]);
        fp_wait_send(&out[i]);
    }
    free(in);
    free(out);
}

static void many_communicators(void)
{
    MPI_Comm comms[MANY];
    int count = 0;

    comms[count++] = MPI_COMM_WORLD;
    for (; count < MANY / 2; count++) {
        FP(MPI_Comm_dup(comms[count / 2], &comms[count]));
    }
    for (; count < MANY; count++) {
        /* Split by parity or all together, with the ranks turned round. */
        FP(MPI_Comm_split(MPI_COMM_WORLD, (count % 2) * (fp_rank % 2), -fp_rank, &comms[count]));
    }
    for (int i = 0; i < fp_few_size_count - 1; i++) {
        fp_case("%d communicators, %zu bytes", count, fp_few_sizes[i]);
        rings(comms, count, fp_few_sizes[i]);
    }
    for (int i = 1; i < count; i++) { /* the others keep working */
        FP(MPI_Comm_free(&comms[i]));
        if (0 == i % 16) {
            rings(comms + i + 1, count - i - 1, 100);
        }
    }
}

/* Freed with messages in flight: they are delivered all the same. */
static void freed_in_flight(size_t length)
{
    fp_message_t in, out;
    MPI_Comm comm;

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    fp_isend(&out, &fp_modes[FP_STANDARD], length, (fp_rank + 1) % fp_size, TAG, 0, comm);
    fp_irecv(&in, length, (fp_rank + fp_size - 1) % fp_size, TAG, 0, comm);
    FP(MPI_Comm_free(&comm));
    fp_wait_recv(&in);
    fp_wait_send(&out);
}

/* Context ids are used again at once: late messages of the last communicator
 * must not show up in the next. */
static void reused_ids(void)
{
    for (int i = 0; i < 100; i++) {
        MPI_Comm comm;

        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        rings(&comm, 1, (size_t) (i % 3) * 3000);
        FP(MPI_Comm_free(&comm));
    }
}

/* Each rank sends as soon as its own call returns, while others may still be in
 * theirs: the message can come before its communicator. */
static void early_messages(int round)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request;
    MPI_Group group;

    if (fp_rank == round % fp_size) {
        fp_sleep_ms(1);
    }
    switch (round % 4) {
    case 0:
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        break;
    case 1:
        FP(MPI_Comm_split(MPI_COMM_WORLD, 0, fp_rank, &comm));
        break;
    case 2:
        FP(MPI_Comm_group(MPI_COMM_WORLD, &group));
        FP(MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, &comm));
        FP(MPI_Group_free(&group));
        break;
    default:
        FP(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
    }
    rings(&comm, 1, (size_t) (round % 5) * 2000);
    FP(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 1);
    many_communicators();
    for (int i = 0; i < fp_few_size_count; i++) {
        fp_case("freed in flight, %zu bytes", fp_few_sizes[i]);
        freed_in_flight(fp_few_sizes[i]);
    }
    fp_case("context ids used again");
    reused_ids();
    for (int round = 0; round < 80; round++) {
        fp_case("early messages, round %d", round);
        early_messages(round);
    }
    return fp_finish();
}
