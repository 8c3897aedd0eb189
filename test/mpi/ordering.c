/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Order: 10 000 messages of one tag between two ranks, of mixed sizes, modes and
 * ways to send, so that every protocol overtakes every other if it can; and more
 * messages than a 16-bit sequence number can count, twice over. */

#include "support/fp_test.h"

enum { TAG = 111, COUNT = 10000, WINDOW = 64, LONGEST = 300000 };

/* Mostly small, now and then anything: the same on both sides. */
static size_t length_of(fp_random_t *generator)
{
    static const size_t highest[] = {0, 40, 60, 250, 1000, 4200, 9000, 33000, 66000, LONGEST};
    size_t kind = fp_random_between(generator, 0, 99);

    return fp_random_between(generator, 0, highest[(kind < 90) ? kind % 6 : kind % 10]);
}

static void sender(int to, fp_random_t *lengths, fp_random_t *choices)
{
    fp_message_t window[WINDOW];
    bool used[WINDOW] = {false};

    for (int i = 0; i < COUNT; i++) {
        size_t length = length_of(lengths);
        int slot = i % WINDOW;

        if (used[slot]) {
            fp_wait_send(&window[slot]);
            used[slot] = false;
        }
        if (0 == fp_random_between(choices, 0, 2)) {
            fp_send(&fp_modes[FP_STANDARD], length, to, TAG, i, MPI_COMM_WORLD);
        } else {
            int mode = (0 == fp_random_between(choices, 0, 9)) ? FP_SYNCHRONOUS : FP_STANDARD;

            fp_isend(&window[slot], &fp_modes[mode], length, to, TAG, i, MPI_COMM_WORLD);
            used[slot] = true;
        }
    }
    for (int i = 0; i < WINDOW; i++) {
        if (used[i]) {
            fp_wait_send(&window[i]);
        }
    }
}

/* Receives are posted up to WINDOW ahead; now and then the sender gets ahead. */
static void receiver(int from, fp_random_t *lengths, fp_random_t *choices)
{
    fp_message_t window[WINDOW];
    int posted = 0, waited = 0;

    while (waited < COUNT) {
        int ahead = (int) fp_random_between(choices, 0, WINDOW);

        while (posted < COUNT && posted - waited < ahead) {
            fp_irecv(&window[posted % WINDOW], length_of(lengths), from, TAG, posted, MPI_COMM_WORLD);
            posted++;
        }
        for (int n = (int) fp_random_between(choices, 1, WINDOW); 0 < n && waited < posted; n--) {
            fp_wait_recv(&window[waited % WINDOW]);
            waited++;
        }
    }
}

static void stream(int from, int to, uint64_t seed)
{
    fp_random_t lengths = {seed}, choices = {seed + 1 + (uint64_t) fp_rank};

    if (fp_rank == from) {
        sender(to, &lengths, &choices);
    } else if (fp_rank == to) {
        receiver(from, &lengths, &choices);
    }
}

/* Each message is its own number. */
static void wrap_around(int from, int to)
{
    enum { MESSAGES = 140000, AHEAD = 500 };
    int number = -1;

    for (int i = 0; i < MESSAGES; i++) {
        if (fp_rank == from) {
            FP(MPI_Send(&i, 1, MPI_INT, to, TAG, MPI_COMM_WORLD));
        } else if (fp_rank == to) {
            FP(MPI_Recv(&number, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_INT(number, i);
        }
        if (0 == i % AHEAD && fp_rank == from) { /* bounds what waits unexpected */
            fp_await(to, MPI_COMM_WORLD);
        } else if (0 == i % AHEAD && fp_rank == to) {
            fp_signal(from, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    fp_case("0 to 1");
    stream(0, 1, 1);
    fp_case("1 to 0");
    stream(1, 0, 2);
    fp_case("more messages than sequence numbers");
    wrap_around(0, 1);
    return fp_finish();
}
