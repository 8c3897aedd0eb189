/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Calls of MPI that complete without waiting, and what has to go on meanwhile. docs/data-path.md, "Progress
 * without waiting".
 *
 * Who waits calls opal_progress, which moves everything that others need of this process. A program whose
 * messages are always there already never waits. So every call that may complete without waiting counts down
 * here, and every so many calls the clock is read: if opal_progress has not been called for too long, it is
 * now. How many calls that are depends on how fast they follow each other, so that a stream of messages
 * hardly ever pays for the clock, and a program that computes between two calls is looked at each time.
 *
 * Functions of the PML that do not wait by nature (MPI_Isend, MPI_Irecv, MPI_Start) do not call
 * opal_progress: Open MPI calls them from within it, with locks held. Whoever waits for their requests
 * counts.
 */
#ifndef MCA_PML_FASTPATH_PACE_H
#define MCA_PML_FASTPATH_PACE_H

#include "opal/mca/common/fastpath/common_fastpath_clock.h"

#include "pml_fastpath.h"

/**
 * What is known of opal_progress. With several threads some calls may be missed: plain numbers are changed.
 * Sends count on a cache line of their own then, as threads that send and threads that receive do not share
 * one (mca_pml_fastpath_counters).
 */
typedef struct {
    int left;         /**< counts until the clock is read */
    int period;       /**< counts from one look at the clock to the next */
    int looks;        /**< looks until opal_progress is called in any case */
    bool is_fast;     /**< before the last look at it calls took no longer than `slow` on the average, and
                       * together no longer than `most` */
    bool noted;       /**< opal_progress has been called since the clock was read */
    bool making_up;   /**< it is being called from here */
    size_t may_keep;  /**< bytes that still may go into the queues with messages that nobody has asked for,
                       * unless all have to; SIZE_MAX but for progress that is made up for */
    uint64_t looked;  /**< ticks: the last look at the clock */
    uint64_t noticed; /**< ticks: a moment since which opal_progress has been called for the last time */
    uint64_t called;  /**< ticks: when that was, known with one thread only */
    uint64_t most;    /**< ticks that may pass without it */
    uint64_t slow;    /**< ticks from one look to the next that are so many that the next call looks, too */
    mca_common_fastpath_clock_t clock;
    _Alignas(64) int sends_left; /**< left, for the sends of a job with threads */
} mca_pml_fastpath_pace_t;

extern mca_pml_fastpath_pace_t mca_pml_fastpath_pace __opal_attribute_visibility__("hidden");

/** Begin. Nothing is known of the clock yet, so the first calls let everything progress each time. */
void mca_pml_fastpath_pace_start(void);

/**
 * Read the clock, and call opal_progress if that is due. There is something to do for who calls this, so the
 * core is not given away even where others want it.
 *
 * @return OMPI_SUCCESS, so that it may be the last thing that a function does
 */
int mca_pml_fastpath_pace_check(void);

/**
 * Count a call that must not let anything progress itself, and read the clock if it is time for that.
 *
 * @return whether opal_progress has not been called for too long; then whoever waits for the request has to
 */
bool mca_pml_fastpath_pace_is_due(void);

/** opal_progress has been called. @param threads  there may be several */
static inline void mca_pml_fastpath_pace_note(bool threads)
{
    if (!threads) {
        mca_pml_fastpath_pace.called = mca_common_fastpath_ticks();
    }
    if (!mca_pml_fastpath_pace.noted) { /* who waits need not take the line from who does not */
        mca_pml_fastpath_pace.noted = true;
    }
}

/**
 * What a call counts that may have to wait. It is more than what a send counts, 1. A look at the clock then
 * comes at the begin of a call that may wait, and not at the end of a send, where both come by turns: the
 * period less 1, 31, is not a multiple of their sum.
 */
#define MCA_PML_FASTPATH_PACE_WAIT 2

/** A call begins that may have to wait. @return whether it is time to look at the clock */
static inline bool mca_pml_fastpath_pace_count(void)
{
    mca_pml_fastpath_pace.left -= MCA_PML_FASTPATH_PACE_WAIT;
    return OPAL_UNLIKELY(0 > mca_pml_fastpath_pace.left);
}

/**
 * A call begins that may have to wait, and progress does it no harm: a probe, a wait, a test. If it has to
 * wait, reading the clock costs nothing.
 */
static inline void mca_pml_fastpath_pace_wait(void)
{
    if (mca_pml_fastpath_pace_count()) {
        (void) mca_pml_fastpath_pace_check();
    }
}

/**
 * Look at the clock at the begin of a call after which opal_progress is called if it is due then.
 *
 * @return whether opal_progress is due, for mca_pml_fastpath_pace_end()
 */
bool mca_pml_fastpath_pace_begin(void);

/** That call has ended: call opal_progress if it is due, and the call has not done so. */
void mca_pml_fastpath_pace_end(bool due);

/**
 * A send has left, and its call ends.
 *
 * @return OMPI_SUCCESS
 */
static inline int mca_pml_fastpath_pace_sent(bool threads)
{
    int *left = threads ? &mca_pml_fastpath_pace.sends_left : &mca_pml_fastpath_pace.left;

    return OPAL_LIKELY(0 <= --*left) ? OMPI_SUCCESS : mca_pml_fastpath_pace_check();
}

/**
 * Whether progress leaves nothing where it has arrived, because the caller looks into the queues next, or for
 * what messages bring. Without threads; with them nothing is left in any case.
 *
 * @return what it was before, for the caller to restore
 */
static inline bool mca_pml_fastpath_take_all(bool all)
{
    const bool before = mca_pml_fastpath.takes_all;

    if (!opal_using_threads()) {
        mca_pml_fastpath.takes_all = all;
    }
    return before;
}

#endif /* MCA_PML_FASTPATH_PACE_H */
