/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Passive target: MPI_Win_lock, MPI_Win_unlock, MPI_Win_lock_all, MPI_Win_unlock_all.
 */
#include "ompi_config.h"

#include "osc_fastpath_packet.h"
#include "osc_fastpath_recv.h"
#include "osc_fastpath_sync.h"
#include "osc_fastpath_wait.h"

static bool has_lock(mca_osc_fastpath_module_t *module, void *context)
{
    (void) module;
    return ((const mca_osc_fastpath_peer_t *) context)->origin.lock_sent;
}

/* The own rank's lock is taken now, because loads and stores may follow. */
static int lock_own(mca_osc_fastpath_peer_t *peer)
{
    if (ompi_osc_fastpath_own_lock(peer)) {
        return OMPI_SUCCESS;
    }
    return ompi_osc_fastpath_wait_until(peer->module, has_lock, peer);
}

static void unlock_own(mca_osc_fastpath_peer_t *peer)
{
    if (peer->origin.lock_sent) {
        mca_osc_fastpath_lock_release(&peer->member->lock, MPI_LOCK_EXCLUSIVE == peer->origin.lock_type);
        mca_osc_fastpath_set_locked(peer, false);
        (void) ompi_osc_fastpath_unblock(peer->module);
    }
}

/* May a passive target epoch begin? A fence epoch in which nothing has happened ends by it. */
static bool may_lock(mca_osc_fastpath_module_t *module)
{
    if (MCA_OSC_FASTPATH_EPOCH_FENCE == module->epoch && !module->fence_used) {
        module->epoch = MCA_OSC_FASTPATH_EPOCH_NONE;
    }
    return MCA_OSC_FASTPATH_EPOCH_NONE == module->epoch;
}

static bool granted(mca_osc_fastpath_module_t *module, void *context)
{
    const mca_osc_fastpath_peer_t *peer = context;

    (void) module;
    return peer->origin.lock_sent && 0 <= (int32_t) (peer->origin.acked - peer->origin.lock_sequence);
}

/* A program that locks several targets, always in the same order, must not meet another one that has got them
 * in another order because locks are asked for late: what has been locked before comes first. */
static int take_last_lock(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_peer_t *last = module->last_locked;
    int rc;

    module->last_locked = NULL;
    if (NULL == last || 0 == last->origin.lock_type || last->origin.nocheck || granted(module, last)) {
        return OMPI_SUCCESS;
    }
    rc = ompi_osc_fastpath_send_empty(last, MCA_OSC_FASTPATH_ACK);
    return OMPI_SUCCESS == rc ? ompi_osc_fastpath_wait_until(module, granted, last) : rc;
}

int ompi_osc_fastpath_lock(int type, int target, int assertion, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer;
    int rc = OMPI_SUCCESS;

    mca_osc_fastpath_enter(module);
    peer = mca_osc_fastpath_peer(module, target);
    if (NULL == peer) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    } else if (!may_lock(module) || 0 != peer->origin.lock_type) {
        rc = OMPI_ERR_RMA_SYNC;
    } else if (OMPI_SUCCESS == (rc = take_last_lock(module))) {
        peer->origin.lock_type = type;
        peer->origin.nocheck = 0 != (MPI_MODE_NOCHECK & assertion);
        mca_osc_fastpath_set_locked(peer, false);
        ++module->locks;
        if (target == module->rank && !peer->origin.nocheck) {
            rc = lock_own(peer);
        } else if (MCA_OSC_FASTPATH_MESSAGE == peer->access) {
            module->last_locked = peer;
        }
    }
    mca_osc_fastpath_leave(module);
    /* loads of the window come after the lock */
    mca_osc_fastpath_order_window();
    return rc;
}

/* Flush and give the lock back, in one packet if possible; nothing where nothing was done. A lock that has
 * not been asked for yet goes with the operations, and is given back behind them. */
static int unlock_begin(mca_osc_fastpath_peer_t *peer, bool nocheck)
{
    const bool needed = peer->origin.lock_sent || NULL != peer->origin.packet;

    if (!needed) {
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_LOCKS_ELIMINATED);
    }
    return ompi_osc_fastpath_flush_begin(peer, needed && !nocheck ? MCA_OSC_FASTPATH_UNLOCK : 0);
}

static int unlock_message(mca_osc_fastpath_peer_t *peer)
{
    int rc = unlock_begin(peer, peer->origin.nocheck);

    if (OMPI_SUCCESS == rc) {
        rc = ompi_osc_fastpath_flush_end(peer->module, peer);
    }
    mca_osc_fastpath_set_locked(peer, false);
    ompi_osc_fastpath_deactivate(peer);
    return OMPI_SUCCESS == rc ? ompi_osc_fastpath_take_error(peer) : rc;
}

int ompi_osc_fastpath_unlock(int target, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer = module->peers[target];
    int rc = OMPI_SUCCESS;

    if (NULL == peer || 0 == peer->origin.lock_type) {
        return OMPI_ERR_RMA_SYNC;
    }
    /* stores to the window come before the unlock */
    mca_osc_fastpath_order_window();
    mca_osc_fastpath_enter(module);
    if (MCA_OSC_FASTPATH_MESSAGE == peer->access) {
        rc = unlock_message(peer);
    } else {
        unlock_own(peer);
    }
    peer->origin.lock_type = 0;
    --module->locks;
    module->fence_used = false;
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_breathe(module);
    return rc;
}

int ompi_osc_fastpath_lock_all(int assertion, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *own;
    int rc = OMPI_SUCCESS;

    mca_osc_fastpath_enter(module);
    own = mca_osc_fastpath_peer(module, module->rank);
    if (NULL == own) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    } else if (!may_lock(module) || 0 != module->locks) {
        rc = OMPI_ERR_RMA_SYNC;
    } else {
        module->epoch = MCA_OSC_FASTPATH_EPOCH_PASSIVE;
        module->lock_all_nocheck = 0 != (MPI_MODE_NOCHECK & assertion);
        own->origin.lock_type = 0;
        mca_osc_fastpath_set_locked(own, false);
        if (!module->lock_all_nocheck) {
            rc = lock_own(own);
        }
    }
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_order_window();
    return rc;
}

int ompi_osc_fastpath_unlock_all(ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer;
    int rc = OMPI_SUCCESS, error;

    if (MCA_OSC_FASTPATH_EPOCH_PASSIVE != module->epoch) {
        return OMPI_ERR_RMA_SYNC;
    }
    mca_osc_fastpath_order_window();
    mca_osc_fastpath_enter(module);
    unlock_own(module->peers[module->rank]);
    OPAL_LIST_FOREACH(peer, &module->active, mca_osc_fastpath_peer_t)
    {
        error = unlock_begin(peer, module->lock_all_nocheck);
        rc = OMPI_SUCCESS == rc ? error : rc;
    }
    if (OMPI_SUCCESS == rc) {
        rc = ompi_osc_fastpath_flush_end(module, NULL);
    }
    error = ompi_osc_fastpath_end_active(module);
    module->epoch = MCA_OSC_FASTPATH_EPOCH_NONE;
    module->fence_used = false;
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_breathe(module);
    return OMPI_SUCCESS == rc ? error : rc;
}
