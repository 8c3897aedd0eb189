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

#include "pml_fastpath_accept.h"
#include "pml_fastpath_pace.h"

BEGIN_C_DECLS

/** Waits that look only once, on a node with more processes than cores, after one that has looked in vain. */
#define MCA_PML_FASTPATH_IMPATIENT 64

/** How many times as often as elsewhere others look there: until an answer must have come from somebody who
 * looks only once between two calls of progress. If both gave up before that, neither would find out that the
 * other one answers fast. */
#define MCA_PML_FASTPATH_PATIENCE 2

/** mca_pml_fastpath_spin_count() where whoever waits gives its core to others. */
static __opal_attribute_noinline__ __opal_attribute_unused__ unsigned mca_pml_fastpath_spin_count_shared(void)
{
    const unsigned impatient = mca_pml_fastpath.impatient; /* other threads may count, too */

    if (0 < impatient) {
        mca_pml_fastpath.impatient = impatient - 1;
        return 1;
    }
    return MCA_PML_FASTPATH_PATIENCE * mca_pml_fastpath.spin_count;
}

/**
 * How often to look for a message before everything else progresses, and others get the core if there are
 * more processes than cores. Even then it may come from one that runs, and looking for some time costs less
 * than to give the core away. So that is tried now and then, and goes on as long as it succeeds:
 * mca_pml_fastpath_spin_expired().
 */
static inline unsigned mca_pml_fastpath_spin_count(void)
{
    return OPAL_LIKELY(!opal_progress_yield_when_idle) ? mca_pml_fastpath.spin_count
                                                       : mca_pml_fastpath_spin_count_shared();
}

/** So many polls have found nothing. */
static inline void mca_pml_fastpath_spin_expired(void)
{
    if (0 == mca_pml_fastpath.impatient) {
        mca_pml_fastpath.impatient = MCA_PML_FASTPATH_IMPATIENT;
    }
}

/**
 * Whether a receive of (src, tag) would match the next message from this member, if its tag is right. The
 * communicator is locked.
 */
static inline bool mca_pml_fastpath_next_is_ours(mca_pml_fastpath_comm_t *pml_comm,
                                                 mca_pml_fastpath_member_t *member, int src, int tag)
{
    return mca_pml_fastpath_member_in_order(member)
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

    pattern->expected[0] =
        mca_pml_fastpath_match_word0(MCA_PML_FASTPATH_HDR_MATCH, (uint16_t) sequence, pml_comm->ctx);
    pattern->expected[1] = mca_pml_fastpath_match_word1(src, any_tag ? 0 : tag);
    pattern->mask[0] = UINT64_MAX;
    pattern->mask[1] = mca_pml_fastpath_match_word1(-1, any_tag ? INT32_MIN : -1);
    pattern->tag = MCA_BTL_TAG_PML + MCA_PML_FASTPATH_HDR_MATCH;
    pattern->undecided = false;
}

/**
 * Look at where a member's messages arrive, and take the next one if it fits the pattern. Without threads
 * what fits a slot is taken from there without a call.
 * @return bytes of data, or what recvi returns; OMPI_ERR_NOT_FOUND when nothing has come
 */
static inline ptrdiff_t mca_pml_fastpath_look(const mca_pml_fastpath_peer_t *peer,
                                              const mca_btl_fastsm_pattern_t *pattern, unsigned spins,
                                              void *buffer, const mca_btl_fastsm_data_t *data, size_t room,
                                              uint64_t header[2])
{
    if (OPAL_LIKELY(NULL != peer->in && NULL == data && !opal_using_threads())) {
        const ptrdiff_t taken = fastsm_fifo_receive_slot(peer->in, pattern, spins, buffer, room, header);

        if (OPAL_LIKELY(0 <= taken)) {
            return taken;
        }
        if (FASTSM_NOTHING == taken) {
            return OMPI_ERR_NOT_FOUND;
        }
        spins = 1; /* it is something for recvi, or for progress */
    }
    return peer->ext->recvi(peer->btl_endpoint, pattern, spins, buffer, data, room, header);
}

/**
 * Take the next message of a member's if it is for (src, tag). The communicator is locked, and matching
 * would give the message to whoever asks: mca_pml_fastpath_next_is_ours().
 *
 * @param undecided  unless it is taken, another message may come first, or the receive may be cancelled
 * @return what recvi returns; OMPI_ERR_NOT_FOUND when nothing has come
 */
static inline int mca_pml_fastpath_take(const mca_pml_fastpath_comm_t *pml_comm,
                                        mca_pml_fastpath_member_t *member, int src, int tag, unsigned spins,
                                        void *buffer, const mca_btl_fastsm_data_t *data, size_t room,
                                        bool undecided, mca_pml_fastpath_match_hdr_t *hdr, size_t *length)
{
    mca_btl_fastsm_pattern_t pattern;
    uint64_t words[2];
    ptrdiff_t taken;

    _Static_assert(sizeof(*hdr) == sizeof(words), "recvi compares a whole header");
    mca_pml_fastpath_pattern_init(&pattern, pml_comm, src, tag, member->expected);
    pattern.undecided = undecided;
    taken = mca_pml_fastpath_look(member->peer, &pattern, spins, buffer, data, room, words);
    if (OPAL_UNLIKELY(0 > taken)) {
        *length = 0;
        return (int) taken;
    }
    memcpy(hdr, words, sizeof(*hdr));
    *length = (size_t) taken;
    (void) mca_pml_fastpath_advance(member);
    return OMPI_SUCCESS;
}

/**
 * The sender whose message has come and would be taken by a receive of the tag from whomever. Nothing is
 * taken.
 *
 * @param spins   how often to look, at least 1
 * @param member  receives the sender
 * @param hdr     receives the message's header
 * @return OMPI_SUCCESS; OMPI_ERR_NOT_FOUND when nothing has come; OMPI_ERR_NOT_AVAILABLE: something else
 */
static inline int mca_pml_fastpath_find_sender(const mca_pml_fastpath_comm_t *pml_comm, int tag,
                                               unsigned spins, mca_pml_fastpath_member_t **member,
                                               mca_pml_fastpath_match_hdr_t *hdr)
{
    struct mca_btl_base_endpoint_t *endpoint =
        mca_pml_fastpath.fastsm_ext->scan(mca_pml_fastpath.fastsm, spins, hdr);

    if (NULL == endpoint) {
        return OMPI_ERR_NOT_FOUND;
    }
    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_HDR_MATCH != hdr->hdr_type || pml_comm->ctx != hdr->hdr_ctx
                      || 0 > hdr->hdr_src || pml_comm->size <= hdr->hdr_src
                      || (MCA_PML_FASTPATH_ANY_TAG == tag ? 0 > hdr->hdr_tag : tag != hdr->hdr_tag))) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    *member = pml_comm->members[hdr->hdr_src];
    if (OPAL_UNLIKELY(NULL == *member || NULL == (*member)->peer || NULL == (*member)->peer->ext
                      || endpoint != (*member)->peer->btl_endpoint)) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    return OMPI_SUCCESS;
}

END_C_DECLS

#endif /* MCA_PML_FASTPATH_TAKE_H */
