/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How two processes come to one conclusion about whether they reach each
 * other through shared memory.
 *
 * Each of them may be able to map the other's segment or not, and the kernel's
 * answer may differ in the two directions.  Both must have mapped, or neither
 * may send.  One of them is the host, the other one the guest.  Each has a
 * word about the pair in its own segment, which the other reads where it has
 * mapped that segment:
 *
 *     host's word    UNKNOWN -> OFFERED   host: it has mapped the guest's segment
 *                    OFFERED -> AGREED    guest, by compare-and-swap: it has mapped the host's
 *                    OFFERED -> REFUSED   host, by compare-and-swap: it waits no longer
 *                    UNKNOWN -> REFUSED   host: it cannot map the guest's
 *     guest's word   UNKNOWN -> REFUSED   guest: it cannot map the host's, or waits no longer
 *
 * So the host's word decides, once and for both: whoever leaves OFFERED
 * first.  A guest that cannot write there refuses in its own segment, and
 * never agrees afterwards.  A process that cannot read the other's word
 * refuses anyway.
 *
 * A word also says which pair it is about, by bits of both nonces: what an
 * earlier life of a process left, or somebody else where the place of a word
 * is used again, is no word of this pair.
 *
 * When both have agreed each adds to its own word whether it can read the
 * other's memory, which may differ in the two directions, too.  That is a
 * hint: who is not told, or too late, offers what cannot be read, and hears
 * of it then.  Another hint is how the host sends long messages that go both
 * ways at once, for the guest to do the same.
 *
 * This header needs C11 atomics and nothing of Open MPI.
 * test/model/pair.pml explores it; docs/memory-ordering.md says why nothing
 * here needs an order.
 */

#ifndef MCA_BTL_FASTSM_PAIR_H
#define MCA_BTL_FASTSM_PAIR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "btl_fastsm_layout.h"

/** what a word of a pair says; in its low two bits */
typedef enum {
    MCA_BTL_FASTSM_PAIR_UNKNOWN = 0,
    MCA_BTL_FASTSM_PAIR_OFFERED = 1,
    MCA_BTL_FASTSM_PAIR_AGREED = 2,
    MCA_BTL_FASTSM_PAIR_REFUSED = 3
} mca_btl_fastsm_pair_state_t;

#define MCA_BTL_FASTSM_PAIR_STATE UINT32_C(3)
/** in the next two bits, of a pair that has agreed: whether this side has tried to read the other's memory,
 * and that it can */
#define MCA_BTL_FASTSM_PAIR_TRIED UINT32_C(4)
#define MCA_BTL_FASTSM_PAIR_READS UINT32_C(8)
/** in the next two, of the host: that its messages of an exchange go in chunks in its present turn, and a bit
 * that changes with each turn (btl_fastsm_turns.c); the other bits are the pair's tag */
#define MCA_BTL_FASTSM_PAIR_CHUNKS UINT32_C(16)
#define MCA_BTL_FASTSM_PAIR_TURN   UINT32_C(32)
#define MCA_BTL_FASTSM_PAIR_NO_TAG UINT32_C(63)

/** one side's view of a pair; private to the process */
typedef struct {
    _Atomic uint32_t *own;   /**< our word, in our segment */
    _Atomic uint32_t *other; /**< the peer's word in its segment; NULL: it cannot be read, or not yet */
    uint32_t tag;            /**< of the pair, the same on both sides */
    bool host;               /**< our word is the one that decides */
} fastsm_pair_t;

/** The tag of the pair of processes with these nonces, in either order. */
static inline uint32_t fastsm_pair_tag(const uint8_t *a, const uint8_t *b)
{
    uint32_t words[2];

    memcpy(&words[0], a, sizeof(words[0]));
    memcpy(&words[1], b, sizeof(words[1]));
    return (words[0] ^ words[1]) & ~MCA_BTL_FASTSM_PAIR_NO_TAG;
}

/** V1.  What our side says, in our own segment. */
static inline void fastsm_pair_say(const fastsm_pair_t *pair, mca_btl_fastsm_pair_state_t state)
{
    atomic_store_explicit(pair->own, pair->tag | (uint32_t) state, memory_order_relaxed);
}

/** V2.  What a word says about this pair. */
static inline mca_btl_fastsm_pair_state_t fastsm_pair_load(const fastsm_pair_t *pair, _Atomic uint32_t *word)
{
    const uint32_t value = NULL == word ? 0 : atomic_load_explicit(word, memory_order_relaxed);

    return pair->tag == (value & ~MCA_BTL_FASTSM_PAIR_NO_TAG)
               ? (mca_btl_fastsm_pair_state_t) (value & MCA_BTL_FASTSM_PAIR_STATE)
               : MCA_BTL_FASTSM_PAIR_UNKNOWN;
}

/** V3.  Ends an offer in the host's word; false when the other side was faster. */
static inline bool fastsm_pair_decide(const fastsm_pair_t *pair, _Atomic uint32_t *word,
                                      mca_btl_fastsm_pair_state_t state)
{
    uint32_t offered = pair->tag | MCA_BTL_FASTSM_PAIR_OFFERED;

    return atomic_compare_exchange_strong_explicit(word, &offered, pair->tag | (uint32_t) state,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/** Says at the beginning whether we have mapped the peer's segment.  Returns the state of the pair. */
static inline mca_btl_fastsm_pair_state_t fastsm_pair_begin(const fastsm_pair_t *pair, bool mapped)
{
    if (!mapped) {
        fastsm_pair_say(pair, MCA_BTL_FASTSM_PAIR_REFUSED);
        return MCA_BTL_FASTSM_PAIR_REFUSED;
    }
    fastsm_pair_say(pair, pair->host ? MCA_BTL_FASTSM_PAIR_OFFERED : MCA_BTL_FASTSM_PAIR_UNKNOWN);
    return MCA_BTL_FASTSM_PAIR_OFFERED;
}

/**
 * Whether the pair has come to a conclusion.  For a side that has mapped the other, until it has.
 *
 * @return  AGREED or REFUSED, which is final; OFFERED as long as it has not
 */
static inline mca_btl_fastsm_pair_state_t fastsm_pair_look(const fastsm_pair_t *pair)
{
    const mca_btl_fastsm_pair_state_t theirs = fastsm_pair_load(pair, pair->other);

    if (MCA_BTL_FASTSM_PAIR_REFUSED == theirs) {
        fastsm_pair_say(pair, MCA_BTL_FASTSM_PAIR_REFUSED);
        return MCA_BTL_FASTSM_PAIR_REFUSED;
    }
    if (pair->host) {
        return MCA_BTL_FASTSM_PAIR_AGREED == fastsm_pair_load(pair, pair->own) ? MCA_BTL_FASTSM_PAIR_AGREED
                                                                               : MCA_BTL_FASTSM_PAIR_OFFERED;
    }
    if (MCA_BTL_FASTSM_PAIR_AGREED == theirs) {
        return theirs; /* a guest that has forgotten its host and meets it again */
    }
    if (MCA_BTL_FASTSM_PAIR_OFFERED == theirs
        && fastsm_pair_decide(pair, pair->other, MCA_BTL_FASTSM_PAIR_AGREED)) {
        return MCA_BTL_FASTSM_PAIR_AGREED;
    }
    return MCA_BTL_FASTSM_PAIR_OFFERED; /* not offered yet; or withdrawn just now, which the next look finds
                                         */
}

/** Waits no longer.  Returns AGREED, when the guest was faster, or REFUSED. */
static inline mca_btl_fastsm_pair_state_t fastsm_pair_give_up(const fastsm_pair_t *pair)
{
    if (pair->host && !fastsm_pair_decide(pair, pair->own, MCA_BTL_FASTSM_PAIR_REFUSED)
        && MCA_BTL_FASTSM_PAIR_AGREED == fastsm_pair_load(pair, pair->own)) {
        return MCA_BTL_FASTSM_PAIR_AGREED;
    }
    fastsm_pair_say(pair, MCA_BTL_FASTSM_PAIR_REFUSED);
    return MCA_BTL_FASTSM_PAIR_REFUSED;
}

/** V4.  Tells the other side of a pair that has agreed whether we can read its memory. */
static inline void fastsm_pair_tell(const fastsm_pair_t *pair, bool reads)
{
    const uint32_t told = MCA_BTL_FASTSM_PAIR_TRIED | MCA_BTL_FASTSM_PAIR_READS;
    const uint32_t word = atomic_load_explicit(pair->own, memory_order_relaxed) & ~told;

    atomic_store_explicit(pair->own, word | (reads ? told : MCA_BTL_FASTSM_PAIR_TRIED), memory_order_relaxed);
}

/** V5.  Whether the other side has told us that it cannot read our memory. */
static inline bool fastsm_pair_refuses(const fastsm_pair_t *pair)
{
    const uint32_t value = NULL == pair->other ? 0 : atomic_load_explicit(pair->other, memory_order_relaxed);
    const uint32_t others = MCA_BTL_FASTSM_PAIR_STATE | MCA_BTL_FASTSM_PAIR_CHUNKS | MCA_BTL_FASTSM_PAIR_TURN;

    return (pair->tag | MCA_BTL_FASTSM_PAIR_TRIED) == (value & ~others);
}

/** V6.  The host begins a turn of an exchange, in chunks or not.  The pair has agreed: nobody else writes its
 * word. */
static inline void fastsm_pair_begin_turn(const fastsm_pair_t *pair, bool chunks)
{
    const uint32_t word = atomic_load_explicit(pair->own, memory_order_relaxed);

    atomic_store_explicit(pair->own,
                          ((word ^ MCA_BTL_FASTSM_PAIR_TURN) & ~MCA_BTL_FASTSM_PAIR_CHUNKS)
                              | (chunks ? MCA_BTL_FASTSM_PAIR_CHUNKS : 0),
                          memory_order_relaxed);
}

/** V7.  @return the host's turn: MCA_BTL_FASTSM_PAIR_CHUNKS and _TURN, or not; 0: there has been none */
static inline uint32_t fastsm_pair_turn(const fastsm_pair_t *pair)
{
    const uint32_t value = NULL == pair->other ? 0 : atomic_load_explicit(pair->other, memory_order_relaxed);

    return pair->tag == (value & ~MCA_BTL_FASTSM_PAIR_NO_TAG)
               ? value & (MCA_BTL_FASTSM_PAIR_CHUNKS | MCA_BTL_FASTSM_PAIR_TURN)
               : 0;
}

#endif /* MCA_BTL_FASTSM_PAIR_H */
