/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Which FIFOs of ours are looked at, and in which order.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_peers.h"

_Atomic uint32_t mca_btl_fastsm_no_room = UINT32_C(0x80000000);

void mca_btl_fastsm_read_fifo(mca_btl_fastsm_endpoint_t *endpoint, uint32_t number)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    fastsm_fifo_receiver_init(&endpoint->in, component->base, &component->layout, number);
    endpoint->in.read_pos = atomic_load_explicit(endpoint->in.shared_read_pos, memory_order_relaxed);
    endpoint->in_number = number;
    endpoint->in.expected = (_Atomic uint8_t *) component->bell_expected + number;
    endpoint->in.idle = &mca_btl_fastsm_component.ahead.idle;
}

void mca_btl_fastsm_read_nothing(mca_btl_fastsm_endpoint_t *endpoint)
{
    static mca_btl_fastsm_slot_t never;

    endpoint->in.slots = &never; /* its word is 0, and that of position 0 would be 1 */
    endpoint->in.read_pos = 0;
    endpoint->in.depth = 1;
    endpoint->in.shared_read_pos = &never.sequence;
    endpoint->in.expected = &endpoint->in.unheard;
    endpoint->in_number = 0;
}

/* in private memory: the first message of a FIFO makes its word 1 */
static mca_btl_fastsm_slot_t before_first;

void mca_btl_fastsm_read_bell(mca_btl_fastsm_endpoint_t *endpoint, uint32_t number)
{
    mca_btl_fastsm_read_fifo(endpoint, number);
    endpoint->in.slots = &before_first;
    endpoint->in.depth = 2;
}

bool mca_btl_fastsm_read_first(mca_btl_fastsm_endpoint_t *endpoint)
{
    if (!mca_btl_fastsm_begin_consuming(&endpoint->in)) {
        return false;
    }
    if (&before_first == endpoint->in.slots) {
        mca_btl_fastsm_read_fifo(endpoint, endpoint->in_number);
    }
    mca_btl_fastsm_end_consuming(&endpoint->in);
    return true; /* another thread may have been here since the caller looked */
}

/* Lists a peer that was heard of and is not listed yet, if there is a place. */
static void list_recent(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint32_t count = atomic_load_explicit(&component->n_recent, memory_order_relaxed);

    for (uint32_t i = 0; i < count; ++i) {
        if (endpoint == atomic_load_explicit(&component->recent[i], memory_order_relaxed)) {
            return;
        }
    }
    if (count < MCA_BTL_FASTSM_RECENT) {
        atomic_store_explicit(&component->recent[count], endpoint, memory_order_relaxed);
        /* H1.  Partner: H2.  The entry is there before it counts. */
        atomic_store_explicit(&component->n_recent, count + 1, memory_order_release);
    }
}

/* A message came from this peer.  The lock is held.  By now the peer may have been unlisted, and a list of
 * all has no place for one that is not connected. */
static void note_heard(mca_btl_fastsm_endpoint_t *endpoint)
{
    endpoint->heard = true;
    if (endpoint->readable) {
        list_recent(endpoint);
    }
}

void mca_btl_fastsm_heard(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OPAL_THREAD_LOCK(&component->lock);
    note_heard(endpoint);
    OPAL_THREAD_UNLOCK(&component->lock);
}

/* What the peer sent before it was connected is behind its bell. */
void mca_btl_fastsm_list_peer(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OPAL_THREAD_LOCK(&component->lock);
    endpoint->readable = true;
    ++component->n_connected;
    OPAL_THREAD_UNLOCK(&component->lock);
}

void mca_btl_fastsm_unlist_peer(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OPAL_THREAD_LOCK(&component->lock);
    endpoint->readable = false;
    --component->n_connected;
    atomic_store_explicit(&component->n_recent, 0, memory_order_relaxed);
    for (uint32_t number = 0; number < mca_btl_fastsm_load_n_bells(); ++number) {
        mca_btl_fastsm_endpoint_t *other = mca_btl_fastsm_writer(number);

        if (NULL != other && other->readable && other->heard) {
            list_recent(other);
        }
    }
    OPAL_THREAD_UNLOCK(&component->lock);
}

/* Puts a peer first in `recent`, which is full.  The last one drops out if the peer was not there. */
static void move_to_front(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_endpoint_t *moved = endpoint;

    for (uint32_t i = 0; i < MCA_BTL_FASTSM_RECENT; ++i) {
        mca_btl_fastsm_endpoint_t *old = atomic_load_explicit(&component->recent[i], memory_order_relaxed);

        atomic_store_explicit(&component->recent[i], moved, memory_order_relaxed);
        if (old == endpoint) {
            return;
        }
        moved = old;
    }
}

void mca_btl_fastsm_remember(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OPAL_THREAD_LOCK(&component->lock);
    /* Never reordered while it may be a list of all: who drops out is found by its bell only as long as bells
     * are looked at.  Another thread may unlist peers, so the answer holds only with the lock. */
    if (mca_btl_fastsm_load_n_recent() < MCA_BTL_FASTSM_RECENT
        || component->n_connected <= MCA_BTL_FASTSM_RECENT) {
        note_heard(endpoint);
    } else if (endpoint->readable) {
        move_to_front(endpoint);
    }
    OPAL_THREAD_UNLOCK(&component->lock);
}
