/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_clock.h"

#include "pml_fastpath_awaited.h"

/** names that are said at a time */
#define MOST 8u
/** nanoseconds in which nothing moves after which a call does not wait any more for what is under way: the
 * other process may have left MPI. Calls are not counted, because progress that yields may take a time slice
 */
#define STREAM_TIME UINT64_C(500000000)

/** messages after which a measurement ends though there are others under way */
#define MEASURED_MAX 64u
/** measurements of an exchange that follow each other one way. Where one side decides for both, messages may
 * still go the other way during the first one, which counts nothing */
#define TURN_EXCHANGED 3u
/** messages that tell the way, one after the other, while none of the other side's is asked for */
#define TOLD_MAX 64u

/* The call that waits. */
static mca_pml_fastpath_awaited_t awaited;
/* The sends whose names are said, by their places, and how many there are. */
static mca_pml_fastpath_send_request_t *named[MOST];
static uint32_t said;
/* Messages that the other side counts on us for: those that we have asked to be streamed, and our own that
 * have been claimed and whose names are not said any more. Of those that have begun in this epoch: where
 * nothing comes or leaves, none of them is waited for any more, and another epoch begins. */
static uint32_t under_way, epoch;

/* One more. @return the epoch, not 0 */
static uint32_t one_under_way(void)
{
    ++under_way;
    mca_pml_fastpath.unfinished = true;
    return epoch;
}

/* A message is complete. @param began  in which epoch, if it is one of them, else 0; becomes 0 */
static void one_less(uint32_t *began)
{
    if (0 != *began) {
        under_way -= epoch == *began ? 1 : 0;
        *began = 0;
        ++mca_pml_fastpath.pieces_moved;
    }
}

static void next_epoch(void)
{
    under_way = 0;
    epoch = UINT32_MAX == epoch ? 1 : epoch + 1;
}

static inline mca_pml_fastpath_send_request_t *offer_of(opal_list_item_t *item)
{
    return (mca_pml_fastpath_send_request_t *) ((char *) item
                                                - offsetof(mca_pml_fastpath_send_request_t, req_offer));
}

void mca_pml_fastpath_awaited_init(void)
{
    OBJ_CONSTRUCT(&mca_pml_fastpath.offers, opal_list_t);
    memset(named, 0, sizeof(named));
    said = under_way = 0;
    epoch = 1;
}

void mca_pml_fastpath_awaited_fini(void)
{
    OBJ_DESTRUCT(&mca_pml_fastpath.offers);
}

/* Whether its receiver may still leave a part of this send, which is one of the offers, to us. */
static bool may_be_claimed(const mca_pml_fastpath_send_request_t *req)
{
    return MCA_PML_FASTPATH_SEND_ORDINARY == req->req_state && req->req_offered && req->req_unanswered
           && !req->req_helped && !mca_pml_fastpath_has_failed(&req->req_watch);
}

/* A name is said no more. One that nobody has claimed is as if it had not been. */
static void take_back(uint32_t place)
{
    mca_pml_fastpath_send_request_t *req = named[place];

    named[place] = NULL;
    --said;
    req->req_named = mca_pml_fastpath.fastsm_ext->await_end(mca_pml_fastpath.fastsm, place, req->req_handle);
    if (req->req_named) {
        req->req_claimed = one_under_way();
    }
}

/* @return a place without a name; MOST if there is none */
static uint32_t free_place(void)
{
    const uint32_t places =
        MOST < mca_pml_fastpath.fastsm_ext->await_max ? MOST : mca_pml_fastpath.fastsm_ext->await_max;
    uint32_t place = 0;

    while (place < places && NULL != named[place]) {
        ++place;
    }
    return place < places ? place : MOST;
}

/* Say the names of sends that are offered, the oldest ones first, if the call that waits says so, and no
 * others. One counts as named before its name can be seen. @return whether there are such sends */
static bool say_offers(void)
{
    opal_list_item_t *item;
    bool found = false;

    for (uint32_t place = 0; 0 < said && place < MOST; ++place) {
        if (NULL != named[place] && !(awaited.says && may_be_claimed(named[place]))) {
            take_back(place);
        }
    }
    OPAL_LIST_FOREACH(item, &mca_pml_fastpath.offers, opal_list_item_t)
    {
        mca_pml_fastpath_send_request_t *req = offer_of(item);
        uint32_t place;

        if (!may_be_claimed(req)) {
            continue;
        }
        found = true;
        if (req->req_named) {
            continue;
        }
        place = awaited.says ? free_place() : MOST;
        if (MOST == place) {
            break;
        }
        req->req_named = true;
        named[place] = req;
        ++said;
        mca_pml_fastpath.unfinished = true;
        mca_pml_fastpath.fastsm_ext->await(mca_pml_fastpath.fastsm, place, req->req_handle);
    }
    return found;
}

void mca_pml_fastpath_awaited_offer(mca_pml_fastpath_send_request_t *req)
{
    if (!req->req_listed) {
        req->req_listed = true;
        opal_list_append(&mca_pml_fastpath.offers, &req->req_offer);
        mca_pml_fastpath.offered = true;
        ++req->req_peer->offers;
    }
    if (awaited.says) {
        (void) say_offers();
    } else if (atomic_load_explicit(&mca_pml_fastpath.waits, memory_order_relaxed)) {
        mca_pml_fastpath_awaited_begin_offers(); /* by what progresses in a wait for a receive */
    }
}

void mca_pml_fastpath_awaited_forget(mca_pml_fastpath_send_request_t *req)
{
    for (uint32_t place = 0; req->req_named && place < MOST; ++place) {
        if (req == named[place]) {
            take_back(place);
        }
    }
    one_less(&req->req_claimed);
    --req->req_peer->offers;
    req->req_listed = false;
    opal_list_remove_item(&mca_pml_fastpath.offers, &req->req_offer);
    mca_pml_fastpath.offered = !opal_list_is_empty(&mca_pml_fastpath.offers);
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

/* A call begins to wait. */
static void begin_call(bool says)
{
    awaited = (mca_pml_fastpath_awaited_t){.waits = true, .says = says};
    awaited.sends = say_offers();
}

mca_pml_fastpath_awaited_t mca_pml_fastpath_awaited_begin(size_t count, ompi_request_t **requests)
{
    const mca_pml_fastpath_awaited_t other = awaited;

    /* where processes share cores, who has something to read had better read that, and leave its core */
    begin_call(OPAL_LIKELY(!opal_progress_yield_when_idle) || !are_receives_among(count, requests));
    return other;
}

mca_pml_fastpath_awaited_t mca_pml_fastpath_awaited_begin_send(void)
{
    const mca_pml_fastpath_awaited_t other = awaited;

    begin_call(OPAL_LIKELY(!opal_progress_yield_when_idle));
    awaited.sends = true;
    return other;
}

void mca_pml_fastpath_awaited_begin_offers(void)
{
    if (!awaited.waits && !opal_progress_yield_when_idle && !opal_using_threads()) {
        begin_call(true);
        awaited.receives = true;
        mca_pml_fastpath.unfinished = true; /* its end is more than the end of what it has said */
    }
}

/* Of what is under way, and is asked for next. */
static inline bool is_streamed(const mca_pml_fastpath_asked_t *asked)
{
    return MCA_PML_FASTPATH_ASKED_STREAM == asked->way;
}

/* The way of what is asked for next: where a turn is over, one is chosen. */
static void asked_begin_turn(mca_pml_fastpath_asked_t *asked, mca_pml_fastpath_asked_kind_t kind)
{
    const bool one_way = MCA_PML_FASTPATH_ASKED_ONE_WAY == kind;

    if (0 == asked->left) {
        asked->way = mca_common_fastpath_ways_choose(&asked->ways, MCA_PML_FASTPATH_ASKED_WAYS);
        asked->left = one_way ? 1 : TURN_EXCHANGED;
        asked->counts = one_way;
    }
}

/* The sender decides. */
static void asked_follow(mca_pml_fastpath_asked_t *asked, uint8_t told)
{
    asked->way = 0 != (MCA_PML_FASTPATH_HDR_FLAG_STREAM & told) ? MCA_PML_FASTPATH_ASKED_STREAM
                                                                : MCA_PML_FASTPATH_ASKED_KERNEL;
    asked->counts = false;
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
        asked_begin_turn(asked, kind);
        asked_measure(asked, mca_common_fastpath_ticks());
    }
    if (MCA_PML_FASTPATH_ASKED_ONE_WAY != kind && 0 != req->req_told) {
        asked_follow(asked, req->req_told);
    }
    asked->told = 0;
    req->req_asked = asked;
    req->req_asked_bytes = bytes;
    req->req_streamed = is_streamed(asked) ? one_under_way() : 0;
    return is_streamed(asked);
}

uint8_t mca_pml_fastpath_awaited_tell(mca_pml_fastpath_peer_t *peer, mca_pml_fastpath_asked_kind_t kind)
{
    mca_pml_fastpath_asked_t *asked = &peer->asked[kind];

    if (!peer->decides || 0 == asked->left || TOLD_MAX <= asked->told || opal_using_threads()) {
        return 0;
    }
    ++asked->told;
    return is_streamed(asked) ? MCA_PML_FASTPATH_HDR_FLAG_STREAM : MCA_PML_FASTPATH_HDR_FLAG_KERNEL;
}

void mca_pml_fastpath_awaited_come(mca_pml_fastpath_recv_request_t *req, bool whole)
{
    mca_pml_fastpath_asked_t *asked = req->req_asked;

    if (OPAL_LIKELY(NULL == asked)) {
        return;
    }
    req->req_asked = NULL;
    one_less(&req->req_streamed);
    --asked->under_way;
    if (!whole) {
        return;
    }
    asked->bytes += req->req_asked_bytes;
    if (MEASURED_MAX == ++asked->come || 0 == asked->under_way) {
        const uint64_t now = mca_common_fastpath_ticks();

        if (asked->counts) {
            mca_common_fastpath_ways_note(&asked->ways, asked->way, asked->bytes, now - asked->began);
        }
        asked->counts = true;
        if (0 == asked->under_way) {
            --asked->left;
            asked_begin_turn(asked, (mca_pml_fastpath_asked_kind_t) (asked - req->req_peer->asked));
        } else if (1 < asked->left) { /* the others come the same way: the last one waits for them */
            --asked->left;
        }
        asked_measure(asked, now);
    }
}

/* Before a call returns, what is under way comes, or leaves. Meanwhile nothing else is asked to be streamed.
 */
static void await_under_way(void)
{
    const bool sends = awaited.sends;
    uint64_t now = mca_common_fastpath_nanoseconds(), last = now;
    unsigned long moved = mca_pml_fastpath.pieces_moved;

    awaited.sends = false;
    while (0 < under_way && now - last < STREAM_TIME) {
        opal_progress();
        now = mca_common_fastpath_nanoseconds();
        if (mca_pml_fastpath.pieces_moved != moved) {
            moved = mca_pml_fastpath.pieces_moved;
            last = now;
        }
    }
    if (0 < under_way) {
        next_epoch();
    }
    awaited.sends = sends;
    mca_pml_fastpath.unfinished = awaited.receives || 0 < said;
}

void mca_pml_fastpath_awaited_finish(void)
{
    if (awaited.receives) {
        awaited = (mca_pml_fastpath_awaited_t){.waits = false};
        (void) say_offers();
    }
    await_under_way();
}

void mca_pml_fastpath_awaited_end(mca_pml_fastpath_awaited_t other)
{
    awaited = other;
    mca_pml_fastpath.unfinished |= other.receives;
    (void) say_offers();
    if (OPAL_UNLIKELY(0 < under_way)) {
        await_under_way();
    }
}

bool mca_pml_fastpath_awaited_sends(void)
{
    return awaited.sends;
}

void mca_pml_fastpath_awaited_answered(const mca_pml_fastpath_send_request_t *req)
{
    if (req->req_named) {
        (void) say_offers();
    }
}
