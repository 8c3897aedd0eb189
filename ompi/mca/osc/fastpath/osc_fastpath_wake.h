/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Waking a member of the node that sleeps, after something has been stored that it may wait for.
 */
#ifndef MCA_OSC_FASTPATH_WAKE_H
#define MCA_OSC_FASTPATH_WAKE_H

#include "opal/mca/btl/fastsm/btl_fastsm_ext.h"

#include "osc_fastpath.h"

/** @return whether a peer's `asleep` is known now: it is when btl/fastsm has reached that process */
bool mca_osc_fastpath_find_asleep(mca_osc_fastpath_peer_t *peer);

/**
 * Wake a peer if it sleeps. Call it after the store that the peer waits for. A peer that btl/fastsm is not
 * connected with is not woken; its sleep times out.
 */
static inline void mca_osc_fastpath_wake(mca_osc_fastpath_peer_t *peer)
{
    if (OPAL_LIKELY(NULL != peer->asleep || mca_osc_fastpath_find_asleep(peer))) {
        fastsm_wake_if_asleep(peer->asleep);
    }
}

/** Wake the members of the node that have said that they wait for a lock. For mca_osc_fastpath_give_back().
 */
void mca_osc_fastpath_wake_waiting(const mca_osc_fastpath_module_t *module,
                                   const mca_osc_fastpath_lockword_t *word);

/** Give a target lock back, and wake those who wait for it and sleep. Inside module.lock or outside. @param
 * exclusive  as it was taken */
static inline void mca_osc_fastpath_give_back(const mca_osc_fastpath_module_t *module,
                                              mca_osc_fastpath_lockword_t *word, bool exclusive)
{
    mca_osc_fastpath_lock_release(word, exclusive);
    if (OPAL_UNLIKELY(mca_osc_fastpath_lock_has_sleepers(word))) {
        mca_osc_fastpath_wake_waiting(module, word);
    }
}

/** Wake other threads of this process, which may sleep until what has just happened. */
static inline void mca_osc_fastpath_wake_threads(void)
{
    if (OPAL_UNLIKELY(opal_using_threads()) && NULL != mca_osc_fastpath_component.idle.ext) {
        fastsm_wake_if_asleep(mca_osc_fastpath_component.idle.ext->asleep(NULL));
    }
}

/** Work was left because another thread held a lock: a thread that is about to sleep must look again. */
static inline void mca_osc_fastpath_missed(void)
{
    if (OPAL_UNLIKELY(opal_using_threads()) && NULL != mca_osc_fastpath_component.idle.ext) {
        (void) atomic_fetch_add_explicit(mca_osc_fastpath_component.idle.ext->missed, 1,
                                         memory_order_relaxed);
    }
}

#endif /* MCA_OSC_FASTPATH_WAKE_H */
