/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What MPI_Wait* and MPI_Test* have in common, where it is longer.
 */
#include "ompi_config.h"

#include "pml_fastpath_requests.h"

ompi_request_fns_t mca_pml_fastpath_original_requests;

bool mca_pml_fastpath_finish_some(size_t count, ompi_request_t **requests, int *outcount, int *indices,
                                  ompi_status_public_t *statuses, int *rc)
{
    int done = 0;

    for (size_t i = 0; i < count; ++i) {
        const mca_pml_fastpath_request_kind_t kind = mca_pml_fastpath_request_kind_of(requests[i]);

        if (MCA_PML_FASTPATH_REQUEST_OTHER == kind) {
            return false;
        }
        if (MCA_PML_FASTPATH_REQUEST_SIMPLE == kind) {
            indices[done++] = (int) i;
        }
    }
    *rc = OMPI_SUCCESS;
    *outcount = done;
    for (int i = 0; i < done && OMPI_SUCCESS == *rc; ++i) {
        *rc = mca_pml_fastpath_finish_one_of(&requests[indices[i]], statuses, (size_t) i,
                                             !opal_using_threads());
    }
    return 0 < done;
}

int mca_pml_fastpath_deliver_long(mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member,
                                  int src)
{
    mca_pml_fastpath_target_t target = {.posted = true};

    if (OMPI_SUCCESS != mca_pml_fastpath_take_view(pml_comm, member, src, 1, &target)) {
        return FASTSM_SOMETHING_ELSE; /* its receive stays posted */
    }
    mca_pml_fastpath_delivered(member, &target);
    return 0;
}

int mca_pml_fastpath_poll_sender(const mca_pml_fastpath_poll_target_t *target, unsigned spins)
{
    mca_pml_fastpath_member_t *member = target->member;

    if (NULL != member && !opal_using_threads() && mca_pml_fastpath_member_has_slots(member)) {
        const int rc = mca_pml_fastpath_deliver_awaited(target->pml_comm, member, target->src,
                                                        fastsm_fifo_await(member->peer->in, &spins));

        if (FASTSM_SOMETHING_ELSE != rc) {
            return 0 == rc;
        }
        spins = 1;
    }
    return mca_pml_fastpath.fastsm_ext->poll(target->endpoint, spins);
}
