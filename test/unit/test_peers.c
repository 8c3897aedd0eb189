/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Which FIFOs are looked at, while two threads change that: one remembers a peer, and another one has a peer
 * leave, at every moment when the former does not have the lock.  There is one thread here: the other one is
 * called at these moments.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "opal/mca/btl/fastsm/btl_fastsm.h"

static void take(const opal_mutex_t *lock);
static void give_back(const opal_mutex_t *lock);
static void moment(void);

#undef OPAL_THREAD_LOCK
#undef OPAL_THREAD_UNLOCK
#undef atomic_store_explicit
#define OPAL_THREAD_LOCK(lock)   take(lock)
#define OPAL_THREAD_UNLOCK(lock) give_back(lock)
#define atomic_store_explicit(object, value, order)                                                          \
    ((void) atomic_exchange_explicit(object, value, order), moment())

#include "opal/mca/btl/fastsm/btl_fastsm_peers.c"

enum { PEERS = MCA_BTL_FASTSM_RECENT + 2, MOMENTS = 16 };

mca_btl_fastsm_component_t mca_btl_fastsm_component;
bool opal_uses_threads;

static struct {
    mca_btl_fastsm_endpoint_t peers[PEERS];
    mca_btl_fastsm_endpoint_t *leaves; /* whom the other thread unlists; NULL: it has */
    unsigned left;                     /* moments until then */
    bool locked;
} world;

static void take(const opal_mutex_t *lock)
{
    assert_ptr_equal(&mca_btl_fastsm_component.lock, lock);
    moment();
    assert_false(world.locked);
    world.locked = true;
}

static void give_back(const opal_mutex_t *lock)
{
    assert_ptr_equal(&mca_btl_fastsm_component.lock, lock);
    assert_true(world.locked);
    world.locked = false;
    moment();
}

static void moment(void)
{
    mca_btl_fastsm_endpoint_t *leaves = world.leaves;

    if (!world.locked && NULL != leaves && 0 == world.left--) {
        world.leaves = NULL;
        mca_btl_fastsm_unlist_peer(leaves);
    }
}

/* The first `connected` peers are, and messages have come from the first `heard` of them. */
static void world_open(uint32_t connected, uint32_t heard)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    memset(&world, 0, sizeof(world));
    memset(component, 0, sizeof(*component));
    component->peers = world.peers;
    component->n_local = PEERS;
    atomic_init(&component->n_bells, PEERS);
    for (uint32_t i = 0; i < connected; ++i) {
        mca_btl_fastsm_list_peer(&world.peers[i]);
    }
    for (uint32_t i = 0; i < heard; ++i) {
        mca_btl_fastsm_remember(&world.peers[i]);
    }
}

static bool is_recent(const mca_btl_fastsm_endpoint_t *endpoint)
{
    for (uint32_t i = 0; i < mca_btl_fastsm_load_n_recent(); ++i) {
        if (endpoint == atomic_load_explicit(&mca_btl_fastsm_component.recent[i], memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* Where bells are not looked at, `recent` has them all. */
static void expect_all_are_found(void)
{
    if (mca_btl_fastsm_component.n_connected > mca_btl_fastsm_load_n_recent()) {
        return;
    }
    for (uint32_t i = 0; i < PEERS; ++i) {
        assert_true(!world.peers[i].readable || is_recent(&world.peers[i]));
    }
}

static void try_all(uint32_t connected, uint32_t heard, uint32_t remembered, uint32_t leaving)
{
    bool done = false;

    for (unsigned at = 0; !done; ++at) {
        assert_true(MOMENTS > at);
        world_open(connected, heard);
        world.leaves = &world.peers[leaving];
        world.left = at;
        mca_btl_fastsm_remember(&world.peers[remembered]);
        expect_all_are_found();
        done = NULL != world.leaves; /* there are no more moments */
    }
}

static void test_a_peer_leaves(void **state)
{
    (void) state;
    for (uint32_t connected = 1; connected <= PEERS; ++connected) {
        for (uint32_t heard = 0; heard <= connected; ++heard) {
            for (uint32_t i = 0; i < connected; ++i) {
                for (uint32_t k = 0; k < connected; ++k) {
                    try_all(connected, heard, i, k);
                }
            }
        }
    }
}

/* The last sender comes first, and the others keep their order. */
static void test_order(void **state)
{
    (void) state;
    world_open(PEERS, MCA_BTL_FASTSM_RECENT);
    mca_btl_fastsm_remember(&world.peers[4]);
    mca_btl_fastsm_remember(&world.peers[5]);
    mca_btl_fastsm_remember(&world.peers[0]);
    mca_btl_fastsm_remember(&world.peers[4]);
    for (uint32_t i = 0; i < MCA_BTL_FASTSM_RECENT; ++i) {
        static const uint32_t order[MCA_BTL_FASTSM_RECENT] = {4, 0, 5, 1};

        assert_ptr_equal(&world.peers[order[i]], atomic_load(&mca_btl_fastsm_component.recent[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_peer_leaves),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
