/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Immediate receives: what has come, for callers that take it themselves.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_chunk_recv.h"
#include "btl_fastsm_peek.h"
#include "btl_fastsm_peers.h"

#define HEADER MCA_BTL_FASTSM_HEADER_BYTES

/* Messages in the sender's pool.  What cannot be is left for progress to report. */
static __opal_attribute_noinline__ bool find_in_pool(mca_btl_base_endpoint_t *endpoint, uint8_t flags,
                                                     mca_btl_fastsm_view_t *view)
{
    const uint32_t split = (uint32_t) view->length; /* if there are several chunks */
    const bool chunks = (MCA_BTL_FASTSM_SLOT_POOL | MCA_BTL_FASTSM_SLOT_CHUNKS) == flags;
    uint64_t place;

    if (MCA_BTL_FASTSM_SLOT_POOL != flags && !chunks) {
        return false;
    }
    view->chunk = chunks ? mca_btl_fastsm_first_chunk(endpoint, split) : 0;
    view->header = view->data + offsetof(mca_btl_fastsm_pool_ref_t, header);
    view->data =
        mca_btl_fastsm_referenced(endpoint, view->data, &place, chunks ? HEADER + view->chunk : SIZE_MAX);
    view->length = mca_btl_fastsm_place_length(place);
    view->halves = chunks ? mca_btl_fastsm_view_chunks(endpoint, split, view->length) : 1;
    return NULL != view->data;
}

/* Pads are the BTL's own affair: they are released here. */
static __opal_attribute_noinline__ const mca_btl_fastsm_slot_t *
skip_pad(mca_btl_base_endpoint_t *endpoint, const mca_btl_fastsm_slot_t *pad, uint32_t length)
{
    const uint32_t halves = mca_btl_fastsm_extent(&endpoint->in, MCA_BTL_FASTSM_SLOT_PAD, length);

    if (0 == halves) {
        return pad;
    }
    fastsm_fifo_release(&endpoint->in, halves);
    return fastsm_fifo_peek(&endpoint->in);
}

/* What has come from this peer; as mca_btl_fastsm_peek(). */
static inline __opal_attribute_always_inline__ int find_arrived(mca_btl_base_endpoint_t *endpoint,
                                                                mca_btl_fastsm_view_t *view)
{
    const mca_btl_fastsm_slot_t *slot = fastsm_fifo_peek(&endpoint->in);
    fastsm_head_t head;

    if (NULL == slot) {
        return OPAL_ERR_NOT_FOUND;
    }
    head = fastsm_slot_head(slot);
    if (OPAL_UNLIKELY(MCA_BTL_FASTSM_SLOT_PAD == head.flags)) {
        slot = skip_pad(endpoint, slot, head.length);
        if (NULL == slot) {
            return OPAL_ERR_NOT_FOUND;
        }
        head = fastsm_slot_head(slot);
    }
    view->endpoint = endpoint;
    view->in = &endpoint->in;
    view->head = slot;
    view->header = view->data = (const char *) slot->u.head.data;
    view->chunk = 0;
    view->length = head.length;
    view->tag = head.tag;
    if (OPAL_LIKELY(0 == head.flags)) {
        view->halves = mca_btl_fastsm_extent(&endpoint->in, 0, view->length);
    } else if (!find_in_pool(endpoint, head.flags, view)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    return OPAL_LIKELY(0 != view->halves && HEADER <= view->length) ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
}

/* What is to be done while nothing comes. */
static inline void idle(const mca_btl_base_endpoint_t *endpoint)
{
    const fastsm_fifo_receiver_t *in = &endpoint->in;

    if (NULL != in->idle && 0 != in->idle->work && !opal_using_threads()) {
        in->idle->run(in->idle, &fastsm_fifo_slot(in->slots, in->depth, in->read_pos)->sequence,
                      in->read_pos + 1);
    }
}

/* The rest of a peek whose first look found no message. */
static __opal_attribute_noinline__ int peek_again(mca_btl_base_endpoint_t *endpoint, int rc, unsigned spins,
                                                  mca_btl_fastsm_view_t *view)
{
    while (OPAL_ERR_NOT_FOUND == rc && 0 < --spins) {
        idle(endpoint);
        mca_common_fastpath_relax();
        rc = find_arrived(endpoint, view);
    }
    if (OPAL_SUCCESS != rc) {
        mca_btl_fastsm_end_consuming(&endpoint->in);
    }
    return rc;
}

int mca_btl_fastsm_peek(mca_btl_base_endpoint_t *endpoint, unsigned spins, mca_btl_fastsm_view_t *view)
{
    int rc;

    if (OPAL_UNLIKELY(!endpoint->readable || !mca_btl_fastsm_begin_consuming(&endpoint->in))) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    rc = find_arrived(endpoint, view);
    return OPAL_LIKELY(OPAL_SUCCESS == rc) ? OPAL_SUCCESS : peek_again(endpoint, rc, spins, view);
}

/* What is in one piece and short is copied by the function that copies it into buffers, of this library: by
 * another one, even of the same code, it takes longer (docs/data-path.md). */
bool mca_btl_fastsm_view_move(const mca_btl_fastsm_view_t *view, void *to, const mca_btl_fastsm_data_t *data,
                              size_t length, bool undecided)
{
    _Alignas(16) char piece[MCA_BTL_FASTSM_INLINE_BYTES_MAX];

    if (0 != view->chunk) {
        return (NULL == data || !data->whole)
               && mca_btl_fastsm_move_chunks(view, to, data, length, undecided);
    }
    if (NULL == data && (2 < view->halves || MCA_COMMON_FASTPATH_COPY_MEASURED > length)) {
        mca_btl_fastsm_view_copy(view, to, length);
    } else if (NULL == data) {
        mca_common_fastpath_ways_copy(&view->endpoint->take_ways, MCA_COMMON_FASTPATH_TAKE_WAYS, to,
                                      view->data + HEADER, length);
    } else if (2 < view->halves) {
        fastsm_fifo_extract(piece, view->head, HEADER, length);
        data->move(data->context, piece, 0, length);
    } else if (0 < length) {
        data->move(data->context, (void *) (uintptr_t) (view->data + HEADER), 0, length);
    }
    return true;
}

fastsm_fifo_receiver_t *mca_btl_fastsm_receiver(mca_btl_base_endpoint_t *endpoint)
{
    return NULL == endpoint->dynamic && endpoint->readable ? &endpoint->in
                                                           : NULL; /* a dynamic peer moves about */
}

static mca_btl_base_endpoint_t *scan_one(mca_btl_base_endpoint_t *endpoint, void *header)
{
    mca_btl_fastsm_view_t view;

    if (OPAL_SUCCESS != mca_btl_fastsm_peek(endpoint, 1, &view)) {
        return NULL;
    }
    fastsm_read_once(header, view.header, HEADER);
    mca_btl_fastsm_release(&view, false);
    return endpoint;
}

/* A sender that always has a message waiting must not hide the others: the next look begins with the one
 * behind it. */
static mca_btl_base_endpoint_t *scan_recent(uint32_t n_recent, void *header)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    uint32_t at = atomic_load_explicit(&component->scan_from, memory_order_relaxed);

    for (uint32_t i = 0; i < n_recent; ++i) {
        mca_btl_base_endpoint_t *endpoint;

        at = at < n_recent ? at : 0;
        endpoint = atomic_load_explicit(&component->recent[at++], memory_order_relaxed);
        if (NULL != scan_one(endpoint, header)) {
            atomic_store_explicit(&component->scan_from, at, memory_order_relaxed);
            return endpoint;
        }
    }
    return NULL;
}

/* Those of 8 peers whose bells ring, from the one after `turn` on. */
static mca_btl_base_endpoint_t *scan_group(uint32_t group, uint32_t turn, void *header)
{
    const uint32_t rung = mca_btl_fastsm_rung(group);

    for (uint32_t i = 0; 0 != rung && i < 8; ++i) {
        const uint32_t bit = (turn + i) % 8;

        if (0 != (rung & 1u << bit)) {
            mca_btl_base_endpoint_t *endpoint = mca_btl_fastsm_writer(8 * group + bit);

            if (NULL != endpoint
                && (NULL != scan_one(endpoint, header)
                    || (mca_btl_fastsm_read_first(endpoint) && NULL != scan_one(endpoint, header)))) {
                mca_btl_fastsm_remember(endpoint);
                return endpoint;
            }
        }
    }
    return NULL;
}

static mca_btl_base_endpoint_t *scan_bells(uint32_t turn, void *header)
{
    const uint32_t groups = mca_btl_fastsm_bell_groups();
    mca_btl_base_endpoint_t *found = NULL;

    mca_btl_fastsm_count(&mca_btl_fastsm_component.bell_scans);
    for (uint32_t i = 0; NULL == found && i < groups; ++i) {
        found = scan_group((turn / 8 + i) % groups, turn, header);
    }
    return found;
}

/* Nor must those that are looked at first hide the others: after every scan that finds something the next one
 * begins with the other kind. */
static mca_btl_base_endpoint_t *scan_all(uint32_t turn, void *header)
{
    const uint32_t n_recent = mca_btl_fastsm_load_n_recent();
    const bool bells = mca_btl_fastsm_component.n_connected > n_recent;
    mca_btl_base_endpoint_t *found = NULL;

    if (bells && 0 != (turn & 1)) {
        found = scan_bells(turn / 2, header);
    }
    if (NULL == found) {
        found = scan_recent(n_recent, header);
    }
    if (NULL == found && bells && 0 == (turn & 1)) {
        found = scan_bells(turn / 2, header);
    }
    return found;
}

mca_btl_base_endpoint_t *mca_btl_fastsm_scan(mca_btl_base_module_t *btl, unsigned spins, void *header)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint32_t turn = atomic_load_explicit(&component->scan_turn, memory_order_relaxed);
    mca_btl_base_endpoint_t *found;

    (void) btl;
    for (;;) {
        found = scan_all(turn, header);
        if (NULL != found || 0 == --spins) {
            break;
        }
        mca_common_fastpath_relax();
    }
    if (NULL != found) {
        atomic_store_explicit(&component->scan_turn, turn + 1, memory_order_relaxed);
    }
    return found;
}
