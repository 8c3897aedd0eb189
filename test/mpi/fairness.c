/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Several senders have messages waiting for rank 0, and none of them is to hide the others: not in receives
 * from MPI_ANY_SOURCE, and not in progress, which looks at those that it has heard of last before all others.
 * Rank 0 is outside MPI until all messages are there. Meant for btl_fastsm_poll_max 1, so that progress, too,
 * takes one message of each sender at a time, and for a long pml_fastpath_progress_interval, so that receives
 * seldom make any. "fairness progress" leaves out the receives: for ob1, which gets all messages by progress.
 */

#include "support/fp_counters.h"

enum {
    TAG = 171,
    LAST_TAG,
    LEAVE_TAG,
    MESSAGES = 24,
    MOST_RANKS = 16,
    BUSY = 4 /* that progress keeps in mind */
};

static MPI_Comm senders; /* all ranks but 0 */

/* Rank 0 leaves MPI, and nobody sends before it has. */
static void leave(fp_away_t *away)
{
    fp_leave(away, 0, LEAVE_TAG);
    if (0 != fp_rank) {
        FP(MPI_Barrier(senders));
    }
}

/* It comes back when all others have sent. */
static void all_have_sent(const fp_away_t *away)
{
    FP(MPI_Barrier(senders));
    if (1 == fp_rank) {
        fp_come_back(away);
    }
}

static void send_all(int rank)
{
    for (int i = 0; i < MESSAGES; i++) {
        FP(MPI_Send(&rank, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
    }
}

/* Of half of all messages each sender has a part, if not an equal one; of more senders than are kept in mind
 * each has one message. */
static void receives(void)
{
    const int half = MESSAGES * (fp_size - 1) / 2, least = BUSY < fp_size - 1 ? 1 : MESSAGES / 8;
    int from[MOST_RANKS] = {0};
    fp_away_t away;

    fp_case("receives from MPI_ANY_SOURCE, %d senders", fp_size - 1);
    leave(&away);
    if (0 != fp_rank) {
        send_all(fp_rank);
        all_have_sent(&away);
        return;
    }
    for (int i = 1; i <= MESSAGES * (fp_size - 1); i++) {
        MPI_Status status;
        int rank;

        FP(MPI_Recv(&rank, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
        CHECK_STATUS(&status, rank, TAG, sizeof(rank));
        from[rank]++;
        for (int sender = 1; half == i && sender < fp_size; sender++) {
            fp_check(least <= from[sender], __FILE__, __LINE__, "%d of rank %d among %d", from[sender],
                     sender, i);
        }
    }
}

/* What the last rank sends is there before half of what the busy ones have sent. */
static void progress(void)
{
    const int busy = BUSY < fp_size - 2 ? BUSY : fp_size - 2;
    MPI_Request requests[BUSY * MESSAGES], last;
    int got[BUSY * MESSAGES] = {0}, word = 0, done = 0, count = 0;
    fp_away_t away;

    fp_case("progress, %d busy senders", busy);
    for (int i = 0; 0 == fp_rank && i < busy * MESSAGES; i++) {
        FP(MPI_Irecv(&got[i], 1, MPI_INT, 1 + i % busy, TAG, MPI_COMM_WORLD, &requests[i]));
    }
    if (0 == fp_rank) {
        FP(MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, LAST_TAG, MPI_COMM_WORLD, &last));
    }
    leave(&away);
    if (0 != fp_rank) {
        if (busy >= fp_rank) {
            send_all(fp_rank);
        } else if (fp_size - 1 == fp_rank) {
            FP(MPI_Send(&fp_rank, 1, MPI_INT, 0, LAST_TAG, MPI_COMM_WORLD));
        }
        all_have_sent(&away);
        return;
    }
    while (!done) {
        FP(MPI_Test(&last, &done, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < busy * MESSAGES; i++) {
        count += 0 != got[i];
    }
    fp_check(count <= busy * MESSAGES / 2, __FILE__, __LINE__, "%d others were received before", count);
    CHECK_INT(word, fp_size - 1);
    FP(MPI_Waitall(busy * MESSAGES, requests, MPI_STATUSES_IGNORE));
}

/* The busy ones are those that rank 0 has heard of last. */
static void hear(void)
{
    for (int sender = fp_size - 1; 0 < sender; sender--) {
        if (0 == fp_rank) {
            fp_signal(sender, MPI_COMM_WORLD);
            fp_await(sender, MPI_COMM_WORLD);
        } else if (sender == fp_rank) {
            fp_await(0, MPI_COMM_WORLD);
            fp_signal(0, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    enum { ROUNDS = 5 };
    const bool all = 2 > argc;

    fp_init(&argc, &argv, 3);
    FP(MPI_Comm_split(MPI_COMM_WORLD, 0 == fp_rank ? MPI_UNDEFINED : 0, fp_rank, &senders));
    for (int round = 0; round < ROUNDS; round++) {
        if (all) {
            receives();
        }
        hear();
        progress();
    }
    if (0 != fp_rank) {
        FP(MPI_Comm_free(&senders));
    }
    return fp_finish();
}
