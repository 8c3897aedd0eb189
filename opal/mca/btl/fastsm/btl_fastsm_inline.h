/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What other components have of btl/fastsm in their own code: slots, both ends of a FIFO, and what is done
 * with them without a call.  They include btl_fastsm_ext.h, which hands the ends out and includes this one,
 * and no other header of btl/fastsm.  Whatever changes here, a type, a size or the order of accesses, raises
 * MCA_BTL_FASTSM_ABI there; the sizes and offsets are asserted.  The members of the ends are for the
 * functions of this header only.
 *
 * The FIFO of one ordered pair has one producer and one consumer:
 *
 *     producer: reserve -> fill the slots -> commit
 *     consumer: peek -> use the slots -> release
 *
 * Between reserve and commit there must be no way out: a reserved slot that
 * is not committed stops the FIFO for good.  The caller makes sure that one
 * thread at a time produces and one at a time consumes.
 *
 * Positions count halves of slots and wrap around at 2^32: the even ones are
 * first halves.  A message of up to 24 bytes takes one half, whichever is next,
 * so that two of them share a line; every other one takes whole slots, and
 * a second half that lies before them is skipped: nobody writes it, and the
 * consumer sees that by what is behind it.  The ordered accesses are
 * the functions named fastsm_load_* and fastsm_store_* below; each
 * names its partner.  docs/memory-ordering.md says why each is needed.
 */

#ifndef MCA_BTL_FASTSM_INLINE_H
#define MCA_BTL_FASTSM_INLINE_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#include "opal/mca/common/fastpath/common_fastpath_copy.h"
#include "opal/mca/common/fastpath/common_fastpath_lock.h"
#include "opal/mca/common/fastpath/common_fastpath_relax.h"

/* ---- slots ---- */

/** unit of transfer between cores and size of a slot, in bytes */
#define MCA_BTL_FASTSM_LINE 64u

/** user-visible bytes in the first and in each further slot of a message */
#define MCA_BTL_FASTSM_HEAD_DATA 56u
#define MCA_BTL_FASTSM_CONT_DATA 60u
/** of the first slot's, those behind a header of 16 bytes */
#define MCA_BTL_FASTSM_SLOT_PAYLOAD (MCA_BTL_FASTSM_HEAD_DATA - 16u)
/** bytes of half a slot, which a short message takes */
#define MCA_BTL_FASTSM_HALF (MCA_BTL_FASTSM_LINE / 2)
/** user-visible bytes in half a slot */
#define MCA_BTL_FASTSM_HALF_DATA 24u
/** of these, those behind a header of 16 bytes */
#define MCA_BTL_FASTSM_HALF_PAYLOAD (MCA_BTL_FASTSM_HALF_DATA - 16u)
/** user-visible bytes in a slot of the ring */
#define MCA_BTL_FASTSM_RING_DATA 48u

/** bytes of its user's header that a message begins with, where it goes past the callbacks */
#define MCA_BTL_FASTSM_HEADER_BYTES 16u

/**
 * A slot: one line, first word always and only a sequence word.
 *
 * In the first slot of a message (head) the BTL's header and up to 56 bytes
 * follow, in each further one (cont) 60 bytes.  A message of up to 24 bytes takes half a slot; the
 * second half then begins as the first does.  In the ring each slot
 * has a header, and 48 bytes follow it.  The word of what is at position p
 * is p + 1 once it is filled; a FIFO's positions count halves, the ring's slots.
 */
typedef struct {
    _Atomic uint32_t sequence;
    union {
        struct {
            uint16_t length; /**< bytes of the message; halves skipped in a pad; how one in chunks is split */
            uint8_t tag;     /**< active message tag */
            uint8_t flags;   /**< MCA_BTL_FASTSM_SLOT_* */
            uint8_t data[MCA_BTL_FASTSM_HEAD_DATA];
        } head;
        struct {
            uint8_t data[MCA_BTL_FASTSM_CONT_DATA];
        } cont;
        struct {
            uint16_t length;    /**< bytes of the message in this slot */
            uint8_t tag;        /**< active message tag */
            uint8_t flags;      /**< 0, MCA_BTL_FASTSM_SLOT_POOL or MCA_BTL_FASTSM_SLOT_MORE */
            uint32_t admission; /**< the sender's, which says who it is */
            uint32_t reserved;
            uint8_t data[MCA_BTL_FASTSM_RING_DATA];
        } ring;
    } u;
} mca_btl_fastsm_slot_t;

_Static_assert(sizeof(_Atomic uint32_t) == 4 && sizeof(_Atomic uint8_t) == 1,
               "atomics have to be as large as what they hold");
_Static_assert(2 == ATOMIC_INT_LOCK_FREE && 2 == ATOMIC_CHAR_LOCK_FREE,
               "atomics between processes have to be lock-free");
_Static_assert(sizeof(mca_btl_fastsm_slot_t) == MCA_BTL_FASTSM_LINE, "a slot is one line");
_Static_assert(offsetof(mca_btl_fastsm_slot_t, sequence) == 0, "the sequence word comes first");
_Static_assert(offsetof(mca_btl_fastsm_slot_t, u.head.length) == 4, "slot header changed");
_Static_assert(offsetof(mca_btl_fastsm_slot_t, u.head.tag) == 6, "slot header changed");
_Static_assert(offsetof(mca_btl_fastsm_slot_t, u.head.flags) == 7, "slot header changed");
_Static_assert(offsetof(mca_btl_fastsm_slot_t, u.head.data) == 8, "slot header changed");
_Static_assert(offsetof(mca_btl_fastsm_slot_t, u.cont.data) == 4, "slot header changed");
_Static_assert(offsetof(mca_btl_fastsm_slot_t, u.ring.admission) == 8, "slot header changed");
_Static_assert(offsetof(mca_btl_fastsm_slot_t, u.ring.data) == 16, "slot header changed");

/** no message: skip `length` halves */
#define MCA_BTL_FASTSM_SLOT_PAD 0x02u

/* ---- the ends ---- */

/** the producer's end; private to the sending process */
typedef struct {
    mca_btl_fastsm_slot_t *slots;      /**< in the receiver's segment */
    uint32_t write_pos;                /**< next position to fill */
    uint32_t read_pos;                 /**< what we last saw of the receiver's read position */
    uint32_t depth;                    /**< halves, a power of two */
    uint32_t limit;                    /**< halves that may be full at a time */
    uint32_t sendi_bytes;              /**< longest message that is put here without a descriptor; 0: none */
    volatile uint32_t n_pending;       /**< messages that wait outside for room: no other goes before them */
    _Atomic uint8_t *bell;             /**< our doorbell in the receiver's segment */
    _Atomic uint32_t *shared_read_pos; /**< in the receiver's segment */
    _Atomic uint32_t *asleep;          /**< in the receiver's segment */
    mca_common_fastpath_lock_t lock;   /**< for callers with several threads; nothing here takes it */
} fastsm_fifo_sender_t;

/** What a process does while it waits; see fastsm_fifo_await(). */
typedef struct fastsm_fifo_idle_t {
    uint32_t work; /**< how much of it there is; 0: nothing */
    /** does some of it, until all is done or `*word` is `value` */
    void (*run)(struct fastsm_fifo_idle_t *idle, const _Atomic uint32_t *word, uint32_t value);
} fastsm_fifo_idle_t;

/** the consumer's end; private to the receiving process */
typedef struct {
    mca_btl_fastsm_slot_t *slots;      /**< in our own segment */
    uint32_t read_pos;                 /**< next position to look at */
    uint32_t depth;                    /**< halves, a power of two */
    _Atomic uint32_t *shared_read_pos; /**< where the sender finds our read position */
    _Atomic uint8_t *expected;         /**< low bits of read_pos, to be compared with the bell */
    _Atomic uint8_t unheard;           /**< takes their place where nobody compares: a ring has no bells */
    uint8_t last_halves;               /**< that were handed back last, as by a message */
    _Atomic int consuming;             /**< one thread at a time takes messages; also against recursion */
    fastsm_fifo_idle_t *idle;          /**< what to do while nothing comes; NULL: nothing */
} fastsm_fifo_receiver_t;

_Static_assert(0 == offsetof(fastsm_fifo_sender_t, slots) && 8 == offsetof(fastsm_fifo_sender_t, write_pos)
                   && 12 == offsetof(fastsm_fifo_sender_t, read_pos)
                   && 16 == offsetof(fastsm_fifo_sender_t, depth)
                   && 20 == offsetof(fastsm_fifo_sender_t, limit)
                   && 24 == offsetof(fastsm_fifo_sender_t, sendi_bytes)
                   && 28 == offsetof(fastsm_fifo_sender_t, n_pending)
                   && 32 == offsetof(fastsm_fifo_sender_t, bell)
                   && 40 == offsetof(fastsm_fifo_sender_t, shared_read_pos)
                   && 48 == offsetof(fastsm_fifo_sender_t, asleep)
                   && 56 == offsetof(fastsm_fifo_sender_t, lock) && 64 == sizeof(fastsm_fifo_sender_t),
               "the producer's end has changed: raise MCA_BTL_FASTSM_ABI");
_Static_assert(0 == offsetof(fastsm_fifo_receiver_t, slots) && 8 == offsetof(fastsm_fifo_receiver_t, read_pos)
                   && 12 == offsetof(fastsm_fifo_receiver_t, depth)
                   && 16 == offsetof(fastsm_fifo_receiver_t, shared_read_pos)
                   && 24 == offsetof(fastsm_fifo_receiver_t, expected)
                   && 32 == offsetof(fastsm_fifo_receiver_t, unheard)
                   && 33 == offsetof(fastsm_fifo_receiver_t, last_halves)
                   && 36 == offsetof(fastsm_fifo_receiver_t, consuming)
                   && 40 == offsetof(fastsm_fifo_receiver_t, idle) && 48 == sizeof(fastsm_fifo_receiver_t),
               "the consumer's end has changed: raise MCA_BTL_FASTSM_ABI");

/** Takes the lock of a producer's end, if there are threads. */
static inline void fastsm_fifo_lock(fastsm_fifo_sender_t *fifo, bool threads)
{
    mca_common_fastpath_lock_if(&fifo->lock, threads);
}

/** Gives it back. */
static inline void fastsm_fifo_unlock(fastsm_fifo_sender_t *fifo, bool threads)
{
    mca_common_fastpath_unlock_if(&fifo->lock, threads);
}

/** Whether a message of so many bytes may be put into slots by who sends it. */
static inline bool fastsm_fifo_takes(const fastsm_fifo_sender_t *fifo, size_t length)
{
    return length <= fifo->sendi_bytes;
}

/* ---- ordered accesses ---- */

/** S1, producer.  Partner: S2.  The slots' contents are visible before the head's word. */
static inline void fastsm_store_head_sequence(mca_btl_fastsm_slot_t *slot, uint32_t value)
{
    atomic_store_explicit(&slot->sequence, value, memory_order_release);
}

/** S2, consumer.  Partner: S1.  Nothing of the message is read before its head's word. */
static inline uint32_t fastsm_load_head_sequence(mca_btl_fastsm_slot_t *slot)
{
    return atomic_load_explicit(&slot->sequence, memory_order_acquire);
}

/** Words of slots that are no head: published by S1 of their head. */
static inline void fastsm_store_other_sequence(mca_btl_fastsm_slot_t *slot, uint32_t value)
{
    atomic_store_explicit(&slot->sequence, value, memory_order_relaxed);
}

/** R1, consumer.  Partner: R2.  All reads of the slots and of the pool buffers are done. */
static inline void fastsm_store_read_pos(_Atomic uint32_t *read_pos, uint32_t value)
{
    atomic_store_explicit(read_pos, value, memory_order_release);
}

/** R2, producer.  Partner: R1.  Its licence to overwrite slots and pool buffers. */
static inline uint32_t fastsm_load_read_pos(_Atomic uint32_t *read_pos)
{
    return atomic_load_explicit(read_pos, memory_order_acquire);
}

/** B1, producer.  Partner: B2.  A hint only: what it points to is ordered by S1 and S2. */
static inline void fastsm_store_bell(_Atomic uint8_t *bell, uint8_t value)
{
    atomic_store_explicit(bell, value, memory_order_relaxed);
}

/** B2, consumer.  Partner: B1. */
static inline uint8_t fastsm_load_bell(_Atomic uint8_t *bell)
{
    return atomic_load_explicit(bell, memory_order_relaxed);
}

/**
 * E2, sender.  Partner: E1 (btl_fastsm_sleep.h).  Whether the receiver sleeps, or is about to, after what the
 * sender has published.  The compiler keeps the order; the processor need not: the receiver's membarrier()
 * makes up for that.
 */
static inline bool fastsm_load_asleep(_Atomic uint32_t *asleep)
{
    atomic_signal_fence(memory_order_seq_cst);
    return 0 != atomic_load_explicit(asleep, memory_order_relaxed);
}

/** E3, sender.  Of those who find the receiver asleep one wakes it: all of its threads that sleep. */
__attribute__((noinline, cold, unused)) static void fastsm_wake(_Atomic uint32_t *asleep)
{
    if (0 != atomic_exchange_explicit(asleep, 0, memory_order_relaxed)) {
        (void) syscall(SYS_futex, asleep, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

/** After a message has been published: its receiver may sleep. */
static inline void fastsm_wake_if_asleep(_Atomic uint32_t *asleep)
{
    if (__builtin_expect(fastsm_load_asleep(asleep), 0)) {
        fastsm_wake(asleep);
    }
}

/* ---- what a peer has written ---- */

/** What the header of a slot says, as it was when it was read. */
typedef struct {
    uint32_t length; /**< as the slot's */
    uint8_t tag;     /**< as the slot's */
    uint8_t flags;   /**< as the slot's */
} fastsm_head_t;

/**
 * Reads the header of a slot, of a FIFO or of the ring: once, because its sender can still write there, and
 * what has been checked has to be what is used.
 */
static inline uint32_t fastsm_slot_word(const mca_btl_fastsm_slot_t *slot)
{
    uint32_t word;

    memcpy(&word, &slot->u.head, sizeof(word));
    __asm__("" : "+r"(word)); /* the compiler has to keep it */
    return word;
}

/** The same, taken apart. */
static inline fastsm_head_t fastsm_slot_head(const mca_btl_fastsm_slot_t *slot)
{
    const uint32_t word = fastsm_slot_word(slot);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (fastsm_head_t){.length = word >> 16, .tag = (uint8_t) (word >> 8), .flags = (uint8_t) word};
#else
    return (fastsm_head_t){
        .length = (uint16_t) word, .tag = (uint8_t) (word >> 16), .flags = (uint8_t) (word >> 24)};
#endif
}

/** The same, for one tag: the length of a message that has it, and no flags; else more than 65535. */
static inline uint32_t fastsm_slot_length(const mca_btl_fastsm_slot_t *slot, uint8_t tag)
{
    const uint32_t word = fastsm_slot_word(slot);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint16_t) word == (uint32_t) tag << 8 ? word >> 16 : UINT32_MAX;
#else
    return word ^ (uint32_t) tag << 16;
#endif
}

/** Reads what lies in memory that a peer can write to: once, for the same reason. */
static inline void fastsm_read_once(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    __asm__ __volatile__("" ::: "memory");
}

/* ---- sizes ---- */

/** slots that an inline message of `length` bytes needs if it does not share its slot */
static inline uint32_t fastsm_fifo_slots(size_t length)
{
    if (length <= MCA_BTL_FASTSM_HEAD_DATA) {
        return 1;
    }
    return 1
           + (uint32_t) ((length - MCA_BTL_FASTSM_HEAD_DATA + MCA_BTL_FASTSM_CONT_DATA - 1)
                         / MCA_BTL_FASTSM_CONT_DATA);
}

/** halves that an inline message of `length` bytes takes: one, or whole slots */
static inline uint32_t fastsm_fifo_halves(size_t length)
{
    return length <= MCA_BTL_FASTSM_HALF_DATA ? 1 : 2 * fastsm_fifo_slots(length);
}

/** the same for `payload` bytes behind a header of 16 bytes, if that is at most a slot */
static inline uint32_t fastsm_fifo_slot_halves(size_t payload)
{
    return MCA_BTL_FASTSM_HALF_PAYLOAD < payload ? 2 : 1;
}

/** most bytes of an inline message in `slots` slots */
static inline size_t fastsm_fifo_capacity(uint32_t slots)
{
    return MCA_BTL_FASTSM_HEAD_DATA + (size_t) (slots - 1) * MCA_BTL_FASTSM_CONT_DATA;
}

/* ---- producer ---- */

/** Where a message at position `pos` begins. */
static inline mca_btl_fastsm_slot_t *fastsm_fifo_slot(mca_btl_fastsm_slot_t *slots, uint32_t depth,
                                                      uint32_t pos)
{
    return (mca_btl_fastsm_slot_t *) (void *) ((char *) slots
                                               + (size_t) (pos & (depth - 1)) * MCA_BTL_FASTSM_HALF);
}

/** The second half of a slot. */
static inline mca_btl_fastsm_slot_t *fastsm_fifo_second_half(mca_btl_fastsm_slot_t *slot)
{
    return (mca_btl_fastsm_slot_t *) (void *) ((char *) slot + MCA_BTL_FASTSM_HALF);
}

/* Whether there is room for `need` more halves and the second half behind them, as far as we know.  Who fills
 * a first half needs the second one, too: its word may be a user's data, and is made none. */
static inline bool fastsm_fifo_fits(const fastsm_fifo_sender_t *fifo, uint32_t need)
{
    return ((fifo->write_pos + need + 1) & ~UINT32_C(1)) - fifo->read_pos <= fifo->limit;
}

/**
 * Whether there is room for `need` more halves.  Reads the receiver's position only
 * when the one we remember says no.  A position that cannot be counts as no room.
 */
static inline bool fastsm_fifo_room(fastsm_fifo_sender_t *fifo, uint32_t need)
{
    if (fastsm_fifo_fits(fifo, need)) {
        return true;
    }
    fifo->read_pos = fastsm_load_read_pos(fifo->shared_read_pos);
    return fastsm_fifo_fits(fifo, need);
}

/** Halves that are skipped before a message of `halves` halves: 1 before whole slots if a second half is
 * next. */
static inline uint32_t fastsm_fifo_skip(const fastsm_fifo_sender_t *fifo, uint32_t halves)
{
    return 1 < halves ? fifo->write_pos & 1 : 0;
}

/**
 * Whether a message of up to one slot may leave at once, as far as we know without looking.  Asks for room
 * for the longest one behind a second half that is skipped, so a shorter one may fit when the answer is no.
 */
static inline bool fastsm_fifo_has_slot(const fastsm_fifo_sender_t *fifo)
{
    return 0 == fifo->n_pending && fifo->write_pos + 3 - fifo->read_pos <= fifo->limit;
}

/** Writes a head's length, tag and flags, in one store. */
static inline void fastsm_fifo_describe(mca_btl_fastsm_slot_t *head, size_t length, uint8_t tag,
                                        uint8_t flags)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    const uint32_t word = (uint32_t) length << 16 | (uint32_t) tag << 8 | flags;
#else
    const uint32_t word = (uint32_t) length | (uint32_t) tag << 16 | (uint32_t) flags << 24;
#endif

    memcpy(&head->u.head, &word, sizeof(word));
}

/**
 * Publishes what starts at `head`, its further slots' words already there, rings the bell, and wakes the
 * receiver if it sleeps.  With a message in the first half of a slot the word of the second half is made
 * none before: what was there last may have been a user's data.
 *
 * @param pos  the position of head
 */
static inline void fastsm_fifo_publish(fastsm_fifo_sender_t *fifo, mca_btl_fastsm_slot_t *head, uint32_t pos,
                                       uint32_t halves)
{
    if (1 == halves && 0 == (pos & 1)) {
        fastsm_store_other_sequence(fastsm_fifo_second_half(head), pos + 1);
    }
    fifo->write_pos = pos + halves;
    fastsm_store_head_sequence(head, pos + 1);
    fastsm_store_bell(fifo->bell, (uint8_t) fifo->write_pos);
    fastsm_wake_if_asleep(fifo->asleep);
}

/** Publishes a message of `halves` halves that have been reserved and filled, and rings the bell. */
static inline void fastsm_fifo_commit(fastsm_fifo_sender_t *fifo, mca_btl_fastsm_slot_t *head,
                                      uint32_t halves)
{
    fastsm_fifo_publish(fifo, head, fifo->write_pos, halves);
}

/**
 * Fills a second half, or the rest of the ring, with a pad, so that the next message starts behind it.
 * Every slot that is passed over gets its word too: no slot's first word is
 * ever older than one lap, which is what makes words unambiguous for ever.  The
 * bell rings, because the message itself may have to wait for room.
 *
 * @param halves  1, or those of whole slots
 */
static inline void fastsm_fifo_pad(fastsm_fifo_sender_t *fifo, uint32_t halves)
{
    mca_btl_fastsm_slot_t *head = fastsm_fifo_slot(fifo->slots, fifo->depth, fifo->write_pos);

    for (uint32_t i = 2; i < halves; i += 2) {
        fastsm_store_other_sequence(head + i / 2, fifo->write_pos + i + 1);
    }
    fastsm_fifo_describe(head, halves, 0, MCA_BTL_FASTSM_SLOT_PAD);
    fastsm_fifo_commit(fifo, head, halves);
}

/* When what is left of the ring is too short, or there is no room: what lies before the message is padded, so
 * that the consumer gets past it and hands it back while the message waits. */
__attribute__((noinline, cold, unused)) static bool
fastsm_fifo_prepare_padded(fastsm_fifo_sender_t *fifo, uint32_t skip, uint32_t to_end, uint32_t halves)
{
    const uint32_t rest = halves > to_end ? to_end : 0;

    if (0 == skip + rest || !fastsm_fifo_room(fifo, skip + rest)) {
        return false;
    }
    if (0 < skip) {
        fastsm_fifo_pad(fifo, skip);
    }
    if (0 < rest) {
        fastsm_fifo_pad(fifo, rest);
    }
    return fastsm_fifo_room(fifo, halves);
}

/**
 * Makes the next position one where a message of `halves` halves may start, if
 * there is room for it.  What lies before it is padded as soon as there is
 * room for that, unless the message goes at once and only a second half is skipped; so a message may be as
 * long as the ring, where that is shorter than what a bell can tell.
 *
 * @param halves  1, or those of whole slots; at most the limit
 */
static inline bool fastsm_fifo_prepare(fastsm_fifo_sender_t *fifo, uint32_t halves)
{
    const uint32_t skip = fastsm_fifo_skip(fifo, halves);
    const uint32_t to_end = fifo->depth - (fifo->write_pos & (fifo->depth - 1)) - skip;

    if (halves > to_end || !fastsm_fifo_room(fifo, skip + halves)) {
        return fastsm_fifo_prepare_padded(fifo, skip, to_end, halves);
    }
    fifo->write_pos += skip;
    return true;
}

/**
 * Claims `halves` neighbouring halves.
 *
 * @param halves  as for fastsm_fifo_prepare()
 * @return        the first one, or NULL when the FIFO is too full; it has to be filled, and
 *                committed
 */
static inline mca_btl_fastsm_slot_t *fastsm_fifo_reserve(fastsm_fifo_sender_t *fifo, uint32_t halves)
{
    return fastsm_fifo_prepare(fifo, halves) ? fastsm_fifo_slot(fifo->slots, fifo->depth, fifo->write_pos)
                                             : NULL;
}

/* ---- consumer ---- */

/* The consumer is at a second half where nothing has come.  Whoever goes on with a whole slot does not write
 * it. */
__attribute__((noinline, unused)) static mca_btl_fastsm_slot_t *
fastsm_fifo_peek_behind(fastsm_fifo_receiver_t *fifo, mca_btl_fastsm_slot_t *second)
{
    mca_btl_fastsm_slot_t *slot = fastsm_fifo_slot(fifo->slots, fifo->depth, fifo->read_pos + 1);

    if (fastsm_load_head_sequence(slot) != fifo->read_pos + 2) {
        return NULL;
    }
    /* what was sent before that is visible now */
    if (fastsm_load_head_sequence(second) == fifo->read_pos + 1) {
        return second;
    }
    ++fifo->read_pos;
    return slot;
}

/**
 * The head of the next message, or NULL when there is none.  It may be a pad.  Passes over a second half that
 * was skipped; it is released with what follows it.
 */
static inline mca_btl_fastsm_slot_t *fastsm_fifo_peek(fastsm_fifo_receiver_t *fifo)
{
    mca_btl_fastsm_slot_t *slot = fastsm_fifo_slot(fifo->slots, fifo->depth, fifo->read_pos);

    if (fastsm_load_head_sequence(slot) == fifo->read_pos + 1) {
        return slot;
    }
    return 0 == (fifo->read_pos & 1) ? NULL : fastsm_fifo_peek_behind(fifo, slot);
}

/** halves of a message whose slots are worth prefetching while it is awaited, at the most */
#define FASTSM_FIFO_EXPECTED_MAX 10u

/* The last slot to prefetch while the next message is awaited, which begins at `first`.  It is expected to
 * take as many as the last one, but after one that took a single slot two are expected, because the next but
 * one message lies there.  `first` itself after a long one: its sender would lose lines that it has fetched
 * and not written yet, and have to fetch them once more (docs/data-path.md). */
static inline const mca_btl_fastsm_slot_t *fastsm_fifo_last_expected(const fastsm_fifo_receiver_t *fifo,
                                                                     const mca_btl_fastsm_slot_t *first)
{
    const mca_btl_fastsm_slot_t *last = first + (4 < fifo->last_halves ? fifo->last_halves / 2 - 1 : 1);
    const mca_btl_fastsm_slot_t *end = fifo->slots + fifo->depth / 2;

    if (FASTSM_FIFO_EXPECTED_MAX < fifo->last_halves) {
        return first;
    }
    return last < end ? last : end - 1;
}

/**
 * Looks for the head of the next message until it has come, `*spins` times at the most; leaves those that
 * remain. Otherwise as fastsm_fifo_peek().
 *
 * The loop keeps all in registers.  Who waits has often just sent.  As long as that store waits for its line,
 * a store in each round would fill the queue behind it, where in the end the looking would have to wait, too.
 *
 * Each round also prefetches the lines of the slots behind, as many as the last message took if those are
 * few. While nothing comes they are in the cache, like the polled one.  When their sender has written them,
 * they come together with the first line of the message, not after it.
 */
static inline __attribute__((always_inline)) mca_btl_fastsm_slot_t *
fastsm_fifo_await(fastsm_fifo_receiver_t *fifo, unsigned *spins)
{
    const uint32_t pos = fifo->read_pos;
    const uint32_t next_pos = pos + (pos & 1); /* a second half may have been skipped */
    mca_btl_fastsm_slot_t *slot = fastsm_fifo_slot(fifo->slots, fifo->depth, pos);
    mca_btl_fastsm_slot_t *next = fastsm_fifo_slot(fifo->slots, fifo->depth, next_pos);
    const mca_btl_fastsm_slot_t *last;

    if (pos + 1 == fastsm_load_head_sequence(slot)) {
        return slot;
    }
    if (NULL != fifo->idle && 0 != fifo->idle->work) {
        fifo->idle->run(fifo->idle, &slot->sequence, pos + 1);
    }
    last = fastsm_fifo_last_expected(fifo, next);
    for (; 0 < *spins; --*spins) {
        if (pos + 1 == fastsm_load_head_sequence(slot)) {
            return slot;
        }
        if (next_pos + 1 == fastsm_load_head_sequence(next)) {
            return fastsm_fifo_peek(fifo);
        }
        for (const mca_btl_fastsm_slot_t *further = next; further < last;) {
            __builtin_prefetch(++further);
        }
        mca_common_fastpath_relax();
    }
    return NULL;
}

/**
 * Hands `halves` halves back to the sender, and with them the pool buffers
 * they refer to.
 */
static inline void fastsm_fifo_release(fastsm_fifo_receiver_t *fifo, uint32_t halves)
{
    const uint32_t read_pos = fifo->read_pos + halves;

    fifo->read_pos = read_pos;
    fifo->last_halves = (uint8_t) halves;
    fastsm_store_read_pos(fifo->shared_read_pos, read_pos);
    atomic_store_explicit(fifo->expected, (uint8_t) read_pos, memory_order_relaxed);
}

/* ---- copying ---- */

/** Begins to fetch the line at an address, to write it. */
static inline void fastsm_prefetch_write(const void *address)
{
#if defined(__x86_64__)
    /* what the builtin needs an option of the compiler's for */
    __asm__ __volatile__("prefetchw %0" : : "m"(*(const char *) address));
#else
    __builtin_prefetch(address, 1);
#endif
}

/* Fills the slots of a message behind the first one; their words, too, which are published with the head's.
 */
static inline void fastsm_fifo_fill_further(mca_btl_fastsm_slot_t *slot, uint32_t pos, const char *from,
                                            size_t length)
{
    for (; MCA_BTL_FASTSM_CONT_DATA < length; ++slot) {
        memcpy(slot->u.cont.data, from, MCA_BTL_FASTSM_CONT_DATA);
        fastsm_store_other_sequence(slot, pos + 1);
        pos += 2;
        from += MCA_BTL_FASTSM_CONT_DATA;
        length -= MCA_BTL_FASTSM_CONT_DATA;
    }
    mca_common_fastpath_copy_small(slot->u.cont.data, from, length);
    fastsm_store_other_sequence(slot, pos + 1);
}

/* Begins to fetch the lines of the slots that `length` bytes take, all at the same time.  A store to a line
 * that its last reader has waits for it, and those behind wait for that store; not every processor asks for
 * their lines meanwhile. */
static inline void fastsm_fifo_fetch(const mca_btl_fastsm_slot_t *slot, size_t length)
{
    for (size_t at = 0; at < length; at += MCA_BTL_FASTSM_CONT_DATA) {
        fastsm_prefetch_write(slot++);
    }
}

/**
 * Fills the data of a reserved message's slots with `header` followed by `payload`, and the words of all but
 * the first one.
 *
 * The first slot comes last, so that all stores to its line follow each other.  A receiver that waits
 * polls that line.  Stores leave in order: if the word had to wait for the line of another slot, the
 * receiver would meanwhile take the first line away, and the sender have to fetch it again.
 *
 * @param header_size  at most MCA_BTL_FASTSM_HEAD_DATA
 */
static inline void fastsm_fifo_fill(const fastsm_fifo_sender_t *fifo, mca_btl_fastsm_slot_t *head,
                                    const void *header, size_t header_size, const void *payload,
                                    size_t payload_size)
{
    const size_t room = MCA_BTL_FASTSM_HEAD_DATA - header_size;
    const char *from = (const char *) payload;

    if (payload_size > room) {
        fastsm_fifo_fetch(head + 1, payload_size - room);
        fastsm_fifo_fill_further(head + 1, fifo->write_pos + 2, from + room, payload_size - room);
        payload_size = room;
    }
    mca_common_fastpath_copy_small(head->u.head.data, header, header_size);
    mca_common_fastpath_copy_small(head->u.head.data + header_size, from, payload_size);
}

/**
 * Sends a message of up to one slot, of which fastsm_fifo_has_slot() has said that it may leave: the fast
 * path from a header of 16 bytes and a piece of memory to the receiver.
 *
 * @param word0, word1  the header, as its halves lie in memory
 * @param payload_size  at most MCA_BTL_FASTSM_SLOT_PAYLOAD
 */
static inline __attribute__((always_inline)) void fastsm_fifo_send_slot(fastsm_fifo_sender_t *fifo,
                                                                        uint64_t word0, uint64_t word1,
                                                                        const void *payload,
                                                                        size_t payload_size, uint8_t tag)
{
    const uint32_t halves = fastsm_fifo_slot_halves(payload_size);
    const uint32_t pos = fifo->write_pos + fastsm_fifo_skip(fifo, halves);
    mca_btl_fastsm_slot_t *slot = fastsm_fifo_slot(fifo->slots, fifo->depth, pos);

    fastsm_fifo_describe(slot, sizeof(word0) + sizeof(word1) + payload_size, tag, 0);
    memcpy(slot->u.head.data, &word0, sizeof(word0));
    memcpy(slot->u.head.data + sizeof(word0), &word1, sizeof(word1));
    mca_common_fastpath_copy_small(slot->u.head.data + sizeof(word0) + sizeof(word1), payload, payload_size);
    fastsm_fifo_publish(fifo, slot, pos, halves);
}

/**
 * Sends a message of any number of slots, if nothing waits for room and there is some.
 *
 * @param word0, word1  the header, as its halves lie in memory
 * @param payload_size  with the header at most sendi_bytes
 * @return              whether it has been sent; else the FIFO has at most been padded
 */
static inline __attribute__((always_inline)) bool fastsm_fifo_send_slots(fastsm_fifo_sender_t *fifo,
                                                                         uint64_t word0, uint64_t word1,
                                                                         const void *payload,
                                                                         size_t payload_size, uint8_t tag)
{
    const uint64_t header[] = {word0, word1};
    const size_t length = sizeof(header) + payload_size;
    const uint32_t halves = fastsm_fifo_halves(length);
    mca_btl_fastsm_slot_t *head;

    if (0 != fifo->n_pending) {
        return false;
    }
    head = fastsm_fifo_reserve(fifo, halves);
    if (NULL == head) {
        return false;
    }
    fastsm_fifo_fill(fifo, head, header, sizeof(header), payload, payload_size);
    fastsm_fifo_describe(head, length, tag, 0);
    fastsm_fifo_commit(fifo, head, halves);
    return true;
}

/** halves from the one that is filled to the one whose slot is fetched meanwhile */
#define FASTSM_FIFO_FETCH_AHEAD 8u

/**
 * Begins to fetch the line of a slot that will soon be filled; its last reader has it.  For senders with
 * several threads: a store waits for its line without anybody's noticing, but not if an atomic instruction
 * follows, as those of the next message's locks and counters do, which waits for all stores before it.
 */
static inline void fastsm_fifo_fetch_ahead(const fastsm_fifo_sender_t *fifo)
{
    fastsm_prefetch_write(
        fastsm_fifo_slot(fifo->slots, fifo->depth, fifo->write_pos + FASTSM_FIFO_FETCH_AHEAD));
}

/** Begins to fetch the line of the next slot, which is filled as soon as something longer has been done. */
static inline void fastsm_fifo_fetch_next(const fastsm_fifo_sender_t *fifo)
{
    fastsm_prefetch_write(fastsm_fifo_slot(fifo->slots, fifo->depth, fifo->write_pos));
}

/**
 * Copies the data of a message of several slots, all but the first `skip` bytes.
 *
 * @param skip    at most MCA_BTL_FASTSM_HEAD_DATA
 * @param length  bytes to copy; all are in the slots, and they reach beyond the first one
 */
static inline void fastsm_fifo_extract(void *to, const mca_btl_fastsm_slot_t *head, size_t skip,
                                       size_t length)
{
    char *t = (char *) to;

    mca_common_fastpath_copy_small(t, head->u.head.data + skip, MCA_BTL_FASTSM_HEAD_DATA - skip);
    t += MCA_BTL_FASTSM_HEAD_DATA - skip;
    length -= MCA_BTL_FASTSM_HEAD_DATA - skip;
    while (length > MCA_BTL_FASTSM_CONT_DATA) {
        memcpy(t, (++head)->u.cont.data, MCA_BTL_FASTSM_CONT_DATA);
        t += MCA_BTL_FASTSM_CONT_DATA;
        length -= MCA_BTL_FASTSM_CONT_DATA;
    }
    mca_common_fastpath_copy_small(t, (++head)->u.cont.data, length);
}

/* ---- receiving what is in slots ---- */

/**
 * Whether a message or pad of `halves` halves could start at the consumer's position.
 * For counts that a peer supplies.
 */
static inline bool fastsm_fifo_count_ok(const fastsm_fifo_receiver_t *fifo, uint32_t halves)
{
    return 1 == halves
           || (0 < halves && 0 == ((fifo->read_pos | halves) & 1)
               && halves <= fifo->depth - (fifo->read_pos & (fifo->depth - 1)));
}

/** what fastsm_fifo_see() says, if not bytes */
enum {
    FASTSM_NOTHING = -1,       /**< nothing has come */
    FASTSM_SOMETHING_ELSE = -2 /**< something has, and it is still there; or somebody is busy with it */
};

/**
 * Says what a message is, if it is in slots, for callers that look at its header themselves before they take
 * it: by fastsm_fifo_copy() and fastsm_fifo_release_message(), in that order.  Only while the process has one
 * thread, because nobody is kept out.
 *
 * @param slot    of fastsm_fifo_await(), may be NULL
 * @param tag     the active message tag that it has to have
 * @param header  receives the first MCA_BTL_FASTSM_HEADER_BYTES
 * @return        bytes behind the header, FASTSM_NOTHING or FASTSM_SOMETHING_ELSE
 */
static inline __attribute__((always_inline)) ptrdiff_t fastsm_fifo_see(const fastsm_fifo_receiver_t *fifo,
                                                                       const mca_btl_fastsm_slot_t *slot,
                                                                       uint8_t tag, uint64_t header[2])
{
    uint32_t length;

    if (NULL == slot) {
        return FASTSM_NOTHING;
    }
    length = fastsm_slot_length(slot, tag) - MCA_BTL_FASTSM_HEADER_BYTES; /* a short one becomes a long one */
    if (length > UINT16_MAX
        || !fastsm_fifo_count_ok(fifo, fastsm_fifo_halves(MCA_BTL_FASTSM_HEADER_BYTES + length))
        || 0 != atomic_load_explicit(&fifo->consuming, memory_order_relaxed)) {
        return FASTSM_SOMETHING_ELSE;
    }
    memcpy(&header[0], slot->u.head.data, sizeof(header[0]));
    memcpy(&header[1], slot->u.head.data + sizeof(header[0]), sizeof(header[1]));
    return (ptrdiff_t) length;
}

/** fastsm_fifo_copy() of a message in several slots. */
__attribute__((noinline, unused)) static void
fastsm_fifo_copy_slots(void *to, const mca_btl_fastsm_slot_t *head, size_t length)
{
    fastsm_fifo_extract(to, head, MCA_BTL_FASTSM_HEADER_BYTES, length);
}

/** Copies the first `length` bytes behind the header of a message that fastsm_fifo_see() has shown. */
static inline void fastsm_fifo_copy(void *to, const mca_btl_fastsm_slot_t *head, size_t length)
{
    if (length <= MCA_BTL_FASTSM_SLOT_PAYLOAD) {
        mca_common_fastpath_copy_small(to, head->u.head.data + MCA_BTL_FASTSM_HEADER_BYTES, length);
    } else {
        fastsm_fifo_copy_slots(to, head, length);
    }
}

/** Hands back what such a message takes. @param payload  what fastsm_fifo_see() has said */
static inline void fastsm_fifo_release_message(fastsm_fifo_receiver_t *fifo, size_t payload)
{
    fastsm_fifo_release(fifo, fastsm_fifo_halves(MCA_BTL_FASTSM_HEADER_BYTES + payload));
}

#endif /* MCA_BTL_FASTSM_INLINE_H */
