/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* Ranks that are killed while the others go on: jobs with fault tolerance (mpirun --with-ft ulfm).
 *
 *     failing THREADS CASE...
 *
 * For each case the highest rank that is left is killed, mostly by rank 0, which chooses the moment; then
 * those that are left shrink their communicator and go on with the next.  So it takes three ranks more than
 * there are cases.  Each survivor prints a line after MPI_Finalize.  THREADS is yes for MPI_THREAD_MULTIPLE.
 */
#include "ompi_config.h"

#include "opal/runtime/opal_progress.h"

#include "ompi/communicator/communicator.h"

#include "support/fp_test.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <mpi-ext.h>

#if !defined(OMPI_HAVE_MPI_EXT_FTMPI)
int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 1);
    fp_skip("this Open MPI has no fault tolerance");
}
#else

enum { LARGE = 8 << 20, FLOOD = 600, FLOOD_SIZE = 50000, SMALL = 100 };

static MPI_Comm comm; /* of those that are left */
static int rank, size, victim;
static int *pids;

static bool am_victim(void)
{
    return rank == victim;
}

/* What a victim does in the end, outside of MPI. */
static void wait_for_death(void)
{
    fp_at(__FILE__, __LINE__, "being the victim");
    for (;;) {
        pause();
    }
}

static void kill_victim(void)
{
    if (0 == rank) {
        CHECK_INT(kill(pids[victim], SIGKILL), 0);
    }
}

/* Until this process knows that the victim has failed. */
static void wait_until_known(void)
{
    int count = 0, flag;

    while (0 == count) {
        MPI_Group failed;

        FP(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
        FP(MPIX_Comm_get_failed(comm, &failed));
        FP(MPI_Group_size(failed, &count));
        FP(MPI_Group_free(&failed));
        usleep(1000);
    }
}

static int class_of(int rc)
{
    int class;

    MPI_Error_class(rc, &class);
    return class;
}

/* Either it was through before, or it has failed. @return whether it was through */
static bool either(const char *what, int rc)
{
    int class = class_of(rc);

    fp_check(MPI_SUCCESS == class || MPIX_ERR_PROC_FAILED == class, __FILE__, __LINE__, "%s: error class %d",
             what, class);
    return MPI_SUCCESS == class;
}

/* Open MPI frees a request that has ended with an error. */
static void wait_failed(MPI_Request *request, int want)
{
    FP_ERROR(want, MPI_Wait(request, MPI_STATUS_IGNORE));
    CHECK(MPI_REQUEST_NULL == *request);
}

/* The same with a persistent request, which 6.0 leaves to its user: it can be started again, and fails again.
 */
static void wait_failed_persistent(MPI_Request *request)
{
    FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Wait(request, MPI_STATUS_IGNORE));
    if (MPI_REQUEST_NULL != *request) {
        FP(MPI_Start(request));
        FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Wait(request, MPI_STATUS_IGNORE));
        FP(MPI_Request_free(request));
    }
}

/* All of them wait for somebody who has failed, but for so many at the most that were through before. */
static void wait_all_failed(int count, MPI_Request *requests, int most)
{
    MPI_Status *statuses = calloc((size_t) count, sizeof(*statuses));
    int rc = class_of(MPI_Waitall(count, requests, statuses));
    int through = 0;

    CHECK(MPI_ERR_IN_STATUS == rc || MPIX_ERR_PROC_FAILED == rc);
    for (int i = 0; i < count; ++i) {
        through += either("one of several", statuses[i].MPI_ERROR);
        CHECK(MPI_REQUEST_NULL == requests[i]);
    }
    fp_check(through <= most, __FILE__, __LINE__, "%d of %d have not failed", through, count);
    free(statuses);
}

static void send_token(int to, int tag)
{
    FP(MPI_Send(&rank, 1, MPI_INT, to, tag, comm));
}

static void recv_token(int from, int tag)
{
    int token = -1;

    FP(MPI_Recv(&token, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE));
    CHECK_INT(token, from);
}

/* Somebody waits for a message that never comes. */
static void posted(void)
{
    char *buffer = fp_alloc(LARGE);
    MPI_Request requests[2];

    if (am_victim()) {
        wait_for_death();
    }
    if (0 == rank) {
        FP(MPI_Irecv(buffer, 1, MPI_BYTE, victim, 1, comm, &requests[0]));
        FP(MPI_Irecv(buffer + 1, LARGE - 1, MPI_BYTE, victim, MPI_ANY_TAG, comm, &requests[1]));
        recv_token(1, 2);
        kill_victim();
        wait_all_failed(2, requests, 0);
    } else if (1 == rank) {
        send_token(0, 2);
        FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Recv(buffer, 1, MPI_BYTE, victim, 1, comm, MPI_STATUS_IGNORE));
    }
    CHECK_POISON(buffer, LARGE);
    fp_free(buffer);
}

/* Somebody waits for a message from whomever: it may still come from another one. */
static void any_source(void)
{
    MPI_Request request;
    int got = -1;

    if (am_victim()) {
        wait_for_death();
    }
    if (0 == rank) {
        FP(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request));
        recv_token(1, 2);
        kill_victim();
        FP_ERROR(MPIX_ERR_PROC_FAILED_PENDING, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(MPI_REQUEST_NULL != request);
        FP_ERROR(MPIX_ERR_PROC_FAILED,
                 MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE));
        FP(MPIX_Comm_failure_ack(comm));
        send_token(1, 3);
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(got, 1);
    } else if (1 == rank) {
        send_token(0, 2);
        FP_ERROR(MPIX_ERR_PROC_FAILED,
                 MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE));
        recv_token(0, 3);
        send_token(0, 1);
    }
}

/* Sends that wait for their receive. */
static void sends(void)
{
    char *buffer = fp_alloc_filled(LARGE, 1);
    MPI_Request requests[4];

    if (am_victim()) {
        wait_for_death();
    }
    if (0 == rank) {
        FP(MPI_Isend(buffer, LARGE, MPI_BYTE, victim, 1, comm, &requests[0]));
        FP(MPI_Issend(buffer, SMALL, MPI_BYTE, victim, 2, comm, &requests[1]));
        FP(MPI_Isend(buffer, 200000, MPI_BYTE, victim, 3, comm, &requests[2]));
        FP(MPI_Issend(buffer, 0, MPI_BYTE, victim, 4, comm, &requests[3]));
        recv_token(1, 5);
        kill_victim();
        wait_all_failed(4, requests, 0);
    } else if (1 == rank) {
        send_token(0, 5);
        FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Ssend(buffer, SMALL, MPI_BYTE, victim, 1, comm));
        FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Send(buffer, LARGE, MPI_BYTE, victim, 2, comm));
    }
    fp_free(buffer);
}

/* The sender of a large message that has been matched never sends the rest. */
static void half_received(void)
{
    char *buffer = fp_alloc_filled(LARGE, am_victim());
    MPI_Request requests[2];
    int flag = 0;

    if (am_victim()) {
        FP(MPI_Isend(buffer, LARGE, MPI_BYTE, 0, 1, comm, &requests[0]));
        FP(MPI_Isend(buffer, LARGE, MPI_BYTE, 0, 2, comm, &requests[1]));
        send_token(0, 3);
        wait_for_death();
    }
    if (0 == rank) {
        char *more = fp_alloc(LARGE);

        recv_token(victim, 3);
        FP(MPI_Irecv(buffer, LARGE, MPI_BYTE, victim, 1, comm, &requests[0]));
        FP(MPI_Irecv(more, LARGE, MPI_BYTE, MPI_ANY_SOURCE, 2, comm, &requests[1]));
        for (int i = 0; i < 100; ++i) {
            (void) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
        }
        kill_victim();
        if (either("half received", MPI_Wait(&requests[0], MPI_STATUS_IGNORE))) {
            CHECK_DATA(buffer, LARGE, 1);
        }
        int rc = MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        while (MPIX_ERR_PROC_FAILED_PENDING == class_of(rc)) {
            FP(MPIX_Comm_failure_ack(comm));
            rc = MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        }
        if (either("half received from whomever", rc)) {
            CHECK_DATA(more, LARGE, 1);
        }
        fp_free(more);
    }
    fp_free(buffer);
}

/* The receiver of a large message dies when it has some of it. */
static void half_sent(void)
{
    char *buffer = fp_alloc_filled(4 * LARGE, 1);
    MPI_Request request;
    int flag = 0;

    if (am_victim()) {
        FP(MPI_Irecv(buffer, 4 * LARGE, MPI_BYTE, 0, 1, comm, &request));
        for (int i = 0; i < 50 && !flag; ++i) {
            FP(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        }
        send_token(0, 2);
        wait_for_death();
    }
    if (0 == rank) {
        FP(MPI_Isend(buffer, 4 * LARGE, MPI_BYTE, victim, 1, comm, &request));
        recv_token(victim, 2);
        kill_victim();
        either("half sent", MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    fp_free(buffer);
}

/* Messages that nobody had received when their sender died: what is here is good. */
static void unexpected(void)
{
    char *buffer = fp_alloc_filled(LARGE, am_victim());
    MPI_Request requests[2];

    if (am_victim()) {
        FP(MPI_Send(buffer, SMALL, MPI_BYTE, 0, 1, comm));
        FP(MPI_Isend(buffer, LARGE, MPI_BYTE, 0, 2, comm, &requests[0]));
        FP(MPI_Isend(buffer, LARGE, MPI_BYTE, 0, 3, comm, &requests[1]));
        send_token(0, 4);
        wait_for_death();
    }
    if (0 == rank) {
        MPI_Message message;
        MPI_Status status;

        recv_token(victim, 4);
        FP(MPI_Mprobe(victim, 3, comm, &message, &status));
        CHECK_STATUS(&status, victim, 3, LARGE);
        kill_victim();
        wait_until_known();
        FP(MPI_Irecv(buffer, SMALL, MPI_BYTE, victim, 1, comm, &requests[0]));
        FP(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        CHECK_DATA(buffer, SMALL, 1);
        FP(MPI_Irecv(buffer, LARGE, MPI_BYTE, victim, 2, comm, &requests[0]));
        wait_failed(&requests[0], MPIX_ERR_PROC_FAILED);
        FP(MPI_Imrecv(buffer, LARGE, MPI_BYTE, &message, &requests[0]));
        wait_failed(&requests[0], MPIX_ERR_PROC_FAILED);
    }
    fp_free(buffer);
}

/* More than there is room for. */
static void flood(void)
{
    char *buffer = fp_alloc_filled(FLOOD_SIZE, 1);
    MPI_Request requests[FLOOD];

    if (am_victim()) {
        wait_for_death();
    }
    if (0 == rank) {
        for (int i = 0; i < FLOOD; ++i) {
            const int bytes = 0 == i % 2 ? FLOOD_SIZE : 4000;

            FP(MPI_Isend(buffer, bytes, MPI_BYTE, victim, i, comm, &requests[i]));
        }
        kill_victim();
        wait_all_failed(FLOOD, requests, FLOOD - 1);
    }
    fp_free(buffer);
}

/* Sends right after the receiver's death, before anybody could know of it. */
static void blind(void)
{
    char *buffer = fp_alloc_filled(SMALL, 1);
    MPI_Request requests[FLOOD];

    if (am_victim()) {
        recv_token(0, 1);
        wait_for_death();
    }
    if (0 == rank) {
        send_token(victim, 1);
        kill_victim();
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < FLOOD; ++i) {
                FP(MPI_Isend(buffer, SMALL, MPI_BYTE, victim, i, comm, &requests[i]));
            }
            fp_sleep_ms(2);
            for (int i = 0; i < FLOOD; ++i) {
                (void) either("a blind send", MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
            }
        }
    }
    fp_free(buffer);
}

static void probes(void)
{
    MPI_Message message;
    int flag = -1;

    if (am_victim()) {
        wait_for_death();
    }
    if (0 == rank) {
        recv_token(1, 1);
        recv_token(2, 1);
        kill_victim();
        FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Probe(MPI_ANY_SOURCE, 2, comm, MPI_STATUS_IGNORE));
        wait_until_known();
        if (either("MPI_Iprobe", MPI_Iprobe(victim, 2, comm, &flag, MPI_STATUS_IGNORE))) {
            CHECK_INT(flag, 0);
        }
        if (either("MPI_Improbe", MPI_Improbe(victim, 2, comm, &flag, &message, MPI_STATUS_IGNORE))) {
            CHECK_INT(flag, 0);
        }
    } else if (1 == rank) {
        send_token(0, 1);
        FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Probe(victim, 2, comm, MPI_STATUS_IGNORE));
    } else if (2 == rank) {
        send_token(0, 1);
        FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Mprobe(victim, 2, comm, &message, MPI_STATUS_IGNORE));
    }
}

/* A send is being taken back, and nobody answers. */
static void cancels(void)
{
    char *buffer = fp_alloc_filled(LARGE, 1);
    MPI_Request requests[3];

    if (am_victim()) {
        wait_for_death();
    }
    if (0 == rank) {
        FP(MPI_Isend(buffer, SMALL, MPI_BYTE, victim, 1, comm, &requests[0]));
        FP(MPI_Isend(buffer, LARGE, MPI_BYTE, victim, 2, comm, &requests[1]));
        FP(MPI_Isend(buffer, SMALL, MPI_BYTE, victim, 3, comm, &requests[2]));
        for (int i = 0; i < 2; ++i) {
            FP(MPI_Cancel(&requests[i]));
        }
        kill_victim();
        either("a cancelled short send", MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        wait_failed(&requests[1], MPIX_ERR_PROC_FAILED);
        wait_until_known();
        FP(MPI_Cancel(&requests[2]));
        either("a short send, cancelled too late", MPI_Wait(&requests[2], MPI_STATUS_IGNORE));
    }
    fp_free(buffer);
}

/* Operations that name a process of which it is known that it has failed. */
static void new_operations(void)
{
    char *buffer = fp_alloc_filled(LARGE, 1);
    const int lengths[] = {0, SMALL, LARGE};
    MPI_Request request;

    if (am_victim()) {
        wait_for_death();
    }
    kill_victim();
    wait_until_known();
    for (int i = 0; i < 3 && 0 == rank; ++i) {
        FP(MPI_Isend(buffer, lengths[i], MPI_BYTE, victim, 1, comm, &request));
        if (either("a send", MPI_Wait(&request, MPI_STATUS_IGNORE))) {
            CHECK(LARGE > lengths[i]); /* shared memory takes it, as it would if the receiver died now */
        }
        FP(MPI_Issend(buffer, lengths[i], MPI_BYTE, victim, 1, comm, &request));
        wait_failed(&request, MPIX_ERR_PROC_FAILED);
        FP(MPI_Irecv(buffer, lengths[i], MPI_BYTE, victim, 1, comm, &request));
        wait_failed(&request, MPIX_ERR_PROC_FAILED);
        FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Send(buffer, lengths[i], MPI_BYTE, victim, 1, comm));
        FP_ERROR(MPIX_ERR_PROC_FAILED,
                 MPI_Recv(buffer, lengths[i], MPI_BYTE, victim, 1, comm, MPI_STATUS_IGNORE));
        FP(MPI_Ssend_init(buffer, lengths[i], MPI_BYTE, victim, 1, comm, &request));
        FP(MPI_Start(&request));
        wait_failed_persistent(&request);
        FP(MPI_Recv_init(buffer, lengths[i], MPI_BYTE, victim, 1, comm, &request));
        FP(MPI_Start(&request));
        wait_failed_persistent(&request);
    }
    fp_free(buffer);
}

/* Persistent requests under way. One that gets all is good for another round. */
static void persistent(void)
{
    char *buffer = fp_alloc_filled(LARGE, am_victim()), *other = fp_alloc_filled(LARGE, 1);
    MPI_Request requests[2];
    int flag;

    if (am_victim()) {
        FP(MPI_Isend(buffer, LARGE, MPI_BYTE, 0, 1, comm, &requests[0]));
        send_token(0, 3);
        wait_for_death();
    }
    if (0 == rank) {
        FP(MPI_Recv_init(buffer, LARGE, MPI_BYTE, victim, 1, comm, &requests[0]));
        FP(MPI_Send_init(other, LARGE, MPI_BYTE, victim, 2, comm, &requests[1]));
        FP(MPI_Startall(2, requests));
        recv_token(victim, 3);
        for (int i = 0; i < 100; ++i) {
            (void) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
        }
        kill_victim();
        if (either("a persistent receive", MPI_Wait(&requests[0], MPI_STATUS_IGNORE))) {
            CHECK_DATA(buffer, LARGE, 1);
        }
        if (MPI_REQUEST_NULL != requests[0]) {
            FP(MPI_Start(&requests[0]));
            wait_failed_persistent(&requests[0]);
        }
        wait_failed_persistent(&requests[1]);
    }
    fp_free(buffer);
    fp_free(other);
}

/* A message that waits in the attached buffer does not keep it. */
static void buffered(void)
{
    char *buffer = fp_alloc_filled(LARGE, 1);
    char *space = malloc(2 * LARGE);
    void *detached;
    int bytes;

    if (am_victim()) {
        wait_for_death();
    }
    if (0 == rank) {
        FP(MPI_Buffer_attach(space, 2 * LARGE));
        FP(MPI_Bsend(buffer, LARGE, MPI_BYTE, victim, 1, comm));
        FP(MPI_Bsend(buffer, SMALL, MPI_BYTE, victim, 1, comm));
        kill_victim();
        FP(MPI_Buffer_detach(&detached, &bytes));
        CHECK(detached == space);
    }
    free(space);
    fp_free(buffer);
}

static void collectives(void)
{
    int one = 1, sum, flag = 1, rc;
    MPI_Comm duplicate;

    if (am_victim()) {
        wait_for_death();
    }
    kill_victim();
    CHECK_INT(class_of(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm)), MPIX_ERR_PROC_FAILED);
    CHECK_INT(class_of(MPI_Barrier(comm)), MPIX_ERR_PROC_FAILED);
    CHECK_INT(class_of(MPI_Comm_dup(comm, &duplicate)), MPIX_ERR_PROC_FAILED);
    FP(MPIX_Comm_failure_ack(comm));
    do { /* until all have acknowledged */
        rc = MPIX_Comm_agree(comm, &flag);
        if (MPI_SUCCESS != rc) {
            CHECK_INT(class_of(rc), MPIX_ERR_PROC_FAILED);
            FP(MPIX_Comm_failure_ack(comm));
        }
    } while (MPI_SUCCESS != rc);
    CHECK_INT(flag, 1);
}

/* Somebody revokes the communicator while others wait for each other; then it is of no use to anybody. */
static void revoked(void)
{
    char *buffer = fp_alloc_filled(LARGE, 1);
    MPI_Request request;
    int flag;

    if (am_victim()) {
        wait_for_death();
    }
    if (0 == rank) {
        send_token(1, 7);
        FP(MPI_Irecv(buffer, 1, MPI_BYTE, 1, 1, comm, &request));
        wait_failed(&request, MPIX_ERR_REVOKED);
        FP(MPI_Irecv(buffer, 1, MPI_BYTE, 1, 3, comm, &request)); /* a message that came before */
        wait_failed(&request, MPIX_ERR_REVOKED);
    } else if (1 == rank) {
        recv_token(0, 7);
        FP(MPI_Send(buffer, SMALL, MPI_BYTE, 0, 3, comm));
        send_token(2, 4);
        FP(MPI_Isend(buffer, LARGE, MPI_BYTE, 0, 2, comm, &request));
        int rc = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(MPIX_ERR_REVOKED == rc || MPI_SUCCESS == rc); /* its receiver may have dropped it */
    } else if (2 == rank) {
        recv_token(1, 4);
        FP(MPIX_Comm_revoke(comm));
    } else {
        FP_ERROR(MPIX_ERR_REVOKED, MPI_Recv(buffer, 1, MPI_BYTE, 0, 5, comm, MPI_STATUS_IGNORE));
    }
    FP_ERROR(MPIX_ERR_REVOKED, MPI_Send(buffer, 1, MPI_BYTE, (rank + 1) % 3, 6, comm));
    FP_ERROR(MPIX_ERR_REVOKED, MPI_Recv(buffer, 1, MPI_BYTE, (rank + 1) % 3, 6, comm, MPI_STATUS_IGNORE));
    FP_ERROR(MPIX_ERR_REVOKED, MPI_Barrier(comm));
    FP(MPIX_Comm_is_revoked(comm, &flag));
    CHECK_INT(flag, 1);
    kill_victim();
    wait_until_known();
    fp_free(buffer);
}

/* Once this process knows that comm has been revoked, a file says so. */
static char revoked_path[256];
static bool revoked_said;

static int say_revoked(void)
{
    if (!revoked_said && ompi_comm_is_revoked(comm)) {
        revoked_said = true;
        close(open(revoked_path, O_CREAT | O_WRONLY, 0600));
    }
    return 0;
}

/* A message comes to a receive that waits, but when its process knows that the communicator has been revoked:
 * its sender, who is outside MPI until then, does not. */
static void revoked_meanwhile(void)
{
    int got = -1;

    if (am_victim()) {
        wait_for_death();
    }
    snprintf(revoked_path, sizeof(revoked_path), "%s/revoked.%d", getenv("TMPDIR"), pids[0]);
    if (0 == rank) {
        send_token(2, 7);
        opal_progress_register(say_revoked);
        FP_ERROR(MPIX_ERR_REVOKED, MPI_Recv(&got, 1, MPI_INT, 1, 5, comm, MPI_STATUS_IGNORE));
        opal_progress_unregister(say_revoked);
        CHECK_INT(got, -1);
    } else if (1 == rank) {
        send_token(2, 7);
        fp_at(__FILE__, __LINE__, "waiting outside MPI until rank 0 knows");
        while (0 != access(revoked_path, F_OK)) {
            usleep(100);
        }
        FP(MPI_Send(&rank, 1, MPI_INT, 0, 5, comm));
    } else if (2 == rank) {
        recv_token(0, 7);
        recv_token(1, 7);
        fp_sleep_ms(100); /* until rank 0 waits */
        FP(MPIX_Comm_revoke(comm));
    }
    kill_victim();
    wait_until_known();
}

/* Until all survivors have left the barrier before: in there a failure is theirs, too. */
static void all_here(void)
{
    if (0 == rank) {
        for (int i = 1; i < size - 1; ++i) {
            recv_token(i, 0);
        }
    } else if (!am_victim()) {
        send_token(0, 0);
    }
}

/* ---- windows: whoever has to wait for a member that has failed is told ---- */

static MPI_Win window_new(void)
{
    MPI_Win win;
    int *memory;

    FP(MPI_Win_allocate(sizeof(*memory), 1, MPI_INFO_NULL, comm, &memory, &win));
    FP(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FP(MPI_Barrier(comm));
    all_here();
    return win;
}

/* It ends, with an error or not: not all members are there. */
static void window_free(MPI_Win *win)
{
    (void) MPI_Win_free(win);
}

static void kill_and_know(void)
{
    if (am_victim()) {
        wait_for_death();
    }
    kill_victim();
    wait_until_known();
}

/* @return MPI_SUCCESS or the first error */
static int epoch_to(MPI_Win win, int target)
{
    int rc = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win), end;

    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = MPI_Put(&rank, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    end = MPI_Win_unlock(target, win);
    return MPI_SUCCESS != rc ? rc : end;
}

/* The victim has rank 0's lock when it is killed, and all others wait for it, rank 0 too. */
static void window_held(void)
{
    MPI_Win win = window_new();

    if (am_victim()) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        FP(MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        FP(MPI_Win_flush(0, win));
        for (int i = 0; i < victim; ++i) {
            send_token(i, 7);
        }
        fp_sleep_ms(300); /* until they wait, who else would kill it */
        kill(getpid(), SIGKILL);
    }
    recv_token(victim, 7);
    FP_ERROR(MPIX_ERR_PROC_FAILED, epoch_to(win, 0));
    window_free(&win);
}

/* Memory that processes share is there when one of them is not: then nobody waits, and nothing is wrong. */
static void window_target(void)
{
    MPI_Win win = window_new();

    kill_and_know();
    if (NULL != getenv("OMPI_MCA_osc_fastpath_shared_memory")) { /* 0: by messages */
        FP_ERROR(MPIX_ERR_PROC_FAILED, epoch_to(win, victim));
    } else {
        (void) either("an epoch", epoch_to(win, victim));
    }
    window_free(&win);
}

static void window_fence(void)
{
    MPI_Win win = window_new();

    FP(MPI_Win_fence(0, win));
    all_here();
    kill_and_know();
    FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Win_fence(0, win));
    window_free(&win);
}

static void window_post(void)
{
    MPI_Win win = window_new();
    MPI_Group all, group;

    FP(MPI_Comm_group(comm, &all));
    FP(MPI_Group_incl(all, 1, &victim, &group));
    if (!am_victim()) {
        FP(MPI_Win_post(group, 0, win));
    }
    kill_and_know();
    FP_ERROR(MPIX_ERR_PROC_FAILED, MPI_Win_wait(win));
    window_free(&win);
    FP(MPI_Group_free(&group));
    FP(MPI_Group_free(&all));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"posted", posted},
    {"any_source", any_source},
    {"sends", sends},
    {"half_received", half_received},
    {"half_sent", half_sent},
    {"unexpected", unexpected},
    {"blind", blind},
    {"flood", flood},
    {"probes", probes},
    {"cancels", cancels},
    {"new_operations", new_operations},
    {"persistent", persistent},
    {"buffered", buffered},
    {"collectives", collectives},
    {"revoked", revoked},
    {"revoked_meanwhile", revoked_meanwhile},
    {"window_held", window_held},
    {"window_target", window_target},
    {"window_fence", window_fence},
    {"window_post", window_post},
};

/* Those that are left go on without the victim: all of them agree on who they are, and everything works. */
static void go_on(void)
{
    MPI_Comm shrunk;
    int one = 1, sum = 0, left;

    fp_case("%s", "going on");
    wait_until_known();
    FP(MPIX_Comm_shrink(comm, &shrunk));
    FP(MPI_Comm_size(shrunk, &left));
    CHECK_INT(left, size - 1);
    FP(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, shrunk));
    CHECK_INT(sum, size - 1);
    if (MPI_COMM_WORLD != comm) {
        FP(MPI_Comm_free(&comm));
    }
    comm = shrunk;
    --size;
    victim = size - 1;
}

static void run_case(const char *name)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        if (0 == strcmp(name, cases[i].name)) {
            fp_case("%s", name);
            FP(MPI_Barrier(comm));
            all_here();
            cases[i].run();
            go_on();
            return;
        }
    }
    fp_check(false, __FILE__, __LINE__, "no case %s", name);
}

int main(int argc, char **argv)
{
    const bool threads = 1 < argc && 0 == strcmp(argv[1], "yes");
    int status, pid = (int) getpid();

    /* btl/tcp may write twice to a process that is dead, and Open MPI does not hold this back. */
    signal(SIGPIPE, SIG_IGN);
    (void) fp_init_thread(&argc, &argv, argc + 1, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    comm = MPI_COMM_WORLD;
    rank = fp_rank;
    size = fp_size;
    victim = size - 1;
    pids = calloc((size_t) size, sizeof(*pids));
    FP(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, comm));
    for (int i = 2; i < argc; ++i) {
        run_case(argv[i]);
    }
    fp_case("the end");
    fp_at(__FILE__, __LINE__, "MPI_Finalize");
    status = fp_finish_alone();
    printf("survivor %d: %s\n", rank, 0 == status ? "fine" : "FAILED");
    free(pids);
    return status;
}
#endif
