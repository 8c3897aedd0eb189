/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The memory of a window that an access is about.
 */
#ifndef MCA_OSC_FASTPATH_LOCATE_H
#define MCA_OSC_FASTPATH_LOCATE_H

#include "osc_fastpath_memory.h"

/**
 * Find the memory in this process's window that an access of a peer, or of itself, is about. Where the window
 * is dynamic, inside module.lock.
 *
 * @return OMPI_SUCCESS; OMPI_ERR_RMA_RANGE when it is not all in the window
 */
int mca_osc_fastpath_locate(mca_osc_fastpath_module_t *module, int64_t disp, size_t count,
                            ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory);

/**
 * Find the memory in a peer's window that an access is about. The peer is the own rank or not MESSAGE. Called
 * outside module.lock.
 *
 * @return OMPI_SUCCESS; OMPI_ERR_RMA_RANGE when it is not all in the window; where the window is dynamic,
 * MPI_ERR_PROC_FAILED or OMPI_ERR_OUT_OF_RESOURCE, too
 */
int mca_osc_fastpath_locate_peer(mca_osc_fastpath_peer_t *peer, ptrdiff_t disp, size_t count,
                                 ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory);

/** @return whether an access lies in the target's window, as far as that is known here */
bool mca_osc_fastpath_in_bounds(const mca_osc_fastpath_peer_t *peer, ptrdiff_t disp, size_t count,
                                ompi_datatype_t *type);

#endif /* MCA_OSC_FASTPATH_LOCATE_H */
