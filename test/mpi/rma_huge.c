/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Windows of 5 GiB, of which a few pages are there: displacements around 2 and 4 GiB, in bytes and in units,
 * in datatypes that reach that far, and with everything that can be done there.
 *
 * usage: rma_huge [long]        also a get and a put of 3 GiB, which takes that much memory twice */

#include "support/fp_test.h"

#include <sys/mman.h>

static const size_t gib = (size_t) 1 << 30, window_size = (size_t) 5 << 30;

static unsigned char *map(size_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (MAP_FAILED == memory) {
        fp_skip("no %zu bytes of address space", size);
    }
    return memory;
}

/* Everything at byte OFFSET of the window of rank 1; its memory is checked by rank 1 itself. */
static void at(MPI_Win win, MPI_Aint displacement, long value)
{
    long got = 0, one = 1, fetched = 0, next = value + 10, found = 0, expected = value + 3;

    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
    FP(MPI_Put(&value, 1, MPI_LONG, 1, displacement, 1, MPI_LONG, win));
    FP(MPI_Win_flush(1, win));
    FP(MPI_Get(&got, 1, MPI_LONG, 1, displacement, 1, MPI_LONG, win));
    FP(MPI_Win_flush(1, win));
    CHECK_INT(got, value);
    FP(MPI_Accumulate(&one, 1, MPI_LONG, 1, displacement, 1, MPI_LONG, MPI_SUM, win));
    FP(MPI_Fetch_and_op(&one, &fetched, MPI_LONG, 1, displacement, MPI_SUM, win));
    FP(MPI_Get_accumulate(&one, 1, MPI_LONG, &got, 1, MPI_LONG, 1, displacement, 1, MPI_LONG, MPI_SUM, win));
    FP(MPI_Compare_and_swap(&next, &expected, &found, MPI_LONG, 1, displacement, win));
    FP(MPI_Win_unlock(1, win));
    CHECK_INT(fetched, value + 1);
    CHECK_INT(got, value + 2);
    CHECK_INT(found, value + 3);
}

static void try_displacements(int unit)
{
    const size_t offsets[] = {0, 2 * gib - 8, 2 * gib, 2 * gib + 4096, 4 * gib - 8, 4 * gib, 5 * gib - 8};
    unsigned char *memory = (1 == fp_rank) ? map(window_size) : NULL;
    MPI_Win win;

    fp_case("displacements, unit %d", unit);
    FP(MPI_Win_create(memory, (1 == fp_rank) ? (MPI_Aint) window_size : 0, unit, MPI_INFO_NULL,
                      MPI_COMM_WORLD, &win));
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        if (0 == fp_rank) {
            at(win, (MPI_Aint) (offsets[i] / (size_t) unit), 1000 * (long) i);
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
        if (1 == fp_rank) {
            long now;

            memcpy(&now, memory + offsets[i], sizeof(now));
            CHECK_INT(now, 1000 * (long) i + 10);
        }
    }
    FP(MPI_Win_free(&win));
    if (1 == fp_rank) {
        FP(munmap(memory, window_size));
    }
}

/* A datatype with blocks 2 GiB apart, at the target and at the origin. */
static void try_wide_type(void)
{
    unsigned char *memory = map(window_size);
    long three[3] = {7, 8, 9}, got[3] = {0};
    MPI_Datatype wide;
    MPI_Win win;

    fp_case("datatype of 4 GiB");
    FP(MPI_Type_create_hvector(3, 1, (MPI_Aint) (2 * gib + 64), MPI_LONG, &wide));
    FP(MPI_Type_commit(&wide));
    FP(MPI_Win_create(memory, (MPI_Aint) window_size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    if (0 == fp_rank) {
        FP(MPI_Put(three, 3, MPI_LONG, 1, 16, 1, wide, win));
    }
    FP(MPI_Win_fence(0, win));
    if (0 == fp_rank) {
        FP(MPI_Accumulate(three, 3, MPI_LONG, 1, 16, 1, wide, MPI_SUM, win));
    }
    FP(MPI_Win_fence(0, win));
    if (0 == fp_rank) {
        FP(MPI_Get(memory, 1, wide, 1, 16, 1, wide, win));
    }
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (size_t i = 0; 2 > fp_rank && i < 3; i++) {
        memcpy(&got[i], memory + i * (2 * gib + 64) + (1 == fp_rank ? 16 : 0), sizeof(long));
        CHECK_INT(got[i], 2 * (7 + (long) i));
    }
    FP(MPI_Win_free(&win));
    FP(MPI_Type_free(&wide));
    FP(munmap(memory, window_size));
}

/* More than 2 GiB in one call. */
static void try_long(void)
{
    const int count = 3 << 10; /* of MiB */
    unsigned char *memory = map(3 * gib);
    MPI_Datatype mib;
    MPI_Win win;

    fp_case("3 GiB in a call");
    FP(MPI_Type_contiguous(1 << 17, MPI_LONG, &mib));
    FP(MPI_Type_commit(&mib));
    if (1 == fp_rank) {
        for (size_t i = 0; i < 3 * gib; i += 4096) {
            memcpy(memory + i, &i, sizeof(i));
        }
    }
    FP(MPI_Win_create(memory, (1 == fp_rank) ? (MPI_Aint) (3 * gib) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                      &win));
    if (0 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win));
        FP(MPI_Get(memory, count, mib, 1, 0, count, mib, win));
        FP(MPI_Win_flush(1, win));
        for (size_t i = 0; i < 3 * gib; i += 4096) {
            if (!CHECK(0 == memcmp(memory + i, &i, sizeof(i)))) {
                break;
            }
            memory[i] ^= 0xff;
        }
        FP(MPI_Put(memory, count, mib, 1, 0, count, mib, win));
        FP(MPI_Win_unlock(1, win));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    for (size_t i = 0; 1 == fp_rank && i < 3 * gib; i += 4096) {
        if (!CHECK(memory[i] == (unsigned char) ~(i & 0xff))) {
            break;
        }
    }
    FP(MPI_Win_free(&win));
    FP(MPI_Type_free(&mib));
    FP(munmap(memory, 3 * gib));
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    try_displacements(1);
    try_displacements(8);
    try_wide_type();
    if (1 < argc) {
        try_long();
    }
    return fp_finish();
}
