/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Requests of operations that wait for data.
 */
#include "ompi_config.h"

#include "osc_fastpath_request.h"
#include "osc_fastpath_wake.h"

/* A request goes back to its list when it is complete and has been freed, whatever comes first. */
static void end_one(mca_osc_fastpath_request_t *request)
{
    /* acquire and release: the second one sees what the first has stored */
    if (1 == atomic_fetch_add_explicit(&request->ends, 1, memory_order_acq_rel)) {
        mca_osc_fastpath_request_drop(request);
    }
}

static int request_free(ompi_request_t **request)
{
    end_one((mca_osc_fastpath_request_t *) *request);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static int request_cancel(ompi_request_t *request, int complete)
{
    (void) request;
    (void) complete;
    return MPI_ERR_REQUEST; /* MPI 3.1, 11.3.5: such requests cannot be cancelled */
}

static void construct_request(mca_osc_fastpath_request_t *request)
{
    request->super.req_type = OMPI_REQUEST_WIN;
    request->super.req_free = request_free;
    request->super.req_cancel = request_cancel;
    OBJ_CONSTRUCT(&request->ended, opal_list_item_t);
}

OBJ_CLASS_INSTANCE(mca_osc_fastpath_request_t, ompi_request_t, construct_request, NULL);

mca_osc_fastpath_request_t *mca_osc_fastpath_request_make(ompi_win_t *win)
{
    mca_osc_fastpath_request_t *request =
        (mca_osc_fastpath_request_t *) opal_free_list_get(&mca_osc_fastpath_component.requests);

    if (NULL == request) {
        return NULL;
    }
    OMPI_REQUEST_INIT(&request->super, false);
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    request->super.req_mpi_object.win = win;
    request->super.req_status.MPI_ERROR = MPI_SUCCESS;
    request->super.req_status._cancelled = 0;
    atomic_store_explicit(&request->ends, 0, memory_order_relaxed);
    return request;
}

void mca_osc_fastpath_request_complete(mca_osc_fastpath_request_t *request, int error)
{
    request->super.req_status.MPI_ERROR = error;
    (void) ompi_request_complete(&request->super, true);
    mca_osc_fastpath_wake_threads();
    end_one(request);
}

void mca_osc_fastpath_request_drop(mca_osc_fastpath_request_t *request)
{
    if (NULL != request) {
        OMPI_REQUEST_FINI(&request->super);
        opal_free_list_return(&mca_osc_fastpath_component.requests, (opal_free_list_item_t *) request);
    }
}
