/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Partitioned communication (MPI-4, 4.2): Open MPI makes persistent messages of ours of the partitions, which
 * arrive one by one, whatever their order, and again in each round. */

#include "support/fp_test.h"

enum { TAG = 291, PARTITIONS = 8, ROUNDS = 4 };

static void partitions(size_t size)
{
    const int next = (fp_rank + 1) % fp_size, before = (fp_rank + fp_size - 1) % fp_size;
    const size_t length = PARTITIONS * size;
    unsigned char *in = fp_alloc(length), *out = fp_alloc(length);
    MPI_Request requests[2];

    fp_case("%d partitions of %zu bytes", PARTITIONS, size);
    FP(MPI_Precv_init(in, PARTITIONS, (MPI_Count) size, MPI_BYTE, before, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[0]));
    FP(MPI_Psend_init(out, PARTITIONS, (MPI_Count) size, MPI_BYTE, next, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[1]));
    for (int round = 0; round < ROUNDS; round++) {
        fp_fill(out, length, fp_key(fp_rank, next, TAG, round));
        FP(MPI_Startall(2, requests));
        for (int i = 0; i < PARTITIONS; i++) {
            FP(MPI_Pready((i * 3 + round) % PARTITIONS, requests[1]));
        }
        for (int i = 0; i < PARTITIONS; i++) {
            int arrived = 0;

            while (!arrived) {
                FP(MPI_Parrived(requests[0], i, &arrived));
            }
            CHECK_DATA_FROM(in + (size_t) i * size, size, fp_key(before, fp_rank, TAG, round),
                            (size_t) i * size);
        }
        FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    FP(MPI_Request_free(&requests[0]));
    FP(MPI_Request_free(&requests[1]));
    fp_free(in);
    fp_free(out);
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    for (int i = 0; i < fp_few_size_count; i++) {
        if (0 < fp_few_sizes[i]) {
            partitions(fp_few_sizes[i]);
        }
    }
    return fp_finish();
}
