/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Where a rank's manner on a communicator is not wild, each receive is given its message when it is
 * posted, or when a wildcard has returned: messages of one source, tag and communicator come in the plan's
 * order. Where it is wild, as many receives are posted as there are messages, all with the same wildcards,
 * so that any of them may get any message; finish_check finds out which one it was. */

#include "random_lane.h"

/* What a receive or probe asks for. */
typedef struct {
    int source, tag;
    where_t where;
    MPI_Comm comm;
} recv_args_t;

static const manner_t *manner_of(const lane_t *lane, where_t where)
{
    return &lane->plan.manners[where][fp_rank];
}

static bool is_open(const message_t *m)
{
    return m->to == fp_rank && !m->doomed && !m->taken;
}

/* The earliest message without a receive that one with these arguments can get. */
static message_t *next_match(lane_t *lane, int source, int tag, where_t where)
{
    for (int i = 0; i < MESSAGES; i++) {
        message_t *m = &lane->plan.messages[i];

        if (is_open(m) && m->where == where && plan_rank(where, m->from) == source && m->tag == tag) {
            return m;
        }
    }
    return NULL;
}

/* The args that gets a message: by name, or with wildcards. */
static recv_args_t recv_args(const lane_t *lane, const message_t *m, bool any_source, bool any_tag)
{
    return (recv_args_t){.source = any_source ? MPI_ANY_SOURCE : plan_rank(m->where, m->from),
                         .tag = any_tag ? MPI_ANY_TAG : m->tag,
                         .where = m->where,
                         .comm = lane->comms[m->where]};
}

static transfer_t new_receive(message_t *m, where_t where, const layout_t *layout, size_t capacity)
{
    return (transfer_t){.message = m,
                        .where = where,
                        .receive = true,
                        .pending = true,
                        .layout = layout,
                        .capacity = capacity,
                        .block = layout_alloc(layout, capacity)};
}

transfer_t recv_for(lane_t *lane, message_t *m)
{
    size_t capacity = m->truncated ? m->length / m->in->packed / 2 * m->in->packed : m->length;

    (void) lane;
    m->taken = true;
    return new_receive(m, m->where, m->in, capacity);
}

message_t *recv_waiting(lane_t *lane, where_t where)
{
    for (int i = 0; i < AHEAD && !manner_of(lane, where)->wild; i++) {
        message_t *m = &lane->plan.messages[i];

        if (is_open(m) && m->where == where) {
            return m;
        }
    }
    return NULL;
}

/* -------------------------------------------------------------------- posting */

static void post(transfer_t *t, const recv_args_t *args, bool persistent)
{
    void *address = layout_address(t->layout, t->block);
    int count = layout_count(t->layout, t->capacity);

    if (persistent) {
        FP(MPI_Recv_init(address, count, t->layout->type, args->source, args->tag, args->comm, &t->request));
        FP(MPI_Start(&t->request));
    } else {
        FP(MPI_Irecv(address, count, t->layout->type, args->source, args->tag, args->comm, &t->request));
    }
}

/* A receive that gets M, or, where that is all the same, another one. */
static void post_for(lane_t *lane, message_t *m)
{
    const manner_t *manner = manner_of(lane, m->where);
    recv_args_t args =
        recv_args(lane, m, manner->wild && manner->any_source, manner->wild && manner->any_tag);

    lane_case(lane, "post a receive for", m);
    if (manner->wild) {
        m->taken = true;
        post(lane_keep(lane, new_receive(NULL, m->where, manner->in, manner->longest)), &args, false);
        return;
    }
    m = next_match(lane, args.source, args.tag, args.where);
    post(lane_keep(lane, recv_for(lane, m)), &args, m->persistent && !m->truncated);
}

/* Whether some message needs its receive now, so that in a wild manner all do. */
static bool is_urgent(const lane_t *lane, const message_t *m)
{
    if (!manner_of(lane, m->where)->wild) {
        return m->early;
    }
    for (int i = 0; i < MESSAGES; i++) {
        const message_t *other = &lane->plan.messages[i];

        if (other->to == fp_rank && other->where == m->where && other->early) {
            return true;
        }
    }
    return false;
}

void recv_early(lane_t *lane)
{
    for (int i = 0; i < MESSAGES; i++) {
        message_t *m = &lane->plan.messages[i];

        if (is_open(m) && (is_urgent(lane, m) || lane_one_in(lane, 4))) {
            post_for(lane, m);
        }
    }
}

/* ------------------------------------------------------------ looking, taking */

/* The message that a status tells of, where that can be known; it is the caller's now. */
static message_t *found(lane_t *lane, const MPI_Status *status, where_t where, bool take)
{
    message_t *m;

    if (manner_of(lane, where)->wild) {
        return NULL;
    }
    m = next_match(lane, status->MPI_SOURCE, status->MPI_TAG, where);
    if (CHECK(NULL != m)) {
        CHECK_STATUS(status, plan_rank(where, m->from), m->tag, m->length);
        m->taken = take;
    }
    return m;
}

static void look(lane_t *lane)
{
    const message_t *m = &lane->plan.messages[fp_random(&lane->choices) % MESSAGES];
    bool any_tag = lane_one_in(lane, 2) && (ON_WORLD != m->where || 1 == lane->options->lanes);
    MPI_Status status;
    recv_args_t args;
    int flag;

    if (m->to == fp_rank) {
        args = recv_args(lane, m, lane_one_in(lane, 2), any_tag);
        lane_case(lane, "look for", m);
        FP(MPI_Iprobe(args.source, args.tag, args.comm, &flag, &status));
        if (flag) {
            (void) found(lane, &status, args.where, false);
        }
    }
}

void recv_some(lane_t *lane)
{
    message_t *m = &lane->plan.messages[fp_random(&lane->choices) % MESSAGES];

    if (is_open(m) && lane_one_in(lane, 2)) {
        post_for(lane, m);
    } else {
        look(lane);
    }
}

/* A blocking receive. One that does not know what comes can take any type as MPI_PACKED. */
static void receive(lane_t *lane, const recv_args_t *args, message_t *m)
{
    const manner_t *manner = manner_of(lane, args->where);
    bool named = MPI_ANY_SOURCE != args->source && MPI_ANY_TAG != args->tag;
    transfer_t *t;
    int rc;

    if (manner->wild) {
        m->taken = true;
        t = lane_keep(lane, new_receive(NULL, args->where, manner->in, manner->longest));
    } else if (named) {
        t = lane_keep(lane, recv_for(lane, next_match(lane, args->source, args->tag, args->where)));
    } else {
        t = lane_keep(lane, new_receive(NULL, args->where, layout_packed, manner->longest));
    }
    fp_at(__FILE__, __LINE__, "MPI_Recv");
    rc = MPI_Recv(layout_address(t->layout, t->block), layout_count(t->layout, t->capacity), t->layout->type,
                  args->source, args->tag, args->comm, &t->status);
    FP(MPI_Error_class(rc, &t->error));
    t->pending = false;
    if (!manner->wild && !named) {
        t->message = found(lane, &t->status, args->where, true);
    }
}

/* MPI_Mprobe or MPI_Improbe, MPI_Probe or MPI_Iprobe; without MATCHED, *MESSAGE is MPI_MESSAGE_NULL. */
static void probe(lane_t *lane, const recv_args_t *args, bool matched, MPI_Message *message,
                  MPI_Status *status)
{
    bool wait = lane_one_in(lane, 2);
    int flag = 0;

    *message = MPI_MESSAGE_NULL;
    if (wait && matched) {
        FP(MPI_Mprobe(args->source, args->tag, args->comm, message, status));
    } else if (wait) {
        FP(MPI_Probe(args->source, args->tag, args->comm, status));
    }
    while (!wait && !flag) {
        if (matched) {
            FP(MPI_Improbe(args->source, args->tag, args->comm, &flag, message, status));
        } else {
            FP(MPI_Iprobe(args->source, args->tag, args->comm, &flag, status));
        }
    }
}

/* Probes, and receives what was found, as long as it is. */
static void probe_and_receive(lane_t *lane, const recv_args_t *args, message_t *m)
{
    const manner_t *manner = manner_of(lane, args->where);
    MPI_Message message;
    MPI_Status status;
    MPI_Count length;
    transfer_t *t;
    void *address;
    int count;

    probe(lane, args, lane_one_in(lane, 2), &message, &status);
    FP(MPI_Get_elements_x(&status, MPI_BYTE, &length));
    if (manner->wild) {
        m->taken = true;
    }
    m = found(lane, &status, args->where, true);
    t = lane_keep(lane, new_receive(m, args->where, (NULL == m) ? manner->in : m->in, (size_t) length));
    address = layout_address(t->layout, t->block);
    count = layout_count(t->layout, t->capacity);
    t->pending = false;
    if (MPI_MESSAGE_NULL == message) {
        FP(MPI_Recv(address, count, t->layout->type, status.MPI_SOURCE, status.MPI_TAG, args->comm,
                    &t->status));
    } else if (lane_one_in(lane, 2)) {
        FP(MPI_Mrecv(address, count, t->layout->type, &message, &t->status));
    } else {
        FP(MPI_Imrecv(address, count, t->layout->type, &message, &t->request));
        t->pending = true;
    }
}

static void receive_somehow(lane_t *lane, message_t *m)
{
    const manner_t *manner = manner_of(lane, m->where);
    bool any_source = manner->wild ? manner->any_source : lane_one_in(lane, 2);
    bool any_tag = manner->wild ? manner->any_tag
                                : lane_one_in(lane, 2) && (ON_WORLD != m->where || 1 == lane->options->lanes);
    recv_args_t args = recv_args(lane, m, any_source, any_tag);

    lane_case(lane, "wait for", m);
    switch (fp_random(&lane->choices) % 3) {
    case 0:
        post_for(lane, m);
        break;
    case 1:
        receive(lane, &args, m);
        break;
    default:
        probe_and_receive(lane, &args, m);
        break;
    }
}

void recv_rest(lane_t *lane)
{
    for (int i = 0; i < MESSAGES; i++) {
        message_t *m = &lane->plan.messages[i];

        while (is_open(m)) { /* a wildcard may get another one */
            receive_somehow(lane, m);
        }
        if (lane_one_in(lane, 4)) {
            finish_some(lane, false);
        }
    }
}
