/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Thousands of messages that nobody waits for, then received in odd orders; and
 * thousands of receives that are posted before their messages come. */

#include "support/fp_test.h"

enum { COUNT = 4000, TAGS = 500, LENGTH = 24 };

/* What the orders below permute: message i has tag i % TAGS and comes as number
 * i / TAGS of its tag. */
static int in_order(int i)
{
    return i;
}

static int last_tag_first(int i)
{
    return (i / TAGS) * TAGS + (TAGS - 1 - i % TAGS);
}

static int tag_by_tag(int i)
{
    return (i % (COUNT / TAGS)) * TAGS + i / (COUNT / TAGS);
}

static int strided(int i)
{
    return (i / TAGS) * TAGS + (i % TAGS) * 201 % TAGS;
}

static const struct {
    const char *name;
    int (*message)(int i);
} orders[] = {{"in order", in_order},
              {"last tag first", last_tag_first},
              {"tag by tag", tag_by_tag},
              {"strided", strided}};
enum { ORDERS = sizeof(orders) / sizeof(orders[0]) };

/* Some are long, so that rendezvous waits among the eager ones. */
static size_t length_of(int message)
{
    return (0 == message % 100) ? 80000 : (0 == message % 7) ? 3000 : LENGTH;
}

/* Every other rank floods rank 0, which looks only when all have come. */
static void unexpected(int order)
{
    if (0 != fp_rank) {
        fp_message_t *out = calloc(COUNT, sizeof(*out));

        for (int i = 0; i < COUNT; i++) {
            fp_isend(&out[i], &fp_modes[FP_STANDARD], length_of(i), 0, i % TAGS, i, MPI_COMM_WORLD);
        }
        fp_signal(0, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            fp_wait_send(&out[i]);
        }
        free(out);
        return;
    }
    for (int from = 1; from < fp_size; from++) {
        fp_await(from, MPI_COMM_WORLD);
    }
    for (int i = 0; i < COUNT; i++) {
        for (int from = fp_size - 1; 0 < from; from--) {
            int message = orders[order].message(i);
            fp_recv(length_of(message), from, message % TAGS, message, MPI_COMM_WORLD);
        }
    }
}

/* Rank 0 posts all receives in some order; the messages then come in theirs. */
static void posted(int order)
{
    fp_message_t *messages = calloc(COUNT, sizeof(*messages));

    if (0 == fp_rank) {
        for (int i = 0; i < COUNT; i++) {
            int message = orders[order].message(i);
            fp_irecv(&messages[i], length_of(message), 1, message % TAGS, message, MPI_COMM_WORLD);
        }
        fp_signal(1, MPI_COMM_WORLD);
        for (int i = COUNT - 1; 0 <= i; i--) {
            fp_wait_recv(&messages[i]);
        }
    } else if (1 == fp_rank) {
        fp_await(0, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            fp_isend(&messages[i], &fp_modes[FP_STANDARD], length_of(i), 0, i % TAGS, i, MPI_COMM_WORLD);
        }
        for (int i = 0; i < COUNT; i++) {
            fp_wait_send(&messages[i]);
        }
    }
    free(messages);
}

int main(int argc, char **argv)
{
    fp_init(&argc, &argv, 2);
    for (int order = 0; order < ORDERS; order++) {
        fp_case("unexpected, received %s", orders[order].name);
        unexpected(order);
        FP(MPI_Barrier(MPI_COMM_WORLD));
        fp_case("posted %s", orders[order].name);
        posted(order);
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
    return fp_finish();
}
