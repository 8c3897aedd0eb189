/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What progress has to see to later: frags whose callbacks are due, or whose peers have them.
 */
#ifndef MCA_BTL_FASTSM_DEFER_H
#define MCA_BTL_FASTSM_DEFER_H

#include "btl_fastsm.h"

/** Makes progress look after `endpoint` while something is deferred there.  Its lock is held. */
void mca_btl_fastsm_activate(mca_btl_fastsm_endpoint_t *endpoint);
/** Takes the endpoint off component.active.  Its frags are nobody's then. */
void mca_btl_fastsm_deactivate(mca_btl_fastsm_endpoint_t *endpoint);
/** Has the callback of a frag that is sent called from progress. */
void mca_btl_fastsm_complete_later(mca_btl_fastsm_frag_t *frag);
/** A frag that was kept is sent, or counts as sent because its peer will never take it: its callback comes
 * from progress, if there is to be one; else it is free. */
void mca_btl_fastsm_frag_done(mca_btl_fastsm_frag_t *frag);
/** What we have for a peer that will take nothing any more counts as sent.  The endpoint's lock is held. */
void mca_btl_fastsm_abandon(opal_list_t *list, bool call_back);
/** Keeps a posted frag until the peer is through with its buffer.  The endpoint's lock is held. */
void mca_btl_fastsm_keep(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag);

#endif /* MCA_BTL_FASTSM_DEFER_H */
