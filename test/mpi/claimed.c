/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A process whose long sends are under way waits for something else: their receivers may leave it a part of
 * them while it does.  Whatever its receivers count on is done when that call returns, so afterwards it stays
 * outside MPI until the messages have been received.  With "exact" there has to be a message that was left to
 * it; with "together" it does not stay outside, where the receivers cannot read alone. */

#include "support/fp_counters.h"

#include <signal.h>
#include <unistd.h>

enum { TAG = 83, SHORT_TAG, ROUNDS = 60, LONGS = 3, MOST = 4, PATIENCE = 20000 /* milliseconds */ };

static const size_t lengths[] = {300001, 1 << 20, (4 << 20) + 3};

static const char *const names[] = {"pml_fastpath_messages_helped", "pml_fastpath_messages_streamed"};
enum { HELPED, STREAMED, COUNTERS };

static bool exact, together;
static pid_t pids[MOST];

typedef enum { RECV, ANY, WAIT, WAITALL, WAITANY, WAITSOME, PROBE, MPROBE, SENDRECV, BARRIER, WAYS } way_t;
static const char *const way_names[WAYS] = {"MPI_Recv",     "MPI_Recv from anybody",
                                            "MPI_Wait",     "MPI_Waitall",
                                            "MPI_Waitany",  "MPI_Waitsome",
                                            "MPI_Probe",    "MPI_Mprobe",
                                            "MPI_Sendrecv", "MPI_Barrier"};

static size_t length_of(int i)
{
    return lengths[i % (int) (sizeof(lengths) / sizeof(lengths[0]))];
}

static unsigned long both(void)
{
    return fp_counter(HELPED) + fp_counter(STREAMED);
}

/* What rank 0 waits for while its long sends are under way; MPI_Sendrecv is called by both. */
static void wait_so(way_t way)
{
    MPI_Request requests[2];
    int indices[1], count;
    MPI_Message message;

    switch (way) {
    case RECV:
        FP(MPI_Recv(NULL, 0, MPI_BYTE, 1, SHORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case ANY:
        FP(MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, SHORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case WAIT:
        FP(MPI_Irecv(NULL, 0, MPI_BYTE, 1, SHORT_TAG, MPI_COMM_WORLD, &requests[0]));
        FP(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        break;
    case WAITALL:
        requests[1] = MPI_REQUEST_NULL;
        FP(MPI_Irecv(NULL, 0, MPI_BYTE, 1, SHORT_TAG, MPI_COMM_WORLD, &requests[0]));
        FP(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        break;
    case WAITANY:
        FP(MPI_Irecv(NULL, 0, MPI_BYTE, 1, SHORT_TAG, MPI_COMM_WORLD, &requests[0]));
        FP(MPI_Waitany(1, requests, indices, MPI_STATUS_IGNORE));
        break;
    case WAITSOME:
        FP(MPI_Irecv(NULL, 0, MPI_BYTE, 1, SHORT_TAG, MPI_COMM_WORLD, &requests[0]));
        FP(MPI_Waitsome(1, requests, &count, indices, MPI_STATUSES_IGNORE));
        break;
    case PROBE:
        FP(MPI_Probe(1, SHORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Recv(NULL, 0, MPI_BYTE, 1, SHORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case MPROBE:
        FP(MPI_Mprobe(1, SHORT_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        FP(MPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE));
        break;
    case SENDRECV:
        FP(MPI_Sendrecv(NULL, 0, MPI_BYTE, 1 - fp_rank, SHORT_TAG, NULL, 0, MPI_BYTE, 1 - fp_rank, SHORT_TAG,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    default:
        FP(MPI_Barrier(MPI_COMM_WORLD));
        break;
    }
}

/* Rank 1 ends that wait. */
static void end_wait(way_t way)
{
    switch (way) {
    case SENDRECV:
        wait_so(SENDRECV);
        break;
    case BARRIER:
        FP(MPI_Barrier(MPI_COMM_WORLD));
        break;
    default:
        FP(MPI_Send(NULL, 0, MPI_BYTE, 0, SHORT_TAG, MPI_COMM_WORLD));
        break;
    }
}

/* Some microseconds without a call. */
static void pause_for(size_t us)
{
    const double end = fp_now() + (double) us * 1e-6;

    while (fp_now() < end) {
    }
}

/* The wait ends before, while and after the messages are received. */
static void leaves(way_t way, int round, fp_random_t *random)
{
    const int mode = 0 == round % 4 ? FP_BUFFERED : FP_STANDARD;
    const int count = 1 + round % LONGS;
    fp_message_t longs[LONGS];
    const int before = (int) fp_random_between(random, 0, (size_t) count);
    const size_t us = fp_random_between(random, 0, 150);

    fp_case("%s, round %d", way_names[way], round);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (0 == fp_rank) {
        for (int i = 0; i < count; i++) {
            fp_isend(&longs[i], &fp_modes[mode], length_of(round + i), 1, TAG, i, MPI_COMM_WORLD);
        }
        wait_so(way);
        CHECK(together || fp_stay_outside());
        for (int i = 0; i < count; i++) {
            fp_wait_send(&longs[i]);
        }
    } else {
        for (int i = 0; i < count; i++) {
            if (i == before) {
                end_wait(way);
                pause_for(us);
            }
            fp_recv(length_of(round + i), 0, TAG, i, MPI_COMM_WORLD);
        }
        if (count == before) {
            end_wait(way);
        }
        if (!together) {
            kill(pids[0], SIGUSR1);
        }
    }
}

/* The receiver finds the sender so: that is very likely. */
static void is_found(way_t way, int mode)
{
    int found = 0;

    fp_case("%s, %s", way_names[way], fp_modes[mode].name);
    for (int waited = 0; !found && PATIENCE > waited; waited += 5) {
        const unsigned long before = both();
        fp_message_t message;

        if (0 == fp_rank) {
            fp_isend(&message, &fp_modes[mode], lengths[2], 1, TAG, 0, MPI_COMM_WORLD);
            wait_so(way);
            fp_wait_send(&message);
        } else {
            fp_sleep_ms(5);
            fp_recv(lengths[2], 0, TAG, 0, MPI_COMM_WORLD);
            found = before != both();
            end_wait(way);
        }
        FP(MPI_Bcast(&found, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
    CHECK(found);
}

/* A call has nothing to name: its long send has been answered and is under way, to a receiver with gaps that
 * stays outside MPI. Nor does it leave anything behind: the send after it is not named, because its process
 * is outside MPI, too. */
static void nothing_to_name(int round)
{
    enum { WORDS = 1 << 19 };
    static uint64_t words[2 * WORDS];
    MPI_Datatype gaps;
    MPI_Request request;
    fp_message_t message;

    fp_case("nothing to name, round %d", round);
    FP(MPI_Type_vector(WORDS, 1, 2, MPI_UINT64_T, &gaps));
    FP(MPI_Type_commit(&gaps));
    if (1 == fp_rank) {
        FP(MPI_Irecv(words, 1, gaps, 0, TAG, MPI_COMM_WORLD, &request));
    } else if (0 == fp_rank) {
        FP(MPI_Isend(words, WORDS, MPI_UINT64_T, 1, TAG, MPI_COMM_WORLD, &request));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD)); /* rank 1 makes progress, and asks for the message */
    if (0 == fp_rank) {
        const double end = fp_now() + 0.005;
        int there;

        do {
            FP(MPI_Iprobe(1, SHORT_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
        } while (fp_now() < end);
        FP(MPI_Recv(NULL, 0, MPI_BYTE, 2, SHORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        fp_isend(&message, &fp_modes[FP_STANDARD], lengths[2], 2, TAG, round, MPI_COMM_WORLD);
        CHECK(fp_stay_outside());
        fp_wait_send(&message);
    } else if (1 == fp_rank) {
        CHECK(fp_stay_outside());
    } else if (2 == fp_rank) {
        fp_sleep_ms(10);
        FP(MPI_Send(NULL, 0, MPI_BYTE, 0, SHORT_TAG, MPI_COMM_WORLD));
        fp_sleep_ms(1);
        fp_recv(lengths[2], 0, TAG, round, MPI_COMM_WORLD);
        kill(pids[0], SIGUSR1);
        kill(pids[1], SIGUSR1);
    }
    if (2 > fp_rank) {
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    FP(MPI_Type_free(&gaps));
}

/* Everybody sends to everybody, and receives from one after the other. */
static void everybody(int round)
{
    fp_message_t out[MOST];

    fp_case("everybody, round %d", round);
    for (int i = 1; i < fp_size; i++) {
        fp_isend(&out[i], &fp_modes[FP_STANDARD], length_of(round + i), (fp_rank + i) % fp_size, TAG, round,
                 MPI_COMM_WORLD);
    }
    for (int i = 1; i < fp_size; i++) {
        fp_recv(length_of(round + i), (fp_rank + fp_size - i) % fp_size, TAG, round, MPI_COMM_WORLD);
    }
    for (int i = 1; i < fp_size; i++) {
        fp_wait_send(&out[i]);
    }
}

/* The sender's request is given back before, or it is cancelled. */
static void given_up(int round)
{
    unsigned char *buffer;
    fp_message_t message;
    int cancelled = 0;

    fp_case("given up, round %d", round);
    if (0 == fp_rank) {
        fp_isend(&message, &fp_modes[FP_STANDARD], lengths[1], 1, TAG, round, MPI_COMM_WORLD);
        buffer = message.buffer;
        if (0 == round % 2) {
            FP(MPI_Request_free(&message.request));
        } else {
            cancelled = fp_cancel(&message.request);
        }
        FP(MPI_Send(&cancelled, 1, MPI_INT, 1, SHORT_TAG, MPI_COMM_WORLD));
        wait_so(RECV);
        fp_free(buffer);
    } else if (1 == fp_rank) {
        FP(MPI_Recv(&cancelled, 1, MPI_INT, 0, SHORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (!cancelled) {
            fp_recv(lengths[1], 0, TAG, round, MPI_COMM_WORLD);
        }
        end_wait(RECV);
    }
}

int main(int argc, char **argv)
{
    const size_t room = 8 * LONGS * (size_t) (5 << 20);
    fp_random_t random = {.state = 20261129};
    void *attached;
    pid_t own;
    int size;

    fp_outside_init();
    fp_init(&argc, &argv, 2);
    exact = 1 < argc && 0 == strcmp("exact", argv[1]);
    together = 1 < argc && 0 == strcmp("together", argv[1]);
    if (exact) {
        fp_counters_open(MPI_THREAD_SINGLE, names, COUNTERS);
    }
    own = getpid();
    FP(MPI_Allgather(&own, (int) sizeof(own), MPI_BYTE, pids, (int) sizeof(own), MPI_BYTE, MPI_COMM_WORLD));
    attached = malloc(room);
    FP(MPI_Buffer_attach(attached, (int) room));
    if (2 == fp_size) {
        for (way_t way = RECV; way < WAYS; way++) {
            if (exact && BARRIER != way) {
                is_found(way, FP_STANDARD);
                is_found(way, FP_BUFFERED);
            }
            for (int round = 0; round < ROUNDS; round++) {
                leaves(way, round, &random);
            }
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        everybody(round);
        given_up(round);
        if (3 <= fp_size && !together && 0 == round % 6) {
            nothing_to_name(round);
        }
    }
    FP(MPI_Buffer_detach(&attached, &size));
    free(attached);
    if (exact) {
        fp_counters_close();
    }
    return fp_finish();
}
