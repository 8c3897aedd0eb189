/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Which FIFOs are looked at, while two threads change that: one remembers a peer, and another one has a peer
 * leave, at every moment when the former does not have the lock.  There is one thread here: the other one is
 * called at these moments.  And a FIFO of which nothing is read until its bell has rung.
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

#include "segment_fixture.h"

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

/* No slot of a FIFO is looked at before its sender has been there. */
static void test_first_message(void **state)
{
    static const mca_btl_fastsm_layout_params_t params = {.n_local = PEERS,
                                                          .fifo_depth = 64,
                                                          .bell_stride = 1,
                                                          .position_stride = 8,
                                                          .eager_count = 1,
                                                          .eager_size = 4160,
                                                          .max_count = 1,
                                                          .max_size = 8192,
                                                          .ring_depth = 8,
                                                          .dynamic_peers = 1};
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_endpoint_t *peer = &world.peers[1];
    _Atomic uint64_t expected[(PEERS + 7) / 8] = {0};
    fastsm_fifo_sender_t out;
    unsigned spins = 3;

    (void) state;
    world_open(PEERS, 0);
    component->base = segment_open(&params, &component->layout);
    component->bell_expected = expected;
    assert_int_equal(0, mprotect(component->base + mca_btl_fastsm_layout_fifo(&component->layout, 0),
                                 PEERS * mca_btl_fastsm_layout_fifo_size(&component->layout, 0), PROT_NONE));
    mca_btl_fastsm_read_bell(peer, 1);
    assert_null(fastsm_fifo_peek(&peer->in));
    assert_null(fastsm_fifo_await(&peer->in, &spins));
    assert_int_equal(0, mca_btl_fastsm_rung(0));

    assert_int_equal(0, mprotect(component->base, component->layout.total, PROT_READ | PROT_WRITE));
    fastsm_fifo_sender_init(&out, component->base, &component->layout, 1);
    assert_true(fastsm_fifo_send_slots(&out, 1, 2, "", 0, 3));
    assert_null(fastsm_fifo_peek(&peer->in));
    assert_int_equal(1 << 1, mca_btl_fastsm_rung(0));
    assert_true(mca_btl_fastsm_read_first(peer));
    assert_non_null(fastsm_fifo_peek(&peer->in));
    fastsm_fifo_release(&peer->in, 1);
    assert_int_equal(0, mca_btl_fastsm_rung(0));
    assert_true(mca_btl_fastsm_read_first(peer)); /* once more changes nothing */
    assert_int_equal(1, peer->in.read_pos);
    munmap(component->base, component->layout.total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_peer_leaves),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_first_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
