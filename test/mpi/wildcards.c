/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_ANY_SOURCE and MPI_ANY_TAG: what they match, in which order, what the
 * status says, and that messages of collectives are never matched. */

#include "support/fp_test.h"

enum { TAG = 11, ROUNDS = 40, MAX_RANKS = 128 };

/* A receive with wildcards, then the checks of what the status says came. */
static void receive_any(size_t capacity, int source, int tag, const int *sequences, const size_t *lengths,
                        MPI_Status *status)
{
    unsigned char *buffer = fp_alloc(capacity);
    int from;

    FP(MPI_Recv(buffer, (int) capacity, MPI_BYTE, source, tag, MPI_COMM_WORLD, status));
    from = status->MPI_SOURCE;
    if (CHECK(0 <= from && from < fp_size)) {
        CHECK_STATUS(status, from, status->MPI_TAG, lengths[from]);
        CHECK_DATA(buffer, lengths[from], fp_key(from, fp_rank, status->MPI_TAG, sequences[from]));
        CHECK_POISON(buffer + lengths[from], capacity - lengths[from]);
    }
    fp_free(buffer);
}

/* Everybody sends to rank 0; each source's messages come in the order sent. */
static void many_to_one(int source_wanted, int tag_wanted, size_t length)
{
    int *sequences = calloc((size_t) fp_size, sizeof(*sequences));
    size_t *lengths = calloc((size_t) fp_size, sizeof(*lengths));
    MPI_Status status;

    for (int i = 0; i < ROUNDS && 0 != fp_rank; i++) {
        fp_send(&fp_modes[FP_STANDARD], length + (size_t) fp_rank, 0, TAG, i, MPI_COMM_WORLD);
    }
    for (int from = 1; from < fp_size; from++) {
        lengths[from] = length + (size_t) from;
    }
    for (int i = 0; i < ROUNDS * (fp_size - 1) && 0 == fp_rank; i++) {
        /* A named source is received in turn. */
        int source = (MPI_ANY_SOURCE == source_wanted) ? source_wanted : 1 + i % (fp_size - 1);
        receive_any(length + (size_t) fp_size, source, tag_wanted, sequences, lengths, &status);
        CHECK_INT(status.MPI_TAG, TAG);
        CHECK(MPI_ANY_SOURCE == source || status.MPI_SOURCE == source);
        sequences[status.MPI_SOURCE]++;
    }
    free(sequences);
    free(lengths);
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Receives of all four kinds, posted in turn; one source sends one tag: they
 * are matched in the order posted, whatever list each kind is kept on. */
static void posted_order(size_t length)
{
    enum { COUNT = 64 };
    fp_message_t messages[COUNT];

    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
        }
    } else if (1 == fp_rank) {
        for (int i = 0; i < COUNT; i++) {
            fp_message_t *m = &messages[i];
            int pick = (i * 7) % 4;

            *m = (fp_message_t){.buffer = fp_alloc(length),
                                .capacity = length,
                                .length = length,
                                .peer = 0,
                                .tag = TAG,
                                .key = fp_key(0, 1, TAG, i)};
            FP(MPI_Irecv(m->buffer, (int) length, MPI_BYTE, (pick & 1) ? MPI_ANY_SOURCE : 0,
                         (pick & 2) ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &m->request));
        }
        fp_signal(0, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            fp_wait_recv(&messages[i]);
        }
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Unexpected messages of two tags: a wildcard takes the earliest left. */
static void unexpected_order(size_t length)
{
    enum { PAIRS = 20 };
    unsigned char *buffer = fp_alloc(length);
    fp_message_t messages[2 * PAIRS];
    MPI_Status status;

    if (0 == fp_rank) {
        for (int i = 0; i < 2 * PAIRS; i++) {
            fp_isend(&messages[i], &fp_modes[FP_STANDARD], length, 1, TAG + i % 2, i, MPI_COMM_WORLD);
        }
        fp_signal(1, MPI_COMM_WORLD);
        for (int i = 0; i < 2 * PAIRS; i++) {
            fp_wait_send(&messages[i]);
        }
    } else if (1 == fp_rank) {
        fp_await(0, MPI_COMM_WORLD);
        for (int i = 0; i < PAIRS; i++) { /* every odd message by name ... */
            fp_recv(length, 0, TAG + 1, 2 * i + 1, MPI_COMM_WORLD);
            /* ... leaves the even ones in order for a wildcard. */
            FP(MPI_Recv(buffer, (int) length, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
            CHECK_STATUS(&status, 0, TAG, length);
            CHECK_DATA(buffer, length, fp_key(0, 1, TAG, 2 * i));
        }
    }
    fp_free(buffer);
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* A receive for anything, posted before collectives run, gets the first
 * message of a program and none of theirs. */
static void collectives_stay_hidden(void)
{
    MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
    int in[MAX_RANKS], out[MAX_RANKS], sum;
    int left = (fp_rank + fp_size - 1) % fp_size, right = (fp_rank + 1) % fp_size;
    unsigned char *wide = calloc(100000, 1);

    for (int i = 0; i < fp_size; i++) {
        in[i] = fp_rank + i;
    }
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    for (int c = 0; c < 2; c++) {
        MPI_Request requests[2];
        MPI_Status status;
        int got[2] = {-1, -1};

        FP(MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &requests[0]));
        FP(MPI_Irecv(&got[1], 1, MPI_INT, left, MPI_ANY_TAG, comms[c], &requests[1]));
        for (int i = 0; i < 20; i++) {
            FP(MPI_Barrier(comms[c]));
            FP(MPI_Allreduce(&fp_rank, &sum, 1, MPI_INT, MPI_SUM, comms[c]));
            CHECK_INT(sum, fp_size * (fp_size - 1) / 2);
            FP(MPI_Bcast(wide, 100000, MPI_BYTE, i % fp_size, comms[c]));
            FP(MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comms[c]));
            for (int k = 0; k < fp_size; k++) {
                CHECK_INT(out[k], k + fp_rank);
            }
        }
        for (int i = 0; i < 2; i++) {
            FP(MPI_Send(&i, 1, MPI_INT, right, i, comms[c]));
        }
        for (int i = 0; i < 2; i++) {
            FP(MPI_Wait(&requests[i], &status));
            CHECK_STATUS(&status, left, i, sizeof(int));
            CHECK_INT(got[i], i);
        }
    }
    FP(MPI_Comm_free(&comms[1]));
    free(wide);
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    for (int i = 0; i < fp_few_size_count - 1; i++) {
        size_t length = fp_few_sizes[i];

        for (int kind = 0; kind < 4; kind++) {
            fp_case("%s source, %s tag, %zu bytes", (kind & 1) ? "any" : "named",
                    (kind & 2) ? "any" : "named", length);
            many_to_one((kind & 1) ? MPI_ANY_SOURCE : 0, (kind & 2) ? MPI_ANY_TAG : TAG, length);
        }
        fp_case("order of posted receives, %zu bytes", length);
        posted_order(length);
        fp_case("order of unexpected messages, %zu bytes", length);
        unexpected_order(length);
    }
    fp_case("collectives next to wildcards");
    if (CHECK(MAX_RANKS >= fp_size)) {
        collectives_stay_hidden();
    }
    return fp_finish();
}
