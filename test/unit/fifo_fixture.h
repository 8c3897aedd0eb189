/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * One FIFO between two local indices in a zeroed segment, for the FIFO tests.
 */

#ifndef FIFO_FIXTURE_H
#define FIFO_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opal/mca/btl/fastsm/btl_fastsm_fifo.h"
#include "opal/mca/btl/fastsm/btl_fastsm_layout.h"

#include "segment_fixture.h"

enum { SENDER_INDEX = 1, LOCAL_PROCESSES = 3 };

typedef struct {
    mca_btl_fastsm_layout_t layout;
    char *segment; /**< of the receiver, with pools for the sender's use as well */
    fastsm_fifo_sender_t out;
    fastsm_fifo_receiver_t in;
} fixture_t;

/**
 * Starts both ends at position `start`.  Positions of a real FIFO start at 0 in
 * zeroed memory; any other start is made to look as if a lap had been written.
 */
static inline void fixture_start(fixture_t *f, uint32_t start)
{
    fastsm_fifo_sender_init(&f->out, f->segment, &f->layout, SENDER_INDEX);
    fastsm_fifo_receiver_init(&f->in, f->segment, &f->layout, SENDER_INDEX);
    f->in.expected = &f->in.unheard;
    f->in.idle = NULL;
    atomic_init(&f->in.consuming, 0);
    f->out.write_pos = f->out.read_pos = f->in.read_pos = start;
    fastsm_store_read_pos(f->in.shared_read_pos, start);
    for (uint32_t i = 1; 0 != start && i <= f->out.depth; ++i) {
        const uint32_t pos = start - i;

        fastsm_store_other_sequence(fastsm_fifo_slot(f->out.slots, f->out.depth, pos), pos + 1);
    }
}

static inline void fixture_open(fixture_t *f, uint32_t depth, uint32_t start)
{
    const mca_btl_fastsm_layout_params_t params = {.n_local = LOCAL_PROCESSES,
                                                   .fifo_depth = depth,
                                                   .bell_stride = 1,
                                                   .position_stride = 8,
                                                   .eager_count = 128,
                                                   .eager_size = 4160,
                                                   .max_count = 2,
                                                   .max_size = 8192,
                                                   .ring_depth = 8,
                                                   .dynamic_peers = 4};

    f->segment = segment_open(&params, &f->layout);
    fixture_start(f, start);
}

static inline void fixture_close(fixture_t *f)
{
    munmap(f->segment, f->layout.total);
}

/** What the BTL does for a message of `length` bytes without a header of its own. */
static inline int fixture_send(fixture_t *f, const void *data, size_t length, uint8_t tag)
{
    const uint32_t halves = fastsm_fifo_halves(length);
    mca_btl_fastsm_slot_t *head = fastsm_fifo_reserve(&f->out, halves);

    if (NULL == head) {
        return 0;
    }
    head->u.head.length = (uint16_t) length;
    head->u.head.tag = tag;
    head->u.head.flags = 0;
    fastsm_fifo_fill(&f->out, head, NULL, 0, data, length);
    fastsm_fifo_commit(&f->out, head, halves);
    return 1;
}

/** The next message's head with pads skipped, or NULL. */
static inline mca_btl_fastsm_slot_t *fixture_peek(fixture_t *f)
{
    mca_btl_fastsm_slot_t *head = fastsm_fifo_peek(&f->in);

    while (NULL != head && MCA_BTL_FASTSM_SLOT_PAD == head->u.head.flags) {
        fastsm_fifo_release(&f->in, head->u.head.length);
        head = fastsm_fifo_peek(&f->in);
    }
    return head;
}

/** Takes the next inline message; its length, or -1 when there is none. */
static inline long fixture_receive(fixture_t *f, void *data, uint8_t *tag)
{
    mca_btl_fastsm_slot_t *head = fixture_peek(f);
    long length;
    uint32_t halves;

    if (NULL == head) {
        return -1;
    }
    length = head->u.head.length;
    halves = fastsm_fifo_halves((size_t) length);
    *tag = head->u.head.tag;
    fastsm_fifo_gather(data, head, halves);
    fastsm_fifo_release(&f->in, halves);
    return length;
}

#endif /* FIFO_FIXTURE_H */
