/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Nothing that a peer has written is believed: what a message of each type is at
 * least, how a header gets from where a BTL has it to where nobody changes it any
 * more, and what happens to one that makes no sense.
 *
 * A BTL may hand over memory that the sender can still write to. So headers are
 * copied, once, by mca_pml_fastpath_hdr_read(), and only the copy is looked at.
 * Lengths are compared there. What else a header says (ranks, ranges, handles) is
 * compared by who knows what was agreed upon, before it is used.
 */
#ifndef MCA_PML_FASTPATH_CHECK_H
#define MCA_PML_FASTPATH_CHECK_H

#include "pml_fastpath.h"

#include "pml_fastpath_hdr.h"

/** What the length of a message has to be. */
typedef struct {
    size_t size;      /**< bytes of its header; the least, in its first segment */
    size_t behind;    /**< bytes that may follow it, at most; in the same segment, unless SIZE_MAX */
    const char *name; /**< of the type, as in pml_fastpath_hdr.h */
} mca_pml_fastpath_rule_t;

/** The rule for messages of a type that begin with such a header. */
#define MCA_PML_FASTPATH_RULE(type, hdr, behind)                                                             \
    [MCA_PML_FASTPATH_HDR_##type] = {sizeof(mca_pml_fastpath_##hdr##_hdr_t), behind, #type}

/** @return the rule for messages of a type, which is below MCA_PML_FASTPATH_HDR_MAX; 0 bytes: there are none
 */
static inline const mca_pml_fastpath_rule_t *mca_pml_fastpath_rule(uint8_t type)
{
    static const mca_pml_fastpath_rule_t rules[MCA_PML_FASTPATH_HDR_MAX] = {
        MCA_PML_FASTPATH_RULE(MATCH, match, SIZE_MAX),
        MCA_PML_FASTPATH_RULE(RNDV, rndv, SIZE_MAX),
        MCA_PML_FASTPATH_RULE(RGET, rget, MCA_BTL_REG_HANDLE_MAX_SIZE),
        MCA_PML_FASTPATH_RULE(ACK, ack, 0),
        MCA_PML_FASTPATH_RULE(FRAG, frag, SIZE_MAX),
        MCA_PML_FASTPATH_RULE(PUT, put, MCA_BTL_REG_HANDLE_MAX_SIZE),
        MCA_PML_FASTPATH_RULE(PUT_DONE, done, 0),
        MCA_PML_FASTPATH_RULE(GET_DONE, done, 0),
        MCA_PML_FASTPATH_RULE(CANCEL, cancel, 0),
        MCA_PML_FASTPATH_RULE(CANCELLED, done, 0),
        MCA_PML_FASTPATH_RULE(CREDIT, credit, 0),
        MCA_PML_FASTPATH_RULE(LEAVE, leave, 0),
        MCA_PML_FASTPATH_RULE(EXTCID, extcid, SIZE_MAX),
        MCA_PML_FASTPATH_RULE(KNOWN, known, 0),
        MCA_PML_FASTPATH_RULE(HELLO, hello, 0),
        MCA_PML_FASTPATH_RULE(PASSED, passed, 0),
        MCA_PML_FASTPATH_RULE(HELP, help, 0),
        MCA_PML_FASTPATH_RULE(HELPED, done, 0),
        MCA_PML_FASTPATH_RULE(MULTI, multi, SIZE_MAX),
        MCA_PML_FASTPATH_RULE(MULTI_FRAG, multi_frag, SIZE_MAX),
        MCA_PML_FASTPATH_RULE(MATCHED, match, 0),
    };

    return &rules[type];
}

/** @return bytes in all segments together */
static inline size_t mca_pml_fastpath_segments_size(const mca_btl_base_segment_t *segments,
                                                    size_t num_segments)
{
    size_t size = 0;

    for (size_t i = 0; i < num_segments; ++i) {
        size += segments[i].seg_len;
    }
    return size;
}

/**
 * A message makes no sense: say so, and end the job.
 *
 * @param btl     it came by
 * @param proc    who has sent it, or NULL where that is not known
 * @param type    of the message
 * @param reason  what is wrong with it
 */
void mca_pml_fastpath_corrupt(const mca_btl_base_module_t *btl, const ompi_proc_t *proc, uint8_t type,
                              const char *reason) __opal_attribute_noreturn__;

/**
 * A message names something that is not under way here. It makes no sense, unless a process has failed: it
 * may then be about what ended with that.
 */
void mca_pml_fastpath_stray(const mca_btl_base_module_t *btl, uint8_t type, const char *reason);

/**
 * Check the length of what has arrived, and read its header: the only time. Ends the job if it is damaged.
 *
 * @param type  that it has by its BTL's tag
 * @param hdr   receives the header, as many bytes as the rule for the type says
 * @return bytes that follow the header
 */
static inline size_t mca_pml_fastpath_hdr_read(uint8_t type, const mca_btl_base_module_t *btl,
                                               const mca_btl_base_segment_t *segments, size_t num_segments,
                                               void *hdr)
{
    const mca_pml_fastpath_rule_t *rule = mca_pml_fastpath_rule(type);
    const size_t size = mca_pml_fastpath_segments_size(segments, num_segments);

    if (OPAL_UNLIKELY(0 == num_segments || segments->seg_len < rule->size || size - rule->size > rule->behind
                      || (SIZE_MAX != rule->behind && segments->seg_len != size))) {
        mca_pml_fastpath_corrupt(btl, NULL, type, "its length");
    }
    memcpy(hdr, segments->seg_addr.pval, rule->size);
    __asm__ __volatile__("" ::: "memory"); /* and never from there again */
    if (OPAL_UNLIKELY(type != *(const uint8_t *) hdr)) {
        mca_pml_fastpath_corrupt(btl, NULL, type, "another type in its header");
    }
    ++mca_pml_fastpath.arrived;
    return size - rule->size;
}

/** End the job if a process of this name cannot be. */
void mca_pml_fastpath_name_check(const mca_btl_base_module_t *btl, uint8_t type, opal_process_name_t name);

/**
 * @return whether [offset, offset + length) is a part of [0, size)
 */
static inline bool mca_pml_fastpath_is_within(uint64_t offset, uint64_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

/**
 * The sum of the numbers of all bytes of a range, modulo 2^64. What several ranges sum up to tells whether
 * pieces that come in any order, and are as many bytes as those ranges, are those ranges.
 */
static inline int64_t mca_pml_fastpath_range_sum(uint64_t offset, uint64_t length)
{
    const uint64_t triangle = 0 == (length & 1) ? length / 2 * (length - 1) : (length - 1) / 2 * length;

    return (int64_t) (offset * length + triangle);
}

#endif /* MCA_PML_FASTPATH_CHECK_H */
