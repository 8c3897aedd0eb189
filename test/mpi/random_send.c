/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "random_lane.h"

/* Whether MPI_Send and its like return without help from a receiver that may be waiting for us. */
static bool may_block(const message_t *m)
{
    return m->blocking && !m->doomed && (m->early || m->mode->needs_buffer);
}

static void check_sent(const message_t *m, unsigned char *block)
{
    layout_check(m->out, block, m->length, m->length, m->key);
    fp_free(block);
}

/* A blocking send, together with a receive if one of a message that is there already comes in handy. */
static void send_blocking(lane_t *lane, message_t *m, unsigned char *block)
{
    int count = layout_count(m->out, m->length), dst = plan_rank(m->where, m->to);
    message_t *in = NULL;

    if (m->early && &fp_modes[FP_STANDARD] == m->mode) {
        in = recv_waiting(lane, m->where);
    }
    if (NULL == in) {
        FP(m->mode->send(layout_address(m->out, block), count, m->out->type, dst, m->tag,
                         lane->comms[m->where]));
    } else {
        transfer_t *t = lane_keep(lane, recv_for(lane, in));
        int rc;

        fp_at(__FILE__, __LINE__, "MPI_Sendrecv");
        rc = MPI_Sendrecv(layout_address(m->out, block), count, m->out->type, dst, m->tag,
                          layout_address(t->layout, t->block), layout_count(t->layout, t->capacity),
                          t->layout->type, plan_rank(in->where, in->from), in->tag, lane->comms[m->where],
                          &t->status);
        t->pending = false;
        FP(MPI_Error_class(rc, &t->error));
    }
    check_sent(m, block);
}

void send_start(lane_t *lane, message_t *m)
{
    unsigned char *block = layout_alloc(m->out, m->length);
    int count = layout_count(m->out, m->length), dst = plan_rank(m->where, m->to);
    transfer_t *t;

    lane_case(lane, "send", m);
    layout_fill(m->out, block, m->length, m->key);
    if (may_block(m)) {
        send_blocking(lane, m, block);
        return;
    }
    t = lane_keep(lane, (transfer_t){.message = m,
                                     .block = block,
                                     .layout = m->out,
                                     .capacity = m->length,
                                     .where = m->where,
                                     .pending = !m->forgotten});
    if (m->persistent) {
        FP(m->mode->init(layout_address(m->out, block), count, m->out->type, dst, m->tag,
                         lane->comms[m->where], &t->request));
        FP(MPI_Start(&t->request));
    } else {
        FP(m->mode->isend(layout_address(m->out, block), count, m->out->type, dst, m->tag,
                          lane->comms[m->where], &t->request));
    }
    if (m->forgotten) {
        FP(MPI_Request_free(&t->request));
    }
}

/* Nobody has posted a receive for it yet, so it can be taken back wherever it is. */
static void take_back(lane_t *lane, transfer_t *t)
{
    lane_case(lane, "take back", t->message);
    FP(MPI_Cancel(&t->request));
    if (lane_one_in(lane, 2)) {
        FP(MPI_Wait(&t->request, &t->status));
    } else {
        for (int flag = 0; !flag;) {
            FP(MPI_Test(&t->request, &flag, &t->status));
        }
    }
    CHECK(fp_was_cancelled(&t->status));
    if (t->message->persistent) {
        FP(MPI_Request_free(&t->request));
    }
    CHECK(MPI_REQUEST_NULL == t->request);
    t->pending = false;
}

void send_ahead(lane_t *lane)
{
    for (int i = 0; i < AHEAD; i++) {
        message_t *m = &lane->plan.messages[i];

        if (m->from == fp_rank) {
            send_start(lane, m);
        }
    }
    for (int i = 0; i < lane->transfer_count; i++) {
        transfer_t *t = &lane->transfers[i];

        if (!t->receive && t->message->doomed) {
            take_back(lane, t);
        }
    }
}
