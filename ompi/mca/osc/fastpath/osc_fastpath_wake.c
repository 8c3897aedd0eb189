/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "ompi/mca/bml/bml.h"
#include "ompi/proc/proc.h"

#include "osc_fastpath_wake.h"

/* An endpoint that nobody has needed is not made for this. */
bool ompi_osc_fastpath_find_asleep(mca_osc_fastpath_peer_t *peer)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(peer->module->comm, peer->rank);
    mca_bml_base_endpoint_t *endpoint = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML];
    const size_t count = NULL == endpoint || NULL == mca_osc_fastpath_component.idle.ext
                             ? 0
                             : mca_bml_base_btl_array_get_size(&endpoint->btl_eager);

    for (size_t i = 0; i < count && NULL == peer->asleep; ++i) {
        mca_bml_base_btl_t *link = mca_bml_base_btl_array_get_index(&endpoint->btl_eager, i);
        const mca_btl_fastsm_ext_t *ext = mca_btl_fastsm_ext(link->btl);

        peer->asleep = NULL == ext ? NULL : ext->asleep(link->btl_endpoint);
    }
    return NULL != peer->asleep;
}
