/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "random_lane.h"

enum { SOME = 8 };

/* Several requests for one call, copied out of the transfers they belong to. */
typedef struct {
    int count;
    transfer_t *transfers[SOME];
    MPI_Request requests[SOME];
    MPI_Status statuses[SOME];
    int indices[SOME];
} group_t;

static bool is_truncated(const transfer_t *t)
{
    return NULL != t->message && t->receive && t->capacity < t->message->length;
}

static void completed(transfer_t *t, MPI_Request request, const MPI_Status *status, int rc)
{
    t->request = request;
    t->status = *status;
    t->pending = false;
    FP(MPI_Error_class(rc, &t->error));
    if (MPI_REQUEST_NULL != t->request && !t->standing) {
        /* a persistent one; those that end in error Open MPI has freed */
        CHECK(NULL != t->message && t->message->persistent);
        FP(MPI_Request_free(&t->request));
    }
}

static void group_completed(group_t *group, int index, const MPI_Status *status)
{
    completed(group->transfers[index], group->requests[index], status, MPI_SUCCESS);
}

/* A random selection of what is pending. Where one of several fails, Open MPI frees others that fail too
 * without telling, so those with an error to come stand alone. */
static void gather(lane_t *lane, group_t *group)
{
    int first = (int) (fp_random(&lane->choices) % (unsigned) lane->transfer_count);
    int most = 1 + (int) (fp_random(&lane->choices) % SOME);

    group->count = 0;
    for (int i = 0; i < lane->transfer_count && group->count < most; i++) {
        transfer_t *t = &lane->transfers[(first + i) % lane->transfer_count];

        if (!t->pending || (0 < group->count && is_truncated(t))) {
            continue;
        }
        group->transfers[group->count] = t;
        group->requests[group->count++] = t->request;
        if (is_truncated(t)) {
            break;
        }
    }
}

static void one_of_one(lane_t *lane, group_t *group, bool may_block)
{
    MPI_Request request = group->requests[0];
    transfer_t *t = group->transfers[0];
    MPI_Status status;
    int flag = 0, rc;

    if (NULL != t->message) {
        lane_case(lane, "complete", t->message);
    }
    if (may_block && lane_one_in(lane, 2)) {
        fp_at(__FILE__, __LINE__, "MPI_Wait");
        rc = MPI_Wait(&request, &status);
        completed(t, request, &status, rc);
        return;
    }
    if (lane_one_in(lane, 2)) {
        rc = MPI_Test(&request, &flag, &status);
    } else {
        FP(MPI_Request_get_status(request, &flag, &status));
        rc = flag ? MPI_Wait(&request, MPI_STATUS_IGNORE) : MPI_SUCCESS;
    }
    if (flag) {
        completed(t, request, &status, rc);
    } else {
        CHECK_INT(rc, MPI_SUCCESS);
    }
}

static void any_of_group(group_t *group, bool may_block)
{
    int index = MPI_UNDEFINED, flag = 1;
    MPI_Status status;

    if (may_block) {
        FP(MPI_Waitany(group->count, group->requests, &index, &status));
    } else {
        FP(MPI_Testany(group->count, group->requests, &index, &flag, &status));
    }
    if (flag && CHECK(MPI_UNDEFINED != index)) {
        group_completed(group, index, &status);
    }
}

static void some_of_group(group_t *group, bool may_block)
{
    int count = 0;

    if (may_block) {
        FP(MPI_Waitsome(group->count, group->requests, &count, group->indices, group->statuses));
        CHECK(0 < count);
    } else {
        FP(MPI_Testsome(group->count, group->requests, &count, group->indices, group->statuses));
    }
    for (int i = 0; i < count; i++) {
        group_completed(group, group->indices[i], &group->statuses[i]);
    }
}

static void all_of_group(group_t *group, bool may_block)
{
    int flag = 1;

    if (may_block) {
        FP(MPI_Waitall(group->count, group->requests, group->statuses));
    } else {
        FP(MPI_Testall(group->count, group->requests, &flag, group->statuses));
    }
    for (int i = 0; i < group->count && flag; i++) {
        group_completed(group, i, &group->statuses[i]);
    }
}

void finish_some(lane_t *lane, bool may_block)
{
    group_t group = {.count = 0};

    if (0 < lane->transfer_count) {
        gather(lane, &group);
    }
    if (0 == group.count) {
        return;
    }
    fp_case("seed %" PRIu64 " round %d: complete some of %d", lane->options->seed, lane->round, group.count);
    if (is_truncated(group.transfers[0]) || lane_one_in(lane, 4)) {
        one_of_one(lane, &group, may_block);
    } else if (lane_one_in(lane, 3)) {
        any_of_group(&group, may_block);
    } else if (lane_one_in(lane, 2)) {
        some_of_group(&group, may_block);
    } else {
        all_of_group(&group, may_block);
    }
}

static bool is_any_pending(const lane_t *lane)
{
    for (int i = 0; i < lane->transfer_count; i++) {
        if (lane->transfers[i].pending) {
            return true;
        }
    }
    return false;
}

void finish_all(lane_t *lane)
{
    while (is_any_pending(lane)) {
        finish_some(lane, lane_one_in(lane, 2));
    }
}

/* -------------------------------------------------------------------- checks */

/* The message that a receive of a wild manner got: of those from that source with that tag the earliest
 * that no receive posted before has. */
static message_t *resolve(lane_t *lane, const transfer_t *t)
{
    for (int i = 0; i < MESSAGES; i++) {
        message_t *m = &lane->plan.messages[i];

        if (m->to == fp_rank && !m->doomed && m->where == t->where && m->taken
            && plan_rank(m->where, m->from) == t->status.MPI_SOURCE && m->tag == t->status.MPI_TAG) {
            m->taken = false; /* used up */
            return m;
        }
    }
    return NULL;
}

static void check_receive(lane_t *lane, transfer_t *t)
{
    const message_t *m = t->message;
    bool known = NULL != m;

    if (!known) {
        m = resolve(lane, t);
        if (!CHECK(NULL != m)) {
            return;
        }
    }
    lane_case(lane, known ? "check" : "check by its status", m);
    if (is_truncated(t)) {
        CHECK_INT(t->error, MPI_ERR_TRUNCATE);
        CHECK_INT(t->status.MPI_SOURCE, plan_rank(m->where, m->from));
        CHECK_INT(t->status.MPI_TAG, m->tag);
        return;
    }
    CHECK_INT(t->error, MPI_SUCCESS);
    CHECK_STATUS(&t->status, plan_rank(m->where, m->from), m->tag, m->length);
    layout_check(t->layout, t->block, t->capacity, m->length, m->key);
}

static void check_send(lane_t *lane, const transfer_t *t)
{
    const message_t *m = t->message;

    lane_case(lane, "check the buffer of", m);
    CHECK_INT(t->error, MPI_SUCCESS);
    if (!m->doomed && !m->forgotten) {
        CHECK(!fp_was_cancelled(&t->status));
    }
    layout_check(t->layout, t->block, t->capacity, m->length, m->key);
}

void finish_check(lane_t *lane)
{
    for (int i = 0; i < lane->transfer_count; i++) {
        transfer_t *t = &lane->transfers[i];

        if (t->standing) {
            standing_check(lane, t);
            continue;
        }
        if (t->receive) {
            check_receive(lane, t);
        } else {
            check_send(lane, t);
        }
        fp_free(t->block);
    }
    lane->transfer_count = 0;
}
