/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What synchronisations have in common. All of it inside module.lock unless said otherwise.
 */
#ifndef MCA_OSC_FASTPATH_SYNC_H
#define MCA_OSC_FASTPATH_SYNC_H

#include "osc_fastpath.h"

/**
 * Order what this process has loaded and stored in memory that windows expose, before and after this point.
 * The partner is the same call of the process on the other side of the synchronisation: in the unified model
 * (MPI 4.0, 12.4) both see each other's stores once both have synchronised. Needs no lock.
 */
static inline void mca_osc_fastpath_order_window(void)
{
    atomic_thread_fence(memory_order_seq_cst); /* pairs with itself, see above */
}

/**
 * The same behind a read-modify-write of a lock word, which orders the rest where processors are of the kind
 * that lets loads overtake earlier stores at most.
 */
static inline void mca_osc_fastpath_order_locked(void)
{
#if defined(__x86_64__) || defined(__i386__)
    atomic_signal_fence(memory_order_seq_cst);
#else
    mca_osc_fastpath_order_window();
#endif
}

/** @return whether operations to a peer may be called now */
static inline bool mca_osc_fastpath_accessible(const mca_osc_fastpath_module_t *module,
                                               const mca_osc_fastpath_peer_t *peer)
{
    switch (module->epoch) {
    case MCA_OSC_FASTPATH_EPOCH_FENCE:
    case MCA_OSC_FASTPATH_EPOCH_PASSIVE:
        return true;
    case MCA_OSC_FASTPATH_EPOCH_START:
        return peer->origin.in_start;
    default:
        return 0 != peer->origin.lock_type;
    }
}

/** @return whether an access epoch of another kind may begin. A fence epoch in which nothing has happened
 * ends by that. */
static inline bool mca_osc_fastpath_no_epoch(mca_osc_fastpath_module_t *module)
{
    if (MCA_OSC_FASTPATH_EPOCH_FENCE == module->epoch && !module->fence_used) {
        module->epoch = MCA_OSC_FASTPATH_EPOCH_NONE;
    }
    return MCA_OSC_FASTPATH_EPOCH_NONE == module->epoch;
}

/**
 * Find out how many packets are on their way to this process: the sum of what all members have in
 * module.fence_sent for it. Begins to count these anew. Collective, outside module.lock.
 *
 * @return OMPI_SUCCESS or the error of the collective operation
 */
int mca_osc_fastpath_count_packets(mca_osc_fastpath_module_t *module, uint32_t *expected);

/**
 * Begin to flush: send what there is, and ask for an acknowledgement where one is needed.
 *
 * @param flags  MCA_OSC_FASTPATH_UNLOCK to give the lock back, too, or 0
 *
 * @return OMPI_SUCCESS or OMPI_ERR_OUT_OF_RESOURCE
 */
int mca_osc_fastpath_flush_begin(mca_osc_fastpath_peer_t *peer, uint8_t flags);

/** Wait for the data of all gets from `peer` (NULL: from all). @return OMPI_SUCCESS or an error */
int mca_osc_fastpath_wait_for_data(mca_osc_fastpath_module_t *module, mca_osc_fastpath_peer_t *peer);

/** Send a packet without operations, or what there is, with these flags. */
int mca_osc_fastpath_send_empty(mca_osc_fastpath_peer_t *peer, uint8_t flags);

/**
 * End an epoch of all active peers, whose operations are known to have taken effect.
 *
 * @return the first error that one of them has reported, or OMPI_SUCCESS
 */
int mca_osc_fastpath_end_active(mca_osc_fastpath_module_t *module);

/** Wait until all of `peer` (NULL: of all active peers) is flushed. @return OMPI_SUCCESS or an error */
int mca_osc_fastpath_flush_end(mca_osc_fastpath_module_t *module, mca_osc_fastpath_peer_t *peer);

/** @return the error that a peer has reported, which is forgotten, or OMPI_SUCCESS */
int mca_osc_fastpath_take_error(mca_osc_fastpath_peer_t *peer);

/**
 * The error that a target has reported of an epoch of a fence or of MPI_Win_start, this one or one before it;
 * it is forgotten.
 *
 * @param rc  what the caller has to return otherwise
 * @return    rc, if that is an error
 */
int mca_osc_fastpath_take_active_error(mca_osc_fastpath_module_t *module, int rc);

/** There is nothing more to flush or unlock. */
void mca_osc_fastpath_deactivate(mca_osc_fastpath_peer_t *peer);

#endif /* MCA_OSC_FASTPATH_SYNC_H */
