/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A rank that waits for long leaves its core alone, if it is told so: of the time that it is blocked in MPI,
 * it uses a small part, whichever call it is in. The bound is generous: many times what is in
 * docs/waiting.md, and a fraction of what a rank uses that does not sleep, also where it has to share its
 * core. */

#include <sys/resource.h>
#include <time.h>

#include "support/fp_test.h"

enum { TAG = 23, BLOCKED_MS = 400, MOST_MS = 80, LONG = 4 << 20 };

static char *buffer;
static MPI_Comm pair; /* ranks 0 and 1 */

static void rest(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* CPU time of this process so far. */
static double used_ms(void)
{
    struct rusage usage;

    CHECK_INT(getrusage(RUSAGE_SELF, &usage), 0);
    return 1e3 * (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + 1e-3 * (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* ---- what rank 1 is blocked in; rank 0, which comes late, does the rest ---- */

static void in_recv(bool late)
{
    if (late) {
        FP(MPI_Send(buffer, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    } else {
        FP(MPI_Recv(buffer, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void in_recv_any(bool late)
{
    if (late) {
        FP(MPI_Send(buffer, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    } else {
        FP(MPI_Recv(buffer, 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void in_send(bool late)
{
    if (late) {
        FP(MPI_Recv(buffer, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Ssend(buffer, LONG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
    }
}

static void in_probe(bool late)
{
    if (!late) {
        FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    in_recv(late);
}

static void in_wait(bool late)
{
    MPI_Request request;

    if (late) {
        in_recv(late);
    } else {
        FP(MPI_Irecv(buffer, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void in_waits(bool late, bool any)
{
    MPI_Request requests[2];
    int index = 0;

    for (int i = 0; i < 2; i++) {
        if (late) {
            in_recv(late);
        } else {
            FP(MPI_Irecv(buffer + 8 * i, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]));
        }
    }
    if (!late && any) {
        FP(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
    }
    if (!late) {
        FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
}

static void in_waitany(bool late)
{
    in_waits(late, true);
}

static void in_waitall(bool late)
{
    in_waits(late, false);
}

static void in_barrier(bool late)
{
    (void) late;
    FP(MPI_Barrier(pair));
}

static void in_bcast(bool late)
{
    (void) late;
    FP(MPI_Bcast(buffer, 8, MPI_BYTE, 0, pair));
}

static const struct {
    const char *name;
    void (*run)(bool late);
} calls[] = {
    {"MPI_Recv", in_recv},       {"MPI_Recv of any", in_recv_any},
    {"MPI_Ssend", in_send},      {"MPI_Probe", in_probe},
    {"MPI_Wait", in_wait},       {"MPI_Waitany", in_waitany},
    {"MPI_Waitall", in_waitall}, {"MPI_Barrier", in_barrier},
    {"MPI_Bcast", in_bcast},
};

/* Rank 1 comes at once and waits; those above wait in the next barrier. */
static void check(const char *name, void (*run)(bool late))
{
    double used;

    fp_case("%s", name);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    used = used_ms();
    if (0 == fp_rank) {
        rest(BLOCKED_MS);
    }
    if (1 >= fp_rank) {
        run(0 == fp_rank);
    }
    used = used_ms() - used;
    printf("# rank %d, %s: %.1f ms\n", fp_rank, name, used);
    if (1 == fp_rank) {
        fp_check(MOST_MS > used, __FILE__, __LINE__, "%.1f ms of processor time", used);
    }
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    buffer = calloc(1, LONG);
    FP(MPI_Comm_split(MPI_COMM_WORLD, 1 < fp_rank, fp_rank, &pair));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        check(calls[i].name, calls[i].run);
    }
    FP(MPI_Comm_free(&pair));
    free(buffer);
    return fp_finish();
}
