/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Which FIFOs of ours are looked at, and which of them have rung.
 */
#ifndef MCA_BTL_FASTSM_PEERS_H
#define MCA_BTL_FASTSM_PEERS_H

#include "btl_fastsm.h"

/** A message came from this peer, so its slots may be looked at from now on. */
void mca_btl_fastsm_heard(mca_btl_fastsm_endpoint_t *endpoint);
/** Has a peer's FIFO looked at from now on. */
void mca_btl_fastsm_list_peer(mca_btl_fastsm_endpoint_t *endpoint);
/** Has it looked at no longer. */
void mca_btl_fastsm_unlist_peer(mca_btl_fastsm_endpoint_t *endpoint);
/** Makes `in` of an endpoint the FIFO with this number, as it has been left. */
void mca_btl_fastsm_read_fifo(mca_btl_fastsm_endpoint_t *endpoint, uint32_t number);
/**
 * The same, but until mca_btl_fastsm_read_first() `in` has a slot of its own in which nothing comes: nobody
 * has written to the FIFO, so it may have no pages, and to look at a slot would take one, or be a SIGBUS
 * where there is none left.
 */
void mca_btl_fastsm_read_bell(mca_btl_fastsm_endpoint_t *endpoint, uint32_t number);
/**
 * The bell of this peer rings, and nothing was found in `in`, which is its FIFO from now on.
 *
 * @return whether to look again; false: another thread does
 */
bool mca_btl_fastsm_read_first(mca_btl_fastsm_endpoint_t *endpoint);
/** Makes `in` of an endpoint a FIFO in which nothing ever comes: another thread may be about to look there.
 */
void mca_btl_fastsm_read_nothing(mca_btl_fastsm_endpoint_t *endpoint);
/** The read position of a FIFO that leaves no room: one without slots, or without pages yet. */
extern _Atomic uint32_t mca_btl_fastsm_no_room;
/** Puts a peer first in `recent`: the senders of the last messages are most likely to be those of the next.
 */
void mca_btl_fastsm_remember(mca_btl_base_endpoint_t *endpoint);

/** How many bells there are to look at.  It only grows, and before the first of them that counts can ring. */
static inline uint32_t mca_btl_fastsm_load_n_bells(void)
{
    return atomic_load_explicit(&mca_btl_fastsm_component.n_bells, memory_order_relaxed);
}

/**
 * Which of 8 neighbouring FIFOs have rung.  A bell that differs from what we have read is rung.  It may be
 * ahead of its slot or behind it, either way it differs until we have read all there is.
 *
 * @param group  of the FIFOs with numbers 8 * group and up
 * @return       bit per FIFO
 */
static inline uint32_t mca_btl_fastsm_rung(uint32_t group)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint32_t stride = component->layout.params.bell_stride;
    const uint32_t first = 8 * group;
    _Atomic uint8_t *expected = (_Atomic uint8_t *) component->bell_expected;
    char *bells = component->base + component->layout.bells;
    uint32_t rung = 0;

    if (1 == stride
        && OPAL_LIKELY(fastsm_load_bells((_Atomic uint64_t *) (bells + first))
                       == atomic_load_explicit(&component->bell_expected[group], memory_order_relaxed))) {
        return 0;
    }
    for (uint32_t i = first; i < mca_btl_fastsm_load_n_bells() && i < first + 8; ++i) {
        if (fastsm_load_bell((_Atomic uint8_t *) (bells + (size_t) i * stride))
            != atomic_load_explicit(&expected[i], memory_order_relaxed)) {
            rung |= 1u << (i - first);
        }
    }
    return rung;
}

/** Groups of 8 that mca_btl_fastsm_rung() is asked about. */
static inline uint32_t mca_btl_fastsm_bell_groups(void)
{
    return (mca_btl_fastsm_load_n_bells() + 7) / 8;
}

/** H2.  Partner: H1.  How many entries of `recent` are there; each of them can be read. */
static inline uint32_t mca_btl_fastsm_load_n_recent(void)
{
    return atomic_load_explicit(&mca_btl_fastsm_component.n_recent, memory_order_acquire);
}

#endif /* MCA_BTL_FASTSM_PEERS_H */
