/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "ompi/mca/bml/bml.h"
#include "ompi/proc/proc.h"

#include "osc_fastpath_wake.h"

/* Where a member says that it sleeps; NULL: it is not known. An endpoint that nobody has needed is not made
 * for this. */
static _Atomic uint32_t *asleep_of(const mca_osc_fastpath_module_t *module, int rank)
{
    const ompi_proc_t *proc = ompi_comm_peer_lookup(module->comm, rank);
    mca_bml_base_endpoint_t *endpoint = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML];
    const size_t count = NULL == endpoint || NULL == mca_osc_fastpath_component.idle.ext
                             ? 0
                             : mca_bml_base_btl_array_get_size(&endpoint->btl_eager);
    _Atomic uint32_t *asleep = NULL;

    for (size_t i = 0; i < count && NULL == asleep; ++i) {
        mca_bml_base_btl_t *link = mca_bml_base_btl_array_get_index(&endpoint->btl_eager, i);
        const mca_btl_fastsm_ext_t *ext = mca_btl_fastsm_ext(link->btl);

        asleep = NULL == ext ? NULL : ext->asleep(link->btl_endpoint);
    }
    return asleep;
}

bool mca_osc_fastpath_find_asleep(mca_osc_fastpath_peer_t *peer)
{
    peer->asleep = asleep_of(peer->module, peer->rank);
    return NULL != peer->asleep;
}

/* Where nothing is shared this process is the only member, and has no place. */
static void wake_member(const mca_osc_fastpath_module_t *module, int index)
{
    _Atomic uint32_t *asleep = NULL;

    if (index == module->node.index) {
        mca_osc_fastpath_wake_threads();
    } else if (index < module->node.count) {
        asleep = asleep_of(module, (int) module->node.places[index].rank);
    }
    if (NULL != asleep) {
        fastsm_wake_if_asleep(asleep);
    }
}

/* O2, after mca_osc_fastpath_lock_has_sleepers(). */
void mca_osc_fastpath_wake_waiting(const mca_osc_fastpath_module_t *module,
                                   const mca_osc_fastpath_lockword_t *word)
{
    for (int i = 0; i < MCA_OSC_FASTPATH_SLEEPERS / 64; ++i) {
        for (uint64_t members = atomic_load_explicit(&word->asleep[i], memory_order_relaxed); 0 != members;
             members &= members - 1) {
            wake_member(module, 64 * i + __builtin_ctzll(members));
        }
    }
}
