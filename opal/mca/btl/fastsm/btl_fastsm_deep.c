/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Deeper FIFOs: a sender that turns out busy moves from its FIFO, or from the
 * ring, to a deep FIFO of the receiver.
 *
 *     sender                                         receiver
 *       |---- WANT (serial) ------------------------->|   a free deep FIFO is its, or none
 *       |<=== assignment (serial, number) ============|   a word in the receiver's segment
 *       |---- CONTINUE ------------------------------>|   the last slot here: from now on it reads
 *       |     nothing, until all that it sent is read |   the other FIFO
 *       |---- messages, through the other FIFO ------>|
 *
 * The sender waits until its old place is empty, so nothing is in two places
 * at a time: messages stay in order, and positions of one FIFO are never
 * compared with those of another.  The fast paths know nothing of all that: to
 * them the old FIFO is full until `out` is another one.
 *
 * The sender's side is in btl_fastsm_move.c, the receiver's here.
 *
 * A deep FIFO keeps its positions for the life of the segment: the next
 * writer goes on where the last one stopped.
 */

#include "opal_config.h"

#include <stdlib.h>

#include "opal/mca/common/fastpath/common_fastpath_memory.h"

#include "btl_fastsm.h"
#include "btl_fastsm_deep.h"
#include "btl_fastsm_dynamic.h"
#include "btl_fastsm_move.h"
#include "btl_fastsm_peers.h"
#include "btl_fastsm_segment.h"

int mca_btl_fastsm_deep_init(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    atomic_store_explicit(&component->n_bells, component->n_local, memory_order_relaxed);
    component->deep =
        (mca_btl_fastsm_deep_t *) calloc(component->layout.params.deep_fifos + 1, sizeof(*component->deep));
    return NULL == component->deep ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}

void mca_btl_fastsm_deep_fini(void)
{
    free(mca_btl_fastsm_component.deep);
    mca_btl_fastsm_component.deep = NULL;
}

static mca_btl_fastsm_deep_t *deep_of(uint32_t number)
{
    return &mca_btl_fastsm_component.deep[number - mca_btl_fastsm_component.n_local];
}

/* T1.  Partner: T2.  All of the writer's record is there before another thread looks for it. */
static void store_writer(uint32_t number, mca_btl_fastsm_endpoint_t *endpoint)
{
    atomic_store_explicit(&deep_of(number)->writer, endpoint, memory_order_release);
}

/* Pages of a FIFO and of its read position, before anybody looks at them. */
static bool reserve_deep(uint32_t number)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const mca_btl_fastsm_layout_t *layout = &component->layout;

    return OPAL_ERR_OUT_OF_RESOURCE
               != mca_common_fastpath_reserve(
                   component->base + mca_btl_fastsm_layout_read_pos(layout, number), MCA_BTL_FASTSM_LINE)
           && OPAL_ERR_OUT_OF_RESOURCE
                  != mca_common_fastpath_reserve(component->base + mca_btl_fastsm_layout_fifo(layout, number),
                                                 mca_btl_fastsm_layout_fifo_size(layout, number));
}

/* Assign the endpoint the first deep FIFO that is free. @return its number; 0: there is none, or no memory */
static uint32_t assign_deep(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint32_t count = mca_btl_fastsm_layout_count(&component->layout);
    uint32_t number = component->n_local;

    OPAL_THREAD_LOCK(&component->lock);
    while (number < count
           && (deep_of(number)->retired
               || NULL != atomic_load_explicit(&deep_of(number)->writer, memory_order_relaxed))) {
        ++number;
    }
    if (number == count || !reserve_deep(number)) {
        number = 0;
    } else {
        endpoint->assigned = number;
        store_writer(number, endpoint);
        if (number >= mca_btl_fastsm_load_n_bells()) {
            atomic_store_explicit(&component->n_bells, number + 1, memory_order_relaxed);
        }
    }
    OPAL_THREAD_UNLOCK(&component->lock);
    return number;
}

/* Whether the FIFO that it was assigned is the one that we read. */
static bool endpoint_has_moved(const mca_btl_fastsm_endpoint_t *endpoint)
{
    return endpoint->in_number == endpoint->assigned;
}

static _Atomic uint32_t *question_of(const mca_btl_fastsm_endpoint_t *endpoint)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    char *base = component->base;

    if (NULL != endpoint->dynamic) {
        const uint32_t index = fastsm_admission_index(endpoint->dynamic->admission);

        base += mca_btl_fastsm_layout_admission(&component->layout, index);
        return &((mca_btl_fastsm_admission_t *) base)->assignment;
    }
    base += mca_btl_fastsm_layout_read_pos(&component->layout, endpoint->index);
    return &((mca_btl_fastsm_read_pos_t *) base)->assignment;
}

void mca_btl_fastsm_take_back(mca_btl_fastsm_endpoint_t *endpoint, bool ended)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint32_t number = endpoint->assigned;
    const bool moved = endpoint_has_moved(endpoint);
    mca_btl_fastsm_deep_t *deep;
    char *base = component->base;

    if (0 == number) {
        return;
    }
    deep = deep_of(number);
    if (moved && NULL != endpoint->dynamic) {
        mca_btl_fastsm_unlist_peer(endpoint);
    }

    OPAL_THREAD_LOCK(&component->lock);
    if (moved && !ended) {
        deep->retired = true;
        memcpy(deep->nonce, endpoint->nonce, sizeof(deep->nonce));
    } else if (moved) {
        /* killed in the middle of a message it may have left words that were not meant for the next writer */
        fastsm_fifo_renew(
            &endpoint->in,
            (_Atomic uint8_t *) (base + mca_btl_fastsm_layout_bell(&component->layout, number)));
    }
    if (NULL == endpoint->dynamic) {
        mca_btl_fastsm_read_fifo(endpoint, endpoint->index);
    } else if (moved) {
        mca_btl_fastsm_read_nothing(endpoint);
    }
    endpoint->assigned = 0;
    store_writer(number, NULL);
    OPAL_THREAD_UNLOCK(&component->lock);
    mca_btl_fastsm_move_say(endpoint, number, "taken back");
}

/* A local process has no other end than that of its job, unless it was killed and the others go on. */
static void take_back_local(mca_btl_fastsm_endpoint_t *endpoint)
{
    /* only what is read after its end is all that there will ever be */
    if (mca_btl_fastsm_segment_alive(endpoint) || !mca_btl_fastsm_begin_consuming(&endpoint->in)) {
        return;
    }
    if (0 != endpoint->assigned && endpoint->connected && NULL == fastsm_fifo_peek(&endpoint->in)) {
        mca_btl_fastsm_take_back(endpoint, true);
    }
    mca_btl_fastsm_end_consuming(&endpoint->in);
}

/* FIFOs whose writers have ended become free. */
static void take_back_all(void)
{
    for (uint32_t number = mca_btl_fastsm_component.n_local; number < mca_btl_fastsm_load_n_bells();
         ++number) {
        mca_btl_fastsm_endpoint_t *endpoint = mca_btl_fastsm_writer(number);

        if (NULL != endpoint && NULL == endpoint->dynamic) {
            take_back_local(endpoint);
        }
    }
    mca_btl_fastsm_dynamic_sweep();
}

bool mca_btl_fastsm_wanted(mca_btl_fastsm_endpoint_t *endpoint, const void *data)
{
    mca_btl_fastsm_want_t want;
    uint32_t number;

    fastsm_read_once(&want, data, sizeof(want));
    if (0 == want.serial || 65535 < want.serial) {
        mca_btl_fastsm_corrupt(endpoint, "serial", want.serial);
        return false;
    }
    mca_btl_fastsm_move_say(endpoint, 0, "it asks for another one");
    if (0 == endpoint->assigned) {
        number = assign_deep(endpoint);
        if (0 == number) {
            take_back_all();
            number = assign_deep(endpoint);
        }
    } else {
        /* whoever asks again may not have heard the answer to another question of its */
        number = endpoint_has_moved(endpoint) ? 0 : endpoint->assigned;
    }
    fastsm_store_assignment(question_of(endpoint),
                            want.serial << 16
                                | (0 == number ? 0 : number - mca_btl_fastsm_component.n_local + 1));
    mca_btl_fastsm_move_say(endpoint, number, 0 == number ? "it has to stay" : "it may move there");
    return true;
}

bool mca_btl_fastsm_continued(mca_btl_fastsm_endpoint_t *endpoint)
{
    if (0 == endpoint->assigned || endpoint_has_moved(endpoint)) {
        return false;
    }
    mca_btl_fastsm_move_say(endpoint, endpoint->assigned, "it has left for it");
    mca_btl_fastsm_read_fifo(endpoint, endpoint->assigned);
    if (NULL != endpoint->dynamic) {
        mca_btl_fastsm_list_peer(endpoint);
        mca_btl_fastsm_heard(endpoint);
    }
    atomic_fetch_add_explicit(&mca_btl_fastsm_component.deep_fifos_assigned, 1, memory_order_relaxed);
    mca_btl_fastsm_move_say(endpoint, endpoint->assigned, "we read there from now on");
    return true;
}

void mca_btl_fastsm_assign_again(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint32_t count = mca_btl_fastsm_layout_count(&component->layout);
    uint32_t number;

    OPAL_THREAD_LOCK(&component->lock);
    for (number = component->n_local; number < count; ++number) {
        if (deep_of(number)->retired
            && 0 == memcmp(deep_of(number)->nonce, endpoint->nonce, sizeof(endpoint->nonce))) {
            break;
        }
    }
    if (number < count) {
        deep_of(number)->retired = false;
        endpoint->assigned = number;
        store_writer(number, endpoint);
    }
    OPAL_THREAD_UNLOCK(&component->lock);
    if (number < count) {
        (void) mca_btl_fastsm_continued(endpoint);
    }
}

void mca_btl_fastsm_deep_discard(void)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    for (uint32_t number = component->n_local; number < mca_btl_fastsm_load_n_bells(); ++number) {
        mca_btl_fastsm_endpoint_t *endpoint = mca_btl_fastsm_writer(number);
        const mca_btl_fastsm_slot_t *slot;

        if (NULL == endpoint || NULL == endpoint->dynamic || !endpoint->readable
            || !mca_btl_fastsm_begin_consuming(&endpoint->in)) {
            continue;
        }
        while (NULL != (slot = fastsm_fifo_peek(&endpoint->in))) {
            const fastsm_head_t head = fastsm_slot_head(slot);
            const uint32_t halves = mca_btl_fastsm_extent(&endpoint->in, head.flags, head.length);

            if (0 == halves) {
                break;
            }
            fastsm_fifo_release(&endpoint->in, halves);
        }
        mca_btl_fastsm_end_consuming(&endpoint->in);
    }
}
