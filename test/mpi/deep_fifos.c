/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Deeper FIFOs: pairs that prove busy move to one, in order, and so do processes of other jobs.
 *
 * deep_fifos pairs N R [THREADS]  of each receiver's senders N move, and others are refused (R is 1) or not
 * (0) deep_fifos jobs CYCLES          spawn a process, talk until both directions have moved, part, again and
 * again deep_fifos heirs                who has been refused is assigned the FIFO of a process that has
 * ended, although no other comes; each receiver has one
 */

#include <signal.h>
#include <unistd.h>

#include "support/fp_counters.h"

enum { TAG = 181, MANY = 60, PATIENCE = 400, MOST_THREADS = 8 };

/* ---- what btl/fastsm counts ---- */

enum { GIVEN, TAKEN, REFUSED, COUNTERS };

static const char *const names[COUNTERS] = {
    "btl_fastsm_deep_fifos_assigned", "btl_fastsm_deep_fifos_obtained", "btl_fastsm_deep_fifos_refused"};

/* ---- pairs of one job ---- */

/* A flood has all kinds of messages in it, most of them short. */
static size_t length_of(int i)
{
    static const size_t lengths[] = {0, 8, 40, 41, 90, 300, 8, 8, 600, 8, 4000, 8, 1, 8, 20000, 3};

    return lengths[(unsigned) i % (sizeof(lengths) / sizeof(lengths[0]))];
}

static fp_message_t *flood(int tag, fp_message_t *messages, bool sends)
{
    for (int i = 0; i < MANY; i++) {
        for (int peer = 0; peer < fp_size; peer++) {
            if (peer != fp_rank && sends) {
                fp_isend(messages++, &fp_modes[FP_STANDARD], length_of(i), peer, tag, i, MPI_COMM_WORLD);
            } else if (peer != fp_rank) {
                fp_irecv(messages++, length_of(i), peer, tag, i, MPI_COMM_WORLD);
            }
        }
    }
    return messages;
}

/* Everybody to everybody.  Receives are posted late, so that FIFOs fill. */
static void exchange_all(int index)
{
    const int tag = TAG + index, count = MANY * (fp_size - 1);
    fp_message_t *messages = (fp_message_t *) malloc(2 * (size_t) count * sizeof(*messages));
    fp_message_t *receives = flood(tag, messages, true);

    flood(tag, receives, false);
    for (int i = 0; i < count; i++) {
        fp_wait_recv(&receives[i]);
    }
    for (int i = 0; i < count; i++) {
        fp_wait_send(&messages[i]);
    }
    free(messages);
}

static unsigned long sum(int counter)
{
    unsigned long own = fp_counter(counter), all = 0;

    FP(MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

/* Has it been long enough?  All are told the same. */
static bool patience_ends(double start)
{
    int end = fp_now() - start > PATIENCE;

    FP(MPI_Bcast(&end, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return end;
}

static void pairs(unsigned long each, bool refused, int threads)
{
    const unsigned long want = each * (unsigned long) fp_size;
    const double start = fp_now();
    bool done;
    int round = 0;

    do {
        fp_case("round %d of everybody to everybody", round++);
        if (0 == threads) {
            exchange_all(0);
        } else {
            fp_run_threads(threads, exchange_all);
        }
        done = sum(TAKEN) == want && sum(GIVEN) == want && (!refused || 0 < sum(REFUSED));
    } while ((!done || round < 5) && !patience_ends(start));

    fp_case("after %d rounds", round);
    CHECK_INT(sum(TAKEN), want);
    CHECK_INT(sum(GIVEN), want);
    CHECK(refused == (0 < sum(REFUSED)));
    exchange_all(0);
}

/* ---- processes of other jobs ---- */

/* With process 0 of the other side; the parent says whether to go on. */
static bool talk(MPI_Comm comm, bool parent, bool more)
{
    int again = more;

    for (int i = 0; i < 20; i++) {
        for (int side = 0; side < 2; side++) {
            if (parent == (0 == side)) {
                fp_send(&fp_modes[FP_STANDARD], length_of(i), 0, TAG, i, comm);
            } else {
                fp_recv(length_of(i), 0, TAG, i, comm);
            }
        }
    }
    if (parent) {
        FP(MPI_Send(&again, 1, MPI_INT, 0, TAG, comm));
    } else {
        FP(MPI_Recv(&again, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
    }
    return 0 != again;
}

static MPI_Comm spawn(char *program, int *pid)
{
    char *arguments[] = {(char *) "child", NULL};
    MPI_Comm inter;

    FP(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE));
    FP(MPI_Recv(pid, 1, MPI_INT, 0, TAG, inter, MPI_STATUS_IGNORE));
    return inter;
}

/* Until both directions to and from a new child have moved. */
static void talk_until_moved(MPI_Comm inter, unsigned long moved)
{
    const double start = fp_now();

    while ((fp_counter(GIVEN) < moved || fp_counter(TAKEN) < moved) && fp_now() - start <= PATIENCE) {
        talk(inter, true, true);
    }
    CHECK_INT(fp_counter(GIVEN), moved);
    CHECK_INT(fp_counter(TAKEN), moved);
}

static void dismiss(MPI_Comm inter, int pid)
{
    talk(inter, true, false);
    fp_disconnect(&inter);
    fp_wait_for_end(pid);
}

static void jobs(char *program, int cycles)
{
    unsigned long moved = 0;
    int pid, first;
    MPI_Comm lasting = spawn(program, &first), inter;

    fp_case("a child that stays");
    talk_until_moved(lasting, ++moved);
    for (int i = 0; i < cycles; i++) {
        fp_case("cycle %d", i);
        inter = spawn(program, &pid);
        talk_until_moved(inter, ++moved);
        dismiss(inter, pid);
        talk(lasting, true, true);
    }
    fp_case("the end");
    talk(lasting, true, false);
    fp_disconnect(&lasting);
    CHECK_INT(fp_counter(GIVEN), cycles + 1);
}

/* Process 0's FIFO goes from one child to the other and then to process 1. */
static void inherit_from_children(char *program)
{
    const double start = fp_now();
    MPI_Comm inter[2];
    int pids[2];

    fp_case("the first child");
    inter[0] = spawn(program, &pids[0]);
    inter[1] = spawn(program, &pids[1]);
    talk_until_moved(inter[0], 1);
    fp_case("the second one is refused");
    talk(inter[1], true, true);
    talk(inter[1], true, true);
    CHECK_INT(fp_counter(GIVEN), 1);
    fp_case("the first one has ended");
    dismiss(inter[0], pids[0]);
    while (fp_counter(GIVEN) < 2 && fp_now() - start <= PATIENCE) {
        talk(inter[1], true, true);
    }
    CHECK_INT(fp_counter(GIVEN), 2);
    dismiss(inter[1], pids[1]);
}

static void heirs(char *program)
{
    const double start = fp_now();
    int more = 1;

    if (0 == fp_rank) {
        inherit_from_children(program);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    fp_case("both have ended");
    while (0 != more) {
        exchange_all(0);
        more = fp_counter(GIVEN) < 3 && fp_now() - start <= 2 * PATIENCE;
        FP(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
    }
    if (0 == fp_rank) {
        CHECK_INT(fp_counter(GIVEN), 3);
    }
    exchange_all(0);
}

static void child(MPI_Comm inter)
{
    const int pid = (int) getpid();

    FP(MPI_Send(&pid, 1, MPI_INT, 0, TAG, inter));
    while (talk(inter, false, true)) {
    }
    fp_disconnect(&inter);
}

int main(int argc, char **argv)
{
    const int threads = 4 < argc ? atoi(argv[4]) : 0;
    MPI_Comm inter;

    if (0 != threads) {
        if (MPI_THREAD_MULTIPLE != fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
            fp_skip("no MPI_THREAD_MULTIPLE");
        }
    } else {
        fp_init(&argc, &argv, 1);
    }
    FP(MPI_Comm_get_parent(&inter));
    if (MPI_COMM_NULL != inter) {
        child(inter);
        return fp_finish_child();
    }
    fp_counters_open(MPI_THREAD_MULTIPLE, names, COUNTERS);
    if (3 < argc && 0 == strcmp(argv[1], "pairs")) {
        pairs(strtoul(argv[2], NULL, 10), 0 != atoi(argv[3]), threads);
    } else if (1 < argc && 0 == strcmp(argv[1], "heirs")) {
        heirs(argv[0]);
    } else {
        jobs(argv[0], 2 < argc ? atoi(argv[2]) : 3);
    }
    fp_counters_close();
    return fp_finish();
}
