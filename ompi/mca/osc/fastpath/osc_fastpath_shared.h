/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What the members of a window on one node share: the words of their locks, and the memory of windows that
 * MPI allocates.
 *
 *     header | places | member blocks | posts | memory of each member ...
 *
 * All of it is one file without a name, which the first of them makes with mpool/fastsm and the others open
 * as /proc/PID/fd/FD. Either all of a node have it, or none.
 */
#ifndef MCA_OSC_FASTPATH_SHARED_H
#define MCA_OSC_FASTPATH_SHARED_H

#include "compat/fastpath_osc_compat.h"

#include "osc_fastpath_member.h"

#define MCA_OSC_FASTPATH_NONCE 16

/** Memory of a process by which the others find out whether they reach it. */
typedef struct {
    uint8_t nonce[MCA_OSC_FASTPATH_NONCE];   /**< random; others read it */
    uint8_t written[MCA_OSC_FASTPATH_NONCE]; /**< others write the same here */
} mca_osc_fastpath_probe_t;

/** What the first member tells the others. */
typedef struct {
    uint64_t length; /**< of the file; 0: there is none */
    int32_t pid;     /**< by which it is opened */
    int32_t fd;
    uint8_t nonce[MCA_OSC_FASTPATH_NONCE]; /**< at its begin: tells the file from any other that may be there
                                              by now */
} mca_osc_fastpath_announced_t;

/** What a member of the node says of itself and its window. */
typedef struct {
    uint64_t offset;                       /**< of its memory in the file; if module.node.direct */
    uint64_t address;                      /**< of its memory in its process */
    uint64_t probe;                        /**< in its process: mca_osc_fastpath_probe_t */
    uint8_t nonce[MCA_OSC_FASTPATH_NONCE]; /**< what is there */
    uint64_t bytes;                        /**< of its window */
    int64_t disp_unit;                     /**< of its window */
    uint64_t align;                        /**< its memory begins at a multiple of so many bytes */
    uint32_t rank;                         /**< in the window */
    uint32_t noncontig;                    /**< 1: there may be gaps; if all say so */
    int32_t pid;
} mca_osc_fastpath_place_t;

/** What a process has of the memory that its node shares. Without any it is alone on the node. */
typedef struct {
    int count;                              /**< members on this node, this process included */
    int index;                              /**< of this process among them */
    mca_osc_fastpath_member_t *members;     /**< by index */
    const mca_osc_fastpath_place_t *places; /**< by index, in order of rank; NULL: nothing is shared */
    _Atomic uint32_t *posts;                /**< MPI_Win_post so far; see mca_osc_fastpath_node_posts() */
    size_t posts_stride;                    /**< numbers from one origin's to the next one's */
    char *base;                             /**< where the file is mapped; NULL: nothing is shared */
    size_t length;                          /**< bytes of it */
    bool direct;                            /**< the memory of all members' windows is in it */
    bool copy;         /**< the kernel copies to and from the memory of all members' windows */
    bool everybody;    /**< nobody else is a member of the window, so that there are no messages */
    uint32_t barriers; /**< that this process has come to, so far */
} mca_osc_fastpath_node_t;

/** @return whether members of the node access each other's windows without messages */
static inline bool mca_osc_fastpath_node_reaches(const mca_osc_fastpath_node_t *node)
{
    return node->direct || node->copy;
}

/** @return how often a target of the node has posted for an origin of it; only the target stores there */
static inline _Atomic uint32_t *mca_osc_fastpath_node_posts(const mca_osc_fastpath_node_t *node, int origin,
                                                            int target)
{
    return &node->posts[(size_t) origin * node->posts_stride + (size_t) target];
}

/** Bytes of info key mpi_minimum_memory_alignment, a power of two, or MCA_OSC_FASTPATH_LINE if that is more.
 */
size_t mca_osc_fastpath_alignment(opal_info_t *info);

#endif /* MCA_OSC_FASTPATH_SHARED_H */
