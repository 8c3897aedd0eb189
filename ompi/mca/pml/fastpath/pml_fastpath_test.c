/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Test* of requests: our part of Open MPI's table of such functions, as pml_fastpath_wait.c has it.
 */
#include "ompi_config.h"

#include "opal/runtime/opal_progress.h"

#include "pml_fastpath_pace.h"
#include "pml_fastpath_requests.h"
#include "pml_fastpath_wait.h"

/* In jobs with fault tolerance Open MPI's own functions find out whether a pending request can still
 * complete. */
static inline bool stays_pending(mca_pml_fastpath_request_kind_t kind)
{
    return MCA_PML_FASTPATH_REQUEST_PENDING == kind && OPAL_LIKELY(!mca_pml_fastpath_ft());
}

/* Poll the sender that a pending request waits for; if nothing has come, everything progresses. @return
 * whether the request, or another one, may be complete now */
static bool progress_for(const ompi_request_t *request)
{
    const mca_pml_fastpath_poll_target_t target = mca_pml_fastpath_poll_target_of(request);

    if (NULL != target.endpoint && 0 < mca_pml_fastpath_poll_sender(&target, 1)) {
        return true;
    }
    opal_progress();
    return REQUEST_COMPLETE(request);
}

/* Find the first of several requests that is complete, else the first that is pending. @return of what kind
 * it is, EMPTY: there is neither */
static mca_pml_fastpath_request_kind_t find(size_t count, ompi_request_t **requests, size_t *at)
{
    size_t pending = count;

    for (size_t i = 0; i < count; ++i) {
        const mca_pml_fastpath_request_kind_t kind = mca_pml_fastpath_request_kind_of(requests[i]);

        if (MCA_PML_FASTPATH_REQUEST_PENDING == kind) {
            pending = i < pending ? i : pending;
        } else if (MCA_PML_FASTPATH_REQUEST_EMPTY != kind) {
            *at = i;
            return kind;
        }
    }
    *at = pending;
    return pending < count ? MCA_PML_FASTPATH_REQUEST_PENDING : MCA_PML_FASTPATH_REQUEST_EMPTY;
}

/* The same, but first everything has its turn if none is complete. */
static mca_pml_fastpath_request_kind_t progress_and_find(size_t count, ompi_request_t **requests, size_t *at)
{
    const mca_pml_fastpath_request_kind_t kind = find(count, requests, at);

    return stays_pending(kind) && progress_for(requests[*at]) ? find(count, requests, at) : kind;
}

/* @return the index of the first pending request from one on, or count */
static inline size_t first_pending(size_t count, ompi_request_t **requests, size_t from)
{
    while (from < count
           && MCA_PML_FASTPATH_REQUEST_PENDING != mca_pml_fastpath_request_kind_of(requests[from])) {
        ++from;
    }
    return from;
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
    if (stays_pending(kind) && progress_for(*request)) {
        kind = mca_pml_fastpath_request_kind_of(*request);
    }
    *completed = MCA_PML_FASTPATH_REQUEST_SIMPLE == kind;
    if (*completed) {
        return mca_pml_fastpath_finish_request(request, status);
    }
    return stays_pending(kind) ? OMPI_SUCCESS
                               : mca_pml_fastpath_original_requests.req_test(request, completed, status);
}

int mca_pml_fastpath_test_all(size_t count, ompi_request_t **requests, int *completed,
                              ompi_status_public_t *statuses)
{
    size_t pending;

    mca_pml_fastpath_pace_wait();
    pending = first_pending(count, requests, 0);
    if (pending < count && OPAL_LIKELY(!mca_pml_fastpath_ft())) {
        if (progress_for(requests[pending])) {
            pending = first_pending(count, requests, pending);
        }
        if (pending < count) {
            *completed = false;
            return OMPI_SUCCESS;
        }
    }
    if (!all_simple(count, requests)) {
        return mca_pml_fastpath_original_requests.req_test_all(count, requests, completed, statuses);
    }
    *completed = true;
    return mca_pml_fastpath_finish_all(count, requests, statuses);
}

int mca_pml_fastpath_test_any(size_t count, ompi_request_t **requests, int *index, int *completed,
                              ompi_status_public_t *status)
{
    mca_pml_fastpath_request_kind_t kind;
    size_t at;

    mca_pml_fastpath_pace_wait();
    kind = progress_and_find(count, requests, &at);
    *completed = MCA_PML_FASTPATH_REQUEST_SIMPLE == kind;
    if (*completed) {
        *index = (int) at;
        return mca_pml_fastpath_finish_request(&requests[at], status);
    }
    *index = MPI_UNDEFINED;
    return stays_pending(kind)
               ? OMPI_SUCCESS
               : mca_pml_fastpath_original_requests.req_test_any(count, requests, index, completed, status);
}

int mca_pml_fastpath_test_some(size_t count, ompi_request_t **requests, int *outcount, int *indices,
                               ompi_status_public_t *statuses)
{
    mca_pml_fastpath_request_kind_t kind;
    size_t at;
    int rc;

    mca_pml_fastpath_pace_wait();
    kind = progress_and_find(count, requests, &at);
    if (MCA_PML_FASTPATH_REQUEST_SIMPLE == kind
        && mca_pml_fastpath_finish_some(count, requests, outcount, indices, statuses, &rc)) {
        return rc;
    }
    *outcount = 0;
    return stays_pending(kind) ? OMPI_SUCCESS
                               : mca_pml_fastpath_original_requests.req_test_some(count, requests, outcount,
                                                                                  indices, statuses);
}
