/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Threads that wait for requests: pml_fastpath_threads.h.
 *
 * Whose turn it is changes under a lock. The thread whose turn comes by somebody who leaves is woken under
 * the lock that it sleeps by, after that; it looks whose turn it is under that lock before it sleeps. One
 * that sleeps in the segment when it loses its turn, or gets it back, need not know: it is woken by messages
 * and by what is completed for it in any case, and looks then.
 */
#include "ompi_config.h"

#include <pthread.h>
#include <stdlib.h>

#include "opal/mca/base/mca_base_var.h"

#include "pml_fastpath_idle.h"
#include "pml_fastpath_threads.h"

/* A thread that waits. Its memory stays what it is until the job ends, and so do the lock and the condition:
 * Open MPI's wait_sync_update() may still touch them when the thread has seen that its request is complete.
 */
typedef struct waiter_t {
    ompi_wait_sync_t sync; /* what its requests refer to; count: of those that have to end, 0 or less: look */
    mca_pml_fastpath_idle_t idle;
    struct waiter_t *older; /* under lock_; of a spare one: the next spare one */
    struct waiter_t *newer;
} waiter_t;

static pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
static waiter_t *newest_;       /* under lock_ */
static waiter_t *spare_;        /* under lock_ */
static waiter_t *_Atomic turn_; /* changed under lock_ */
static bool usable_;

void mca_pml_fastpath_threads_init(void)
{
    const int index = mca_base_var_find("opal", "opal", NULL, "max_thread_in_progress");
    const int *most = NULL;

    usable_ = 0 > index || OPAL_SUCCESS != mca_base_var_get_value(index, &most, NULL, NULL) || NULL == most
              || 1 >= *most;
}

void mca_pml_fastpath_threads_fini(void)
{
    while (NULL != spare_) {
        waiter_t *waiter = spare_;

        spare_ = waiter->older;
        (void) pthread_cond_destroy(&waiter->sync.condition);
        (void) pthread_mutex_destroy(&waiter->sync.lock);
        free(waiter);
    }
}

/* A waiter that nobody uses; NULL: no memory. */
static waiter_t *waiter_get(void)
{
    waiter_t *waiter;

    (void) pthread_mutex_lock(&lock_);
    waiter = spare_;
    if (NULL != waiter) {
        spare_ = waiter->older;
    }
    (void) pthread_mutex_unlock(&lock_);
    if (NULL == waiter) {
        waiter = calloc(1, sizeof(*waiter));
        if (NULL != waiter) {
            (void) pthread_cond_init(&waiter->sync.condition, NULL);
            (void) pthread_mutex_init(&waiter->sync.lock, NULL);
        }
    }
    return waiter;
}

/* ---- whose turn it is: Q1 stores it, Q2 loads it (docs/memory-ordering.md) ---- */

static bool is_done(const waiter_t *waiter)
{
    return 0 >= *(const volatile int32_t *) &waiter->sync.count;
}

/* Q2 */
static bool has_turn(const waiter_t *waiter)
{
    return waiter == atomic_load_explicit(&turn_, memory_order_relaxed);
}

/* Q2, Q1. Who comes while nobody has the turn, or who has it sleeps, takes it. */
static void enter_turn(waiter_t *waiter)
{
    waiter_t *turn;

    (void) pthread_mutex_lock(&lock_);
    waiter->older = newest_;
    waiter->newer = NULL;
    if (NULL != newest_) {
        newest_->newer = waiter;
    }
    newest_ = waiter;
    turn = atomic_load_explicit(&turn_, memory_order_relaxed);
    if (NULL == turn || atomic_load_explicit(&turn->idle.sleeping, memory_order_relaxed)) {
        atomic_store_explicit(&turn_, waiter, memory_order_relaxed);
    }
    (void) pthread_mutex_unlock(&lock_);
}

/* It is somebody's turn: he may be in doze(). He may have left meanwhile, too, which does no harm. */
static void call(waiter_t *next)
{
    (void) pthread_mutex_lock(&next->sync.lock);
    (void) pthread_cond_signal(&next->sync.condition);
    (void) pthread_mutex_unlock(&next->sync.lock);
}

/* Q1. The turn goes to who has come last: the others have waited, and slept, for longer. */
static void leave_turn(waiter_t *waiter)
{
    waiter_t *next = NULL;

    (void) pthread_mutex_lock(&lock_);
    if (NULL != waiter->older) {
        waiter->older->newer = waiter->newer;
    }
    if (NULL != waiter->newer) {
        waiter->newer->older = waiter->older;
    } else {
        newest_ = waiter->older;
    }
    if (has_turn(waiter)) {
        next = newest_;
        atomic_store_explicit(&turn_, next, memory_order_relaxed);
    }
    waiter->older = spare_;
    spare_ = waiter;
    (void) pthread_mutex_unlock(&lock_);
    if (NULL != next) {
        call(next);
    }
}

/* Sleep until the requests are complete, or it is our turn. */
static void doze(waiter_t *waiter)
{
    (void) pthread_mutex_lock(&waiter->sync.lock);
    while (!is_done(waiter) && !has_turn(waiter)) {
        (void) pthread_cond_wait(&waiter->sync.condition, &waiter->sync.lock);
    }
    (void) pthread_mutex_unlock(&waiter->sync.lock);
}

/* ---- requests ---- */

/* Say in the requests who waits for them. */
static void install(waiter_t *waiter, size_t count, ompi_request_t **requests, bool all)
{
    int32_t done = 0;
    bool failed = false;

    waiter->sync.status = OPAL_SUCCESS;
    waiter->sync.count = all ? (int32_t) count : 1;
    opal_atomic_wmb();
    for (size_t i = 0; i < count && (all || 0 == done); ++i) {
        void *expected = REQUEST_PENDING;

        if (OMPI_REQUEST_INACTIVE == requests[i]->req_state) {
            done += all;
        } else if (!OPAL_ATOMIC_COMPARE_EXCHANGE_STRONG_PTR(&requests[i]->req_complete, &expected,
                                                            &waiter->sync)) {
            ++done;
            failed = failed || MPI_SUCCESS != requests[i]->req_status.MPI_ERROR;
        }
    }
    if (failed) {
        (void) opal_atomic_swap_32(&waiter->sync.count, 0);
    } else if (0 < done) {
        wait_sync_update(&waiter->sync, done, OPAL_SUCCESS);
    }
}

/* Those that are not complete forget us. */
static void remove_from(const waiter_t *waiter, size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        if (OMPI_REQUEST_INACTIVE != requests[i]->req_state) {
            void *expected = (void *) (uintptr_t) &waiter->sync;

            (void) OPAL_ATOMIC_COMPARE_EXCHANGE_STRONG_PTR(&requests[i]->req_complete, &expected,
                                                           REQUEST_PENDING);
        }
    }
}

bool mca_pml_fastpath_threads_await(size_t count, ompi_request_t **requests, bool all)
{
    waiter_t *waiter = usable_ ? waiter_get() : NULL;

    if (OPAL_UNLIKELY(NULL == waiter)) {
        return false;
    }
    waiter->idle.wait = (mca_common_fastpath_idle_wait_t){0};
    waiter->idle.rounds = 0;
    install(waiter, count, requests, all);
    enter_turn(waiter);
    while (!is_done(waiter)) {
        if (OPAL_LIKELY(has_turn(waiter))) {
            mca_pml_fastpath_pause_idle(&waiter->idle, NULL);
        } else {
            doze(waiter);
        }
    }
    remove_from(waiter, count, requests);
    leave_turn(waiter);
    return true;
}
