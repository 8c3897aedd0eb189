/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Dynamic peers: processes of other jobs on this node.
 */
#ifndef MCA_BTL_FASTSM_DYNAMIC_H
#define MCA_BTL_FASTSM_DYNAMIC_H

#include "btl_fastsm.h"

/** Starts with no dynamic peer.  Returns an OPAL error code. */
int mca_btl_fastsm_dynamic_init(void);
/**
 * Sends what is pending to dynamic peers, for as long as they are there to take
 * it, tells them that we leave, and frees what is known of them.  Open MPI
 * 4.1 never calls del_procs for them.
 */
void mca_btl_fastsm_dynamic_fini(void);
/**
 * The same as mca_btl_fastsm_endpoint_meet() for `proc`, a process of another job, which is admitted to our ring if
 * its segment can be mapped.
 *
 * @param endpoint  NULL when it is not reachable
 * @return          OPAL_SUCCESS in both cases; OPAL_ERR_OUT_OF_RESOURCE when there is no place to admit it or to
 *                  refuse it in, which has been said then
 */
int mca_btl_fastsm_dynamic_meet(opal_proc_t *proc, mca_btl_fastsm_endpoint_t **endpoint);
/** Asks where the pair with a dynamic peer stands.
 *  @param give_up  wait no longer */
void mca_btl_fastsm_dynamic_look(mca_btl_fastsm_endpoint_t *endpoint, bool give_up);
/** mca_btl_fastsm_endpoint_settle() for a dynamic peer.  The caller does not have the endpoint when it returns
 *  false. */
bool mca_btl_fastsm_dynamic_settle(mca_btl_fastsm_endpoint_t *endpoint);
/** Forgets the peer and frees its endpoint, when all who got it have said so. */
void mca_btl_fastsm_dynamic_disconnect(mca_btl_fastsm_endpoint_t *endpoint);

/** Forgets dynamic peers that have ended, unless another thread is at work on dynamic peers. */
void mca_btl_fastsm_dynamic_sweep(void);
/** The extension's died(). */
bool mca_btl_fastsm_dynamic_died(mca_btl_base_endpoint_t *endpoint);
/** The extension's pids (btl_fastsm_ext.h). */
size_t mca_btl_fastsm_pids(pid_t *pids, size_t most);
/** The extension's has_pid (btl_fastsm_ext.h). */
bool mca_btl_fastsm_has_pid(const mca_btl_fastsm_endpoint_t *endpoint);
/** The dynamic peer with this id, or NULL when it is not, or no longer, admitted. */
mca_btl_fastsm_dynamic_t *mca_btl_fastsm_dynamic_find(uint32_t admission);

#endif /* MCA_BTL_FASTSM_DYNAMIC_H */
