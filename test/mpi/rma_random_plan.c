/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "rma_random_plan.h"

const char *const plan_kind_names[KINDS] = {"created", "allocated", "shared", "dynamic"};
const char *const plan_mode_names[MODES] = {"fence", "post/start", "locks", "shared locks",
                                            "locks and lock_all"};
const char *const plan_verb_names[VERBS] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap", "guarded add"};

/* What is being planned: a rank's part of a phase. */
typedef struct {
    const window_plan_t *window;
    phase_t *phase;
    part_of_rank_t *part;
    fp_random_t r;
    int origin;
    int hot_ops;
    bool passive;
    /* Of the operations that are not ordered before the next one yet. */
    enum { CLEAN, HAS_READ, HAS_ACCUMULATED, HAS_PUT } state[MAX_SLOTS];
    const op_t *last[MAX_SLOTS];
    bool swapped[MAX_SLOTS];
} maker_t;

static bool one_in(fp_random_t *r, unsigned n)
{
    return 0 == fp_random(r) % n;
}

static int any_of(fp_random_t *r, int n)
{
    return (int) (fp_random(r) % (unsigned) n);
}

/* --------------------------------------------------------------------- windows */

static int random_count(fp_random_t *r, bool large)
{
    int kind = any_of(r, 100);

    if (large && kind < 25) {
        return (int) fp_random_between(r, 20000, 200000);
    }
    return (int) ((kind < 30)   ? fp_random_between(r, 1, 8)
                  : (kind < 75) ? fp_random_between(r, 9, 100)
                                : fp_random_between(r, 100, 3000));
}

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* A slot behind the last one of its target. */
static void add_slot(window_plan_t *plan, fp_random_t *r, int target, bool large)
{
    slot_t *slot = &plan->slot[plan->slots++];
    size_t *size = &plan->size[target];

    slot->target = target;
    slot->hot = one_in(r, 5);
    slot->count = slot->hot ? HOT_COUNT : random_count(r, large);
    do {
        slot->element = &elements[any_of(r, ELEMENTS)];
    } while (slot->hot
             && (!(slot->element->can & CAN_COMPARE) || !(slot->element->can & CAN_SWAP)
                 || 4 > slot->element->extent));
    slot->offset = round_up(*size + fp_random_between(r, 0, 40), 16 * (size_t) plan->unit[target]);
    slot->block = plan->blocks[target] - 1;
    *size = slot->offset + (size_t) slot->count * slot->element->extent;
    plan->block_end[target][slot->block] = *size;
}

static void plan_memory(window_plan_t *plan, fp_random_t *r, int target)
{
    static const int units[] = {1, 1, 2, 4, 8, 16, 3, 12};
    const int slots = one_in(r, 8) ? 0 : 1 + any_of(r, MAX_SLOTS / MAX_RANKS);
    const bool large = one_in(r, 10);

    plan->unit[target] = units[any_of(r, sizeof(units) / sizeof(units[0]))];
    plan->blocks[target] = (0 == slots) ? 0 : 1;
    for (int i = 0; i < slots; i++) {
        if (0 < i && DYNAMIC == plan->kind && MAX_BLOCKS > plan->blocks[target] && one_in(r, 2)) {
            plan->blocks[target]++;
            plan->size[target] = round_up(plan->size[target], 64);
        }
        add_slot(plan, r, target, large);
    }
    if (0 < slots) {
        plan->size[target] += fp_random_between(r, 0, 70);
    }
    if (SHARED == plan->kind) {
        plan->size[target] = round_up(plan->size[target], 64);
    }
    if (0 < slots) {
        plan->block_end[target][plan->blocks[target] - 1] = plan->size[target];
    }
}

static void choose_kind(window_plan_t *plan, fp_random_t *r, const options_t *options)
{
    do {
        plan->kind = (kind_t) any_of(r, KINDS);
    } while (!options->kinds[plan->kind]);
    plan->no_locks = one_in(r, 6);
    plan->unordered = one_in(r, 5);
    plan->same_op = one_in(r, 5);
    plan->noncontiguous = one_in(r, 2);
    plan->phases = (int) fp_random_between(r, 2, 24);
    plan->key = fp_random(r);
}

void plan_window(window_plan_t *plan, const options_t *options, int number, int lane, int ranks)
{
    fp_random_t r = {.state = fp_key(number, lane, 1, ranks) ^ options->seed};

    memset(plan, 0, sizeof(*plan));
    plan->ranks = ranks;
    plan->stock = options->stock;
    choose_kind(plan, &r, options);
    for (int rank = 0; rank < ranks; rank++) {
        plan_memory(plan, &r, rank);
    }
}

/* -------------------------------------------------------------------- geometry */

static bool fits(const window_plan_t *window, const slot_t *slot, const shape_t *shape, int start)
{
    return shape->lead <= start
           && 0 == (size_t) start * slot->element->extent % (size_t) window->unit[slot->target];
}

static const shape_t *choose_shape(maker_t *maker, const operation_t *op)
{
    const bool plain = maker->window->stock && CAN_LOCATE == op->op->needs;

    return &shapes[one_in(&maker->r, 2) || plain ? PLAIN : any_of(&maker->r, SHAPES)];
}

/* Where at the target, in which shape and how much. */
static void choose_there(maker_t *maker, operation_t *op, const slot_t *slot, bool whole)
{
    fp_random_t *r = &maker->r;
    int most, start;

    op->there = choose_shape(maker, op);
    start = whole || one_in(r, 3) ? 0 : any_of(r, slot->count);
    if (start < op->there->lead) {
        start = op->there->lead;
    }
    while (start < slot->count && !fits(maker->window, slot, op->there, start)) {
        start++;
    }
    if (whole || start - op->there->lead + shape_span(op->there, 1) > slot->count) {
        op->there = &shapes[PLAIN];
        start = 0;
    }
    most = (slot->count - (start - op->there->lead) - shape_span(op->there, 1)) / op->there->extent + 1;
    op->start = start;
    op->items_there = whole || one_in(r, 10) ? most : one_in(r, 40) ? 0 : 1 + any_of(r, most);
    if (!whole && 100 < op->items_there && !one_in(r, 4)) {
        op->items_there = 1 + any_of(r, 20);
    }
    op->elements = (size_t) op->items_there * (size_t) op->there->count;
}

/* A shape for the same elements at the origin. */
static const shape_t *choose_here(maker_t *maker, const operation_t *op, int *items)
{
    const shape_t *shape = choose_shape(maker, op);

    if (0 != op->elements % (size_t) shape->count) {
        shape = &shapes[PLAIN];
    }
    *items = (int) (op->elements / (size_t) shape->count);
    return shape;
}

static void choose_geometry(maker_t *maker, operation_t *op, const slot_t *slot)
{
    choose_there(maker, op, slot, one_in(&maker->r, 12));
    op->out = choose_here(maker, op, &op->items_out);
    op->in = choose_here(maker, op, &op->items_in);
}

/* One element. */
static void choose_place(maker_t *maker, operation_t *op, const slot_t *slot)
{
    op->there = op->out = op->in = &shapes[PLAIN];
    op->items_there = op->items_out = op->items_in = 1;
    op->elements = 1;
    op->start = any_of(&maker->r, slot->count);
    while (!fits(maker->window, slot, op->there, op->start)) {
        op->start--;
    }
}

/* ----------------------------------------------------------------------- steps */

static step_t *add_step(maker_t *maker, verb_of_step_t verb, int target)
{
    step_t *step = &maker->part->step[maker->part->steps];

    if (MAX_STEPS - 40 <= maker->part->steps && LOCK != verb && UNLOCK != verb && LOCK_ALL != verb
        && UNLOCK_ALL != verb) {
        return NULL; /* what closes the epoch has room */
    }
    maker->part->steps++;
    *step = (step_t){.verb = verb, .target = target, .argument = any_of(&maker->r, 6)};
    return step;
}

/* Everything at a target, or at all (-1), is ordered before what follows. */
static void clean(maker_t *maker, int target)
{
    for (int i = 0; i < maker->window->slots; i++) {
        if (-1 == target || maker->window->slot[i].target == target) {
            maker->state[i] = CLEAN;
        }
    }
}

static bool flush(maker_t *maker, int target)
{
    if (one_in(&maker->r, 3)) {
        target = -1;
    }
    if (NULL == add_step(maker, (-1 == target) ? FLUSH_ALL : FLUSH, target)) {
        return false;
    }
    clean(maker, target);
    return true;
}

static void synchronise_somehow(maker_t *maker, int target)
{
    switch (any_of(&maker->r, 12)) {
    case 0:
        flush(maker, target);
        break;
    case 1:
        add_step(maker, FLUSH_LOCAL, target);
        break;
    case 2:
        add_step(maker, FLUSH_LOCAL_ALL, -1);
        break;
    case 3:
        add_step(maker, SYNC, -1);
        break;
    case 4:
        add_step(maker, COMPLETE, -1);
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------------ operations */

/* Whether an operation may follow what its slot has seen, if need be behind a flush. */
static bool in_order(maker_t *maker, const operation_t *op)
{
    const bool swaps = COMPARE_AND_SWAP == op->verb;
    const bool accumulates = ACCUMULATE <= op->verb;
    const bool ordered =
        !maker->window->unordered
        && (!maker->window->same_op || (op->op == maker->last[op->slot] && COMPARE_AND_SWAP != op->verb));
    int *state = (int *) &maker->state[op->slot];
    const int wanted = accumulates ? HAS_ACCUMULATED : (PUT == op->verb) ? HAS_PUT : HAS_READ;
    const bool free = CLEAN == *state || (HAS_READ == *state && HAS_READ == wanted)
                      || (HAS_ACCUMULATED == *state && accumulates && ordered)
                      || OWNED != maker->phase->role[op->slot];

    if (!free && (!maker->passive || !flush(maker, op->target))) {
        return false;
    }
    *state = wanted;
    maker->last[op->slot] = op->op;
    maker->swapped[op->slot] = swaps;
    return true;
}

static void choose_owned(maker_t *maker, operation_t *op, const slot_t *slot)
{
    fp_random_t *r = &maker->r;

    do {
        op->verb = (verb_t) any_of(r, GUARDED_ADD);
    } while ((ACCUMULATE <= op->verb && 0 == slot->element->can)
             || (COMPARE_AND_SWAP == op->verb && !(slot->element->can & CAN_SWAP)));
    op->op = op_choose(r, slot->element);
    if ((GET_ACCUMULATE == op->verb || FETCH_AND_OP == op->verb) && one_in(r, 5)) {
        op->op = &ops[NO_OP_INDEX];
    }
}

static void choose_added(maker_t *maker, operation_t *op)
{
    op->verb = (verb_t) (ACCUMULATE + any_of(&maker->r, 3));
    op->op = maker->phase->op[op->slot];
}

static void choose_read(maker_t *maker, operation_t *op, const slot_t *slot)
{
    op->op = &ops[NO_OP_INDEX];
    op->verb = (0 == slot->element->can || one_in(&maker->r, 2)) ? GET
               : one_in(&maker->r, 2)                            ? FETCH_AND_OP
                                                                 : GET_ACCUMULATE;
}

/* What is written is no other value of the chain: a phase adds less than 4096. */
static void choose_hot(maker_t *maker, operation_t *op)
{
    fp_random_t *r = &maker->r;
    const bool strict = maker->window->same_op;
    const bool swapping = maker->phase->swapping;

    op->verb = (verb_t) (GET_ACCUMULATE + any_of(r, (swapping && !strict) ? 3 : 2));
    op->op = &ops[swapping ? REPLACE_INDEX : SUM_INDEX];
    if (!strict && COMPARE_AND_SWAP != op->verb && one_in(r, 5)) {
        op->op = &ops[NO_OP_INDEX];
    }
    op->written =
        swapping ? (0x40000000 | (maker->phase->number + 1) << 12 | (op->origin * HOT_OPS + maker->hot_ops))
                 : 1 + any_of(r, 3);
    op->compared = -1;
    for (int i = maker->part->ops - 1; 0 <= i && one_in(r, 2); i--) {
        if (maker->part->op[i].slot == op->slot) {
            op->compared = maker->part->op[i].written;
        }
    }
    maker->hot_ops++;
}

static void choose_hot_place(maker_t *maker, operation_t *op, const slot_t *slot)
{
    choose_place(maker, op, slot);
    if (GET_ACCUMULATE == op->verb && one_in(&maker->r, 2)) {
        op->start = 0;
        op->elements = (size_t) slot->count;
        op->items_there = op->items_out = op->items_in = slot->count;
    }
}

static bool may_use(const maker_t *maker, int slot)
{
    switch (maker->phase->role[slot]) {
    case OWNED:
        return maker->phase->owner[slot] == maker->origin;
    case HOT:
        return HOT_OPS > maker->hot_ops;
    case ADDED_TO:
    case READ:
        return true;
    default:
        return false;
    }
}

static operation_t *new_operation(maker_t *maker, int slot)
{
    operation_t *op = &maker->part->op[maker->part->ops];

    *op = (operation_t){.origin = maker->origin,
                        .target = maker->window->slot[slot].target,
                        .slot = slot,
                        .op = &ops[NO_OP_INDEX],
                        .key = fp_random(&maker->r),
                        .pending = MPI_REQUEST_NULL};
    return op;
}

static void keep_operation(maker_t *maker)
{
    step_t *step = add_step(maker, OPERATE, -1);

    if (NULL != step) {
        step->operation = maker->part->ops++;
    }
}

static void add_operation(maker_t *maker, int number)
{
    const slot_t *slot = &maker->window->slot[number];
    operation_t *op = new_operation(maker, number);
    const role_t role = maker->phase->role[number];

    if (OWNED == role) {
        choose_owned(maker, op, slot);
    } else if (ADDED_TO == role) {
        choose_added(maker, op);
    } else if (HOT == role) {
        choose_hot(maker, op);
    } else {
        choose_read(maker, op, slot);
    }
    if (HOT == role) {
        choose_hot_place(maker, op, slot);
    } else if (FETCH_AND_OP <= op->verb) {
        choose_place(maker, op, slot);
    } else {
        choose_geometry(maker, op, slot);
    }
    op->request = maker->passive && FETCH_AND_OP > op->verb && one_in(&maker->r, 5);
    op->fresh = one_in(&maker->r, 3);
    if (in_order(maker, op)) {
        keep_operation(maker);
    }
}

/* Many small puts or gets side by side. */
static void add_many(maker_t *maker, int number)
{
    const slot_t *slot = &maker->window->slot[number];
    const verb_t verb = (OWNED == maker->phase->role[number] && one_in(&maker->r, 2)) ? PUT : GET;
    const int each = 1 + any_of(&maker->r, 3);
    bool first = true;

    for (int start = 0; start + each <= slot->count && start / each < 40 && MAX_OPS > maker->part->ops;
         start += each) {
        operation_t *op = new_operation(maker, number);

        if (!fits(maker->window, slot, &shapes[PLAIN], start)) {
            continue;
        }
        op->verb = verb;
        op->start = start;
        op->there = op->out = op->in = &shapes[PLAIN];
        op->items_there = op->items_out = op->items_in = each;
        op->elements = (size_t) each;
        if (first && !in_order(maker, op)) {
            return;
        }
        first = false;
        keep_operation(maker);
    }
}

/* Some slot of a target, or of any (-1), that the rank may use; -1 when luck finds none. */
static int choose_slot(maker_t *maker, int target)
{
    for (int tries = 0; tries < 12 && 0 < maker->window->slots; tries++) {
        int slot = any_of(&maker->r, maker->window->slots);
        int at = maker->window->slot[slot].target;

        if (may_use(maker, slot) && (at == target || (-1 == target && maker->part->accesses[at]))) {
            return slot;
        }
    }
    return -1;
}

static void operate(maker_t *maker, int target, int count)
{
    for (int i = 0; i < count && MAX_OPS > maker->part->ops; i++) {
        int slot = choose_slot(maker, target);

        if (-1 == slot) {
            continue;
        }
        if (HOT != maker->phase->role[slot] && ADDED_TO != maker->phase->role[slot]
            && one_in(&maker->r, 15)) {
            add_many(maker, slot);
        } else {
            add_operation(maker, slot);
        }
        if (maker->passive) {
            synchronise_somehow(maker, maker->window->slot[slot].target);
        }
    }
}

/* ---------------------------------------------------------------------- guarded */

/* A slot of the target with that role, or -1. */
static int guarded_slot(const maker_t *maker, int target)
{
    for (int i = 0; i < maker->window->slots; i++) {
        if (GUARDED == maker->phase->role[i] && maker->window->slot[i].target == target) {
            return i;
        }
    }
    return -1;
}

static void add_guarded(maker_t *maker, int target, bool exclusive)
{
    const int slot = guarded_slot(maker, target);
    operation_t *op;

    if (-1 == slot || MAX_OPS <= maker->part->ops) {
        return;
    }
    op = new_operation(maker, slot);
    op->verb = exclusive ? GUARDED_ADD : GET;
    op->op = &ops[SUM_INDEX];
    choose_there(maker, op, &maker->window->slot[slot], true);
    op->out = op->in = &shapes[PLAIN];
    op->items_out = op->items_in = op->items_there;
    op->written = 1 + any_of(&maker->r, 5);
    keep_operation(maker);
    if (exclusive) {
        flush(maker, target);
    }
}

/* ------------------------------------------------------------- parts of a phase */

static void make_lock_all(maker_t *maker)
{
    const int epochs = 1 + any_of(&maker->r, 2);

    for (int epoch = 0; epoch < epochs; epoch++) {
        add_step(maker, LOCK_ALL, -1);
        operate(maker, -1, any_of(&maker->r, 20));
        add_guarded(maker, any_of(&maker->r, maker->window->ranks), false);
        add_step(maker, UNLOCK_ALL, -1);
        clean(maker, -1);
    }
}

/* One lock at a time. */
static void make_locks(maker_t *maker)
{
    const int epochs = 1 + any_of(&maker->r, 7);

    for (int epoch = 0; epoch < epochs; epoch++) {
        const int target = any_of(&maker->r, maker->window->ranks);
        const bool exclusive = one_in(&maker->r, 2);

        if (MAX_STEPS - 80 < maker->part->steps) {
            return;
        }
        add_step(maker, LOCK, target)->argument = exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
        if (one_in(&maker->r, 4)) {
            add_guarded(maker, target, exclusive);
        }
        operate(maker, target,
                one_in(&maker->r, 4) ? 0 : 1 + any_of(&maker->r, one_in(&maker->r, 3) ? 12 : 2));
        add_step(maker, UNLOCK, target);
        clean(maker, target);
    }
}

/* Several at a time, which must be shared ones only, of all ranks. */
static void make_shared_locks(maker_t *maker)
{
    bool *held = maker->part->accesses;
    const int first = any_of(&maker->r, maker->window->ranks);

    memset(held, 0, sizeof(maker->part->accesses));
    for (int i = 0; i < maker->window->ranks; i++) {
        const int target = (first + i) % maker->window->ranks;

        held[target] = one_in(&maker->r, 2);
        if (held[target]) {
            add_step(maker, LOCK, target)->argument = MPI_LOCK_SHARED;
            operate(maker, -1, any_of(&maker->r, 5));
        }
    }
    for (int target = 0; target < maker->window->ranks; target++) {
        if (held[target]) {
            add_step(maker, UNLOCK, target);
            clean(maker, target);
            held[target] = false;
            operate(maker, -1, any_of(&maker->r, 3));
        }
    }
}

static void make_part(maker_t *maker)
{
    for (int rank = 0; rank < maker->window->ranks; rank++) {
        maker->part->accesses[rank] = PSCW != maker->phase->mode || one_in(&maker->r, 2);
    }
    switch (maker->phase->mode) {
    case LOCKS:
        make_locks(maker);
        break;
    case LOCKS_SHARED:
        make_shared_locks(maker);
        break;
    case MIXED_LOCKS:
        if (one_in(&maker->r, 2)) {
            make_lock_all(maker);
        } else {
            make_locks(maker);
        }
        break;
    default:
        operate(maker, -1, any_of(&maker->r, one_in(&maker->r, 4) ? 30 : 8));
        break;
    }
}

/* ----------------------------------------------------------------------- phases */

static sync_mode_t choose_mode(const window_plan_t *window, int number)
{
    fp_random_t r = {.state = fp_key(number / 2, 0, 7, 0) ^ window->key};
    fp_random_t own = {.state = fp_key(number, 0, 8, 0) ^ window->key};
    fp_random_t *from = one_in(&own, 2) ? &own : &r; /* the same one twice, often */

    return (sync_mode_t) any_of(from, window->no_locks ? LOCKS : MODES);
}

static void choose_role(phase_t *phase, const window_plan_t *window, fp_random_t *r, int number)
{
    const slot_t *slot = &window->slot[number];
    role_t role = (role_t) any_of(r, HOT);
    const op_t *op = op_choose(r, slot->element);

    if (one_in(r, 3)) {
        role = OWNED;
    }
    if (slot->hot) {
        role = HOT;
        phase->chains = true;
    } else if (0 == slot->element->can && (ADDED_TO == role || GUARDED == role)) {
        role = READ;
    } else if (GUARDED == role
               && (LOCKS > phase->mode || LOCKS_SHARED == phase->mode || 2 > slot->element->extent
                   || !(slot->element->can & CAN_COMPARE) || !(slot->element->can & CAN_SWAP))) {
        role = OWNED;
    }
    if (1 < slot->element->parts && CAN_ADD == op->needs) {
        op = &ops[SUM_INDEX]; /* products of complex zeros differ in sign with the order */
    }
    /* What all replace has the value of one of them: not known. */
    phase->op[number] = (MPI_REPLACE == op->op) ? &ops[NO_OP_INDEX] : op;
    phase->role[number] = (ADDED_TO == role && MPI_REPLACE == op->op) ? OWNED : role;
    phase->owner[number] = any_of(r, window->ranks);
    phase->stored[number] = fp_random(r);
    if (STORED == phase->role[number]) {
        phase->stores[slot->target] = true;
    }
}

/* Whose memory operations write to. */
static void note_puts(phase_t *phase, const part_of_rank_t *part)
{
    for (int i = 0; i < part->ops; i++) {
        if (GET != part->op[i].verb) {
            phase->put_to[part->op[i].target] = true;
        }
    }
}

void plan_phase(phase_t *phase, const window_plan_t *window, int number)
{
    fp_random_t r = {.state = fp_key(number, 0, 9, 0) ^ window->key};

    memset(phase, 0, offsetof(phase_t, rank));
    phase->number = number;
    phase->mode = choose_mode(window, number);
    phase->swapping = 0 == number % 2;
    phase->joined = one_in(&r, 2) && LOCKS > phase->mode && number + 1 < window->phases
                    && choose_mode(window, number + 1) == phase->mode;
    for (int i = 0; i < window->slots; i++) {
        choose_role(phase, window, &r, i);
    }
    for (int rank = 0; rank < window->ranks; rank++) {
        maker_t maker = {.window = window,
                         .phase = phase,
                         .part = &phase->rank[rank],
                         .r = {.state = fp_random(&r)},
                         .origin = rank,
                         .passive = LOCKS <= phase->mode};

        phase->rank[rank].ops = phase->rank[rank].steps = 0;
        make_part(&maker);
        note_puts(phase, &phase->rank[rank]);
    }
}
