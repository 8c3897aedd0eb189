/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Communicators that have no parent (MPI-4, 7.4.2 and 11.3): their members have not agreed on a number, and
 * it is not the same everywhere, as ranks have made different ones before. The first messages leave before
 * anybody knows what the others call the communicator. */

#include "support/fp_test.h"

enum { TAG = 271, ROUNDS = 4, PER_SIZE = 3, ROOM = 1 << 20 };

static MPI_Session session;
static int made; /* communicators so far, of which this rank knows some only */

/* The ranks FIRST, FIRST + STEP ... of the job, in this order or the other one. */
static MPI_Group group_of(int first, int step, bool reversed)
{
    int *ranks = malloc((size_t) fp_size * sizeof(*ranks)), count = 0;
    MPI_Group world, group;

    for (int rank = first; rank < fp_size; rank += step) {
        ranks[count++] = rank;
    }
    for (int i = 0; reversed && i < count / 2; i++) {
        int rank = ranks[i];

        ranks[i] = ranks[count - 1 - i];
        ranks[count - 1 - i] = rank;
    }
    FP(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    FP(MPI_Group_incl(world, count, ranks, &group));
    FP(MPI_Group_free(&world));
    free(ranks);
    return group;
}

/* Every member of the group calls this with the same tag. */
static MPI_Comm comm_of(MPI_Group group, const char *what, int number)
{
    MPI_Comm comm = MPI_COMM_NULL;
    char tag[64];

    snprintf(tag, sizeof(tag), "%s %d", what, number);
    FP(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    return comm;
}

static int peers_in(MPI_Comm comm)
{
    int inter, count;

    FP(MPI_Comm_test_inter(comm, &inter));
    if (inter) {
        FP(MPI_Comm_remote_size(comm, &count));
    } else {
        FP(MPI_Comm_size(comm, &count));
    }
    return count;
}

/* Nothing that others may wait for is left here: an answer may have found no room, and Open MPI makes no
 * progress while it waits for a new communicator. What is sent to a process leaves after it. */
static void settle(void)
{
    for (int peer = 0; peer < fp_size; peer++) {
        fp_signal(peer, MPI_COMM_WORLD);
    }
    for (int peer = 0; peer < fp_size; peer++) {
        fp_await(peer, MPI_COMM_WORLD);
    }
}

/* Messages of all sizes to everybody, ourselves included, several before anybody can have answered. */
static void exchange(MPI_Comm comm)
{
    const int peers = peers_in(comm), each = fp_few_size_count * PER_SIZE;
    fp_message_t *out = malloc((size_t) (peers * each) * sizeof(*out));
    fp_message_t *in = malloc((size_t) (peers * each) * sizeof(*in));

    for (int i = 0; i < each; i++) {
        for (int peer = 0; peer < peers; peer++) {
            fp_isend(&out[i * peers + peer], &fp_modes[i % 2], fp_few_sizes[i / PER_SIZE], peer, TAG, i,
                     comm);
        }
    }
    for (int i = 0; i < each; i++) {
        for (int peer = 0; peer < peers; peer++) {
            fp_irecv(&in[i * peers + peer], fp_few_sizes[i / PER_SIZE], peer, TAG, i, comm);
        }
    }
    for (int i = 0; i < each * peers; i++) {
        fp_wait_recv(&in[i]);
        fp_wait_send(&out[i]);
    }
    free(in);
    free(out);
    settle();
}

/* A buffered send is complete whether or not the receiver is there. */
static void buffered(MPI_Comm comm)
{
    int rank, size;

    FP(MPI_Comm_rank(comm, &rank));
    FP(MPI_Comm_size(comm, &size));
    for (int i = 0; i < fp_few_size_count && fp_few_sizes[i] < ROOM / 2; i++) {
        fp_send(&fp_modes[FP_BUFFERED], fp_few_sizes[i], (rank + 1) % size, TAG, i, comm);
        fp_recv(fp_few_sizes[i], (rank + size - 1) % size, TAG, i, comm);
    }
}

/* The first thing that happens on a communicator is a send that is taken back. */
static void cancelled(MPI_Comm comm, size_t length)
{
    void *buffer = fp_alloc(length);
    int rank, size, flag;
    MPI_Request request;

    FP(MPI_Comm_rank(comm, &rank));
    FP(MPI_Comm_size(comm, &size));
    FP(MPI_Isend(buffer, (int) length, MPI_BYTE, (rank + 1) % size, TAG, comm, &request));
    CHECK(fp_cancel(&request));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    FP(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    FP(MPI_Barrier(MPI_COMM_WORLD)); /* before somebody sends something else on it */
    fp_free(buffer);
}

/* The receiver has freed the communicator when the message comes, or when it is taken back. */
static void cancelled_late(void)
{
    MPI_Group group = group_of(0, 1, false);
    unsigned char byte = 1;
    MPI_Request request;

    for (int i = 0; i < 2 * ROUNDS; i++) {
        MPI_Comm comm = comm_of(group, "late", i);

        if (0 == fp_rank % 2) {
            if (0 == i % 2) {
                fp_await((fp_rank + 1) % fp_size, MPI_COMM_WORLD);
            }
            FP(MPI_Isend(&byte, 1, MPI_BYTE, (fp_rank + 1) % fp_size, TAG, comm, &request));
            if (1 == i % 2) {
                fp_signal((fp_rank + 1) % fp_size, MPI_COMM_WORLD);
                fp_await((fp_rank + 1) % fp_size, MPI_COMM_WORLD);
            }
            CHECK(fp_cancel(&request));
            FP(MPI_Comm_free(&comm));
        } else {
            if (1 == i % 2) {
                fp_await(fp_rank - 1, MPI_COMM_WORLD);
            }
            FP(MPI_Comm_free(&comm));
            fp_signal(fp_rank - 1, MPI_COMM_WORLD);
        }
        settle();
    }
    FP(MPI_Group_free(&group));
}

/* What others do not have, so that the next communicator has another number here. */
static void make_some(MPI_Comm *comms, int count)
{
    MPI_Group mine = group_of(fp_rank, fp_size, false);

    for (int i = 0; i < count; i++) {
        char what[32];

        snprintf(what, sizeof(what), "own of %d", fp_rank);
        comms[i] = comm_of(mine, what, made++);
    }
    FP(MPI_Group_free(&mine));
}

static void free_all(MPI_Comm *comms, int count)
{
    for (int i = 0; i < count; i++) {
        FP(MPI_Comm_free(&comms[i]));
    }
}

static void intercommunicators(void)
{
    MPI_Group mine = group_of(fp_rank % 2, 2, false), theirs = group_of(1 - fp_rank % 2, 2, false);
    MPI_Comm inter = MPI_COMM_NULL, merged;

    FP(MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "inter", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                        &inter));
    exchange(inter);
    FP(MPI_Intercomm_merge(inter, fp_rank % 2, &merged));
    exchange(merged);
    FP(MPI_Comm_free(&merged));
    FP(MPI_Comm_free(&inter));
    FP(MPI_Group_free(&theirs));
    FP(MPI_Group_free(&mine));
}

static void children(MPI_Group group)
{
    MPI_Comm comm = comm_of(group, "parent", 0), copy, part;

    FP(MPI_Comm_dup(comm, &copy));
    FP(MPI_Comm_split(comm, fp_rank % 2, -fp_rank, &part));
    FP(MPI_Comm_free(&comm));
    exchange(copy);
    exchange(part);
    free_all(&copy, 1);
    free_all(&part, 1);
}

int main(int argc, char **argv)
{
    static char room[ROOM];
    MPI_Comm own[8], comm;
    MPI_Group all, back;
    void *detached;
    int detached_size;

    fp_init(&argc, &argv, 2);
    const bool can_cancel = 2 > argc || 0 != strcmp("stock", argv[1]); /* ob1 does not cancel sends */
    fp_case("start");
    FP(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    FP(MPI_Buffer_attach(room, sizeof(room)));
    all = group_of(0, 1, false);
    back = group_of(0, 1, true);
    for (int round = 0; round < ROUNDS; round++) {
        fp_case("round %d", round);
        make_some(own, fp_rank % 8);
        comm = comm_of(all, "all", round);
        exchange(comm);
        free_all(own, fp_rank % 8);
        exchange(comm);
        FP(MPI_Comm_free(&comm));
        comm = comm_of(back, "back", round);
        buffered(comm);
        exchange(comm);
        FP(MPI_Comm_free(&comm));
    }
    for (int i = 0; can_cancel && i < fp_few_size_count; i++) {
        fp_case("cancel %zu bytes", fp_few_sizes[i]);
        comm = comm_of(all, "cancel", i);
        cancelled(comm, fp_few_sizes[i]);
        exchange(comm);
        FP(MPI_Comm_free(&comm));
    }
    if (can_cancel && 0 == fp_size % 2) {
        fp_case("cancel after the end");
        cancelled_late();
    }
    fp_case("children");
    children(back);
    fp_case("intercommunicators");
    intercommunicators();
    fp_case("end");
    FP(MPI_Group_free(&back));
    FP(MPI_Group_free(&all));
    FP(MPI_Buffer_detach(&detached, &detached_size));
    FP(MPI_Session_finalize(&session));
    return fp_finish();
}
