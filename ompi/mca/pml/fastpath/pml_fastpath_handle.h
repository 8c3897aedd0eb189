/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * How headers name what is under way here: a peer is told a handle, never an
 * address, and gives it back. A handle is the index of an entry in a table and
 * the number of the entry's use, so that one that is damaged, made up or out of
 * date names nothing, and finding that out reads no memory but the table's.
 *
 * Requests get one when the first header leaves that has to name them: a
 * rendezvous, an answer to one, or a cancel. Eager messages need none.
 */
#ifndef MCA_PML_FASTPATH_HANDLE_H
#define MCA_PML_FASTPATH_HANDLE_H

#include "pml_fastpath_check.h"

/** No handle has this value. */
#define MCA_PML_FASTPATH_HANDLE_NONE UINT64_C(0)

/** What a handle names. One of another kind is as good as none. */
typedef enum {
    MCA_PML_FASTPATH_HANDLE_FREE, /**< nothing */
    MCA_PML_FASTPATH_HANDLE_SEND, /**< mca_pml_fastpath_send_request_t */
    MCA_PML_FASTPATH_HANDLE_RECV, /**< mca_pml_fastpath_recv_request_t */
    MCA_PML_FASTPATH_HANDLE_RDMA  /**< mca_pml_fastpath_rdma_t: a PUT that has been asked for */
} mca_pml_fastpath_handle_kind_t;

/** Prepare the table. @return OMPI_SUCCESS or OMPI_ERR_OUT_OF_RESOURCE */
int mca_pml_fastpath_handles_init(void);
/** Give the table back. */
void mca_pml_fastpath_handles_fini(void);

/**
 * Name something. Ends the job when memory is short.
 *
 * @param todo  counts who needs the object, which has completed when it is 0; or NULL for what is only taken
 * @return the handle, valid until mca_pml_fastpath_handle_end() or _take()
 */
uint64_t mca_pml_fastpath_handle_new(mca_pml_fastpath_handle_kind_t kind, void *object,
                                     opal_atomic_int64_t *todo);

/**
 * Find what a peer has named and keep it from completing: adds 1 to its todo, for the caller to take out.
 * @return the object, or NULL when nothing of that kind has this handle, or it has just completed
 */
void *mca_pml_fastpath_handle_hold(mca_pml_fastpath_handle_kind_t kind, uint64_t handle);

/** The same for the request that a header from a BTL names. @return NULL after mca_pml_fastpath_stray() */
static inline void *mca_pml_fastpath_handle_named(mca_pml_fastpath_handle_kind_t kind, uint64_t handle,
                                                  const mca_btl_base_module_t *btl, uint8_t type)
{
    void *req = mca_pml_fastpath_handle_hold(kind, handle);

    if (OPAL_UNLIKELY(NULL == req)) {
        mca_pml_fastpath_stray(
            btl, type, MCA_PML_FASTPATH_HANDLE_SEND == kind ? "send that it names" : "receive that it names");
    }
    return req;
}

/** Find what a peer has named, and end its handle. @return the object, or NULL as above */
void *mca_pml_fastpath_handle_take(mca_pml_fastpath_handle_kind_t kind, uint64_t handle);

/** End a handle if there is one: *handle becomes MCA_PML_FASTPATH_HANDLE_NONE. */
void mca_pml_fastpath_handle_end(uint64_t *handle);

#endif /* MCA_PML_FASTPATH_HANDLE_H */
