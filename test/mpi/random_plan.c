/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "random_plan.h"

const char *const plan_where_names[WHERES] = {"world", "dup", "reversed", "inter", "fresh"};

static bool one_in(fp_random_t *r, unsigned n)
{
    return 0 == fp_random(r) % n;
}

static int any_of(fp_random_t *r, int n)
{
    return (int) (fp_random(r) % (unsigned) n);
}

int plan_rank(where_t where, int world)
{
    return (ON_REVERSED == where) ? fp_size - 1 - world : (ON_INTER == where) ? world / 2 : world;
}

/* A length of the table of boundaries that is at most HIGHEST. */
static size_t boundary(fp_random_t *r, size_t highest)
{
    int count = fp_size_count;

    while (fp_sizes[count - 1] > highest) {
        count--;
    }
    return fp_sizes[any_of(r, count)];
}

/* Most are short, one in a hundred is long: every protocol has its share, and a round takes milliseconds. */
static size_t random_length(fp_random_t *r)
{
    int kind = any_of(r, 100);

    if (kind < 35) {
        return fp_random_between(r, 0, 64);
    }
    if (kind < 55) {
        return fp_random_between(r, 0, 700);
    }
    if (kind < 75) {
        return boundary(r, 8193);
    }
    if (kind < 88) {
        return fp_random_between(r, 0, 5000);
    }
    if (kind < 94) {
        return boundary(r, 131073);
    }
    if (kind < 98) {
        return fp_random_between(r, 0, 140000);
    }
    return (98 == kind) ? boundary(r, LONGEST) : fp_random_between(r, 0, LONGEST);
}

/* -------------------------------------------------------------------- manners */

static void choose_manners(plan_t *plan, fp_random_t *r, const options_t *options)
{
    for (int where = 0; where < WHERES; where++) {
        for (int rank = 0; rank < fp_size; rank++) {
            manner_t *manner = &plan->manners[where][rank];

            *manner = (manner_t){.wild = one_in(r, 3), .any_source = one_in(r, 2), .any_tag = one_in(r, 2)};
            manner->in = layout_choose(r, BYTES);
            /* Another thread's messages are there as well. */
            manner->any_tag = manner->any_tag && (ON_WORLD != where || 1 == options->lanes);
        }
    }
}

/* ------------------------------------------------------------------- messages */

static where_t choose_where(fp_random_t *r, bool ahead)
{
    where_t where;

    do {
        where = (where_t) any_of(r, WHERES);
    } while ((ON_INTER == where && 1 == fp_size) || (ON_FRESH == where && ahead));
    return where;
}

static void choose_ends(message_t *m, fp_random_t *r)
{
    m->from = any_of(r, fp_size);
    do {
        m->to = any_of(r, fp_size);
    } while (ON_INTER == m->where && m->to % 2 == m->from % 2);
}

/* How long, and how it lies in memory at both ends. */
static void choose_data(message_t *m, fp_random_t *r, manner_t *manner)
{
    signature_t signature = manner->wild ? BYTES : (signature_t) any_of(r, SIGNATURES);

    m->length = random_length(r);
    m->out = layout_choose(r, signature);
    m->in = manner->wild ? manner->in : layout_choose(r, signature);
    if (manner->wild && LONGEST_WILD < m->length) {
        m->length = LONGEST_WILD;
    }
    m->length = layout_round(m->out, m->in, m->length);
    if (manner->longest < m->length) {
        manner->longest = m->length;
    }
}

static void choose_mode(message_t *m, fp_random_t *r, const options_t *options)
{
    const bool miscounted = options->stock && 1 < options->lanes;

    m->mode = &fp_modes[any_of(r, m->early ? FP_MODES : FP_READY)];
    if (m->mode->needs_buffer && (LONGEST_BUFFERED < m->length || miscounted)) {
        m->mode = &fp_modes[FP_STANDARD];
    }
}

static void choose_message(plan_t *plan, int number, fp_random_t *r, const options_t *options)
{
    message_t *m = &plan->messages[number];
    manner_t *manner;

    *m = (message_t){.ahead = number < AHEAD};
    m->where = choose_where(r, m->ahead);
    choose_ends(m, r);
    manner = &plan->manners[m->where][m->to];
    m->early = !m->ahead && one_in(r, 3);
    m->tag = m->early ? LATE_TAGS + any_of(r, EARLY_TAGS) : any_of(r, LATE_TAGS);
    m->key = fp_random(r);
    choose_data(m, r, manner);
    choose_mode(m, r, options);
    m->blocking = one_in(r, 3);
    m->persistent = one_in(r, 6);
    /* Open MPI looks for the error handler in the communicator after it has freed the request, so that has to
     * be there still. */
    m->truncated = !manner->wild && 0 < m->length && one_in(r, 12) && ON_FRESH != m->where
                   && (!options->stock || (300 >= m->length && m->from != m->to));
    m->doomed = m->ahead && one_in(r, 3) && !options->stock;
    /* Only that the message has come says that the buffer is free again, and of a truncated one half comes.
     */
    m->forgotten = one_in(r, 10) && !m->doomed && !m->truncated;
}

/* ---------------------------------------------------------------------- races */

static void choose_race(race_t *race, fp_random_t *r)
{
    *race = (race_t){.from = any_of(r, fp_size),
                     .to = any_of(r, fp_size),
                     .count = 1 + any_of(r, RACERS),
                     .mode = &fp_modes[any_of(r, FP_READY)]};
    for (int i = 0; i < race->count; i++) {
        race->length[i] = random_length(r);
        race->key[i] = fp_random(r);
        if (LONGEST_BUFFERED < race->length[i]) {
            race->length[i] = LONGEST_BUFFERED;
        }
        if (race->longest < race->length[i]) {
            race->longest = race->length[i];
        }
    }
}

/* --------------------------------------------------------------------- public */

void plan_make(plan_t *plan, const options_t *options, int round, int lane)
{
    fp_random_t r = {.state = fp_key(round, lane, 1, 0) ^ options->seed};

    choose_manners(plan, &r, options);
    for (int i = 0; i < MESSAGES; i++) {
        choose_message(plan, i, &r, options);
    }
    for (int i = 0; i < MESSAGES; i++) {
        plan->messages[i].tag += lane * LANE_TAGS;
    }
    for (int i = 0; i < RACES; i++) {
        choose_race(&plan->races[i], &r);
    }
    plan->shift.distance = any_of(&r, fp_size);
    plan->shift.length = random_length(&r);
    plan->shift.replace = one_in(&r, 2);
}

void plan_standing(message_t standing[STANDING], const options_t *options, int lane)
{
    fp_random_t r = {.state = fp_key(0, lane, 2, 0) ^ options->seed};

    for (int i = 0; i < STANDING; i++) {
        signature_t signature = (signature_t) any_of(&r, SIGNATURES);
        message_t *m = &standing[i];

        *m = (message_t){.early = true, .persistent = true, .tag = i};
        m->from = any_of(&r, fp_size);
        m->to = any_of(&r, fp_size);
        m->out = layout_choose(&r, signature);
        m->in = layout_choose(&r, signature);
        m->length = layout_round(m->out, m->in, random_length(&r));
        choose_mode(m, &r, options);
        if (options->stock && m->mode->needs_buffer) {
            m->mode = &fp_modes[FP_READY];
        }
    }
}

uint64_t plan_standing_key(const message_t *message, int number, int round)
{
    return fp_key(message->from, message->to, number, round);
}
