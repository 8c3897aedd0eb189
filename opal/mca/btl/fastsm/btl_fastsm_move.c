/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The sender's side of a move to a deeper FIFO; btl_fastsm_deep.c says how it goes, and is the receiver's.
 */

#include "opal_config.h"

#include "opal/util/output.h"

#include "btl_fastsm.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_dynamic_send.h"
#include "btl_fastsm_move.h"
#include "btl_fastsm_segment.h"
#include "btl_fastsm_send.h"

void mca_btl_fastsm_move_say(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t number, const char *step)
{
    opal_output_verbose(20, opal_btl_base_framework.framework_output,
                        "btl:fastsm: process %u (pid %d), FIFO %u: %s", endpoint->index, (int) endpoint->pid,
                        number, step);
}

static bool big_enough(const mca_btl_fastsm_endpoint_t *endpoint)
{
    const mca_btl_fastsm_layout_params_t *params = &endpoint->layout.params;

    if (NULL == endpoint->dynamic) {
        return params->deep_fifo_depth > params->fifo_depth;
    }
    /* what we send inline has to fit */
    return params->deep_fifo_depth >= fastsm_fifo_slots(endpoint->inline_bytes);
}

void mca_btl_fastsm_move_init(mca_btl_fastsm_endpoint_t *endpoint)
{
    if (MCA_BTL_FASTSM_MOVE_IDLE == endpoint->move.state) {
        endpoint->move.count = endpoint->move.position = 0;
        endpoint->move.limit = 0 != endpoint->layout.params.deep_fifos && big_enough(endpoint)
                                   ? mca_btl_fastsm_component.deep_fifo_after
                                   : 0;
    }
}

/* Goes on where it is, and asks the next time when it has been busy for twice as long. */
static void stay(mca_btl_fastsm_endpoint_t *endpoint)
{
    endpoint->move.state = MCA_BTL_FASTSM_MOVE_IDLE;
    endpoint->move.count = 0;
    if (endpoint->move.limit <= UINT32_MAX / 2) {
        endpoint->move.limit *= 2;
    }
}

/* A slot that is no message, behind all that has left. */
static bool post_own(mca_btl_fastsm_endpoint_t *endpoint, const void *data, size_t length, uint8_t flags)
{
    mca_btl_fastsm_slot_t *head;

    if (NULL != endpoint->dynamic) {
        return mca_btl_fastsm_dynamic_post_own(endpoint->dynamic, data, length, flags,
                                               &endpoint->move.position);
    }
    head = fastsm_fifo_reserve(&endpoint->out, 1);
    if (NULL == head) {
        return false;
    }
    fastsm_fifo_describe(head, length, 0, flags);
    memcpy(head->u.head.data, data, length);
    fastsm_fifo_commit(&endpoint->out, head, 1);
    return true;
}

static bool ask_to_move(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_move_t *move = &endpoint->move;
    const mca_btl_fastsm_want_t want = {.serial = 65535 == move->serial ? 1 : move->serial + 1};

    if (!post_own(endpoint, &want, sizeof(want), MCA_BTL_FASTSM_SLOT_WANT)) {
        return false;
    }
    move->serial = want.serial;
    move->admission = NULL == endpoint->dynamic ? 0 : endpoint->dynamic->our_admission;
    move->state = MCA_BTL_FASTSM_MOVE_ASKED;
    mca_btl_fastsm_move_say(endpoint, 0, "we asked for another one");
    return true;
}

static _Atomic uint32_t *answer_word(mca_btl_fastsm_endpoint_t *endpoint)
{
    const uint64_t read_pos =
        mca_btl_fastsm_layout_read_pos(&endpoint->layout, mca_btl_fastsm_component.me.local_index);

    return NULL != endpoint->dynamic
               ? &endpoint->dynamic->our_entry->assignment
               : &((mca_btl_fastsm_read_pos_t *) mca_btl_fastsm_in_segment(endpoint, read_pos))->assignment;
}

static bool hear(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_move_t *move = &endpoint->move;
    const uint32_t answer = fastsm_load_assignment(answer_word(endpoint)), number = answer & 0xffff;

    if (answer >> 16 != move->serial) {
        return false;
    }
    if (0 == number) {
        atomic_fetch_add_explicit(&mca_btl_fastsm_component.deep_fifos_refused, 1, memory_order_relaxed);
        mca_btl_fastsm_move_say(endpoint, 0, "we have to stay");
        stay(endpoint);
        return false;
    }
    if (number > endpoint->layout.params.deep_fifos) {
        move->state = MCA_BTL_FASTSM_MOVE_IDLE;
        move->limit = 0;
        move->nonsense = answer;
        return false;
    }
    move->number = endpoint->layout.params.n_local + number - 1;
    move->state = MCA_BTL_FASTSM_MOVE_LEAVE;
    mca_btl_fastsm_move_say(endpoint, move->number, "we may move there");
    return true;
}

/* No room any more, wherever the write position is. */
static void stop(mca_btl_fastsm_endpoint_t *endpoint)
{
    if (NULL == endpoint->dynamic) {
        endpoint->out.read_pos = endpoint->out.write_pos - endpoint->out.depth;
        atomic_store_explicit(&endpoint->move.stopped, endpoint->out.read_pos, memory_order_relaxed);
        endpoint->out.shared_read_pos = &endpoint->move.stopped;
    }
}

static bool leave_fifo(mca_btl_fastsm_endpoint_t *endpoint)
{
    static const mca_btl_fastsm_want_t nothing;

    if (!post_own(endpoint, &nothing, sizeof(nothing), MCA_BTL_FASTSM_SLOT_CONTINUE)) {
        return false;
    }
    stop(endpoint);
    endpoint->move.state = MCA_BTL_FASTSM_MOVE_MOVING;
    mca_btl_fastsm_move_say(endpoint, endpoint->move.number, "we have left for it");
    return true;
}

/* Whether the peer has read all that we sent. */
static bool all_read(mca_btl_fastsm_endpoint_t *endpoint)
{
    const uint32_t me = mca_btl_fastsm_component.me.local_index;
    _Atomic uint32_t *read_pos;

    if (NULL != endpoint->dynamic) {
        return mca_btl_fastsm_dynamic_was_read(endpoint->dynamic, endpoint->move.position);
    }
    read_pos = (_Atomic uint32_t *) mca_btl_fastsm_in_segment(
        endpoint, mca_btl_fastsm_layout_read_pos(&endpoint->layout, me));
    if (endpoint->out.write_pos != fastsm_load_read_pos(read_pos)) {
        return false;
    }
    endpoint->out.shared_read_pos = read_pos;
    return true;
}

static void arrive(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_move_t *move = &endpoint->move;
    uint32_t n_pending;

    if (!all_read(endpoint)) {
        return;
    }
    mca_btl_fastsm_reclaim(endpoint); /* every buffer */
    if (NULL != endpoint->dynamic && !mca_btl_fastsm_dynamic_known(endpoint->dynamic, move->admission)) {
        stay(endpoint); /* it had forgotten us before it came to our last slot */
        return;
    }
    n_pending = endpoint->out.n_pending;
    fastsm_fifo_sender_init(&endpoint->out, endpoint->base, &endpoint->layout, move->number);
    endpoint->out.n_pending = n_pending;
    endpoint->out.read_pos = endpoint->out.write_pos = fastsm_load_read_pos(endpoint->out.shared_read_pos);
    if (endpoint->inline_bytes < mca_btl_fastsm_inline_bytes(endpoint->layout.params.deep_fifo_depth)) {
        endpoint->inline_bytes = mca_btl_fastsm_inline_bytes(endpoint->layout.params.deep_fifo_depth);
    }
    endpoint->out.sendi_bytes = (uint32_t) endpoint->inline_bytes;
    move->state = MCA_BTL_FASTSM_MOVE_MOVED;
    atomic_fetch_add_explicit(&mca_btl_fastsm_component.deep_fifos_obtained, 1, memory_order_relaxed);
    mca_btl_fastsm_move_say(endpoint, move->number, "we send there from now on");
}

bool mca_btl_fastsm_move(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_move_t *move = &endpoint->move;

    if (NULL != endpoint->dynamic && MCA_BTL_FASTSM_MOVE_WANT < move->state
        && MCA_BTL_FASTSM_MOVE_MOVING > move->state
        && !mca_btl_fastsm_dynamic_known(endpoint->dynamic, move->admission)) {
        stay(endpoint); /* whoever forgets us takes back what it has assigned */
        return true;
    }
    if (MCA_BTL_FASTSM_MOVE_WANT == move->state && !ask_to_move(endpoint)) {
        return true;
    }
    if (MCA_BTL_FASTSM_MOVE_ASKED == move->state && !hear(endpoint)) {
        return 0 == move->nonsense;
    }
    if (MCA_BTL_FASTSM_MOVE_LEAVE == move->state && !leave_fifo(endpoint)) {
        return true;
    }
    if (MCA_BTL_FASTSM_MOVE_MOVING == move->state) {
        arrive(endpoint);
    }
    return true;
}

void mca_btl_fastsm_move_resume(mca_btl_fastsm_endpoint_t *endpoint)
{
    const uint32_t write_pos = endpoint->out.write_pos;
    const bool moved = MCA_BTL_FASTSM_MOVE_MOVED == endpoint->move.state;

    fastsm_fifo_sender_init(&endpoint->out, endpoint->base, &endpoint->layout,
                            moved ? endpoint->move.number : mca_btl_fastsm_component.me.local_index);
    endpoint->out.write_pos = write_pos;
    endpoint->out.read_pos = write_pos - endpoint->out.depth;
    if (MCA_BTL_FASTSM_MOVE_MOVING == endpoint->move.state) {
        stop(endpoint);
    }
    if (mca_btl_fastsm_moving(endpoint)) {
        mca_btl_fastsm_activate(endpoint);
    }
}
