/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Taking a message from where it arrives, for a receive that asks for it now: docs/data-path.md, "The
 * immediate path".
 */
#ifndef MCA_PML_FASTPATH_TAKE_H
#define MCA_PML_FASTPATH_TAKE_H

#include "opal/runtime/opal_progress.h"

#include "pml_fastpath_comm.h"

BEGIN_C_DECLS

/** Receives at once after which the rest is progressed, though nothing had to be waited for. */
#define MCA_PML_FASTPATH_RECVS_PER_PROGRESS 64

/**
 * Would a receive of (src, tag) match the next message from this member, if its tag is right? The
 * communicator is locked.
 */
static inline bool mca_pml_fastpath_next_is_ours(mca_pml_fastpath_comm_t *pml_comm,
                                                 mca_pml_fastpath_member_t *member, int src, int tag)
{
    return opal_list_is_empty(&member->early) && opal_list_is_empty(&member->withdrawn)
           && !mca_pml_fastpath_match_posted_for(&pml_comm->matcher, src)
           && NULL == mca_pml_fastpath_match_find(&pml_comm->matcher, src, tag);
}

/**
 * The header that the next message from a member has if it is short and matches. MPI_ANY_TAG leaves only the
 * sign of the tag: negative ones are Open MPI's own traffic.
 */
static inline void mca_pml_fastpath_pattern_init(mca_btl_fastsm_pattern_t *pattern,
                                                 const mca_pml_fastpath_comm_t *pml_comm, int src, int tag,
                                                 uint32_t sequence)
{
    const bool any_tag = MCA_PML_FASTPATH_ANY_TAG == tag;
    const mca_pml_fastpath_match_hdr_t expected = {.hdr_type = MCA_PML_FASTPATH_HDR_MATCH,
                                                   .hdr_seq = (uint16_t) sequence,
                                                   .hdr_ctx = pml_comm->ctx,
                                                   .hdr_src = src,
                                                   .hdr_tag = any_tag ? 0 : tag};
    const mca_pml_fastpath_match_hdr_t mask = {.hdr_type = UINT8_MAX,
                                               .hdr_flags = UINT8_MAX,
                                               .hdr_seq = UINT16_MAX,
                                               .hdr_ctx = UINT32_MAX,
                                               .hdr_src = -1,
                                               .hdr_tag = any_tag ? INT32_MIN : -1};

    _Static_assert(sizeof(expected) == sizeof(pattern->expected), "recvi compares a whole header");
    memcpy(pattern->expected, &expected, sizeof(expected));
    memcpy(pattern->mask, &mask, sizeof(mask));
    pattern->tag = MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH;
}

/**
 * Take the next message of a member's if it is for (src, tag). The communicator is locked, and
 * mca_pml_fastpath_next_is_ours().
 * @return what recvi returns; OMPI_ERR_NOT_FOUND when nothing has come
 */
static inline int mca_pml_fastpath_take(const mca_pml_fastpath_comm_t *pml_comm,
                                        mca_pml_fastpath_member_t *member, int src, int tag, unsigned looks,
                                        void *buffer, opal_convertor_t *convertor, size_t room,
                                        mca_pml_fastpath_match_hdr_t *hdr, size_t *length)
{
    const mca_bml_base_btl_t *bml_btl =
        mca_bml_base_btl_array_get_index(&member->peer->endpoint->btl_eager, 0);
    mca_btl_fastsm_pattern_t pattern;
    int rc;

    mca_pml_fastpath_pattern_init(&pattern, pml_comm, src, tag, member->expected);
    rc = member->peer->ext->recvi(bml_btl->btl, bml_btl->btl_endpoint, &pattern, looks, buffer, convertor,
                                  room, hdr, length);
    if (OPAL_LIKELY(OMPI_SUCCESS == rc)) {
        ++member->expected;
    }
    return rc;
}

/** A receive has come to its end without a call of opal_progress: every so often make up for it. */
static inline void mca_pml_fastpath_progress_sometimes(void)
{
    if (OPAL_UNLIKELY(0 >= --mca_pml_fastpath.recv_countdown)) {
        mca_pml_fastpath.recv_countdown = MCA_PML_FASTPATH_RECVS_PER_PROGRESS;
        (void) opal_progress();
    }
}

END_C_DECLS

#endif /* MCA_PML_FASTPATH_TAKE_H */
