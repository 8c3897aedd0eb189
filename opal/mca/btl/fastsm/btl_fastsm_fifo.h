/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The FIFO of one ordered pair: what only btl/fastsm does with it, such as its set-up.  The rest is in
 * btl_fastsm_inline.h, because other components do it, too.
 */

#ifndef MCA_BTL_FASTSM_FIFO_H
#define MCA_BTL_FASTSM_FIFO_H

#include "btl_fastsm_inline.h"
#include "btl_fastsm_layout.h"

/** G1, receiver.  Partner: G2.  The FIFO that it assigns is as the next one finds it: pages, words, read
 * position. */
static inline void fastsm_store_assignment(_Atomic uint32_t *assignment, uint32_t value)
{
    atomic_store_explicit(assignment, value, memory_order_release);
}

/** G2, sender.  Partner: G1. */
static inline uint32_t fastsm_load_assignment(_Atomic uint32_t *assignment)
{
    return atomic_load_explicit(assignment, memory_order_acquire);
}

/** B2 for eight neighbouring bells at once; `bells` is aligned to 8 bytes. */
static inline uint64_t fastsm_load_bells(_Atomic uint64_t *bells)
{
    return atomic_load_explicit(bells, memory_order_relaxed);
}

/* ---- set-up ---- */

/** A doorbell tells so many positions apart: so many halves are never full at a time. */
#define FASTSM_FIFO_BELLS 256u

/**
 * Starts the producer's end on FIFO `number`, in zeroed memory, at position 0.
 * How long its messages may be is the caller's affair.  Its lock stays as it is: an end that moves to another FIFO is locked meanwhile.
 */
static inline void fastsm_fifo_sender_init(fastsm_fifo_sender_t *fifo, void *peer_segment,
                                           const mca_btl_fastsm_layout_t *layout, uint32_t number)
{
    char *base = (char *) peer_segment;

    fifo->slots = (mca_btl_fastsm_slot_t *) (base + mca_btl_fastsm_layout_fifo(layout, number));
    fifo->write_pos = 0;
    fifo->read_pos = 0;
    fifo->depth = 2 * mca_btl_fastsm_layout_depth(layout, number);
    fifo->limit = fifo->depth < FASTSM_FIFO_BELLS ? fifo->depth : FASTSM_FIFO_BELLS - 1;
    fifo->sendi_bytes = 0;
    fifo->n_pending = 0;
    fifo->bell = (_Atomic uint8_t *) (base + mca_btl_fastsm_layout_bell(layout, number));
    fifo->shared_read_pos = (_Atomic uint32_t *) (base + mca_btl_fastsm_layout_read_pos(layout, number));
    fifo->asleep = &((mca_btl_fastsm_segment_hdr_t *) peer_segment)->asleep;
}

/**
 * Makes a producer's end one that has no slots, and so never any room.
 *
 * @param no_room  where it finds its read position
 */
static inline void fastsm_fifo_sender_none(fastsm_fifo_sender_t *fifo, _Atomic uint32_t *no_room)
{
    fifo->slots = NULL;
    fifo->write_pos = 0;
    fifo->read_pos = atomic_load_explicit(no_room, memory_order_relaxed);
    fifo->depth = 0;
    fifo->limit = 0;
    fifo->sendi_bytes = 0;
    fifo->n_pending = 0;
    fifo->bell = NULL;
    fifo->asleep = NULL;
    fifo->shared_read_pos = no_room;
}

/**
 * Starts the consumer's end on FIFO `number`, in zeroed memory, at position 0.
 * Where its copy of the bell is, and who consumes, is the caller's affair.
 */
static inline void fastsm_fifo_receiver_init(fastsm_fifo_receiver_t *fifo, void *my_segment,
                                             const mca_btl_fastsm_layout_t *layout, uint32_t number)
{
    char *base = (char *) my_segment;

    fifo->slots = (mca_btl_fastsm_slot_t *) (base + mca_btl_fastsm_layout_fifo(layout, number));
    fifo->read_pos = 0;
    fifo->depth = 2 * mca_btl_fastsm_layout_depth(layout, number);
    fifo->shared_read_pos = (_Atomic uint32_t *) (base + mca_btl_fastsm_layout_read_pos(layout, number));
}

/**
 * Makes an empty FIFO one that the next producer can go on with, wherever the
 * last one was killed: each slot's word is that of the lap before the one that comes,
 * a second half that is next has no message's, and the bell says that nothing is there.  There is no
 * producer.
 */
static inline void fastsm_fifo_renew(fastsm_fifo_receiver_t *fifo, _Atomic uint8_t *bell)
{
    uint32_t pos = fifo->read_pos;

    if (0 != (pos & 1)) {
        fastsm_store_other_sequence(fastsm_fifo_slot(fifo->slots, fifo->depth, pos), pos);
        ++pos;
    }
    for (uint32_t i = 0; i < fifo->depth; i += 2) {
        fastsm_store_other_sequence(fastsm_fifo_slot(fifo->slots, fifo->depth, pos + i),
                                    pos + i + 1 - fifo->depth);
    }
    fastsm_store_bell(bell, (uint8_t) fifo->read_pos);
}

/**
 * Whether the consumer has read the half at position `pos`, where we have put a message.
 *
 * Small messages move the positions on by any number before the sender looks, so "behind" would be
 * ambiguous after 2^31 of them.  What is not between the read position and ours has been read.  A position
 * of an earlier lap of all 2^32 that lies there counts as not read until the consumer has passed it again.
 *
 * @param read_pos  the consumer's, at most fifo->depth behind ours
 */
static inline bool fastsm_fifo_was_read(const fastsm_fifo_sender_t *fifo, uint32_t read_pos, uint32_t pos)
{
    return pos - read_pos >= fifo->write_pos - read_pos;
}

/**
 * Halves of an inline message of `length` bytes that takes at most a slot and may start at the consumer's
 * position; 0 for every other one.
 */
static inline uint32_t fastsm_fifo_short_halves(const fastsm_fifo_receiver_t *fifo, size_t length)
{
    const uint32_t halves = length <= MCA_BTL_FASTSM_HALF_DATA ? 1 : 2;

    return length <= MCA_BTL_FASTSM_HEAD_DATA && 0 == (fifo->read_pos & (halves - 1)) ? halves : 0;
}

/**
 * Collects the data of a message of `halves` halves.
 *
 * @param to  has room for fastsm_fifo_capacity() bytes of whole slots, all of which are
 *            written: copies of a fixed size are faster than exact ones
 */
static inline void fastsm_fifo_gather(void *to, const mca_btl_fastsm_slot_t *head, uint32_t halves)
{
    char *t = (char *) to;

    if (1 == halves) {
        memcpy(t, head->u.head.data, MCA_BTL_FASTSM_HALF_DATA);
        return;
    }
    memcpy(t, head->u.head.data, MCA_BTL_FASTSM_HEAD_DATA);
    t += MCA_BTL_FASTSM_HEAD_DATA;
    for (uint32_t i = 1; i < halves / 2; ++i) {
        memcpy(t, head[i].u.cont.data, MCA_BTL_FASTSM_CONT_DATA);
        t += MCA_BTL_FASTSM_CONT_DATA;
    }
}

#endif /* MCA_BTL_FASTSM_FIFO_H */
