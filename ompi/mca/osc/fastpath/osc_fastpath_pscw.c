/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Win_post, MPI_Win_start, MPI_Win_complete, MPI_Win_wait and MPI_Win_test.
 *
 * Packets carry the number of the epoch, which origin and target count each for itself. Those that come
 * before MPI_Win_post wait at the target, so that a post needs no message. Where origin and target share
 * memory, the target stores the number of its posts there, which MPI_Win_start waits for, and the origins
 * count their epochs that are complete.
 */
#include "ompi_config.h"

#include "osc_fastpath_copy.h"
#include "osc_fastpath_packet.h"
#include "osc_fastpath_peer.h"
#include "osc_fastpath_recv.h"
#include "osc_fastpath_sync.h"
#include "osc_fastpath_wait_memory.h"
#include "osc_fastpath_wake.h"

/* Fill in the ranks of a group in the window's, room for all of it. @return OMPI_SUCCESS; MPI_ERR_GROUP when
 * somebody is not a member; OMPI_ERR_OUT_OF_RESOURCE */
static int translate(mca_osc_fastpath_module_t *module, ompi_group_t *group, int count, int *from, int *ranks)
{
    for (int i = 0; i < count; ++i) {
        from[i] = i;
    }
    if (OMPI_SUCCESS != ompi_group_translate_ranks(group, count, from, module->comm->c_local_group, ranks)) {
        return MPI_ERR_GROUP;
    }
    for (int i = 0; i < count; ++i) {
        if (0 > ranks[i] || ranks[i] >= module->size) {
            return MPI_ERR_GROUP;
        }
        if (NULL == mca_osc_fastpath_peer(module, ranks[i])) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    return OMPI_SUCCESS;
}

/* The ranks of a group in the window's, malloc'ed, in *ranks. @return what translate() does */
static int ranks_of(mca_osc_fastpath_module_t *module, ompi_group_t *group, int **ranks)
{
    const int count = ompi_group_size(group);
    int rc;

    *ranks = calloc(0 < count ? 2 * (size_t) count : 1, sizeof(**ranks));
    if (NULL == *ranks) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = translate(module, group, count, *ranks + count, *ranks);
    if (OMPI_SUCCESS != rc) {
        free(*ranks);
    }
    return rc;
}

/* @return whether it is another member of the node that reaches this process's memory, and this process its
 */
static bool shares(const mca_osc_fastpath_peer_t *peer)
{
    return MCA_OSC_FASTPATH_MESSAGE != peer->access && peer->rank != peer->module->rank;
}

static bool has_posted(mca_osc_fastpath_module_t *module, void *context)
{
    const mca_osc_fastpath_peer_t *peer = context;
    const _Atomic uint32_t *posts =
        mca_osc_fastpath_node_posts(&module->node, module->node.index, peer->node_index);

    /* acquire, with the release of tell_post(): comes after what the target did in its window before */
    return 0 <= (int32_t) (atomic_load_explicit(posts, memory_order_acquire) - peer->origin.starts);
}

/* Memory that is mapped here may be accessed once its owner has posted. Outside module.lock. */
static int wait_for_posts(mca_osc_fastpath_module_t *module)
{
    int rc = OMPI_SUCCESS;

    for (int i = 0; i < module->start_count && OMPI_SUCCESS == rc; ++i) {
        mca_osc_fastpath_peer_t *peer = module->peers[module->start_ranks[i]];

        if (shares(peer)) {
            rc = mca_osc_fastpath_wait_for_memory(module, has_posted, peer);
        }
    }
    return rc;
}

int mca_osc_fastpath_start(ompi_group_t *group, int assertion, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc = OMPI_SUCCESS;
    int *ranks;

    (void) assertion; /* MPI_MODE_NOCHECK: nothing is sent for a post anyway */
    mca_osc_fastpath_enter(module);
    if (!mca_osc_fastpath_no_epoch(module) || 0 != module->locks) {
        rc = OMPI_ERR_RMA_SYNC;
    } else if (OMPI_SUCCESS == (rc = ranks_of(module, group, &ranks))) {
        module->start_ranks = ranks;
        module->start_count = ompi_group_size(group);
        module->epoch = MCA_OSC_FASTPATH_EPOCH_START;
        for (int i = 0; i < module->start_count; ++i) {
            mca_osc_fastpath_peer_t *peer = module->peers[ranks[i]];

            peer->origin.in_start = true;
            ++peer->origin.starts;
        }
    }
    mca_osc_fastpath_leave(module);
    return OMPI_SUCCESS == rc ? wait_for_posts(module) : rc;
}

/* Tell a target that this process has completed its epoch, behind the operations of it. */
static int tell_complete(mca_osc_fastpath_peer_t *peer)
{
    if (MCA_OSC_FASTPATH_MESSAGE == peer->access) {
        return mca_osc_fastpath_send_empty(peer, MCA_OSC_FASTPATH_COMPLETE);
    }
    if (shares(peer)) {
        /* release, with the acquire of all_complete() */
        atomic_fetch_add_explicit(&peer->member->completes, 1, memory_order_release);
        mca_osc_fastpath_wake(peer);
    } else {
        ++peer->target.completes; /* the own rank */
    }
    return OMPI_SUCCESS;
}

static bool access_is_over(mca_osc_fastpath_module_t *module, void *context)
{
    (void) context;
    return mca_osc_fastpath_have_left(module, module->start_ranks, module->start_count);
}

int mca_osc_fastpath_complete(ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc = OMPI_SUCCESS, error, made;

    if (MCA_OSC_FASTPATH_EPOCH_START != module->epoch) {
        return OMPI_ERR_RMA_SYNC;
    }
    made = mca_osc_fastpath_make_puts(module);
    mca_osc_fastpath_order_window();
    mca_osc_fastpath_enter(module);
    for (int i = 0; i < module->start_count; ++i) {
        mca_osc_fastpath_peer_t *peer = module->peers[module->start_ranks[i]];

        peer->origin.in_start = false;
        error = tell_complete(peer);
        rc = OMPI_SUCCESS == rc ? error : rc;
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_osc_fastpath_wait_for_data(module, NULL);
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_osc_fastpath_wait_until(module, access_is_over, NULL);
    }
    error = mca_osc_fastpath_take_active_error(module, mca_osc_fastpath_end_active(module));
    free(module->start_ranks);
    module->start_ranks = NULL;
    module->start_count = 0;
    module->epoch = MCA_OSC_FASTPATH_EPOCH_NONE;
    module->fence_used = false;
    mca_osc_fastpath_leave(module);
    rc = OMPI_SUCCESS == rc ? error : rc;
    return OMPI_SUCCESS == rc ? made : rc;
}

/* Tell an origin that this process has posted for it once more; by message it finds out by itself. */
static void tell_post(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_module_t *module = peer->module;

    ++peer->target.posts;
    if (shares(peer)) {
        ++module->completes_expected;
        /* release, with the acquire of has_posted() */
        atomic_store_explicit(
            mca_osc_fastpath_node_posts(&module->node, peer->node_index, module->node.index),
            peer->target.posts, memory_order_release);
        mca_osc_fastpath_wake(peer);
    }
}

int mca_osc_fastpath_post(ompi_group_t *group, int assertion, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc = OMPI_SUCCESS;
    int *ranks;

    (void) assertion;
    mca_osc_fastpath_order_window();
    mca_osc_fastpath_enter(module);
    if (0 <= module->post_count) {
        rc = OMPI_ERR_RMA_SYNC;
    } else if (OMPI_SUCCESS == (rc = ranks_of(module, group, &ranks))) {
        module->post_ranks = ranks;
        module->post_count = ompi_group_size(group);
        for (int i = 0; i < module->post_count; ++i) {
            tell_post(module->peers[ranks[i]]);
        }
        (void) mca_osc_fastpath_unblock(module);
    }
    mca_osc_fastpath_leave(module);
    return rc;
}

static bool all_complete(mca_osc_fastpath_module_t *module, void *context)
{
    (void) context;
    for (int i = 0; i < module->post_count; ++i) {
        const mca_osc_fastpath_peer_t *peer = module->peers[module->post_ranks[i]];

        if (!shares(peer) && peer->target.completes != peer->target.posts) {
            return false;
        }
    }
    /* acquire, with the release of tell_complete(): sees what those origins stored in the window */
    return module->completes_expected
           == atomic_load_explicit(&module->member->completes, memory_order_acquire);
}

/* Replies to origins. */
static bool replies_have_left(mca_osc_fastpath_module_t *module, void *context)
{
    (void) context;
    return mca_osc_fastpath_have_left(module, module->post_ranks, module->post_count);
}

static void end_exposure(mca_osc_fastpath_module_t *module)
{
    free(module->post_ranks);
    module->post_ranks = NULL;
    module->post_count = -1;
    mca_osc_fastpath_order_window();
}

int mca_osc_fastpath_wait(ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc;

    if (0 > module->post_count) {
        return OMPI_ERR_RMA_SYNC;
    }
    rc = mca_osc_fastpath_wait_for_memory(module, all_complete, NULL);
    mca_osc_fastpath_enter(module);
    if (OMPI_SUCCESS == rc) {
        rc = mca_osc_fastpath_wait_until(module, replies_have_left, NULL);
    }
    end_exposure(module);
    mca_osc_fastpath_leave(module);
    return rc;
}

int mca_osc_fastpath_test(ompi_win_t *win, int *flag)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);

    if (0 > module->post_count) {
        return OMPI_ERR_RMA_SYNC;
    }
    opal_progress();
    mca_osc_fastpath_enter(module);
    *flag = all_complete(module, NULL) && replies_have_left(module, NULL);
    if (*flag) {
        end_exposure(module);
    }
    mca_osc_fastpath_leave(module);
    return OMPI_SUCCESS;
}
