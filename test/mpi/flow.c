/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A sender that is faster than its receiver cannot fill the receiver's memory.
 * The limit is set low on the command line (testlist), so that the messages
 * pass it hundreds of times. */

#include <sys/resource.h>

#include "support/fp_test.h"

enum { TAG = 91, LENGTH = 1024, BLOCKING = 100000, NONBLOCKING = 50000, LIMIT_KIB = 1024 };

/* Largest resident set so far, KiB. */
static long resident(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Lets messages come for a while without receiving any. */
static void look_away(void)
{
    for (double end = fp_now() + 1; fp_now() < end;) {
        int flag;
        FP(MPI_Iprobe(0, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
}

static void receive_all(int count)
{
    for (int i = 0; i < count; i++) {
        fp_recv(LENGTH, 0, TAG, i, MPI_COMM_WORLD);
    }
}

static void blocking(void)
{
    long before = resident();

    if (0 == fp_rank) {
        for (int i = 0; i < BLOCKING; i++) {
            fp_send(&fp_modes[FP_STANDARD], LENGTH, 1, TAG, i, MPI_COMM_WORLD);
        }
        return;
    }
    look_away();
    receive_all(BLOCKING);
    /* the limit, a tenth, and what a process maps meanwhile for other reasons */
    fp_check(resident() - before <= LIMIT_KIB + LIMIT_KIB / 10 + 2048, __FILE__, __LINE__, "receiver grew by %ld KiB",
             resident() - before);
}

/* Any number of these may be under way: the data stays behind, a header of 128 bytes goes ahead. */
static void nonblocking(void)
{
    long before = resident();

    if (0 == fp_rank) {
        MPI_Request *requests = malloc(NONBLOCKING * sizeof(*requests));
        unsigned char *buffers = malloc((size_t) NONBLOCKING * LENGTH);

        for (int i = 0; i < NONBLOCKING; i++) {
            fp_fill(buffers + (size_t) i * LENGTH, LENGTH, fp_key(0, 1, TAG, i));
            FP(MPI_Isend(buffers + (size_t) i * LENGTH, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]));
        }
        FP(MPI_Waitall(NONBLOCKING, requests, MPI_STATUSES_IGNORE));
        free(buffers);
        free(requests);
        return;
    }
    look_away();
    fp_check(resident() - before <= LIMIT_KIB + LIMIT_KIB / 10 + 2048 + NONBLOCKING / 8, __FILE__, __LINE__,
             "receiver grew by %ld KiB", resident() - before);
    receive_all(NONBLOCKING);
}

/* Both sides send more than the limit before they receive: legal, since the sends are nonblocking. */
static void crossing(void)
{
    enum { COUNT = 4000 };
    MPI_Request requests[COUNT];
    void *buffers[COUNT];

    for (int i = 0; i < COUNT; i++) {
        buffers[i] = fp_alloc_filled(LENGTH, fp_key(fp_rank, 1 - fp_rank, TAG, i));
        FP(MPI_Isend(buffers[i], LENGTH, MPI_BYTE, 1 - fp_rank, TAG, MPI_COMM_WORLD, &requests[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        fp_recv(LENGTH, 1 - fp_rank, TAG, i, MPI_COMM_WORLD);
    }
    FP(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; i++) {
        fp_free(buffers[i]);
    }
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    if (CHECK(2 == fp_size)) {
        fp_case("blocking sends");
        blocking();
        fp_case("nonblocking sends");
        nonblocking();
        fp_case("both ways");
        crossing();
    }
    return fp_finish();
}
