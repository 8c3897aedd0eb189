/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Datatypes of targets. One that is not predefined is described to a target once and then named by its slot.
 * A slot that is used again has a new generation. Descriptions travel in the packets, so that they are there
 * before the operations that need them.
 */
#ifndef MCA_OSC_FASTPATH_TYPES_H
#define MCA_OSC_FASTPATH_TYPES_H

#include "osc_fastpath.h"

/** Datatypes that a peer knows at a time. */
#define MCA_OSC_FASTPATH_TYPE_SLOTS 32

/** A datatype in a slot. */
typedef struct {
    ompi_datatype_t *type; /**< retained; NULL: none yet */
    uint32_t generation;
    uint64_t used;     /**< origin: when it was used last */
    unsigned users;    /**< origin: operations that name it and are still on their way into packets */
    void *description; /**< target: what has come so far, or NULL */
    size_t described;  /**< target: bytes of it that have come */
} mca_osc_fastpath_type_slot_t;

/** The slots of one origin at one target, on either side. */
typedef struct mca_osc_fastpath_types_t {
    uint64_t clock; /**< origin: counts uses */
    mca_osc_fastpath_type_slot_t slots[MCA_OSC_FASTPATH_TYPE_SLOTS];
} mca_osc_fastpath_types_t;

/** Origin: how a type is named in a packet. */
typedef struct {
    uint32_t type;
    uint32_t generation;
    const void *description; /**< to be sent before it is used, or NULL */
    size_t length;           /**< of the description */
    uint64_t sum;            /**< checksum of it */
} mca_osc_fastpath_type_name_t;

/** Origin: @return whether a type can be named. Not while all slots are used by operations on their way into
 * packets. */
bool mca_osc_fastpath_type_nameable(const mca_osc_fastpath_peer_t *peer, const ompi_datatype_t *type);

/**
 * Origin: name a datatype that can be named for a target. The name holds until
 * mca_osc_fastpath_type_release(), also when other threads name other types.
 *
 * @return OMPI_SUCCESS; OMPI_ERR_TYPE_MISMATCH for a type that cannot be described; OMPI_ERR_OUT_OF_RESOURCE
 */
int mca_osc_fastpath_type_name(mca_osc_fastpath_peer_t *peer, ompi_datatype_t *type,
                               mca_osc_fastpath_type_name_t *name);

/** Origin: an operation whose type has been named is all in packets, or given up. */
void mca_osc_fastpath_type_release(mca_osc_fastpath_peer_t *peer, uint32_t type);

/** Origin: the description that mca_osc_fastpath_type_name() has asked for has not been sent. */
void mca_osc_fastpath_type_unsent(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_type_name_t *name);

/**
 * Target: a piece of a description has come.
 *
 * @return OMPI_SUCCESS; OMPI_ERR_OUT_OF_RESOURCE; OMPI_ERR_BAD_PARAM if the piece is malformed or out of
 *         order, which only corruption can cause
 */
int mca_osc_fastpath_type_described(mca_osc_fastpath_peer_t *peer, const mca_osc_fastpath_op_hdr_t *hdr,
                                    const void *data);

/** Target: @return the type of a name in a packet, or NULL when there is none */
ompi_datatype_t *mca_osc_fastpath_type_find(mca_osc_fastpath_peer_t *peer, uint32_t type,
                                            uint32_t generation);

/** Forget all of a side's types. */
void mca_osc_fastpath_types_free(mca_osc_fastpath_types_t *types);

#endif /* MCA_OSC_FASTPATH_TYPES_H */
