/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Flow control neither blocks a legal program nor loses credit.  The limit is
 * set low on the command line (testlist).  After each way to get rid of a
 * message, many times over the limit, a short message still leaves at once:
 * without credit it would wait for its receive, which waits for it. */

#include "support/fp_counters.h"

enum { TAG = 95, LENGTH = 1000, MANY = 400, SPREAD = 20 };

static void start_many(fp_message_t *messages, int count, int dst, MPI_Comm comm)
{
    for (int i = 0; i < count; i++) {
        fp_isend(&messages[i], &fp_modes[FP_STANDARD], LENGTH, dst, TAG, i, comm);
    }
}

static void finish_many(fp_message_t *messages, int count)
{
    for (int i = 0; i < count; i++) {
        fp_wait_send(&messages[i]);
    }
}

static void receive_many(int count, int src, MPI_Comm comm)
{
    for (int i = 0; i < count; i++) {
        fp_recv(LENGTH, src, TAG, i, comm);
    }
}

/* ------------------------------------------------------ nobody waits for ever */

/* Everybody sends to everybody, far over the limit, before anybody receives; then in the opposite order. */
static void all_pairs(void)
{
    fp_message_t *messages = malloc((size_t) fp_size * MANY * sizeof(*messages));

    for (int peer = 0; peer < fp_size; peer++) {
        start_many(messages + (size_t) peer * MANY, MANY, peer, MPI_COMM_WORLD);
    }
    for (int peer = fp_size - 1; peer >= 0; peer--) {
        receive_many(MANY, peer, MPI_COMM_WORLD);
    }
    finish_many(messages, fp_size * MANY);
    free(messages);
}

/* What waits on one communicator does not keep blocking sends from getting through on another one, whose
 * receives have wildcards. */
static void other_communicator(MPI_Comm other)
{
    fp_message_t messages[MANY];
    MPI_Status status;
    int word = 0;

    if (0 == fp_rank) {
        start_many(messages, MANY, 1, other);
        for (int i = 0; i < MANY; i++) {
            FP(MPI_Send(&i, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        }
        finish_many(messages, MANY);
    } else if (1 == fp_rank) {
        for (int i = 0; i < MANY; i++) {
            FP(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            CHECK_INT(word, i);
        }
        receive_many(MANY, 0, other);
    }
}

/* Matched probes have taken all that came, and more is sent, before the first of them is received. */
static void held_messages(MPI_Comm comm)
{
    fp_message_t messages[2 * MANY];
    MPI_Message held[MANY];

    if (0 == fp_rank) {
        start_many(messages, 2 * MANY, 1, comm);
        finish_many(messages, 2 * MANY);
    } else if (1 == fp_rank) {
        for (int i = 0; i < MANY; i++) {
            FP(MPI_Mprobe(0, TAG, comm, &held[i], MPI_STATUS_IGNORE));
        }
        for (int i = MANY; i < 2 * MANY; i++) {
            fp_recv(LENGTH, 0, TAG, i, comm);
        }
        for (int i = MANY - 1; i >= 0; i--) {
            void *buffer = fp_alloc(LENGTH);

            FP(MPI_Mrecv(buffer, LENGTH, MPI_BYTE, &held[i], MPI_STATUS_IGNORE));
            CHECK_DATA(buffer, LENGTH, fp_key(0, 1, TAG, i));
            fp_free(buffer);
        }
    }
}

/* Buffered sends without data go on credit that is not there. So a receiver may have more to give back at a
 * time than the limit: what it has just not given back yet, and a message that has used up the limit. */
static void overdrawn(void)
{
    enum { LIMIT = 4096, COST = 160, EMPTY = 3, ROUNDS = 20, BYTES = LIMIT - COST - COST / 2 };
    static char message[BYTES], attached[EMPTY * MPI_BSEND_OVERHEAD];
    MPI_Request request;
    void *detached;
    int size;

    for (int round = 0; round < ROUNDS && 1 >= fp_rank; round++) {
        if (0 == fp_rank) {
            FP(MPI_Buffer_attach(attached, sizeof(attached)));
            FP(MPI_Isend(message, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
            for (int i = 0; i < EMPTY; i++) {
                FP(MPI_Bsend(NULL, 0, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD));
            }
            FP(MPI_Buffer_detach(&detached, &size));
            FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
            FP(MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            for (int i = 0; i < EMPTY; i++) {
                FP(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            }
            FP(MPI_Recv(message, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            FP(MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
        }
    }
}

/* ------------------------------------------- ways to get rid of some messages */

static void send_some(MPI_Comm comm)
{
    fp_message_t messages[SPREAD];

    start_many(messages, SPREAD, 1, comm);
    finish_many(messages, SPREAD);
}

static void received(MPI_Comm comm)
{
    if (0 == fp_rank) {
        send_some(comm);
    } else if (1 == fp_rank) {
        receive_many(SPREAD, 0, comm);
    }
}

/* On a communicator that lives no longer than they. */
static void on_freed(MPI_Comm comm)
{
    MPI_Comm mine;

    FP(MPI_Comm_dup(comm, &mine));
    received(mine);
    FP(MPI_Comm_free(&mine));
}

static void cancelled(MPI_Comm comm)
{
    fp_message_t messages[SPREAD];

    if (0 == fp_rank) {
        start_many(messages, SPREAD, 1, comm);
        for (int i = 0; i < SPREAD; i++) {
            CHECK(fp_cancel(&messages[i].request));
            fp_free(messages[i].buffer);
        }
        fp_signal(1, comm);
    } else if (1 == fp_rank) {
        fp_await(0, comm);
    }
}

/* The receiver frees the communicator before the messages come, or before it has received them. */
static void cancelled_on_freed(MPI_Comm comm, bool come_before)
{
    fp_message_t messages[SPREAD];
    MPI_Comm mine;

    FP(MPI_Comm_dup(comm, &mine));
    if (0 == fp_rank) {
        if (come_before) {
            start_many(messages, SPREAD, 1, mine);
            fp_signal(1, comm);
        }
        fp_await(1, comm);
        if (!come_before) {
            start_many(messages, SPREAD, 1, mine);
        }
        for (int i = 0; i < SPREAD; i++) {
            CHECK(fp_cancel(&messages[i].request));
            fp_free(messages[i].buffer);
        }
        FP(MPI_Comm_free(&mine));
    } else {
        if (1 == fp_rank && come_before) {
            fp_await(0, comm);
        }
        FP(MPI_Comm_free(&mine));
        if (1 == fp_rank) {
            fp_signal(0, comm);
        }
    }
}

static void cancelled_late(MPI_Comm comm)
{
    cancelled_on_freed(comm, false);
}

static void cancelled_early(MPI_Comm comm)
{
    cancelled_on_freed(comm, true);
}

static void truncated(MPI_Comm comm)
{
    if (0 == fp_rank) {
        send_some(comm);
    } else if (1 == fp_rank) {
        for (int i = 0; i < SPREAD; i++) {
            void *buffer = fp_alloc(LENGTH / 2);

            FP_ERROR(MPI_ERR_TRUNCATE,
                     MPI_Recv(buffer, LENGTH / 2, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
            fp_free(buffer);
        }
    }
}

static void probed(MPI_Comm comm)
{
    if (0 == fp_rank) {
        send_some(comm);
    } else if (1 == fp_rank) {
        for (int i = 0; i < SPREAD; i++) {
            void *buffer = fp_alloc(LENGTH);
            MPI_Request request;
            MPI_Message message;

            FP(MPI_Mprobe(MPI_ANY_SOURCE, TAG, comm, &message, MPI_STATUS_IGNORE));
            FP(MPI_Imrecv(buffer, LENGTH, MPI_BYTE, &message, &request));
            FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_DATA(buffer, LENGTH, fp_key(0, 1, TAG, i));
            fp_free(buffer);
        }
    }
}

/* In both directions; the credit of either comes back on its own. */
static void crossing(MPI_Comm comm)
{
    fp_message_t messages[SPREAD];

    if (1 >= fp_rank) {
        start_many(messages, SPREAD, 1 - fp_rank, comm);
        receive_many(SPREAD, 1 - fp_rank, comm);
        finish_many(messages, SPREAD);
    }
}

/* A short message leaves though nobody receives it: its sender says so before its receiver looks. */
static void check_credit(MPI_Comm comm)
{
    char byte = 'a';

    if (0 == fp_rank) {
        FP(MPI_Send(&byte, 1, MPI_BYTE, 1, TAG, comm));
        fp_signal(1, MPI_COMM_WORLD);
    } else if (1 == fp_rank) {
        fp_await(0, MPI_COMM_WORLD);
        FP(MPI_Recv(&byte, 1, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
        CHECK('a' == byte);
    }
}

/* Each start of a persistent send takes credit: while its receiver is outside MPI not all of them can leave.
 */
static void restarted(void)
{
    static char message[LENGTH];
    static fp_away_t away;
    MPI_Request request;
    int flag = 0, started = 0;

    if (0 == fp_rank) {
        FP(MPI_Send_init(message, LENGTH, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    }
    fp_leave(&away, 1, TAG + 2);
    if (0 == fp_rank) {
        do {
            FP(MPI_Start(&request));
            for (int tries = 0; tries < 100; tries++) {
                FP(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
                if (flag) {
                    break;
                }
                fp_sleep_ms(1);
            }
        } while (++started < MANY && flag);
        CHECK(!flag);
        fp_come_back(&away);
        for (FP(MPI_Wait(&request, MPI_STATUS_IGNORE)); started < MANY; started++) {
            FP(MPI_Start(&request));
            FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        FP(MPI_Request_free(&request));
    }
    for (int i = 0; 1 == fp_rank && i < MANY; i++) {
        FP(MPI_Recv(message, LENGTH, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*some)(MPI_Comm comm);
    } ways[] = {{"received", received},
                {"on a freed communicator", on_freed},
                {"cancelled", cancelled},
                {"cancelled on a communicator freed before they came", cancelled_late},
                {"cancelled on a communicator freed after they came", cancelled_early},
                {"truncated", truncated},
                {"matched by probes", probed},
                {"crossing", crossing}};
    MPI_Comm other;

    fp_init(&argc, &argv, 2);
    fp_case("overdrawn");
    overdrawn();
    fp_case("persistent");
    restarted();
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    fp_case("all pairs");
    all_pairs();
    fp_case("other communicator");
    other_communicator(other);
    fp_case("held messages");
    held_messages(other);
    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
        for (int i = 0; i < MANY / SPREAD; i++) {
            fp_case("%s, round %d", ways[w].name, i);
            ways[w].some(other);
        }
        fp_case("credit after %s", ways[w].name);
        check_credit(other);
    }
    FP(MPI_Comm_free(&other));
    return fp_finish();
}
