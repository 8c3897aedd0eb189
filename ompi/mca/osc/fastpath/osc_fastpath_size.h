/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * How much memory a window takes. Needs the headers of Open MPI and nothing of its libraries, so that
 * fastpath-memory can link it.
 */
#ifndef MCA_OSC_FASTPATH_SIZE_H
#define MCA_OSC_FASTPATH_SIZE_H

#include <stddef.h>

/** Bytes that a window takes in a process, beside the user's memory and a communicator. */
typedef struct {
    size_t window;  /**< when it has been made, as long as nobody checks bounds */
    size_t peer;    /**< for each member that something goes to or comes from, once */
    size_t tickets; /**< for each MCA_OSC_FASTPATH_TICKETS_CHUNK operations that wait for data at a time */
    size_t puts;    /**< from the first small put on to memory that the kernel copies */
    size_t node;    /**< once for a node: the file that its members share */
} mca_osc_fastpath_window_size_t;

/**
 * Say how much memory a window takes.
 *
 * @param size   members
 * @param local  of them, on this node
 * @param page   bytes of a page
 */
void mca_osc_fastpath_window_size(size_t size, size_t local, size_t page,
                                  mca_osc_fastpath_window_size_t *bytes);

#endif /* MCA_OSC_FASTPATH_SIZE_H */
