/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Blocking receives while other things are going on: earlier receives and
 * messages on either side, other communicators, Open MPI's own traffic, and
 * traffic that has to move although the receive waits for somebody else.
 * Rank 1 receives. */

#include "support/fp_test.h"

enum { TAG = 5, OTHER = 6, LONG = 3 << 20, ROUNDS = 300, STREAM = 5000 };

static const size_t lengths[] = {0, 1, 8, 39, 40, 41, 100, 220, 579, 580, 581, 1000, 4000, 4080, 4081, 70000};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static void recv_any(size_t length, int src, int tag, int from, int real_tag, int sequence, MPI_Comm comm)
{
    unsigned char *block = fp_alloc(length);
    MPI_Status status;

    FP(MPI_Recv(block, (int) length, MPI_BYTE, src, tag, comm, &status));
    CHECK_STATUS(&status, from, real_tag, length);
    CHECK_DATA(block, length, fp_key(from, fp_rank, real_tag, sequence));
    fp_free(block);
}

/* All lengths, also into larger buffers, by all kinds of names. */
static void plain(MPI_Comm comm)
{
    for (int i = 0; i < ROUNDS; i++) {
        size_t length = lengths[i % LENGTHS];

        fp_case("plain, %zu bytes", length);
        if (0 == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, i, comm);
        } else if (1 == fp_rank) {
            recv_any(length, 0 == i % 2 ? 0 : MPI_ANY_SOURCE, 0 == i % 3 ? TAG : MPI_ANY_TAG, 0, TAG, i,
                     comm);
        }
    }
}

/* A receive that was posted before takes the message that came before. */
static void posted(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        static const int sources[] = {0, MPI_ANY_SOURCE}, tags[] = {TAG, MPI_ANY_TAG};
        fp_message_t first;

        fp_case("posted before, round %d", i);
        if (0 == fp_rank) {
            if (0 == i % 2) {
                fp_await(1, MPI_COMM_WORLD);
            }
            fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG, 2 * i, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG, 2 * i + 1, MPI_COMM_WORLD);
        } else if (1 == fp_rank) {
            first.buffer = fp_alloc(8);
            FP(MPI_Irecv(first.buffer, 8, MPI_BYTE, sources[i % 2], tags[i / 2 % 2], MPI_COMM_WORLD,
                         &first.request));
            if (0 == i % 2) {
                fp_signal(0, MPI_COMM_WORLD);
            }
            recv_any(8, sources[i / 4 % 2], TAG, 0, TAG, 2 * i + 1, MPI_COMM_WORLD);
            FP(MPI_Wait(&first.request, MPI_STATUS_IGNORE));
            CHECK_DATA(first.buffer, 8, fp_key(0, 1, TAG, 2 * i));
            fp_free(first.buffer);
        }
    }
}

/* Messages that the receive has to leave where they are. */
static void others(MPI_Comm comm)
{
    for (int i = 0; i < ROUNDS; i++) {
        fp_case("behind others, round %d", i);
        if (0 == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], 8, 1, OTHER, i, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], 20, 1, TAG, i, comm);
            fp_send(&fp_modes[FP_STANDARD], 600, 1, TAG, i, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], 5000, 1, TAG, i + 1, MPI_COMM_WORLD);
        } else if (1 == fp_rank) {
            recv_any(600, 0, TAG, 0, TAG, i, MPI_COMM_WORLD);
            recv_any(5000, 0, TAG, 0, TAG, i + 1, MPI_COMM_WORLD);
            recv_any(20, 0 == i % 2 ? 0 : MPI_ANY_SOURCE, MPI_ANY_TAG, 0, TAG, i, comm);
            recv_any(8, 0, 0 == i % 2 ? MPI_ANY_TAG : OTHER, 0, OTHER, i, MPI_COMM_WORLD);
        }
    }
}

/* MPI_ANY_TAG means the program's own messages, not those of collective functions. */
static void collectives(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request;
        int sum = 0, one = 1;

        fp_case("collective under way, round %d", i);
        FP(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        if (0 == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], 16, 1, TAG, i, MPI_COMM_WORLD);
        } else if (1 == fp_rank) {
            recv_any(16, 0 == i % 2 ? 0 : MPI_ANY_SOURCE, MPI_ANY_TAG, 0, TAG, i, MPI_COMM_WORLD);
        }
        FP(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(sum, fp_size);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD)); /* what comes next must not meet the last of these receives */
}

/* Longer than the buffer. (test/mpi/truncate tries lengths at which stock ob1 writes past it.) */
static void truncated(void)
{
    enum { SHORT = 13 };
    MPI_Status status;

    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int i = 0; i < ROUNDS; i++) {
        size_t length = lengths[1 + i % (SHORT - 1)];
        unsigned char *block = fp_alloc(length);

        fp_case("truncated, %zu bytes", length);
        if (0 == fp_rank) {
            fp_send(&fp_modes[FP_STANDARD], length, 1, TAG, i, MPI_COMM_WORLD);
        } else if (1 == fp_rank) {
            FP_ERROR(MPI_ERR_TRUNCATE,
                     MPI_Recv(block, (int) length - 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status));
            CHECK_INT(status.MPI_SOURCE, 0);
            CHECK_POISON(block + length - 1, 1);
        }
        fp_free(block);
    }
    FP(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Every second int on either side, or on both. */
static void vectors(void)
{
    enum { INTS = 300 };
    MPI_Datatype vector;

    for (int i = 0; i < ROUNDS; i++) {
        int count = (int) lengths[i % LENGTHS] % INTS, way = i % 3;
        int from[2 * INTS], to[2 * INTS];

        fp_case("vector of %d ints", count);
        FP(MPI_Type_vector(count, 1, 2, MPI_INT, &vector));
        FP(MPI_Type_commit(&vector));
        for (int k = 0; k < 2 * INTS; k++) {
            from[k] = i + k;
            to[k] = -1;
        }
        if (0 == fp_rank) {
            FP(MPI_Send(from, 0 == way ? count : 1, 0 == way ? MPI_INT : vector, 1, TAG, MPI_COMM_WORLD));
        } else if (1 == fp_rank) {
            MPI_Status status;
            int got;

            FP(MPI_Recv(to, 1 == way ? count : 1, 1 == way ? MPI_INT : vector, 0, TAG, MPI_COMM_WORLD,
                        &status));
            FP(MPI_Get_count(&status, MPI_INT, &got));
            CHECK_INT(got, count);
            for (int k = 0; k < 2 * INTS; k++) {
                int stride_in = 0 == way ? 1 : 2, stride_out = 1 == way ? 1 : 2;
                int want =
                    0 == k % stride_out && k / stride_out < count ? i + k / stride_out * stride_in : -1;

                CHECK_INT(to[k], want);
            }
        }
        FP(MPI_Type_free(&vector));
    }
}

/* Rank 1 waits for rank 0, which waits for rank 2, which waits for rank 1 to take a long message. */
static void others_move_while_waiting(void)
{
    fp_message_t message;

    for (int i = 0; i < 10; i++) {
        fp_case("a long message moves while the receiver waits for another, round %d", i);
        if (0 == fp_rank) {
            fp_await(2, MPI_COMM_WORLD);
            fp_send(&fp_modes[FP_STANDARD], 8, 1, TAG, i, MPI_COMM_WORLD);
        } else if (1 == fp_rank) {
            fp_irecv(&message, LONG, 2, TAG, i, MPI_COMM_WORLD);
            recv_any(8, 0, TAG, 0, TAG, i, MPI_COMM_WORLD);
            fp_wait_recv(&message);
        } else if (2 == fp_rank) {
            fp_send(&fp_modes[FP_SYNCHRONOUS], LONG, 1, TAG, i, MPI_COMM_WORLD);
            fp_signal(0, MPI_COMM_WORLD);
        }
    }
}

/* Rank 0 sends to rank 1 as fast as it can until STOPPER tells it to stop; the last message is not 0. */
static void stream_until_stopped_by(int stopper)
{
    MPI_Request request;
    int last = 0;

    FP(MPI_Irecv(NULL, 0, MPI_BYTE, stopper, OTHER, MPI_COMM_WORLD, &request));
    while (!last) {
        FP(MPI_Test(&request, &last, MPI_STATUS_IGNORE));
        FP(MPI_Send(&last, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
    }
}

/* Until rank 2 has got a long message through to rank 1. */
static void others_move_while_receiving(int src)
{
    int last = 0;

    fp_case("a long message moves while short ones stream%s", 0 > src ? ", from any source" : "");
    if (0 == fp_rank) {
        stream_until_stopped_by(2);
    } else if (1 == fp_rank) {
        fp_message_t message;

        fp_irecv(&message, LONG, 2, OTHER, 0, MPI_COMM_WORLD);
        while (!last) {
            FP(MPI_Recv(&last, 1, MPI_INT, src, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        fp_wait_recv(&message);
    } else if (2 == fp_rank) {
        fp_send(&fp_modes[FP_SYNCHRONOUS], LONG, 1, OTHER, 0, MPI_COMM_WORLD);
        FP(MPI_Send(NULL, 0, MPI_BYTE, 0, OTHER, MPI_COMM_WORLD));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank 0 always has a message waiting; the others are heard nevertheless. */
static void everybody_is_heard(void)
{
    int heard = 0, word;

    fp_case("a stream from one does not hide the others");
    if (0 == fp_rank) {
        stream_until_stopped_by(1);
    } else if (1 == fp_rank) {
        MPI_Status status;

        do {
            FP(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
            heard += 0 != status.MPI_SOURCE;
            if (0 != status.MPI_SOURCE && heard == fp_size - 2) {
                FP(MPI_Send(NULL, 0, MPI_BYTE, 0, OTHER, MPI_COMM_WORLD));
            }
        } while (0 != status.MPI_SOURCE || !word);
        CHECK_INT(heard, fp_size - 2);
    } else {
        FP(MPI_Send(&fp_rank, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* From all, in each one's order. */
static void from_all(void)
{
    fp_case("from all");
    if (1 != fp_rank) {
        for (int i = 0; i < STREAM; i++) {
            FP(MPI_Send(&i, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        }
    } else {
        int *next = calloc((size_t) fp_size, sizeof(*next));

        for (int i = 0; i < STREAM * (fp_size - 1); i++) {
            MPI_Status status;
            int word;

            FP(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0 == i % 2 ? TAG : MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
            CHECK_INT(word, next[status.MPI_SOURCE]);
            ++next[status.MPI_SOURCE];
        }
        free(next);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;

    fp_init(&argc, &argv, 2);
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    plain(MPI_COMM_WORLD);
    plain(comm);
    posted();
    others(comm);
    collectives();
    truncated();
    vectors();
    if (2 < fp_size) {
        others_move_while_waiting();
        others_move_while_receiving(0);
        others_move_while_receiving(MPI_ANY_SOURCE);
        everybody_is_heard();
    }
    from_all();
    FP(MPI_Comm_free(&comm));
    return fp_finish();
}
