/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Lines of the buffers that come next, fetched while the process waits.
 *
 * Buffers are used in turn, longest free first.  So those that come next are known while the process waits,
 * and it gets their lines from the last reader then (mca_btl_fastsm_ahead_t): a store to a line that another
 * processor has read last takes ten times as long as one to a line that is here.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_ahead.h"
#include "btl_fastsm_chunk.h"
#include "btl_fastsm_send.h"

/** lines that are fetched between two looks for a message */
#define LINES_AT_A_TIME 8u

/* The buffers that the next message of this length will take, if it is to the same peer, are free by now. */
static void ahead_begin(mca_btl_fastsm_ahead_t *ahead)
{
    if (0 != ahead->endpoint->n_in_flight) {
        mca_btl_fastsm_reclaim(ahead->endpoint);
    }
    ahead->buffers = 0;
    ahead->line = 0;
}

/* The buffer to go on with.  Since the last look buffers may have been taken. */
static const mca_btl_fastsm_frag_t *ahead_frag(const mca_btl_fastsm_ahead_t *ahead)
{
    const mca_btl_fastsm_frag_t *frag = mca_btl_fastsm_component.frags[MCA_BTL_FASTSM_FRAG_EAGER].free;

    for (uint32_t i = 0; i < ahead->buffers && NULL != frag; ++i) {
        frag = mca_btl_fastsm_frag_next(frag);
    }
    return frag;
}

void mca_btl_fastsm_ahead_run(fastsm_fifo_idle_t *idle, const _Atomic uint32_t *word, uint32_t value)
{
    mca_btl_fastsm_ahead_t *ahead = (mca_btl_fastsm_ahead_t *) idle; /* its first member */
    const uint32_t lines = mca_btl_fastsm_buffer_bytes() / MCA_BTL_FASTSM_LINE;
    const mca_btl_fastsm_frag_t *frag;

    if (!ahead->begun) {
        ahead_begin(ahead);
        ahead->begun = true;
    }
    frag = ahead_frag(ahead);
    while (0 < ahead->idle.work && value != atomic_load_explicit(word, memory_order_relaxed)) {
        for (uint32_t i = 0; i < LINES_AT_A_TIME && 0 < ahead->idle.work; ++i) {
            if (NULL == frag) {
                ahead->idle.work = 0;
                return;
            }
            fastsm_prefetch_write(mca_btl_fastsm_chunk_data(frag)
                                  + (size_t) ahead->line * MCA_BTL_FASTSM_LINE);
            --ahead->idle.work;
            if (lines == ++ahead->line) {
                ahead->line = 0;
                ++ahead->buffers;
                frag = mca_btl_fastsm_frag_next(frag);
            }
        }
    }
}

void mca_btl_fastsm_ahead_init(void)
{
    mca_btl_fastsm_component.ahead = (mca_btl_fastsm_ahead_t){.idle = {.run = mca_btl_fastsm_ahead_run}};
}

void mca_btl_fastsm_ahead_forget(const mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_ahead_t *ahead = &mca_btl_fastsm_component.ahead;

    if (endpoint == ahead->endpoint) {
        ahead->endpoint = NULL;
        ahead->idle.work = 0;
    }
}
