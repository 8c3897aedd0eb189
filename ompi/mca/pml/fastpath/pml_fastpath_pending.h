/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What arrives for a communicator that this process does not have.
 *
 * A communicator is made known to us (add_comm) before the collective step that
 * ends its creation, so no member sends on it before all members know it; but
 * since Open MPI 6.0 that step is missing for intercommunicators. So there are:
 *
 * - The communicator has not been made known yet: that of a job's start, which
 *   others may leave earlier, or an intercommunicator. Its messages wait here, in
 *   the order of arrival.
 * - It has been freed here. Then nobody can receive the message any more, and
 *   the id may soon mean another communicator: it is dropped at once, its cost is
 *   given back to its sender, and a CANCEL is answered from memory
 *   (pml_fastpath_freed.h). All messages that may legally be under way at this
 *   moment are those that are cancelled, and those of a communicator that has been
 *   revoked.
 * - It may be either: an intercommunicator is being made that may get this id.
 *   The message waits; its CANCEL says which of them it means
 *   (pml_fastpath_freed.h).
 */
#ifndef MCA_PML_FASTPATH_PENDING_H
#define MCA_PML_FASTPATH_PENDING_H

#include "pml_fastpath_comm.h"
#include "pml_fastpath_message.h"

/**
 * See to a MATCH, RNDV, RGET, MULTI or CANCEL of a communicator that is not known here.
 * Not to be called with a lock held.
 *
 * @param hdr   as it has been read
 * @param skip  bytes of the segments in front of what follows the header
 * @return the communicator, with a reference for the caller, when it has become
 *         known meanwhile (then nothing has been done), else NULL
 */
ompi_communicator_t *mca_pml_fastpath_pending(mca_btl_base_module_t *btl, const mca_pml_fastpath_hdr_t *hdr,
                                              const mca_btl_base_segment_t *segments, size_t num_segments,
                                              size_t skip);

/**
 * A message that nobody can receive is dropped: its sender may send as much again.
 * @param lost    the message, or NULL: nothing is done
 */
void mca_pml_fastpath_pending_drop(const mca_pml_fastpath_parked_t *lost, opal_process_name_t sender);

#endif /* MCA_PML_FASTPATH_PENDING_H */
