/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Requests of MPI_Rget and MPI_Rget_accumulate that wait for data. All other requests are complete when they
 * are made.
 */
#ifndef MCA_OSC_FASTPATH_REQUEST_H
#define MCA_OSC_FASTPATH_REQUEST_H

#include "osc_fastpath.h"

/** A request. */
typedef struct mca_osc_fastpath_request_t {
    ompi_request_t super;
    opal_list_item_t ended; /**< links requests that have ended and are not yet complete */
    _Atomic int ends;       /**< completion and MPI_Request_free: the second gives the request back */
} mca_osc_fastpath_request_t;
OBJ_CLASS_DECLARATION(mca_osc_fastpath_request_t);

/** @return a new active request of a window, or NULL when there is no memory */
mca_osc_fastpath_request_t *mca_osc_fastpath_request_make(ompi_win_t *win);

/** Complete a request; outside module.lock. */
void mca_osc_fastpath_request_complete(mca_osc_fastpath_request_t *request, int error);

/** Give back a request that nobody has, or NULL. */
void mca_osc_fastpath_request_drop(mca_osc_fastpath_request_t *request);

#endif /* MCA_OSC_FASTPATH_REQUEST_H */
