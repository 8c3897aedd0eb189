/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* One message of more than 2 GiB, contiguous, and one of a type with gaps whose
 * packed size is as large. */

#include "support/fp_test.h"

enum { TAG = 161, CHUNK = 1 << 20, CHUNKS = 2048, REST = 12345 };

/* Megabytes that can be used without swapping. */
static long memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[200];
    long kilobytes = 0;

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (1 == sscanf(line, "MemAvailable: %ld", &kilobytes)) {
            break;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return kilobytes / 1024;
}

/* CHUNKS MiB and REST bytes as one element. */
static MPI_Datatype big_type(void)
{
    MPI_Datatype chunk, many, type;

    FP(MPI_Type_contiguous(CHUNK, MPI_BYTE, &chunk));
    FP(MPI_Type_contiguous(CHUNKS, chunk, &many));
    FP(MPI_Type_create_struct(2, (int[]){1, REST}, (MPI_Aint[]){0, (MPI_Aint) CHUNK * CHUNKS},
                              (MPI_Datatype[]){many, MPI_BYTE}, &type));
    FP(MPI_Type_commit(&type));
    FP(MPI_Type_free(&chunk));
    FP(MPI_Type_free(&many));
    return type;
}

/* One element that is contiguous. */
static void contiguous(unsigned char *memory, size_t length)
{
    MPI_Datatype type = big_type();
    uint64_t key = fp_key(0, 1, TAG, 0);
    MPI_Status status;

    if (0 == fp_rank) {
        fp_fill(memory, length, key);
        FP(MPI_Send(memory, 1, type, 1, TAG, MPI_COMM_WORLD));
    } else {
        FP(MPI_Recv(memory, 1, type, 0, TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, 0, TAG, length);
        CHECK_DATA(memory, length, key);
    }
    FP(MPI_Type_free(&type));
}

/* 9 of 10 bytes; the gaps keep what they had. */
static void with_gaps(unsigned char *memory, size_t length)
{
    enum { BLOCK = 9 << 16, EXTENT = 10 << 16 };
    int count = (int) (length / EXTENT);
    MPI_Datatype block, type;
    MPI_Status status;

    FP(MPI_Type_contiguous(BLOCK, MPI_BYTE, &block));
    FP(MPI_Type_create_resized(block, 0, EXTENT, &type));
    FP(MPI_Type_commit(&type));
    for (int i = 0; i < count; i++) {
        fp_poison(memory + (size_t) i * EXTENT, EXTENT);
        if (0 == fp_rank) {
            fp_fill(memory + (size_t) i * EXTENT, BLOCK, fp_key(0, 1, TAG, i));
        }
    }
    if (0 == fp_rank) {
        FP(MPI_Send(memory, count, type, 1, TAG, MPI_COMM_WORLD));
    } else {
        FP(MPI_Recv(memory, count, type, 0, TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, 0, TAG, (size_t) count * BLOCK);
        for (int i = 0; i < count; i++) {
            CHECK_DATA(memory + (size_t) i * EXTENT, BLOCK, fp_key(0, 1, TAG, i));
            CHECK_POISON(memory + (size_t) i * EXTENT + BLOCK, EXTENT - BLOCK);
        }
    }
    FP(MPI_Type_free(&block));
    FP(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    size_t length = (size_t) CHUNK * CHUNKS + REST;
    long available = memory_available();
    unsigned char *memory;

    fp_init(&argc, &argv, 2);
    FP(MPI_Bcast(&available, 1, MPI_LONG, 0, MPI_COMM_WORLD));
    if (8192 > available) {
        fp_skip("needs 8 GiB of memory, has %ld MiB", available);
    }
    if (1 >= fp_rank) {
        memory = fp_alloc(length + length / 5);
        fp_case("contiguous");
        contiguous(memory, length);
        fp_case("with gaps");
        with_gaps(memory, length + length / 5);
        fp_free(memory);
    }
    return fp_finish();
}
