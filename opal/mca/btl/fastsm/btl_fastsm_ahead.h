/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Lines of the buffers that come next, fetched while the process waits.
 */
#ifndef MCA_BTL_FASTSM_AHEAD_H
#define MCA_BTL_FASTSM_AHEAD_H

#include "btl_fastsm.h"

/** Fetches lines of the next buffers until a message has come: mca_btl_fastsm_ahead_t. */
void mca_btl_fastsm_ahead_run(fastsm_fifo_idle_t *idle, const _Atomic uint32_t *word, uint32_t value);
/** No message has been sent in buffers yet. */
void mca_btl_fastsm_ahead_init(void);
/** There will be no message to this peer. */
void mca_btl_fastsm_ahead_forget(const mca_btl_fastsm_endpoint_t *endpoint);

/** A message of so many bytes has been sent to a peer in buffers. */
static inline void mca_btl_fastsm_ahead_set(mca_btl_fastsm_endpoint_t *endpoint, size_t bytes)
{
    mca_btl_fastsm_ahead_t *ahead = &mca_btl_fastsm_component.ahead;

    ahead->endpoint = endpoint;
    ahead->begun = false;
    ahead->idle.work = (uint32_t) ((bytes + MCA_BTL_FASTSM_LINE - 1) / MCA_BTL_FASTSM_LINE);
}

#endif /* MCA_BTL_FASTSM_AHEAD_H */
