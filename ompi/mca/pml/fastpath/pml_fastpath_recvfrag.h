/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What arrives: the callbacks that BTLs call, and the order of messages.
 */
#ifndef MCA_PML_FASTPATH_RECVFRAG_H
#define MCA_PML_FASTPATH_RECVFRAG_H

#include "pml_fastpath_comm.h"

BEGIN_C_DECLS

/**
 * Ask the BML to call us for every kind of header.
 * @return OMPI_SUCCESS or the BML's error
 */
int mca_pml_fastpath_recvfrag_register(void);

/** Deliver what came before its communicator, which exists now. */
void mca_pml_fastpath_orphans_adopt(ompi_communicator_t *comm);

/**
 * Keep what came for a communicator that is not known here.
 * @return the communicator when it has become known meanwhile (nothing was kept then), else NULL
 */
ompi_communicator_t *mca_pml_fastpath_orphan(uint32_t ctx, mca_btl_base_module_t *btl,
                                             const mca_btl_base_segment_t *segments, size_t num_segments);

/** @return the communicator of that index if it is ready to receive, else NULL */
static inline ompi_communicator_t *mca_pml_fastpath_known_comm(uint32_t ctx)
{
    ompi_communicator_t *comm = ompi_comm_lookup(ctx);

    return NULL == comm || NULL == comm->c_pml_comm ? NULL : comm;
}

END_C_DECLS

#endif /* MCA_PML_FASTPATH_RECVFRAG_H */
