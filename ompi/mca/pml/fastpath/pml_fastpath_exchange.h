/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Which way large messages take that two processes exchange, each waiting for sends of its own: the kernel
 * copies them, once, or both are streamed through buffers. Processors differ in which is sooner, and so do
 * cores by their distance. So the receiver measures both, from the moment that it asks until the message is
 * here, and takes the better one; now and then the other one, which may be better by now.
 *
 * No calls of MPI or Open MPI: test/unit/test_exchange.c. For one thread.
 */
#ifndef MCA_PML_FASTPATH_EXCHANGE_H
#define MCA_PML_FASTPATH_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    MCA_PML_FASTPATH_EXCHANGE_STREAM, /**< in fragments, through buffers */
    MCA_PML_FASTPATH_EXCHANGE_KERNEL, /**< by the kernel, which the sender calls, or in a reduction the
                                         receiver */
    MCA_PML_FASTPATH_EXCHANGE_WAYS
} mca_pml_fastpath_exchange_way_t;

/** What is known of one peer; all 0 in the beginning. */
typedef struct {
    uint64_t ticks[MCA_PML_FASTPATH_EXCHANGE_WAYS]; /**< for a page of late; 0: not known */
    uint32_t messages;                              /**< that have asked for a way */
} mca_pml_fastpath_exchange_t;

/** One more message comes. @return the way that it shall take */
mca_pml_fastpath_exchange_way_t mca_pml_fastpath_exchange_way(mca_pml_fastpath_exchange_t *exchange);

/**
 * Some of a message has come.
 *
 * @param bytes  not 0
 * @param ticks  of mca_common_fastpath_ticks(), since it was asked for
 */
void mca_pml_fastpath_exchange_note(mca_pml_fastpath_exchange_t *exchange,
                                    mca_pml_fastpath_exchange_way_t way, size_t bytes, uint64_t ticks);

#endif /* MCA_PML_FASTPATH_EXCHANGE_H */
