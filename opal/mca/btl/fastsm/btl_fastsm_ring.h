/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The ring: many producers, one consumer.  All dynamic peers of a process share
 * the one in its segment.
 *
 *     producer: find the admission -> reserve -> fill the slot -> commit
 *     consumer: peek -> use the slot -> release, as with a FIFO
 *
 * A message is one slot.  Between reserve and commit there must be no way
 * out: a slot that is claimed and never committed stops the ring for good.
 *
 * The consumer's end is a fastsm_fifo_receiver_t.  docs/memory-ordering.md
 * says why each of the ordered accesses is needed.
 */

#ifndef MCA_BTL_FASTSM_RING_H
#define MCA_BTL_FASTSM_RING_H

#include <stdbool.h>
#include <string.h>

#include "btl_fastsm_fifo.h"
#include "btl_fastsm_layout.h"

/** a producer's end; private to the sending process and constant */
typedef struct {
    mca_btl_fastsm_slot_t *slots;           /**< in the receiver's segment */
    uint32_t depth;                         /**< slots, a power of two */
    mca_btl_fastsm_ring_ctl_t *ctl;         /**< in the receiver's segment */
    mca_btl_fastsm_admission_t *admissions; /**< in the receiver's segment */
    uint32_t dynamic_peers;                 /**< number of admissions */
    _Atomic uint32_t *asleep;               /**< in the receiver's segment */
} fastsm_ring_sender_t;

/* ---- ordered accesses ---- */

/**
 * P1, producers.  Claims the slot for position `pos`; false when another one was faster.  Relaxed: it
 * says who fills the slot and nothing else; S1 publishes what is in it, R2 was the licence to write it.
 */
static inline bool fastsm_claim_write_pos(_Atomic uint32_t *write_pos, uint32_t pos)
{
    return atomic_compare_exchange_strong_explicit(write_pos, &pos, pos + 1, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/** A1, owner.  Partner: A2.  Everything that an admitted peer may rely on is there. */
static inline void fastsm_store_admission(_Atomic uint32_t *id, uint32_t value)
{
    atomic_store_explicit(id, value, memory_order_release);
}

/** A2, dynamic peer.  Partner: A1. */
static inline uint32_t fastsm_load_admission(_Atomic uint32_t *id)
{
    return atomic_load_explicit(id, memory_order_acquire);
}

/** A3, owner.  Partner: A4.  That nobody is admitted here is visible before a new nonce is. */
static inline void fastsm_store_nonce(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/** A4, dynamic peer.  Partner: A3. */
static inline uint64_t fastsm_load_nonce(_Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

/** L1, owner.  Partner: L2.  It has read all that it will ever read. */
static inline void fastsm_store_owner(_Atomic uint32_t *owner, uint32_t value)
{
    atomic_store_explicit(owner, value, memory_order_release);
}

/** L2, dynamic peer.  Partner: L1. */
static inline uint32_t fastsm_load_owner(_Atomic uint32_t *owner)
{
    return atomic_load_explicit(owner, memory_order_acquire);
}

/*
 * What the owner of a segment waits for.  A name leaves its place once, by the peer that claims it or by the
 * owner that takes it back: both change the same word, so one of the two sees the other's change, and no
 * order with other memory is needed.  Who has claimed a name tells the owner by message what it is to do.
 */

/** The owner says what it waits for, at a place that has no name. */
static inline void fastsm_store_awaited(_Atomic uint64_t *awaited, uint64_t name)
{
    atomic_store_explicit(awaited, name, memory_order_relaxed);
}

/** The owner takes that back. @return the name, or MCA_BTL_FASTSM_CLAIMED */
static inline uint64_t fastsm_take_awaited(_Atomic uint64_t *awaited)
{
    return atomic_exchange_explicit(awaited, 0, memory_order_relaxed);
}

/** A peer claims a name. @return false where it is not, or not any more */
static inline bool fastsm_claim_awaited(_Atomic uint64_t *awaited, uint64_t name)
{
    return name == atomic_load_explicit(awaited, memory_order_relaxed)
           && atomic_compare_exchange_strong_explicit(awaited, &name, MCA_BTL_FASTSM_CLAIMED,
                                                      memory_order_relaxed, memory_order_relaxed);
}

/* ---- set-up ---- */

/** Starts a producer's end. */
static inline void fastsm_ring_sender_init(fastsm_ring_sender_t *ring, void *peer_segment,
                                           const mca_btl_fastsm_layout_t *layout)
{
    char *base = (char *) peer_segment;

    ring->slots = (mca_btl_fastsm_slot_t *) (base + layout->ring);
    ring->depth = layout->params.ring_depth;
    ring->ctl = (mca_btl_fastsm_ring_ctl_t *) (base + layout->ring_ctl);
    ring->admissions = (mca_btl_fastsm_admission_t *) (base + layout->admissions);
    ring->dynamic_peers = layout->params.dynamic_peers;
    ring->asleep = &((mca_btl_fastsm_segment_hdr_t *) peer_segment)->asleep;
}

/** Starts the consumer's end on a ring in zeroed memory, at position 0. */
static inline void fastsm_ring_receiver_init(fastsm_fifo_receiver_t *ring, void *my_segment,
                                             const mca_btl_fastsm_layout_t *layout)
{
    char *base = (char *) my_segment;
    mca_btl_fastsm_ring_ctl_t *ctl = (mca_btl_fastsm_ring_ctl_t *) (base + layout->ring_ctl);

    ring->slots = (mca_btl_fastsm_slot_t *) (base + layout->ring);
    ring->read_pos = 0;
    ring->depth = layout->params.ring_depth;
    ring->shared_read_pos = &ctl->read_pos;
    ring->expected = &ring->unheard;
    atomic_init(&ring->consuming, 0);
}

/** Slot of position `pos`: the ring's positions count whole slots. */
static inline mca_btl_fastsm_slot_t *fastsm_ring_slot(mca_btl_fastsm_slot_t *slots, uint32_t depth,
                                                      uint32_t pos)
{
    return slots + (pos & (depth - 1));
}

/* ---- consumer ---- */

/** The next slot, or NULL when nothing has come.  It is handed back by fastsm_fifo_release(ring, 1). */
static inline mca_btl_fastsm_slot_t *fastsm_ring_peek(const fastsm_fifo_receiver_t *ring)
{
    mca_btl_fastsm_slot_t *slot = fastsm_ring_slot(ring->slots, ring->depth, ring->read_pos);

    return fastsm_load_head_sequence(slot) == ring->read_pos + 1 ? slot : NULL;
}

/* ---- producer ---- */

/**
 * Whether a slot could be claimed.  Another producer may be faster even if so.
 *
 * @param pos  the position that the answer is about
 */
static inline bool fastsm_ring_room(const fastsm_ring_sender_t *ring, uint32_t *pos)
{
    *pos = atomic_load_explicit(&ring->ctl->write_pos, memory_order_relaxed);

    /* signed: the read position may be beyond a write position that is old by now, and then the claim fails
     */
    return (int32_t) (*pos - fastsm_load_read_pos(&ring->ctl->read_pos)) < (int32_t) ring->depth;
}

/**
 * Claims a slot.
 *
 * @param pos  its position
 * @return     the slot, or NULL when the ring is full; filled, it has to be committed
 */
static inline mca_btl_fastsm_slot_t *fastsm_ring_reserve(fastsm_ring_sender_t *ring, uint32_t *pos)
{
    do {
        if (!fastsm_ring_room(ring, pos)) {
            return NULL;
        }
    } while (!fastsm_claim_write_pos(&ring->ctl->write_pos, *pos));

    return fastsm_ring_slot(ring->slots, ring->depth, *pos);
}

/** Publishes the slot that was claimed at position `pos`, and wakes the owner if it sleeps. */
static inline void fastsm_ring_commit(const fastsm_ring_sender_t *ring, mca_btl_fastsm_slot_t *slot,
                                      uint32_t pos)
{
    fastsm_store_head_sequence(slot, pos + 1);
    fastsm_wake_if_asleep(ring->asleep);
}

/**
 * Whether the owner has read the slot at position `pos`, where we put a message.
 *
 * A ring's positions pass that of a slot by any number while its sender does
 * not look, so "behind" would be ambiguous after 2^31 of them.  What is
 * not among the `depth` positions from the read position on has been read.
 */
static inline bool fastsm_ring_was_read(const fastsm_ring_sender_t *ring, uint32_t read_pos, uint32_t pos)
{
    return pos - read_pos >= ring->depth;
}

/* ---- admissions ---- */

/** Id of the admission with this index in its `generation`-th use, which is 1 to 65535. */
static inline uint32_t fastsm_admission_id(uint32_t index, uint32_t generation)
{
    return generation << 16 | index;
}

/** Index of the admission that an id belongs to. */
static inline uint32_t fastsm_admission_index(uint32_t id)
{
    return id & 0xffffu;
}

/** The owner admits the peer with this nonce under this id.  What it says about their pair is there before. */
static inline void fastsm_admission_admit(mca_btl_fastsm_admission_t *admission, const uint8_t *nonce,
                                          uint32_t id)
{
    uint64_t words[MCA_BTL_FASTSM_NONCE_SIZE / 8];

    memcpy(words, nonce, sizeof(words));
    fastsm_store_assignment(&admission->assignment, 0); /* an answer to whoever was here before is none */
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
        fastsm_store_nonce(&admission->nonce[i], words[i]);
    }
    fastsm_store_admission(&admission->id, id);
}

/** The owner no longer knows the peer that was admitted here. */
static inline void fastsm_admission_revoke(mca_btl_fastsm_admission_t *admission)
{
    fastsm_store_admission(&admission->id, 0);
}

/**
 * The id under which the owner knows the peer with this nonce, if the peer is
 * admitted here; else 0.
 */
static inline uint32_t fastsm_admission_check(mca_btl_fastsm_admission_t *admission, const uint8_t *nonce)
{
    const uint32_t id = fastsm_load_admission(&admission->id);
    uint64_t words[MCA_BTL_FASTSM_NONCE_SIZE / 8];

    if (0 == id) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
        words[i] = fastsm_load_nonce(&admission->nonce[i]);
    }
    if (0 != memcmp(words, nonce, sizeof(words))) {
        return 0;
    }
    /* a nonce that is newer than the id came after a revocation, which is visible now */
    return id == fastsm_load_admission(&admission->id) ? id : 0;
}

/**
 * Looks for the admission of the peer with this nonce.
 *
 * @param id  its id
 * @return    the admission, or NULL when the owner has not admitted the peer (yet)
 */
static inline mca_btl_fastsm_admission_t *fastsm_admission_find(const fastsm_ring_sender_t *ring,
                                                                const uint8_t *nonce, uint32_t *id)
{
    uint32_t count = atomic_load_explicit(&ring->ctl->admitted, memory_order_relaxed);

    if (count > ring->dynamic_peers) {
        count = ring->dynamic_peers;
    }
    for (uint32_t i = 0; i < count; ++i) {
        *id = fastsm_admission_check(&ring->admissions[i], nonce);
        if (0 != *id) {
            return &ring->admissions[i];
        }
    }
    return NULL;
}

#endif /* MCA_BTL_FASTSM_RING_H */
