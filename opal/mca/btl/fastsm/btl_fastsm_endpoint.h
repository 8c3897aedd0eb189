/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Peers of our job: how they are met, agreed with, used and given up.
 */
#ifndef MCA_BTL_FASTSM_ENDPOINT_H
#define MCA_BTL_FASTSM_ENDPOINT_H

#include "btl_fastsm.h"

/** Collects what our peers have to know, except the segment.  Returns an OPAL error code. */
int mca_btl_fastsm_modex_prepare(mca_btl_fastsm_modex_t *me);
/** Allocates component.peers, none of them connected, and starts the receiving ends. */
int mca_btl_fastsm_endpoints_init(void);
/** Disconnects and frees them all. */
void mca_btl_fastsm_endpoints_fini(void);
/**
 * Maps the segment of `proc` and says in ours whether that worked, which is half of the decision whether it
 * is reachable: mca_btl_fastsm_agree() comes next.
 *
 * @param announced  what it has told
 * @return           the endpoint; NULL when `proc` is not reachable
 */
mca_btl_fastsm_endpoint_t *mca_btl_fastsm_endpoint_meet(opal_proc_t *proc,
                                                        const mca_btl_fastsm_announced_t *announced);
/**
 * Looks again for the segment of a peer that had no name yet, and says in ours what has come of it.
 *
 * @param give_up  look for the last time
 * @return         false while there is nothing to say
 */
bool mca_btl_fastsm_endpoint_seek(mca_btl_fastsm_endpoint_t *endpoint, bool give_up);
/**
 * Takes a peer into use with which we have agreed, or gives up what we have of one with which we have not.
 *
 * @return  whether it is reachable
 */
bool mca_btl_fastsm_endpoint_settle(mca_btl_fastsm_endpoint_t *endpoint);
/** Gives up the peer's segment: nothing is sent or received any more. The endpoint can meet a peer anew. */
void mca_btl_fastsm_endpoint_disconnect(mca_btl_fastsm_endpoint_t *endpoint);

/** Fetches what a process has published.  Returns OPAL_SUCCESS or OPAL_ERR_UNREACH. */
int mca_btl_fastsm_modex_fetch(const opal_proc_t *proc, mca_btl_fastsm_modex_t *modex);
/**
 * Says, for everybody to read, why another process's segment is of no use; where that has been arranged, by what
 * the kernel permits, only to who asks for it (btl_base_verbose).
 *
 * @param error  errno of opening it, or 0
 */
void mca_btl_fastsm_unusable(const mca_btl_fastsm_modex_t *modex, const char *why, int error);
/** Makes an empty endpoint for the local or dynamic peer with this index in its job. */
void mca_btl_fastsm_endpoint_construct(mca_btl_fastsm_endpoint_t *endpoint, uint32_t index);
/** Releases what an endpoint consists of; its peer has been given up. */
void mca_btl_fastsm_endpoint_destruct(mca_btl_fastsm_endpoint_t *endpoint);
/** Notes what its announcement says about a peer. */
void mca_btl_fastsm_endpoint_describe(mca_btl_fastsm_endpoint_t *endpoint, opal_proc_t *proc,
                                      const mca_btl_fastsm_modex_t *modex);

/** Begins what is to be known about the pair with the peer that published `modex`; our word is at `own`. */
void mca_btl_fastsm_pair_init(mca_btl_fastsm_endpoint_t *endpoint, const mca_btl_fastsm_modex_t *modex,
                              _Atomic uint32_t *own);

/**
 * Waits until every pair has come to a conclusion, whatever the other sides are doing: those that do not answer
 * in btl_fastsm_agree_timeout seconds, or have ended, are refused.  Calls opal_progress when there are dynamic
 * peers among them, and holds no lock then.
 *
 * @param endpoints  peers that have been met; NULL where there is none
 */
void mca_btl_fastsm_agree(mca_btl_base_endpoint_t **endpoints, size_t count);

#endif /* MCA_BTL_FASTSM_ENDPOINT_H */
