/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Long puts and gets that the kernel copies, which a target that is inside MPI takes part in.
 *
 * The origin copies from the front in short pieces. From the end it leaves one longer piece after the other
 * in the target's second mailbox (member.help), and looks for the answer between its own. What has no answer
 * when all else is done is taken back and copied here, so a target that computes costs nothing but that.
 */
#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_process.h"

#include "osc_fastpath_long.h"
#include "osc_fastpath_mail.h"
#include "osc_fastpath_wake.h"

/** bytes of the origin's pieces */
#define OWN_PIECE ((size_t) 64 << 10)
/** bytes of the target's, at most; what the origin waits for at the end, at most, takes some 10 us */
#define HELPED_PIECE ((size_t) 128 << 10)

/* What is left of a put or get, and what the target has of it. */
typedef struct {
    mca_osc_fastpath_peer_t *peer;
    bool put;
    char *here;
    uintptr_t there;
    size_t front, end; /**< bytes between that nobody has begun with */
    size_t helped;     /**< bytes behind end that the target has been asked for */
    bool willing;      /**< it has not refused */
    bool was_helped;   /**< it has copied something */
} copy_t;

/* The next bytes from `at` on. */
static bool copy_here(const copy_t *copy, size_t at, size_t length)
{
    return mca_common_fastpath_process_copy(copy->peer->pid, copy->put, copy->here + at, copy->there + at,
                                            length);
}

/* Ask for a piece at the end. */
static void ask_for_piece(copy_t *copy)
{
    mca_osc_fastpath_mailbox_t *mailbox = &copy->peer->member->help;
    const size_t half = (copy->end - copy->front) / 2;
    const size_t length = HELPED_PIECE < half ? HELPED_PIECE : half;
    mca_osc_fastpath_help_t help;

    if (OWN_PIECE > length) {
        return; /* not worth it */
    }
    copy->helped = length;
    copy->end -= length;
    help.address = (uintptr_t) copy->here + copy->end;
    help.length = (uint32_t) length;
    help.rank = (uint32_t) copy->peer->module->rank;
    mailbox->posted.at = copy->there + copy->end - (uintptr_t) copy->peer->base;
    mailbox->posted.op = copy->put ? MCA_OSC_FASTPATH_MAILBOX_HELP_PUT : MCA_OSC_FASTPATH_MAILBOX_HELP_GET;
    memcpy(mailbox->posted.data, &help, sizeof(help));
    mca_osc_fastpath_mailbox_post(mailbox);
    mca_osc_fastpath_wake(copy->peer);
}

/* The target has answered, or it is taken back. @return false: the copy has failed */
static bool take_answer(copy_t *copy, uint32_t answer)
{
    const size_t length = copy->helped;

    copy->helped = 0;
    if (MCA_OSC_FASTPATH_MAILBOX_DONE == answer) {
        copy->peer->help.pause = 0;
        copy->was_helped = true;
        mca_osc_fastpath_count(MCA_OSC_FASTPATH_HELPED);
        return true;
    }
    copy->willing = false;
    return copy_here(copy, copy->end, length);
}

/* The target has a piece, and nothing else is left. */
static bool end_help(copy_t *copy)
{
    mca_osc_fastpath_mailbox_t *mailbox = &copy->peer->member->help;

    return take_answer(copy, mca_osc_fastpath_mailbox_withdraw(mailbox)
                                 ? MCA_OSC_FASTPATH_MAILBOX_IDLE
                                 : mca_osc_fastpath_await_answer(copy->peer, mailbox));
}

bool mca_osc_fastpath_copy_long(mca_osc_fastpath_peer_t *peer, bool put, void *here, uintptr_t there,
                                size_t length)
{
    mca_osc_fastpath_mailbox_t *mailbox = &peer->member->help;
    copy_t copy = {
        .peer = peer, .put = put, .here = (char *) here, .there = there, .end = length, .willing = true};
    bool good = true;

    if (!mca_osc_fastpath_is_tried(&peer->help)
        || !mca_osc_fastpath_trylock_word(&peer->member->helping, peer->module->rank)) {
        return copy_here(&copy, 0, length);
    }
    while (copy.front < copy.end && good) {
        size_t own;

        if (0 == copy.helped && copy.willing) {
            ask_for_piece(&copy);
        }
        own = copy.end - copy.front < OWN_PIECE ? copy.end - copy.front : OWN_PIECE;
        good = copy_here(&copy, copy.front, own);
        copy.front += own;
        if (0 < copy.helped) {
            const uint32_t answer = mca_osc_fastpath_mailbox_answer(mailbox);

            if (MCA_OSC_FASTPATH_MAILBOX_DONE == answer || MCA_OSC_FASTPATH_MAILBOX_REFUSED == answer) {
                good = take_answer(&copy, answer) && good;
            }
        }
    }
    if (0 < copy.helped) {
        good = end_help(&copy) && good;
    }
    if (!copy.was_helped) {
        mca_osc_fastpath_no_answer(&peer->help);
    }
    mca_osc_fastpath_unlock_word(&peer->member->helping);
    return good;
}
