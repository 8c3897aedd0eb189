/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Waiting for requests.
 */
#ifndef MCA_PML_FASTPATH_WAIT_H
#define MCA_PML_FASTPATH_WAIT_H

#include "pml_fastpath.h"

/** Put our functions into Open MPI's table of those that wait, unless nothing would be gained: no
 * btl/fastsm. */
void mca_pml_fastpath_waits_install(void);

/** Put back what was there before. Does nothing when ours are not there. */
void mca_pml_fastpath_waits_remove(void);

/* As Open MPI's table of functions has them. Where nothing is complete they make progress once, or look for a
 * message of the request's peer only. All return OMPI_SUCCESS, or MPI_ERR_IN_STATUS or the request's error as
 * Open MPI's own do. */

/** MPI_Test. @param completed  set to whether it is; *request to MPI_REQUEST_NULL then, unless persistent */
int mca_pml_fastpath_test_one(ompi_request_t **request, int *completed, ompi_status_public_t *status);
/** MPI_Testall. @param statuses  may be MPI_STATUSES_IGNORE */
int mca_pml_fastpath_test_all(size_t count, ompi_request_t **requests, int *completed,
                              ompi_status_public_t *statuses);
/** MPI_Testany. @param index  set to the complete one's, or MPI_UNDEFINED */
int mca_pml_fastpath_test_any(size_t count, ompi_request_t **requests, int *index, int *completed,
                              ompi_status_public_t *status);
/** MPI_Testsome. @param indices  room for `count`; the first *outcount are set */
int mca_pml_fastpath_test_some(size_t count, ompi_request_t **requests, int *outcount, int *indices,
                               ompi_status_public_t *statuses);

/** mca_pml_fastpath_await() for a request that is not complete. */
void mca_pml_fastpath_await_pending(ompi_request_t *request);

/** Wait for a request of ours as a blocking call does. */
static inline void mca_pml_fastpath_await(ompi_request_t *request)
{
    if (!REQUEST_COMPLETE(request)) {
        mca_pml_fastpath_await_pending(request);
    }
    opal_atomic_rmb(); /* what was written before it was complete */
}

#endif /* MCA_PML_FASTPATH_WAIT_H */
