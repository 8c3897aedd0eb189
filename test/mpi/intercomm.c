/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Intercommunicators: groups of different sizes, all modes, wildcards, probes,
 * dup, merge, and messages that come before a rank knows the communicator. */

#include "support/fp_test.h"

enum { TAG = 71 };

/* The first third of the ranks, at least one, against the rest. */
static int first_size(void)
{
    return (3 > fp_size) ? 1 : fp_size / 3;
}

static bool in_first(void)
{
    return fp_rank < first_size();
}

/* Every rank of each group sends to every rank of the other. */
static void all_pairs(MPI_Comm inter, size_t length, bool wildcard)
{
    int remote, rank;
    fp_message_t *out;
    int *seen;

    FP(MPI_Comm_remote_size(inter, &remote));
    FP(MPI_Comm_rank(inter, &rank));
    out = calloc((size_t) remote, sizeof(*out));
    seen = calloc((size_t) remote, sizeof(*seen));
    for (int i = 0; i < remote; i++) {
        fp_isend(&out[i], &fp_modes[i % 2 ? FP_SYNCHRONOUS : FP_STANDARD], length, i, TAG, 0, inter);
    }
    for (int i = 0; i < remote; i++) {
        int from = remote - 1 - i;

        if (wildcard) {
            MPI_Status status;

            FP(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status));
            from = status.MPI_SOURCE;
            CHECK_STATUS(&status, from, TAG, length);
        }
        if (CHECK(0 <= from && from < remote)) {
            seen[from]++;
            fp_recv(length, from, TAG, 0, inter);
        }
    }
    for (int i = 0; i < remote; i++) {
        CHECK_INT(seen[i], 1);
        fp_wait_send(&out[i]);
    }
    free(seen);
    free(out);
    /* Nobody's next message may overtake: the probes above take any. */
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

static void merged(MPI_Comm inter)
{
    MPI_Comm intra;
    int rank, size;

    FP(MPI_Intercomm_merge(inter, !in_first(), &intra));
    FP(MPI_Comm_rank(intra, &rank));
    FP(MPI_Comm_size(intra, &size));
    CHECK_INT(rank, fp_rank);
    CHECK_INT(size, fp_size);
    fp_send(&fp_modes[FP_STANDARD], 30, (rank + 1) % size, TAG, 1, intra);
    fp_recv(30, (rank + size - 1) % size, TAG, 1, intra);
    FP(MPI_Comm_free(&intra));
}

static MPI_Comm make_inter(MPI_Comm local)
{
    MPI_Comm inter;

    FP(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, in_first() ? first_size() : 0, TAG, &inter));
    return inter;
}

int main(int argc, char **argv)
{
    MPI_Comm local, inter, copy;
    int flag = 0;

    fp_init(&argc, &argv, 2);
    FP(MPI_Comm_split(MPI_COMM_WORLD, in_first(), fp_rank, &local));
    inter = make_inter(local);
    FP(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    for (int i = 0; i < fp_few_size_count; i++) {
        for (int wildcard = 0; wildcard < 2; wildcard++) {
            fp_case("%s receives, %zu bytes", wildcard ? "probed" : "named", fp_few_sizes[i]);
            all_pairs(inter, fp_few_sizes[i], wildcard);
        }
    }
    fp_case("dup");
    FP(MPI_Comm_dup(inter, &copy));
    all_pairs(copy, 500, true);
    fp_case("merge");
    merged(copy);
    FP(MPI_Comm_free(&copy));
    for (int round = 0; round < 30; round++) {
        fp_case("early messages, round %d", round);
        FP(MPI_Comm_free(&inter));
        if (fp_rank == round % fp_size) {
            fp_sleep_ms(1);
        }
        inter = make_inter(local);
        all_pairs(inter, (size_t) (round % 3) * 3000, false);
    }
    FP(MPI_Comm_free(&inter));
    FP(MPI_Comm_free(&local));
    return fp_finish();
}
