/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * How the members of a window on one node come to share memory, which is described in osc_fastpath_shared.h.
 */
#ifndef MCA_OSC_FASTPATH_NODE_H
#define MCA_OSC_FASTPATH_NODE_H

#include "osc_fastpath.h"

/**
 * Share memory with the other members of the node. Collective.
 *
 * @param failed  whether something has gone wrong in this process already, so that all do without
 * @param info    of the window: mpi_minimum_memory_alignment
 *
 * @return OMPI_SUCCESS, also where nothing could be shared, which module.node tells then; OMPI_ERR_RMA_SHARED
 * when the window has to be in shared memory and cannot be
 */
int mca_osc_fastpath_node_make(struct mca_osc_fastpath_module_t *module, bool failed, opal_info_t *info);

/** Unmap it. */
void mca_osc_fastpath_node_free(mca_osc_fastpath_node_t *node);

/** @return index of a rank of the window, or -1 when it is not on this node or nothing is shared */
int mca_osc_fastpath_node_index(const mca_osc_fastpath_node_t *node, int rank);

/** @return where the window of a member is mapped here, if module.node.direct; NULL for no memory among gaps
 */
void *mca_osc_fastpath_node_memory(const struct mca_osc_fastpath_module_t *module, int index);

#endif /* MCA_OSC_FASTPATH_NODE_H */
