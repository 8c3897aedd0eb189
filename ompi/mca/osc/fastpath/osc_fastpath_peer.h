/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What a process knows of another member of a window: made when first needed.
 */
#ifndef MCA_OSC_FASTPATH_PEER_H
#define MCA_OSC_FASTPATH_PEER_H

#include "osc_fastpath.h"

/** Make the peer of that rank. For mca_osc_fastpath_peer(). @return NULL when there is no memory */
mca_osc_fastpath_peer_t *mca_osc_fastpath_peer_make(mca_osc_fastpath_module_t *module, int rank);

/** @return the peer of that rank, made if need be, or NULL when there is no memory; in module.lock */
static inline mca_osc_fastpath_peer_t *mca_osc_fastpath_peer(mca_osc_fastpath_module_t *module, int rank)
{
    mca_osc_fastpath_peer_t *peer = module->peers[rank];

    return OPAL_LIKELY(NULL != peer) ? peer : mca_osc_fastpath_peer_make(module, rank);
}

/** Note what the module knows of a peer's window by now. */
void mca_osc_fastpath_peer_describe(mca_osc_fastpath_peer_t *peer);

#endif /* MCA_OSC_FASTPATH_PEER_H */
