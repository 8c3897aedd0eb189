/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Waiting for the other halves of the decisions who is reachable.  The
 * decisions themselves are in btl_fastsm_pair.h.
 *
 * All processes of a job on a node come to add_procs at the end of the same
 * exchange, each says what it has to say before it waits for anybody, and
 * waits for nothing else in between.  So the wait is over as soon as the last
 * one has mapped the others' segments.  A process that has ended, or that
 * does not come here, is refused by those that wait for it.
 */

#include "opal_config.h"

#include <sched.h>
#include <time.h>

#include "opal/mca/common/fastpath/common_fastpath_clock.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/runtime/opal_progress.h"

#include "btl_fastsm.h"
#include "btl_fastsm_dynamic.h"
#include "btl_fastsm_endpoint.h"
#include "btl_fastsm_segment.h"

/** rounds in which we only yield: with two processes the other one is microseconds away */
#define FASTSM_YIELDS 100u
/** nanoseconds of the first and of the longest sleep between two rounds after that */
#define FASTSM_NAP_FIRST   20000L
#define FASTSM_NAP_LONGEST 1000000L
/** rounds of sleeping after which we ask whether the others are still there */
#define FASTSM_ALIVE_ROUNDS 64u

/** how long we have waited */
typedef struct {
    unsigned rounds;
    long nap;
    uint64_t began; /* nanoseconds; 0: not asked yet */
} fastsm_timeout_t;

static bool is_open(const mca_btl_fastsm_endpoint_t *endpoint)
{
    return NULL != endpoint && MCA_BTL_FASTSM_PAIR_OFFERED == endpoint->pair_state;
}

static void look_at_pair(mca_btl_fastsm_endpoint_t *endpoint, bool give_up)
{
    if (NULL != endpoint->dynamic) {
        mca_btl_fastsm_dynamic_look(endpoint, give_up);
    } else if (NULL != endpoint->sought && !mca_btl_fastsm_endpoint_seek(endpoint, give_up)) {
        return;
    } else if (is_open(endpoint)) {
        endpoint->pair_state =
            give_up ? fastsm_pair_give_up(&endpoint->pair) : fastsm_pair_look(&endpoint->pair);
    }
}

/* Asks where each pair stands that has not come to a conclusion.  Returns how many still have not. */
static size_t look_at_pairs(mca_btl_base_endpoint_t **endpoints, size_t count)
{
    size_t open = 0;

    for (size_t i = 0; i < count; ++i) {
        if (is_open(endpoints[i])) {
            look_at_pair(endpoints[i], false);
            open += is_open(endpoints[i]);
        }
    }
    return open;
}

static void give_up_dead(mca_btl_base_endpoint_t **endpoints, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (is_open(endpoints[i]) && !mca_btl_fastsm_segment_alive(endpoints[i])) {
            look_at_pair(endpoints[i], true);
        }
    }
}

static void give_up_all(mca_btl_base_endpoint_t **endpoints, size_t count)
{
    const mca_btl_fastsm_modex_t *me = &mca_btl_fastsm_component.me;
    unsigned refused = 0;
    int first = 0;

    for (size_t i = 0; i < count; ++i) {
        if (is_open(endpoints[i])) {
            look_at_pair(endpoints[i], true);
            if (MCA_BTL_FASTSM_PAIR_REFUSED == endpoints[i]->pair_state && 0 == refused++) {
                first = (int) endpoints[i]->pid;
            }
        }
    }
    if (0 != refused) {
        mca_common_fastpath_show_help(MCA_BTL_FASTSM_HELP, "no answer", opal_process_info.nodename,
                                      me->local_index, (int) me->pid, refused, first,
                                      mca_btl_fastsm_component.agree_timeout);
    }
}

/* Lets the others work.  Returns false when it has been long enough. */
static bool wait_more(fastsm_timeout_t *timeout)
{
    const unsigned limit = mca_btl_fastsm_component.agree_timeout;
    const struct timespec nap = {.tv_nsec = timeout->nap};
    uint64_t now;

    if (++timeout->rounds <= FASTSM_YIELDS) {
        sched_yield();
        return true;
    }
    nanosleep(&nap, NULL);
    timeout->nap = 2 * timeout->nap < FASTSM_NAP_LONGEST ? 2 * timeout->nap : FASTSM_NAP_LONGEST;
    now = mca_common_fastpath_nanoseconds();
    timeout->began = 0 == timeout->began ? now : timeout->began;
    return 0 == limit || now - timeout->began <= limit * UINT64_C(1000000000);
}

void mca_btl_fastsm_agree(mca_btl_base_endpoint_t **endpoints, size_t count)
{
    fastsm_timeout_t timeout = {.nap = FASTSM_NAP_FIRST};
    bool dynamic = false;

    for (size_t i = 0; i < count; ++i) {
        dynamic = dynamic || (NULL != endpoints[i] && NULL != endpoints[i]->dynamic);
    }
    while (0 != look_at_pairs(endpoints, count)) {
        if (!wait_more(&timeout)) {
            give_up_all(endpoints, count);
            return;
        }
        if (0 == timeout.rounds % FASTSM_ALIVE_ROUNDS) {
            give_up_dead(endpoints, count);
        }
        if (dynamic) {
            opal_progress(); /* another process may need a message of ours to come this far */
        }
    }
}
