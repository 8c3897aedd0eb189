/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Put, MPI_Get, MPI_Rput, MPI_Rget.
 */
#include "ompi_config.h"

#include "osc_fastpath_fast.h"
#include "osc_fastpath_operation.h"

int mca_osc_fastpath_put(const void *origin_addr, fastpath_osc_count_t origin_count,
                         ompi_datatype_t *origin_type, int target, ptrdiff_t disp,
                         fastpath_osc_count_t target_count, ompi_datatype_t *target_type, ompi_win_t *win)
{
    size_t bytes;
    char *memory = mca_osc_fastpath_copy_target(win, (size_t) origin_count, origin_type, target, disp,
                                                (size_t) target_count, target_type, &bytes);

    if (OPAL_LIKELY(NULL != memory)) {
        mca_osc_fastpath_move(memory, origin_addr, bytes);
        return OMPI_SUCCESS;
    }
    return mca_osc_fastpath_rput(origin_addr, origin_count, origin_type, target, disp, target_count,
                                 target_type, win, NULL);
}

int mca_osc_fastpath_get(void *origin_addr, fastpath_osc_count_t origin_count, ompi_datatype_t *origin_type,
                         int target, ptrdiff_t disp, fastpath_osc_count_t target_count,
                         ompi_datatype_t *target_type, ompi_win_t *win)
{
    size_t bytes;
    const char *memory = mca_osc_fastpath_copy_target(win, (size_t) origin_count, origin_type, target, disp,
                                                      (size_t) target_count, target_type, &bytes);

    if (OPAL_LIKELY(NULL != memory)) {
        mca_osc_fastpath_move(origin_addr, memory, bytes);
        return OMPI_SUCCESS;
    }
    return mca_osc_fastpath_rget(origin_addr, origin_count, origin_type, target, disp, target_count,
                                 target_type, win, NULL);
}

int mca_osc_fastpath_rput(const void *origin_addr, fastpath_osc_count_t origin_count,
                          ompi_datatype_t *origin_type, int target, ptrdiff_t disp,
                          fastpath_osc_count_t target_count, ompi_datatype_t *target_type, ompi_win_t *win,
                          ompi_request_t **request)
{
    mca_osc_fastpath_operation_t operation = {.kind = MCA_OSC_FASTPATH_PUT,
                                              .request = request,
                                              .target = target,
                                              .disp = disp,
                                              .count = (size_t) target_count,
                                              .type = target_type,
                                              .origin = origin_addr,
                                              .origin_count = (size_t) origin_count,
                                              .origin_type = origin_type};

    return mca_osc_fastpath_issue(win, &operation);
}

int mca_osc_fastpath_rget(void *origin_addr, fastpath_osc_count_t origin_count, ompi_datatype_t *origin_type,
                          int target, ptrdiff_t disp, fastpath_osc_count_t target_count,
                          ompi_datatype_t *target_type, ompi_win_t *win, ompi_request_t **request)
{
    mca_osc_fastpath_operation_t operation = {.kind = MCA_OSC_FASTPATH_GET,
                                              .request = request,
                                              .target = target,
                                              .disp = disp,
                                              .count = (size_t) target_count,
                                              .type = target_type,
                                              .result = origin_addr,
                                              .result_count = (size_t) origin_count,
                                              .result_type = origin_type};

    return mca_osc_fastpath_issue(win, &operation);
}
