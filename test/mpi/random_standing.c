/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Persistent requests that live as long as the job and start again in each round. */

#include "random_lane.h"

static transfer_t new_transfer(message_t *m, const layout_t *layout, bool receive)
{
    return (transfer_t){.message = m,
                        .layout = layout,
                        .block = layout_alloc(layout, m->length),
                        .capacity = m->length,
                        .receive = receive,
                        .standing = true};
}

void standing_init(lane_t *lane)
{
    plan_standing(lane->standing, lane->options, lane->index);
    for (int i = 0; i < STANDING; i++) {
        message_t *m = &lane->standing[i];
        transfer_t *out = &lane->standing_out[i], *in = &lane->standing_in[i];

        if (m->from == fp_rank) {
            *out = new_transfer(m, m->out, false);
            FP(m->mode->init(layout_address(m->out, out->block), layout_count(m->out, m->length),
                             m->out->type, m->to, m->tag, lane->side, &out->request));
        }
        if (m->to == fp_rank) {
            *in = new_transfer(m, m->in, true);
            FP(MPI_Recv_init(layout_address(m->in, in->block), layout_count(m->in, m->length), m->in->type,
                             m->from, m->tag, lane->side, &in->request));
        }
    }
}

/* The requests of one round start together; finish_all completes them like any other. */
void standing_start(lane_t *lane, bool receives)
{
    transfer_t *all = receives ? lane->standing_in : lane->standing_out;
    MPI_Request requests[STANDING];
    int count = 0;

    for (int i = 0; i < STANDING; i++) {
        message_t *m = &lane->standing[i];

        if (NULL == all[i].block) {
            continue;
        }
        m->key = plan_standing_key(m, i, lane->round);
        if (receives) {
            fp_poison(all[i].block, m->in->lead + m->length / m->in->packed * m->in->extent);
        } else {
            layout_fill(m->out, all[i].block, m->length, m->key);
        }
        all[i].pending = true;
        requests[count++] = all[i].request;
        (void) lane_keep(lane, all[i]);
    }
    fp_case("seed %" PRIu64 " round %d: start persistent %s", lane->options->seed, lane->round,
            receives ? "receives" : "sends");
    FP(MPI_Startall(count, requests));
}

void standing_check(const lane_t *lane, transfer_t *t)
{
    const message_t *m = t->message;

    lane_case(lane, t->receive ? "check persistent" : "check the buffer of persistent", m);
    CHECK_INT(t->error, MPI_SUCCESS);
    CHECK(MPI_REQUEST_NULL != t->request);
    if (t->receive) {
        CHECK_STATUS(&t->status, m->from, m->tag, m->length);
    }
    layout_check(t->layout, t->block, t->capacity, m->length, m->key);
}

void standing_fini(lane_t *lane)
{
    for (int i = 0; i < STANDING; i++) {
        transfer_t *ends[] = {&lane->standing_out[i], &lane->standing_in[i]};

        for (int e = 0; e < 2; e++) {
            if (NULL != ends[e]->block) {
                FP(MPI_Request_free(&ends[e]->request));
                fp_free(ends[e]->block);
            }
        }
    }
}
