/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Messages between two hosts with several networks use all of them, long ones in parts, and short ones in
 * turn: by what the kernel counts per network device, each carries its share, within a quarter.  With buffers
 * that are contiguous, and with gaps. */

#include "support/fp_test.h"

enum { TAG = 12, BLOCK = 500, TOTAL = 64000000, DEVICES = 16, NAME = 32 };

typedef struct {
    char name[NAME];
    double sent;
} device_t;

/* What all devices but the loopback device have sent. */
static int devices(device_t *list)
{
    FILE *file = fopen("/proc/self/net/dev", "r");
    char line[512];
    int count = 0;

    while (NULL != file && DEVICES > count && NULL != fgets(line, sizeof(line), file)) {
        if (2
                == sscanf(line, " %31[^:]: %*f %*f %*f %*f %*f %*f %*f %*f %lf", list[count].name,
                          &list[count].sent)
            && 0 != strcmp(list[count].name, "lo")) {
            count++;
        }
    }
    CHECK(NULL != file && 0 == fclose(file));
    return count;
}

/* TOTAL bytes in messages of `length` bytes, which is a multiple of BLOCK. */
static void messages(int length, bool gaps)
{
    MPI_Datatype type;
    char *buffer = calloc(2, (size_t) length);

    if (NULL == buffer) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    FP(MPI_Type_vector(length / BLOCK, BLOCK, gaps ? 2 * BLOCK : BLOCK, MPI_BYTE, &type));
    FP(MPI_Type_commit(&type));
    for (int i = 0; i < TOTAL / length; i++) {
        if (0 == fp_rank) {
            FP(MPI_Send(buffer, 1, type, 1, TAG, MPI_COMM_WORLD));
        } else {
            FP(MPI_Recv(buffer, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    FP(MPI_Type_free(&type));
    free(buffer);
}

static void shares(int length, bool gaps)
{
    device_t before[DEVICES], after[DEVICES];
    int count;

    fp_case("%d bytes, %s", length, gaps ? "with gaps" : "one piece");
    FP(MPI_Barrier(MPI_COMM_WORLD));
    count = devices(before);
    messages(length, gaps);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_INT(devices(after), count);
    for (int i = 0; 0 == fp_rank && i < count; i++) {
        double share = 1.0 * TOTAL / count, sent = after[i].sent - before[i].sent;

        fp_check(0.75 * share < sent && sent < 1.25 * share, __FILE__, __LINE__,
                 "%s has sent %.0f bytes, its share is %.0f", after[i].name, sent, share);
    }
}

int main(int argc, char **argv)
{
    device_t list[DEVICES];

    fp_init(&argc, &argv, 2);
    if (2 > devices(list)) {
        fp_skip("one network only");
    }
    for (int gaps = 0; gaps < 2; gaps++) {
        shares(8000000, 0 != gaps);
        shares(4000, 0 != gaps);
        shares(1500, 0 != gaps);
    }
    return fp_finish();
}
