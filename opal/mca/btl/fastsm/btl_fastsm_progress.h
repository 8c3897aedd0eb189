/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Messages are found and handed up, and what was deferred.
 */
#ifndef MCA_BTL_FASTSM_PROGRESS_H
#define MCA_BTL_FASTSM_PROGRESS_H

#include "btl_fastsm.h"

/** One round of progress.  Returns messages delivered and callbacks called; 0 lets opal_progress yield. */
int mca_btl_fastsm_component_progress(void);

#endif /* MCA_BTL_FASTSM_PROGRESS_H */
