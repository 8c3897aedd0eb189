/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A process is killed at a step of a move to a deeper FIFO, its own or its peer's: which one, libstep knows
 * (FP_STEP).  The parameters have each receiver assign one FIFO, and senders ask soon.
 *
 * moving end    3 ranks; rank 2, which talks to rank 0, is killed, and the runtime ends the others
 * moving go_on  the others are left alone: rank 0 takes back what it had assigned, and assigns it to rank 1
 * moving child  1 rank, which spawns one; the child is killed
 * moving parent the same, but the parent is */

#include "support/fp_test.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

enum { TAG = 77, MANY = 60, PATIENCE = 350 };

static int gone(int pid)
{
    return 0 != kill((pid_t) pid, 0) && ESRCH == errno;
}

/* In the FIFO itself, so that nothing is held by messages that nobody will read. */
static size_t length_of(int i)
{
    static const size_t lengths[] = {8, 90, 0, 40, 41};

    return lengths[(unsigned) i % (sizeof(lengths) / sizeof(lengths[0]))];
}

/* With fault tolerance a call may fail already. */
static void flood(int peer, MPI_Comm comm, MPI_Request requests[2 * MANY])
{
    static char out[128], in[MANY][128];

    for (int i = 0; i < MANY; i++) {
        (void) MPI_Isend(out, (int) length_of(i), MPI_BYTE, peer, TAG, comm, &requests[i]);
    }
    for (int i = 0; i < MANY; i++) {
        (void) MPI_Irecv(in[i], (int) sizeof(in[i]), MPI_BYTE, peer, TAG, comm, &requests[MANY + i]);
    }
}

/* Until the one or the other is killed. */
static void talk(int peer, MPI_Comm comm, int pid)
{
    const double start = fp_now();
    MPI_Request requests[2 * MANY];

    while (!gone(pid)) {
        int done = 0;

        flood(peer, comm, requests);
        while (!done && !gone(pid)) {
            if (MPI_SUCCESS != MPI_Testall(2 * MANY, requests, &done, MPI_STATUSES_IGNORE)) {
                done = 0; /* with fault tolerance; the process will be gone in a moment */
            }
            if (fp_now() - start > PATIENCE) {
                fp_check(false, __FILE__, __LINE__, "nobody is killed at '%s'", getenv("FP_STEP"));
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }
}

/* ---- what btl/fastsm counts ---- */

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;

/* A handle counts from its own beginning. */
static void watch(void)
{
    int provided, index, count;

    FP(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    FP(MPI_T_pvar_session_create(&session));
    FP(MPI_T_pvar_get_index("btl_fastsm_deep_fifos_obtained", MPI_T_PVAR_CLASS_COUNTER, &index));
    FP(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
}

static unsigned long deep_fifos_obtained(void)
{
    unsigned long value = 0;

    FP(MPI_T_pvar_read(session, handle, &value));
    return value;
}

/* ---- those who are left ---- */

static void exchange(int peer)
{
    fp_message_t sends[MANY], receives[MANY];

    for (int i = 0; i < MANY; i++) {
        fp_isend(&sends[i], &fp_modes[FP_STANDARD], length_of(i), peer, TAG + 1, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < MANY; i++) {
        fp_irecv(&receives[i], length_of(i), peer, TAG + 1, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < MANY; i++) {
        fp_wait_recv(&receives[i]);
    }
    for (int i = 0; i < MANY; i++) {
        fp_wait_send(&sends[i]);
    }
}

/* Rank 1 asks rank 0 for what the dead process had. */
static void go_on(void)
{
    const int peer = 1 - fp_rank;
    const double start = fp_now();
    int again = 1;

    fp_case("those who are left");
    while (0 != again) {
        exchange(peer);
        if (1 == fp_rank) {
            again = 0 == deep_fifos_obtained() && fp_now() - start < PATIENCE;
            FP(MPI_Send(&again, 1, MPI_INT, peer, TAG + 2, MPI_COMM_WORLD));
        } else {
            FP(MPI_Recv(&again, 1, MPI_INT, peer, TAG + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    if (1 == fp_rank) {
        CHECK_INT(deep_fifos_obtained(), 1);
    }
    exchange(peer);
    printf("rank %d has gone on\n", fp_rank);
    fflush(stdout);
    _exit(0); /* MPI_Finalize would wait for the dead one */
}

static void ranks(bool ends)
{
    int pids[3] = {0}, pid = (int) getpid();

    FP(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD));
    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (2 == fp_rank) {
        talk(0, MPI_COMM_WORLD, pids[0]);
        return;
    }
    if (0 == fp_rank) {
        talk(2, MPI_COMM_WORLD, pids[2]);
    } else if (ends) {
        FP(MPI_Recv(&pid, 1, MPI_INT, 2, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    while (ends || !gone(pids[2])) {
        fp_sleep_ms(10);
    }
    go_on();
}

/* ---- two jobs ---- */

static void jobs(MPI_Comm inter)
{
    int pid = (int) getpid(), other = 0;

    FP(MPI_Sendrecv(&pid, 1, MPI_INT, 0, TAG, &other, 1, MPI_INT, 0, TAG, inter, MPI_STATUS_IGNORE));
    talk(0, inter, other);
    for (;;) { /* whoever ends the job, the runtime or we */
        FP(MPI_Recv(&pid, 1, MPI_INT, 0, TAG, inter, MPI_STATUS_IGNORE));
    }
}

/* The runtime of Open MPI 5.0 does not hand the environment on. */
static void spawn(char *program, const char *what, MPI_Comm *inter)
{
    char step[128], preload[1024];
    char *arguments[] = {step, preload, program, (char *) what, NULL};

    snprintf(step, sizeof(step), "FP_STEP=%s", getenv("FP_STEP"));
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
    FP(MPI_Comm_spawn("env", arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, MPI_ERRCODES_IGNORE));
}

int main(int argc, char **argv)
{
    const char *what = 1 < argc ? argv[1] : "end";
    bool victim;
    MPI_Comm inter;

    fp_init(&argc, &argv, 1);
    fp_case("%s, %s", what, getenv("FP_STEP"));
    watch();
    FP(MPI_Comm_get_parent(&inter));
    victim = MPI_COMM_NULL != inter        ? 0 == strcmp(what, "child")
             : 0 == strcmp(what, "parent") ? true
                                           : 2 == fp_rank;
    if (victim) {
        setenv("FP_VICTIM", "yes", 1);
    }
    if (MPI_COMM_NULL != inter) {
        jobs(inter);
    } else if (0 == strcmp(what, "child") || 0 == strcmp(what, "parent")) {
        spawn(argv[0], what, &inter);
        jobs(inter);
    } else {
        ranks(0 == strcmp(what, "end"));
    }
    return fp_finish();
}
