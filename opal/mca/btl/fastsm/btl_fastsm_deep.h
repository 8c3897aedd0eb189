/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The receiver's side of deeper FIFOs: which of ours are lent to whom.
 */
#ifndef MCA_BTL_FASTSM_DEEP_H
#define MCA_BTL_FASTSM_DEEP_H

#include "btl_fastsm.h"

/** Makes the records of our deep FIFOs.  Returns an OPAL error code. */
int mca_btl_fastsm_deep_init(void);
/** Releases them. Nobody writes to our deep FIFOs any more. */
void mca_btl_fastsm_deep_fini(void);
/**
 * Answers a question for a FIFO; `data` is that of its slot.  The caller consumes what comes from the peer.
 *
 * @return  false when it is damaged, which has been reported
 */
bool mca_btl_fastsm_wanted(mca_btl_fastsm_endpoint_t *endpoint, const void *data);
/**
 * Goes on reading in the FIFO that the peer was assigned.  The caller holds `consuming`, and has released the
 * slot that said so.
 *
 * @return  false when it was assigned none
 */
bool mca_btl_fastsm_continued(mca_btl_fastsm_endpoint_t *endpoint);
/**
 * Takes the FIFO back from a peer.  The caller holds `consuming`, or the peer is forgotten.
 *
 * @param ended  its process writes no more, and all it wrote has been read
 */
void mca_btl_fastsm_take_back(mca_btl_fastsm_endpoint_t *endpoint, bool ended);
/** Gives a dynamic peer that is met again the FIFO back that it may still write. */
void mca_btl_fastsm_assign_again(mca_btl_fastsm_endpoint_t *endpoint);
/** Drops what is in the FIFOs of dynamic peers. */
void mca_btl_fastsm_deep_discard(void);

#endif /* MCA_BTL_FASTSM_DEEP_H */
