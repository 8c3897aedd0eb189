/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Passive target: MPI_Win_lock, MPI_Win_unlock, MPI_Win_lock_all, MPI_Win_unlock_all.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_clock.h"

#include "osc_fastpath_copy.h"
#include "osc_fastpath_packet.h"
#include "osc_fastpath_peer.h"
#include "osc_fastpath_recv.h"
#include "osc_fastpath_sync.h"
#include "osc_fastpath_wait.h"
#include "osc_fastpath_wait_memory.h"
#include "osc_fastpath_wake.h"

static bool has_lock(mca_osc_fastpath_module_t *module, void *context)
{
    (void) module;
    return ((const mca_osc_fastpath_peer_t *) context)->origin.lock_sent;
}

/** What a reader that waits has seen so far. Zeroed: nothing yet. */
typedef struct {
    mca_osc_fastpath_claim_watch_t watch; /**< of the lock that it is refused */
    unsigned long since;                  /**< when it was refused first, ns; 0: not yet */
} reader_t;

/* Another try of a reader. It must not depend on progress of the process that owns the lock, which may be
 * outside MPI, so it removes an expired claim of that process. @return whether it has the lock */
static bool share_again(mca_osc_fastpath_lockword_t *word, reader_t *reader, unsigned long now)
{
    mca_osc_fastpath_lock_check_claim(word, &reader->watch, now);
    return mca_osc_fastpath_lock_shared_late(word, false, &reader->since, now);
}

/* One try for the lock of a peer of the node. */
static inline bool try_lock(mca_osc_fastpath_peer_t *peer)
{
    bool taken;

    if (MPI_LOCK_EXCLUSIVE == peer->origin.lock_type) {
        taken = mca_osc_fastpath_lock_exclusive(&peer->member->lock, &peer->origin.waits_for_lock);
    } else {
        taken = mca_osc_fastpath_lock_shared(&peer->member->lock, 0 < mca_osc_fastpath_component.locks_held);
    }
    if (OPAL_LIKELY(taken)) {
        mca_osc_fastpath_set_locked(&peer->origin.lock_sent, true);
    }
    return taken;
}

/** Failed tries for a lock before a waiting process registers as a sleeper. */
#define TRIES_BEFORE_REGISTERING 128u

_Static_assert(MCA_OSC_FASTPATH_TRIES_AWAKE > TRIES_BEFORE_REGISTERING, "it registers before it sleeps");

/** Nanoseconds for which MPI_Win_lock_all keeps some locks while it waits for another, at most. */
#define KEEP_MAX (MCA_OSC_FASTPATH_CLAIM_TIME << MCA_OSC_FASTPATH_CLAIM_TIME_DOUBLED)

/** What MPI_Win_lock waits for. */
typedef struct {
    mca_osc_fastpath_peer_t *peer;
    unsigned tries;
    reader_t reader;
} lock_one_t;

static bool lock_taken(mca_osc_fastpath_module_t *module, void *context)
{
    lock_one_t *wanted = context;
    mca_osc_fastpath_peer_t *peer = wanted->peer;

    if (try_lock(peer)) {
        return true;
    }
    if (TRIES_BEFORE_REGISTERING > ++wanted->tries) {
        return false;
    }
    if (TRIES_BEFORE_REGISTERING == wanted->tries) {
        mca_osc_fastpath_lock_register_sleeper(&peer->member->lock, module->node.index);
    }
    if (MPI_LOCK_SHARED == peer->origin.lock_type
        && share_again(&peer->member->lock, &wanted->reader, mca_common_fastpath_nanoseconds())) {
        mca_osc_fastpath_set_locked(&peer->origin.lock_sent, true);
    }
    return peer->origin.lock_sent;
}

/* Wait for the lock of another member of the node, outside module.lock. */
static int lock_other(mca_osc_fastpath_peer_t *peer)
{
    lock_one_t wanted = {.peer = peer};
    int rc = mca_osc_fastpath_wait_for_memory(peer->module, lock_taken, &wanted);

    if (TRIES_BEFORE_REGISTERING <= wanted.tries) {
        mca_osc_fastpath_lock_unregister_sleeper(&peer->member->lock, peer->module->node.index);
    }
    if (OMPI_SUCCESS != rc) {
        mca_osc_fastpath_lock_give_up(&peer->member->lock, &peer->origin.waits_for_lock);
    }
    return rc;
}

static inline void release_lock(mca_osc_fastpath_peer_t *peer)
{
    if (peer->origin.lock_sent) {
        mca_osc_fastpath_give_back(peer->module, &peer->member->lock,
                                   MPI_LOCK_EXCLUSIVE == peer->origin.lock_type);
        mca_osc_fastpath_set_locked(&peer->origin.lock_sent, false);
    }
}

static bool granted(const mca_osc_fastpath_peer_t *peer)
{
    return peer->origin.lock_sent && 0 <= (int32_t) (peer->origin.acked - peer->origin.lock_sequence);
}

/** A lock that has been asked for. */
typedef struct {
    const mca_osc_fastpath_peer_t *peer;
    uint32_t sequence; /**< of the packet that has asked for it */
} asked_t;

/* Another thread may have given the lock back by now, so what the peer has does not count. */
static bool was_granted(mca_osc_fastpath_module_t *module, void *context)
{
    const asked_t *asked = context;

    (void) module;
    return 0 <= (int32_t) (asked->peer->origin.acked - asked->sequence);
}

/* Its address tells a thread from others. */
static _Thread_local char this_thread;

/* The locks of message targets are asked for late. What a thread has locked last is kept, in a list of one
 * for each thread: what different threads do has no order, and none may wait for a lock of another one's. */
static void keep_last_locked(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    const bool threads = opal_using_threads();

    mca_common_fastpath_lock_if(&component->lock, threads);
    peer->origin.locked_by = &this_thread;
    peer->origin.next_locked = component->last_locked;
    component->last_locked = peer;
    mca_common_fastpath_unlock_if(&component->lock, threads);
}

/* Take a target out of that list: `peer` if it is there, or with NULL what this thread has locked last, whose
 * window then has one more user. */
static mca_osc_fastpath_peer_t *take_last_locked(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    const bool threads = opal_using_threads();
    mca_osc_fastpath_peer_t **at, *found;

    mca_common_fastpath_lock_if(&component->lock, threads);
    for (at = &component->last_locked; NULL != (found = *at); at = &found->origin.next_locked) {
        if (NULL == peer ? &this_thread == found->origin.locked_by : peer == found) {
            *at = found->origin.next_locked;
            found->module->users += NULL == peer;
            break;
        }
    }
    mca_common_fastpath_unlock_if(&component->lock, threads);
    return found;
}

/* Ask for a lock and wait for it, inside the module.lock of its window. */
static int wait_for_lock(mca_osc_fastpath_peer_t *peer)
{
    asked_t asked = {.peer = peer};
    int rc;

    if (peer->origin.nocheck || granted(peer)) {
        return OMPI_SUCCESS;
    }
    rc = mca_osc_fastpath_send_empty(peer, MCA_OSC_FASTPATH_ACK);
    asked.sequence = peer->origin.lock_sequence;
    return OMPI_SUCCESS == rc ? mca_osc_fastpath_wait_until(peer->module, was_granted, &asked) : rc;
}

/* A program that locks several targets, always in the same order, must not meet another one that has got them
 * in another order because locks are asked for late: what has been locked before comes first, also in another
 * window. Inside module.lock. */
static int take_last_lock(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_peer_t *last = take_last_locked(NULL);
    int rc;

    if (NULL == last) {
        return OMPI_SUCCESS;
    }
    if (last->module == module) {
        rc = wait_for_lock(last);
    } else {
        mca_osc_fastpath_leave(module);
        mca_osc_fastpath_enter(last->module);
        rc = wait_for_lock(last);
        mca_osc_fastpath_leave(last->module);
        mca_osc_fastpath_enter(module);
    }
    mca_osc_fastpath_release_window(last->module);
    return rc;
}

/* The lock of another member of the node, if it is free and there is nothing else to look at. Nothing of it
 * is looked at by message handlers, so that only threads have to be kept out. */
static inline bool lock_now(mca_osc_fastpath_module_t *module, int type, int target, int assertion)
{
    mca_osc_fastpath_peer_t *peer = module->peers[target];

    if (NULL == peer || MCA_OSC_FASTPATH_MESSAGE == peer->access || target == module->rank || module->threads
        || MCA_OSC_FASTPATH_EPOCH_NONE != module->epoch || 0 != peer->origin.lock_type
        || NULL != mca_osc_fastpath_component.last_locked || 0 != assertion) {
        return false;
    }
    peer->origin.lock_type = type;
    if (OPAL_UNLIKELY(!try_lock(peer))) {
        mca_osc_fastpath_lock_give_up(&peer->member->lock, &peer->origin.waits_for_lock);
        peer->origin.lock_type = 0;
        return false;
    }
    peer->origin.nocheck = false;
    ++module->locks;
    mca_osc_fastpath_order_locked();
    return true;
}

/* What is left to do for the lock of a peer that nothing forbids. Inside module.lock, which may be given back
 * meanwhile. */
static int lock_peer(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_module_t *module = peer->module;
    int rc;

    if (MCA_OSC_FASTPATH_MESSAGE == peer->access) {
        keep_last_locked(peer);
        return OMPI_SUCCESS;
    }
    if (peer->origin.nocheck) {
        return OMPI_SUCCESS;
    }
    if (peer->rank == module->rank) {
        /* now, because loads and stores may follow */
        rc = mca_osc_fastpath_own_lock(peer) ? OMPI_SUCCESS
                                             : mca_osc_fastpath_wait_until(module, has_lock, peer);
        if (OMPI_SUCCESS != rc) {
            mca_osc_fastpath_own_lock_give_up(peer);
        }
    } else {
        mca_osc_fastpath_leave(module);
        rc = lock_other(peer);
        mca_osc_fastpath_enter(module);
    }
    if (OMPI_SUCCESS != rc) {
        peer->origin.lock_type = 0;
        --module->locks;
    }
    return rc;
}

int mca_osc_fastpath_lock(int type, int target, int assertion, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer;
    int rc = OMPI_SUCCESS;

    if (OPAL_LIKELY(lock_now(module, type, target, assertion))) {
        return OMPI_SUCCESS;
    }
    mca_osc_fastpath_enter(module);
    peer = mca_osc_fastpath_peer(module, target);
    if (NULL == peer) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    } else if (!mca_osc_fastpath_no_epoch(module) || 0 != peer->origin.lock_type) {
        rc = OMPI_ERR_RMA_SYNC;
    } else if (OMPI_SUCCESS == (rc = take_last_lock(module))) {
        peer->origin.lock_type = type;
        peer->origin.nocheck = 0 != (MPI_MODE_NOCHECK & assertion);
        mca_osc_fastpath_set_locked(&peer->origin.lock_sent, false);
        ++module->locks;
        rc = lock_peer(peer);
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
    return mca_osc_fastpath_flush_begin(peer, needed && !nocheck ? MCA_OSC_FASTPATH_UNLOCK : 0);
}

/* Whether that has left: without operations nothing acknowledges it, and others wait for the lock. */
static bool unlock_has_left(mca_osc_fastpath_module_t *module, void *context)
{
    const mca_osc_fastpath_peer_t *peer = context;

    return mca_osc_fastpath_have_left(module, NULL == peer ? NULL : &peer->rank,
                                      NULL == peer ? module->size : 1);
}

/* Wait for it, to one peer or to all. */
static int unlock_end(mca_osc_fastpath_module_t *module, mca_osc_fastpath_peer_t *peer)
{
    const int rc = mca_osc_fastpath_flush_end(module, peer);

    return OMPI_SUCCESS == rc ? mca_osc_fastpath_wait_until(module, unlock_has_left, peer) : rc;
}

static int unlock_message(mca_osc_fastpath_peer_t *peer)
{
    int rc = unlock_begin(peer, peer->origin.nocheck);

    (void) take_last_locked(peer);
    if (OMPI_SUCCESS == rc) {
        rc = unlock_end(peer->module, peer);
    }
    mca_osc_fastpath_set_locked(&peer->origin.lock_sent, false);
    mca_osc_fastpath_deactivate(peer);
    return OMPI_SUCCESS == rc ? mca_osc_fastpath_take_error(peer) : rc;
}

/* What has been locked by lock_now(), or could have been. */
static inline bool unlock_now(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_module_t *module = peer->module;

    if (MCA_OSC_FASTPATH_MESSAGE == peer->access || peer->rank == module->rank || module->threads) {
        return false;
    }
    if (OPAL_UNLIKELY(peer->origin.nocheck)) {
        mca_osc_fastpath_order_window();
    }
    release_lock(peer);
    mca_osc_fastpath_order_locked();
    peer->origin.lock_type = 0;
    --module->locks;
    module->fence_used = false;
    return true;
}

int mca_osc_fastpath_unlock(int target, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer = module->peers[target];
    int rc = OMPI_SUCCESS, made;

    if (NULL == peer || 0 == peer->origin.lock_type) {
        return OMPI_ERR_RMA_SYNC;
    }
    made = mca_osc_fastpath_make_puts(module);
    if (OPAL_LIKELY(unlock_now(peer))) {
        mca_osc_fastpath_progress_sometimes(module);
        return made;
    }
    /* stores to the window come before the unlock */
    mca_osc_fastpath_order_window();
    mca_osc_fastpath_enter(module);
    if (MCA_OSC_FASTPATH_MESSAGE == peer->access) {
        rc = unlock_message(peer);
    } else {
        release_lock(peer);
        if (peer->rank == module->rank) { /* those who came by message may wait for it */
            (void) mca_osc_fastpath_unblock(module);
        }
    }
    peer->origin.lock_type = 0;
    --module->locks;
    module->fence_used = false;
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_progress_sometimes(module);
    return OMPI_SUCCESS == made ? rc : made;
}

/** What lock_all waits for: the locks of all members of the node. */
typedef struct {
    bool pass; /**< other locks are held already: waiting writers are passed */
    int first; /**< index of the member whose lock it takes first */
    int held;  /**< locks that it has: that one and the next ones, around */
    unsigned tries;
    reader_t reader;     /**< of the lock behind these */
    unsigned long since; /**< when it got the last one of these, ns */
    unsigned long keep;  /**< for so long it keeps them while it waits for that lock, ns */
} lock_all_t;

/* The lock that comes after those that it has. */
static inline int next_lock(const mca_osc_fastpath_module_t *module, const lock_all_t *wanted)
{
    const int index = wanted->first + wanted->held;

    return index < module->node.count ? index : index - module->node.count;
}

static void release_node(mca_osc_fastpath_module_t *module, int first, int count)
{
    for (int index = first; 0 < count; --count, ++index) {
        index = index < module->node.count ? index : 0;
        mca_osc_fastpath_give_back(module, &module->node.members[index].lock, false);
    }
}

static bool share_next(mca_osc_fastpath_module_t *module, lock_all_t *wanted, unsigned long now)
{
    mca_osc_fastpath_lockword_t *word = &module->node.members[next_lock(module, wanted)].lock;

    if (!mca_osc_fastpath_lock_shared(word, wanted->pass)
        && !(0 != now && share_again(word, &wanted->reader, now))) {
        return false;
    }
    ++wanted->held;
    wanted->since = now;
    wanted->reader.watch = (mca_osc_fastpath_claim_watch_t){0};
    return true;
}

/* Give back what it has, and begin with the lock that it was refused. */
static void let_go(mca_osc_fastpath_module_t *module, lock_all_t *wanted, unsigned long now)
{
    const int refused = next_lock(module, wanted);

    release_node(module, wanted->first, wanted->held);
    wanted->first = refused;
    wanted->held = 0;
    if (0 == wanted->keep && mca_osc_fastpath_lock_is_late(wanted->reader.since, now)) {
        wanted->keep = MCA_OSC_FASTPATH_PATIENCE;
    } else if (wanted->keep < KEEP_MAX) {
        wanted->keep *= 2;
    }
}

/* Take the locks of all members of the node, or none: a process that waited for one lock while it holds
 * others could cause a deadlock. But where others have one or another lock at any time, who keeps none does
 * not get all. So one that has waited for long keeps what it has for some time, and each time for longer. */
static bool node_locked(mca_osc_fastpath_module_t *module, void *context)
{
    lock_all_t *wanted = context;
    const unsigned long now =
        TRIES_BEFORE_REGISTERING <= ++wanted->tries ? mca_common_fastpath_nanoseconds() : 0;

    if (TRIES_BEFORE_REGISTERING == wanted->tries) {
        for (int index = 0; index < module->node.count; ++index) {
            mca_osc_fastpath_lock_register_sleeper(&module->node.members[index].lock, module->node.index);
        }
    }
    while (wanted->held < module->node.count) {
        if (OPAL_UNLIKELY(!share_next(module, wanted, now))) {
            if (0 < wanted->held && now - wanted->since >= wanted->keep) {
                let_go(module, wanted, now);
            }
            return false;
        }
    }
    return true;
}

int mca_osc_fastpath_lock_all(int assertion, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    lock_all_t wanted = {.first = 0};
    int rc = OMPI_SUCCESS;

    mca_osc_fastpath_enter(module);
    if (!mca_osc_fastpath_no_epoch(module) || 0 != module->locks) {
        rc = OMPI_ERR_RMA_SYNC;
    } else if (OMPI_SUCCESS == (rc = take_last_lock(module))) {
        module->epoch = MCA_OSC_FASTPATH_EPOCH_PASSIVE;
        module->lock_all_nocheck = 0 != (MPI_MODE_NOCHECK & assertion);
    }
    mca_osc_fastpath_leave(module);
    if (OMPI_SUCCESS == rc && !module->lock_all_nocheck) {
        wanted.pass = 0 < mca_osc_fastpath_component.locks_held;
        rc = mca_osc_fastpath_wait_for_memory(module, node_locked, &wanted);
        for (int index = 0; TRIES_BEFORE_REGISTERING <= wanted.tries && index < module->node.count; ++index) {
            mca_osc_fastpath_lock_unregister_sleeper(&module->node.members[index].lock, module->node.index);
        }
        if (OMPI_SUCCESS == rc) {
            mca_osc_fastpath_set_locked(&module->lock_all_taken, true);
        } else {
            release_node(module, wanted.first, wanted.held);
            module->epoch = MCA_OSC_FASTPATH_EPOCH_NONE;
        }
    }
    mca_osc_fastpath_order_window();
    return rc;
}

int mca_osc_fastpath_unlock_all(ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    mca_osc_fastpath_peer_t *peer;
    int rc = OMPI_SUCCESS, error, made;

    if (MCA_OSC_FASTPATH_EPOCH_PASSIVE != module->epoch) {
        return OMPI_ERR_RMA_SYNC;
    }
    made = mca_osc_fastpath_make_puts(module);
    mca_osc_fastpath_order_window();
    mca_osc_fastpath_enter(module);
    if (module->lock_all_taken) {
        release_node(module, 0, module->node.count);
        mca_osc_fastpath_set_locked(&module->lock_all_taken, false);
        (void) mca_osc_fastpath_unblock(module);
    }
    OPAL_LIST_FOREACH(peer, &module->active, mca_osc_fastpath_peer_t)
    {
        error = unlock_begin(peer, module->lock_all_nocheck);
        rc = OMPI_SUCCESS == rc ? error : rc;
    }
    if (OMPI_SUCCESS == rc && !opal_list_is_empty(&module->active)) {
        rc = unlock_end(module, NULL);
    }
    error = mca_osc_fastpath_end_active(module);
    module->epoch = MCA_OSC_FASTPATH_EPOCH_NONE;
    module->fence_used = false;
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_progress_sometimes(module);
    rc = OMPI_SUCCESS == rc ? error : rc;
    return OMPI_SUCCESS == rc ? made : rc;
}
