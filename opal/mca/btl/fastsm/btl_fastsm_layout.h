/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Everything that lives in shared memory, and where it lives.
 *
 * A process owns one segment.  It holds all that is inbound to its owner
 * and the pool from which the owner sends:
 *
 *     segment header
 *     ring            positions and slots         written by dynamic peers
 *     doorbells       one byte per local process  written by that process
 *     read positions  one entry per local process written by the owner
 *     pair words      one per local process       written by the owner, and once by that process
 *     admissions      one entry per dynamic peer     written by the owner
 *     more positions  one line per deep FIFO         written by the owner
 *     FIFOs           one per local process       written by that process
 *     deep FIFOs      deeper FIFOs                   each written by the process to whom it is assigned
 *     eager pool      buffers of one size         written by the owner
 *     max pool        buffers of a larger size    written by the owner
 *
 * A local process has a FIFO of its own.  A dynamic peer, that is a process of
 * another job, shares the ring with all other dynamic peers.  Who turns out to
 * send much, of either kind, is assigned a deep FIFO in place of that.
 *
 * FIFOs are numbered: those of local processes by local index, deep ones behind
 * them.
 *
 * There are no pointers in here, only offsets from the segment's start.  The
 * allocator, the attach check, the tests and the documentation all use
 * mca_btl_fastsm_layout(), so the file's size is what that function says.
 *
 * This header and the FIFO's need C11 atomics and nothing of Open MPI, so
 * that a test can build them alone.  docs/shared-layout.md has the picture.
 */

#ifndef MCA_BTL_FASTSM_LAYOUT_H
#define MCA_BTL_FASTSM_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "btl_fastsm_inline.h"

/** regions that different peers touch start on pages of their own */
#define MCA_BTL_FASTSM_PAGE 4096u

/**
 * Pools start this many bytes behind a page's begin.  A user's buffer often
 * begins with a page too, and copying between addresses that are equal in
 * their low 12 bits, or a little apart, is several times slower.
 */
#define MCA_BTL_FASTSM_POOL_SKEW (MCA_BTL_FASTSM_PAGE / 4)

/** the bytes "fastsmS1" as a little-endian number */
#define MCA_BTL_FASTSM_SEGMENT_MAGIC UINT64_C(0x31536d7374736166)
/** raised whenever anything in this header moves or changes its meaning */
#define MCA_BTL_FASTSM_LAYOUT_VERSION 14u
#define MCA_BTL_FASTSM_NONCE_SIZE     16u

/** Two slots are what the control messages of a PML need.  A doorbell holds 8 bits of a position, which
 *  counts halves of slots, so there cannot be more than 128. */
#define MCA_BTL_FASTSM_DEPTH_MIN 2u
#define MCA_BTL_FASTSM_DEPTH_MAX 128u

/** the ring's depth and the number of its senders are free within these */
#define MCA_BTL_FASTSM_RING_DEPTH_MIN 2u
#define MCA_BTL_FASTSM_RING_DEPTH_MAX 4096u
#define MCA_BTL_FASTSM_DYNAMIC_PEERS_MAX 65535u
/** deep FIFOs; an answer to a sender has 16 bits for their number, and 0 is a refusal */
#define MCA_BTL_FASTSM_DEEP_FIFOS_MAX 65534u
/** as many as the number of processes says */
#define MCA_BTL_FASTSM_DEEP_FIFOS_SCALED UINT32_MAX
/** values of parameters that the number of processes does not change */
#define MCA_BTL_FASTSM_BELL_STRIDE 1u
#define MCA_BTL_FASTSM_RING_DEPTH  32u
#define MCA_BTL_FASTSM_DYNAMIC_PEERS 512u
/** up to so many local processes each read position has a line of its own, if nothing else is asked for */
#define MCA_BTL_FASTSM_POSITIONS_APART 16u

/** Bytes of an eager buffer before its message: behind a header of MCA_BTL_FASTSM_HEADER_BYTES the data
 * begins with a line. */
#define MCA_BTL_FASTSM_EAGER_LEAD (MCA_BTL_FASTSM_LINE - MCA_BTL_FASTSM_HEADER_BYTES)
/** longest segment in bytes: what a reference can tell */
#define MCA_BTL_FASTSM_SEGMENT_MAX (UINT64_C(1) << 40)

/** what determines a segment's layout */
typedef struct {
    uint32_t n_local;         /**< processes of the job on this node, the owner included */
    uint32_t fifo_depth;      /**< slots of a FIFO, a power of two */
    uint32_t bell_stride;     /**< bytes from one doorbell to the next, a power of two */
    uint32_t position_stride; /**< bytes from one read position to the next, a power of two */
    uint32_t eager_count;     /**< buffers in the eager pool */
    uint32_t eager_size;      /**< bytes of an eager buffer, a multiple of a line */
    uint32_t max_count;       /**< buffers in the max pool */
    uint32_t max_size;        /**< bytes of a max buffer, a multiple of a line */
    uint32_t ring_depth;      /**< slots of the ring, a power of two */
    uint32_t dynamic_peers;   /**< dynamic peers that may be connected at a time, at most 65535 */
    uint32_t deep_fifos;      /**< deep FIFOs, at most 65534 */
    uint32_t deep_fifo_depth; /**< slots of each, a power of two; matters where there are any */
} mca_btl_fastsm_layout_params_t;

/** the first bytes of a segment; constant once the owner has published it, but for the last two words */
typedef struct {
    uint64_t magic;       /**< MCA_BTL_FASTSM_SEGMENT_MAGIC */
    uint32_t version;     /**< MCA_BTL_FASTSM_LAYOUT_VERSION */
    uint32_t local_index; /**< the owner's place in its peers' arrays */
    uint64_t total;       /**< length of the segment in bytes */
    int32_t pid;          /**< of the owner, in its PID namespace */
    uint32_t reserved;
    uint8_t nonce[MCA_BTL_FASTSM_NONCE_SIZE]; /**< random, repeated in the modex */
    mca_btl_fastsm_layout_params_t params;
    /** 1: the owner sleeps, or is about to, until somebody has sent it something, who makes this 0 */
    _Atomic uint32_t asleep;
    _Atomic uint32_t wakes; /**< 1: the owner sees in time that others do (btl_fastsm_sleep.c); owner */
    uint8_t padding[24];
} mca_btl_fastsm_segment_hdr_t;

_Static_assert(sizeof(mca_btl_fastsm_layout_params_t) == 48, "layout parameters changed size");
_Static_assert(offsetof(mca_btl_fastsm_segment_hdr_t, total) == 16, "segment header changed");
_Static_assert(offsetof(mca_btl_fastsm_segment_hdr_t, nonce) == 32, "segment header changed");
_Static_assert(offsetof(mca_btl_fastsm_segment_hdr_t, params) == 48, "segment header changed");
_Static_assert(offsetof(mca_btl_fastsm_segment_hdr_t, asleep) == 96, "segment header changed");
_Static_assert(sizeof(mca_btl_fastsm_segment_hdr_t) == 2 * MCA_BTL_FASTSM_LINE,
               "the segment header is two lines");

/* Flags of slots; MCA_BTL_FASTSM_SLOT_PAD is one, too. */

/** the data is in the sender's pool, the slot holds a reference */
#define MCA_BTL_FASTSM_SLOT_POOL 0x01u
/** with MCA_BTL_FASTSM_SLOT_POOL: the message goes on in the chunks that the next halves refer to */
#define MCA_BTL_FASTSM_SLOT_CHUNKS 0x20u
/** in the ring: the message goes on in the sender's next slot */
#define MCA_BTL_FASTSM_SLOT_MORE 0x04u
/** no message: the sender asks for a deep FIFO; the data is a mca_btl_fastsm_want_t */
#define MCA_BTL_FASTSM_SLOT_WANT 0x08u
/** no message: the sender's last slot here; it goes on in the FIFO that it was assigned */
#define MCA_BTL_FASTSM_SLOT_CONTINUE 0x10u
/** what is no message has no tag either */
#define MCA_BTL_FASTSM_SLOT_OWN                                                                              \
    (MCA_BTL_FASTSM_SLOT_PAD | MCA_BTL_FASTSM_SLOT_WANT | MCA_BTL_FASTSM_SLOT_CONTINUE)

/**
 * Data of a slot with MCA_BTL_FASTSM_SLOT_POOL: where the message is, and what it begins with, so that a
 * receiver can tell whom it is for before the buffer's lines come.
 *
 * With MCA_BTL_FASTSM_SLOT_CHUNKS the length is that of the whole message, and that of the half a
 * mca_btl_fastsm_split(). The header and the first chunk behind it are here; each further chunk is in the
 * next half, with a MCA_BTL_FASTSM_SLOT_POOL reference of its own, which tells its length.
 */
typedef struct {
    uint64_t place; /**< mca_btl_fastsm_place() */
    uint8_t header[MCA_BTL_FASTSM_HEADER_BYTES]; /**< the message's first bytes; of a further chunk nothing */
} mca_btl_fastsm_pool_ref_t;

_Static_assert(sizeof(mca_btl_fastsm_pool_ref_t) == MCA_BTL_FASTSM_HALF_DATA,
               "a reference fills half a slot");

/** bits of mca_btl_fastsm_pool_ref_t.place that are the length */
#define MCA_BTL_FASTSM_PLACE_LENGTH_BITS 28
/** what a message in a pool begins at a multiple of, in bytes from the start of the segment */
#define MCA_BTL_FASTSM_PLACE_UNIT 16u

/**
 * Where something is in a sender's segment, in one word.
 *
 * @param offset  from the start of the segment, a multiple of MCA_BTL_FASTSM_PLACE_UNIT
 * @param length  bytes, less than 2 ^ MCA_BTL_FASTSM_PLACE_LENGTH_BITS
 */
static inline uint64_t mca_btl_fastsm_place(uint64_t offset, size_t length)
{
    return offset / MCA_BTL_FASTSM_PLACE_UNIT << MCA_BTL_FASTSM_PLACE_LENGTH_BITS | length;
}

/** offset of a mca_btl_fastsm_place() */
static inline uint64_t mca_btl_fastsm_place_offset(uint64_t place)
{
    return (place >> MCA_BTL_FASTSM_PLACE_LENGTH_BITS) * MCA_BTL_FASTSM_PLACE_UNIT;
}

/** length of a mca_btl_fastsm_place() */
static inline uint32_t mca_btl_fastsm_place_length(uint64_t place)
{
    return (uint32_t) (place & ((UINT64_C(1) << MCA_BTL_FASTSM_PLACE_LENGTH_BITS) - 1));
}

/**
 * How a message is split into chunks: the length of a half with MCA_BTL_FASTSM_SLOT_CHUNKS.
 *
 * @param chunks  how many, at most 255
 * @param width   buffers of the first one, at most 255
 */
static inline uint32_t mca_btl_fastsm_split(uint32_t chunks, uint32_t width)
{
    return width << 8 | chunks;
}

/** chunks of a mca_btl_fastsm_split() */
static inline uint32_t mca_btl_fastsm_split_chunks(uint32_t split)
{
    return split & 255u;
}

/** buffers of the first chunk of a mca_btl_fastsm_split() */
static inline uint32_t mca_btl_fastsm_split_width(uint32_t split)
{
    return split >> 8;
}

/** data of a slot with MCA_BTL_FASTSM_SLOT_WANT */
typedef struct {
    uint32_t serial; /**< of the question, 1 to 65535; the answer repeats it */
    uint32_t reserved;
} mca_btl_fastsm_want_t;

_Static_assert(sizeof(mca_btl_fastsm_want_t) == 8, "a question for a FIFO changed size");

/**
 * What the owner tells one sender about its FIFO.  All of them are written by the owner, so several
 * may share a line while one thread does that; position_stride says how far they lie apart.
 */
typedef struct {
    _Atomic uint32_t value; /**< halves of slots that the owner is through with */
    _Atomic uint32_t assignment; /**< answer to a MCA_BTL_FASTSM_SLOT_WANT: its serial << 16 | 1 + number of
                               the deep FIFO, or 0 for none.  Only for FIFOs of local processes */
} mca_btl_fastsm_read_pos_t;

_Static_assert(sizeof(mca_btl_fastsm_read_pos_t) == 8, "a read position changed size");

/** the owner of a segment has ended: it neither reads nor sends any more */
#define MCA_BTL_FASTSM_OWNER_LEFT 1u

/** operations of a process that it says it waits for */
#define MCA_BTL_FASTSM_AWAITED 6u
/** in place of the name of one that a peer has claimed */
#define MCA_BTL_FASTSM_CLAIMED UINT64_MAX

/** what goes before the slots of the ring: three lines, each with writers of its own */
typedef struct {
    _Atomic uint32_t write_pos; /**< slots claimed so far; senders, by compare-and-swap */
    uint8_t padding1[MCA_BTL_FASTSM_LINE - sizeof(uint32_t)];
    _Atomic uint32_t read_pos; /**< slots that the owner is through with; owner */
    uint8_t padding2[MCA_BTL_FASTSM_LINE - sizeof(uint32_t)];
    _Atomic uint32_t owner;    /**< MCA_BTL_FASTSM_OWNER_LEFT, or 0: it reads its ring; owner */
    _Atomic uint32_t admitted; /**< admissions from this one on have never been used; owner */
    _Atomic uint64_t awaited[MCA_BTL_FASTSM_AWAITED]; /**< names of operations that it waits for, or 0; owner,
                                                         and who claims one */
    _Atomic uint32_t copies; /**< 1: it copies from or to another process's memory, by get or write; owner */
    uint8_t padding3[MCA_BTL_FASTSM_LINE - 3 * sizeof(uint32_t) - MCA_BTL_FASTSM_AWAITED * sizeof(uint64_t)];
} mca_btl_fastsm_ring_ctl_t;

_Static_assert(sizeof(mca_btl_fastsm_ring_ctl_t) == 3 * MCA_BTL_FASTSM_LINE,
               "the ring's control is three lines");
_Static_assert(offsetof(mca_btl_fastsm_ring_ctl_t, write_pos) == 0, "the first line is the senders'");
_Static_assert(offsetof(mca_btl_fastsm_ring_ctl_t, read_pos) == MCA_BTL_FASTSM_LINE,
               "the second line is the owner's, stored with each message");
_Static_assert(offsetof(mca_btl_fastsm_ring_ctl_t, owner) == 2 * MCA_BTL_FASTSM_LINE
                   && offsetof(mca_btl_fastsm_ring_ctl_t, admitted) < 3 * MCA_BTL_FASTSM_LINE,
               "the third line is the owner's, not stored with each message");

/**
 * The admission of a dynamic peer: where it learns that its owner knows it and
 * by which id.  An id is never given twice within 65535 uses of an entry.
 */
typedef struct {
    _Atomic uint32_t id;    /**< generation << 16 | index of the entry; generation > 0.  0: nobody */
    _Atomic uint32_t assignment; /**< as mca_btl_fastsm_read_pos_t's */
    _Atomic uint32_t pair; /**< the owner's word about this pair, as of a local process (btl_fastsm_pair.h) */
    uint32_t reserved;
    _Atomic uint64_t nonce[MCA_BTL_FASTSM_NONCE_SIZE / 8]; /**< whose it is */
} mca_btl_fastsm_admission_t;

_Static_assert(sizeof(mca_btl_fastsm_admission_t) == 32, "an admission is half a line");
_Static_assert(offsetof(mca_btl_fastsm_admission_t, id) == 0
                   && offsetof(mca_btl_fastsm_admission_t, nonce) == 16,
               "an admission changed");
_Static_assert(2 == ATOMIC_LLONG_LOCK_FREE, "atomics between processes have to be lock-free");

/** offsets of the regions of a segment, in bytes from its start */
typedef struct {
    mca_btl_fastsm_layout_params_t params;
    uint64_t ring_ctl;
    uint64_t ring;
    uint64_t bells;
    uint64_t read_pos;
    uint64_t pairs; /**< words about the pairs with local processes, 4 bytes each (btl_fastsm_pair.h) */
    uint64_t admissions;
    uint64_t deep_pos; /**< read positions of deep FIFOs */
    uint64_t fifos;
    uint64_t deep;
    uint64_t eager_pool;
    uint64_t max_pool;
    uint64_t total; /**< length of the segment: the published model */
} mca_btl_fastsm_layout_t;

/**
 * Computes where everything in a segment lives.
 *
 * @param params  what to lay out
 * @param layout  result, written on success only
 * @return        0, or -1 when a parameter is out of its range or the segment
 *                would be longer than a file can be
 */
int mca_btl_fastsm_layout(const mca_btl_fastsm_layout_params_t *params, mca_btl_fastsm_layout_t *layout);

/**
 * Fills in what is not asked for, by the number of local processes: each of fifo_depth, position_stride,
 * eager_count, eager_size, max_count, max_size and deep_fifo_depth that is 0, and deep_fifos if that is
 * MCA_BTL_FASTSM_DEEP_FIFOS_SCALED.  docs/shared-layout.md publishes the rule.
 *
 * @param threads  several threads of the owner may receive at a time (MPI_THREAD_MULTIPLE)
 */
void mca_btl_fastsm_layout_scale(mca_btl_fastsm_layout_params_t *params, bool threads);

/**
 * Asks for as little as serves wherever nothing is asked for: of each of the same parameters that is not
 * given.  Comes before mca_btl_fastsm_layout_scale().  This is what a process takes that finds no room for
 * what the rule says.
 */
void mca_btl_fastsm_layout_min(mca_btl_fastsm_layout_params_t *params);

/** bytes of an eager buffer for messages of up to `limit` bytes */
static inline uint32_t mca_btl_fastsm_layout_eager_size(size_t limit)
{
    return (uint32_t) ((limit + MCA_BTL_FASTSM_EAGER_LEAD + MCA_BTL_FASTSM_LINE - 1) / MCA_BTL_FASTSM_LINE
                       * MCA_BTL_FASTSM_LINE);
}

/** longest message of an eager buffer, in bytes */
static inline uint32_t mca_btl_fastsm_layout_eager_limit(const mca_btl_fastsm_layout_params_t *params)
{
    return params->eager_size - MCA_BTL_FASTSM_EAGER_LEAD;
}

/** bytes of a message in an eager buffer behind a header of MCA_BTL_FASTSM_HEADER_BYTES; a chunk in several
 * buffers has as many for each */
static inline uint32_t mca_btl_fastsm_layout_chunk(const mca_btl_fastsm_layout_params_t *params)
{
    return params->eager_size - MCA_BTL_FASTSM_LINE;
}

/** what a segment is made of, in bytes; together they are its length */
typedef struct {
    uint64_t fifos; /**< FIFOs of local processes, their doorbells, read positions and pair words */
    uint64_t deep;  /**< deep FIFOs and their read positions */
    uint64_t eager; /**< eager pool */
    uint64_t max;   /**< max pool */
    uint64_t other; /**< header, ring, admissions, and what rounding to pages costs */
} mca_btl_fastsm_layout_parts_t;

/** Says what the bytes of a segment are for. */
void mca_btl_fastsm_layout_parts(const mca_btl_fastsm_layout_t *layout, mca_btl_fastsm_layout_parts_t *parts);

/** offset of the owner's word about its pair with local process `i` */
static inline uint64_t mca_btl_fastsm_layout_pair(const mca_btl_fastsm_layout_t *layout, uint32_t i)
{
    return layout->pairs + (uint64_t) i * sizeof(_Atomic uint32_t);
}

/** offset of the admission with this index */
static inline uint64_t mca_btl_fastsm_layout_admission(const mca_btl_fastsm_layout_t *layout, uint32_t index)
{
    return layout->admissions + (uint64_t) index * sizeof(mca_btl_fastsm_admission_t);
}

/** FIFOs of a segment, which their numbers are below */
static inline uint32_t mca_btl_fastsm_layout_count(const mca_btl_fastsm_layout_t *layout)
{
    return layout->params.n_local + layout->params.deep_fifos;
}

/** slots of FIFO `number` */
static inline uint32_t mca_btl_fastsm_layout_depth(const mca_btl_fastsm_layout_t *layout, uint32_t number)
{
    return number < layout->params.n_local ? layout->params.fifo_depth : layout->params.deep_fifo_depth;
}

/** bytes of FIFO `number` */
static inline uint64_t mca_btl_fastsm_layout_fifo_size(const mca_btl_fastsm_layout_t *layout, uint32_t number)
{
    return mca_btl_fastsm_layout_depth(layout, number) * (uint64_t) sizeof(mca_btl_fastsm_slot_t);
}

/** offset of the doorbell that whoever writes FIFO `number` rings */
static inline uint64_t mca_btl_fastsm_layout_bell(const mca_btl_fastsm_layout_t *layout, uint32_t number)
{
    return layout->bells + (uint64_t) number * layout->params.bell_stride;
}

/** offset of the position up to which the owner has read FIFO `number` */
static inline uint64_t mca_btl_fastsm_layout_read_pos(const mca_btl_fastsm_layout_t *layout, uint32_t number)
{
    return number < layout->params.n_local
               ? layout->read_pos + (uint64_t) number * layout->params.position_stride
               : layout->deep_pos + (uint64_t) (number - layout->params.n_local) * MCA_BTL_FASTSM_LINE;
}

/** offset of FIFO `number` */
static inline uint64_t mca_btl_fastsm_layout_fifo(const mca_btl_fastsm_layout_t *layout, uint32_t number)
{
    const uint64_t slot = sizeof(mca_btl_fastsm_slot_t);

    return number < layout->params.n_local
               ? layout->fifos + (uint64_t) number * layout->params.fifo_depth * slot
               : layout->deep
                     + (uint64_t) (number - layout->params.n_local) * layout->params.deep_fifo_depth * slot;
}

/** offset of buffer `i` of the eager pool */
static inline uint64_t mca_btl_fastsm_layout_eager(const mca_btl_fastsm_layout_t *layout, uint32_t i)
{
    return layout->eager_pool + (uint64_t) i * layout->params.eager_size;
}

/** offset of buffer `i` of the max pool */
static inline uint64_t mca_btl_fastsm_layout_max(const mca_btl_fastsm_layout_t *layout, uint32_t i)
{
    return layout->max_pool + (uint64_t) i * layout->params.max_size;
}

/**
 * Whether [offset, offset + length) is inside the pools.  For references that a
 * peer supplies.
 */
static inline int mca_btl_fastsm_layout_in_pool(const mca_btl_fastsm_layout_t *layout, uint64_t offset,
                                                uint64_t length)
{
    return layout->eager_pool <= offset && offset <= layout->total && length <= layout->total - offset;
}

#endif /* MCA_BTL_FASTSM_LAYOUT_H */
