/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Messages on the receiving side: while their callback runs (arrival), while no
 * receive is there for them (message), and while they cannot even be looked at
 * in their turn (parked).
 */
#ifndef MCA_PML_FASTPATH_MESSAGE_H
#define MCA_PML_FASTPATH_MESSAGE_H

#include "pml_fastpath.h"

#include "pml_fastpath_check.h"
#include "pml_fastpath_hdr.h"
#include "pml_fastpath_match.h"

/** What is known of a message that is being delivered, wherever its bytes are. Lives on the stack. */
typedef struct {
    uint8_t type;  /**< MCA_PML_FASTPATH_HDR_MATCH, _RNDV, _RGET or _MULTI */
    uint8_t flags; /**< MCA_PML_FASTPATH_HDR_FLAG_* */
    int32_t src;   /**< sender's rank */
    int32_t tag;
    uint32_t sequence;          /**< its number within (communicator, sender), once its turn has come */
    size_t length;              /**< bytes of the whole message */
    uint64_t src_req;           /**< RNDV, RGET: the sender's request, opaque; MULTI: the message's id */
    uint64_t address;           /**< RGET: of the message in the sender's memory */
    opal_process_name_t name;   /**< MULTI, not kept before: the sender */
    struct mca_pml_fastpath_multi_t
        *multi;                 /**< MULTI: what is known of its fragments, once it was kept; else NULL */
    mca_btl_base_module_t *btl; /**< it came by */
    const mca_btl_base_segment_t
        *segments; /**< of which the first skip bytes are header; then data or handle */
    size_t num_segments;
    size_t skip;
} mca_pml_fastpath_arrival_t;

/** Bytes of a short message that fit into its record. */
#define MCA_PML_FASTPATH_MESSAGE_INLINE 24

/** Data of a longer one, or a registration handle. */
typedef struct {
    size_t size;
    uint8_t bytes[];
} mca_pml_fastpath_payload_t;

/**
 * A message that no receive waits for. 128 bytes: a sender may have any number
 * of nonblocking sends under way, and each of them costs its receiver this much.
 */
typedef struct {
    mca_pml_fastpath_match_msg_t msg; /**< links it; source and tag */
    uint32_t sequence;                /**< its number within (communicator, sender) */
    uint8_t type;                     /**< MCA_PML_FASTPATH_HDR_MATCH, _RNDV, _RGET or _MULTI */
    uint8_t flags;
    uint16_t padding;
    uint64_t length;                     /**< bytes of the whole message */
    mca_pml_fastpath_payload_t *payload; /**< or NULL: then the data of a MATCH is in inlined */
    union {
        uint8_t inlined[MCA_PML_FASTPATH_MESSAGE_INLINE];
        struct {
            uint64_t src_req;
            uint64_t address;
            mca_btl_base_module_t *btl;
        } rndv;
        struct mca_pml_fastpath_multi_t *multi; /**< what is known of its fragments */
    } u;
} mca_pml_fastpath_message_t;
_Static_assert(128 == sizeof(mca_pml_fastpath_message_t), "a message costs its receiver 128 bytes");

/** A message as it arrived, byte for byte: before its turn, or before its communicator. */
typedef struct {
    opal_list_item_t super;
    mca_btl_base_module_t *btl; /**< it came by */
    size_t size;                /**< bytes at hdr: header and what followed it */
    mca_pml_fastpath_hdr_t hdr[];
} mca_pml_fastpath_parked_t;

/** @return bytes that follow the header of an arrival */
static inline size_t mca_pml_fastpath_arrival_payload(const mca_pml_fastpath_arrival_t *arrival)
{
    return mca_pml_fastpath_segments_size(arrival->segments, arrival->num_segments) - arrival->skip;
}

/** @return the message that a link of the matcher belongs to */
static inline mca_pml_fastpath_message_t *mca_pml_fastpath_message_of(mca_pml_fastpath_match_msg_t *msg)
{
    return (mca_pml_fastpath_message_t *) ((char *) msg - offsetof(mca_pml_fastpath_message_t, msg));
}

/** @return bytes that follow the header of a kept message */
static inline size_t mca_pml_fastpath_message_payload(const mca_pml_fastpath_message_t *message)
{
    if (NULL != message->payload) {
        return message->payload->size;
    }
    return MCA_PML_FASTPATH_HDR_MATCH == message->type ? message->length : 0;
}

/** @return bytes of data of a kept message that its sender sends without being asked */
static inline size_t mca_pml_fastpath_message_unasked(const mca_pml_fastpath_message_t *message)
{
    return MCA_PML_FASTPATH_HDR_MULTI == message->type ? message->length
                                                       : mca_pml_fastpath_message_payload(message);
}

/** Prepare what messages are made of; at mca_pml_fastpath_enable(). */
void mca_pml_fastpath_messages_init(void);
/** Release that; at mca_pml_fastpath_close(). */
void mca_pml_fastpath_messages_fini(void);

/** @return bytes of memory that kept messages take now; in most, if not NULL, the most there have been */
size_t mca_pml_fastpath_messages_kept(size_t *most);

/** So many bytes more, or less, are kept of messages beside their first fragments. */
void mca_pml_fastpath_messages_account(int64_t bytes);

/**
 * Keep what arrived in its turn. Does not return when memory is short: the message would be lost.
 * @param multi  what is known of its fragments, if it is a MULTI
 */
mca_pml_fastpath_message_t *mca_pml_fastpath_message_keep(const mca_pml_fastpath_arrival_t *arrival,
                                                          struct mca_pml_fastpath_multi_t *multi);

/**
 * Turn a kept message back into an arrival, whose segment is the caller's. Both
 * are valid until the message is returned.
 */
void mca_pml_fastpath_message_arrival(mca_pml_fastpath_message_t *message, mca_btl_base_segment_t *segment,
                                      mca_pml_fastpath_arrival_t *arrival);

/** @return bytes that follow the header of a parked message */
static inline size_t mca_pml_fastpath_parked_payload(const mca_pml_fastpath_parked_t *parked)
{
    return parked->size - mca_pml_fastpath_rule(parked->hdr->hdr_type)->size;
}

/** @return bytes of data of a parked MATCH, RNDV, RGET or MULTI that its sender sends without being asked */
static inline size_t mca_pml_fastpath_parked_unasked(const mca_pml_fastpath_parked_t *parked)
{
    return MCA_PML_FASTPATH_HDR_MULTI == parked->hdr->hdr_type ? parked->hdr->hdr_rndv.hdr_length
                                                               : mca_pml_fastpath_parked_payload(parked);
}

/** Give a kept message's memory back, but for what is known of fragments: mca_pml_fastpath_multi_return(). */
void mca_pml_fastpath_message_return(mca_pml_fastpath_message_t *message);

/**
 * Keep a message as it arrived; to be released with mca_pml_fastpath_parked_free().
 *
 * @param hdr   its header, as it has been read; NULL: skip does not pass over it, and it has not been read
 * @param skip  bytes of the segments that are not kept: those in front of its data
 */
mca_pml_fastpath_parked_t *mca_pml_fastpath_park(mca_btl_base_module_t *btl,
                                                 const mca_pml_fastpath_hdr_t *hdr,
                                                 const mca_btl_base_segment_t *segments, size_t num_segments,
                                                 size_t skip);
/** Release what mca_pml_fastpath_park() has kept. */
void mca_pml_fastpath_parked_free(mca_pml_fastpath_parked_t *parked);

#endif /* MCA_PML_FASTPATH_MESSAGE_H */
