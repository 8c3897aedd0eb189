/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Our own segment, and those of peers in our address space.
 */
#ifndef MCA_BTL_FASTSM_SEGMENT_H
#define MCA_BTL_FASTSM_SEGMENT_H

#include "btl_fastsm.h"

/**
 * Makes our own segment and fills its header.
 *
 * @return OPAL_SUCCESS, or an error; the mpool has then said why
 */
int mca_btl_fastsm_segment_create(void);

/** Gives our own segment back. */
void mca_btl_fastsm_segment_release(void);

/**
 * Opens a peer's segment, checks that it is what the peer announced, and maps it.
 *
 * @param modex     the peer's announcement
 * @param endpoint  base, size, inode, layout and, by name, name_fd are set on success only; index is that of
 *                  the peer, by_name is read
 * @param why       on failure what was wrong, in words
 * @return          OPAL_SUCCESS; OPAL_ERR_UNREACH, with errno set when it could not be opened and else 0
 */
int mca_btl_fastsm_segment_attach(const mca_btl_fastsm_modex_t *modex, mca_btl_fastsm_endpoint_t *endpoint,
                                  const char **why);
/** Whether the process that made a peer's segment is still there. */
bool mca_btl_fastsm_segment_alive(const mca_btl_fastsm_endpoint_t *endpoint);

/** Pointer to what lies `offset` bytes behind the begin of a peer's segment. */
static inline void *mca_btl_fastsm_in_segment(const mca_btl_fastsm_endpoint_t *endpoint, uint64_t offset)
{
    return endpoint->base + offset;
}

/** Says that there is no memory for `what`, which needs so many bytes, and ends the job.  Not to be called with a
 *  lock held.
 *  @param endpoint  in whose segment; NULL: in ours */
void mca_btl_fastsm_shortage(const mca_btl_fastsm_endpoint_t *endpoint, const char *what,
                             size_t bytes) __opal_attribute_noreturn__;

/** Unmaps a peer's segment; does nothing when it is not mapped. */
void mca_btl_fastsm_segment_detach(mca_btl_fastsm_endpoint_t *endpoint);

#endif /* MCA_BTL_FASTSM_SEGMENT_H */
