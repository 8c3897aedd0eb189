/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Immediate receives: what has come, for callers that take it themselves.
 */
#ifndef MCA_BTL_FASTSM_PEEK_H
#define MCA_BTL_FASTSM_PEEK_H

#include "btl_fastsm.h"

/** The extension's receiver (btl_fastsm_ext.h). */
fastsm_fifo_receiver_t *mca_btl_fastsm_receiver(mca_btl_base_endpoint_t *endpoint);
/** The extension's peek (btl_fastsm_ext.h). */
int mca_btl_fastsm_peek(mca_btl_base_endpoint_t *endpoint, unsigned spins, mca_btl_fastsm_view_t *view);
/** The extension's move (btl_fastsm_ext.h). */
bool mca_btl_fastsm_view_move(const mca_btl_fastsm_view_t *view, void *to, const mca_btl_fastsm_data_t *data,
                              size_t length, bool undecided);
/** The extension's poll (btl_fastsm_ext.h). */
int mca_btl_fastsm_poll(mca_btl_base_endpoint_t *endpoint, unsigned spins);
/** The extension's scan (btl_fastsm_ext.h). */
mca_btl_base_endpoint_t *mca_btl_fastsm_scan(mca_btl_base_module_t *btl, unsigned spins, void *header);

#endif /* MCA_BTL_FASTSM_PEEK_H */
