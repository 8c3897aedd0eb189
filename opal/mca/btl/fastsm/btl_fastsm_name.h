/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How local processes find each other's segments, and under which names.
 */
#ifndef MCA_BTL_FASTSM_NAME_H
#define MCA_BTL_FASTSM_NAME_H

#include "btl_fastsm.h"

/**
 * Whether both sides would find each other under /proc and may open what they
 * find.  Symmetric in its arguments, so both come to the same answer.
 */
bool mca_btl_fastsm_same_surroundings(const mca_btl_fastsm_modex_t *a, const mca_btl_fastsm_modex_t *b);
/** Notes in `me` under which name our segment would be found.  There is a segment. */
void mca_btl_fastsm_name_prepare(mca_btl_fastsm_modex_t *me);
/**
 * Decides how local processes find each other's segments, and gives ours a name if it needs one.  Each of
 * them decides alike.
 *
 * @param all    what they have told, without us
 * @param count  processes
 */
void mca_btl_fastsm_name_decide(mca_btl_fastsm_announced_t *all, size_t count);
/** Takes our name away if all who need it have come to a conclusion; not later than at the end. */
void mca_btl_fastsm_name_done(void);

#endif /* MCA_BTL_FASTSM_NAME_H */
