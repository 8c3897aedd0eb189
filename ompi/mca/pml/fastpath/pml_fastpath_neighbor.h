/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Neighbors: peers that run on this machine and that btl/fastsm does not count, because it does not reach
 * them or because their process numbers mean nothing here. Whoever counts cores counts them.
 */
#ifndef MCA_PML_FASTPATH_NEIGHBOR_H
#define MCA_PML_FASTPATH_NEIGHBOR_H

#include <sched.h>

#include "pml_fastpath_peer.h"

/** A peer has been connected that may be a neighbor. */
void mca_pml_fastpath_neighbor_add(mca_pml_fastpath_peer_t *peer);

/** A peer is none any more. */
void mca_pml_fastpath_neighbor_remove(const mca_pml_fastpath_peer_t *peer);

/**
 * Looks peers up that have been connected, in what they have published, until one is a neighbor. Each takes
 * 10 us, or milliseconds where cores are short: that waits for threads of the runtime. Called by one thread
 * at a time.
 *
 * @param until  nanoseconds: then none is begun any more
 * @return       whether a neighbor has been found
 */
bool mca_pml_fastpath_neighbor_find(uint64_t until);

/** @return how many neighbors are known, those among them that have left or failed */
size_t mca_pml_fastpath_neighbors(void);

/**
 * What a neighbor could run on in MPI_Init.
 *
 * @param index  from 0
 * @return       false where it has left or failed, or not so many are known any more
 */
bool mca_pml_fastpath_neighbor_cores(size_t index, cpu_set_t *cores);

/** Give back what is kept. */
void mca_pml_fastpath_neighbors_fini(void);

#endif /* MCA_PML_FASTPATH_NEIGHBOR_H */
