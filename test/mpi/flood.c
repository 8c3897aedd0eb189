/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Floods: many senders to one receiver that sleeps, both directions at once
 * without a receive posted, and everybody to everybody; nothing may hang when
 * every queue is full. */

#include "support/fp_test.h"

enum { TAG = 121, BURST = 2000 };

/* Rank 0 sleeps while all the others fill whatever they can fill. */
static void many_to_one(size_t length, int count)
{
    if (0 != fp_rank) {
        for (int i = 0; i < count; i++) {
            fp_send(&fp_modes[FP_STANDARD], length, 0, TAG, i, MPI_COMM_WORLD);
        }
        return;
    }
    fp_sleep_ms(20);
    for (int i = 0; i < count; i++) {
        for (int from = 1; from < fp_size; from++) {
            fp_recv(length, from, TAG, i, MPI_COMM_WORLD);
        }
    }
}

/* All send first and receive then. */
static void everybody_sends_first(size_t length, int count)
{
    fp_message_t *out = calloc((size_t) (count * fp_size), sizeof(*out));

    for (int i = 0; i < count; i++) {
        for (int to = 0; to < fp_size; to++) {
            fp_isend(&out[i * fp_size + to], &fp_modes[FP_STANDARD], length, to, TAG, i, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < count; i++) {
        for (int from = 0; from < fp_size; from++) {
            fp_recv(length, from, TAG, i, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < count * fp_size; i++) {
        fp_wait_send(&out[i]);
    }
    free(out);
}

/* Only ranks 0 and 1, the deepest queues. */
static void both_directions(size_t length, int count)
{
    fp_message_t *out = calloc((size_t) count, sizeof(*out));
    int peer = 1 - fp_rank;

    for (int i = 0; i < count && 1 >= fp_rank; i++) {
        fp_isend(&out[i], &fp_modes[FP_STANDARD], length, peer, TAG, i, MPI_COMM_WORLD);
    }
    for (int i = 0; i < count && 1 >= fp_rank; i++) {
        fp_recv(length, peer, TAG, i, MPI_COMM_WORLD);
        fp_wait_send(&out[i]);
    }
    free(out);
}

/* Receives posted for all, so that what arrives is drained while sends are refused. */
static void preposted(size_t length, int count)
{
    fp_message_t *in = calloc((size_t) (count * fp_size), sizeof(*in));

    for (int i = 0; i < count; i++) {
        for (int from = 0; from < fp_size; from++) {
            fp_irecv(&in[i * fp_size + from], length, from, TAG, i, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < count; i++) {
        for (int to = 0; to < fp_size; to++) {
            fp_send(&fp_modes[FP_STANDARD], length, to, TAG, i, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < count * fp_size; i++) {
        fp_wait_recv(&in[i]);
    }
    free(in);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(size_t length, int count);
    } cases[] = {{"many to one", many_to_one},
                 {"everybody sends first", everybody_sends_first},
                 {"both directions", both_directions},
                 {"preposted", preposted}};

    fp_init(&argc, &argv, 2);
    for (int i = 0; i < fp_few_size_count; i++) {
        /* The long ones take as much memory as the short ones are many. */
        size_t length = fp_few_sizes[i];
        int count = (int) (BURST / (1 + length / 400) / (size_t) ((2 == fp_size) ? 1 : fp_size)) + 2;

        for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
            fp_case("%s, %d of %zu bytes", cases[c].name, count, length);
            cases[c].run(length, count);
            FP(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
    return fp_finish();
}
