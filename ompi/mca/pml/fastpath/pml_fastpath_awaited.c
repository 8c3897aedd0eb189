/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_clock.h"

#include "pml_fastpath_awaited.h"
#include "pml_fastpath_handle.h"

/** names that are said at a time */
#define MOST 8u
/** nanoseconds without a fragment after which streams are not waited for any more: their senders may have
 * left MPI. Calls are not counted, because progress that yields may take a time slice */
#define STREAM_TIME UINT64_C(50000000)

/** messages after which a measurement ends though there are others under way */
#define MEASURED_MAX 64u

/* The call that waits, and how many names it has said. */
static mca_pml_fastpath_awaited_t awaited;
static uint32_t said;
/* So many of the streams are not waited for any more: nothing came. */
static uint32_t given_up;

/* Whether the receiver may still ask for help with this send. One that is complete for its user is not: a
 * buffered one, or one that has failed. */
static bool may_be_helped(const ompi_request_t *request)
{
    const mca_pml_fastpath_send_request_t *req = (const mca_pml_fastpath_send_request_t *) request;

    return mca_pml_fastpath_send_request_free == request->req_free
           && OMPI_REQUEST_ACTIVE == request->req_state && !REQUEST_COMPLETE(request)
           && MCA_PML_FASTPATH_SEND_ORDINARY == req->req_state && NULL != req->req_peer->ext
           && MCA_PML_FASTPATH_HANDLE_NONE != req->req_handle && req->req_offered && req->req_unanswered
           && !req->req_helped;
}

/* Publish the names of the sends that are waited for, if `awaited.says`. A send counts as waited for before
 * its name can be seen. @return how many there are, at most MOST */
static uint32_t say_awaited(void)
{
    const uint32_t most =
        MOST < mca_pml_fastpath.fastsm_ext->await_max ? MOST : mca_pml_fastpath.fastsm_ext->await_max;
    uint64_t names[MOST];
    uint32_t found = 0, names_said;

    while (awaited.first < awaited.count && REQUEST_COMPLETE(awaited.requests[awaited.first])) {
        ++awaited.first;
    }
    for (size_t i = awaited.first; i < awaited.count && found < most; ++i) {
        if (may_be_helped(awaited.requests[i])) {
            mca_pml_fastpath_send_request_t *req = (mca_pml_fastpath_send_request_t *) awaited.requests[i];

            req->req_waits = req->req_waits || awaited.says;
            names[found++] = req->req_handle;
        }
    }
    names_said = awaited.says ? found : 0;
    if (0 < names_said || 0 < said) {
        mca_pml_fastpath.fastsm_ext->await(mca_pml_fastpath.fastsm, names, names_said);
    }
    said = names_said;
    return found;
}

/* Completed requests count, too: leaving them out was measured and is not faster. */
static bool are_receives_among(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        if (mca_pml_fastpath_recv_request_free == requests[i]->req_free) {
            return true;
        }
    }
    return false;
}

mca_pml_fastpath_awaited_t mca_pml_fastpath_awaited_begin(size_t count, ompi_request_t **requests)
{
    const mca_pml_fastpath_awaited_t other = awaited;

    awaited = (mca_pml_fastpath_awaited_t){.requests = requests, .count = count};
    /* where processes share cores, who has something to read had better read that, and leave its core */
    awaited.says = OPAL_LIKELY(!opal_progress_yield_when_idle) || !are_receives_among(count, requests);
    awaited.sends = 0 < say_awaited();
    mca_pml_fastpath.offered = mca_pml_fastpath.offered && !awaited.sends; /* others are seldom left */
    return other;
}

mca_pml_fastpath_awaited_t mca_pml_fastpath_awaited_begin_send(void)
{
    const mca_pml_fastpath_awaited_t other = awaited;

    awaited = (mca_pml_fastpath_awaited_t){.sends = true};
    return other;
}

/* Of all that are under way: their way does not change before they have come. */
static inline bool is_streamed(const mca_pml_fastpath_asked_t *asked)
{
    return MCA_PML_FASTPATH_ASKED_STREAM == asked->way;
}

/* What comes is measured from now on. */
static void asked_measure(mca_pml_fastpath_asked_t *asked, uint64_t now)
{
    asked->come = 0;
    asked->bytes = 0;
    asked->began = now;
}

bool mca_pml_fastpath_awaited_ask(mca_pml_fastpath_recv_request_t *req, mca_pml_fastpath_asked_kind_t kind,
                                  size_t bytes)
{
    mca_pml_fastpath_asked_t *asked = &req->req_peer->asked[kind];

    if (0 == asked->under_way++) {
        asked->way = mca_common_fastpath_ways_choose(&asked->ways);
        asked_measure(asked, mca_common_fastpath_ticks());
    }
    req->req_asked = asked;
    req->req_asked_bytes = bytes;
    mca_pml_fastpath.streams += is_streamed(asked) ? 1 : 0;
    return is_streamed(asked);
}

void mca_pml_fastpath_awaited_come(mca_pml_fastpath_recv_request_t *req, bool whole)
{
    mca_pml_fastpath_asked_t *asked = req->req_asked;

    if (OPAL_LIKELY(NULL == asked)) {
        return;
    }
    req->req_asked = NULL;
    mca_pml_fastpath.streams -= is_streamed(asked) ? 1 : 0;
    given_up = given_up < mca_pml_fastpath.streams ? given_up : mca_pml_fastpath.streams;
    --asked->under_way;
    if (!whole) {
        return;
    }
    asked->bytes += req->req_asked_bytes;
    if (MEASURED_MAX == ++asked->come || 0 == asked->under_way) {
        const uint64_t now = mca_common_fastpath_ticks();

        mca_common_fastpath_ways_note(&asked->ways, asked->way, asked->bytes, now - asked->began);
        asked_measure(asked, now); /* the others under way come the same way */
    }
}

/* What we have asked for comes, as long as its senders wait. Meanwhile nothing else is asked to be streamed.
 */
void mca_pml_fastpath_awaited_streams(void)
{
    const bool sends = awaited.sends;
    uint64_t now = mca_common_fastpath_nanoseconds(), last = now;
    unsigned long frags = mca_pml_fastpath.stream_frags;

    awaited.sends = false;
    while (given_up < mca_pml_fastpath.streams && now - last < STREAM_TIME) {
        opal_progress();
        now = mca_common_fastpath_nanoseconds();
        if (mca_pml_fastpath.stream_frags != frags) {
            frags = mca_pml_fastpath.stream_frags;
            last = now;
        }
    }
    given_up = mca_pml_fastpath.streams;
    awaited.sends = sends;
}

void mca_pml_fastpath_awaited_end(mca_pml_fastpath_awaited_t other)
{
    awaited = other;
    (void) say_awaited();
    if (OPAL_UNLIKELY(0 < mca_pml_fastpath.streams)) {
        mca_pml_fastpath_awaited_streams();
    }
}

bool mca_pml_fastpath_awaited_sends(void)
{
    return awaited.sends;
}

void mca_pml_fastpath_awaited_answered(const mca_pml_fastpath_send_request_t *req)
{
    if (0 < awaited.count && req->req_waits) {
        (void) say_awaited();
    }
}
