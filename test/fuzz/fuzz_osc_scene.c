/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* What the members of the window do. Each has a third of every window to itself, in which its operations
 * take effect in the order of its calls, so that what has to come of them is known when they are called. */

#include "fuzz_osc.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/group/group.h"

#include "ompi/mca/osc/fastpath/osc_fastpath_packet.h"

enum { REGION = WINDOW / RANKS, MOST = 64, MAX_TYPES = 8 };

/** How an epoch is opened and closed. */
typedef enum { LOCK_ALL, LOCK, POST_START, FENCE, SYNCS } sync_t;

/** An operation. */
typedef struct {
    int rank, target;
    size_t place; /**< in the target's window */
    ompi_datatype_t *type;
    size_t count;
    size_t packed;             /**< bytes */
    guarded_t buffer;          /**< data that goes there, or that comes back */
    ompi_datatype_t *own_type; /**< of the buffer */
    size_t own_count;
    guarded_t result, awaited; /**< what comes back, and what has to */
    ompi_request_t *request;
    bool failed; /**< for want of memory */
} operation_t;

/** What a member has still to do in an epoch. */
static struct {
    int operations;
    bool begun, ended;
    int target; /**< LOCK: the one locked */
} todo[RANKS];

static sync_t sync_now;
static operation_t operations[MOST];
static unsigned n_operations;
static ompi_datatype_t *types[MAX_TYPES]; /* the first ones have but integers */
static unsigned n_types, n_int_types;
static ompi_group_t *only_first, *all_others;

/* ---- datatypes ---- */

static void add_type(ompi_datatype_t *type)
{
    MPI_Type_commit(&type);
    types[n_types++] = type;
}

/* Pieces of the last one may not end within it, and it is longer than any piece. */
static void make_types(void)
{
    int lengths[] = {2, 1, 3}, few[] = {1, 1}, many[] = {40, 30};
    int places[] = {0, 4, 9};
    ptrdiff_t near[] = {0, 8}, far[] = {0, 168};
    ompi_datatype_t *two[] = {&ompi_mpi_int.dt, &ompi_mpi_double.dt}, *type;

    types[n_types++] = &ompi_mpi_int.dt;
    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    add_type(type);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    add_type(type);
    n_int_types = n_types;
    types[n_types++] = &ompi_mpi_byte.dt;
    types[n_types++] = &ompi_mpi_double.dt;
    MPI_Type_create_struct(2, few, near, two, &type);
    add_type(type);
    MPI_Type_create_struct(2, many, far, two, &type);
    add_type(type);
}

void scene_start(void)
{
    ompi_group_t *all = members[0].comm->c_local_group;
    int first[] = {0}, others[] = {1, 2};

    make_types();
    ompi_group_incl(all, 1, first, &only_first);
    ompi_group_incl(all, RANKS - 1, others, &all_others);
}

/* Bytes from the first to the last. */
static size_t span(const ompi_datatype_t *type, size_t count)
{
    return (size_t) (type->super.ub - type->super.lb) * (count - 1) + (size_t) type->super.true_ub;
}

/* ---- operations, here and in the shadow ---- */

static uint8_t *shadow_of(const operation_t *operation)
{
    return members[operation->target].shadow + operation->place;
}

static void place_of(operation_t *operation, ompi_datatype_t *type)
{
    const size_t extent = (size_t) (type->super.ub - type->super.lb);
    const size_t most = (REGION - 8) / extent;

    operation->type = type;
    operation->count = 1 + fuzz_below(fuzz_one_in(3) ? most : most < 4 ? most : 4);
    operation->packed = operation->count * type->super.size;
    operation->place =
        (size_t) operation->rank * REGION + fuzz_below((REGION - span(type, operation->count)) / 8 + 1) * 8;
}

/* The buffer at the origin: of the same type, or packed. */
static void choose_own(operation_t *operation, ompi_datatype_t *packed_type)
{
    const bool same = fuzz_one_in(3);

    operation->own_type = same ? operation->type : packed_type;
    operation->own_count = same ? operation->count : operation->packed / packed_type->super.size;
    guarded_new(&operation->buffer, span(operation->own_type, operation->own_count), 0xee);
}

static void fill(guarded_t *memory)
{
    for (size_t i = 0; i < memory->size; i++) {
        guarded(memory)[i] = fuzz_byte(n_operations, i);
    }
}

static void move(const void *from, size_t from_count, ompi_datatype_t *from_type, void *to, size_t to_count,
                 ompi_datatype_t *to_type)
{
    (void) ompi_datatype_sndrcv(from, (int) from_count, from_type, to, (int) to_count, to_type);
}

static operation_t *operation_new(int rank, int target)
{
    operation_t *operation = &operations[n_operations++];

    memset(operation, 0, sizeof(*operation));
    operation->rank = rank;
    operation->target = target;
    return operation;
}

static void put(operation_t *operation)
{
    ompi_win_t *win = members[operation->rank].win;
    const ptrdiff_t disp = world_disp(operation->target, operation->place);
    int rc;

    choose_own(operation, &ompi_mpi_byte.dt);
    fill(&operation->buffer);
    move(guarded(&operation->buffer), operation->own_count, operation->own_type, shadow_of(operation),
         operation->count, operation->type);
    if (fuzz_one_in(3)) {
        rc = mca_osc_fastpath_rput(guarded(&operation->buffer), (int) operation->own_count,
                                   operation->own_type, operation->target, disp, (int) operation->count,
                                   operation->type, win, &operation->request);
    } else {
        rc =
            mca_osc_fastpath_put(guarded(&operation->buffer), (int) operation->own_count, operation->own_type,
                                 operation->target, disp, (int) operation->count, operation->type, win);
    }
    case_returned(rc, "MPI_Put");
}

/* One that fails for want of memory may have brought anything, but nobody waits for it. */
static void get(operation_t *operation)
{
    ompi_win_t *win = members[operation->rank].win;
    const ptrdiff_t disp = world_disp(operation->target, operation->place);
    int rc;

    choose_own(operation, &ompi_mpi_byte.dt);
    operation->result = operation->buffer;
    operation->buffer.all = NULL;
    guarded_new(&operation->awaited, operation->result.size, 0xee);
    move(shadow_of(operation), operation->count, operation->type, guarded(&operation->awaited),
         operation->own_count, operation->own_type);
    world_shortage = fuzz_one_in(8);
    if (fuzz_one_in(3)) {
        rc = mca_osc_fastpath_rget(guarded(&operation->result), (int) operation->own_count,
                                   operation->own_type, operation->target, disp, (int) operation->count,
                                   operation->type, win, &operation->request);
    } else {
        rc =
            mca_osc_fastpath_get(guarded(&operation->result), (int) operation->own_count, operation->own_type,
                                 operation->target, disp, (int) operation->count, operation->type, win);
    }
    world_shortage = false;
    operation->failed = OMPI_ERR_OUT_OF_RESOURCE == rc;
    case_returned(operation->failed ? OMPI_SUCCESS : rc, "MPI_Get");
}

static uint32_t combined(const ompi_op_t *op, uint32_t origin, uint32_t target)
{
    return &ompi_mpi_op_sum.op == op       ? origin + target
           : &ompi_mpi_op_bxor.op == op    ? (origin ^ target)
           : &ompi_mpi_op_replace.op == op ? origin
                                           : target;
}

/* The shadow of an update, and what it has to bring back. */
static void shadow_update(operation_t *operation, const ompi_op_t *op)
{
    const size_t count = operation->packed / sizeof(uint32_t);
    uint32_t *origin = (void *) guarded(&operation->buffer);
    uint32_t *now = (void *) guarded_new(&operation->awaited, operation->packed, 0);

    move(shadow_of(operation), operation->count, operation->type, now, count, &ompi_mpi_int.dt);
    for (size_t i = 0; i < count; i++) {
        const uint32_t before = now[i];

        now[i] = combined(op, origin[i], before);
        origin[count + i] = before;
    }
    move(now, count, &ompi_mpi_int.dt, shadow_of(operation), operation->count, operation->type);
    memcpy(now, origin + count, operation->packed);
}

static void update(operation_t *operation)
{
    static ompi_op_t *const ops[] = {&ompi_mpi_op_sum.op, &ompi_mpi_op_bxor.op, &ompi_mpi_op_replace.op,
                                     &ompi_mpi_op_no_op.op};
    ompi_op_t *op = ops[fuzz_below(4)];
    ompi_win_t *win = members[operation->rank].win;
    const ptrdiff_t disp = world_disp(operation->target, operation->place);
    const int count = (int) (operation->packed / sizeof(uint32_t));
    ompi_datatype_t *type = &ompi_mpi_int.dt;
    uint8_t *origin = guarded_new(&operation->buffer, 2 * operation->packed, 0);
    int rc;

    fill(&operation->buffer);
    shadow_update(operation, op);
    if (fuzz_one_in(2) && &ompi_mpi_op_no_op.op != op) {
        guarded_free(&operation->awaited, "its own buffer");
        rc = mca_osc_fastpath_accumulate(origin, count, type, operation->target, disp, (int) operation->count,
                                         operation->type, op, win);
    } else {
        rc = mca_osc_fastpath_get_accumulate(
            origin, count, type, guarded_new(&operation->result, operation->packed, 0xee), count, type,
            operation->target, disp, (int) operation->count, operation->type, op, win);
    }
    case_returned(rc, "MPI_Get_accumulate");
}

/* Half of them find what they compare with. */
static void compare_and_swap(operation_t *operation)
{
    uint32_t *values = (void *) guarded_new(&operation->buffer, 2 * sizeof(*values), 0x55);
    uint32_t now;

    place_of(operation, &ompi_mpi_int.dt);
    operation->count = 1;
    memcpy(&now, shadow_of(operation), sizeof(now));
    memcpy(guarded_new(&operation->awaited, sizeof(now), 0), &now, sizeof(now));
    if (fuzz_one_in(2)) {
        values[1] = now;
        memcpy(shadow_of(operation), &values[0], sizeof(now));
    } else {
        values[1] = now + 1;
    }
    case_returned(mca_osc_fastpath_compare_and_swap(
                      &values[0], &values[1], guarded_new(&operation->result, sizeof(now), 0xee),
                      &ompi_mpi_int.dt, operation->target, world_disp(operation->target, operation->place),
                      members[operation->rank].win),
                  "MPI_Compare_and_swap");
}

static void operate(int rank, int target)
{
    operation_t *operation;

    if (MOST == n_operations) {
        return;
    }
    operation = operation_new(rank, target);
    switch (fuzz_below(6)) {
    case 0:
        compare_and_swap(operation);
        break;
    case 1:
        place_of(operation, types[fuzz_below(n_int_types)]);
        update(operation);
        break;
    case 2:
    case 3:
        place_of(operation, types[fuzz_below(n_types)]);
        get(operation);
        break;
    default:
        place_of(operation, types[fuzz_below(n_types)]);
        put(operation);
        break;
    }
}

static void flush(int rank, int target)
{
    ompi_win_t *win = members[rank].win;

    switch (fuzz_below(4)) {
    case 0:
        case_returned(mca_osc_fastpath_flush(target, win), "MPI_Win_flush");
        break;
    case 1:
        case_returned(mca_osc_fastpath_flush_all(win), "MPI_Win_flush_all");
        break;
    case 2:
        case_returned(mca_osc_fastpath_flush_local(target, win), "MPI_Win_flush_local");
        break;
    default:
        case_returned(mca_osc_fastpath_flush_local_all(win), "MPI_Win_flush_local_all");
        break;
    }
}

/* ---- epochs ---- */

static void begin(int rank)
{
    ompi_win_t *win = members[rank].win;

    if (LOCK_ALL == sync_now) {
        case_returned(mca_osc_fastpath_lock_all(fuzz_one_in(8) ? MPI_MODE_NOCHECK : 0, win),
                      "MPI_Win_lock_all");
    } else if (LOCK == sync_now) {
        case_returned(mca_osc_fastpath_lock(fuzz_one_in(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE,
                                            todo[rank].target, 0, win),
                      "MPI_Win_lock");
    } else if (0 == rank) {
        case_returned(mca_osc_fastpath_post(all_others, 0, win), "MPI_Win_post");
    } else {
        case_returned(mca_osc_fastpath_start(only_first, 0, win), "MPI_Win_start");
    }
}

static void end(int rank)
{
    ompi_win_t *win = members[rank].win;

    if (LOCK_ALL == sync_now) {
        case_returned(mca_osc_fastpath_unlock_all(win), "MPI_Win_unlock_all");
    } else if (LOCK == sync_now) {
        case_returned(mca_osc_fastpath_unlock(todo[rank].target, win), "MPI_Win_unlock");
    } else if (0 == rank) {
        case_returned(mca_osc_fastpath_wait(win), "MPI_Win_wait");
    } else {
        case_returned(mca_osc_fastpath_complete(win), "MPI_Win_complete");
    }
}

static void call(int rank)
{
    const int target = LOCK == sync_now         ? todo[rank].target
                       : POST_START == sync_now ? 0
                                                : (int) fuzz_below(RANKS);

    if (fuzz_one_in(5) && (LOCK == sync_now || LOCK_ALL == sync_now)) {
        flush(rank, target);
    } else {
        operate(rank, target);
    }
}

/* A member makes its next call. */
static void step(int rank)
{
    mca_osc_fastpath_peer_t *const of_another = mca_osc_fastpath_component.last_locked;

    members[rank].busy = true;
    mca_osc_fastpath_component.last_locked = members[rank].last_locked;
    if (!todo[rank].begun) {
        todo[rank].begun = true;
        begin(rank);
    } else if (0 < todo[rank].operations) {
        --todo[rank].operations;
        call(rank);
    } else {
        todo[rank].ended = true;
        end(rank);
    }
    members[rank].last_locked = mca_osc_fastpath_component.last_locked;
    mca_osc_fastpath_component.last_locked = of_another;
    members[rank].busy = false;
}

bool scene_go_on(void)
{
    const int first = (int) fuzz_below(RANKS);

    for (int i = 0; i < RANKS; i++) {
        const int rank = (first + i) % RANKS;

        if (!members[rank].busy && !todo[rank].ended) {
            step(rank);
            return true;
        }
    }
    return false;
}

/* The members are told what all of them have sent, as if all had called. */
static void fence(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        mca_osc_fastpath_peer_t *peer;

        OPAL_LIST_FOREACH(peer, &members[rank].module->active, mca_osc_fastpath_peer_t)
        {
            if (NULL != peer->origin.packet) {
                mca_osc_fastpath_origin_send(peer, 0);
            }
        }
    }
    world_count(true);
    for (int rank = 0; rank < RANKS; rank++) {
        case_returned(mca_osc_fastpath_fence(0, members[rank].win), "MPI_Win_fence");
    }
}

static void fence_epoch(void)
{
    fence();
    for (int i = (int) fuzz_below(12); 0 < i; i--) {
        const int rank = (int) fuzz_below(RANKS);

        members[rank].busy = true;
        call(rank);
        members[rank].busy = false;
    }
    fence();
}

void scene_epoch(void)
{
    sync_now = (sync_t) fuzz_below(SYNCS);
    for (int rank = 0; rank < RANKS; rank++) {
        todo[rank].operations = POST_START == sync_now && 0 == rank ? 0 : (int) fuzz_below(5);
        todo[rank].begun = todo[rank].ended = FENCE == sync_now;
        todo[rank].target = (int) fuzz_below(RANKS);
    }
    if (FENCE == sync_now) {
        fence_epoch();
    }
    while (scene_go_on()) {
        if (fuzz_one_in(3)) {
            (void) case_deliver();
        }
    }
}

bool scene_awaits(uint64_t to, size_t length)
{
    for (unsigned i = 0; i < n_operations; i++) {
        const guarded_t *result = &operations[i].result;

        if (NULL != result->all && (uintptr_t) guarded(result) <= to && length <= result->size
            && to - (uintptr_t) guarded(result) <= result->size - length) {
            return true;
        }
    }
    return false;
}

/* ---- what has come of it ---- */

static void end_operation(operation_t *operation)
{
    const bool done = NULL == operation->request || REQUEST_COMPLETE(operation->request);

    if (!case_damaged() && !done) {
        fuzz_fail("a request does not complete");
    }
    if (!case_damaged() && !operation->failed && NULL != operation->result.all
        && 0 != memcmp(guarded(&operation->result), guarded(&operation->awaited), operation->result.size)) {
        fuzz_fail("%zu elements come back with something else", operation->count);
    }
    if (NULL != operation->request) {
        (void) ompi_request_free(&operation->request);
    }
    if (NULL != operation->buffer.all) {
        guarded_free(&operation->buffer, "an origin's buffer");
    }
    if (NULL != operation->result.all) {
        guarded_free(&operation->result, "a result");
    }
    if (NULL != operation->awaited.all) {
        guarded_free(&operation->awaited, "its own buffer");
    }
}

void scene_end(void)
{
    while (0 < n_operations) {
        end_operation(&operations[--n_operations]);
    }
}
