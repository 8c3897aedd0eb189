/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A rank leaves MPI when it has ended an epoch. What it has to say to the other one has left by then. */

#include <signal.h>
#include <unistd.h>

#include "support/fp_test.h"

enum { BYTES = 3 << 20, LEAVER = 0, OTHER = 1, LATE_MS = 30 };

static pid_t pid;
static unsigned char *memory, *data;
static MPI_Win win;
static MPI_Group peer;

/* Operations on the other rank's window, of so many bytes each. */
static void operate(bool get, int each)
{
    for (int at = 0; at + each <= BYTES; at += each) {
        if (get) {
            FP(MPI_Get(data + at, each, MPI_BYTE, !fp_rank, at, each, MPI_BYTE, win));
        } else {
            FP(MPI_Put(data + at, each, MPI_BYTE, !fp_rank, at, each, MPI_BYTE, win));
        }
    }
}

static void leave(void)
{
    CHECK(fp_stay_outside()); /* else the other rank still waits */
}

/* The origin leaves. */
static void complete(int each)
{
    if (LEAVER == fp_rank) {
        FP(MPI_Win_start(peer, 0, win));
        operate(false, each);
        FP(MPI_Win_complete(win));
        leave();
    } else {
        FP(MPI_Win_post(peer, 0, win));
        fp_sleep_ms(LATE_MS);
        FP(MPI_Win_wait(win));
        kill(pid, SIGUSR1);
    }
}

/* The target leaves. */
static void exposed(int each)
{
    if (LEAVER == fp_rank) {
        FP(MPI_Win_post(peer, 0, win));
        FP(MPI_Win_wait(win));
        leave();
    } else {
        FP(MPI_Win_start(peer, 0, win));
        operate(true, each);
        FP(MPI_Win_complete(win));
        kill(pid, SIGUSR1);
    }
}

/* Both are both, and one is late. */
static void fence(int each, bool get)
{
    FP(MPI_Win_fence(0, win));
    if (OTHER == fp_rank) {
        fp_sleep_ms(LATE_MS);
    }
    if ((LEAVER == fp_rank) != get) {
        operate(get, each);
    }
    FP(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (LEAVER == fp_rank) {
        leave();
    } else {
        kill(pid, SIGUSR1);
    }
}

/* The origin leaves, and the other rank wants the lock of its own memory: nothing but the end of the epoch is
 * left to be said, behind messages that fill what there is between the two. */
static void unlock(bool all)
{
    enum { MESSAGES = 100, TAG = 3 };
    static char text[MESSAGES][1000];
    MPI_Request requests[MESSAGES];

    if (LEAVER == fp_rank) {
        FP(all ? MPI_Win_lock_all(0, win) : MPI_Win_lock(MPI_LOCK_EXCLUSIVE, OTHER, 0, win));
        operate(false, BYTES);
        FP(MPI_Win_flush(OTHER, win));
        FP(MPI_Barrier(MPI_COMM_WORLD));
        for (int i = 0; i < MESSAGES; i++) {
            FP(MPI_Isend(text[i], sizeof(text[i]), MPI_BYTE, OTHER, TAG, MPI_COMM_WORLD, &requests[i]));
        }
        FP(all ? MPI_Win_unlock_all(win) : MPI_Win_unlock(OTHER, win));
        leave();
        FP(MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE));
        return;
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    fp_sleep_ms(LATE_MS);
    FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, OTHER, 0, win));
    FP(MPI_Win_unlock(OTHER, win));
    kill(pid, SIGUSR1);
    for (int i = 0; i < MESSAGES; i++) {
        FP(MPI_Recv(text[i], sizeof(text[i]), MPI_BYTE, LEAVER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    static const int lengths[] = {100, 3000, BYTES};
    const int other = OTHER;
    MPI_Group world;

    fp_outside_init();
    fp_init(&argc, &argv, 2);
    CHECK_INT(fp_size, 2);
    pid = getpid();
    FP(MPI_Bcast(&pid, (int) sizeof(pid), MPI_BYTE, LEAVER, MPI_COMM_WORLD));
    FP(MPI_Comm_group(MPI_COMM_WORLD, &world));
    FP(MPI_Group_incl(world, 1, LEAVER == fp_rank ? &other : &(int){LEAVER}, &peer));
    memory = fp_alloc(BYTES);
    data = fp_alloc(BYTES);
    FP(MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (int i = 0; i < 3; i++) {
        fp_case("MPI_Win_complete, puts of %d bytes", lengths[i]);
        complete(lengths[i]);
        fp_case("MPI_Win_wait, gets of %d bytes", lengths[i]);
        FP(MPI_Barrier(MPI_COMM_WORLD));
        exposed(lengths[i]);
        fp_case("MPI_Win_fence, puts of %d bytes", lengths[i]);
        FP(MPI_Barrier(MPI_COMM_WORLD));
        fence(lengths[i], false);
        fp_case("MPI_Win_fence, gets of %d bytes", lengths[i]);
        FP(MPI_Barrier(MPI_COMM_WORLD));
        fence(lengths[i], true);
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
    for (int all = 0; all < 2; all++) {
        fp_case("MPI_Win_unlock%s", all ? "_all" : "");
        unlock(all);
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
    FP(MPI_Win_free(&win));
    FP(MPI_Group_free(&peer));
    FP(MPI_Group_free(&world));
    fp_free(memory);
    fp_free(data);
    return fp_finish();
}
