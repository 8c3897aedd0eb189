/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Cancelling what may be meeting just then. The sender of a race cancels some of its messages, the
 * receiver some of its receives, both whenever they like. A cancel succeeds or the message is received,
 * and both ends must be told the same: the messages that were not taken back, in order, are what the
 * receives that were not cancelled get, in order; further receives can be cancelled. */

#include "random_lane.h"

enum { RACE_TAG = 50, VERDICT_TAG = 60 };

static void race_case(const lane_t *lane, int number, const char *verb)
{
    const race_t *race = &lane->plan.races[number];

    fp_case("seed %" PRIu64 " round %d: race %d from %d to %d, %d %s messages: %s", lane->options->seed,
            lane->round, number, race->from, race->to, race->count, race->mode->name, verb);
}

static bool wait_cancelled(MPI_Request *request, MPI_Status *status)
{
    FP(MPI_Wait(request, status));
    return fp_was_cancelled(status);
}

/* --------------------------------------------------------------------- sender */

void race_send(lane_t *lane)
{
    for (int n = 0; n < RACES; n++) {
        const race_t *race = &lane->plan.races[n];
        racers_t *racers = &lane->senders[n];

        racers->count = 0;
        for (int i = 0; i < race->count && race->from == fp_rank; i++) {
            race_case(lane, n, "send");
            racers->count++;
            racers->block[i] = fp_alloc_filled(race->length[i], race->key[i]);
            FP(race->mode->isend(racers->block[i], (int) race->length[i], MPI_BYTE, race->to, RACE_TAG + n,
                                 lane->side, &racers->request[i]));
            racers->cancelled[i] = lane_one_in(lane, 4);
            if (racers->cancelled[i]) {
                FP(MPI_Cancel(&racers->request[i]));
            }
        }
    }
}

/* What the receiver is told: for each message whether it was taken back. */
static void send_verdicts(lane_t *lane, int number)
{
    const race_t *race = &lane->plan.races[number];
    racers_t *racers = &lane->senders[number];
    unsigned char verdicts[RACERS];

    for (int i = 0; i < racers->count; i++) {
        bool asked = racers->cancelled[i];

        racers->cancelled[i] = wait_cancelled(&racers->request[i], &racers->status[i]);
        CHECK(asked || !racers->cancelled[i]);
        verdicts[i] = racers->cancelled[i];
        CHECK_DATA(racers->block[i], race->length[i], race->key[i]);
        fp_free(racers->block[i]);
    }
    FP(MPI_Bsend(verdicts, racers->count, MPI_BYTE, race->to, VERDICT_TAG + number, lane->side));
}

void race_send_end(lane_t *lane)
{
    for (int n = 0; n < RACES; n++) {
        racers_t *racers = &lane->senders[n];

        race_case(lane, n, "cancel more sends");
        for (int i = 0; i < racers->count; i++) {
            if (!racers->cancelled[i] && lane_one_in(lane, 3)) {
                racers->cancelled[i] = true;
                FP(MPI_Cancel(&racers->request[i]));
            }
        }
        if (0 < racers->count) {
            send_verdicts(lane, n);
        }
    }
}

/* ------------------------------------------------------------------- receiver */

static void post_one(lane_t *lane, int number)
{
    const race_t *race = &lane->plan.races[number];
    racers_t *racers = &lane->receivers[number];
    int i = racers->count++;

    race_case(lane, number, "post a receive");
    racers->cancelled[i] = false;
    racers->block[i] = fp_alloc(race->longest);
    FP(MPI_Irecv(racers->block[i], (int) race->longest, MPI_BYTE, race->from, RACE_TAG + number, lane->side,
                 &racers->request[i]));
}

/* Cancels a receive; one that has been too quick is complete now. */
static void cancel_one(lane_t *lane, int number, int i)
{
    const race_t *race = &lane->plan.races[number];
    racers_t *racers = &lane->receivers[number];

    race_case(lane, number, "cancel a receive");
    FP(MPI_Cancel(&racers->request[i]));
    racers->cancelled[i] = wait_cancelled(&racers->request[i], &racers->status[i]);
    if (racers->cancelled[i]) {
        CHECK_POISON(racers->block[i], race->longest);
        fp_free(racers->block[i]);
    }
}

void race_post(lane_t *lane)
{
    for (int n = 0; n < RACES; n++) {
        const race_t *race = &lane->plan.races[n];
        racers_t *racers = &lane->receivers[n];
        int early = (int) fp_random_between(&lane->choices, 0, (size_t) race->count);

        racers->count = 0;
        for (int i = 0; i < early && race->to == fp_rank; i++) {
            post_one(lane, n);
        }
        for (int i = 0; i < racers->count; i++) {
            if (lane_one_in(lane, 4)) {
                cancel_one(lane, n, i);
            }
        }
    }
}

void race_post_enough(lane_t *lane)
{
    for (int n = 0; n < RACES; n++) {
        const race_t *race = &lane->plan.races[n];
        racers_t *racers = &lane->receivers[n];
        int ready = 0;

        for (int i = 0; i < racers->count; i++) {
            ready += !racers->cancelled[i];
        }
        for (; ready < race->count && race->to == fp_rank; ready++) {
            post_one(lane, n);
        }
    }
}

/* Receive I has to bring message MESSAGE; a receive that cancel_one waited for has done so. */
static void check_one(const lane_t *lane, int number, int i, int message)
{
    const race_t *race = &lane->plan.races[number];
    racers_t *racers = (racers_t *) &lane->receivers[number];

    race_case(lane, number, "check");
    if (MPI_REQUEST_NULL != racers->request[i]) {
        FP(MPI_Wait(&racers->request[i], &racers->status[i]));
    }
    CHECK_STATUS(&racers->status[i], race->from, RACE_TAG + number, race->length[message]);
    CHECK_DATA(racers->block[i], race->length[message], race->key[message]);
    CHECK_POISON(racers->block[i] + race->length[message], race->longest - race->length[message]);
    fp_free(racers->block[i]);
}

static void settle(lane_t *lane, int number)
{
    const race_t *race = &lane->plan.races[number];
    racers_t *racers = &lane->receivers[number];
    unsigned char verdicts[RACERS];
    int message = 0;

    race_case(lane, number, "wait for the verdicts");
    FP(MPI_Recv(verdicts, race->count, MPI_BYTE, race->from, VERDICT_TAG + number, lane->side,
                MPI_STATUS_IGNORE));
    for (int i = 0; i < racers->count; i++) {
        if (racers->cancelled[i]) {
            continue;
        }
        while (message < race->count && verdicts[message]) {
            message++;
        }
        if (message < race->count) {
            check_one(lane, number, i, message++);
        } else {
            cancel_one(lane, number, i);
            CHECK(racers->cancelled[i]);
        }
    }
}

void race_recv_end(lane_t *lane)
{
    for (int n = 0; n < RACES; n++) {
        if (lane->plan.races[n].to == fp_rank) {
            settle(lane, n);
        }
    }
}
