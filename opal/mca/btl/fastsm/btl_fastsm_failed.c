/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Peers whose process has failed while the job goes on.  Nothing here notices
 * that: shared memory stays as it is.  A caller of the extension says so.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_failed.h"
#include "btl_fastsm_segment.h"

void mca_btl_fastsm_failed_reclaim(mca_btl_base_endpoint_t *endpoint)
{
    /* one that was only taken for dead may still read what we gave it */
    if (!endpoint->failed || mca_btl_fastsm_segment_alive(endpoint)) {
        return;
    }
    mca_btl_fastsm_lock(endpoint);
    if (MCA_BTL_FASTSM_MOVE_MOVED != endpoint->move.state) {
        endpoint->move.state = MCA_BTL_FASTSM_MOVE_IDLE; /* nobody answers, or makes room */
        endpoint->move.limit = 0;
    }
    mca_btl_fastsm_abandon(&endpoint->in_flight, true);
    endpoint->n_in_flight = endpoint->n_waiting = 0;
    mca_btl_fastsm_unlock(endpoint);
}

void mca_btl_fastsm_failed(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint)
{
    (void) btl;
    mca_btl_fastsm_lock(endpoint);
    endpoint->failed = true;
    mca_btl_fastsm_abandon(&endpoint->pending, true);
    endpoint->out.n_pending = 0;
    mca_btl_fastsm_unlock(endpoint);
    mca_btl_fastsm_failed_reclaim(endpoint);
}
