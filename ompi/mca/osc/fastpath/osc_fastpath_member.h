/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What one member of a window keeps for those who access it: its target lock, its accumulate lock and the
 * flags of active target epochs.
 *
 * Where members of one node share memory, the blocks of all of them lie side by side in it and each of them
 * works on the words itself. Otherwise a member's block is on its heap, and its message handlers work on it
 * for the others. The words obey the same rules in both cases, so that both kinds of access to one window
 * exclude each other.
 *
 * This header needs nothing but atomics, so that tests can build it alone.
 */
#ifndef MCA_OSC_FASTPATH_MEMBER_H
#define MCA_OSC_FASTPATH_MEMBER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "osc_fastpath_mailbox.h"

/** Bytes that processors exchange at once; words of different use are that far apart. */
#define MCA_OSC_FASTPATH_LINE 64

/** Members of a node that can say that they sleep while they wait for a lock: those with indices below. */
#define MCA_OSC_FASTPATH_SLEEPERS 384

/** In mca_osc_fastpath_lockword_t.holders: one has it exclusively. Else the value counts the sharers. */
#define MCA_OSC_FASTPATH_EXCLUSIVE 0x80000000u

/**
 * A lock that many can share or one can have. Zeroed memory is a free lock. No function here blocks: a caller
 * that is refused retries.
 *
 * Writers that share the memory wait inside MPI and are counted in `writers`. While one waits, new readers
 * are refused, so that it is not starved. Where writers come and go without a break, one of them waits at any
 * time: a reader that has been refused for some time takes the lock when nobody has it, as a writer does, but
 * does not join other readers, which could keep writers out for ever.
 *
 * A writer that does not share the memory asks by message, and the member that owns the lock tries it on the
 * writer's behalf, at each of its progress calls. In between it may be outside MPI for long. Each failed try
 * therefore stores a claim, which keeps readers out only until it expires: a reader that has seen the same
 * claim for the time that is in it removes it and goes on. The time doubles with each claim that was removed,
 * so that the writer gets the lock in the end.
 */
typedef struct {
    _Atomic uint32_t holders; /**< 0, number of sharers, or MCA_OSC_FASTPATH_EXCLUSIVE */
    _Atomic uint32_t writers; /**< processes that share the memory and wait for the lock exclusively */
    _Atomic uint32_t claim;   /**< 0, or the member's claim for writers that have asked by message; see
                                   mca_osc_fastpath_lock_claim() */
    _Atomic uint32_t sleepers; /**< processes that share the memory, have waited for long, and may sleep */
    /** which: a bit for each member of the node, by index */
    _Atomic uint64_t asleep[MCA_OSC_FASTPATH_SLEEPERS / 64];
} mca_osc_fastpath_lockword_t;

_Static_assert(MCA_OSC_FASTPATH_LINE == sizeof(mca_osc_fastpath_lockword_t),
               "who gives it back has the line");

/** Nanoseconds until the first claim of a member expires. */
#define MCA_OSC_FASTPATH_CLAIM_TIME 1000000ul
/** How often that doubles: up to a quarter of a second. */
#define MCA_OSC_FASTPATH_CLAIM_TIME_DOUBLED 8u

/** What a member knows of the writers that have asked it by message. Zeroed: nothing yet. */
typedef struct {
    unsigned waiting; /**< how many of them wait */
    unsigned expired; /**< claims that readers have removed since one of the writers got the lock */
    uint32_t last;    /**< the last claim */
} mca_osc_fastpath_claims_t;

/** Nanoseconds after which a reader does not wait behind writers any more. */
#define MCA_OSC_FASTPATH_PATIENCE MCA_OSC_FASTPATH_CLAIM_TIME
/** The same where there is a claim: longer than any claim holds. */
#define MCA_OSC_FASTPATH_PATIENCE_CLAIMED                                                                    \
    (MCA_OSC_FASTPATH_CLAIM_TIME << (MCA_OSC_FASTPATH_CLAIM_TIME_DOUBLED + 1))

/** What a reader that waits has seen of a member's claim. Zeroed: nothing yet. */
typedef struct {
    uint32_t claim;
    unsigned long since; /**< when it was seen first: nanoseconds of the reader's clock */
} mca_osc_fastpath_claim_watch_t;

/** @return whether writers wait that have the right to go before new readers */
static inline bool mca_osc_fastpath_lock_wanted(const mca_osc_fastpath_lockword_t *word)
{
    return 0 != atomic_load_explicit(&word->writers, memory_order_relaxed)
           || 0 != atomic_load_explicit(&word->claim, memory_order_relaxed);
}

/**
 * Take the lock shared.
 *
 * @param pass  do not wait behind waiting writers. Needed by who has other locks already: writers may wait
 *              for those, and both would wait for ever.
 *
 * @return whether it could be taken
 */
static inline bool mca_osc_fastpath_lock_shared(mca_osc_fastpath_lockword_t *word, bool pass)
{
    uint32_t holders = atomic_load_explicit(&word->holders, memory_order_relaxed);

    if (!pass && mca_osc_fastpath_lock_wanted(word)) {
        return false;
    }
    while (holders < MCA_OSC_FASTPATH_EXCLUSIVE) {
        /* W2: acquire, with W1: sees what the last exclusive holder stored */
        if (atomic_compare_exchange_weak_explicit(&word->holders, &holders, holders + 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/** @return whether a reader has waited for so long that it does not wait behind writers any more
 * @param since  when it was refused first, 0: it was not; @param now  both nanoseconds of its clock */
static inline bool mca_osc_fastpath_lock_is_late(unsigned long since, unsigned long now)
{
    return 0 != since && now - since >= MCA_OSC_FASTPATH_PATIENCE;
}

/**
 * Another try of a reader that mca_osc_fastpath_lock_shared() has refused: it takes the lock if it has waited
 * for long, and nobody has the lock. A claim it passes only when no claim could have held it up for so long,
 * because the member tries seldom, and would always find some reader.
 *
 * @param own    for the lock's member, which tries for those who have asked it by message: all of them in
 *               turn, so that its claims need not be regarded
 * @param since  as of mca_osc_fastpath_lock_is_late(); becomes `now` at the first of these tries
 *
 * @return whether it has the lock
 */
static inline bool mca_osc_fastpath_lock_shared_late(mca_osc_fastpath_lockword_t *word, bool own,
                                                     unsigned long *since, unsigned long now)
{
    const bool claimed = !own && 0 != atomic_load_explicit(&word->claim, memory_order_relaxed);
    uint32_t nobody = 0;

    if (0 == *since) {
        *since = now;
    }
    /* W2: acquire, with W1: sees what all holders before stored */
    return mca_osc_fastpath_lock_is_late(*since, now)
           && (!claimed || now - *since >= MCA_OSC_FASTPATH_PATIENCE_CLAIMED)
           && atomic_compare_exchange_strong_explicit(&word->holders, &nobody, 1, memory_order_acquire,
                                                      memory_order_relaxed);
}

/**
 * A reader that waits removes the claim of a member that seems to be outside MPI.
 *
 * @param watch  what it has seen so far, of this lock; updated
 * @param now    nanoseconds of its clock
 */
static inline void mca_osc_fastpath_lock_check_claim(mca_osc_fastpath_lockword_t *word,
                                                     mca_osc_fastpath_claim_watch_t *watch, unsigned long now)
{
    uint32_t claim = atomic_load_explicit(&word->claim, memory_order_relaxed);
    const unsigned doubled = claim >> 1 & 0xf;

    if (claim != watch->claim) {
        watch->claim = claim;
        watch->since = now;
    } else if (0 != claim && now - watch->since >= MCA_OSC_FASTPATH_CLAIM_TIME << doubled) {
        /* not a claim that has come meanwhile */
        (void) atomic_compare_exchange_strong_explicit(&word->claim, &claim, 0, memory_order_relaxed,
                                                       memory_order_relaxed);
    }
}

/** One try to take the lock exclusively. @return whether it could be taken */
static inline bool mca_osc_fastpath_lock_seize(mca_osc_fastpath_lockword_t *word)
{
    uint32_t holders = 0;

    /* W2: acquire, with W1: sees what all holders before stored */
    return atomic_compare_exchange_strong_explicit(&word->holders, &holders, MCA_OSC_FASTPATH_EXCLUSIVE,
                                                   memory_order_acquire, memory_order_relaxed);
}

/** The caller does not wait for the lock any more after mca_osc_fastpath_lock_exclusive() has refused it. */
static inline void mca_osc_fastpath_lock_give_up(mca_osc_fastpath_lockword_t *word, bool *waiting)
{
    if (*waiting) {
        atomic_fetch_sub_explicit(&word->writers, 1, memory_order_relaxed);
        *waiting = false;
    }
}

/**
 * Take the lock exclusively.
 *
 * @param waiting  whether the caller is counted as a waiting writer; false at the first try. Set when the
 *                 lock is refused, cleared when it is taken. Who gives up calls
 *                 mca_osc_fastpath_lock_give_up().
 *
 * @return whether it could be taken
 */
static inline bool mca_osc_fastpath_lock_exclusive(mca_osc_fastpath_lockword_t *word, bool *waiting)
{
    if (mca_osc_fastpath_lock_seize(word)) {
        mca_osc_fastpath_lock_give_up(word, waiting);
        return true;
    }
    if (!*waiting) {
        atomic_fetch_add_explicit(&word->writers, 1, memory_order_relaxed);
        *waiting = true;
    }
    return false;
}

/**
 * The lock's member takes it exclusively for another one that has asked by message.
 *
 * @param claims   all of those
 * @param waiting  whether that one is counted there; false at the first try
 *
 * @return whether it could be taken
 */
static inline bool mca_osc_fastpath_lock_claim(mca_osc_fastpath_lockword_t *word,
                                               mca_osc_fastpath_claims_t *claims, bool *waiting)
{
    if (mca_osc_fastpath_lock_seize(word)) {
        claims->expired = 0;
        if (*waiting && 0 == --claims->waiting) {
            atomic_store_explicit(&word->claim, 0, memory_order_relaxed);
        }
        *waiting = false;
        return true;
    }
    if (0 < claims->waiting && 0 == atomic_load_explicit(&word->claim, memory_order_relaxed)
        && MCA_OSC_FASTPATH_CLAIM_TIME_DOUBLED > claims->expired) {
        ++claims->expired;
    }
    claims->waiting += *waiting ? 0 : 1;
    *waiting = true;
    /* another claim than the last one, and not 0: the number of tries, how many have expired, 1 */
    claims->last = ((claims->last >> 5) + 1) << 5 | claims->expired << 1 | 1;
    atomic_store_explicit(&word->claim, claims->last, memory_order_relaxed);
    return false;
}

/** Give the lock back. @param exclusive  as it was taken */
static inline void mca_osc_fastpath_lock_release(mca_osc_fastpath_lockword_t *word, bool exclusive)
{
    /* W1: release, with W2 of who takes it next */
    if (exclusive) {
        atomic_fetch_sub_explicit(&word->holders, MCA_OSC_FASTPATH_EXCLUSIVE, memory_order_release);
    } else {
        atomic_fetch_sub_explicit(&word->holders, 1, memory_order_release);
    }
}

/**
 * O1. Register the caller as a sleeper, before it announces its sleep to its peers and retries the lock once
 * more. The process that releases the lock wakes all registered sleepers.
 *
 * @param index  of the caller among the members of the node; nothing is registered if that is too large
 */
static inline void mca_osc_fastpath_lock_register_sleeper(mca_osc_fastpath_lockword_t *word, int index)
{
    if (MCA_OSC_FASTPATH_SLEEPERS > index) {
        atomic_fetch_or_explicit(&word->asleep[index / 64], UINT64_C(1) << index % 64, memory_order_relaxed);
        atomic_fetch_add_explicit(&word->sleepers, 1, memory_order_relaxed);
    }
}

/** O1. Unregister the caller: it has the lock, or does not wait any more. */
static inline void mca_osc_fastpath_lock_unregister_sleeper(mca_osc_fastpath_lockword_t *word, int index)
{
    if (MCA_OSC_FASTPATH_SLEEPERS > index) {
        atomic_fetch_and_explicit(&word->asleep[index / 64], ~(UINT64_C(1) << index % 64),
                                  memory_order_relaxed);
        atomic_fetch_sub_explicit(&word->sleepers, 1, memory_order_relaxed);
    }
}

/** O2. @return whether somebody waits who may sleep; after mca_osc_fastpath_lock_release() */
static inline bool mca_osc_fastpath_lock_has_sleepers(const mca_osc_fastpath_lockword_t *word)
{
    atomic_signal_fence(memory_order_seq_cst); /* who sleeps sees to the rest: docs/memory-ordering.md */
    return 0 != atomic_load_explicit(&word->sleepers, memory_order_relaxed);
}

/** Rounds of a barrier: enough for 2^32 members. */
#define MCA_OSC_FASTPATH_ROUNDS 32

/** What a member keeps for those who access it; one per member and window. Zeroed memory is a new one. */
typedef struct {
    /** Target lock: MPI_Win_lock of this member. Written by who locks and unlocks. */
    _Alignas(MCA_OSC_FASTPATH_LINE) mca_osc_fastpath_lockword_t lock;
    /** Accumulate lock: 0 or 1 + the rank of who updates this member's memory. Held for one piece of one
     *  operation, never while waiting. */
    _Alignas(MCA_OSC_FASTPATH_LINE) _Atomic uint32_t accumulate;
    /** MPI_Win_complete of members of the node so far, for this target; added by origins. */
    _Alignas(MCA_OSC_FASTPATH_LINE) _Atomic uint32_t completes;
    /** 0 or 1 + the rank of who asks for help. Only tried: who does not get it does without. */
    _Atomic uint32_t helping;
    /** Dynamic windows: the attached memory, see osc_fastpath_attach.c. Changed by this member alone. */
    struct {
        _Atomic uint32_t version; /**< grows by 2 with each change; odd while there is one */
        _Atomic uint32_t count;   /**< of regions */
        _Atomic uint64_t address; /**< of the first, in this member's process */
    } regions;
    /** By round of a barrier: number of the last one that the member 2^round before this one has told of.
     *  Stored by that member. */
    _Alignas(MCA_OSC_FASTPATH_LINE) _Atomic uint32_t arrived[MCA_OSC_FASTPATH_ROUNDS];
    /** Where others leave operations that the kernel would copy for. Guarded by the accumulate lock. */
    mca_osc_fastpath_mailbox_t mailbox;
    /** Where others ask for help with long puts and gets. Guarded by `helping`. */
    mca_osc_fastpath_mailbox_t help;
} mca_osc_fastpath_member_t;

_Static_assert(7 * MCA_OSC_FASTPATH_LINE == sizeof(mca_osc_fastpath_member_t), "a line for each use");

/** Take a lock that one can have: W4 of the accumulate lock, W6 of `helping`. @param rank  of the caller.
 * @return whether it could be taken */
static inline bool mca_osc_fastpath_trylock_word(_Atomic uint32_t *word, int rank)
{
    uint32_t free = 0;

    /* acquire, with W3 or W5: sees what the last one did who had it */
    return atomic_compare_exchange_strong_explicit(word, &free, (uint32_t) rank + 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

/** Give it back: W3 of the accumulate lock, W5 of `helping`. */
static inline void mca_osc_fastpath_unlock_word(_Atomic uint32_t *word)
{
    atomic_store_explicit(word, 0, memory_order_release);
}

#endif /* MCA_OSC_FASTPATH_MEMBER_H */
