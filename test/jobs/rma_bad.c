/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Windows that get into trouble.
 *
 *     rma_bad large MIB [shared]   an allocated or shared window of MIB MiB per rank, every page of which is
 *                                  used; or an error, of which class it says, in all ranks
 *     rma_bad holder | target | fence | start
 *                                  rank 1 is killed while it holds the lock that others wait for, while
 *                                  others write to it, or before it comes to the fence or the post that
 *                                  others wait for */

#include "support/fp_test.h"

#include <signal.h>
#include <unistd.h>

static void large(int mib, bool shared)
{
    const MPI_Aint bytes = (MPI_Aint) mib << 20;
    unsigned char *memory, *data = fp_alloc_filled((size_t) bytes, 5);
    int code, class = MPI_SUCCESS, worst;
    MPI_Win win;

    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    code = (shared ? MPI_Win_allocate_shared : MPI_Win_allocate)(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                                                                  &memory, &win);
    FP(MPI_Error_class(code, &class));
    FP(MPI_Allreduce(&class, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK_INT(class, worst);
    if (MPI_SUCCESS != worst) {
        if (0 == fp_rank) {
            char text[MPI_MAX_ERROR_STRING];
            int length;

            FP(MPI_Error_string(worst, text, &length));
            printf("No window: %s\n", text);
        }
        return;
    }
    FP(MPI_Win_fence(0, win));
    FP(MPI_Put(data, (int) bytes, MPI_BYTE, (fp_rank + 1) % fp_size, 0, (int) bytes, MPI_BYTE, win));
    FP(MPI_Win_fence(0, win));
    CHECK_DATA(memory, (size_t) bytes, 5);
    FP(MPI_Win_free(&win));
}

static void die(void)
{
    kill(getpid(), SIGKILL);
}

/* Rank 1 has an exclusive lock of rank 0, where it has put something so that it really has it. */
static void holder(MPI_Win win)
{
    const int value = 1;

    if (1 == fp_rank) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        FP(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        FP(MPI_Win_flush(0, win));
        fp_signal(2, MPI_COMM_WORLD);
        fp_sleep_ms(100);
        die();
    } else if (2 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        FP(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        FP(MPI_Win_unlock(0, win));
    }
}

static void target(MPI_Win win)
{
    const int value = 1;

    if (1 == fp_rank) {
        fp_sleep_ms(100);
        die();
    }
    FP(MPI_Win_lock_all(0, win));
    for (;;) {
        FP(MPI_Accumulate(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win));
        FP(MPI_Win_flush(1, win));
    }
}

static void fence(MPI_Win win)
{
    if (1 == fp_rank) {
        die();
    }
    FP(MPI_Win_fence(0, win));
}

static void start(MPI_Win win)
{
    const int value = 1;
    MPI_Group all, one;

    FP(MPI_Win_get_group(win, &all));
    FP(MPI_Group_incl(all, 1, &(int){1}, &one));
    if (1 == fp_rank) {
        die();
    }
    FP(MPI_Win_start(one, 0, win));
    FP(MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win));
    FP(MPI_Win_complete(win));
}

int main(int argc, char **argv)
{
    const char *what;
    int *memory;
    MPI_Win win;

    fp_init(&argc, &argv, 1);
    what = (1 < argc) ? argv[1] : "";
    if (0 == strcmp(what, "large")) {
        large((2 < argc) ? atoi(argv[2]) : 1, 3 < argc);
        return fp_finish();
    }
    FP(MPI_Win_allocate(4096, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == strcmp(what, "holder")) {
        holder(win);
    } else if (0 == strcmp(what, "target")) {
        target(win);
    } else if (0 == strcmp(what, "fence")) {
        fence(win);
    } else {
        start(win);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD)); /* where everybody waits until the job ends */
    return fp_finish();
}
