/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_THREAD_MULTIPLE: threads that ping-pong with tags and communicators of
 * their own, share one queue of MPI_ANY_SOURCE receives, probe and match, and
 * free a type that another one receives with.  With an argument only that. */

#include "support/fp_test.h"

#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 200, TAG = 200 };

static MPI_Comm comms[THREADS];

static size_t length_of(int round)
{
    return fp_few_sizes[round % (0 == round % 10 ? fp_few_size_count : 5)];
}

/* Thread i of rank 0 with thread i of rank 1. */
static void ping_pong(int index, MPI_Comm comm, int tag)
{
    for (int round = 0; round < ROUNDS; round++) {
        fp_case("thread %d, round %d", index, round);
        for (int side = 0; side < 2; side++) {
            if (side == fp_rank) {
                fp_send(&fp_modes[round % 2], length_of(round), 1 - fp_rank, tag, round, comm);
            } else {
                fp_recv(length_of(round), 1 - fp_rank, tag, round, comm);
            }
        }
    }
}

static void own_tags(int index)
{
    ping_pong(index, MPI_COMM_WORLD, TAG + index);
}

static void own_communicators(int index)
{
    ping_pong(index, comms[index], TAG);
}

/* All threads of rank 1 send one tag; all of rank 0 take whatever comes.  Each
 * message says what it is, and each must come exactly once. */
static _Atomic int seen[THREADS * ROUNDS];

static void any_source(int index)
{
    enum { WORDS = 12 };
    uint64_t words[WORDS];
    MPI_Status status;

    for (int round = 0; round < ROUNDS; round++) {
        int number = index * ROUNDS + round;

        if (1 == fp_rank) {
            words[0] = (uint64_t) number;
            fp_fill(words + 1, sizeof(words) - 8, (uint64_t) number);
            FP(MPI_Send(words, sizeof(words), MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
        } else if (0 == fp_rank) {
            FP(MPI_Recv(words, sizeof(words), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
            CHECK_STATUS(&status, 1, TAG, sizeof(words));
            if (CHECK(words[0] < THREADS * ROUNDS)) {
                CHECK_INT(atomic_fetch_add(&seen[words[0]], 1), 0);
                CHECK_DATA(words + 1, sizeof(words) - 8, words[0]);
            }
        }
    }
}

/* Matched probes give a message to one thread only; lengths differ. */
static void matched_probes(int index)
{
    for (int round = 0; round < ROUNDS; round++) {
        int number = index * ROUNDS + round;
        size_t length = 8 + 16 * (size_t) (number % 200);

        if (1 == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], length, 0, TAG + number, 0, MPI_COMM_WORLD);
        } else if (0 == fp_rank) {
            MPI_Message message;
            MPI_Status status, got;
            unsigned char *buffer;
            int count;

            FP(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
            FP(MPI_Get_count(&status, MPI_BYTE, &count));
            buffer = fp_alloc((size_t) count);
            FP(MPI_Mrecv(buffer, count, MPI_BYTE, &message, &got));
            number = got.MPI_TAG - TAG;
            CHECK_STATUS(&got, 1, status.MPI_TAG, 8 + 16 * (size_t) (number % 200));
            CHECK_DATA(buffer, (size_t) count, fp_key(1, 0, got.MPI_TAG, 0));
            fp_free(buffer);
        }
    }
}

/* Threads that wait for one another's requests to complete inside the process. */
static void to_oneself(int index)
{
    for (int round = 0; round < ROUNDS; round++) {
        fp_message_t in;
        size_t length = length_of(round);

        fp_irecv(&in, length, fp_rank, TAG + (index + 1) % THREADS, round, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], length, fp_rank, TAG + index, round, MPI_COMM_WORLD);
        fp_wait_recv(&in);
    }
}

/* Single bytes at irregular places, in rising or falling order. */
enum { PLACES = 100 };

static int place_of(int i, bool falls)
{
    const int number = falls ? PLACES - 1 - i : i;

    return 3 * number + number % 2;
}

static MPI_Datatype places_type(bool falls)
{
    int places[PLACES];
    MPI_Datatype type;

    for (int i = 0; i < PLACES; i++) {
        places[i] = place_of(i, falls);
    }
    FP(MPI_Type_create_indexed_block(PLACES, 1, places, MPI_BYTE, &type));
    FP(MPI_Type_commit(&type));
    return type;
}

static void receive_places(_Atomic(MPI_Datatype) *shared, int tag, int round)
{
    unsigned char *buffer = fp_alloc(3 * PLACES + 1), data[PLACES];
    MPI_Datatype type = places_type(false);

    atomic_store(shared, type);
    FP(MPI_Recv(buffer, 1, type, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < PLACES; i++) {
        data[i] = buffer[place_of(i, false)];
    }
    CHECK_DATA(data, PLACES, fp_key(1, 0, tag, round));
    fp_free(buffer);
}

enum { MOMENT = 20 /* milliseconds, until a receive has begun */ };

/* Another type lies where it was, if nothing keeps it. */
static void free_received(_Atomic(MPI_Datatype) *shared, int tag, int round)
{
    MPI_Datatype type, other;

    while (NULL == (type = atomic_exchange(shared, NULL))) {
        sched_yield();
    }
    fp_sleep_ms(MOMENT);
    FP(MPI_Type_free(&type));
    other = places_type(true);
    fp_send(&fp_modes[FP_STANDARD], 0, 1, tag, round, MPI_COMM_WORLD);
    FP(MPI_Type_free(&other));
}

/* A type that a thread receives with is freed by the next one before the message is sent. Nothing but time
 * says that the receive has begun. */
static void freed_types(int index)
{
    enum { TYPES = 10 };
    static _Atomic(MPI_Datatype) types[THREADS];
    const int pair = index & ~1, tag = TAG + pair, free_tag = TAG + THREADS + pair;

    for (int round = 0; round < TYPES; round++) {
        if (0 == fp_rank && pair == index) {
            receive_places(&types[pair], tag, round);
        } else if (0 == fp_rank) {
            free_received(&types[pair], free_tag, round);
        } else if (pair == index) {
            fp_recv(0, 0, free_tag, round, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], PLACES, 0, tag, round, MPI_COMM_WORLD);
        }
    }
}

enum { FREED = 6 };
static MPI_Comm freed[THREADS][FREED]; /* of a pair's first thread each */

static void receive_freed(MPI_Comm comm, int tag, int round)
{
    unsigned char buffer[PLACES];
    MPI_Message message;

    if (0 == round % 2) {
        FP(MPI_Recv(buffer, PLACES, MPI_BYTE, 1, tag, comm, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Mprobe(1, tag, comm, &message, MPI_STATUS_IGNORE));
        FP(MPI_Mrecv(buffer, PLACES, MPI_BYTE, &message, MPI_STATUS_IGNORE));
    }
    CHECK_DATA(buffer, PLACES, fp_key(1, 0, tag, round));
}

/* The same with the communicator. */
static void freed_communicators(int index)
{
    static _Atomic int begun[THREADS];
    const int pair = index & ~1, tag = TAG + pair, free_tag = TAG + THREADS + pair;

    for (int round = 0; round < FREED; round++) {
        MPI_Comm comm = freed[pair][round];

        if (0 == fp_rank && pair == index) {
            atomic_store(&begun[pair], round + 1);
            receive_freed(comm, tag, round);
        } else if (0 == fp_rank) {
            while (round == atomic_load(&begun[pair])) {
                sched_yield();
            }
            fp_sleep_ms(MOMENT);
            FP(MPI_Comm_free(&comm));
            fp_send(&fp_modes[FP_STANDARD], 0, 1, free_tag, round, MPI_COMM_WORLD);
        } else if (pair == index) {
            fp_recv(0, 0, free_tag, round, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], PLACES, 0, tag, round, comm);
            FP(MPI_Comm_free(&comm));
        }
    }
}

/* What freed_communicators frees. */
static void make_freed(void)
{
    for (int pair = 0; pair < THREADS; pair += 2) {
        for (int round = 0; round < FREED; round++) {
            FP(MPI_Comm_dup(MPI_COMM_WORLD, &freed[pair][round]));
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*body)(int index);
    } cases[] = {{"own tags", own_tags},
                 {"own communicators", own_communicators},
                 {"any source", any_source},
                 {"matched probes", matched_probes},
                 {"to oneself", to_oneself},
                 {"freed types", freed_types},
                 {"freed communicators", freed_communicators}};
    const size_t count = sizeof(cases) / sizeof(cases[0]);

    if (MPI_THREAD_MULTIPLE > fp_init_thread(&argc, &argv, 2, MPI_THREAD_MULTIPLE)) {
        fp_skip("no MPI_THREAD_MULTIPLE");
    }
    for (int i = 0; i < THREADS; i++) {
        FP(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    }
    make_freed();
    for (size_t c = 1 < argc ? count - 2 : 0; c < count && 1 >= fp_rank; c++) {
        fp_case("%s", cases[c].name);
        fp_run_threads(THREADS, cases[c].body);
        /* Wildcards of the next case must not take messages of this one. */
        (0 == fp_rank) ? fp_await(1, MPI_COMM_WORLD) : fp_signal(0, MPI_COMM_WORLD);
        (1 == fp_rank) ? fp_await(0, MPI_COMM_WORLD) : fp_signal(1, MPI_COMM_WORLD);
    }
    for (int i = 0; i < THREADS; i++) {
        FP(MPI_Comm_free(&comms[i]));
    }
    return fp_finish();
}
