/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What a cache line costs on its way between two ranks, from one moment to the next.  In a virtual machine
 * whose processors the host moves this changes by a factor of four within seconds, and a figure means nothing
 * unless one knows where it was taken.  No MPI is asked for it.
 */

#ifndef FASTPATH_BENCH_LINE_H
#define FASTPATH_BENCH_LINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench.h"

enum { LINE_HOPS = 40, LINE_PAGE = 4096, LINE_ROOM = 3 * LINE_PAGE };

#define LINE_PATIENCE_US 5e6 /* how long batches are tried that do not count */

/** In memory that both ranks share, all 0 in the beginning.  A page each, so that no prefetcher brings one
 * with the other. */
typedef struct {
    _Alignas(LINE_PAGE) _Atomic uint32_t ping;
    _Alignas(LINE_PAGE) _Atomic uint32_t pong;
} line_t;

/** What a line shall cost while a batch runs that counts. */
typedef struct {
    line_t *line;    /* NULL: it does not matter */
    double from, to; /* microseconds */
    uint32_t hops;   /* of this rank until now */
} line_range_t;

/** Where it is in LINE_ROOM shared bytes, which begin at the same place of a page in both. */
static inline line_t *line_in(void *room)
{
    return (line_t *) (((uintptr_t) room + LINE_PAGE - 1) & ~((uintptr_t) LINE_PAGE - 1));
}

/**
 * Called by ranks 0 and 1 at the same time, each on a core of its own.
 * @param[in,out] hops  this rank's hops until now, 0 in the beginning
 * @return microseconds of one way
 */
static inline double line_cost(line_t *line, int rank, uint32_t *hops)
{
    _Atomic uint32_t *mine = 0 == rank ? &line->ping : &line->pong;
    _Atomic uint32_t *others = 0 == rank ? &line->pong : &line->ping;
    double start = 0.0;

    for (int i = 0; i <= LINE_HOPS; ++i) {
        ++*hops;
        /* the words carry nothing but themselves, so nothing needs an order */
        if (0 == rank) {
            atomic_store_explicit(mine, *hops, memory_order_relaxed);
        }
        while (*hops != atomic_load_explicit(others, memory_order_relaxed)) {
        }
        if (1 == rank) {
            atomic_store_explicit(mine, *hops, memory_order_relaxed);
        }
        if (0 == i) {
            start = bench_now_us(); /* the first one waits for the other rank */
        }
    }
    return (bench_now_us() - start) / (2.0 * LINE_HOPS);
}

/** FROM,TO of a command line. @return false if it is none */
static inline bool line_parse(line_range_t *range, const char *text)
{
    return 2 == sscanf(text, "%lf,%lf", &range->from, &range->to) && range->from < range->to;
}

/** Called like line_cost. @return whether a line costs what it shall */
static inline bool line_is_good(line_range_t *range, int rank)
{
    double us;

    if (NULL == range->line) {
        return true;
    }
    us = line_cost(range->line, rank, &range->hops);
    return range->from <= us && us <= range->to;
}

/** Whether to try one more batch. @param[in] start  when the first one began */
static inline bool line_goes_on(const line_range_t *range, double start)
{
    return NULL == range->line || bench_now_us() - start < LINE_PATIENCE_US;
}

#endif /* FASTPATH_BENCH_LINE_H */
