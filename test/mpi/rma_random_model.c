/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* The sequential reference: what windows hold when the operations of a phase come one after the other, by
 * origin. The roles of slots see to it that any other order gives the same, and that what is checked of the
 * results of operations does not depend on it. */

#include "rma_random_lane.h"

static unsigned char *model_at(const lane_t *lane, const operation_t *op)
{
    return model_slot(lane, op->slot) + (size_t) op->start * lane->plan.slot[op->slot].element->extent;
}

enum { MOST_PRINTED = 30 };

/* What the plan has for a slot that is not as it must be. */
static void print_slot(const lane_t *lane, int slot)
{
    int printed = 0;

    for (int rank = 0; rank < lane->ranks; rank++) {
        for (int i = 0; i < lane->phase.rank[rank].ops; i++) {
            const operation_t *op = &lane->phase.rank[rank].op[i];

            if (op->slot == slot && printed++ < MOST_PRINTED) {
                printf("#   slot %d: %s%s %d of rank %d, %s, %d of %s at element %d; at origin %d of %s, %d "
                       "of %s\n",
                       slot, op->request ? "r" : "", plan_verb_names[op->verb], i, rank, op->op->name,
                       op->items_there, op->there->name, op->start, op->items_out, op->out->name,
                       op->items_in, op->in->name);
            }
        }
    }
    fflush(stdout);
}

/* --------------------------------------------------------------------- results */

/* The result buffer has the packed elements BEFORE where its datatype says and is untouched elsewhere. */
static void check_fetched(const lane_t *lane, const operation_t *op, const unsigned char *before)
{
    const element_t *element = lane->plan.slot[op->slot].element;
    const size_t span = (size_t) shape_span(op->in, op->items_in);
    unsigned char *want = malloc(span * element->extent + 1);
    ptrdiff_t differs;

    fp_poison(want, span * element->extent);
    shape_scatter(op->in, element, op->items_in, want + (size_t) op->in->lead * element->extent, before);
    differs = element_difference(element, op->settled, want, span);
    lane_case(lane, "result of", op);
    if (-1 != differs) {
        const size_t at = (size_t) differs * element->extent;

        fp_check(false, __FILE__, __LINE__, "element %td of the result, op %s, starts with %lld and not %lld",
                 differs, op->op->name, element_value(element, op->settled + at),
                 element_value(element, want + at));
        print_slot(lane, op->slot);
    }
    free(want);
}

/* A guarded slot, read by others than the one who holds the lock: all elements have moved alike. */
static void check_guarded(const lane_t *lane, const operation_t *op)
{
    const element_t *element = lane->plan.slot[op->slot].element;
    const unsigned char *model = model_at(lane, op);
    const unsigned long long mask = ~0ULL >> (64 - 8 * element->part[0].size);
    unsigned long long first = 0;

    lane_case(lane, "result of", op);
    for (size_t i = 0; i < op->elements; i++) {
        const size_t at = i * element->extent;
        unsigned long long moved = (unsigned long long) element_value(element, op->settled + at)
                                   - (unsigned long long) element_value(element, model + at);

        if (0 == i) {
            first = moved & mask;
        } else if ((moved & mask) != first) {
            fp_check(false, __FILE__, __LINE__, "element %zu has moved by %llu, the first one by %llu", i,
                     moved & mask, first);
            return;
        }
    }
}

/* ------------------------------------------------------------------ operations */

static void swap_in(const element_t *element, unsigned char *now, const unsigned char *data,
                    const unsigned char *compared)
{
    if (0 == memcmp(now, compared, element->extent)) {
        memcpy(now, data, element->extent);
    }
}

/* What compare_and_swap compares with: computed by all ranks, before the phase has changed the model. */
static void hoped_for(const lane_t *lane, const operation_t *op, const unsigned char *start,
                      unsigned char *compared)
{
    const element_t *element = lane->plan.slot[op->slot].element;

    element_fill(element, op->op, compared, 1, ~op->key);
    if (op->key % 2) {
        memcpy(compared, start + (model_at(lane, op) - lane->model[op->target]), element->extent);
    }
}

static void change(const lane_t *lane, const operation_t *op, unsigned char *packed, unsigned char *data,
                   const unsigned char *start)
{
    const element_t *element = lane->plan.slot[op->slot].element;
    unsigned char compared[sizeof(long double) * 2];

    switch (op->verb) {
    case GUARDED_ADD:
        for (size_t i = 0; i < op->elements; i++) {
            element_set(element, data + i * element->extent, op->written);
        }
        element_combine(element, op->op, packed, data, op->elements);
        break;
    case PUT:
        memcpy(packed, data, op->elements * element->extent);
        break;
    case COMPARE_AND_SWAP:
        hoped_for(lane, op, start, compared);
        swap_in(element, packed, data, compared);
        break;
    default:
        element_combine(element, op->op, packed, data, op->elements);
        break;
    }
}

static void apply(lane_t *lane, const operation_t *op, const unsigned char *start)
{
    const element_t *element = lane->plan.slot[op->slot].element;
    const size_t bytes = op->elements * element->extent;
    unsigned char *packed = malloc(bytes + 1), *data = malloc(bytes + 1);
    const role_t role = lane->phase.role[op->slot];

    shape_gather(op->there, element, op->items_there, model_at(lane, op), packed);
    if (op->origin == lane->rank && NULL != op->settled && (OWNED == role || READ == role)) {
        check_fetched(lane, op, packed);
    }
    if (GET != op->verb) {
        element_fill(element, op->op, data, op->elements, op->key);
        change(lane, op, packed, data, start);
        shape_scatter(op->there, element, op->items_there, model_at(lane, op), packed);
    }
    free(packed);
    free(data);
}

static void store(lane_t *lane)
{
    for (int i = 0; i < lane->plan.slots; i++) {
        const slot_t *slot = &lane->plan.slot[i];

        if (STORED == lane->phase.role[i]) {
            element_fill(slot->element, &ops[REPLACE_INDEX], model_slot(lane, i), (size_t) slot->count,
                         lane->phase.stored[i]);
        }
    }
}

void model_run(lane_t *lane)
{
    part_of_rank_t *mine = &lane->phase.rank[lane->rank];
    unsigned char *start[MAX_RANKS];

    for (int i = 0; i < mine->ops; i++) {
        if (GUARDED == lane->phase.role[mine->op[i].slot] && GET == mine->op[i].verb) {
            check_guarded(lane, &mine->op[i]);
        }
    }
    for (int rank = 0; rank < lane->ranks; rank++) {
        start[rank] = malloc(lane->plan.size[rank] + 1);
        memcpy(start[rank], lane->model[rank], lane->plan.size[rank]);
    }
    store(lane);
    for (int rank = 0; rank < lane->ranks; rank++) {
        for (int i = 0; i < lane->phase.rank[rank].ops; i++) {
            const operation_t *op = &lane->phase.rank[rank].op[i];

            if (HOT != lane->phase.role[op->slot]) {
                apply(lane, op, start[op->target]);
            }
        }
    }
    for (int rank = 0; rank < lane->ranks; rank++) {
        free(start[rank]);
    }
}

void model_release(lane_t *lane)
{
    part_of_rank_t *part = &lane->phase.rank[lane->rank];

    for (int i = 0; i < part->ops; i++) {
        operation_t *op = &part->op[i];

        lane_case(lane, "buffers of", op);
        if (NULL != op->sent) {
            fp_free(op->sent);
        }
        if (NULL != op->swap) {
            fp_free(op->swap);
        }
        if (NULL != op->fetched) {
            const size_t span = (size_t) shape_span(op->in, op->items_in);
            const size_t bytes = span * lane->plan.slot[op->slot].element->extent;

            CHECK(0 == bytes
                  || (0xdd == op->fetched[0] && 0 == memcmp(op->fetched, op->fetched + 1, bytes - 1)));
            fp_free(op->fetched);
        }
        free(op->settled);
        op->sent = op->swap = op->fetched = op->settled = NULL;
    }
}

/* ---------------------------------------------------------------------- memory */

static void check_slot(const lane_t *lane, int number, const unsigned char *memory)
{
    const slot_t *slot = &lane->plan.slot[number];
    const unsigned char *model = model_slot(lane, number);
    ptrdiff_t differs = element_difference(slot->element, memory, model, (size_t) slot->count);

    if (-1 != differs) {
        const size_t at = (size_t) differs * slot->element->extent;

        fp_check(
            false, __FILE__, __LINE__,
            "window of rank %d, slot %d (%d of %s at %zu, role %d, owner %d): element %td starts with %lld "
            "and not %lld",
            slot->target, number, slot->count, slot->element->name, slot->offset, lane->phase.role[number],
            lane->phase.owner[number], differs, element_value(slot->element, memory + at),
            element_value(slot->element, model + at));
        print_slot(lane, number);
    }
}

/* What lies between slots of a block. */
static void check_gaps(const lane_t *lane, int block)
{
    const window_plan_t *plan = &lane->plan;
    const size_t start = (0 == block) ? 0 : (plan->block_end[lane->rank][block - 1] + 63) / 64 * 64;
    size_t at = start;

    for (int i = 0; i <= plan->slots; i++) {
        const bool last = plan->slots == i;
        const slot_t *slot = last ? NULL : &plan->slot[i];
        size_t end = last ? plan->block_end[lane->rank][block] : slot->offset;

        if (last || (slot->target == lane->rank && slot->block == block)) {
            fp_check(0 == memcmp(lane->block[block] + (at - start), lane->model[lane->rank] + at, end - at),
                     __FILE__, __LINE__, "bytes before slot %d of rank %d are changed", i, lane->rank);
            at = last ? end : end + (size_t) slot->count * slot->element->extent;
        }
    }
}

void model_check_memory(lane_t *lane)
{
    const window_plan_t *plan = &lane->plan;

    lane_case(lane, "memory", NULL);
    if (!plan->no_locks) {
        FP(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, lane->rank, 0, lane->win));
    }
    for (int i = 0; i < plan->slots; i++) {
        if (plan->slot[i].target == lane->rank) {
            check_slot(lane, i, window_slot(lane, i));
        } else if (SHARED == plan->kind) {
            check_slot(lane, i, lane->shared[plan->slot[i].target] + plan->slot[i].offset);
        }
    }
    for (int block = 0; block < plan->blocks[lane->rank]; block++) {
        check_gaps(lane, block);
    }
    if (!plan->no_locks) {
        FP(MPI_Win_unlock(lane->rank, lane->win));
    }
}
