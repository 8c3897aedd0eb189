/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How much shared memory btl/sm of Open MPI 1.3 took in MPI_Init, and how much it would have taken with the
 * changes that the RFC "Fragmented sm Allocations" of January 2009 proposed; for comparison.
 *
 * The RFC prints results for 1024 processes and says that its author has a model exact to the byte, which it
 * does not give.  The model here follows from what the RFC and its tables say; it yields all but one of the
 * figures printed there to their last digit, and that one (8899 for 8898) within one.
 */
#ifndef FASTPATH_RFC_MODEL_H
#define FASTPATH_RFC_MODEL_H

#include <stdint.h>

/** what the RFC's layouts depend on */
typedef struct {
    uint64_t n;       /**< processes on the node */
    uint64_t entries; /**< of a circular buffer, 8 bytes each; btl_sm_size_of_cb_queue, 128 */
    uint64_t
        eager_frag; /**< bytes of an eager fragment with its header, a multiple of a line; 4096 + 128.  The
                         RFC's figures for "256 bytes" come out with 256, so those include the header */
    uint64_t max_payload; /**< bytes of a large fragment without its header; 32768 */
} rfc_model_params_t;

/** bytes on the node */
typedef struct {
    uint64_t wrappers; /**< of circular buffers */
    uint64_t queues;   /**< of circular buffers, with tails */
    uint64_t heads;    /**< of circular buffers */
    uint64_t eager;    /**< eager free lists */
    uint64_t other;    /**< max free lists and the FIFOs themselves */
    uint64_t total;
} rfc_model_fragmented_t;

/** bytes on the node */
typedef struct {
    uint64_t fifos; /**< FIFOs and circular buffers */
    uint64_t eager; /**< eager free lists */
    uint64_t max;   /**< max free lists */
    uint64_t total;
} rfc_model_aggregated_t;

/** size of a cache line in the RFC */
#define RFC_MODEL_LINE UINT64_C(128)

/** Each component of a circular buffer is allocated by itself, on a boundary of `alignment` bytes: a page, as
 *  it was, or a line. */
void rfc_model_fragmented(const rfc_model_params_t *params, uint64_t alignment,
                          rfc_model_fragmented_t *bytes);

/** All circular buffers of a receiver are one allocation. */
void rfc_model_aggregated(const rfc_model_params_t *params, rfc_model_aggregated_t *bytes);

#endif /* FASTPATH_RFC_MODEL_H */
