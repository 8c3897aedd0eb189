/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_exchange.h"

/** messages that take both ways in turn, the first ones: memory that a way uses for the first time is slow */
#define TRIALS 8u
/** after that one in so many takes the way that was slower. A prime number, so that where messages of several
 * lengths take turns it is not always the same one */
#define PROBE 67u
/** bytes that ticks are kept for */
#define PAGE 4096u

mca_pml_fastpath_exchange_way_t mca_pml_fastpath_exchange_way(mca_pml_fastpath_exchange_t *exchange)
{
    const uint64_t stream = exchange->ticks[MCA_PML_FASTPATH_EXCHANGE_STREAM];
    const uint64_t kernel = exchange->ticks[MCA_PML_FASTPATH_EXCHANGE_KERNEL];
    const uint32_t number = exchange->messages++;
    const bool streams = TRIALS > number ? 0 == number % 2 : (stream <= kernel) != (0 == number % PROBE);

    return streams ? MCA_PML_FASTPATH_EXCHANGE_STREAM : MCA_PML_FASTPATH_EXCHANGE_KERNEL;
}

/* Whoever else had the core, and a peer that came late, shall not count for long: a time that is less than
 * the others counts more than one that is greater. */
void mca_pml_fastpath_exchange_note(mca_pml_fastpath_exchange_t *exchange,
                                    mca_pml_fastpath_exchange_way_t way, size_t bytes, uint64_t ticks)
{
    const uint64_t before = exchange->ticks[way], now = ticks * PAGE / bytes + 1;

    if (0 == before || now < before) {
        exchange->ticks[way] = 0 == before ? now : (before + now) / 2;
    } else {
        exchange->ticks[way] = before + ((now < 2 * before ? now : 2 * before) - before) / 8;
    }
}
