/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The patterns that patterns.c measures, and what they share.
 */

#ifndef FASTPATH_BENCH_PATTERNS_H
#define FASTPATH_BENCH_PATTERNS_H

#include <mpi.h>
#include <stddef.h>

/** tag of all messages, and messages of a window at most */
enum { PATTERNS_TAG = 5, PATTERNS_WINDOW = 8 };

/** A way in which ranks talk. */
typedef struct {
    const char *name;
    void (*step)(int size);    /**< what is measured: called by all ranks */
    void (*prepare)(int size); /**< before the first step of a size, or NULL */
    void (*finish)(void);      /**< after the last one, or NULL */
} patterns_t;

extern int patterns_rank, patterns_ranks;

/** SIZE bytes for each rank, and for each message of a window */
extern char *patterns_out, *patterns_in;

/** All ranks together (patterns_all.c), the two of each pair (patterns_pairs.c), and pairs with derived
 * datatypes (patterns_types.c).  Each ends with one that has no name. */
extern const patterns_t patterns_all[], patterns_pairs[], patterns_types[];

/** @return the other rank of a pair; of an odd number of ranks the last one has none: MPI_PROC_NULL */
static inline int patterns_partner(void)
{
    return (patterns_rank ^ 1) < patterns_ranks ? patterns_rank ^ 1 : MPI_PROC_NULL;
}

/** @return whether this rank is the first of its pair */
static inline int patterns_first(void)
{
    return 0 == patterns_rank % 2;
}

/** @return where message i of a window is received */
static inline char *patterns_in_of(int i, int size)
{
    return patterns_in + (size_t) i * (size_t) size;
}

/** @return where message i of a window is sent from */
static inline char *patterns_out_of(int i, int size)
{
    return patterns_out + (size_t) i * (size_t) size;
}

#endif /* FASTPATH_BENCH_PATTERNS_H */
