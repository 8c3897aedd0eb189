/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Small puts that the kernel copies together.
 */
#ifndef MCA_OSC_FASTPATH_COPY_H
#define MCA_OSC_FASTPATH_COPY_H

#include <sys/uio.h>

#include "osc_fastpath.h"

/** Pieces of the target's memory that one call of the kernel is about */
#define MCA_OSC_FASTPATH_CALL_PIECES 32
/** Puts of at most this many bytes are collected and made by one system call. */
#define MCA_OSC_FASTPATH_BATCHED 64

/** Small puts to one peer that have not been made; the next synchronisation makes them. */
typedef struct mca_osc_fastpath_batch_t {
    mca_osc_fastpath_peer_t *peer;
    unsigned count;
    size_t bytes;
    struct iovec there[MCA_OSC_FASTPATH_CALL_PIECES];
    char data[MCA_OSC_FASTPATH_CALL_PIECES * MCA_OSC_FASTPATH_BATCHED];
} mca_osc_fastpath_batch_t;

/** Make the small puts to COPY peers that wait. For mca_osc_fastpath_make_puts(). Outside module.lock. */
int mca_osc_fastpath_make_batch(mca_osc_fastpath_module_t *module);

/** Make them if there are any. @return OMPI_SUCCESS, MPI_ERR_PROC_FAILED or OMPI_ERR_RMA_RANGE */
static inline int mca_osc_fastpath_make_puts(mca_osc_fastpath_module_t *module)
{
    /* acquire, with the release of make_puts(): what comes after a flush comes after all puts before it */
    return OPAL_UNLIKELY(atomic_load_explicit(&module->batched, memory_order_acquire))
               ? mca_osc_fastpath_make_batch(module)
               : OMPI_SUCCESS;
}

#endif /* MCA_OSC_FASTPATH_COPY_H */
