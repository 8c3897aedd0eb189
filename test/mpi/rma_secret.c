/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Windows in memory that the kernel copies for nobody: all members' memory is such, or some's, or it is
 * attached, which may be refused. */

#include "support/fp_test.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NUMBERS = 512, BYTES = NUMBERS * sizeof(long) };

static long *secret_memory(void)
{
#if defined(SYS_memfd_secret)
    const int fd = (int) syscall(SYS_memfd_secret, 0);
    void *memory;

    if (-1 == fd) {
        fp_skip("no memfd_secret: %s", strerror(errno));
    }
    CHECK_INT(ftruncate(fd, BYTES), 0);
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(MAP_FAILED != memory);
    close(fd);
    return memory;
#else
    fp_skip("no memfd_secret");
#endif
}

static void check_window(MPI_Win win, const long *memory, MPI_Aint at)
{
    const int next = (fp_rank + 1) % fp_size, before = (fp_rank + fp_size - 1) % fp_size;
    const long one = 1;
    long value = 100 + fp_rank, got[NUMBERS];

    FP(MPI_Win_fence(0, win));
    FP(MPI_Put(&value, 1, MPI_LONG, next, at, 1, MPI_LONG, win));
    FP(MPI_Win_fence(0, win));
    CHECK_INT(memory[0], 100 + before);
    FP(MPI_Win_fence(0, win));
    FP(MPI_Accumulate(&one, 1, MPI_LONG, next, at, 1, MPI_LONG, MPI_SUM, win));
    FP(MPI_Win_fence(0, win));
    FP(MPI_Get(got, NUMBERS, MPI_LONG, next, at, NUMBERS, MPI_LONG, win));
    FP(MPI_Win_fence(0, win));
    CHECK_INT(got[0], 101 + fp_rank);
    for (int i = 1; i < NUMBERS; i++) {
        CHECK_INT(got[i], 1000 * next + i);
    }
}

static void fill(long *memory)
{
    for (int i = 0; i < NUMBERS; i++) {
        memory[i] = 1000 * fp_rank + i;
    }
}

/* Also where a member has such memory and another one has not. */
static void created(long *secret, bool everywhere)
{
    long *usual = fp_alloc(BYTES), *memory = everywhere || 0 == fp_rank ? secret : usual;
    MPI_Win win;

    fp_case("created, secret memory %s", everywhere ? "everywhere" : "at one");
    fill(memory);
    FP(MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    check_window(win, memory, 0);
    FP(MPI_Win_free(&win));
    fp_free(usual);
}

static void attached(long *secret)
{
    MPI_Aint own, at;
    MPI_Win win;
    int rc, refused, class;

    fp_case("attached");
    fill(secret);
    FP(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    rc = MPI_Win_attach(win, secret, BYTES);
    refused = MPI_SUCCESS != rc;
    FP(MPI_Error_class(rc, &class));
    CHECK(!refused || MPI_ERR_RMA_ATTACH == class);
    FP(MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (0 == refused) {
        FP(MPI_Get_address(secret, &own));
        FP(MPI_Sendrecv(&own, 1, MPI_AINT, (fp_rank + fp_size - 1) % fp_size, 0, &at, 1, MPI_AINT,
                        (fp_rank + 1) % fp_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        check_window(win, secret, at);
        FP(MPI_Win_detach(win, secret));
    }
    FP(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    long *secret;

    fp_init(&argc, &argv, 2);
    secret = secret_memory();
    created(secret, true);
    created(secret, false);
    attached(secret);
    CHECK_INT(munmap(secret, BYTES), 0);
    return fp_finish();
}
