/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A sender that is faster than its receiver cannot fill the receiver's memory.
 * The limit is set low on the command line (testlist), so that the messages
 * pass it hundreds of times, and the sender has few buffers, because those are
 * mapped by the receiver.
 *
 * usage: flow [BLOCKING [NONBLOCKING]], numbers of messages; prints by how much
 * the receiver grew */

#include <sys/resource.h>

#include "support/fp_test.h"

enum { TAG = 91, LENGTH = 1024, SLACK_KIB = 2048, HEADER = 128 };

#ifdef __SANITIZE_ADDRESS__
enum { MEASURED = 0 }; /* what has been freed is kept */
#else
enum { MEASURED = 1 };
#endif

/* pml_fastpath_unexpected_limit as mpirun passes it on, KiB. */
static long limit(void)
{
    const char *text = getenv("OMPI_MCA_pml_fastpath_unexpected_limit");
    char *unit = "";
    long number = (NULL == text) ? 16 << 20 : strtol(text, &unit, 10);

    return ('m' == *unit) ? number * 1024 : ('k' == *unit) ? number : number / 1024;
}

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

static void send_all(const fp_mode_t *mode, int count)
{
    for (int i = 0; i < count; i++) {
        fp_send(mode, LENGTH, 1, TAG, i, MPI_COMM_WORLD);
    }
}

static void receive_all(int count)
{
    for (int i = 0; i < count; i++) {
        fp_recv(LENGTH, 0, TAG, i, MPI_COMM_WORLD);
    }
}

/* The limit, a tenth, what comes on top of that, and what a process maps meanwhile for other reasons. */
static void check_growth(const char *what, long before, long more)
{
    long grown = resident() - before;

    printf("# %s: the receiver grew by %ld KiB, limit %ld KiB\n", what, grown, limit());
    fflush(stdout);
    fp_check(!MEASURED || grown <= limit() + limit() / 10 + SLACK_KIB + more, __FILE__, __LINE__,
             "receiver grew by %ld KiB", grown);
}

static void blocking(int count)
{
    long before = resident();

    if (0 == fp_rank) {
        send_all(&fp_modes[FP_STANDARD], count);
        return;
    }
    look_away();
    receive_all(count);
    check_growth("blocking", before, 0);
}

/* Any number of these may be under way: the data stays behind, a header of 128 bytes goes ahead. */
static void nonblocking(int count)
{
    long before = resident();

    if (0 == fp_rank) {
        MPI_Request *requests = malloc((size_t) count * sizeof(*requests));
        unsigned char *buffers = malloc((size_t) count * LENGTH);

        for (int i = 0; i < count; i++) {
            fp_fill(buffers + (size_t) i * LENGTH, LENGTH, fp_key(0, 1, TAG, i));
            FP(MPI_Isend(buffers + (size_t) i * LENGTH, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                         &requests[i]));
        }
        FP(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        free(buffers);
        free(requests);
        return;
    }
    look_away();
    check_growth("nonblocking", before, (long) count * HEADER / 1024);
    receive_all(count);
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
    int sends = (1 < argc) ? atoi(argv[1]) : 100000, isends = (2 < argc) ? atoi(argv[2]) : 50000;

    fp_init(&argc, &argv, 2);
    if (CHECK(2 == fp_size)) {
        fp_case("blocking sends");
        blocking(sends);
        fp_case("nonblocking sends");
        nonblocking(isends);
        fp_case("both ways");
        crossing();
    }
    return fp_finish();
}
