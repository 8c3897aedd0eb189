/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Info keys of windows, which MPI_Win_get_info returns as they are in force: given values, values that nobody
 * gave, values that mean nothing, and those that MPI_Win_set_info may change. And where memory begins that
 * MPI allocates, with and without mpi_minimum_memory_alignment.
 *
 * usage: rma_info [stock [sm]]        leaves out what stock components do not return, or windows that osc/sm
 * has not */

#include "support/fp_test.h"

#include <unistd.h>

enum { LENGTH = 5000 };

static bool stock;

/* The value of a key in the window's info, or "" without one. */
static const char *value_of(MPI_Win win, const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int flag = 0;

    value[0] = '\0';
    FP(MPI_Win_get_info(win, &info));
    CHECK(MPI_INFO_NULL != info);
    FP(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    FP(MPI_Info_free(&info));
    return flag ? value : "";
}

static void check_value(MPI_Win win, const char *key, const char *want)
{
    const char *got = value_of(win, key);

    if (!stock) {
        fp_check(0 == strcmp(got, want), __FILE__, __LINE__, "info key %s is \"%s\" and not \"%s\"", key, got,
                 want);
    }
}

static MPI_Win make(int kind, const char *const keys[][2])
{
    static int memory[4];
    MPI_Info info = MPI_INFO_NULL;
    MPI_Win win;
    int *base;

    if (NULL != keys) {
        FP(MPI_Info_create(&info));
        for (int i = 0; NULL != keys[i][0]; i++) {
            FP(MPI_Info_set(info, keys[i][0], keys[i][1]));
        }
    }
    if (0 == kind) {
        FP(MPI_Win_create(memory, sizeof(memory), sizeof(int), info, MPI_COMM_WORLD, &win));
    } else if (1 == kind) {
        FP(MPI_Win_allocate(sizeof(memory), sizeof(int), info, MPI_COMM_WORLD, &base, &win));
    } else {
        FP(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win));
    }
    if (MPI_INFO_NULL != info) {
        FP(MPI_Info_free(&info));
    }
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    return win;
}

/* A window works whatever its info says. */
static void use(MPI_Win win, int kind, bool locks)
{
    int one = 1, got = -1;

    if (2 == kind) {
        return;
    }
    FP(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    FP(MPI_Accumulate(&one, 1, MPI_INT, (fp_rank + 1) % fp_size, 0, 1, MPI_INT, MPI_REPLACE, win));
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (locks) {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, (fp_rank + 1) % fp_size, 0, win));
        FP(MPI_Fetch_and_op(NULL, &got, MPI_INT, (fp_rank + 1) % fp_size, 0, MPI_NO_OP, win));
        FP(MPI_Win_unlock((fp_rank + 1) % fp_size, win));
        CHECK_INT(got, 1);
    }
}

static void try_defaults(int kind)
{
    MPI_Win win = make(kind, NULL);

    fp_case("defaults, kind %d", kind);
    check_value(win, "no_locks", "false");
    check_value(win, "accumulate_ordering", "rar,raw,war,waw");
    check_value(win, "accumulate_ops", "same_op_no_op");
    use(win, kind, true);
    FP(MPI_Win_free(&win));
}

static void try_given(int kind)
{
    static const char *const keys[][2] = {{"no_locks", "true"},          {"accumulate_ordering", "none"},
                                          {"accumulate_ops", "same_op"}, {"same_size", "true"},
                                          {"same_disp_unit", "true"},    {NULL, NULL}};
    MPI_Win win = make(kind, keys);

    fp_case("given values, kind %d", kind);
    for (int i = 0; NULL != keys[i][0]; i++) {
        check_value(win, keys[i][0], keys[i][1]);
    }
    use(win, kind, false);
    FP(MPI_Win_free(&win));
}

/* Some of the orders, others' keys, and nonsense, which is not in force. */
static void try_odd(int kind)
{
    static const char *const keys[][2] = {{"accumulate_ordering", "raw,waw"},
                                          {"no_locks", "perhaps"},
                                          {"somebody_elses_key", "value"},
                                          {NULL, NULL}};
    MPI_Win win = make(kind, keys);

    fp_case("odd values, kind %d", kind);
    check_value(win, "accumulate_ops", "same_op_no_op");
    check_value(win, "accumulate_ordering", "raw,waw");
    check_value(win, "no_locks", "false");
    use(win, kind, true);
    FP(MPI_Win_free(&win));
}

/* Nobody may lock a window that has been made without locks. */
static void try_no_locks(void)
{
    static const char *const keys[][2] = {{"no_locks", "true"}, {NULL, NULL}};
    MPI_Win win = make(0, keys);

    fp_case("no_locks");
    if (!stock) {
        FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
        FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    }
    use(win, 0, false);
    FP(MPI_Win_free(&win));
}

/* MPI_Win_set_info: what can be changed later, is; what cannot, stays. */
static void try_set(void)
{
    MPI_Win win = make(0, NULL);
    MPI_Info info;

    fp_case("set_info");
    FP(MPI_Info_create(&info));
    FP(MPI_Info_set(info, "somebody_elses_key", "value"));
    FP(MPI_Info_set(info, "accumulate_ordering", "none"));
    FP(MPI_Win_set_info(win, info));
    FP(MPI_Info_free(&info));
    if (!stock) {
        const char *now = value_of(win, "accumulate_ordering");

        CHECK(0 == strcmp(now, "none") || 0 == strcmp(now, "rar,raw,war,waw"));
    }
    use(win, 0, true);
    FP(MPI_Win_free(&win));
}

/* @return the own memory of a window whose memory MPI allocates with this alignment, unless it is 0 */
static uintptr_t allocate(bool shared, bool apart, size_t alignment, MPI_Win *win)
{
    char text[32], *memory = NULL;
    MPI_Info info;

    FP(MPI_Info_create(&info));
    if (0 < alignment) {
        snprintf(text, sizeof(text), "%zu", alignment);
        FP(MPI_Info_set(info, "mpi_minimum_memory_alignment", text));
    }
    FP(MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false"));
    if (shared) {
        FP(MPI_Win_allocate_shared(LENGTH, 1, info, MPI_COMM_WORLD, &memory, win));
    } else {
        FP(MPI_Win_allocate(LENGTH, 1, info, MPI_COMM_WORLD, &memory, win));
    }
    FP(MPI_Info_free(&info));
    memset(memory, fp_rank, LENGTH);
    return (uintptr_t) memory;
}

/* Memory that MPI allocates begins with a line, or with what mpi_minimum_memory_alignment asks for; and where
 * it may, not with a page, as the buffers do that it is copied to. */
static void try_alignment(bool shared, bool apart, size_t alignment)
{
    const bool own_pages = apart || 0 == fp_rank;
    const size_t page = (size_t) sysconf(_SC_PAGESIZE), at_least = 64 < alignment ? alignment : 64;
    MPI_Win win;
    const uintptr_t memory = allocate(shared, apart, alignment, &win);

    fp_case("%s memory, %s, alignment %zu", shared ? "shared" : "allocated", apart ? "apart" : "side by side",
            alignment);
    if (own_pages) {
        CHECK_INT(memory % at_least, 0);
        CHECK(1 == fp_size || 1024 < alignment || 0 != memory % page);
    }
    if (shared) {
        MPI_Aint length;
        char *first;
        int unit;

        FP(MPI_Win_shared_query(win, 0, &length, &unit, &first));
        if (apart) {
            CHECK(0 == fp_rank || ((uintptr_t) first + LENGTH - 1) / page < memory / page);
        } else {
            CHECK_INT(memory - (uintptr_t) first, (uintptr_t) fp_rank * LENGTH);
        }
    }
    FP(MPI_Win_free(&win));
}

static void try_alignments(void)
{
    static const size_t alignments[] = {0, 8, 128, 256, 1024, 2048, 4096, 8192, 2 << 20};

    for (size_t i = 0; i < sizeof(alignments) / sizeof(alignments[0]); i++) {
        try_alignment(false, true, alignments[i]);
        try_alignment(true, true, alignments[i]);
        try_alignment(true, false, alignments[i]);
    }
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 1);
    stock = 1 < argc && 0 == strcmp(argv[1], "stock");
    for (int kind = (2 < argc) ? 1 : 0; kind < ((2 < argc) ? 2 : 3); kind++) {
        try_defaults(kind);
        try_given(kind);
        try_odd(kind);
    }
    if (3 > argc) {
        try_no_locks();
        try_set();
    }
    if (!stock) {
        try_alignments();
    }
    return fp_finish();
}
