/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Rank 1 is outside MPI while there are more messages for it than buffers.  It goes on only when rank 2 has
 * got one, too: so rank 1's must not hold that one up, whatever protocols both take. */

#include "support/fp_test.h"

#include <signal.h>
#include <unistd.h>

enum { SENDER, BUSY, READER, RANKS };
enum { TAG = 77, ELEMENT = 16, DISTANCE = 24, BUSY_BYTES = 8 << 20 };

/* What there is for rank 1: lengths in bytes. */
static const size_t busy_lengths[] = {992, 8000, 40000, 200000, 1 << 20};
enum { BUSY_LENGTHS = sizeof(busy_lengths) / sizeof(busy_lengths[0]) };
/* And for rank 2. */
static const size_t reader_lengths[] = {8, 992, 8000, 40000, 200000, 1 << 20};
enum { READER_LENGTHS = sizeof(reader_lengths) / sizeof(reader_lengths[0]) };

static pid_t busy_pid;

/* Data with gaps, or without. */
static MPI_Datatype type_of(size_t length, bool gaps)
{
    MPI_Datatype type;

    if (gaps) {
        FP(MPI_Type_vector((int) (length / ELEMENT), ELEMENT, DISTANCE, MPI_BYTE, &type));
    } else {
        FP(MPI_Type_contiguous((int) length, MPI_BYTE, &type));
    }
    FP(MPI_Type_commit(&type));
    return type;
}

/* Whether the data of a message is the same. */
static bool is_equal(const char *got, const char *data, size_t length, bool gaps)
{
    const size_t step = gaps ? ELEMENT : length;

    for (size_t i = 0; i < length / step; i++) {
        const size_t at = i * (gaps ? DISTANCE : length);

        if (0 != memcmp(got + at, data + at, step)) {
            return false;
        }
    }
    return true;
}

/* Many messages from rank 0 to rank 1, and one to rank 2. */
static void run(size_t busy_length, bool busy_gaps, size_t reader_length, bool reader_gaps)
{
    const int many = (int) (BUSY_BYTES / busy_length) < 1500 ? (int) (BUSY_BYTES / busy_length) : 1500;
    const size_t busy_room = busy_length * DISTANCE / ELEMENT,
                 reader_room = reader_length * DISTANCE / ELEMENT;
    MPI_Datatype busy_type = type_of(busy_length, busy_gaps), type = type_of(reader_length, reader_gaps);
    MPI_Request *requests = calloc((size_t) many, sizeof(requests[0]));
    char *data = fp_alloc_filled(busy_room > reader_room ? busy_room : reader_room, fp_key(0, 0, TAG, 0));
    char *got = BUSY == fp_rank ? calloc((size_t) many, busy_room) : calloc(1, reader_room);

    fp_case("%d messages of %zu bytes%s, one of %zu%s", many, busy_length, busy_gaps ? " with gaps" : "",
            reader_length, reader_gaps ? " with gaps" : "");
    if (BUSY == fp_rank) {
        for (int i = 0; i < many; i++) {
            FP(MPI_Irecv(got + (size_t) i * busy_room, 1, busy_type, SENDER, TAG, MPI_COMM_WORLD,
                         &requests[i]));
        }
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    if (SENDER == fp_rank) {
        for (int i = 0; i < many; i++) {
            FP(MPI_Isend(data, 1, busy_type, BUSY, TAG, MPI_COMM_WORLD, &requests[i]));
        }
        fp_signal(BUSY, MPI_COMM_WORLD);
        fp_sleep_ms(2);
        FP(MPI_Send(data, 1, type, READER, TAG, MPI_COMM_WORLD));
        FP(MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
    } else if (BUSY == fp_rank) {
        fp_await(SENDER, MPI_COMM_WORLD);
        CHECK(fp_stay_outside()); /* else rank 2's message has not come */
        FP(MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
        CHECK(is_equal(got + (size_t) (many - 1) * busy_room, data, busy_length, busy_gaps));
    } else if (READER == fp_rank) {
        FP(MPI_Recv(got, 1, type, SENDER, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        kill(busy_pid, SIGUSR1);
        CHECK(is_equal(got, data, reader_length, reader_gaps));
    }
    free(got);
    fp_free(data);
    free(requests);
    FP(MPI_Type_free(&busy_type));
    FP(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    fp_outside_init();
    fp_init(&argc, &argv, RANKS);
    busy_pid = getpid();
    FP(MPI_Bcast(&busy_pid, (int) sizeof(busy_pid), MPI_BYTE, BUSY, MPI_COMM_WORLD));
    for (int busy = 0; busy < 2 * BUSY_LENGTHS; busy++) {
        for (int reader = 0; reader < 2 * READER_LENGTHS; reader++) {
            run(busy_lengths[busy / 2], 0 != busy % 2, reader_lengths[reader / 2],
                0 != reader % 2 && ELEMENT <= reader_lengths[reader / 2]);
        }
    }
    return fp_finish();
}
