/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* One rank dies while the others are in MPI and need it.  They ignore SIGTERM,
 * so that the runtime takes a second more to end them, and they meet what the
 * dead one has left.
 *
 * usage: dying HOW WHERE
 *   HOW    kill      SIGKILL
 *          exit      _exit(0)
 *          segv      a segmentation fault
 *   WHERE  recv      the others receive from it
 *          any       the others receive from whoever sends
 *          send      the others send it more than any FIFO takes
 *          rendezvous  the others have a large message from it, and receive it
 *                    when it is dead
 *          middle    the others are about to receive a very large one
 *          offered   the others have offered it large messages
 *          barrier   the others are in a barrier
 *          child     it is a process that has been spawned, and its parents
 *                    receive from it
 *          parted    the same, but they have disconnected before, and the
 *                    parents go on without it
 *          late      it is a process that has been spawned; its parents have
 *                    a large message from it, and receive it when another
 *                    process has been spawned */

#include "support/fp_test.h"

#include <signal.h>
#include <unistd.h>

enum { TAG = 9, LARGE = 1 << 20, VERY_LARGE = 300 << 20, SHORT = 16 };

static const char *how, *where;
static char *program;

static void die(void)
{
    if (0 == strcmp(how, "exit")) {
        _exit(0);
    }
    (void) signal(SIGSEGV, SIG_DFL);
    (void) raise(0 == strcmp(how, "kill") ? SIGKILL : SIGSEGV);
    pause();
}

static void die_now(int signal)
{
    (void) signal;
    die();
}

/* Time for the others to get where they should be. */
static void soon(void)
{
    usleep(300000);
}

static bool at(const char *name)
{
    return 0 == strcmp(where, name);
}

static void victim(int others, MPI_Comm comm)
{
    char *buffer = calloc(1, VERY_LARGE);
    MPI_Request request;

    if (NULL == buffer) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < others; i++) {
        if (at("rendezvous") || at("middle") || at("late")) {
            FP(MPI_Isend(buffer, at("middle") ? VERY_LARGE : LARGE, MPI_BYTE, i, TAG, comm, &request));
        }
    }
    if (at("middle")) {
        /* the others read it, by themselves or with our help, in some hundred ms */
        (void) signal(SIGALRM, die_now);
        (void) ualarm(40000, 0);
        FP(MPI_Recv(buffer, 1, MPI_BYTE, 0, TAG + 1, comm, MPI_STATUS_IGNORE));
    }
    soon();
    die();
}

static MPI_Comm spawn(const char *child_how)
{
    char *arguments[] = {(char *) child_how, (char *) where, NULL};
    MPI_Comm comm;

    FP(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm, MPI_ERRCODES_IGNORE));
    FP(MPI_Barrier(comm));
    return comm;
}

static void other(int peer, MPI_Comm comm)
{
    char *buffer = calloc(1, VERY_LARGE);
    MPI_Request request;

    if (NULL == buffer) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    (void) signal(SIGTERM, SIG_IGN);
    if (at("send")) {
        for (;;) {
            FP(MPI_Send(buffer, SHORT, MPI_BYTE, peer, TAG, comm));
        }
    }
    if (at("barrier")) {
        FP(MPI_Barrier(comm));
    }
    if (at("offered")) {
        FP(MPI_Isend(buffer, LARGE, MPI_BYTE, peer, TAG, comm, &request));
        FP(MPI_Send(buffer, VERY_LARGE, MPI_BYTE, peer, TAG, comm));
    }
    if (at("rendezvous") || at("late")) {
        FP(MPI_Probe(peer, TAG, comm, MPI_STATUS_IGNORE));
        usleep(600000);
    }
    if (at("late")) {
        (void) spawn("guest"); /* whoever meets it parts from those that have ended */
    }
    FP(MPI_Recv(buffer, VERY_LARGE, MPI_BYTE, at("any") ? MPI_ANY_SOURCE : peer, TAG, comm,
                MPI_STATUS_IGNORE));
    FP(MPI_Recv(buffer, 1, MPI_BYTE, peer, TAG + 1, comm, MPI_STATUS_IGNORE));
}

/* Every parent has exchanged something with the child, so that there is a way between them. */
static void part(MPI_Comm *comm, bool parent)
{
    int count = 1, one = 1, other = 0;

    fp_case("parting");
    if (!parent) {
        FP(MPI_Comm_remote_size(*comm, &count));
    }
    for (int i = 0; i < count; i++) {
        FP(MPI_Sendrecv(&one, 1, MPI_INT, i, TAG, &other, 1, MPI_INT, i, TAG, *comm, MPI_STATUS_IGNORE));
        CHECK_INT(other, one);
    }
    FP(MPI_Comm_disconnect(comm));
}

/* Long enough for whatever follows from the death; rank 0 is in MPI all the time. */
static void go_on(void)
{
    enum { SECONDS = 8 };

    fp_case("going on");
    if (0 != fp_rank) {
        sleep(SECONDS);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    MPI_Comm comm = MPI_COMM_WORLD, parent;
    int parents = 0;

    how = (1 < argc) ? argv[1] : "kill";
    where = (2 < argc) ? argv[2] : "recv";
    program = argv[0];
    fp_init(&argc, &argv, 1);
    fp_case("%s, %s", how, where);
    FP(MPI_Comm_get_parent(&parent));
    if (MPI_COMM_NULL != parent) {
        FP(MPI_Barrier(parent));
        if (at("parted")) {
            part(&parent, false);
        }
        if (0 == strcmp(how, "guest")) { /* until the job has ended */
            FP(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, parent, MPI_STATUS_IGNORE));
        }
        if (at("late")) {
            FP(MPI_Comm_remote_size(parent, &parents));
        }
        victim(parents, parent);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        printf("running\n");
        fflush(stdout);
    }
    if (at("child") || at("parted") || at("late")) {
        comm = spawn(how);
        if (at("parted")) {
            part(&comm, true);
            go_on();
        } else {
            other(0, comm);
        }
    } else if (fp_size - 1 == fp_rank) {
        victim(fp_size - 1, comm);
    } else {
        other(fp_size - 1, comm);
    }
    return fp_finish();
}
