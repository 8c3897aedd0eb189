/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* What is no epoch, no rank, no memory: calls that must fail with an error class of one-sided communication,
 * through the window's error handler, and leave a window that works.
 *
 * usage: rma_errors [bounds]       also accesses beyond a window, for osc_fastpath_check_bounds */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "support/fp_test.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NUMBERS = 16 };

static int memory[NUMBERS], number = 5;
static int called;

static void handler(MPI_Win *win, int *code, ...)
{
    (void) win;
    (void) code;
    called++;
}

static MPI_Win make(void)
{
    MPI_Win win;

    memset(memory, 0, sizeof(memory));
    FP(MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    return win;
}

/* The window is as good as new. */
static void still_works(MPI_Win win)
{
    const int next = (fp_rank + 1) % fp_size;
    int got = 0;

    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win));
    FP(MPI_Put(&number, 1, MPI_INT, next, 3, 1, MPI_INT, win));
    FP(MPI_Win_flush(next, win));
    FP(MPI_Get(&got, 1, MPI_INT, next, 3, 1, MPI_INT, win));
    FP(MPI_Win_unlock(next, win));
    CHECK_INT(got, number);
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Operations, flushes and ends of epochs without an epoch. */
static void without_epoch(MPI_Win win)
{
    int got = 0, flag;

    fp_case("no epoch");
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Put(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Accumulate(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Fetch_and_op(&number, &got, MPI_INT, 0, 0, MPI_SUM, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Compare_and_swap(&number, &number, &got, MPI_INT, 0, 0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &flag));
    CHECK_INT(got, 0);
    still_works(win);
}

/* One epoch within another. */
static void within_epoch(MPI_Win win)
{
    MPI_Group self;

    fp_case("an epoch within another");
    FP(MPI_Comm_group(MPI_COMM_SELF, &self));
    FP(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    FP(MPI_Win_unlock(0, win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_lock_all(0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    FP(MPI_Win_unlock_all(win));
    FP(MPI_Group_free(&self));
    still_works(win);
}

/* A target that no lock has been taken of, though of another one. */
static void wrong_target(MPI_Win win)
{
    fp_case("a target without a lock");
    FP(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Put(&number, 1, MPI_INT, 1, 0, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_flush(1, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_unlock(1, win));
    FP(MPI_Win_unlock(0, win));
    still_works(win);
}

/* Who was in the group of an earlier MPI_Win_start is not therefore in that of the next one. */
static void wrong_group(MPI_Win win)
{
    const int both[] = {0, 1};
    MPI_Group world, pair, self;

    fp_case("a target of an earlier group");
    FP(MPI_Comm_group(MPI_COMM_WORLD, &world));
    FP(MPI_Group_incl(world, 2, both, &pair));
    FP(MPI_Group_incl(world, 1, &fp_rank, &self));
    for (int round = 0; round < 2 && 2 > fp_rank; round++) {
        const MPI_Group group = 0 == round ? pair : self;

        FP(MPI_Win_post(group, 0, win));
        FP(MPI_Win_start(group, 0, win));
        if (0 == round) {
            FP(MPI_Put(&number, 1, MPI_INT, 1 - fp_rank, 0, 1, MPI_INT, win));
        } else {
            FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Put(&number, 1, MPI_INT, 1 - fp_rank, 0, 1, MPI_INT, win));
        }
        FP(MPI_Win_complete(win));
        FP(MPI_Win_wait(win));
    }
    FP(MPI_Group_free(&world));
    FP(MPI_Group_free(&pair));
    FP(MPI_Group_free(&self));
    still_works(win);
}

/* The MPI layer of some series leaves it to the component. */
static void check_no_rank(int code)
{
    int class;

    FP(MPI_Error_class(code, &class));
    CHECK(MPI_ERR_RANK == class || MPI_ERR_RMA_SYNC == class);
}

/* Arguments that are nothing at all. */
static void bad_arguments(MPI_Win win)
{
    const int target = (fp_rank + 1) % fp_size;
    double real = 0;
    int got;
    MPI_Request request;

    fp_case("arguments");
    FP(MPI_Win_lock_all(0, win));
    FP_ERROR(MPI_ERR_RANK, MPI_Put(&number, 1, MPI_INT, fp_size, 0, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_RANK, MPI_Get(&got, 1, MPI_INT, -7, 0, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_COUNT, MPI_Put(&number, -1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_TYPE, MPI_Put(&number, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_OP, MPI_Accumulate(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win));
    FP_ERROR(MPI_ERR_OP, MPI_Fetch_and_op(&real, &real, MPI_DOUBLE, target, 0, MPI_BAND, win));
    FP_ERROR(MPI_ERR_OP, MPI_Fetch_and_op(&number, &got, MPI_INT, target, 0, MPI_MAXLOC, win));
    FP_ERROR(MPI_ERR_RANK, MPI_Rput(&number, 1, MPI_INT, fp_size, 0, 1, MPI_INT, win, &request));
    fp_at(__FILE__, __LINE__, "flush of no rank");
    check_no_rank(MPI_Win_flush(fp_size, win));
    check_no_rank(MPI_Win_flush_local(-5, win));
    FP(MPI_Win_unlock_all(win));
    FP_ERROR(MPI_ERR_LOCKTYPE, MPI_Win_lock(-1, 0, 0, win));
    FP_ERROR(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, fp_size, 0, win));
    FP_ERROR(MPI_ERR_ASSERT, MPI_Win_fence(MPI_MODE_NOCHECK, win));
    still_works(win);
}

/* Memory of others that is mapped here. */
static void allocated(void)
{
    int *theirs, got;
    MPI_Win win;

    fp_case("arguments, allocated window");
    FP(MPI_Win_allocate(sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &theirs, &win));
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FP(MPI_Win_lock_all(0, win));
    for (int target = 0; target < fp_size; target++) {
        FP_ERROR(MPI_ERR_OP, MPI_Fetch_and_op(&number, &got, MPI_INT, target, 0, MPI_MAXLOC, win));
        FP_ERROR(MPI_ERR_OP, MPI_Fetch_and_op(&number, &got, MPI_FLOAT, target, 0, MPI_LXOR, win));
    }
    FP(MPI_Win_unlock_all(win));
    FP(MPI_Win_free(&win));
}

/* The window's handler is called, once each. */
static void through_handler(MPI_Win win)
{
    MPI_Errhandler errors;

    fp_case("handler");
    FP(MPI_Win_create_errhandler(handler, &errors));
    FP(MPI_Win_set_errhandler(win, errors));
    called = 0;
    (void) MPI_Put(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    CHECK_INT(called, 1);
    (void) MPI_Win_unlock(0, win);
    CHECK_INT(called, 2);
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FP(MPI_Errhandler_free(&errors));
    still_works(win);
}

/* A window that is freed within an epoch; its memory attached twice, detached without, of 0 bytes, and to no
 * dynamic one. */
static void ends(MPI_Win win)
{
    MPI_Win dynamic;

    fp_case("end within an epoch");
    FP(MPI_Win_lock(MPI_LOCK_SHARED, fp_rank, 0, win));
    FP_ERROR(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    FP(MPI_Win_unlock(fp_rank, win));
    fp_case("attach");
    FP_ERROR(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, memory, sizeof(memory)));
    FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
    FP(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
    FP(MPI_Win_attach(dynamic, memory, sizeof(memory)));
    FP_ERROR(MPI_ERR_RMA_ATTACH, MPI_Win_attach(dynamic, memory + 1, sizeof(int)));
    FP(MPI_Win_detach(dynamic, memory));
    FP_ERROR(MPI_ERR_RMA_ATTACH, MPI_Win_detach(dynamic, memory));
    FP(MPI_Win_attach(dynamic, memory, 0));
    FP(MPI_Win_detach(dynamic, memory));
    FP_ERROR(MPI_ERR_RMA_ATTACH, MPI_Win_detach(dynamic, memory));
    FP(MPI_Win_attach(dynamic, memory + NUMBERS / 2, NUMBERS / 2 * sizeof(int)));
    FP(MPI_Win_attach(dynamic, memory, NUMBERS / 2 * sizeof(int))); /* up to the other one */
    FP(MPI_Win_detach(dynamic, memory));
    FP(MPI_Win_detach(dynamic, memory + NUMBERS / 2));
    FP(MPI_Win_free(&dynamic));
}

/* Windows over the user's memory share none, which is no error since MPI 4.1. */
static void shared(MPI_Win win)
{
    MPI_Aint size = -1;
    int unit;
    void *base;

    fp_case("shared_query of no shared window");
    if (6 <= OMPI_MAJOR_VERSION) {
        FP(MPI_Win_shared_query(win, 0, &size, &unit, &base));
        CHECK_INT(size, 0);
        CHECK(NULL == base);
        return;
    }
    FP_ERROR(MPI_ERR_RMA_FLAVOR, MPI_Win_shared_query(win, 0, &size, &unit, &base));
}

/* Beyond the window, before it, with a displacement or an extent that wraps around to the window's beginning,
 * and where nothing is attached. */
static void out_of_bounds(void)
{
    const MPI_Aint quarter = INTPTR_MAX / 2 + 1; /* of all addresses; MPI_INT has 4 bytes */
    MPI_Win win = make(), dynamic;
    MPI_Datatype gaps, wide;
    int got[5] = {0};
    MPI_Aint address;

    fp_case("bounds");
    FP(MPI_Type_vector(2, 1, NUMBERS, MPI_INT, &gaps));
    FP(MPI_Type_commit(&gaps));
    FP(MPI_Type_create_resized(MPI_INT, 0, quarter, &wide));
    FP(MPI_Type_commit(&wide));
    FP(MPI_Win_lock_all(0, win));
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Put(&number, 1, MPI_INT, 1, NUMBERS, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Get(got, 2, MPI_INT, 1, NUMBERS - 1, 2, MPI_INT, win));
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Get(got, 2, MPI_INT, 0, 0, 1, gaps, win));
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Get(got, 1, MPI_INT, 1, INTPTR_MAX / 2, 1, MPI_INT, win));
    for (int target = 0; target < 2; target++) {
        FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Get(got, 1, MPI_INT, target, quarter, 1, MPI_INT, win));
        FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Get(got, 5, MPI_INT, target, 0, 5, wide, win));
    }
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Fetch_and_op(&number, got, MPI_INT, 1, NUMBERS, MPI_SUM, win));
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Compare_and_swap(&number, &number, got, MPI_INT, 1, NUMBERS, win));
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Accumulate(&number, 1, MPI_INT, 1, NUMBERS, 1, MPI_INT, MPI_SUM, win));
    FP(MPI_Put(&number, 1, MPI_INT, 1, NUMBERS - 1, 1, MPI_INT, win));
    FP(MPI_Put(&number, 0, MPI_INT, 1, NUMBERS, 0, MPI_INT, win));
    FP(MPI_Win_unlock_all(win));
    still_works(win);
    FP(MPI_Win_free(&win));
    FP(MPI_Type_free(&gaps));
    FP(MPI_Type_free(&wide));
    FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
    FP(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
    FP(MPI_Get_address(memory, &address));
    FP(MPI_Win_lock_all(0, dynamic));
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Put(&number, 1, MPI_INT, fp_rank, address, 1, MPI_INT, dynamic));
    FP(MPI_Win_unlock_all(dynamic));
    FP(MPI_Win_free(&dynamic));
}

/* Windows of one size, and of several units. */
static void units(void)
{
    const int unit = sizeof(int) << fp_rank % 2, target = 1;
    int got;
    MPI_Win win;

    fp_case("bounds in several units");
    FP(MPI_Win_create(memory, sizeof(memory), unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FP(MPI_Win_lock_all(0, win));
    FP(MPI_Get(&got, 1, MPI_INT, 0, NUMBERS - 1, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Get(&got, 1, MPI_INT, 0, NUMBERS, 1, MPI_INT, win));
    FP(MPI_Get(&got, 1, MPI_INT, target, NUMBERS / 2 - 1, 1, MPI_INT, win));
    FP_ERROR(MPI_ERR_RMA_RANGE, MPI_Get(&got, 1, MPI_INT, target, NUMBERS / 2, 1, MPI_INT, win));
    FP(MPI_Win_unlock_all(win));
    FP(MPI_Win_free(&win));
}

/* A member may be accessed before its own call that makes the window returns. The one that came early has the
 * same bounds as all others: windows of several sizes, so that making one takes a step more. */
static void early_access(void)
{
    enum { WINDOWS = 200 };
    const MPI_Aint size = (MPI_Aint) (NUMBERS - fp_rank % 3) * (MPI_Aint) sizeof(int);

    fp_case("access by members that have the window earlier");
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Win win;
        int got;

        FP(MPI_Win_create(memory, size, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        for (int step = 1; step <= fp_size; step++) {
            const int target = (fp_rank + step) % fp_size;

            FP(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
            FP(MPI_Get(&got, 1, MPI_INT, target, NUMBERS - target % 3 - 1, 1, MPI_INT, win));
            FP_ERROR(MPI_ERR_RMA_RANGE,
                     MPI_Get(&got, 1, MPI_INT, target, NUMBERS - target % 3, 1, MPI_INT, win));
            FP(MPI_Win_unlock(target, win));
        }
        FP(MPI_Win_free(&win));
    }
}

/* Error class of a get from rank 1, which the call itself may report, or the end of its epoch. `all`: which
 * is that of MPI_Win_lock_all. */
static int class_of_get(MPI_Win win, MPI_Aint displacement, bool all)
{
    int got = 0, class = MPI_SUCCESS, code, end;

    if (all) {
        FP(MPI_Win_lock_all(0, win));
    } else {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    }
    code = MPI_Get(&got, 1, MPI_INT, 1, displacement, 1, MPI_INT, win);
    end = all ? MPI_Win_unlock_all(win) : MPI_Win_unlock(1, win);
    if (MPI_SUCCESS != code) {
        CHECK_INT(end, MPI_SUCCESS);
    }
    FP(MPI_Error_class(MPI_SUCCESS != code ? code : end, &class));
    return class;
}

/* Memory of another rank that comes and goes: others know at once. */
static void detached(void)
{
    MPI_Win dynamic;
    MPI_Aint address;

    fp_case("detached");
    FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
    FP(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
    FP(MPI_Get_address(memory, &address));
    FP(MPI_Bcast(&address, 1, MPI_AINT, 1, MPI_COMM_WORLD));
    for (int round = 0; round < 4; round++) {
        const int half = round % 2;

        if (1 == fp_rank) {
            FP(MPI_Win_attach(dynamic, memory + half * NUMBERS / 2, NUMBERS / 2 * sizeof(int)));
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < 2; i++) {
            CHECK_INT(class_of_get(dynamic, MPI_Aint_add(address, i * NUMBERS / 2 * (MPI_Aint) sizeof(int)),
                                   round / 2),
                      i == half ? MPI_SUCCESS : MPI_ERR_RMA_RANGE);
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
        if (1 == fp_rank) {
            FP(MPI_Win_detach(dynamic, memory + half * NUMBERS / 2));
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_INT(class_of_get(dynamic, address, round / 2), MPI_ERR_RMA_RANGE);
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
    FP(MPI_Win_free(&dynamic));
}

static int class_of(int code)
{
    int class = code;

    if (MPI_SUCCESS != code) {
        FP(MPI_Error_class(code, &class));
    }
    return class;
}

/* A put to memory that is not attached, within fences: one call tells, and it is one for such an epoch. */
static void within_fences(MPI_Win win, MPI_Aint attached, MPI_Aint other)
{
    int codes[3] = {0}, told = 0;

    fp_case("a put to nowhere, between fences");
    FP(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    if (0 == fp_rank) {
        codes[0] = class_of(MPI_Put(&number, 1, MPI_INT, 1, other, 1, MPI_INT, win));
    }
    codes[1] = class_of(MPI_Win_fence(0, win));
    for (int i = 0; i < 10; i++) { /* word of it comes, if it has not */
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
    codes[2] = class_of(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    for (int i = 0; i < 3; i++) {
        CHECK(MPI_SUCCESS == codes[i] || MPI_ERR_RMA_RANGE == codes[i]);
        told += MPI_SUCCESS == codes[i] ? 0 : 1;
    }
    CHECK_INT(told, 0 == fp_rank ? 1 : 0);
    if (0 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
        FP(MPI_Put(&number, 1, MPI_INT, 1, attached, 1, MPI_INT, win));
        FP(MPI_Win_unlock(1, win));
    }
}

/* Then a get, whose request does not fail with it. */
static void beside_request(MPI_Win win, MPI_Aint attached, MPI_Aint other)
{
    MPI_Request request;
    int codes[2], got = -1;

    fp_case("a request beside a put to nowhere");
    FP(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win));
    codes[0] = class_of(MPI_Put(&number, 1, MPI_INT, 1, other, 1, MPI_INT, win));
    FP(MPI_Rget(&got, 1, MPI_INT, 1, attached, 1, MPI_INT, win, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(got, number);
    codes[1] = class_of(MPI_Win_flush(1, win));
    CHECK_INT(codes[0] + codes[1], MPI_ERR_RMA_RANGE);
    FP(MPI_Rget(&got, 1, MPI_INT, 1, attached, 1, MPI_INT, win, &request));
    FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FP(MPI_Win_unlock(1, win));
}

/* Which call returns what a target has found wrong. */
static void told_once(void)
{
    const MPI_Aint half = NUMBERS / 2 * (MPI_Aint) sizeof(int);
    MPI_Aint attached;
    MPI_Win win;

    FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FP(MPI_Win_attach(win, memory, half));
    FP(MPI_Get_address(memory, &attached));
    FP(MPI_Bcast(&attached, 1, MPI_AINT, 1, MPI_COMM_WORLD));
    within_fences(win, attached, MPI_Aint_add(attached, half));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        beside_request(win, attached, MPI_Aint_add(attached, half));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Win_detach(win, memory));
    FP(MPI_Win_free(&win));
}

/* Pages of more memory than any machine has: had anybody asked the kernel for them, it would end processes
 * instead of refusing, and whose is open. */
static bool pages_wanted;

int madvise(void *address, size_t length, int advice)
{
    if (length >= (size_t) 1 << 40) {
        pages_wanted = true;
        errno = ENOMEM;
        return -1;
    }
    return (int) syscall(SYS_madvise, address, length, advice);
}

/* Windows that do not fit are an error at all members, also where the heap promises whatever it is asked for.
 */
static void too_large(MPI_Win win)
{
    const MPI_Aint size = 0 == fp_rank ? (MPI_Aint) 1 << 45 : 8;
    struct rlimit limit;
    MPI_Win none;
    void *base;

    fp_case("windows that are too large");
    CHECK_INT(getrlimit(RLIMIT_DATA, &limit), 0);
    CHECK_INT(setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t) 1 << 44, limit.rlim_max}), 0);
    FP_ERROR(MPI_ERR_WIN, MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none));
    /* which error that is says Open MPI where we make no shared windows */
    CHECK(MPI_SUCCESS != MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &none));
    CHECK_INT(setrlimit(RLIMIT_DATA, &limit), 0);
    CHECK(!pages_wanted);
    still_works(win);
}

int main(int argc, char **argv)
{
    MPI_Win win;

    fp_init(&argc, &argv, 2);
    if (1 < argc && 0 == strcmp(argv[1], "bounds")) {
        out_of_bounds();
        units();
        early_access();
        return fp_finish();
    }
    win = make();
    without_epoch(win);
    within_epoch(win);
    wrong_target(win);
    wrong_group(win);
    bad_arguments(win);
    allocated();
    through_handler(win);
    shared(win);
    ends(win);
    detached();
    told_once();
    too_large(win);
    FP(MPI_Win_free(&win));
    return fp_finish();
}
