/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The sender's side of deeper FIFOs: how it gets to one that its receiver lends it.
 */
#ifndef MCA_BTL_FASTSM_MOVE_H
#define MCA_BTL_FASTSM_MOVE_H

#include "btl_fastsm.h"

/** One line, for who asks for it, about a step on the way to a deeper FIFO; number 0: of no FIFO. */
void mca_btl_fastsm_move_say(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t number, const char *step);
/** Says when the peer, which is connected, counts as busy. */
void mca_btl_fastsm_move_init(mca_btl_fastsm_endpoint_t *endpoint);
/**
 * Goes on towards a deep FIFO of the peer, as far as possible now.  The endpoint's lock is held.
 *
 * @return  false, once, when the peer has given an answer that makes no sense.  Then, without the lock:
 *          mca_btl_fastsm_corrupt(endpoint, "assignment", endpoint->move.nonsense)
 */
bool mca_btl_fastsm_move(mca_btl_fastsm_endpoint_t *endpoint);
/** Puts the sending end back to where it was when a local peer was removed. */
void mca_btl_fastsm_move_resume(mca_btl_fastsm_endpoint_t *endpoint);

/** Whether something is under way that leads to a deeper FIFO. */
static inline bool mca_btl_fastsm_moving(const mca_btl_fastsm_endpoint_t *endpoint)
{
    return MCA_BTL_FASTSM_MOVE_IDLE != endpoint->move.state
           && MCA_BTL_FASTSM_MOVE_MOVED != endpoint->move.state;
}

#endif /* MCA_BTL_FASTSM_MOVE_H */
