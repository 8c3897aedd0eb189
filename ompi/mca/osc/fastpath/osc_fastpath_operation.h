/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * One-sided operations as the verbs hand them on.
 */
#ifndef MCA_OSC_FASTPATH_OPERATION_H
#define MCA_OSC_FASTPATH_OPERATION_H

#include "osc_fastpath.h"
#include "osc_fastpath_memory.h"

/** What a verb of MPI asks for. Addresses and types are the caller's and valid during the call. */
typedef struct {
    uint8_t kind; /**< MCA_OSC_FASTPATH_PUT ... */
    int target;
    ptrdiff_t disp;
    size_t count;          /**< elements at the target */
    ompi_datatype_t *type; /**< of the target */
    const void *origin;    /**< data that goes to the target; not for a get */
    size_t origin_count;
    ompi_datatype_t *origin_type;
    const void *compare; /**< compare and swap */
    void *result;        /**< where data from the target goes */
    size_t result_count;
    ompi_datatype_t *result_type;
    ompi_op_t *op;            /**< of an update */
    ompi_datatype_t *element; /**< of an update: predefined type of the elements */
    ompi_request_t **request; /**< one of MPI_Rput ...: where the request goes; else NULL */

    /* filled in by mca_osc_fastpath_issue(): packed bytes from the begin of the target's buffer */
    size_t bytes; /**< what is written, read or updated; no more than any buffer has room for */
    size_t sent;  /**< of these, from the begin: those that data of the origin goes to */
} mca_osc_fastpath_operation_t;

/**
 * Carry out an operation, or bring it on its way, by the access that the target has. Data has to fit where it
 * goes, and need not fill it (MPI-4.0, sections 12.3.1, 12.3.2 and 12.3.4).
 *
 * @return OMPI_SUCCESS; OMPI_ERR_RMA_SYNC without an access epoch; MPI_ERR_TRUNCATE where data does not fit;
 *         OMPI_ERR_RMA_RANGE; another error
 */
int mca_osc_fastpath_issue(ompi_win_t *win, mca_osc_fastpath_operation_t *operation);

/** COPY: put (a small one is made by the next mca_osc_fastpath_make_puts() at the latest) or get, at memory
 * in the target's process. @return OMPI_SUCCESS, MPI_ERR_PROC_FAILED, OMPI_ERR_RMA_RANGE where there is no
 * memory, or OMPI_ERR_OUT_OF_RESOURCE */
int mca_osc_fastpath_copy_move(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_operation_t *operation,
                               const mca_osc_fastpath_memory_t *memory);

/** COPY: carry out an update, in the target's accumulate lock. @return as above */
int mca_osc_fastpath_copy_update(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_update_t *update);

/** DIRECT, COPY: carry it out now. */
int mca_osc_fastpath_direct(mca_osc_fastpath_peer_t *peer, mca_osc_fastpath_operation_t *operation);

/** MESSAGE: put it into packets. Called and returns outside module.lock. */
int mca_osc_fastpath_message(mca_osc_fastpath_peer_t *peer, mca_osc_fastpath_operation_t *operation);

#endif /* MCA_OSC_FASTPATH_OPERATION_H */
