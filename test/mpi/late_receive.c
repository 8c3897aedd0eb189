/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A process may send, finish its calls and be in MPI_Finalize long before the
 * other side receives: standard and buffered messages still arrive.
 *
 * With "unseen", rank 0 does not progress while it waits for the others in MPI_Finalize: that its long
 * message has been received is news to it when it ends MPI.  (An Open MPI that contains PMIx under another
 * name does as without.) */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE /* RTLD_NEXT */
#endif

#include <dlfcn.h>
#include <stdatomic.h>

#include "support/fp_test.h"

enum { TAG = 171, COUNT = 500, LONG = 300000, PATIENCE = 5000 /* milliseconds */ };

/* As in pmix.h, which need not be here. */
typedef void fence_done_t(int status, void *data);
typedef int fence_t(const void *procs, size_t nprocs, const void *info, size_t ninfo, fence_done_t *done,
                    void *data);

fence_t PMIx_Fence_nb;

static bool unseen;

static struct {
    fence_done_t *done;
    void *data;
    _Atomic bool ended;
} fence;

static void fence_ended(int status, void *data)
{
    (void) data;
    fence.done(status, fence.data);
    atomic_store(&fence.ended, true);
}

/* The runtime's fence, which MPI_Finalize starts before it calls progress until it has ended.  Here it has
 * ended before, unless the other one needs our progress to receive. */
int PMIx_Fence_nb(const void *procs, size_t nprocs, const void *info, size_t ninfo, fence_done_t *done,
                  void *data)
{
    fence_t *real = (fence_t *) dlsym(RTLD_NEXT, "PMIx_Fence_nb");
    int rc;

    if (!unseen) {
        return real(procs, nprocs, info, ninfo, done, data);
    }
    fence.done = done;
    fence.data = data;
    rc = real(procs, nprocs, info, ninfo, fence_ended, NULL);
    for (int waited = 0; 0 == rc && !atomic_load(&fence.ended) && PATIENCE > waited; waited++) {
        fp_sleep_ms(1);
    }
    return rc;
}

int main(int argc, char **argv)
{
    enum { ROOM = LONG + 1000 };

    fp_init(&argc, &argv, 2);
    fp_case("late receive");
    if (0 == fp_rank) {
        for (int i = 0; i < COUNT; i++) {
            fp_send(&fp_modes[FP_STANDARD], (size_t) (i % 30), 1, TAG, i, MPI_COMM_WORLD);
        }
        FP(MPI_Buffer_attach(fp_alloc(ROOM), ROOM));
        fp_send(&fp_modes[FP_BUFFERED], LONG, 1, TAG, COUNT, MPI_COMM_WORLD);
    } else if (1 == fp_rank) {
        fp_sleep_ms(200);
        for (int i = 0; i < COUNT; i++) {
            fp_recv((size_t) (i % 30), 0, TAG, i, MPI_COMM_WORLD);
        }
        fp_recv(LONG, 0, TAG, COUNT, MPI_COMM_WORLD);
    }
    unseen = 0 == fp_rank && 1 < argc && 0 == strcmp("unseen", argv[1]);
    /* No collective: rank 0 is in MPI_Finalize while rank 1 still sleeps. */
    return fp_finish_alone();
}
