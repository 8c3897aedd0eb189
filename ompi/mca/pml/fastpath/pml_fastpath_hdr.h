/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Wire headers of pml/fastpath. Every message that a BTL carries for us begins
 * with one of them; the BTL tag says which, and so does hdr_type.
 *
 * Both ends run the same build of Open MPI on machines of one byte order
 * (checked when a process is first met), so the headers travel as they are.
 * Requests travel as handles (pml_fastpath_handle.h), which their own side alone understands. What arrives is
 * checked before it is used (pml_fastpath_check.h).
 */
#ifndef MCA_PML_FASTPATH_HDR_H
#define MCA_PML_FASTPATH_HDR_H

#include <stddef.h>
#include <stdint.h>

#include "fastpath_ompi_compat.h"
#include "opal/util/proc.h"

#include "pml_fastpath_socket.h"

/** Raised whenever a header changes or is used in another way. Jobs with different numbers do not talk.
 *  A test build overrides it. */
#if !defined(MCA_PML_FASTPATH_WIRE_VERSION)
#    define MCA_PML_FASTPATH_WIRE_VERSION 10u
#endif

/** What a message is; also the offset of its BTL tag from MCA_BTL_TAG_PML. */
enum {
    MCA_PML_FASTPATH_HDR_MATCH = 1,    /**< a whole message, sent eagerly */
    MCA_PML_FASTPATH_HDR_RNDV = 2,     /**< first part of a message that waits for its receive */
    MCA_PML_FASTPATH_HDR_RGET = 3,     /**< a message that the receiver may read from our memory */
    MCA_PML_FASTPATH_HDR_ACK = 4,      /**< receiver to sender: stream this range of the message */
    MCA_PML_FASTPATH_HDR_FRAG = 5,     /**< one piece of a streamed range */
    MCA_PML_FASTPATH_HDR_PUT = 6,      /**< receiver to sender: write this range into my memory */
    MCA_PML_FASTPATH_HDR_PUT_DONE = 7, /**< sender to receiver: the range has been written */
    MCA_PML_FASTPATH_HDR_GET_DONE = 8, /**< receiver to sender: the whole message has been read */
    MCA_PML_FASTPATH_HDR_CANCEL =
        9, /**< sender to receiver: take this message back if nobody has matched it */
    MCA_PML_FASTPATH_HDR_CANCELLED = 10, /**< receiver to sender: whether it was taken back */
    MCA_PML_FASTPATH_HDR_CREDIT = 11,    /**< receiver to sender: so many bytes have been consumed */
    MCA_PML_FASTPATH_HDR_LEAVE = 12, /**< to a process of another job: we end, and our connections with us */
    MCA_PML_FASTPATH_HDR_EXTCID =
        13, /**< a message whose communicator may have another number at its receiver */
    MCA_PML_FASTPATH_HDR_KNOWN = 14, /**< receiver to sender: that number */
    MCA_PML_FASTPATH_HDR_HELLO =
        15, /**< who is at the other end of a TCP connection that you have accepted */
    MCA_PML_FASTPATH_HDR_PASSED =
        16,                         /**< receiver to sender: all up to this message have come in their turn */
    MCA_PML_FASTPATH_HDR_HELP = 17, /**< receiver to sender: I read the rest; write this part of it */
    MCA_PML_FASTPATH_HDR_HELPED = 18,     /**< sender to receiver: that part has been written, or cannot be */
    MCA_PML_FASTPATH_HDR_MULTI = 19,      /**< first fragment of a message whose others follow unasked */
    MCA_PML_FASTPATH_HDR_MULTI_FRAG = 20, /**< another one */
    MCA_PML_FASTPATH_HDR_MATCHED = 21,    /**< receiver to sender: a receive has matched this message */
    MCA_PML_FASTPATH_HDR_MAX
};

/** Flags of the headers. */
enum {
    /** RNDV: the sender's data is contiguous, so a PUT is possible */
    MCA_PML_FASTPATH_HDR_FLAG_CONTIG = 0x01,
    /** MATCH: the send is synchronous, its sender waits for MATCHED */
    MCA_PML_FASTPATH_HDR_FLAG_SYNC = 0x01,
    /** ACK, PUT: says how much of the message is wanted; hdr_wanted is valid */
    MCA_PML_FASTPATH_HDR_FLAG_FIRST = 0x02,
    /** RGET: its sender, who decides about exchanges of the two, has messages streamed now */
    MCA_PML_FASTPATH_HDR_FLAG_STREAM = 0x02,
    /** PUT_DONE, HELPED: the write failed; the range arrives in FRAGs instead */
    MCA_PML_FASTPATH_HDR_FLAG_FAILED = 0x04,
    /** RGET: that sender has the kernel copy them now */
    MCA_PML_FASTPATH_HDR_FLAG_KERNEL = 0x04,
    /** RNDV: the sender has used up its credit and would like some back */
    MCA_PML_FASTPATH_HDR_FLAG_SHORT = 0x08,
    /** CANCELLED: the message was taken back. A CANCEL that is kept: it has been answered so */
    MCA_PML_FASTPATH_HDR_FLAG_DONE = 0x10,
    /** MATCH, RNDV, RGET: the sender wants to hear (PASSED) when the message's turn has come */
    MCA_PML_FASTPATH_HDR_FLAG_TELL = 0x20,
    /** RGET: the sender waits in a blocking call until the message has been read, and so can help */
    MCA_PML_FASTPATH_HDR_FLAG_WAITS = 0x40,
    /** GET_DONE, ACK: the answer to such a message; there is a HELP too, before this or behind it */
    MCA_PML_FASTPATH_HDR_FLAG_HELP = 0x80,
};

/**
 * Numbers of communicators in headers. Those that all members have agreed on are below the first; those
 * that each process has given itself (pml_fastpath_extcid.h) are above.
 */
#define MCA_PML_FASTPATH_CTX_OWN     UINT32_C(0x80000000)
#define MCA_PML_FASTPATH_CTX_UNKNOWN UINT32_MAX

/** @return whether a communicator's number is one that a process has given itself */
static inline bool mca_pml_fastpath_ctx_is_own(uint32_t ctx)
{
    return FASTPATH_HAVE_NAMED_COMMS && 0 != (MCA_PML_FASTPATH_CTX_OWN & ctx);
}

/** @return whether we know a communicator's number at some other process */
static inline bool mca_pml_fastpath_ctx_is_known(uint32_t ctx)
{
    return !FASTPATH_HAVE_NAMED_COMMS || MCA_PML_FASTPATH_CTX_UNKNOWN != ctx;
}

/**
 * Matching information, at the front of MATCH, RNDV and RGET. 16 bytes: with the
 * 8 that btl/fastsm puts before it, 40 bytes of user data fit into a cache line.
 * In a MATCHED, which is nothing else, hdr_src is the rank of the process that says so, and hdr_tag
 * all 32 bits of the message's number.
 */
typedef struct {
    uint8_t hdr_type;  /**< MCA_PML_FASTPATH_HDR_* */
    uint8_t hdr_flags; /**< MCA_PML_FASTPATH_HDR_FLAG_* */
    uint16_t hdr_seq;  /**< number of the message within (communicator, sender) */
    uint32_t hdr_ctx;  /**< communicator, by its number at the receiver */
    int32_t hdr_src;   /**< sender's rank in the communicator */
    int32_t hdr_tag;   /**< MPI tag; negative ones are Open MPI's own traffic */
} mca_pml_fastpath_match_hdr_t;
_Static_assert(16 == sizeof(mca_pml_fastpath_match_hdr_t), "a slot's header has 16 bytes for matching");

/*
 * The two halves of a match header as they lie in memory. What is put together in registers need not be
 * stored in small pieces and loaded again in large ones, which processors are slow at.
 */

/** Bits by which a member of a match header is to the left in the half that it lies in. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#    define MCA_PML_FASTPATH_MATCH_SHIFT(member)                                                             \
        (64 - 8 * sizeof(((mca_pml_fastpath_match_hdr_t *) NULL)->member)                                    \
         - 8 * (offsetof(mca_pml_fastpath_match_hdr_t, member) % 8))
#else
#    define MCA_PML_FASTPATH_MATCH_SHIFT(member) (8 * (offsetof(mca_pml_fastpath_match_hdr_t, member) % 8))
#endif

/** @return the first 8 bytes of the header of a MATCH without flags */
static inline uint64_t mca_pml_fastpath_match_word0(uint16_t seq, uint32_t ctx)
{
    return (uint64_t) MCA_PML_FASTPATH_HDR_MATCH << MCA_PML_FASTPATH_MATCH_SHIFT(hdr_type)
           | (uint64_t) seq << MCA_PML_FASTPATH_MATCH_SHIFT(hdr_seq)
           | (uint64_t) ctx << MCA_PML_FASTPATH_MATCH_SHIFT(hdr_ctx);
}

/** @return the flags of a match header, where they are in its first 8 bytes */
static inline uint64_t mca_pml_fastpath_match_word0_flags(uint8_t flags)
{
    return (uint64_t) flags << MCA_PML_FASTPATH_MATCH_SHIFT(hdr_flags);
}

/** @return the communicator's number in the first 8 bytes of a match header */
static inline uint32_t mca_pml_fastpath_match_word0_ctx(uint64_t word0)
{
    return (uint32_t) (word0 >> MCA_PML_FASTPATH_MATCH_SHIFT(hdr_ctx));
}

/** @return the last 8 bytes of a match header */
static inline uint64_t mca_pml_fastpath_match_word1(int32_t src, int32_t tag)
{
    return (uint64_t) (uint32_t) src << MCA_PML_FASTPATH_MATCH_SHIFT(hdr_src)
           | (uint64_t) (uint32_t) tag << MCA_PML_FASTPATH_MATCH_SHIFT(hdr_tag);
}

/** @return the sender's rank in the last 8 bytes of a match header */
static inline int32_t mca_pml_fastpath_match_word1_src(uint64_t word1)
{
    return (int32_t) (uint32_t) (word1 >> MCA_PML_FASTPATH_MATCH_SHIFT(hdr_src));
}

/** @return the tag in the last 8 bytes of a match header */
static inline int32_t mca_pml_fastpath_match_word1_tag(uint64_t word1)
{
    return (int32_t) (uint32_t) (word1 >> MCA_PML_FASTPATH_MATCH_SHIFT(hdr_tag));
}

/** RNDV: followed by the first bytes of the message, possibly all or none of them. */
typedef struct {
    mca_pml_fastpath_match_hdr_t hdr_match;
    uint64_t hdr_length;  /**< bytes in the whole message */
    uint64_t hdr_src_req; /**< handle of the sender's request, given back in ACK, PUT and GET_DONE */
} mca_pml_fastpath_rndv_hdr_t;

/** MULTI: followed by the first bytes of the message, and by MULTI_FRAGs with all others. */
typedef struct {
    mca_pml_fastpath_rndv_hdr_t hdr_rndv; /**< its hdr_src_req is the message's id, pml_fastpath_multi.h */
    opal_process_name_t hdr_name;         /**< the sender, which its id belongs to */
} mca_pml_fastpath_multi_hdr_t;

/** MULTI_FRAG: followed by data. May come before the MULTI, whose communicator need not be here either. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[6];
    opal_process_name_t hdr_name; /**< the sender */
    uint64_t hdr_id;              /**< of the message */
    uint64_t hdr_offset;          /**< of the data within the message, bytes */
} mca_pml_fastpath_multi_frag_hdr_t;

/** RGET: followed by the sender's registration handle, and no data. */
typedef struct {
    mca_pml_fastpath_rndv_hdr_t hdr_rndv;
    uint64_t hdr_address; /**< of the message in the sender's memory */
} mca_pml_fastpath_rget_hdr_t;

/** ACK: the receive is known; send bytes [hdr_offset, hdr_offset + hdr_length) in FRAGs. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[6];
    uint64_t hdr_src_req; /**< sender's request */
    uint64_t hdr_dst_req; /**< receiver's request, for the FRAGs */
    uint64_t hdr_offset;  /**< first byte to stream */
    uint64_t hdr_length;  /**< bytes to stream, may be 0 */
    uint64_t
        hdr_wanted; /**< FLAG_FIRST: bytes that will leave the sender from now on, by FRAG and PUT together */
} mca_pml_fastpath_ack_hdr_t;

/** FRAG: followed by data. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[6];
    uint64_t hdr_dst_req; /**< receiver's request */
    uint64_t hdr_offset;  /**< of the data within the message, bytes */
} mca_pml_fastpath_frag_hdr_t;

/** PUT: followed by the receiver's registration handle. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[2];
    uint32_t hdr_handle_size; /**< bytes of registration handle that follow */
    uint64_t hdr_src_req;     /**< sender's request */
    uint64_t hdr_dst_req;     /**< receiver's request, for FRAGs should the write fail */
    uint64_t hdr_rdma;        /**< receiver's record of the operation, given back in PUT_DONE */
    uint64_t hdr_address;     /**< where to write in the receiver's memory */
    uint64_t hdr_offset;      /**< of the range within the message, bytes */
    uint64_t hdr_length;      /**< bytes */
    uint64_t hdr_wanted;      /**< FLAG_FIRST: as in an ACK */
} mca_pml_fastpath_put_hdr_t;

/** HELP. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[6];
    uint64_t hdr_src_req; /**< sender's request */
    uint64_t hdr_dst_req; /**< receiver's request, given back in HELPED */
    uint64_t hdr_address; /**< where to write in the receiver's memory */
    uint64_t hdr_offset;  /**< of the part within the message, bytes */
    uint64_t hdr_length;  /**< bytes */
} mca_pml_fastpath_help_hdr_t;

/**
 * CANCEL. hdr_match names the message, its type is CANCEL. The process that says so is named because the
 * receiver need not have the communicator (yet, or any more).
 */
typedef struct {
    mca_pml_fastpath_match_hdr_t hdr_match;
    uint32_t hdr_sequence;        /**< of the message, all 32 bits */
    uint32_t hdr_epoch;           /**< which communicator of that id, see pml_fastpath_freed.h */
    uint64_t hdr_src_req;         /**< sender's request, given back in CANCELLED */
    opal_process_name_t hdr_name; /**< who has sent the message */
} mca_pml_fastpath_cancel_hdr_t;

/** PASSED. hdr_match names the message, but hdr_src is the rank of the process that says so. */
typedef struct {
    mca_pml_fastpath_match_hdr_t hdr_match; /**< its hdr_src is -1 if that is not known any more */
    opal_process_name_t hdr_name;           /**< who says so */
} mca_pml_fastpath_passed_hdr_t;

/** CREDIT: the process that says so is named because it need not share the communicator any more. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[6];
    opal_process_name_t hdr_name; /**< who has consumed */
    uint64_t hdr_bytes;           /**< may be sent eagerly in addition */
} mca_pml_fastpath_credit_hdr_t;

/** LEAVE. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[6];
    opal_process_name_t hdr_name; /**< who leaves */
} mca_pml_fastpath_leave_hdr_t;

/** HELLO. With port 0 it says nothing, and is sent for the sake of being sent. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[4];
    mca_pml_fastpath_end_t hdr_end; /**< the sender's end of the connection: the remote one at the receiver */
    opal_process_name_t hdr_name;   /**< the sender */
} mca_pml_fastpath_hello_hdr_t;
_Static_assert(32 == sizeof(mca_pml_fastpath_hello_hdr_t), "no padding that nobody has set");

/** EXTCID: followed by a MATCH, RNDV, CANCEL, PASSED or MATCHED, whose hdr_ctx says nothing. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint16_t hdr_padding;
    uint32_t hdr_ctx;              /**< the communicator's number at the sender */
    fastpath_comm_name_t hdr_name; /**< the communicator, for all members */
} mca_pml_fastpath_extcid_hdr_t;
_Static_assert(24 == sizeof(mca_pml_fastpath_extcid_hdr_t), "what follows has to be aligned");

/** KNOWN. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[2];
    int32_t hdr_src;        /**< the sender's rank in the communicator */
    uint32_t hdr_ctx;       /**< the communicator's number at the sender */
    uint32_t hdr_their_ctx; /**< and at the receiver */
} mca_pml_fastpath_known_hdr_t;

/** PUT_DONE, GET_DONE, CANCELLED and HELPED. */
typedef struct {
    uint8_t hdr_type;
    uint8_t hdr_flags;
    uint8_t hdr_padding[6];
    uint64_t hdr_id; /**< PUT_DONE: hdr_rdma of the PUT; HELPED: the receiver's request; else the sender's */
} mca_pml_fastpath_done_hdr_t;

/** Any header without what follows it. */
typedef union {
    uint8_t hdr_type;
    mca_pml_fastpath_match_hdr_t hdr_match;
    mca_pml_fastpath_rndv_hdr_t hdr_rndv;
    mca_pml_fastpath_rget_hdr_t hdr_rget;
    mca_pml_fastpath_ack_hdr_t hdr_ack;
    mca_pml_fastpath_frag_hdr_t hdr_frag;
    mca_pml_fastpath_put_hdr_t hdr_put;
    mca_pml_fastpath_done_hdr_t hdr_done;
    mca_pml_fastpath_help_hdr_t hdr_help;
    mca_pml_fastpath_multi_hdr_t hdr_multi;
    mca_pml_fastpath_multi_frag_hdr_t hdr_multi_frag;
    mca_pml_fastpath_cancel_hdr_t hdr_cancel;
    mca_pml_fastpath_credit_hdr_t hdr_credit;
    mca_pml_fastpath_leave_hdr_t hdr_leave;
    mca_pml_fastpath_hello_hdr_t hdr_hello;
    mca_pml_fastpath_extcid_hdr_t hdr_extcid;
    mca_pml_fastpath_known_hdr_t hdr_known;
    mca_pml_fastpath_passed_hdr_t hdr_passed;
} mca_pml_fastpath_hdr_t;

#endif /* MCA_PML_FASTPATH_HDR_H */
