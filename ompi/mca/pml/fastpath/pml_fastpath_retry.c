/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_retry.h"

OBJ_CLASS_INSTANCE(mca_pml_fastpath_retry_t, opal_free_list_item_t, NULL, NULL);

void mca_pml_fastpath_retry_later(mca_pml_fastpath_retry_t *retry, mca_pml_fastpath_peer_t *peer, int queue,
                                  int (*fn)(mca_pml_fastpath_retry_t *retry))
{
    mca_pml_fastpath_queue_t *retries = &mca_pml_fastpath.retries[queue];

    retry->peer = peer;
    retry->fn = fn;
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    opal_list_append(&retries->retries, &retry->super.super);
    if (1 == ++peer->waiting[queue]) {
        ++retries->waited_for;
    }
    (void) OPAL_THREAD_ADD_FETCH32(&peer->queued, 1);
    (void) OPAL_THREAD_ADD_FETCH32(&mca_pml_fastpath.num_retries, 1);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

/* A retry has left its queue. The PML is locked. */
static void retry_left(mca_pml_fastpath_queue_t *retries, int queue, mca_pml_fastpath_peer_t *peer)
{
    if (0 == --peer->waiting[queue]) {
        --retries->waited_for;
    }
    opal_atomic_wmb(); /* who sees that nothing is queued sees the numbers of what was */
    (void) OPAL_THREAD_ADD_FETCH32(&peer->queued, -1);
    (void) OPAL_THREAD_ADD_FETCH32(&mca_pml_fastpath.num_retries, -1);
}

/* Take the first retry whose peer has had room so far in this pass. */
static mca_pml_fastpath_retry_t *retry_take(opal_list_t *retries, opal_list_t *waiting, uint64_t pass)
{
    mca_pml_fastpath_retry_t *retry;

    while (NULL != (retry = (mca_pml_fastpath_retry_t *) opal_list_remove_first(retries))) {
        if (pass != retry->peer->blocked_pass) {
            return retry;
        }
        opal_list_append(waiting, &retry->super.super);
    }
    return NULL;
}

/* One pass over a queue of what was refused. A peer that has no room is not asked again in the same pass,
 * so what waits for it keeps its order; when there is no other, the pass ends, however much waits. The
 * peer is read before the call: fn may complete and free what the retry is part of. */
static int retry_queue(int queue)
{
    static uint64_t pass_counter = 0;
    mca_pml_fastpath_queue_t *retries = &mca_pml_fastpath.retries[queue];
    mca_pml_fastpath_retry_t *retry;
    opal_list_t waiting;
    int accepted = 0, blocked = 0;
    uint64_t pass;

    OBJ_CONSTRUCT(&waiting, opal_list_t);
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    pass = ++pass_counter;
    while (blocked < retries->waited_for && NULL != (retry = retry_take(&retries->retries, &waiting, pass))) {
        mca_pml_fastpath_peer_t *peer = retry->peer;
        int rc;

        OBJ_RETAIN(peer);
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
        rc = retry->fn(retry);
        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        if (OMPI_ERR_OUT_OF_RESOURCE == rc) {
            peer->blocked_pass = pass;
            ++blocked;
            opal_list_append(&waiting, &retry->super.super);
        } else {
            retry_left(retries, queue, peer);
            ++accepted;
        }
        OBJ_RELEASE(peer);
    }
    opal_list_join(&retries->retries, opal_list_get_first(&retries->retries), &waiting);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    OBJ_DESTRUCT(&waiting);
    return accepted;
}

int mca_pml_fastpath_retry_all(void)
{
    static opal_atomic_int32_t busy = 0;
    static int first = 0;
    int accepted = 0;

    /* against ourselves, too: fn may reach progress again */
    if (1 == OPAL_THREAD_ADD_FETCH32(&busy, 1)) {
        /* both queues, in turns: what one of them sends may be what the other one finds no room for */
        first = !first;
        accepted = retry_queue(first) + retry_queue(!first);
    }
    (void) OPAL_THREAD_ADD_FETCH32(&busy, -1);
    return accepted;
}
