/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Reading and writing a peer's memory.
 */
#ifndef MCA_BTL_FASTSM_GET_H
#define MCA_BTL_FASTSM_GET_H

#include "btl_fastsm.h"

/** Sets up what of the module has to do with reading: its flags, and registration where that is needed. */
void mca_btl_fastsm_get_init(mca_btl_base_module_t *btl);
/** Finds out whether a new peer's memory can be read and written to, and tells it about the former. */
void mca_btl_fastsm_get_begin(mca_btl_base_endpoint_t *endpoint);
/** The peer goes: forgets how its memory is read. */
void mca_btl_fastsm_get_end(mca_btl_base_endpoint_t *endpoint);
/**
 * btl_get: reads `size` bytes of the peer's memory.  Done when it returns; cbfunc has been called then.
 *
 * @return  OPAL_SUCCESS; OPAL_ERROR when this peer's memory cannot be read, and cbfunc is not called
 */
int mca_btl_fastsm_get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint, void *local_address,
                       uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
                       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
                       mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata);

/** The extension's write (btl_fastsm_ext.h). */
bool mca_btl_fastsm_write(mca_btl_base_endpoint_t *endpoint, const void *local, uint64_t remote, size_t size);
/** The extension's copies (btl_fastsm_ext.h). */
void mca_btl_fastsm_copies(mca_btl_base_endpoint_t *endpoint, mca_btl_fastsm_copies_t *copies);
/** The extension's await (btl_fastsm_ext.h). */
void mca_btl_fastsm_await(mca_btl_base_module_t *btl, uint32_t place, uint64_t name);
/** The extension's await_end (btl_fastsm_ext.h). */
bool mca_btl_fastsm_await_end(mca_btl_base_module_t *btl, uint32_t place, uint64_t name);
/** The extension's claim (btl_fastsm_ext.h). */
bool mca_btl_fastsm_claim(mca_btl_base_endpoint_t *endpoint, uint64_t name);
/** The extension's is_copying (btl_fastsm_ext.h). */
bool mca_btl_fastsm_is_copying(mca_btl_base_endpoint_t *endpoint);

#endif /* MCA_BTL_FASTSM_GET_H */
