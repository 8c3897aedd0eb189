/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What arrives: the callbacks that BTLs call, and the messages that have to be
 * kept because no receive is there for them.
 */
#ifndef MCA_PML_FASTPATH_RECVFRAG_H
#define MCA_PML_FASTPATH_RECVFRAG_H

#include "pml_fastpath_comm.h"

BEGIN_C_DECLS

/** @return the message that a link of the matcher belongs to */
static inline mca_pml_fastpath_message_t *mca_pml_fastpath_message_of(mca_pml_fastpath_match_msg_t *msg)
{
    return (mca_pml_fastpath_message_t *) ((char *) msg - offsetof(mca_pml_fastpath_message_t, msg));
}

/** @return bytes in all segments together */
static inline size_t mca_pml_fastpath_segments_size(const mca_btl_base_segment_t *segments, size_t num_segments)
{
    size_t size = 0;

    for (size_t i = 0; i < num_segments; ++i) {
        size += segments[i].seg_len;
    }
    return size;
}

/** Give a kept message's memory back. */
void mca_pml_fastpath_message_return(mca_pml_fastpath_message_t *message);

/** @return bytes that a probe reports for a kept message */
size_t mca_pml_fastpath_message_length(const mca_pml_fastpath_message_t *message);

/**
 * Ask the BML to call us for every kind of header.
 * @return OMPI_SUCCESS or the BML's error
 */
int mca_pml_fastpath_recvfrag_register(void);

/** Deliver the messages that came before their communicator, which exists now. */
void mca_pml_fastpath_orphans_adopt(ompi_communicator_t *comm);

END_C_DECLS

#endif /* MCA_PML_FASTPATH_RECVFRAG_H */
