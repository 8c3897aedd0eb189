/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A FIFO that has no room.
 */
#ifndef MCA_BTL_FASTSM_ROOM_H
#define MCA_BTL_FASTSM_ROOM_H

#include "btl_fastsm.h"

/** Counts that the FIFO was full, or that one more slot of the ring was needed.  The endpoint's lock is held.
 */
void mca_btl_fastsm_busy(mca_btl_fastsm_endpoint_t *endpoint);
/**
 * What follows when there is no room in the FIFO to a local peer: before its first use, its pages are
 * reserved; later it counts as one more time that it was full.  The endpoint's lock is held.
 *
 * @return  true when there is room now where there was none before
 */
bool mca_btl_fastsm_fifo_open(mca_btl_fastsm_endpoint_t *endpoint);

#endif /* MCA_BTL_FASTSM_ROOM_H */
