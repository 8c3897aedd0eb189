/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Long gets, whose data the target's transport writes into the origin's memory: which gets those are, what
 * they leave alone, that no lock and no end of an epoch comes before the data has been read, and what a
 * target refuses. Rank 1 is the target.
 *
 * usage: rma_place [LIMIT [never | some]]     the value of osc_fastpath_place_limit (default: what it is
 * without); never: nothing is written so; some: parts of a get may come in replies */

#include "support/fp_counters.h"

enum { TARGET = 1, TAG = 7, ROUNDS = 20, GETS = 6 };

static const char *const names[] = {"osc_fastpath_placed", "osc_fastpath_packets_sent"};
static size_t limit = 64 << 10, most;
static bool never, some, kernel;       /* kernel: it copies, nothing is sent */
static unsigned char *memory, *buffer; /* the window has a byte before and behind what is accessed */
static MPI_Win win;

static uint64_t key_of(int sequence)
{
    return fp_key(0, TARGET, TAG, sequence);
}

static void get(size_t length)
{
    fp_poison(buffer, most);
    FP(MPI_Get(buffer, (int) length, MPI_BYTE, TARGET, 1, (int) length, MPI_BYTE, win));
}

/* Has data been written since, if that is to be? */
static void check_placed(fp_counts_t *before, bool want)
{
    const fp_counts_t since = fp_counters_since(before);

    kernel = 0 == since.value[1];
    if (!want || never || kernel) {
        CHECK_INT(since.value[0], 0);
    } else if (!some) {
        CHECK(0 < since.value[0]);
    }
    *before = fp_counters_now();
}

/* ---------------------------------------------------------------------- which gets those are, and their
 * bytes */

static void one_size(size_t length)
{
    const bool placed = limit <= length;
    fp_counts_t before = fp_counters_now();
    MPI_Request request;

    fp_case("%zu bytes", length);
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win));
    get(length);
    FP(MPI_Win_flush_local(TARGET, win));
    CHECK_DATA(buffer, length, key_of(1));
    CHECK_POISON(buffer + length, most - length);
    check_placed(&before, placed);
    get(length);
    FP(MPI_Win_unlock(TARGET, win));
    CHECK_DATA(buffer, length, key_of(1));
    check_placed(&before, placed);

    FP(MPI_Win_lock_all(0, win));
    fp_poison(buffer, most);
    FP(MPI_Rget(buffer, (int) length, MPI_BYTE, TARGET, 1, (int) length, MPI_BYTE, win, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_DATA(buffer, length, key_of(1));
    CHECK_POISON(buffer + length, most - length);
    check_placed(&before, placed);
    FP(MPI_Win_unlock_all(win));
}

/* Several in a packet, beside what is short. */
static void together(void)
{
    const size_t length = most / GETS;
    unsigned char *shorts = fp_alloc(2 * GETS);
    fp_counts_t before = fp_counters_now();

    fp_case("several");
    FP(MPI_Win_lock_all(0, win));
    fp_poison(buffer, most);
    for (int i = 0; i < GETS; i++) {
        const size_t at = (size_t) i * length;

        FP(MPI_Get(shorts + 2 * i, 2, MPI_BYTE, TARGET, (MPI_Aint) (1 + at), 2, MPI_BYTE, win));
        FP(MPI_Get(buffer + at, (int) length, MPI_BYTE, TARGET, (MPI_Aint) (1 + at), (int) length, MPI_BYTE,
                   win));
    }
    FP(MPI_Win_flush_all(win));
    CHECK_DATA(buffer, GETS * length, key_of(1));
    for (int i = 0; i < GETS; i++) {
        CHECK(0 == memcmp(shorts + 2 * i, buffer + (size_t) i * length, 2));
    }
    FP(MPI_Win_unlock_all(win));
    check_placed(&before, limit <= length);
    fp_free(shorts);
}

/* What is not one piece of memory at both ends comes in replies. */
static void with_gaps(void)
{
    const int count = (int) (limit / 4) + 1;
    fp_counts_t before = fp_counters_now();
    MPI_Datatype type;

    fp_case("gaps");
    FP(MPI_Type_vector(count, 4, 5, MPI_BYTE, &type));
    FP(MPI_Type_commit(&type));
    FP(MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, win));
    FP(MPI_Get(buffer, 1, type, TARGET, 1, 4 * count, MPI_BYTE, win));
    FP(MPI_Get(buffer, 4 * count, MPI_BYTE, TARGET, 1, 1, type, win));
    FP(MPI_Win_unlock(TARGET, win));
    FP(MPI_Type_free(&type));
    check_placed(&before, false);
}

static void sizes(void)
{
    if (TARGET == fp_rank) {
        fp_fill(memory + 1, most, key_of(1));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        one_size(limit - 1);
        one_size(limit);
        one_size(limit + 1);
        one_size(most);
        together();
        with_gaps();
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_POISON(memory, 1);
    CHECK_POISON(memory + 1 + most, 1);
}

/* -------------------------------------------------------------------------------------- locks and epochs */

/* A get that ends with the unlock sees all of one put. */
static void under_locks(void)
{
    fp_case("locks");
    for (int i = 0; i < ROUNDS && TARGET != fp_rank; i++) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win));
        memset(buffer, i * fp_size + fp_rank, most);
        FP(MPI_Put(buffer, (int) most, MPI_BYTE, TARGET, 1, (int) most, MPI_BYTE, win));
        FP(MPI_Win_unlock(TARGET, win));
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win));
        get(most);
        FP(MPI_Win_unlock(TARGET, win));
        CHECK(0 == memcmp(buffer, buffer + 1, most - 1));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* The target changes its memory as soon as it may. */
static void post_and_start(void)
{
    MPI_Group world, group;
    const int partner = TARGET - fp_rank;

    fp_case("post and start");
    FP(MPI_Comm_group(MPI_COMM_WORLD, &world));
    FP(MPI_Group_incl(world, 1, &partner, &group));
    for (int i = 0; i < ROUNDS; i++) {
        if (TARGET == fp_rank) {
            fp_fill(memory + 1, most, key_of(100 + i));
            FP(MPI_Win_post(group, 0, win));
            FP(MPI_Win_wait(win));
            memset(memory + 1, i, most);
        } else {
            FP(MPI_Win_start(group, 0, win));
            get(most);
            FP(MPI_Win_complete(win));
            CHECK_DATA(buffer, most, key_of(100 + i));
        }
    }
    FP(MPI_Group_free(&group));
    FP(MPI_Group_free(&world));
}

static void fences(void)
{
    fp_case("fences");
    FP(MPI_Win_fence(0, win));
    for (int i = 0; i < ROUNDS; i++) {
        if (TARGET == fp_rank) {
            fp_fill(memory + 1, most, key_of(200 + i));
        }
        FP(MPI_Win_fence(0, win));
        if (TARGET != fp_rank) {
            get(most);
        }
        FP(MPI_Win_fence(0, win));
        if (TARGET == fp_rank) {
            memset(memory + 1, i, most);
        } else {
            CHECK_DATA(buffer, most, key_of(200 + i));
        }
    }
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

/* ------------------------------------------------------------------------------------- what is refused */

/* The target finds out that an access ends beyond its window. Nothing is written, nobody waits for ever. */
static void refused(void)
{
    MPI_Request request;
    int class = MPI_SUCCESS, code;

    fp_case("beyond the window");
    memset(memory + 1, 9, most);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank && !kernel) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win));
        fp_poison(buffer, most);
        FP(MPI_Get(buffer, (int) most, MPI_BYTE, TARGET, 3, (int) most, MPI_BYTE, win));
        FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Win_flush(TARGET, win));
        FP(MPI_Rget(buffer, (int) most, MPI_BYTE, TARGET, 3, (int) most, MPI_BYTE, win, &request));
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        FP(MPI_Error_class(code, &class));
        CHECK_INT(class, MPI_ERR_RMA_RANGE);
        CHECK_POISON(buffer, most);
        (void) MPI_Win_flush(TARGET, win); /* may tell of it once more */
        get(most);
        FP(MPI_Win_unlock(TARGET, win));
        CHECK_INT(buffer[0], 9);
        CHECK(0 == memcmp(buffer, buffer + 1, most - 1));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    limit = 1 < argc ? strtoul(argv[1], NULL, 10) : limit;
    never = 2 < argc && 0 == strcmp("never", argv[2]);
    some = 2 < argc && !never;
    most = 4 * limit < (3 << 20) ? 3 << 20 : 4 * limit;
    fp_counters_open(MPI_THREAD_SINGLE, names, 2);
    memory = fp_alloc(most + 2);
    buffer = fp_alloc(most);
    FP(MPI_Win_create(memory, (MPI_Aint) most + 2, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    sizes();
    under_locks();
    if (2 > fp_rank) {
        post_and_start();
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    fences();
    refused();
    FP(MPI_Win_free(&win));
    fp_free(buffer);
    fp_free(memory);
    fp_counters_close();
    return fp_finish();
}
