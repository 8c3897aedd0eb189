/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * With fault tolerance: requests that a peer is at work on, or has to answer, are on its list, so that they
 * can be ended if it fails. pml_fastpath_failure.h says why.
 */
#ifndef MCA_PML_FASTPATH_WATCH_H
#define MCA_PML_FASTPATH_WATCH_H

#include "ompi/mca/pml/base/pml_base_request.h"

#include "pml_fastpath_peer.h"

/** What pml_fastpath_failure.h knows of a request. */
typedef enum {
    MCA_PML_FASTPATH_WATCH_NONE,   /**< nothing of it is under way */
    MCA_PML_FASTPATH_WATCH_ON,     /**< it is on its peer's list */
    MCA_PML_FASTPATH_WATCH_FAILED, /**< its user has been told that it has failed */
} mca_pml_fastpath_watch_state_t;

/** Part of a request. Both are 0 while nothing is under way. */
typedef struct {
    volatile mca_pml_fastpath_watch_state_t state; /**< protected by mca_pml_fastpath.lock */
    int error; /**< of a send that is being taken back because its communicator is of no use any more */
} mca_pml_fastpath_watch_t;

/**
 * Watch a request that its peer is at work on from now on.
 * @return false when the peer has failed: complete it in error
 */
bool mca_pml_fastpath_watch_begin(mca_pml_fastpath_peer_t *peer, mca_pml_base_request_t *request,
                                  mca_pml_fastpath_watch_t *watch);

/**
 * Nothing of a request is under way any more.
 * @return false when its user has been told that it has failed: nothing is left to be done but to drop it
 */
bool mca_pml_fastpath_watch_end(mca_pml_fastpath_peer_t *peer, mca_pml_base_request_t *request,
                                mca_pml_fastpath_watch_t *watch);

/** mca_pml_fastpath_watch_begin() where there is fault tolerance. */
static inline bool mca_pml_fastpath_watch(mca_pml_fastpath_peer_t *peer, mca_pml_base_request_t *request,
                                          mca_pml_fastpath_watch_t *watch)
{
    return !mca_pml_fastpath_ft() || mca_pml_fastpath_watch_begin(peer, request, watch);
}

/** mca_pml_fastpath_watch_end() where there is fault tolerance. */
static inline bool mca_pml_fastpath_unwatch(mca_pml_fastpath_peer_t *peer, mca_pml_base_request_t *request,
                                            mca_pml_fastpath_watch_t *watch)
{
    return !mca_pml_fastpath_ft() || mca_pml_fastpath_watch_end(peer, request, watch);
}

/** @return whether a request has failed: its user has been told, and the user's memory is out of bounds */
static inline bool mca_pml_fastpath_has_failed(const mca_pml_fastpath_watch_t *watch)
{
    return FASTPATH_HAVE_FT && OPAL_UNLIKELY(MCA_PML_FASTPATH_WATCH_FAILED == watch->state);
}

#endif /* MCA_PML_FASTPATH_WATCH_H */
