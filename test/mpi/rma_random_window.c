/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Windows of the random test, from the making of their memory to the end. */

#include "rma_random_lane.h"

enum { GAP_BYTE = 0x5a };

static size_t block_start(const window_plan_t *plan, int rank, int block)
{
    return (0 == block) ? 0 : (plan->block_end[rank][block - 1] + 63) / 64 * 64;
}

static size_t block_length(const window_plan_t *plan, int rank, int block)
{
    return plan->block_end[rank][block] - block_start(plan, rank, block);
}

unsigned char *window_slot(const lane_t *lane, int number)
{
    const slot_t *slot = &lane->plan.slot[number];

    return lane->block[slot->block] + (slot->offset - block_start(&lane->plan, lane->rank, slot->block));
}

unsigned char *model_slot(const lane_t *lane, int number)
{
    return lane->model[lane->plan.slot[number].target] + lane->plan.slot[number].offset;
}

MPI_Aint window_displacement(const lane_t *lane, int number, int element)
{
    const slot_t *slot = &lane->plan.slot[number];
    const MPI_Aint bytes = element * (MPI_Aint) slot->element->extent;

    if (DYNAMIC == lane->plan.kind) {
        return MPI_Aint_add(lane->address[number], bytes);
    }
    return ((MPI_Aint) slot->offset + bytes) / lane->plan.unit[slot->target];
}

/* -------------------------------------------------------------------- contents */

static void fill_models(lane_t *lane)
{
    const window_plan_t *plan = &lane->plan;

    for (int rank = 0; rank < plan->ranks; rank++) {
        lane->model[rank] = malloc(plan->size[rank] + 1);
        memset(lane->model[rank], GAP_BYTE, plan->size[rank]);
    }
    for (int i = 0; i < plan->slots; i++) {
        const slot_t *slot = &plan->slot[i];

        element_fill(slot->element, &ops[REPLACE_INDEX], model_slot(lane, i), (size_t) slot->count,
                     fp_key(i, 0, 11, 0) ^ plan->key);
    }
}

static void fill_memory(lane_t *lane)
{
    for (int i = 0; i < lane->plan.blocks[lane->rank]; i++) {
        memcpy(lane->block[i], lane->model[lane->rank] + block_start(&lane->plan, lane->rank, i),
               block_length(&lane->plan, lane->rank, i));
    }
}

/* ---------------------------------------------------------------------- making */

static bool all_equal(const window_plan_t *plan, bool sizes)
{
    for (int rank = 1; rank < plan->ranks; rank++) {
        if (sizes ? plan->size[rank] != plan->size[0] : plan->unit[rank] != plan->unit[0]) {
            return false;
        }
    }
    return true;
}

static MPI_Info make_info(const window_plan_t *plan)
{
    MPI_Info info;

    FP(MPI_Info_create(&info));
    FP(MPI_Info_set(info, "no_locks", plan->no_locks ? "true" : "false"));
    if (plan->unordered) {
        FP(MPI_Info_set(info, "accumulate_ordering", "none"));
    }
    if (plan->same_op) {
        FP(MPI_Info_set(info, "accumulate_ops", "same_op"));
    }
    if (plan->noncontiguous) {
        FP(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    }
    if (all_equal(plan, true)) {
        FP(MPI_Info_set(info, "same_size", "true"));
    }
    if (all_equal(plan, false)) {
        FP(MPI_Info_set(info, "same_disp_unit", "true"));
    }
    return info;
}

static void share_addresses(lane_t *lane)
{
    MPI_Aint mine[MAX_SLOTS] = {0};

    for (int i = 0; i < lane->plan.slots; i++) {
        if (lane->plan.slot[i].target == lane->rank) {
            FP(MPI_Get_address(window_slot(lane, i), &mine[i]));
        }
    }
    FP(MPI_Allreduce(mine, lane->address, lane->plan.slots, MPI_AINT, MPI_SUM, lane->side));
}

static void attach(lane_t *lane, int block)
{
    const size_t length = block_length(&lane->plan, lane->rank, block);

    lane->block[block] = fp_alloc(length);
    FP(MPI_Win_attach(lane->win, lane->block[block], (MPI_Aint) length));
}

static void make_dynamic(lane_t *lane, MPI_Info info)
{
    FP(MPI_Win_create_dynamic(info, lane->base, &lane->win));
    for (int i = 0; i < lane->plan.blocks[lane->rank]; i++) {
        attach(lane, i);
    }
}

static void query_shared(lane_t *lane)
{
    for (int rank = 0; rank < lane->ranks; rank++) {
        MPI_Aint size;
        int unit;

        FP(MPI_Win_shared_query(lane->win, rank, &size, &unit, &lane->shared[rank]));
        CHECK(lane->plan.stock ? size >= (MPI_Aint) lane->plan.size[rank]
                               : size == (MPI_Aint) lane->plan.size[rank]);
        CHECK_INT(unit, lane->plan.unit[rank]);
    }
}

static void make(lane_t *lane, MPI_Info info)
{
    const MPI_Aint size = (MPI_Aint) lane->plan.size[lane->rank];
    const int unit = lane->plan.unit[lane->rank];

    switch (lane->plan.kind) {
    case CREATED:
        lane->block[0] = fp_alloc((size_t) size);
        FP(MPI_Win_create(lane->block[0], size, unit, info, lane->base, &lane->win));
        break;
    case ALLOCATED:
        FP(MPI_Win_allocate(size, unit, info, lane->base, &lane->block[0], &lane->win));
        break;
    case SHARED:
        if (FP(MPI_Win_allocate_shared(size, unit, info, lane->base, &lane->block[0], &lane->win))) {
            query_shared(lane);
        }
        break;
    default:
        make_dynamic(lane, info);
        break;
    }
    if (MPI_WIN_NULL == lane->win) {
        MPI_Abort(MPI_COMM_WORLD, 1); /* and FP has said why */
    }
    FP(MPI_Win_set_errhandler(lane->win, MPI_ERRORS_RETURN));
}

void window_make(lane_t *lane, int number)
{
    MPI_Info info;

    lane->number = number;
    plan_window(&lane->plan, lane->options, number, lane->index, lane->ranks);
    lane_case(lane, "make", NULL);
    lane->win = MPI_WIN_NULL;
    fill_models(lane);
    info = make_info(&lane->plan);
    make(lane, info);
    FP(MPI_Info_free(&info));
    fill_memory(lane);
    if (DYNAMIC == lane->plan.kind) {
        share_addresses(lane);
    }
    FP(MPI_Barrier(lane->side));
}

void window_move(lane_t *lane)
{
    for (int i = 0; i < lane->plan.blocks[lane->rank]; i++) {
        unsigned char *before = lane->block[i];

        if (lane_one_in(lane, 4)) {
            attach(lane, i);
            memcpy(lane->block[i], before, block_length(&lane->plan, lane->rank, i));
            FP(MPI_Win_detach(lane->win, before));
            fp_free(before);
        }
    }
    share_addresses(lane);
}

/* ------------------------------------------------------------------------- end */

static void free_types(lane_t *lane)
{
    for (int i = 0; i < SHAPES; i++) {
        for (int j = 0; j < ELEMENTS; j++) {
            if (MPI_DATATYPE_NULL != lane->made[i][j]) {
                FP(MPI_Type_free(&lane->made[i][j]));
            }
        }
    }
}

void window_free(lane_t *lane)
{
    const bool own = CREATED == lane->plan.kind || DYNAMIC == lane->plan.kind;

    lane_case(lane, "free", NULL);
    if (DYNAMIC == lane->plan.kind) {
        for (int i = 0; i < lane->plan.blocks[lane->rank]; i++) {
            FP(MPI_Win_detach(lane->win, lane->block[i]));
        }
    }
    FP(MPI_Win_free(&lane->win));
    for (int i = 0; own && i < lane->plan.blocks[lane->rank]; i++) {
        fp_free(lane->block[i]);
    }
    if (CREATED == lane->plan.kind && 0 == lane->plan.blocks[lane->rank]) {
        fp_free(lane->block[0]);
    }
    free_types(lane);
    for (int rank = 0; rank < lane->ranks; rank++) {
        free(lane->model[rank]);
    }
}
