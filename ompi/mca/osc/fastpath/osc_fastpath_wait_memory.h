/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Waiting for what another process of the node stores.
 */
#ifndef MCA_OSC_FASTPATH_WAIT_MEMORY_H
#define MCA_OSC_FASTPATH_WAIT_MEMORY_H

#include "osc_fastpath_wait.h"

/** Looks at memory before the first round of progress. */
#define MCA_OSC_FASTPATH_TRIES 100u
/** Looks before a wait can sleep. */
#define MCA_OSC_FASTPATH_TRIES_AWAKE (MCA_OSC_FASTPATH_TRIES + MCA_OSC_FASTPATH_ROUNDS_AWAKE)

/**
 * Wait for what another process of the node stores: spin, then wait as mca_osc_fastpath_wait_until() does.
 * Called and returns outside module.lock, which `done` need not have.
 *
 * @return as mca_osc_fastpath_wait_until()
 */
int mca_osc_fastpath_wait_for_memory(mca_osc_fastpath_module_t *module, mca_osc_fastpath_done_fn_t done,
                                     void *context);

#endif /* MCA_OSC_FASTPATH_WAIT_MEMORY_H */
