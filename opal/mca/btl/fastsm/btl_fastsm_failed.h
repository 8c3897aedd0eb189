/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Peers whose process has failed.
 */
#ifndef MCA_BTL_FASTSM_FAILED_H
#define MCA_BTL_FASTSM_FAILED_H

#include "btl_fastsm.h"

/** The extension's failed (btl_fastsm_ext.h). */
void mca_btl_fastsm_failed(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint);
/** Gives back the buffers that a peer that has failed would have read, as soon as it cannot do so any more.
 */
void mca_btl_fastsm_failed_reclaim(mca_btl_base_endpoint_t *endpoint);

#endif /* MCA_BTL_FASTSM_FAILED_H */
