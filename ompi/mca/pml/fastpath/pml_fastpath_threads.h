/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Threads that wait for requests (docs/waiting.md, "Threads"). One of them at a time lets everything
 * progress, for all, and may sleep as a process of one thread does; the others sleep until what they wait for
 * is complete, or it is their turn. Who comes while that one sleeps takes its turn.
 *
 * A request says who waits for it by Open MPI's ompi_wait_sync_t, so whoever completes one wakes its thread,
 * whatever request it is.
 */
#ifndef MCA_PML_FASTPATH_THREADS_H
#define MCA_PML_FASTPATH_THREADS_H

#include "pml_fastpath.h"

/** Find out whether threads may wait so: Open MPI can be told to let several of them progress at a time. */
void mca_pml_fastpath_threads_init(void);

/** Give back what is kept. No thread waits any more. */
void mca_pml_fastpath_threads_fini(void);

/**
 * Wait until one of some requests is complete, or all that are active, or one has failed. Now and then it
 * returns too early: the caller looks, and calls again. With several threads only.
 *
 * @param all  wait for all
 * @return     false: it cannot be done here
 */
bool mca_pml_fastpath_threads_await(size_t count, ompi_request_t **requests, bool all);

#endif /* MCA_PML_FASTPATH_THREADS_H */
