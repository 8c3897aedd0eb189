/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Hot slots: what all origins fetch from an element while they change it has to be one chain, in which every
 * change finds what the one before has left, and those of one origin come in its order. */

#include "rma_random_lane.h"

/* An operation at one element. */
typedef struct {
    const operation_t *op;
    long long fetched;
    bool changes, seen;
} event_t;

enum { MAX_EVENTS = MAX_RANKS * HOT_OPS };

long chain_compared(const lane_t *lane, const operation_t *op)
{
    const element_t *element = lane->plan.slot[op->slot].element;

    if (-1 != op->compared) {
        return op->compared;
    }
    return (long) element_value(element, model_slot(lane, op->slot) + (size_t) op->start * element->extent);
}

/* ------------------------------------------------------------------ exchange */

static bool is_hot(const lane_t *lane, const operation_t *op)
{
    return HOT == lane->phase.role[op->slot];
}

static int values_of(const lane_t *lane, int rank)
{
    const part_of_rank_t *part = &lane->phase.rank[rank];
    int count = 0;

    for (int i = 0; i < part->ops; i++) {
        count += is_hot(lane, &part->op[i]) ? (int) part->op[i].elements : 0;
    }
    return count;
}

/* All that all ranks have fetched from hot slots, in the order of the plan. */
static long long *exchange(const lane_t *lane)
{
    const part_of_rank_t *part = &lane->phase.rank[lane->rank];
    long long *mine = malloc(sizeof(*mine) * HOT_OPS * HOT_COUNT), *all;
    int counts[MAX_RANKS], starts[MAX_RANKS], total = 0, count = 0;

    for (int rank = 0; rank < lane->ranks; rank++) {
        starts[rank] = total;
        counts[rank] = values_of(lane, rank);
        total += counts[rank];
    }
    for (int i = 0; i < part->ops; i++) {
        const operation_t *op = &part->op[i];
        const element_t *element = lane->plan.slot[op->slot].element;

        for (size_t e = 0; is_hot(lane, op) && e < op->elements; e++) {
            mine[count++] = element_value(element, op->settled + e * element->extent);
        }
    }
    all = malloc(sizeof(*all) * (size_t) (total + 1));
    FP(MPI_Allgatherv(mine, count, MPI_LONG_LONG, all, counts, starts, MPI_LONG_LONG, lane->side));
    free(mine);
    return all;
}

/* ---------------------------------------------------------------------- chains */

static bool is_change(const lane_t *lane, const operation_t *op, long long fetched)
{
    return (COMPARE_AND_SWAP == op->verb) ? fetched == chain_compared(lane, op) : MPI_NO_OP != op->op->op;
}

/* The operations at one element of a slot. */
static int collect(const lane_t *lane, const long long *all, int slot, int number, event_t *events)
{
    int count = 0;

    for (int rank = 0; rank < lane->ranks; rank++) {
        const part_of_rank_t *part = &lane->phase.rank[rank];

        for (int i = 0; i < part->ops; i++) {
            const operation_t *op = &part->op[i];

            if (!is_hot(lane, op)) {
                continue;
            }
            if (op->slot == slot && op->start <= number && number < op->start + (int) op->elements) {
                const long long fetched = all[number - op->start];

                events[count++] = (event_t){op, fetched, is_change(lane, op, fetched), false};
            }
            all += op->elements;
        }
    }
    return count;
}

/* Whether all operations that its origin has issued before are in the chain. */
static bool in_order(const event_t *events, int count, const event_t *event)
{
    for (int i = 0; i < count; i++) {
        const event_t *other = &events[i];

        if (other->op->origin == event->op->origin && other->op < event->op && !other->seen) {
            return false;
        }
    }
    return true;
}

/* Those that fetch this value without changing it, as far as it is their turn. */
static void pass_readers(event_t *events, int count, long long value, bool ordered)
{
    for (int i = 0; i < count; i++) {
        if (!events[i].seen && !events[i].changes && events[i].fetched == value
            && (!ordered || in_order(events, count, &events[i]))) {
            events[i].seen = true;
        }
    }
}

static event_t *next_change(event_t *events, int count, long long value)
{
    for (int i = 0; i < count; i++) {
        if (!events[i].seen && events[i].changes && events[i].fetched == value) {
            return &events[i];
        }
    }
    return NULL;
}

static void print_chain(const event_t *events, int count)
{
    for (int i = 0; i < count; i++) {
        const event_t *e = &events[i];

        printf("#   %s %d of rank %d, %s %ld: fetched %lld%s%s\n", plan_verb_names[e->op->verb], i,
               e->op->origin, e->op->op->name, e->op->written, e->fetched, e->changes ? ", changes" : "",
               e->seen ? "" : ", NOT IN THE CHAIN");
    }
    fflush(stdout);
}

/* Follows the chain from the value START; returns the last value. */
static long long follow(const lane_t *lane, event_t *events, int count, long long start)
{
    const bool ordered = !lane->plan.unordered && !lane->plan.stock;
    long long value = start;
    event_t *next;
    int left = 0;

    pass_readers(events, count, value, ordered);
    while (NULL != (next = next_change(events, count, value))) {
        if (ordered && !in_order(events, count, next)) {
            break;
        }
        next->seen = true;
        value = lane->phase.swapping ? next->op->written : value + next->op->written;
        pass_readers(events, count, value, ordered);
    }
    for (int i = 0; i < count; i++) {
        left += events[i].seen ? 0 : 1;
    }
    if (!fp_check(0 == left, __FILE__, __LINE__,
                  "%d of %d results are in no chain from %lld on, or out of order", left, count, start)) {
        print_chain(events, count);
    }
    return value;
}

void chain_run(lane_t *lane)
{
    long long *all = exchange(lane);
    event_t *events = malloc(sizeof(*events) * MAX_EVENTS);
    long long ends[MAX_SLOTS][HOT_COUNT];

    for (int i = 0; i < lane->plan.slots; i++) {
        const slot_t *slot = &lane->plan.slot[i];

        for (int e = 0; HOT == lane->phase.role[i] && e < HOT_COUNT; e++) {
            const int count = collect(lane, all, i, e, events);

            lane_case(lane, "chain", NULL);
            ends[i][e] = follow(
                lane, events, count,
                element_value(slot->element, model_slot(lane, i) + (size_t) e * slot->element->extent));
        }
    }
    for (int i = 0; i < lane->plan.slots; i++) {
        const element_t *element = lane->plan.slot[i].element;

        for (int e = 0; HOT == lane->phase.role[i] && e < HOT_COUNT; e++) {
            element_set(element, model_slot(lane, i) + (size_t) e * element->extent, (long) ends[i][e]);
        }
    }
    free(events);
    free(all);
}
