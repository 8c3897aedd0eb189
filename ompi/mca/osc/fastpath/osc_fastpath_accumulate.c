/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Accumulate, MPI_Get_accumulate and their forms with requests, MPI_Fetch_and_op, MPI_Compare_and_swap.
 */
#include "ompi_config.h"

#include "osc_fastpath_fast.h"
#include "osc_fastpath_operation.h"

/* MPI 3.1, 11.3.4: integers, logicals and bytes, not derived. */
static bool may_compare(const ompi_datatype_t *type)
{
    const int kind = type->super.flags & OMPI_DATATYPE_FLAG_DATA_TYPE;

    return ompi_datatype_is_predefined(type) && OMPI_DATATYPE_FLAG_DATA_FLOAT != kind
           && OMPI_DATATYPE_FLAG_DATA_COMPLEX != kind;
}

static inline bool is_one(size_t origin_count, const ompi_datatype_t *origin_type, size_t target_count,
                          const ompi_datatype_t *target_type)
{
    return 1 == origin_count && 1 == target_count && origin_type == target_type;
}

/* Any operation but MPI_SUM, which all integers have. Not inline, so that sums are short. @return whether it
 * is one for integers of this type */
static __opal_attribute_noinline__ bool one_integer_by(ompi_op_t *op, ompi_datatype_t *type, void *at,
                                                       const void *origin, void *result)
{
    mca_osc_fastpath_integer_t found;

    if (!ompi_op_is_intrinsic(op) || !mca_osc_fastpath_op_defined(op, type)) {
        return false;
    }
    found = mca_osc_fastpath_atomic_update(op, type, at, origin);
    if (NULL != result) {
        mca_osc_fastpath_integer_copy(result, &found, type->super.size);
    }
    return true;
}

/* Update an integer that is mapped here, if that is all. @return whether it was */
static inline bool one_integer(ompi_win_t *win, const void *origin, void *result, ompi_datatype_t *type,
                               int target, ptrdiff_t disp, ompi_op_t *op)
{
    void *at = mca_osc_fastpath_atomic_target(win, type, target, disp);
    mca_osc_fastpath_integer_t found;

    if (NULL == at) {
        return false;
    }
    if (&ompi_mpi_op_sum.op != op) {
        return one_integer_by(op, type, at, origin, result);
    }
    found =
        mca_osc_fastpath_atomic_add(at, type->super.size, mca_osc_fastpath_integer(origin, type->super.size));
    if (NULL != result) {
        mca_osc_fastpath_integer_copy(result, &found, type->super.size);
    }
    return true;
}

/* Fill in what is updated how. @return OMPI_SUCCESS, or an error class for what cannot be updated */
static int update(ompi_win_t *win, mca_osc_fastpath_operation_t *operation)
{
    ompi_datatype_t *element = mca_osc_fastpath_element(operation->type);

    if (NULL == element) {
        return MPI_ERR_TYPE;
    }
    if (MCA_OSC_FASTPATH_COMPARE_AND_SWAP == operation->kind && !may_compare(operation->type)) {
        return MPI_ERR_TYPE;
    }
    if (MCA_OSC_FASTPATH_COMPARE_AND_SWAP != operation->kind
        && (0 > mca_osc_fastpath_op_index(operation->op)
            || !mca_osc_fastpath_op_defined(operation->op, element))) {
        return MPI_ERR_OP;
    }
    /* A target knows an element by its id, which MPI_CHAR shares with an integer: the same here, or one of us
     * would update it with the accumulate lock and the other one without. */
    operation->element = mca_osc_fastpath_predefined((uint32_t) element->id);
    return mca_osc_fastpath_issue(win, operation);
}

int mca_osc_fastpath_accumulate(const void *origin_addr, fastpath_osc_count_t origin_count,
                                ompi_datatype_t *origin_type, int target, ptrdiff_t disp,
                                fastpath_osc_count_t target_count, ompi_datatype_t *target_type,
                                ompi_op_t *op, ompi_win_t *win)
{
    if (is_one(origin_count, origin_type, target_count, target_type)
        && one_integer(win, origin_addr, NULL, target_type, target, disp, op)) {
        return OMPI_SUCCESS;
    }
    return mca_osc_fastpath_raccumulate(origin_addr, origin_count, origin_type, target, disp, target_count,
                                        target_type, op, win, NULL);
}

int mca_osc_fastpath_raccumulate(const void *origin_addr, fastpath_osc_count_t origin_count,
                                 ompi_datatype_t *origin_type, int target, ptrdiff_t disp,
                                 fastpath_osc_count_t target_count, ompi_datatype_t *target_type,
                                 ompi_op_t *op, ompi_win_t *win, ompi_request_t **request)
{
    return mca_osc_fastpath_rget_accumulate(origin_addr, origin_count, origin_type, NULL, 0, NULL, target,
                                            disp, target_count, target_type, op, win, request);
}

/* Without a type of the result, which MPI's callers have, it is an accumulate. */
int mca_osc_fastpath_rget_accumulate(const void *origin_addr, fastpath_osc_count_t origin_count,
                                     ompi_datatype_t *origin_type, void *result_addr,
                                     fastpath_osc_count_t result_count, ompi_datatype_t *result_type,
                                     int target, ptrdiff_t disp, fastpath_osc_count_t target_count,
                                     ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win,
                                     ompi_request_t **request)
{
    mca_osc_fastpath_operation_t operation = {.kind = NULL == result_type ? MCA_OSC_FASTPATH_ACCUMULATE
                                                                          : MCA_OSC_FASTPATH_GET_ACCUMULATE,
                                              .request = request,
                                              .target = target,
                                              .disp = disp,
                                              .count = (size_t) target_count,
                                              .type = target_type,
                                              .origin = origin_addr,
                                              .origin_count = (size_t) origin_count,
                                              .origin_type = origin_type,
                                              .result = result_addr,
                                              .result_count = (size_t) result_count,
                                              .result_type = result_type,
                                              .op = op};

    return update(win, &operation);
}

int mca_osc_fastpath_get_accumulate(const void *origin_addr, fastpath_osc_count_t origin_count,
                                    ompi_datatype_t *origin_type, void *result_addr,
                                    fastpath_osc_count_t result_count, ompi_datatype_t *result_type,
                                    int target, ptrdiff_t disp, fastpath_osc_count_t target_count,
                                    ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win)
{
    if (is_one(result_count, result_type, target_count, target_type)
        && (&ompi_mpi_op_no_op.op == op || is_one(origin_count, origin_type, target_count, target_type))
        && one_integer(win, origin_addr, result_addr, target_type, target, disp, op)) {
        return OMPI_SUCCESS;
    }
    return mca_osc_fastpath_rget_accumulate(origin_addr, origin_count, origin_type, result_addr, result_count,
                                            result_type, target, disp, target_count, target_type, op, win,
                                            NULL);
}

int mca_osc_fastpath_fetch_and_op(const void *origin_addr, void *result_addr, ompi_datatype_t *type,
                                  int target, ptrdiff_t disp, ompi_op_t *op, ompi_win_t *win)
{
    if (one_integer(win, origin_addr, result_addr, type, target, disp, op)) {
        return OMPI_SUCCESS;
    }
    if (!ompi_datatype_is_predefined(type)) {
        return MPI_ERR_TYPE;
    }
    return mca_osc_fastpath_rget_accumulate(origin_addr, 1, type, result_addr, 1, type, target, disp, 1, type,
                                            op, win, NULL);
}

/* The longest integer that may be compared: Fortran's INTEGER*16. */
#define COMPARED_MAX 16

/* @return where an element of MPI_Compare_and_swap's can be read: where it is, or in `room`, to which an
 * accelerator's has been packed */
static const void *on_host(const void *element, ompi_datatype_t *type, char room[COMPARED_MAX])
{
    mca_osc_fastpath_cursor_t cursor;

    if (OPAL_LIKELY(fastpath_is_host_memory(element)) || COMPARED_MAX < type->super.size) {
        return element;
    }
    mca_osc_fastpath_cursor_begin(&cursor, element, 1, type, false);
    (void) mca_osc_fastpath_cursor_pack(&cursor, room, COMPARED_MAX);
    mca_osc_fastpath_cursor_end(&cursor);
    return room;
}

int mca_osc_fastpath_compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                                      ompi_datatype_t *type, int target, ptrdiff_t disp, ompi_win_t *win)
{
    void *at = mca_osc_fastpath_atomic_target(win, type, target, disp);
    mca_osc_fastpath_operation_t operation;
    char origin[COMPARED_MAX], compare[COMPARED_MAX];

    if (NULL != at) {
        const mca_osc_fastpath_integer_t found =
            mca_osc_fastpath_atomic_compare(type->super.size, at, compare_addr, origin_addr);

        mca_osc_fastpath_integer_copy(result_addr, &found, type->super.size);
        return OMPI_SUCCESS;
    }
    operation = (mca_osc_fastpath_operation_t){.kind = MCA_OSC_FASTPATH_COMPARE_AND_SWAP,
                                               .target = target,
                                               .disp = disp,
                                               .count = 1,
                                               .type = type,
                                               .origin = on_host(origin_addr, type, origin),
                                               .origin_count = 1,
                                               .origin_type = type,
                                               .compare = on_host(compare_addr, type, compare),
                                               .result = result_addr,
                                               .result_count = 1,
                                               .result_type = type};

    return update(win, &operation);
}
