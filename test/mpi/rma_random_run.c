/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* A rank's part of a phase of the random test. */

#include "rma_random_lane.h"

enum { ALL = -1 };

unsigned char *run_address(const shape_t *shape, const element_t *element, unsigned char *block)
{
    return block + (size_t) shape->lead * element->extent;
}

static const element_t *element_of(const lane_t *lane, const operation_t *op)
{
    return lane->plan.slot[op->slot].element;
}

/* --------------------------------------------------------------------- buffers */

static unsigned char *new_buffer(const shape_t *shape, const element_t *element, int items)
{
    return fp_alloc((size_t) shape_span(shape, items) * element->extent);
}

/* What the operation writes. */
static void make_sent(const lane_t *lane, operation_t *op)
{
    const element_t *element = element_of(lane, op);
    unsigned char *packed = malloc(op->elements * element->extent + 1);

    op->sent = new_buffer(op->out, element, op->items_out);
    element_fill(element, op->op, packed, op->elements, op->key);
    if (HOT == lane->phase.role[op->slot]) {
        for (size_t i = 0; i < op->elements; i++) {
            element_set(element, packed + i * element->extent, op->written);
        }
    }
    shape_scatter(op->out, element, op->items_out, run_address(op->out, element, op->sent), packed);
    free(packed);
}

static void make_buffers(const lane_t *lane, operation_t *op)
{
    const element_t *element = element_of(lane, op);

    op->sent = op->swap = op->fetched = op->settled = NULL;
    if (GET != op->verb) {
        make_sent(lane, op);
    }
    if (PUT != op->verb && ACCUMULATE != op->verb) {
        op->fetched = new_buffer(op->in, element, op->items_in);
    }
    if (COMPARE_AND_SWAP == op->verb) {
        op->swap = fp_alloc(element->extent);
        element_fill(element, op->op, op->swap, 1, ~op->key);
        if (HOT == lane->phase.role[op->slot]) {
            element_set(element, op->swap, chain_compared(lane, op));
        } else if (op->key % 2) { /* what is there, unless this phase has changed it already */
            memcpy(op->swap, model_slot(lane, op->slot) + (size_t) op->start * element->extent,
                   element->extent);
        }
    }
}

/* The operation is complete at the origin: what it has fetched is here, and its buffers are the user's again.
 */
static void settle(const lane_t *lane, operation_t *op)
{
    const element_t *element = element_of(lane, op);

    if (NULL != op->sent) {
        memset(op->sent, 0xee, (size_t) shape_span(op->out, op->items_out) * element->extent);
    }
    if (NULL != op->fetched && NULL == op->settled) {
        const size_t length = (size_t) shape_span(op->in, op->items_in) * element->extent;

        op->settled = malloc(length + 1);
        memcpy(op->settled, op->fetched, length);
        memset(op->fetched, 0xdd, length);
    }
}

/* All operations at a target (or ALL) among the first COUNT, but for those whose requests are pending. */
static void settle_all(lane_t *lane, int count, int target)
{
    part_of_rank_t *part = &lane->phase.rank[lane->rank];

    for (int i = 0; i < count; i++) {
        operation_t *op = &part->op[i];

        if (NULL == op->settled && (ALL == target || op->target == target) && !op->request) {
            settle(lane, op);
        }
    }
}

/* -------------------------------------------------------------------- requests */

/* Waits for all requests among the first COUNT operations in one way or another. */
static void complete(lane_t *lane, int count, int way)
{
    part_of_rank_t *part = &lane->phase.rank[lane->rank];
    MPI_Request pending[MAX_OPS];
    int which[MAX_OPS], waiting = 0, flag = 0, index, some, indices[MAX_OPS];

    for (int i = 0; i < count; i++) {
        if (MPI_REQUEST_NULL != part->op[i].pending) {
            which[waiting] = i;
            pending[waiting++] = part->op[i].pending;
        }
    }
    if (0 == way && 0 < waiting) { /* just one */
        FP(MPI_Waitany(waiting, pending, &index, MPI_STATUS_IGNORE));
    } else if (1 == way) {
        FP(MPI_Testsome(waiting, pending, &some, indices, MPI_STATUSES_IGNORE));
    } else if (2 == way) {
        while (!flag) {
            FP(MPI_Testall(waiting, pending, &flag, MPI_STATUSES_IGNORE));
        }
    } else if (3 == way) {
        for (int i = 0; i < waiting; i++) {
            FP(MPI_Wait(&pending[i], MPI_STATUS_IGNORE));
        }
    } else {
        FP(MPI_Waitall(waiting, pending, MPI_STATUSES_IGNORE));
    }
    for (int i = 0; i < waiting; i++) {
        operation_t *op = &part->op[which[i]];

        op->pending = pending[i];
        if (MPI_REQUEST_NULL == pending[i]) {
            settle(lane, op);
        }
    }
}

/* ------------------------------------------------------------------ operations */

typedef struct {
    MPI_Datatype out, in, there;
    void *sent, *fetched;
    MPI_Aint at;
} arguments_t;

static MPI_Datatype type_for(lane_t *lane, const operation_t *op, const shape_t *shape)
{
    const element_t *element = element_of(lane, op);
    MPI_Datatype *kept = &lane->made[shape - shapes][element - elements];

    if (op->fresh || BY_NAME == shape->made) {
        return shape_type(shape, element);
    }
    if (MPI_DATATYPE_NULL == *kept) {
        *kept = shape_type(shape, element);
    }
    return *kept;
}

static void drop_type(const operation_t *op, const shape_t *shape, MPI_Datatype type)
{
    if (op->fresh && BY_NAME != shape->made) {
        FP(MPI_Type_free(&type));
    }
}

static void issue_call(lane_t *lane, operation_t *op, const arguments_t *a)
{
    const int out = op->items_out, in = op->items_in, there = op->items_there, to = op->target;

    switch (op->verb) {
    case PUT:
        FP(MPI_Put(a->sent, out, a->out, to, a->at, there, a->there, lane->win));
        break;
    case GET:
        FP(MPI_Get(a->fetched, in, a->in, to, a->at, there, a->there, lane->win));
        break;
    case ACCUMULATE:
        FP(MPI_Accumulate(a->sent, out, a->out, to, a->at, there, a->there, op->op->op, lane->win));
        break;
    case GET_ACCUMULATE:
        FP(MPI_Get_accumulate(a->sent, out, a->out, a->fetched, in, a->in, to, a->at, there, a->there,
                              op->op->op, lane->win));
        break;
    case FETCH_AND_OP:
        FP(MPI_Fetch_and_op(a->sent, a->fetched, a->there, to, a->at, op->op->op, lane->win));
        break;
    default:
        FP(MPI_Compare_and_swap(a->sent, op->swap, a->fetched, a->there, to, a->at, lane->win));
        break;
    }
}

static void issue_request(lane_t *lane, operation_t *op, const arguments_t *a)
{
    const int out = op->items_out, in = op->items_in, there = op->items_there, to = op->target;

    switch (op->verb) {
    case PUT:
        FP(MPI_Rput(a->sent, out, a->out, to, a->at, there, a->there, lane->win, &op->pending));
        break;
    case GET:
        FP(MPI_Rget(a->fetched, in, a->in, to, a->at, there, a->there, lane->win, &op->pending));
        break;
    case ACCUMULATE:
        FP(MPI_Raccumulate(a->sent, out, a->out, to, a->at, there, a->there, op->op->op, lane->win,
                           &op->pending));
        break;
    default:
        FP(MPI_Rget_accumulate(a->sent, out, a->out, a->fetched, in, a->in, to, a->at, there, a->there,
                               op->op->op, lane->win, &op->pending));
        break;
    }
}

/* Within an exclusive lock: read, add, write. */
static void issue_guarded(lane_t *lane, operation_t *op)
{
    const element_t *element = element_of(lane, op);
    const MPI_Aint at = window_displacement(lane, op->slot, op->start);
    unsigned char *term = malloc(element->extent);

    memset(term, 0, element->extent);
    element_set(element, term, op->written);
    FP(MPI_Get(op->fetched, op->items_in, element->type, op->target, at, op->items_there, element->type,
               lane->win));
    FP(MPI_Win_flush(op->target, lane->win));
    memcpy(op->sent, op->fetched, op->elements * element->extent);
    for (size_t i = 0; i < op->elements; i++) {
        element_combine(element, op->op, op->sent + i * element->extent, term, 1);
    }
    FP(MPI_Put(op->sent, op->items_out, element->type, op->target, at, op->items_there, element->type,
               lane->win));
    free(term);
}

static void issue(lane_t *lane, operation_t *op)
{
    const element_t *element = element_of(lane, op);
    arguments_t a;

    lane_case(lane, "issue", op);
    make_buffers(lane, op);
    if (GUARDED_ADD == op->verb) {
        issue_guarded(lane, op);
        return;
    }
    a = (arguments_t){.out = type_for(lane, op, op->out),
                      .in = type_for(lane, op, op->in),
                      .there = type_for(lane, op, op->there),
                      .at = window_displacement(lane, op->slot, op->start)};
    a.sent = (NULL == op->sent) ? NULL : run_address(op->out, element, op->sent);
    a.fetched = (NULL == op->fetched) ? NULL : run_address(op->in, element, op->fetched);
    if (op->request) {
        issue_request(lane, op, &a);
    } else {
        issue_call(lane, op, &a);
    }
    drop_type(op, op->out, a.out);
    drop_type(op, op->in, a.in);
    drop_type(op, op->there, a.there);
}

/* ----------------------------------------------------------------------- steps */

static void lock(lane_t *lane, const step_t *step)
{
    const int hint = (LOCKS_SHARED == lane->phase.mode && !lane->plan.stock && lane_one_in(lane, 3))
                         ? MPI_MODE_NOCHECK
                         : 0;

    FP(MPI_Win_lock(step->argument, step->target, hint, lane->win));
}

static void step_on(lane_t *lane, const step_t *step, int *issued)
{
    part_of_rank_t *part = &lane->phase.rank[lane->rank];

    lane_case(lane, "step", NULL);
    switch (step->verb) {
    case OPERATE:
        issue(lane, &part->op[step->operation]);
        *issued = step->operation + 1;
        return;
    case LOCK:
        lock(lane, step);
        return;
    case LOCK_ALL:
        FP(MPI_Win_lock_all(0, lane->win));
        return;
    case UNLOCK:
        FP(MPI_Win_unlock(step->target, lane->win));
        break;
    case UNLOCK_ALL:
        FP(MPI_Win_unlock_all(lane->win));
        break;
    case FLUSH:
        FP(MPI_Win_flush(step->target, lane->win));
        break;
    case FLUSH_LOCAL:
        FP(MPI_Win_flush_local(step->target, lane->win));
        break;
    case FLUSH_ALL:
        FP(MPI_Win_flush_all(lane->win));
        break;
    case FLUSH_LOCAL_ALL:
        FP(MPI_Win_flush_local_all(lane->win));
        break;
    case SYNC:
        FP(MPI_Win_sync(lane->win));
        return;
    default:
        complete(lane, *issued, step->argument);
        return;
    }
    settle_all(lane, *issued,
               (UNLOCK == step->verb || FLUSH == step->verb || FLUSH_LOCAL == step->verb) ? step->target
                                                                                          : ALL);
}

static void run_steps(lane_t *lane)
{
    part_of_rank_t *part = &lane->phase.rank[lane->rank];
    int issued = 0;

    for (int i = 0; i < part->steps; i++) {
        step_on(lane, &part->step[i], &issued);
    }
    complete(lane, issued, 3 + (int) (fp_random(&lane->choices) % 3));
}

/* ------------------------------------------------------------------ active mode */

/* The target's own stores. */
static void store(lane_t *lane)
{
    for (int i = 0; i < lane->plan.slots; i++) {
        const slot_t *slot = &lane->plan.slot[i];

        if (STORED == lane->phase.role[i] && slot->target == lane->rank) {
            element_fill(slot->element, &ops[REPLACE_INDEX], window_slot(lane, i), (size_t) slot->count,
                         lane->phase.stored[i]);
        }
    }
}

static MPI_Group group_of(lane_t *lane, bool of_targets)
{
    int ranks[MAX_RANKS], count = 0;
    MPI_Group all, some;

    for (int rank = 0; rank < lane->ranks; rank++) {
        if (of_targets ? lane->phase.rank[lane->rank].accesses[rank]
                       : lane->phase.rank[rank].accesses[lane->rank]) {
            ranks[count++] = rank;
        }
    }
    FP(MPI_Win_get_group(lane->win, &all));
    FP(MPI_Group_incl(all, count, ranks, &some));
    FP(MPI_Group_free(&all));
    return some;
}

static void wait_for_origins(lane_t *lane)
{
    int flag = 0;

    if (lane_one_in(lane, 2)) {
        FP(MPI_Win_wait(lane->win));
        return;
    }
    while (!flag) {
        FP(MPI_Win_test(lane->win, &flag));
    }
}

static void run_pscw(lane_t *lane)
{
    MPI_Group targets = group_of(lane, true), origins = group_of(lane, false);

    store(lane);
    FP(MPI_Win_post(origins, lane->phase.put_to[lane->rank] ? 0 : MPI_MODE_NOPUT, lane->win));
    FP(MPI_Win_start(targets, 0, lane->win));
    FP(MPI_Group_free(&targets));
    run_steps(lane);
    FP(MPI_Win_complete(lane->win));
    settle_all(lane, lane->phase.rank[lane->rank].ops, ALL);
    wait_for_origins(lane);
    FP(MPI_Group_free(&origins));
}

/* The fence before this phase is that of the one before where both are joined. */
static void run_fence(lane_t *lane, bool first)
{
    const int puts = lane->phase.put_to[lane->rank] ? 0 : MPI_MODE_NOPUT;

    if (first) {
        FP(MPI_Win_fence(MPI_MODE_NOPRECEDE | puts, lane->win));
    }
    store(lane);
    run_steps(lane);
    FP(MPI_Win_fence((lane->phase.joined ? 0 : MPI_MODE_NOSUCCEED)
                         | (lane->phase.stores[lane->rank] ? 0 : MPI_MODE_NOSTORE),
                     lane->win));
    settle_all(lane, lane->phase.rank[lane->rank].ops, ALL);
}

void run_phase(lane_t *lane)
{
    static _Thread_local bool joined;

    lane_case(lane, "phase", NULL);
    if (0 == lane->phase.number) {
        joined = false;
    }
    if (PSCW == lane->phase.mode) {
        run_pscw(lane);
    } else if (FENCE == lane->phase.mode) {
        run_fence(lane, !joined);
    } else {
        store(lane);
        run_steps(lane);
    }
    joined = lane->phase.joined;
}
