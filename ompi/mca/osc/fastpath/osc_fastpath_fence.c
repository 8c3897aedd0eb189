/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Win_fence: the members tell each other how many packets each of them has sent to whom. A member leaves
 * when all that are for it have taken effect. Packets of the next epoch, which may come before that, wait.
 * Those who share memory have a barrier in it, afterwards, or instead where nobody else is a member.
 */
#include "ompi_config.h"

#include "osc_fastpath_copy.h"
#include "osc_fastpath_packet.h"
#include "osc_fastpath_peer.h"
#include "osc_fastpath_recv.h"
#include "osc_fastpath_sync.h"
#include "osc_fastpath_ticket.h"
#include "osc_fastpath_wait.h"
#include "osc_fastpath_wait_memory.h"
#include "osc_fastpath_wake.h"

/** A round of a barrier. */
typedef struct {
    const _Atomic uint32_t *arrived;
    uint32_t number;
} round_t;

static bool round_done(mca_osc_fastpath_module_t *module, void *context)
{
    const round_t *round = context;

    (void) module;
    /* acquire, with the release of who has told: sees all that it, and those it had heard of, stored before
     * the barrier */
    return 0 <= (int32_t) (atomic_load_explicit(round->arrived, memory_order_acquire) - round->number);
}

/* What a member waits for has been stored. Outside module.lock. */
static void wake(mca_osc_fastpath_module_t *module, int rank)
{
    mca_osc_fastpath_peer_t *peer = module->peers[rank];

    if (OPAL_UNLIKELY(NULL == peer)) {
        mca_osc_fastpath_enter(module);
        peer = mca_osc_fastpath_peer(module, rank);
        mca_osc_fastpath_leave(module);
    }
    if (OPAL_LIKELY(NULL != peer)) {
        mca_osc_fastpath_wake(peer);
    }
}

/* Wait until all members of the node have come here. Outside module.lock. @return OMPI_SUCCESS or an error.
 * In round R each member tells the one 2^R after it and waits for the one 2^R before it: after the last round
 * it has heard of all. A member may be one barrier ahead, then its number is higher. */
static int node_barrier(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_node_t *node = &module->node;
    const uint32_t number = ++node->barriers;
    int rc = OMPI_SUCCESS;

    for (int round = 0, distance = 1; distance < node->count && OMPI_SUCCESS == rc;
         ++round, distance = distance > node->count / 2 ? node->count : 2 * distance) {
        round_t context = {&node->members[node->index].arrived[round], number};
        const int next = (int) (((unsigned) node->index + (unsigned) distance) % (unsigned) node->count);

        /* release, with the acquire above */
        atomic_store_explicit(&node->members[next].arrived[round], number, memory_order_release);
        wake(module, (int) node->places[next].rank);
        rc = mca_osc_fastpath_wait_for_memory(module, round_done, &context);
    }
    return rc;
}

int mca_osc_fastpath_count_packets(mca_osc_fastpath_module_t *module, uint32_t *expected)
{
    ompi_communicator_t *comm = module->comm;
    const int rc = comm->c_coll->coll_reduce_scatter_block(module->fence_sent, expected, 1,
                                                           &ompi_mpi_uint32_t.dt, &ompi_mpi_op_sum.op, comm,
                                                           comm->c_coll->coll_reduce_scatter_block_module);

    memset(module->fence_sent, 0, (size_t) module->size * sizeof(module->fence_sent[0]));
    return rc;
}

static void send_all(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_peer_t *peer;

    mca_osc_fastpath_enter(module);
    OPAL_LIST_FOREACH(peer, &module->active, mca_osc_fastpath_peer_t)
    {
        if (NULL != peer->origin.packet) {
            mca_osc_fastpath_origin_send(peer, 0);
        }
    }
    mca_osc_fastpath_leave(module);
}

/* What others have sent is here, and what this process has to say, replies included, has left. */
static bool fence_is_over(mca_osc_fastpath_module_t *module, void *context)
{
    (void) context;
    return module->fence_done == module->fence_expected && 0 == module->tickets->used
           && mca_osc_fastpath_have_left(module, NULL, module->size);
}

/* End the epoch: everything sent has taken effect, here and there. */
static int end_epoch(mca_osc_fastpath_module_t *module)
{
    uint32_t expected = 0;
    int rc;

    send_all(module);
    rc = mca_osc_fastpath_count_packets(module, &expected);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    mca_osc_fastpath_enter(module);
    module->fence_expected += expected;
    rc = mca_osc_fastpath_wait_until(module, fence_is_over, NULL);
    if (OMPI_SUCCESS == rc) {
        rc = mca_osc_fastpath_end_active(module);
    }
    mca_osc_fastpath_leave(module);
    return rc;
}

int mca_osc_fastpath_fence(int assertion, ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    const int both = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    int rc = OMPI_SUCCESS, met = OMPI_SUCCESS, made;

    if (0 != module->locks || 0 <= module->post_count
        || (MCA_OSC_FASTPATH_EPOCH_NONE != module->epoch && MCA_OSC_FASTPATH_EPOCH_FENCE != module->epoch)) {
        return OMPI_ERR_RMA_SYNC;
    }
    made = mca_osc_fastpath_make_puts(module);
    /* what this process has stored into its window comes before what others load from it */
    mca_osc_fastpath_order_window();
    if (!(MPI_MODE_NOPRECEDE & assertion) && !module->node.everybody) {
        rc = end_epoch(module);
    }
    /* Members of the node access its memory as soon as their next epoch begins: all have to have come here,
     * and all packets to any of them have to have taken effect. Who has an error to return comes as well: the
     * others wait. */
    if (mca_osc_fastpath_node_reaches(&module->node) && both != (both & assertion)) {
        met = node_barrier(module);
    }
    rc = OMPI_SUCCESS == rc ? met : rc;
    mca_osc_fastpath_enter(module);
    rc = mca_osc_fastpath_take_active_error(module, rc);
    ++module->fences;
    module->epoch =
        MPI_MODE_NOSUCCEED & assertion ? MCA_OSC_FASTPATH_EPOCH_NONE : MCA_OSC_FASTPATH_EPOCH_FENCE;
    module->fence_used = false;
    (void) mca_osc_fastpath_unblock(module);
    mca_osc_fastpath_leave(module);
    mca_osc_fastpath_order_window();
    return OMPI_SUCCESS == rc ? made : rc;
}
