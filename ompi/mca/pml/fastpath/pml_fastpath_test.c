/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Test* of requests: our part of Open MPI's table of such functions, as pml_fastpath_wait.c has it.
 */
#include "ompi_config.h"

#include "pml_fastpath_pace.h"
#include "pml_fastpath_requests.h"
#include "pml_fastpath_wait.h"

/* Poll once, where only one sender is awaited: the original functions go round all of them. */
static inline bool poll_once(size_t count, ompi_request_t **requests)
{
    const mca_pml_fastpath_poll_target_t target = mca_pml_fastpath_poll_target_of_any(count, requests);

    return NULL != target.endpoint && 0 < mca_pml_fastpath_poll_sender(target, 1);
}

/* Whether one of several requests is complete, perhaps after a poll. @return which one, or count */
static size_t poll_any(size_t count, ompi_request_t **requests, mca_pml_fastpath_request_kind_t *kind)
{
    const size_t at = mca_pml_fastpath_first_complete(count, requests, kind);

    return at == count && poll_once(count, requests) ? mca_pml_fastpath_first_complete(count, requests, kind)
                                                     : at;
}

/* Whether all of them have come to an end that can be handed out here. */
static bool all_simple(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        const mca_pml_fastpath_request_kind_t kind = mca_pml_fastpath_request_kind_of(requests[i]);

        if (MCA_PML_FASTPATH_REQUEST_SIMPLE != kind && MCA_PML_FASTPATH_REQUEST_EMPTY != kind) {
            return false;
        }
    }
    return true;
}

int mca_pml_fastpath_test_one(ompi_request_t **request, int *completed, ompi_status_public_t *status)
{
    mca_pml_fastpath_request_kind_t kind;

    mca_pml_fastpath_pace_wait();
    kind = mca_pml_fastpath_request_kind_of(*request);
    if (MCA_PML_FASTPATH_REQUEST_PENDING == kind && poll_once(1, request)) {
        kind = mca_pml_fastpath_request_kind_of(*request);
    }
    if (MCA_PML_FASTPATH_REQUEST_SIMPLE != kind) {
        return mca_pml_fastpath_original_requests.req_test(request, completed, status);
    }
    *completed = true;
    return mca_pml_fastpath_finish_request(request, status);
}

int mca_pml_fastpath_test_all(size_t count, ompi_request_t **requests, int *completed,
                              ompi_status_public_t *statuses)
{
    mca_pml_fastpath_pace_wait();
    if (!all_simple(count, requests) && (!poll_once(count, requests) || !all_simple(count, requests))) {
        return mca_pml_fastpath_original_requests.req_test_all(count, requests, completed, statuses);
    }
    *completed = true;
    return mca_pml_fastpath_finish_all(count, requests, statuses);
}

int mca_pml_fastpath_test_any(size_t count, ompi_request_t **requests, int *index, int *completed,
                              ompi_status_public_t *status)
{
    mca_pml_fastpath_request_kind_t kind = MCA_PML_FASTPATH_REQUEST_EMPTY;
    size_t at;

    mca_pml_fastpath_pace_wait();
    at = poll_any(count, requests, &kind);
    if (at == count || MCA_PML_FASTPATH_REQUEST_SIMPLE != kind) {
        return mca_pml_fastpath_original_requests.req_test_any(count, requests, index, completed, status);
    }
    *index = (int) at;
    *completed = true;
    return mca_pml_fastpath_finish_request(&requests[at], status);
}

int mca_pml_fastpath_test_some(size_t count, ompi_request_t **requests, int *outcount, int *indices,
                               ompi_status_public_t *statuses)
{
    mca_pml_fastpath_request_kind_t kind = MCA_PML_FASTPATH_REQUEST_EMPTY;
    int rc;

    mca_pml_fastpath_pace_wait();
    if (count > poll_any(count, requests, &kind)
        && mca_pml_fastpath_finish_some(count, requests, outcount, indices, statuses, &rc)) {
        return rc;
    }
    return mca_pml_fastpath_original_requests.req_test_some(count, requests, outcount, indices, statuses);
}
