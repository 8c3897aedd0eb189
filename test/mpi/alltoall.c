/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Everybody to everybody with a size of its own for each pair, by hand and by
 * collectives, over and over. */

#include "support/fp_test.h"

enum { TAG = 131, ROUNDS = 15, MAX_SIZE = 128 };

/* From 0 to some 100 000 bytes, another size for each ordered pair and round. */
static size_t length_of(int from, int to, int round)
{
    fp_random_t generator = {fp_key(from, to, TAG, round)};

    return fp_random_between(&generator, 0, fp_few_sizes[fp_random(&generator) % 7]);
}

static void by_hand(int round)
{
    fp_message_t in[MAX_SIZE], out[MAX_SIZE];

    for (int i = 0; i < fp_size; i++) {
        int peer = (fp_rank + i) % fp_size;

        fp_irecv(&in[i], length_of(peer, fp_rank, round), peer, TAG, round, MPI_COMM_WORLD);
    }
    for (int i = 0; i < fp_size; i++) {
        int peer = (fp_rank + fp_size - i) % fp_size;

        fp_isend(&out[i], &fp_modes[FP_STANDARD], length_of(fp_rank, peer, round), peer, TAG, round,
                 MPI_COMM_WORLD);
    }
    for (int i = 0; i < fp_size; i++) {
        fp_wait_recv(&in[i]);
        fp_wait_send(&out[i]);
    }
}

/* The same with MPI_Alltoallv, one buffer for all. */
static void by_collective(int round)
{
    int out_lengths[MAX_SIZE], in_lengths[MAX_SIZE], out_places[MAX_SIZE], in_places[MAX_SIZE];
    int out_total = 0, in_total = 0;
    unsigned char *out, *in;

    for (int i = 0; i < fp_size; i++) {
        out_lengths[i] = (int) length_of(fp_rank, i, round);
        in_lengths[i] = (int) length_of(i, fp_rank, round);
        out_places[i] = out_total;
        in_places[i] = in_total;
        out_total += out_lengths[i];
        in_total += in_lengths[i];
    }
    out = fp_alloc((size_t) out_total);
    in = fp_alloc((size_t) in_total);
    for (int i = 0; i < fp_size; i++) {
        fp_fill(out + out_places[i], (size_t) out_lengths[i], fp_key(fp_rank, i, TAG, round));
    }
    FP(MPI_Alltoallv(out, out_lengths, out_places, MPI_BYTE, in, in_lengths, in_places, MPI_BYTE,
                     MPI_COMM_WORLD));
    for (int i = 0; i < fp_size; i++) {
        CHECK_DATA(in + in_places[i], (size_t) in_lengths[i], fp_key(i, fp_rank, TAG, round));
    }
    fp_free(out);
    fp_free(in);
}

/* One of each of the common collectives. */
static void others(int round)
{
    size_t length = fp_few_sizes[round % fp_few_size_count], total = length * (size_t) fp_size;
    int root = round % fp_size;
    unsigned char *mine = fp_alloc_filled(length, fp_key(fp_rank, 0, TAG, round));
    unsigned char *all = fp_alloc(total);
    long sum = 0, one = fp_rank + round;

    FP(MPI_Allgather(mine, (int) length, MPI_BYTE, all, (int) length, MPI_BYTE, MPI_COMM_WORLD));
    for (int i = 0; i < fp_size; i++) {
        CHECK_DATA(all + length * (size_t) i, length, fp_key(i, 0, TAG, round));
    }
    FP(MPI_Bcast(mine, (int) length, MPI_BYTE, root, MPI_COMM_WORLD));
    CHECK_DATA(mine, length, fp_key(root, 0, TAG, round));
    fp_poison(mine, length);
    FP(MPI_Scatter(all, (int) length, MPI_BYTE, mine, (int) length, MPI_BYTE, root, MPI_COMM_WORLD));
    CHECK_DATA(mine, length, fp_key(fp_rank, 0, TAG, round));
    fp_poison(all, total);
    FP(MPI_Gather(mine, (int) length, MPI_BYTE, all, (int) length, MPI_BYTE, root, MPI_COMM_WORLD));
    for (int i = 0; i < fp_size && fp_rank == root; i++) {
        CHECK_DATA(all + length * (size_t) i, length, fp_key(i, 0, TAG, round));
    }
    FP(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(sum, (long) fp_size * round + (long) fp_size * (fp_size - 1) / 2);
    fp_free(mine);
    fp_free(all);
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 1);
    if (MAX_SIZE < fp_size) {
        fp_skip("has room for %d ranks", MAX_SIZE);
    }
    for (int round = 0; round < ROUNDS; round++) {
        fp_case("by hand, round %d", round);
        by_hand(round);
        fp_case("MPI_Alltoallv, round %d", round);
        by_collective(round);
        fp_case("other collectives, round %d", round);
        others(round);
    }
    return fp_finish();
}
