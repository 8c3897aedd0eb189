/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_Wait* and whoever else waits for requests: our part of Open MPI's table of such functions, to which
 * MPI_Test* in pml_fastpath_test.c belong as well.
 *
 * They do three things that Open MPI's own do not. They count calls (pml_fastpath_pace.h). Before they let
 * everything progress they look where the message of a pending receive will be; what they find there is
 * delivered as always, by matching. And they hand out complete requests of the simplest kind themselves.
 * Everything else is left to the functions that were in the table before: requests that are generalized,
 * persistent or in error. What is still pending after all rounds is waited for here, where the wait may
 * sleep.
 */
#include "ompi_config.h"

#include "opal/runtime/opal_progress.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_counters.h"
#include "pml_fastpath_idle.h"
#include "pml_fastpath_pause.h"
#include "pml_fastpath_requests.h"
#include "pml_fastpath_take.h"
#include "pml_fastpath_threads.h"
#include "pml_fastpath_wait.h"

/* Calls of opal_progress after which a wait goes on where it may sleep. */
#define ROUNDS 64

/* Polls that found other messages than the awaited one, after which everything gets its turn. */
#define OTHER_MESSAGES 8

/* Messages that are taken from one sender before everything gets its turn. */
#define MOST_AT_A_TIME 64

/* Requests that are looked at in each round of a long wait, on the average. */
#define LOOKED_AT 16

/* How often a wait polls at a time. With threads somebody else may complete the request meanwhile. */
static inline unsigned spins_for(const mca_pml_fastpath_poll_target_t *target, unsigned spins)
{
    return NULL == target->endpoint || OPAL_UNLIKELY(opal_using_threads())
               ? mca_pml_fastpath_spins_of_several(spins)
               : spins;
}

/* With threads the original functions wait and call opal_progress: they let one thread do it for all. */
static inline unsigned rounds(void)
{
    return OPAL_UNLIKELY(opal_using_threads()) ? 1 : ROUNDS;
}

/* More of a member's messages are wanted: deliver what is there. */
static __opal_attribute_noinline__ void deliver_more(mca_pml_fastpath_comm_t *pml_comm,
                                                     mca_pml_fastpath_member_t *member, int src)
{
    for (int count = 0; MOST_AT_A_TIME > count; ++count) {
        if (0
            != mca_pml_fastpath_deliver_awaited(pml_comm, member, src, fastsm_fifo_peek(member->peer->in))) {
            break;
        }
    }
}

/* Nothing of what a request waits for is in a slot, or something that matching has to see to: everything gets
 * its turn. @return whether the request is complete */
static __opal_attribute_noinline__ bool let_progress_for(const ompi_request_t *request,
                                                         const mca_pml_fastpath_member_t *member, int found)
{
    if (FASTSM_NOTHING != found) {
        mca_pml_fastpath_count(MCA_PML_FASTPATH_WAITS_OTHER_MESSAGE);
        if (0 < mca_pml_fastpath.fastsm_ext->poll(member->peer->btl_endpoint, 1)) {
            return REQUEST_COMPLETE(request);
        }
    }
    mca_pml_fastpath_pause(request);
    return REQUEST_COMPLETE(request);
}

/* Nothing has been in a sender's slots, and processes share cores: look again, if that is worth it. @return
 * what mca_pml_fastpath_deliver_awaited() does */
static __opal_attribute_noinline__ int await_again(mca_pml_fastpath_comm_t *pml_comm,
                                                   mca_pml_fastpath_member_t *member, int src)
{
    unsigned spins = mca_pml_fastpath_spin_again_shared();
    int found = FASTSM_NOTHING;

    if (0 < spins) {
        found = mca_pml_fastpath_deliver_awaited(pml_comm, member, src,
                                                 fastsm_fifo_await(member->peer->in, &spins));
        mca_pml_fastpath_spin_result(FASTSM_NOTHING != found);
    }
    return found;
}

/* Wait for a receive whose sender's slots we may look at ourselves, for ROUNDS. Only without
 * threads. If more is wanted, what else has come from that sender is delivered, too. @return whether it is
 * complete */
static inline __opal_attribute_always_inline__ bool await_slots(const ompi_request_t *request,
                                                                mca_pml_fastpath_comm_t *pml_comm,
                                                                mca_pml_fastpath_member_t *member, int src,
                                                                bool more)
{
    unsigned spins = mca_pml_fastpath_spin_count();
    unsigned left = spins;
    unsigned round = 0;

    for (;;) {
        int found = mca_pml_fastpath_deliver_awaited(pml_comm, member, src,
                                                     fastsm_fifo_await(member->peer->in, &left));

        if (OPAL_UNLIKELY(FASTSM_NOTHING == found)) {
            member->early_hits = 0;
            if (OPAL_UNLIKELY(opal_progress_yield_when_idle)) {
                found = await_again(pml_comm, member, src);
            }
        }
        if (OPAL_LIKELY(0 == found)) {
            if (OPAL_LIKELY(REQUEST_COMPLETE(request))) {
                break;
            }
            mca_pml_fastpath_pace_wait(); /* it was for another receive */
        } else {
            if (ROUNDS == round++) {
                mca_pml_fastpath_count(MCA_PML_FASTPATH_WAITS_SPIN_EXPIRED);
                return false;
            }
            if (let_progress_for(request, member, found)) {
                return true;
            }
        }
        left = spins = mca_pml_fastpath_spin_count();
    }
    if (OPAL_LIKELY(spins != left)) {
        member->early_hits = 0;
    } else if (0 == round && MCA_PML_FASTPATH_EARLY_HITS != member->early_hits) {
        ++member->early_hits;
    }
    if (more) {
        deliver_more(pml_comm, member, src);
    }
    return true;
}

/* Poll, and again if that is worth it. @return whether something has come */
static bool poll_twice(const mca_pml_fastpath_poll_target_t *target)
{
    unsigned spins = mca_pml_fastpath_spin_count();
    bool found = 0 < mca_pml_fastpath_poll_sender(target, spins_for(target, spins));

    if (!found) {
        spins = mca_pml_fastpath_spin_again();
        if (0 < spins) {
            found = 0 < mca_pml_fastpath_poll_sender(target, spins_for(target, spins));
            mca_pml_fastpath_spin_result(found);
        }
    }
    return found;
}

/* Wait for a pending request wherever it may come from, for rounds(). @return whether it is complete
 */
static __opal_attribute_noinline__ bool await_elsewhere(const ompi_request_t *request)
{
    const mca_pml_fastpath_poll_target_t target = mca_pml_fastpath_poll_target_of(request);

    mca_pml_fastpath_count(MCA_PML_FASTPATH_WAITS_ELSEWHERE);
    if (OPAL_UNLIKELY(!target.exists)) {
        return false;
    }
    for (unsigned round = rounds(); 0 < round; --round) {
        for (unsigned others = 0; others < OTHER_MESSAGES; ++others) {
            const bool found = poll_twice(&target);

            if (OPAL_LIKELY(REQUEST_COMPLETE(request))) {
                return true;
            }
            if (!found) {
                break;
            }
        }
        if (!opal_using_threads()) {
            mca_pml_fastpath_pause(request);
        }
        if (REQUEST_COMPLETE(request)) {
            return true;
        }
    }
    return false;
}

/* Wait for a pending request, for some rounds. If more is wanted, what else has come from the same sender
 * is delivered, too. @return whether it is complete */
static inline __opal_attribute_always_inline__ bool await(const ompi_request_t *request, bool more)
{
    const mca_pml_base_request_t *base = (const mca_pml_base_request_t *) request;

    if (OPAL_LIKELY(mca_pml_fastpath_recv_request_free == request->req_free
                    && MCA_PML_FASTPATH_ANY_SOURCE != base->req_peer && !opal_using_threads())) {
        mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(base->req_comm);
        mca_pml_fastpath_member_t *member = pml_comm->members[base->req_peer];

        if (OPAL_LIKELY(mca_pml_fastpath_member_has_slots(member))) {
            return await_slots(request, pml_comm, member, base->req_peer, more);
        }
    }
    return await_elsewhere(request);
}

/* @return the index of the first of several requests that is complete; count if there is none */
static inline size_t first_complete(size_t count, ompi_request_t **requests,
                                    mca_pml_fastpath_request_kind_t *kind)
{
    for (size_t i = 0; i < count; ++i) {
        *kind = mca_pml_fastpath_request_kind_of(requests[i]);
        if (MCA_PML_FASTPATH_REQUEST_SIMPLE == *kind || MCA_PML_FASTPATH_REQUEST_OTHER == *kind) {
            return i;
        }
    }
    return count;
}

/* @return where to poll for any of several requests: one sender if that is all, else all of them */
static mca_pml_fastpath_poll_target_t poll_target_of_any(size_t count, ompi_request_t **requests)
{
    mca_pml_fastpath_poll_target_t target = {.exists = false};

    for (size_t i = 0; i < count; ++i) {
        if (MCA_PML_FASTPATH_REQUEST_PENDING == mca_pml_fastpath_request_kind_of(requests[i])) {
            const mca_pml_fastpath_poll_target_t other = mca_pml_fastpath_poll_target_of(requests[i]);

            if (other.exists && target.exists && other.endpoint != target.endpoint) {
                return (mca_pml_fastpath_poll_target_t){.exists = true};
            }
            target = other.exists ? other : target;
        }
    }
    return target;
}

/* Poll until one of several requests is complete. @return which one, or count */
static size_t await_any(size_t count, ompi_request_t **requests, mca_pml_fastpath_request_kind_t *kind)
{
    size_t at = first_complete(count, requests, kind);
    mca_pml_fastpath_poll_target_t target;

    if (at < count) {
        return at;
    }
    mca_pml_fastpath_count(MCA_PML_FASTPATH_WAITS_ELSEWHERE);
    target = poll_target_of_any(count, requests);
    for (unsigned round = target.exists ? rounds() : 0; at == count && 0 < round; --round) {
        if (!poll_twice(&target) && !opal_using_threads()) {
            mca_pml_fastpath_pause(NULL);
        }
        at = first_complete(count, requests, kind);
    }
    return at;
}

/* Whether as many of some requests are complete as their wait needs, or one that is has failed. */
static bool enough(size_t count, ompi_request_t **requests, bool all)
{
    bool pending = false, complete = false;

    for (size_t i = 0; i < count; ++i) {
        const mca_pml_fastpath_request_kind_t kind = mca_pml_fastpath_request_kind_of(requests[i]);

        if (mca_pml_fastpath_ended_in_error(requests[i], kind)) {
            return true;
        }
        pending = pending || MCA_PML_FASTPATH_REQUEST_PENDING == kind;
        complete =
            complete || MCA_PML_FASTPATH_REQUEST_SIMPLE == kind || MCA_PML_FASTPATH_REQUEST_OTHER == kind;
    }
    return !pending || (complete && !all);
}

/* Before the original functions end what has lasted: wait here, where the wait may sleep. Of many requests
 * not all are looked at each time, unless any of them ends the wait and a pause may have taken longer than to
 * look at all: one that yields may take a time slice, one that sleeps many milliseconds. */
static __opal_attribute_noinline__ void await_long(size_t count, ompi_request_t **requests, bool all)
{
    mca_pml_fastpath_idle_t idle = {0};
    size_t left = 0; /* rounds until all of them are looked at */
    size_t at = 0;   /* none before it is pending */

    if (OPAL_UNLIKELY(opal_using_threads())) {
        while (!enough(count, requests, all) && mca_pml_fastpath_threads_await(count, requests, all)) {
        }
        return;
    }
    for (;;) {
        while (all && at < count
               && MCA_PML_FASTPATH_REQUEST_PENDING != mca_pml_fastpath_request_kind_of(requests[at])) {
            ++at;
            left = at < count ? left : 0;
        }
        if (0 == left--) {
            if (enough(count, requests, all)) {
                return;
            }
            left = count / LOOKED_AT;
        }
        mca_pml_fastpath_pause_idle(&idle, all && at < count ? requests[at] : NULL);
        if (!all && (opal_progress_yield_when_idle || 0 != idle.wait.slept_since)) {
            left = 0;
        }
    }
}

/* The same for one request, in a job without threads and fault tolerance. */
static __opal_attribute_noinline__ void await_idle(const ompi_request_t *request)
{
    mca_pml_fastpath_idle_t idle = {0};

    while (!REQUEST_COMPLETE(request)) {
        mca_pml_fastpath_pause_idle(&idle, request);
    }
}

/* Open MPI's own function is for jobs with fault tolerance, where a request may never complete. */
void mca_pml_fastpath_await_pending(ompi_request_t *request)
{
    while (OPAL_UNLIKELY(opal_using_threads()) && !REQUEST_COMPLETE(request)
           && mca_pml_fastpath_threads_await(1, &request, true)) {
    }
    if (OPAL_UNLIKELY(opal_using_threads() || mca_pml_fastpath_ft())) {
        ompi_request_wait_completion(request);
        return;
    }
    mca_pml_fastpath_pause(NULL);
    if (OPAL_UNLIKELY(!REQUEST_COMPLETE(request))) {
        await_idle(request);
    }
}

/* A wait that Open MPI's own function ends: for a send, of which receivers of large messages see that we wait
 * for it, with threads, and with fault tolerance. */
static __opal_attribute_noinline__ int wait_one_original(ompi_request_t **request,
                                                         ompi_status_public_t *status)
{
    mca_pml_fastpath_awaited_t other;
    int rc;

    if (mca_pml_fastpath_send_request_free != (*request)->req_free || opal_using_threads()) {
        await_long(1, request, true);
        return mca_pml_fastpath_original_requests.req_wait(request, status);
    }
    other = mca_pml_fastpath_awaited_begin(1, request);
    await_long(1, request, true);
    rc = mca_pml_fastpath_original_requests.req_wait(request, status);
    mca_pml_fastpath_awaited_end(other);
    return rc;
}

/* A call begins to wait, of which the progress that it makes up for is a part: what that finds depends on
 * what the call waits for. */
static inline void begin_wait(void)
{
    mca_pml_fastpath_awaited_begin_recv();
    mca_pml_fastpath_pace_wait();
}

/* Wait for a request, unless Open MPI's own function ends the wait. @return whether it is complete */
static inline bool await_one(const ompi_request_t *request)
{
    bool complete;

    begin_wait();
    complete = REQUEST_COMPLETE(request) || await(request, false);
    if (!complete && mca_pml_fastpath_send_request_free != request->req_free && !opal_using_threads()
        && !mca_pml_fastpath_ft()) {
        await_idle(request);
        complete = true;
    }
    mca_pml_fastpath_awaited_end_recv();
    return complete;
}

static int wait_one(ompi_request_t **request, ompi_status_public_t *status)
{
    if (REQUEST_COMPLETE(*request)) {
        mca_pml_fastpath_pace_wait();
    } else if (!await_one(*request)) {
        return wait_one_original(request, status);
    }
    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_REQUEST_SIMPLE != mca_pml_fastpath_request_kind_of(*request))) {
        return mca_pml_fastpath_original_requests.req_wait(request, status);
    }
    return mca_pml_fastpath_finish_request(request, status);
}

/* Wait, for some rounds each. @return whether all of them have come to an end that can be handed out here */
static inline __opal_attribute_always_inline__ bool await_simple(size_t count, ompi_request_t **requests)
{
    bool simple = true;

    for (size_t i = 0; i < count; ++i) {
        mca_pml_fastpath_request_kind_t kind = mca_pml_fastpath_request_kind_of(requests[i]);

        if (MCA_PML_FASTPATH_REQUEST_PENDING == kind) {
            if (!await(requests[i], i + 1 < count
                                        && MCA_PML_FASTPATH_REQUEST_PENDING
                                               == mca_pml_fastpath_request_kind_of(requests[i + 1]))) {
                return false;
            }
            kind = mca_pml_fastpath_request_kind_of(requests[i]);
        }
        if (mca_pml_fastpath_ended_in_error(requests[i], kind)) {
            return false;
        }
        if (OPAL_UNLIKELY(MCA_PML_FASTPATH_REQUEST_OTHER == kind)) {
            simple = false;
        }
    }
    return simple;
}

static bool any_failed(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        if (mca_pml_fastpath_ended_in_error(requests[i], mca_pml_fastpath_request_kind_of(requests[i]))) {
            return true;
        }
    }
    return false;
}

/*
 * The end of MPI_Waitall when a request has failed: the others need not be complete (MPI-3.1, section 3.7.5).
 * Each that is has its end by itself. Open MPI's function for all of them has ways of its own to this that
 * are not used here: that of 4.1 waits for ever with threads if one has failed before it is called, and
 * overlooks the error of a persistent one.
 */
static __opal_attribute_noinline__ int finish_failed(size_t count, ompi_request_t **requests,
                                                     ompi_status_public_t *statuses)
{
    for (size_t i = 0; i < count; ++i) {
        ompi_status_public_t status = ompi_status_empty;
        const mca_pml_fastpath_request_kind_t kind = mca_pml_fastpath_request_kind_of(requests[i]);

        if (MCA_PML_FASTPATH_REQUEST_PENDING == kind) {
            status.MPI_ERROR = MPI_ERR_PENDING;
        } else if (MCA_PML_FASTPATH_REQUEST_EMPTY != kind) {
            status.MPI_ERROR = mca_pml_fastpath_original_requests.req_wait(&requests[i], &status);
        }
        if (MPI_STATUSES_IGNORE != statuses) {
            OMPI_COPY_STATUS(&statuses[i], status, true);
        }
    }
    return MPI_ERR_IN_STATUS;
}

/* What MPI_Waitall waits for. @return whether all of them are simple */
static inline __opal_attribute_always_inline__ bool await_all(size_t count, ompi_request_t **requests)
{
    bool simple;

    begin_wait();
    simple = await_simple(count, requests);
    if (OPAL_UNLIKELY(!simple)) {
        await_long(count, requests, true);
    }
    mca_pml_fastpath_awaited_end_recv();
    return simple;
}

/* The end of MPI_Waitall. From here on nothing progresses: a request that is reported as pending must not
 * fail before the call returns, or Open MPI would give it back as one whose error has been reported. */
static inline __opal_attribute_always_inline__ int end_all(size_t count, ompi_request_t **requests,
                                                           ompi_status_public_t *statuses, bool simple)
{
    if (OPAL_LIKELY(simple)) {
        return mca_pml_fastpath_finish_all(count, requests, statuses);
    }
    return any_failed(count, requests)
               ? finish_failed(count, requests, statuses)
               : mca_pml_fastpath_original_requests.req_wait_all(count, requests, statuses);
}

/* Receivers of large messages see that we wait. */
static __opal_attribute_noinline__ int wait_all_awaited(size_t count, ompi_request_t **requests,
                                                        ompi_status_public_t *statuses)
{
    const mca_pml_fastpath_awaited_t other = mca_pml_fastpath_awaited_begin(count, requests);
    const bool simple = await_all(count, requests);

    mca_pml_fastpath_awaited_end(other); /* which may progress */
    return end_all(count, requests, statuses, simple);
}

static int wait_all(size_t count, ompi_request_t **requests, ompi_status_public_t *statuses)
{
    if (OPAL_UNLIKELY(mca_pml_fastpath.offered) && !opal_using_threads()) {
        return wait_all_awaited(count, requests, statuses);
    }
    return end_all(count, requests, statuses, await_all(count, requests));
}

/* What MPI_Waitany and MPI_Waitsome wait for. @return as await_any() */
static size_t await_one_of(size_t count, ompi_request_t **requests, mca_pml_fastpath_request_kind_t *kind)
{
    size_t at;

    begin_wait();
    at = await_any(count, requests, kind);
    if (OPAL_UNLIKELY(at == count || MCA_PML_FASTPATH_REQUEST_SIMPLE != *kind)) {
        await_long(count, requests, false);
    }
    mca_pml_fastpath_awaited_end_recv();
    return at;
}

static int wait_any(size_t count, ompi_request_t **requests, int *index, ompi_status_public_t *status)
{
    mca_pml_fastpath_request_kind_t kind = MCA_PML_FASTPATH_REQUEST_EMPTY;
    size_t at;

    at = await_one_of(count, requests, &kind);
    if (at == count || MCA_PML_FASTPATH_REQUEST_SIMPLE != kind) {
        return mca_pml_fastpath_original_requests.req_wait_any(count, requests, index, status);
    }
    *index = (int) at;
    return mca_pml_fastpath_finish_request(&requests[at], status);
}

static int wait_some(size_t count, ompi_request_t **requests, int *outcount, int *indices,
                     ompi_status_public_t *statuses)
{
    mca_pml_fastpath_request_kind_t kind = MCA_PML_FASTPATH_REQUEST_EMPTY;
    int rc;

    if (count > await_one_of(count, requests, &kind)
        && mca_pml_fastpath_finish_some(count, requests, outcount, indices, statuses, &rc)) {
        return rc;
    }
    return mca_pml_fastpath_original_requests.req_wait_some(count, requests, outcount, indices, statuses);
}

void mca_pml_fastpath_waits_install(void)
{
    if (NULL == mca_pml_fastpath.fastsm || !fastpath_waits_replaceable()) {
        return;
    }
    mca_pml_fastpath_original_requests = ompi_request_functions;
    ompi_request_functions = (ompi_request_fns_t){.req_test = mca_pml_fastpath_test_one,
                                                  .req_test_any = mca_pml_fastpath_test_any,
                                                  .req_test_all = mca_pml_fastpath_test_all,
                                                  .req_test_some = mca_pml_fastpath_test_some,
                                                  .req_wait = wait_one,
                                                  .req_wait_any = wait_any,
                                                  .req_wait_all = wait_all,
                                                  .req_wait_some = wait_some};
    mca_pml_fastpath.waits_installed = true;
    mca_pml_fastpath_threads_init();
}

void mca_pml_fastpath_waits_remove(void)
{
    if (mca_pml_fastpath.waits_installed) {
        ompi_request_functions = mca_pml_fastpath_original_requests;
        mca_pml_fastpath.waits_installed = false;
        mca_pml_fastpath_threads_fini();
    }
}
