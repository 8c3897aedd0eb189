/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What arrives: finding the window, the order of packets, and what has to wait.
 */
#ifndef MCA_OSC_FASTPATH_RECV_H
#define MCA_OSC_FASTPATH_RECV_H

#include "osc_fastpath.h"

/** Register with the BTLs. @return OMPI_SUCCESS or the BML's error */
int mca_osc_fastpath_recv_register(void);

/** The progress function: what had to wait is tried again. @return things that happened */
int mca_osc_fastpath_progress(void);

/**
 * Own rank: ask for its lock as origin.lock_type says, behind those who have asked before.
 *
 * @return whether it has been taken now; otherwise it will be, and origin.lock_sent says so then
 */
bool mca_osc_fastpath_own_lock(mca_osc_fastpath_peer_t *peer);

/** Own rank: nobody waits any more for the lock that has not been taken. Inside module.lock. */
void mca_osc_fastpath_own_lock_give_up(mca_osc_fastpath_peer_t *peer);

/**
 * Target: try again those packets that had to wait, after something has changed. Inside module.lock.
 *
 * @return whether a packet has taken effect
 */
bool mca_osc_fastpath_unblock(mca_osc_fastpath_module_t *module);

/** Who has been counted in module.users does not use the window any more. */
void mca_osc_fastpath_release_window(mca_osc_fastpath_module_t *module);

#endif /* MCA_OSC_FASTPATH_RECV_H */
