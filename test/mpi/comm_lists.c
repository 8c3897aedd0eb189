/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Communicators whose ids have the same lower bits are in one list of the PML's, whose first one messages
 * find at once: each of them is the first one as soon as it is used, also after others have been freed.
 * Counted, not timed. */

#include "ompi_config.h"

#include "fastpath_ompi_compat.h"

#include "support/fp_counters.h"

enum { TAG = 23, MESSAGES = 50, LISTS = 64, COLLIDING = 3, MOST = LISTS * COLLIDING };
enum { ROUNDS = 300, EACH = 10, LENGTH = 100 };

enum { SEARCHED, UNEXPECTED, COUNTERS };

static const char *const names[COUNTERS] = {"pml_fastpath_comms_searched",
                                            "pml_fastpath_unexpected_messages"};

/* Of another list than all that are looked at. */
static MPI_Comm beside;

/* Messages from rank 0 that rank 1 has to look up: they come before they are asked for. */
static void exchange(MPI_Comm comm, unsigned long most)
{
    int number = 0;

    if (0 == fp_rank) {
        fp_await(1, beside);
        for (int i = 0; i < MESSAGES; i++) {
            FP(MPI_Send(&i, 1, MPI_INT, 1, TAG, comm));
        }
        FP(MPI_Send(&number, 1, MPI_INT, 1, TAG + 1, comm));
    } else if (1 == fp_rank) {
        const fp_counts_t before = fp_counters_now();
        fp_counts_t since;

        fp_signal(0, beside);
        FP(MPI_Recv(&number, 1, MPI_INT, 0, TAG + 1, comm, MPI_STATUS_IGNORE));
        since = fp_counters_since(&before);
        fp_check(since.value[UNEXPECTED] >= MESSAGES, __FILE__, __LINE__, "%lu messages were unexpected",
                 since.value[UNEXPECTED]);
        fp_check(since.value[SEARCHED] <= most, __FILE__, __LINE__,
                 "%lu times a communicator was not the first", since.value[SEARCHED]);
        for (int i = 0; i < MESSAGES; i++) {
            FP(MPI_Recv(&number, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
            CHECK_INT(number, i);
        }
    }
}

/* Communicators of ids that are not looked at, up to one of the list that MPI_COMM_WORLD is in. */
static MPI_Comm comms[MOST];
static int count;

static MPI_Comm next_colliding(void)
{
    const uint32_t ours = fastpath_comm_cid(MPI_COMM_WORLD) % LISTS;

    while (CHECK(MOST > count)) {
        MPI_Comm comm;

        FP(MPI_Comm_dup(beside, &comm));
        if (ours == fastpath_comm_cid(comm) % LISTS) {
            return comm;
        }
        comms[count++] = comm;
    }
    return MPI_COMM_NULL;
}

/* What a thread of each of two ranks does; there are two pairs of threads. */
static void look_up(void)
{
    for (int i = 0; i < ROUNDS && 1 >= fp_rank; i++) {
        fp_message_t in, out;

        fp_irecv(&in, LENGTH, 1 - fp_rank, TAG, i, MPI_COMM_WORLD);
        fp_isend(&out, &fp_modes[FP_STANDARD], LENGTH, 1 - fp_rank, TAG, i, MPI_COMM_WORLD);
        fp_wait_recv(&in);
        fp_wait_send(&out);
    }
}

static void make_and_free(void)
{
    for (int i = 0; i < ROUNDS / EACH; i++) {
        MPI_Comm comm = next_colliding();

        FP(MPI_Barrier(comm));
        FP(MPI_Comm_free(&comm));
    }
}

static void thread(int index)
{
    fp_case("thread %d", index);
    (0 == index) ? look_up() : make_and_free();
}

static int with_threads(int *argc, char ***argv)
{
    if (MPI_THREAD_MULTIPLE != fp_init_thread(argc, argv, 2, MPI_THREAD_MULTIPLE)) {
        fp_skip("this Open MPI has no threads");
    }
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &beside));
    fp_run_threads(2, thread);
    while (0 < count) {
        FP(MPI_Comm_free(&comms[--count]));
    }
    FP(MPI_Comm_free(&beside));
    return fp_finish();
}

static int with_counters(int *argc, char ***argv)
{
    MPI_Comm colliding[COLLIDING] = {MPI_COMM_WORLD};

    fp_init(argc, argv, 2);
    fp_counters_open(MPI_THREAD_SINGLE, names, COUNTERS);
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &beside));
    fp_case("alone");
    exchange(MPI_COMM_WORLD, 0);
    for (int i = 1; i < COLLIDING; i++) {
        colliding[i] = next_colliding();
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COLLIDING; i++) {
            fp_case("id %u of %d with the same lower bits", fastpath_comm_cid(colliding[i]), COLLIDING);
            exchange(colliding[i], 1);
            exchange(colliding[i], 0);
        }
    }
    fp_case("after the last one that was used");
    FP(MPI_Comm_free(&colliding[2]));
    exchange(colliding[1], 1);
    exchange(MPI_COMM_WORLD, 1);
    fp_case("after one that was not");
    FP(MPI_Comm_free(&colliding[1]));
    exchange(MPI_COMM_WORLD, 0);
    while (0 < count) {
        FP(MPI_Comm_free(&comms[--count]));
    }
    exchange(MPI_COMM_WORLD, 0);
    FP(MPI_Comm_free(&beside));
    fp_counters_close();
    return fp_finish();
}

int main(int argc, char **argv)
{
    return (1 < argc) ? with_threads(&argc, &argv) : with_counters(&argc, &argv);
}
