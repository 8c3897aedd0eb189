/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Threads that wait for long leave their core alone, and what they wait for ends their sleep, whether it
 * comes from another process or from a thread of their own: a message, the end of a request of any kind, a
 * cancel. While they sleep other threads of their process communicate. */

#include <stdatomic.h>

#include "support/fp_counters.h"

enum {
    TAG = 27,
    FROM_SELF = 28,
    BLOCKED_MS = 200,
    QUIET_MS = 60,       /* more than that after which waits sleep where threads take each other's core */
    POSTPONED_MS = 1000, /* so long waits sleep later where sleeps have ended too soon (docs/waiting.md) */
    TRIES = 5,
    THREADS = 2,
    LONG = 1 << 20,
    ROUNDS = 200
};

enum { SLEEPS, WOKEN, COUNTERS };

static const char *const names[COUNTERS] = {"pml_fastpath_waits_sleeps", "pml_fastpath_waits_woken"};

static char *buffers[THREADS];
static MPI_Comm comms[THREADS];
static MPI_Request grequest;
static MPI_Request cancelled;
static _Atomic int ready;

/* The other thread comes late: when the first one may be asleep. */
static void come_late(void)
{
    while (0 == atomic_load(&ready)) {
        fp_sleep_ms(1);
    }
    fp_sleep_ms(BLOCKED_MS);
    atomic_store(&ready, 0);
}

static void send_to(int rank, int tag)
{
    FP(MPI_Send(buffers[1], 8, MPI_BYTE, rank, tag, MPI_COMM_WORLD));
}

static void receive_from(int index, int rank, int tag)
{
    FP(MPI_Recv(buffers[index], 8, MPI_BYTE, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* ---- what the threads of rank 1 do, and rank 0, which has one ---- */

/* Both wait; the one that waits first is served last, and the other way round. */
static void both_receive(int index)
{
    receive_from(index, 0, TAG + index);
}

static void both_receive_other(void)
{
    fp_sleep_ms(BLOCKED_MS);
    send_to(1, TAG + 1);
    fp_sleep_ms(BLOCKED_MS);
    send_to(1, TAG);
    fp_sleep_ms(BLOCKED_MS);
}

static void both_wait(int index)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int which = -1;

    FP(MPI_Irecv(buffers[index], 8, MPI_BYTE, 0, TAG + index, MPI_COMM_WORLD, &requests[index]));
    if (0 == index) {
        FP(MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE));
        CHECK_INT(which, 0);
    } else {
        FP(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
}

static void both_barrier(int index)
{
    FP(MPI_Barrier(comms[index]));
}

static void both_barrier_other(void)
{
    fp_sleep_ms(BLOCKED_MS);
    FP(MPI_Barrier(comms[0]));
    fp_sleep_ms(BLOCKED_MS);
    FP(MPI_Barrier(comms[1]));
}

static void both_probe(int index)
{
    MPI_Message message;

    if (0 == index) {
        FP(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        receive_from(0, 0, TAG);
    } else {
        FP(MPI_Mprobe(0, TAG + 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        FP(MPI_Mrecv(buffers[1], 8, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    }
}

static void nothing(void)
{
}

/* The second thread sends what the first one waits for. */
static void from_thread(int index)
{
    if (0 == index) {
        atomic_store(&ready, 1);
        receive_from(0, fp_rank, FROM_SELF);
    } else {
        come_late();
        send_to(fp_rank, FROM_SELF);
    }
}

static void probe_thread(int index)
{
    if (0 == index) {
        atomic_store(&ready, 1);
        FP(MPI_Probe(MPI_ANY_SOURCE, FROM_SELF, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        receive_from(0, fp_rank, FROM_SELF);
    } else {
        come_late();
        send_to(fp_rank, FROM_SELF);
    }
}

static void cancel(int index)
{
    MPI_Request request;
    MPI_Status status;

    if (0 == index) {
        FP(MPI_Irecv(buffers[0], 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &cancelled));
        request = cancelled;
        atomic_store(&ready, 1);
        FP(MPI_Wait(&request, &status));
        CHECK(fp_was_cancelled(&status));
    } else {
        come_late();
        FP(MPI_Cancel(&cancelled));
    }
}

static int query(void *context, MPI_Status *status)
{
    (void) context;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *context)
{
    (void) context;
    return MPI_SUCCESS;
}

static int ignore(void *context, int complete)
{
    (void) context;
    (void) complete;
    return MPI_SUCCESS;
}

/* All of them: one from rank 0, one that the second thread sends, one that it ends. */
static void wait_for_all(int index)
{
    MPI_Request requests[3];

    if (0 == index) {
        FP(MPI_Irecv(buffers[0], 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[0]));
        FP(MPI_Irecv(buffers[0] + 8, 8, MPI_BYTE, fp_rank, FROM_SELF, MPI_COMM_WORLD, &requests[1]));
        FP(MPI_Grequest_start(query, release, ignore, NULL, &grequest));
        requests[2] = grequest;
        atomic_store(&ready, 1);
        FP(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    } else {
        come_late();
        send_to(fp_rank, FROM_SELF);
        fp_sleep_ms(BLOCKED_MS);
        FP(MPI_Grequest_complete(grequest));
    }
}

static void wait_for_all_other(void)
{
    fp_sleep_ms(BLOCKED_MS / 2);
    send_to(1, TAG);
}

/* One sleeps for long; the other one has much to do, and waits in it. */
static void exchange(int index)
{
    if (0 == index) {
        receive_from(0, 0, TAG);
    }
    for (int round = 0; 1 == index && round < ROUNDS; round++) {
        const size_t length = 0 == round % 10 ? LONG : 100 * (size_t) round;

        if (0 == round % 20) {
            fp_sleep_ms(QUIET_MS);
        }
        fp_send(&fp_modes[0], length, 0, FROM_SELF, round, MPI_COMM_WORLD);
        fp_recv(length, 0, FROM_SELF, round, MPI_COMM_WORLD);
    }
}

static void exchange_other(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        const size_t length = 0 == round % 10 ? LONG : 100 * (size_t) round;

        fp_recv(length, 1, FROM_SELF, round, MPI_COMM_WORLD);
        fp_send(&fp_modes[0], length, 1, FROM_SELF, round, MPI_COMM_WORLD);
    }
    send_to(1, TAG);
}

typedef struct {
    const char *name;
    void (*threads)(int index);
    void (*other)(void); /* rank 0 */
    int woken;           /* what each sleep of the thread ends with, is announced to it */
} scene_t;

static const scene_t scenes[] = {
    {"both in MPI_Recv", both_receive, both_receive_other, 1},
    {"MPI_Waitany and MPI_Wait", both_wait, both_receive_other, 1},
    {"both in MPI_Barrier", both_barrier, both_barrier_other, 1},
    {"MPI_Probe and MPI_Mprobe", both_probe, both_receive_other, 1},
    {"a thread's message", from_thread, nothing, 1},
    {"MPI_Probe, a thread's message", probe_thread, nothing, 1},
    {"MPI_Cancel", cancel, nothing, 1},
    {"MPI_Waitall, generalized request", wait_for_all, wait_for_all_other, 0},
    {"others communicate", exchange, exchange_other, 0},
};

static const scene_t *scene;

static void in_thread(int index)
{
    fp_case("%s, thread %d", scene->name, index);
    scene->threads(index);
}

/* @return whether the threads of this rank have slept, and been woken as they should. A thread may be awake
 * by chance when that comes. */
static int play(void)
{
    fp_counts_t before;
    double used;

    FP(MPI_Barrier(MPI_COMM_WORLD));
    before = fp_counters_now();
    used = fp_used_ms();
    if (0 == fp_rank) {
        scene->other();
        return 1;
    }
    fp_run_threads(THREADS, in_thread);
    before = fp_counters_since(&before);
    printf("# %s: %.1f ms of processor time, %lu sleeps, %lu woken\n", scene->name, fp_used_ms() - used,
           before.value[SLEEPS], before.value[WOKEN]);
    return 0 < before.value[SLEEPS] && (!scene->woken || 0 < before.value[WOKEN]);
}

int main(int argc, char **argv)
{
    if (MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
        fp_skip("no MPI_THREAD_MULTIPLE");
    }
    fp_counters_open(MPI_THREAD_MULTIPLE, names, COUNTERS);
    for (int i = 0; i < THREADS; i++) {
        buffers[i] = calloc(1, LONG);
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    }
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        int good = 0;

        scene = &scenes[i];
        fp_case("%s", scene->name);
        for (int tries = 0; !good && tries < TRIES; tries++) {
            fp_sleep_ms(0 < tries ? POSTPONED_MS : 0);
            good = play();
            FP(MPI_Bcast(&good, 1, MPI_INT, 1, MPI_COMM_WORLD));
        }
        CHECK(good);
    }
    for (int i = 0; i < THREADS; i++) {
        FP(MPI_Comm_free(&comms[i]));
        free(buffers[i]);
    }
    fp_counters_close();
    return fp_finish();
}
