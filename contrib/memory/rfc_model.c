/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "rfc_model.h"

/* Sizes in bytes.  An aligned allocation takes the alignment and a header more than it is asked for. */
enum {
    HEADER = 32,       /* of an allocation */
    WRAPPER = 64,      /* of a circular buffer */
    END_ALONE = 16,    /* a head that is allocated by itself */
    END = 12,          /* a head or a tail among others */
    POINTER = 8,       /* an entry of a queue */
    FIFO = 80,         /* refers to a circular buffer; one per pair, also from a process to itself */
    FIFOS_MORE = 1024, /* goes with the FIFOs of a receiver */
    FRAG_HEADER = 128, /* of a fragment, a whole line */
    FIRST_FRAGS = 8,   /* a free list begins with these */
    MORE_FRAGS = 64    /* and grows by these */
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t allocation(uint64_t size, uint64_t alignment)
{
    return size + alignment + HEADER;
}

/* Two fragments per peer and process, in as many allocations as it takes. */
static uint64_t eager_lists(const rfc_model_params_t *p, uint64_t alignment)
{
    const uint64_t wanted = 2 * p->n;
    const uint64_t grows = wanted <= FIRST_FRAGS ? 0 : (wanted - FIRST_FRAGS + MORE_FRAGS - 1) / MORE_FRAGS;

    return p->n
           * (allocation(FIRST_FRAGS * p->eager_frag, alignment)
              + grows * allocation(MORE_FRAGS * p->eager_frag, alignment));
}

static uint64_t max_lists(const rfc_model_params_t *p, uint64_t alignment)
{
    return p->n * allocation(FIRST_FRAGS * (p->max_payload + FRAG_HEADER), alignment);
}

void rfc_model_fragmented(const rfc_model_params_t *p, uint64_t alignment, rfc_model_fragmented_t *bytes)
{
    const uint64_t pairs = p->n * (p->n - 1);
    const uint64_t queue_and_tail = p->entries * POINTER + RFC_MODEL_LINE;

    bytes->wrappers = pairs * allocation(WRAPPER, alignment);
    bytes->queues = pairs * allocation(queue_and_tail, alignment);
    bytes->heads = pairs * allocation(END_ALONE, alignment);
    bytes->eager = eager_lists(p, alignment);
    bytes->other = max_lists(p, alignment) + p->n * round_up(p->n * FIFO + FIFOS_MORE, alignment);
    bytes->total = bytes->wrappers + bytes->queues + bytes->heads + bytes->eager + bytes->other;
}

void rfc_model_aggregated(const rfc_model_params_t *p, rfc_model_aggregated_t *bytes)
{
    const uint64_t pair = FIFO + p->entries * POINTER + 2 * END + WRAPPER;

    /* the RFC's drawing has three boundaries of lines inside the block */
    bytes->fifos = p->n * (p->n * pair + allocation(3 * RFC_MODEL_LINE, RFC_MODEL_LINE));
    bytes->eager = eager_lists(p, RFC_MODEL_LINE);
    bytes->max = max_lists(p, RFC_MODEL_LINE);
    bytes->total = bytes->fifos + bytes->eager + bytes->max;
}
