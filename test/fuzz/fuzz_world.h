/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What targets above the BTLs share: the process is a real one, alone in its job and with stock components,
 * so that Open MPI's lists, datatypes and requests are as ever. The other processes and the BTL to them are
 * played.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/bml/bml.h"
#include "ompi/proc/proc.h"

#include "fuzz.h"

/** processes there seem to be, this one included */
enum { RANKS = 3 };

extern ompi_proc_t *world_procs[RANKS];
/** The BTL; what it can do beyond sending is the target's to add. */
extern mca_btl_base_module_t world_btl;

/** The component has sent something to a process. It is gone when this returns. */
typedef void (*world_heard_t)(int rank, mca_btl_base_tag_t tag, const void *bytes, size_t length);

/** Start Open MPI and make the processes up. The first call of a target. */
void world_init(int *argc, char ***argv, world_heard_t heard);

/** Link the processes made up by the BTL as it is now. */
void world_link(void);

/** @return a new communicator of all of them, in which this process seems to have that rank */
ompi_communicator_t *world_comm_new(int rank);

/** @return the process that the BTL calls so */
static inline int world_rank_of(const struct mca_btl_base_endpoint_t *endpoint)
{
    return (int) (intptr_t) endpoint;
}

/**
 * Have a message arrive, in memory of exactly its length, sometimes in two pieces.
 *
 * @param whole  bytes that lie in the first piece
 */
void world_arrive(mca_btl_base_tag_t tag, const void *bytes, size_t length, size_t whole);

#endif /* FUZZ_WORLD_H */
