/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Memory that is attached to dynamic windows, here and at other members of the node.
 */
#ifndef MCA_OSC_FASTPATH_REGIONS_H
#define MCA_OSC_FASTPATH_REGIONS_H

#include "osc_fastpath_memory.h"

/**
 * @param memory  what an access is about, which lies in [begin, end), or NULL: all of that. What lies between
 * its pieces need not be attached (MPI-4.0, section 12.3.1).
 *
 * @return whether that is all in attached memory of this process, pieces of which may lie side by side
 */
bool mca_osc_fastpath_attached(const mca_osc_fastpath_module_t *module, uintptr_t begin, uintptr_t end,
                               const mca_osc_fastpath_memory_t *memory);

/**
 * The same of a COPY peer, whose list is read from its process when it has changed. Outside module.lock.
 *
 * @return OMPI_SUCCESS; OMPI_ERR_RMA_RANGE when it is not; MPI_ERR_PROC_FAILED or OMPI_ERR_OUT_OF_RESOURCE
 */
int mca_osc_fastpath_peer_attached(mca_osc_fastpath_peer_t *peer, uintptr_t begin, uintptr_t end,
                                   const mca_osc_fastpath_memory_t *memory);

#endif /* MCA_OSC_FASTPATH_REGIONS_H */
