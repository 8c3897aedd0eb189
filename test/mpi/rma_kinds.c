/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Kinds of windows: what MPI_Win_get_attr, MPI_Win_get_group and MPI_Win_shared_query say of them, memory of
 * 0 bytes, displacement units that differ, MPI_PROC_NULL, the own rank, duplicates of predefined types,
 * memory that comes and goes, many small pieces, and large elements anywhere.
 *
 * usage: rma_kinds [sm | unshared]   sm: what Open MPI's osc/sm has: only windows whose memory MPI allocates,
 * aligned or not; unshared: all but those of MPI_Win_allocate_shared */

#include "support/fp_test.h"

enum { LENGTH = 1000 };

static bool one_node, all, shared;

static void *attribute(MPI_Win win, int key)
{
    void *value = NULL;
    int flag = 0;

    FP(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(flag);
    return value;
}

static void check_attributes(MPI_Win win, const void *base, MPI_Aint size, int unit, int flavor)
{
    int result;
    MPI_Group group, all;

    if (MPI_WIN_FLAVOR_DYNAMIC != flavor) {
        CHECK(attribute(win, MPI_WIN_BASE) == base);
        CHECK_INT(*(MPI_Aint *) attribute(win, MPI_WIN_SIZE), size);
        CHECK_INT(*(int *) attribute(win, MPI_WIN_DISP_UNIT), unit);
    } else {
        CHECK(attribute(win, MPI_WIN_BASE) == MPI_BOTTOM);
        CHECK_INT(*(MPI_Aint *) attribute(win, MPI_WIN_SIZE), 0);
    }
    CHECK_INT(*(int *) attribute(win, MPI_WIN_CREATE_FLAVOR), flavor);
    CHECK_INT(*(int *) attribute(win, MPI_WIN_MODEL), MPI_WIN_UNIFIED);
    FP(MPI_Win_get_group(win, &group));
    FP(MPI_Comm_group(MPI_COMM_WORLD, &all));
    FP(MPI_Group_compare(group, all, &result));
    CHECK_INT(result, MPI_IDENT);
    FP(MPI_Group_free(&group));
    FP(MPI_Group_free(&all));
}

/* All ranks, itself as well, put a byte at the element with the own rank's number and read it again. */
static void use(MPI_Win win, const unsigned char *memory, MPI_Aint base, int unit_of_odd)
{
    unsigned char mine = (unsigned char) (fp_rank + 1), got = 0;

    FP(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (int to = 0; to < fp_size; to++) {
        FP(MPI_Put(&mine, 1, MPI_BYTE, to, base + fp_rank, 1, MPI_BYTE, win));
    }
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int from = 0; from < fp_size; from++) {
        CHECK_INT(memory[from * ((fp_rank % 2) ? unit_of_odd : 1)], from + 1);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock_all(0, win));
    FP(MPI_Get(&got, 1, MPI_BYTE, fp_rank, base + fp_rank, 1, MPI_BYTE, win));
    FP(MPI_Win_flush(fp_rank, win));
    CHECK_INT(got, fp_rank + 1);
    FP(MPI_Win_unlock_all(win));
}

/* Calls that name no process do nothing in any epoch. */
static void null_process(MPI_Win win)
{
    unsigned char byte = 7, result = 9;
    int one = 1, other = 2, fetched = 3;
    MPI_Request request = MPI_REQUEST_NULL;

    FP(MPI_Win_fence(0, win));
    FP(MPI_Put(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, win));
    FP(MPI_Get(&result, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, win));
    FP(MPI_Accumulate(&one, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win));
    FP(MPI_Get_accumulate(&one, 1, MPI_INT, &fetched, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM,
                          win));
    FP(MPI_Fetch_and_op(&one, &fetched, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win));
    FP(MPI_Compare_and_swap(&one, &other, &fetched, MPI_INT, MPI_PROC_NULL, 0, win));
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    FP(MPI_Win_lock_all(0, win));
    FP(MPI_Rput(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, win, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FP(MPI_Rget(&result, 1, MPI_BYTE, MPI_PROC_NULL, 0, 1, MPI_BYTE, win, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FP(MPI_Win_unlock_all(win));
    CHECK_INT(result, 9);
    CHECK_INT(fetched, 3);
}

/* ---------------------------------------------------------------------- created */

static void try_created(int unit_of_odd)
{
    const int unit = (fp_rank % 2) ? unit_of_odd : 1;
    const MPI_Aint size = LENGTH * unit;
    unsigned char *memory = fp_alloc((size_t) size);
    MPI_Win win;

    fp_case("created, displacement units 1 and %d", unit_of_odd);
    FP(MPI_Win_create(memory, size, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    check_attributes(win, memory, size, unit, MPI_WIN_FLAVOR_CREATE);
    use(win, memory, 0, unit_of_odd);
    null_process(win);
    FP(MPI_Win_free(&win));
    fp_free(memory);
}

/* Only rank 0 has memory. */
static void try_one_sided_memory(void)
{
    const MPI_Aint size = (0 == fp_rank) ? LENGTH : 0;
    unsigned char *memory = (0 == fp_rank) ? fp_alloc(LENGTH) : NULL, byte = (unsigned char) (fp_rank + 1);
    MPI_Win win;

    fp_case("memory of 0 bytes but at rank 0");
    FP(MPI_Win_create(memory, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    check_attributes(win, memory, size, 1, MPI_WIN_FLAVOR_CREATE);
    FP(MPI_Win_fence(0, win));
    FP(MPI_Put(&byte, 1, MPI_BYTE, 0, fp_rank, 1, MPI_BYTE, win));
    FP(MPI_Put(&byte, 0, MPI_BYTE, fp_rank, 0, 0, MPI_BYTE, win));
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int from = 0; 0 == fp_rank && from < fp_size; from++) {
        CHECK_INT(memory[from], from + 1);
    }
    FP(MPI_Win_free(&win));
    if (0 == fp_rank) {
        fp_free(memory);
    }
}

/* A duplicate of a predefined type with gaps, made anew again and again: it is described to a target as the
 * predefined one, which nobody may release. */
static void try_duplicate(void)
{
    struct {
        double value;
        int index;
    } numbers[2] = {{.value = 0, .index = fp_rank}, {.index = 8}}, *memory = fp_alloc(sizeof(numbers));
    const int next = (fp_rank + 1) % fp_size;
    MPI_Datatype pair;
    MPI_Win win;

    fp_case("duplicates of MPI_DOUBLE_INT");
    FP(MPI_Win_create(memory, sizeof(numbers), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (int i = 1; i <= 100; i++) {
        FP(MPI_Type_dup(MPI_DOUBLE_INT, &pair));
        numbers[0].value = i;
        FP(MPI_Put(numbers, 2, pair, next, 0, 2, pair, win));
        FP(MPI_Type_free(&pair));
        FP(MPI_Win_fence(0, win));
        CHECK_INT((int) memory[0].value, i);
        CHECK_INT(memory[0].index, (fp_rank + fp_size - 1) % fp_size);
        CHECK_INT(memory[1].index, 8);
        FP(MPI_Win_fence(0, win));
    }
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    FP(MPI_Win_free(&win));
    fp_free(memory);
}

/* The same memory in two windows at a time. */
static void try_two_windows(void)
{
    unsigned char *memory = fp_alloc(LENGTH);
    MPI_Win first, second;

    fp_case("two windows of one memory");
    FP(MPI_Win_create(memory, LENGTH, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &first));
    FP(MPI_Win_create(memory + 100, LENGTH - 100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &second));
    use(first, memory, 0, 1);
    use(second, memory + 100, 0, 1);
    FP(MPI_Win_free(&first));
    use(second, memory + 100, 0, 1);
    FP(MPI_Win_free(&second));
    fp_free(memory);
}

/* -------------------------------------------------------------------- allocated */

static void try_allocated(MPI_Aint size, int unit_of_odd)
{
    const int unit = (fp_rank % 2) ? unit_of_odd : 1;
    unsigned char *memory = NULL;
    MPI_Win win;

    fp_case("allocated, %ld bytes, displacement units 1 and %d", (long) size, unit_of_odd);
    FP(MPI_Win_allocate(size * unit, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    check_attributes(win, memory, size * unit, unit, MPI_WIN_FLAVOR_ALLOCATE);
    if (0 < size) {
        CHECK(!all || 0 == (uintptr_t) memory % 16);
        use(win, memory, 0, unit_of_odd);
        null_process(win);
    }
    FP(MPI_Win_free(&win));
}

/* ----------------------------------------------------------------------- shared */

/* Stores of one rank are loads of the others; where rank R's memory is, all know. */
static void check_shared(MPI_Win win, unsigned char *memory, MPI_Aint size, bool contiguous)
{
    unsigned char *theirs, *before = NULL;
    MPI_Aint length, length_before = 0;
    int unit;

    FP(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    if (0 < size) {
        memset(memory, fp_rank + 1, (size_t) size);
    }
    FP(MPI_Win_sync(win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_sync(win));
    for (int rank = 0; rank < fp_size; rank++) {
        FP(MPI_Win_shared_query(win, rank, &length, &unit, &theirs));
        CHECK(length >= 100 * (rank % 3));
        CHECK_INT(unit, 1);
        CHECK(rank != fp_rank || theirs == memory);
        CHECK(contiguous || (NULL == theirs) == (0 == length));
        CHECK(!contiguous || NULL == before || theirs == before + length_before);
        if (0 < rank % 3) {
            CHECK_INT(theirs[0], rank + 1);
            CHECK_INT(theirs[100 * (rank % 3) - 1], rank + 1);
        }
        before = theirs;
        length_before = length;
    }
    FP(MPI_Win_shared_query(win, MPI_PROC_NULL, &length, &unit, &theirs));
    FP(MPI_Win_unlock_all(win));
    if (1 < fp_size) { /* the first with memory is rank 1 */
        CHECK(0 < length && 2 == theirs[0]);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

static void try_shared(bool contiguous)
{
    const MPI_Aint size = 100 * (fp_rank % 3);
    unsigned char *memory = NULL;
    MPI_Info info;
    MPI_Win win;

    fp_case("shared, %scontiguous", contiguous ? "" : "not ");
    FP(MPI_Info_create(&info));
    FP(MPI_Info_set(info, "alloc_shared_noncontig", contiguous ? "false" : "true"));
    FP(MPI_Win_allocate_shared(size, 1, info, MPI_COMM_WORLD, &memory, &win));
    FP(MPI_Info_free(&info));
    CHECK_INT(*(int *) attribute(win, MPI_WIN_CREATE_FLAVOR), MPI_WIN_FLAVOR_SHARED);
    check_shared(win, memory, size, contiguous);
    FP(MPI_Win_free(&win));
}

/* ---------------------------------------------------------------------- dynamic */

/* Attached, used, detached, and attached once more elsewhere; two at a time. */
static void try_dynamic(void)
{
    unsigned char *memory[2];
    MPI_Aint mine, addresses[64];
    MPI_Win win;

    fp_case("dynamic");
    FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    check_attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            memory[i] = fp_alloc(LENGTH + (size_t) (5000 * i));
            FP(MPI_Win_attach(win, memory[i], LENGTH + 5000 * i));
        }
        for (int i = 0; i < 2; i++) {
            FP(MPI_Get_address(memory[i], &mine));
            FP(MPI_Allgather(&mine, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD));
            FP(MPI_Win_fence(0, win));
            for (int to = 0; to < fp_size; to++) {
                FP(MPI_Put(&(unsigned char){(unsigned char) (fp_rank + 1)}, 1, MPI_BYTE, to,
                           MPI_Aint_add(addresses[to], fp_rank), 1, MPI_BYTE, win));
                FP(MPI_Win_fence(0, win));
            }
            for (int from = 0; from < fp_size; from++) {
                CHECK_INT(memory[i][from], from + 1);
            }
        }
        FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        for (int i = 0; i < 2; i++) {
            FP(MPI_Win_detach(win, memory[i]));
            fp_free(memory[i]);
        }
    }
    FP(MPI_Win_free(&win));
}

static unsigned char byte_of(int rank, size_t offset)
{
    return (unsigned char) (31 * rank + 7 * (int) offset);
}

/* Gets of small pieces, which may be read with what lies between them: near each other and far, in order,
 * in reverse, and some twice. */
static void try_pieces(void)
{
    enum { COUNT = 75, LONG = 3, FAR = 1000, ROOM = (COUNT + 1) * FAR };
    static const int distances[] = {LONG, LONG + 1, 40, FAR};
    const int to = (fp_rank + 1) % fp_size;
    unsigned char *memory = fp_alloc(ROOM), got[COUNT * LONG];
    MPI_Win win;

    for (size_t i = 0; i < ROOM; i++) {
        memory[i] = byte_of(fp_rank, i);
    }
    FP(MPI_Win_create(memory, ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (int order = 0; order < 3; order++) {
        for (int d = 0; d < (int) (sizeof(distances) / sizeof(distances[0])); d++) {
            int places[COUNT];
            MPI_Datatype type;

            fp_case("pieces every %d bytes, order %d", distances[d], order);
            for (int i = 0; i < COUNT; i++) {
                places[i] = distances[d] * (0 == order ? i : 1 == order ? COUNT - 1 - i : i / 2) + i % 2;
            }
            FP(MPI_Type_create_indexed_block(COUNT, LONG, places, MPI_BYTE, &type));
            FP(MPI_Type_commit(&type));
            FP(MPI_Win_fence(0, win));
            FP(MPI_Get(got, COUNT * LONG, MPI_BYTE, to, 0, 1, type, win));
            FP(MPI_Win_fence(0, win));
            for (int i = 0; i < COUNT * LONG; i++) {
                CHECK_INT(got[i], byte_of(to, (size_t) places[i / LONG] + (size_t) (i % LONG)));
            }
            FP(MPI_Type_free(&type));
        }
    }
    FP(MPI_Win_free(&win));
    fp_free(memory);
}

static bool on_one_node(void)
{
    MPI_Comm node;
    int size;

    FP(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    FP(MPI_Comm_size(node, &size));
    FP(MPI_Comm_free(&node));
    return size == fp_size;
}

/* Elements of 16 bytes, for which an operation may use instructions that need them aligned: one message has
 * them after an element of 8 bytes. Zeros are the same in each format of such numbers. */
static void try_large_elements(void)
{
    static const unsigned char zeros[32];
    const MPI_Datatype types[] = {MPI_LONG_DOUBLE, MPI_REAL16, MPI_C_DOUBLE_COMPLEX};
    unsigned char *memory;
    MPI_Win win;

    FP(MPI_Win_allocate(LENGTH, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memset(memory, 0, LENGTH);
    FP(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        fp_case("large elements, type %zu", i);
        for (int to = 0; MPI_DATATYPE_NULL != types[i] && to < fp_size; to++) {
            FP(MPI_Accumulate(zeros, 1, types[i], to, 0, 1, types[i], MPI_SUM, win));
            FP(MPI_Accumulate(zeros, 1, MPI_DOUBLE, to, 4, 1, MPI_DOUBLE, MPI_SUM, win));
            FP(MPI_Accumulate(zeros, 2, types[i], to, 6, 2, types[i], MPI_SUM, win));
            FP(MPI_Accumulate(zeros, 1, types[i], to, 11, 1, types[i], MPI_SUM, win));
        }
    }
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int i = 0; i < LENGTH; i++) {
        CHECK_INT(memory[i], 0);
    }
    FP(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 1);
    all = 2 > argc || 0 != strcmp(argv[1], "sm");
    shared = 2 > argc || 0 != strcmp(argv[1], "unshared");
    if (64 < fp_size) {
        fp_skip("it has tables for 64 ranks");
    }
    one_node = on_one_node();
    if (all) {
        try_created(1);
        try_created(8);
        try_one_sided_memory();
        try_two_windows();
        try_duplicate();
        try_dynamic();
        try_pieces();
        try_large_elements();
    }
    try_allocated(LENGTH, 1);
    try_allocated(LENGTH, 4);
    try_allocated(0, 1);
    if (one_node && shared) {
        try_shared(true);
        try_shared(false);
    }
    return fp_finish();
}
