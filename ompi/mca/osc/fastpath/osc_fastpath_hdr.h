/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What travels between members of a window.
 *
 *     packet:  header | operation | data | operation | data ...      origin to target, in order
 *     reply:   header | entry | data | entry | data ...              target to origin, in any order
 *
 * The packets from one origin to one target are numbered and take effect in that order, whatever the order
 * in which several links deliver them. Everything is named by numbers that are checked where they arrive: the
 * window by its id, the sender by its rank, what waits for a reply by index and generation, datatypes by
 * slot. Headers, operations and entries begin at multiples of 8 bytes.
 */
#ifndef MCA_OSC_FASTPATH_HDR_H
#define MCA_OSC_FASTPATH_HDR_H

#include <stddef.h>
#include <stdint.h>

/** The BTL's tag for all of it. */
#define MCA_OSC_FASTPATH_TAG 0x68

#define MCA_OSC_FASTPATH_ALIGN  8
#define MCA_OSC_FASTPATH_PAD(n) (((n) + MCA_OSC_FASTPATH_ALIGN - 1) & ~(size_t) (MCA_OSC_FASTPATH_ALIGN - 1))

enum {
    MCA_OSC_FASTPATH_PACKET = 1,
    MCA_OSC_FASTPATH_REPLY = 2,
};

/** What a packet asks for beside its operations. */
enum {
    MCA_OSC_FASTPATH_LOCK_SHARED = 0x01,    /**< take the target lock shared before the operations */
    MCA_OSC_FASTPATH_LOCK_EXCLUSIVE = 0x02, /**< take it exclusively */
    MCA_OSC_FASTPATH_UNLOCK = 0x04,         /**< release it after the operations */
    MCA_OSC_FASTPATH_ACK = 0x08,            /**< reply when all of this packet has taken effect */
    MCA_OSC_FASTPATH_COMPLETE = 0x10,       /**< MPI_Win_complete: the origin's last packet of this epoch */
    MCA_OSC_FASTPATH_LOCK_PASS = 0x20, /**< shared: do not wait behind writers, the origin has other locks */
};

/** Kinds of access epochs; a packet waits at the target until its epoch may take effect there. */
enum {
    MCA_OSC_FASTPATH_EPOCH_NONE = 0,  /**< no access epoch */
    MCA_OSC_FASTPATH_EPOCH_FENCE = 1, /**< number: the fence that began it */
    MCA_OSC_FASTPATH_EPOCH_START =
        2, /**< number: how many epochs origin and target have had by start and post */
    MCA_OSC_FASTPATH_EPOCH_PASSIVE = 3, /**< lock or lock_all; number: the last fence before it */
};

/** Begins each packet and each reply. */
typedef struct {
    uint8_t type;      /**< MCA_OSC_FASTPATH_PACKET or _REPLY */
    uint8_t flags;     /**< packet: MCA_OSC_FASTPATH_LOCK_SHARED ... */
    uint8_t epoch;     /**< MCA_OSC_FASTPATH_EPOCH_*; reply: that of the packet, if there is an error */
    uint8_t unused;    /**< 0 */
    uint32_t window;   /**< id of the window */
    uint32_t rank;     /**< of the sender in the window's group */
    uint32_t sequence; /**< packet: position among those of this origin to this target */
    uint32_t number;   /**< packet: of the epoch */
    uint32_t acked;    /**< packets of the receiver's up to this one have taken effect at the sender */
    uint32_t length;   /**< bytes after this header */
    int32_t error;     /**< reply: OMPI_SUCCESS, or what was wrong with an operation */
} mca_osc_fastpath_hdr_t;
_Static_assert(32 == sizeof(mca_osc_fastpath_hdr_t), "a multiple of 8 without padding");

/** Kinds of operations. */
enum {
    MCA_OSC_FASTPATH_PUT = 1,
    MCA_OSC_FASTPATH_GET = 2,
    MCA_OSC_FASTPATH_ACCUMULATE = 3,
    MCA_OSC_FASTPATH_GET_ACCUMULATE = 4, /**< MPI_Fetch_and_op, too */
    MCA_OSC_FASTPATH_COMPARE_AND_SWAP = 5,
    MCA_OSC_FASTPATH_TYPE = 6,      /**< describes a datatype for later operations */
    MCA_OSC_FASTPATH_PUT_WHOLE = 7, /**< a put that is cut within elements: takes effect when it is whole;
                                         `ticket` tells it from others of its kind */
    MCA_OSC_FASTPATH_GET_PLACE = 8, /**< a get whose data may be written into the origin's memory */
};

/**
 * Whether data of the target comes back. The kind says so, and never an address: that of data whose type has
 * absolute addresses is MPI_BOTTOM, which is NULL.
 */
static inline bool mca_osc_fastpath_returns_data(uint8_t kind)
{
    return MCA_OSC_FASTPATH_GET == kind || MCA_OSC_FASTPATH_GET_PLACE == kind
           || MCA_OSC_FASTPATH_GET_ACCUMULATE == kind || MCA_OSC_FASTPATH_COMPARE_AND_SWAP == kind;
}

/** In mca_osc_fastpath_op_hdr_t.type: the rest is the id of a predefined datatype, else a slot. */
#define MCA_OSC_FASTPATH_PREDEFINED 0x80000000u

/**
 * An operation, or a piece of one. An operation that does not fit into a packet is cut into pieces, each
 * with all there is to know, so that a target keeps nothing between them.
 *
 * Data follows a PUT or PUT_WHOLE, an ACCUMULATE, a GET_ACCUMULATE other than MPI_NO_OP (`length` bytes), a
 * COMPARE_AND_SWAP (the new value and the one compared with, `length` bytes each), a TYPE and a GET_PLACE
 * (the address of the piece in the origin's process, 8 bytes).
 */
typedef struct {
    uint8_t kind;     /**< MCA_OSC_FASTPATH_PUT ... */
    uint8_t op; /**< of an update: index of the predefined operation; of a PUT_WHOLE: 1 with its last piece */
    uint16_t element; /**< of an update: id of the predefined datatype its elements have; of a get: replies
                           are multiples of so many bytes, so that none ends within an element */
    uint32_t length;  /**< bytes of packed data this piece is about */
    int64_t disp;     /**< displacement in the target's units; TYPE: checksum of the description */
    uint64_t count;   /**< elements of the target's datatype; TYPE: bytes of the whole description */
    uint64_t offset;  /**< of this piece in the packed data of the operation, or in the description */
    uint32_t type;    /**< the target's datatype: slot, or MCA_OSC_FASTPATH_PREDEFINED and an id */
    uint32_t type_generation; /**< of the slot */
    uint32_t ticket;          /**< what waits for the reply: index */
    uint32_t generation;      /**< and generation */
} mca_osc_fastpath_op_hdr_t;
_Static_assert(48 == sizeof(mca_osc_fastpath_op_hdr_t), "a multiple of 8 without padding");

/** What has become of data for a ticket. */
enum {
    MCA_OSC_FASTPATH_ENTRY_DATA = 0,   /**< it follows */
    MCA_OSC_FASTPATH_ENTRY_FAILED = 1, /**< it cannot be had */
    MCA_OSC_FASTPATH_ENTRY_PLACED = 2, /**< of a GET_PLACE: it has been written into the origin's memory */
};

/** Data for a ticket: `length` bytes, which follow or not. */
typedef struct {
    uint32_t ticket;
    uint32_t generation;
    uint64_t offset; /**< of these bytes in the packed data of the operation */
    uint32_t length;
    uint32_t what; /**< MCA_OSC_FASTPATH_ENTRY_* */
} mca_osc_fastpath_entry_t;
_Static_assert(24 == sizeof(mca_osc_fastpath_entry_t), "a multiple of 8 without padding");

#endif /* MCA_OSC_FASTPATH_HDR_H */
