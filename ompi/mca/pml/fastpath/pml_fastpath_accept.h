/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Accepting a message: the one place that knows which message is the next of its sender's, that counts it,
 * and that writes a receive's status. Whoever delivers a message ends here; what it costs its receiver is
 * given back by mca_pml_fastpath_credit_consumed().
 */
#ifndef MCA_PML_FASTPATH_ACCEPT_H
#define MCA_PML_FASTPATH_ACCEPT_H

#include <string.h>

#include "pml_fastpath_comm.h"

/**
 * @return whether a message with these 16 bits of its sequence number is the next from its sender. The
 *         communicator is locked
 */
static inline bool mca_pml_fastpath_in_turn(const mca_pml_fastpath_member_t *member, uint16_t sequence)
{
    return sequence == (uint16_t) member->expected;
}

/**
 * Whether a message is the next one that counts from a member, whole and without flags: what nearly all are.
 * The communicator is locked.
 *
 * @param src     the member's rank
 * @param header  as it has been read, once
 * @return        false when it is another one, or one that matching has to see to
 */
static inline __opal_attribute_always_inline__ bool
mca_pml_fastpath_is_next(const mca_pml_fastpath_comm_t *pml_comm, mca_pml_fastpath_member_t *member, int src,
                         const uint64_t header[2])
{
    return mca_pml_fastpath_match_word0((uint16_t) member->expected, pml_comm->ctx) == header[0]
           && src == mca_pml_fastpath_match_word1_src(header[1]) && mca_pml_fastpath_member_in_order(member);
}

/**
 * The next message from a member has been accepted: matched, kept or dropped. The communicator is locked.
 * @return its sequence number
 */
static inline uint32_t mca_pml_fastpath_advance(mca_pml_fastpath_member_t *member)
{
    return member->expected++;
}

/**
 * Say in a status whom a message is from, and its tag. Both are one store, because who copies a status may
 * load them so: a load that takes two stores together has to wait until both have left.
 *
 * @param word1  source and tag, as in a header
 */
static inline void mca_pml_fastpath_status_origin(ompi_status_public_t *status, uint64_t word1)
{
    _Static_assert(0 == offsetof(ompi_status_public_t, MPI_SOURCE)
                       && sizeof(int) == offsetof(ompi_status_public_t, MPI_TAG),
                   "a status begins with source and tag, as they lie in a header");
    memcpy(status, &word1, sizeof(word1));
}

/**
 * Say in a status what has been received. MPI_ERROR stays as it is: calls that return one status report
 * errors by their result.
 *
 * @param word1   source and tag, as in a header
 * @param length  bytes that the receive got
 */
static inline void mca_pml_fastpath_status_set(ompi_status_public_t *status, uint64_t word1, size_t length)
{
    mca_pml_fastpath_status_origin(status, word1);
    status->_ucount = length;
    status->_cancelled = 0;
}

#endif /* MCA_PML_FASTPATH_ACCEPT_H */
