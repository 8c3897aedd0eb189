/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The mailbox of a member's block in which others of the node leave small operations on its memory.
 *
 * Where the kernel copies, a put or get costs one of its calls, an update two. A target that is inside MPI
 * can make it sooner than that, one that computes cannot at all. So an origin leaves the operation in the
 * mailbox, looks for an answer a bounded number of times, then takes it back and makes it itself. What is
 * said of updates here goes for puts and gets, too. A second mailbox is for pieces of long puts and gets.
 * There member.helping is what the accumulate lock is here, the origin copies other pieces between its looks,
 * and a target that refuses may have copied a part, which the origin then copies again:
 *
 *     origin, in the target's accumulate lock        target, in its progress
 *
 *     IDLE, DONE, REFUSED -> POSTED  (M1)
 *                                                    POSTED -> TAKEN            (M2)
 *                                                    TAKEN -> DONE or REFUSED   (M3)
 *     DONE or REFUSED is seen        (M4)
 *     or: POSTED -> IDLE             (M5)
 *
 * - M2 and M5 are compare-and-swaps of one word: one of them succeeds, so an update is made once, by the
 *   target or by the origin. When M5 fails the target has the update and is some instructions from M3.
 * - The contents are written by the origin while the state is IDLE, DONE or REFUSED, and by the target while
 *   it is TAKEN. In these states the other one does not touch them: there is one origin at a time, because
 *   it has the accumulate lock, and of several threads of a target one succeeds in M2.
 * - M1 releases, M2 acquires: the target sees the contents, and all that the origin has seen of the target's
 *   memory by taking the accumulate lock, that is all updates before this one.
 * - M3 releases, M4 acquires: the origin sees the result, and whoever takes the accumulate lock after it sees
 *   the update. Where M5 fails, M4 follows.
 * - M5 needs no order: it publishes nothing, and an update that has been taken back has touched nothing.
 * - Threads of the target that load POSTED too late, when the update has been taken back and another one
 *   posted, take that one by M2, which is as good: they have read no contents before M2.
 *
 * test/model/mailbox.pml models it, helping.pml the second mailbox. This header needs nothing but atomics, so that tests can build it alone.
 */
#ifndef MCA_OSC_FASTPATH_MAILBOX_H
#define MCA_OSC_FASTPATH_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** The longest element that is updated so, and the longest put or get, in bytes. */
#define MCA_OSC_FASTPATH_MAILBOX_BYTES 16

/** Values of mca_osc_fastpath_mailbox_t.state. */
enum {
    MCA_OSC_FASTPATH_MAILBOX_IDLE,    /**< zeroed memory, or taken back */
    MCA_OSC_FASTPATH_MAILBOX_POSTED,  /**< the origin waits for the target */
    MCA_OSC_FASTPATH_MAILBOX_TAKEN,   /**< the target is at it */
    MCA_OSC_FASTPATH_MAILBOX_DONE,    /**< the target has made the update */
    MCA_OSC_FASTPATH_MAILBOX_REFUSED, /**< the target leaves it to the origin, and has updated nothing */
};

/** What is updated how: one element; or bytes that are put or got. */
typedef struct {
    uint64_t at;      /**< bytes from the begin of the target's window; dynamic windows: the address */
    uint16_t element; /**< id of the predefined datatype; put, get: unused */
    uint8_t op;       /**< index of the operation, or MCA_OSC_FASTPATH_MAILBOX_COMPARE, _PUT, _GET */
    uint8_t length;   /**< bytes of the element, or of the put or get */
    /** The origin's value; the target's answer: what was there before, but for a put. */
    _Alignas(16) unsigned char data[MCA_OSC_FASTPATH_MAILBOX_BYTES];
    unsigned char compare[MCA_OSC_FASTPATH_MAILBOX_BYTES]; /**< compare and swap: what to compare with */
} mca_osc_fastpath_posted_t;

/** mca_osc_fastpath_posted_t.op: compare and swap */
#define MCA_OSC_FASTPATH_MAILBOX_COMPARE UINT8_MAX
/** mca_osc_fastpath_posted_t.op: bytes without a datatype into the window, and out of it */
#define MCA_OSC_FASTPATH_MAILBOX_PUT (UINT8_MAX - 1)
#define MCA_OSC_FASTPATH_MAILBOX_GET (UINT8_MAX - 2)
/** mca_osc_fastpath_posted_t.op: bytes from the origin's memory into the window, and out of it; data is a
 * mca_osc_fastpath_help_t */
#define MCA_OSC_FASTPATH_MAILBOX_HELP_PUT (UINT8_MAX - 3)
#define MCA_OSC_FASTPATH_MAILBOX_HELP_GET (UINT8_MAX - 4)

/** A piece of a long put or get that the target is asked to copy. */
typedef struct {
    uint64_t address; /**< in the origin's process */
    uint32_t length;
    uint32_t rank; /**< of the origin */
} mca_osc_fastpath_help_t;

_Static_assert(MCA_OSC_FASTPATH_MAILBOX_BYTES >= sizeof(mca_osc_fastpath_help_t), "in posted.data");

/** A mailbox. Zeroed memory is an idle one. */
typedef struct {
    _Alignas(64) mca_osc_fastpath_posted_t posted;
    _Atomic uint32_t state;
} mca_osc_fastpath_mailbox_t;

_Static_assert(64 == sizeof(mca_osc_fastpath_mailbox_t), "a line");

/** Origin: hand over what has been written into the mailbox. */
static inline void mca_osc_fastpath_mailbox_post(mca_osc_fastpath_mailbox_t *mailbox)
{
    /* M1: release, with M2 */
    atomic_store_explicit(&mailbox->state, MCA_OSC_FASTPATH_MAILBOX_POSTED, memory_order_release);
}

/**
 * Origin: look for an answer.
 *
 * @return MCA_OSC_FASTPATH_MAILBOX_DONE, MCA_OSC_FASTPATH_MAILBOX_REFUSED, or another value: not yet
 */
static inline uint32_t mca_osc_fastpath_mailbox_answer(const mca_osc_fastpath_mailbox_t *mailbox)
{
    /* M4: acquire, with M3 */
    return atomic_load_explicit(&mailbox->state, memory_order_acquire);
}

/** Origin: take the update back. @return whether it could be; else an answer comes, or is there */
static inline bool mca_osc_fastpath_mailbox_withdraw(mca_osc_fastpath_mailbox_t *mailbox)
{
    uint32_t posted = MCA_OSC_FASTPATH_MAILBOX_POSTED;

    /* M5: relaxed, see the head of this file */
    return atomic_compare_exchange_strong_explicit(&mailbox->state, &posted, MCA_OSC_FASTPATH_MAILBOX_IDLE,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/** Target: @return whether there may be something: a hint, for one load. */
static inline bool mca_osc_fastpath_mailbox_rings(const mca_osc_fastpath_mailbox_t *mailbox)
{
    return MCA_OSC_FASTPATH_MAILBOX_POSTED == atomic_load_explicit(&mailbox->state, memory_order_relaxed);
}

/** Target: take what is there. @return whether there is something; it is to be answered without delay */
static inline bool mca_osc_fastpath_mailbox_take(mca_osc_fastpath_mailbox_t *mailbox)
{
    uint32_t posted = MCA_OSC_FASTPATH_MAILBOX_POSTED;

    /* M2: acquire, with M1 */
    return atomic_compare_exchange_strong_explicit(&mailbox->state, &posted, MCA_OSC_FASTPATH_MAILBOX_TAKEN,
                                                   memory_order_acquire, memory_order_relaxed);
}

/** Target: answer. @param done  whether the update has been made */
static inline void mca_osc_fastpath_mailbox_reply(mca_osc_fastpath_mailbox_t *mailbox, bool done)
{
    /* M3: release, with M4 */
    atomic_store_explicit(&mailbox->state,
                          done ? MCA_OSC_FASTPATH_MAILBOX_DONE : MCA_OSC_FASTPATH_MAILBOX_REFUSED,
                          memory_order_release);
}

#endif /* MCA_OSC_FASTPATH_MAILBOX_H */
