/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What is remembered of communicators that were freed here: which messages had
 * been matched by then. Their senders may still have them and cancel a send.
 *
 * Per id and process that sent something: the number of its next message, and
 * of those before it the ones that nobody had received. It is forgotten when the
 * same process has sent something on a later communicator with that id, or was
 * a member of one, which it could not be while it had the earlier one. So the
 * memory follows the number of ids and processes, not that of communicators.
 *
 * And epochs: which of the communicators that have had the same id a CANCEL means.
 *
 * Since Open MPI 6.0 a message may come on an intercommunicator that is not
 * known here yet, with an id that meant another communicator before. Two
 * processes have their intercommunicators of one id one after the other, each
 * of them in both; so both can number them, from 1. A CANCEL carries that
 * number, and 0 for an intracommunicator, which nobody uses before all know it.
 *
 * A number is kept for each id and process, until the end: one that has been
 * forgotten could be given again. Where intercommunicators do not come early
 * nothing is kept, and all numbers are 0.
 */
#ifndef MCA_PML_FASTPATH_FREED_H
#define MCA_PML_FASTPATH_FREED_H

#include "pml_fastpath_comm.h"

/** A communicator is about to be freed. Its members' early messages have not been released. It is locked, and
 * so is the PML. */
void mca_pml_fastpath_freed_remember(const mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm);

/** @return whether a communicator of that id was freed here. The PML is locked. */
bool mca_pml_fastpath_freed_is(uint32_t ctx);

/**
 * Whether the communicator that has a message's id here is the one that its sender means. Ids are unique
 * within each process only, and ours may have been freed and its id used again while the sender's lives on.
 * Ends the job if no communicator can be meant. Locks the PML.
 *
 * @param name  the sender
 * @return      false when it is one that has been freed here
 */
bool mca_pml_fastpath_is_meant(const mca_btl_base_module_t *btl, ompi_communicator_t *comm,
                               const mca_pml_fastpath_match_hdr_t *hdr, opal_process_name_t name);

/**
 * The answer to a CANCEL whose communicator was freed here. The PML is locked.
 * @return whether the message that it names was, or will be, received by nobody
 */
bool mca_pml_fastpath_freed_dropped(const mca_pml_fastpath_cancel_hdr_t *cancel);

/**
 * The process that has sent a message whose communicator was freed here. The PML is locked.
 *
 * @param rank  of the sender, in the last communicator of that id
 * @param name  receives the process
 * @return      false: nothing is known of such a communicator, or of such a rank
 */
bool mca_pml_fastpath_freed_sender(uint32_t ctx, int rank, opal_process_name_t *name);

/** Forget everything. */
void mca_pml_fastpath_freed_fini(void);

/**
 * Number a new communicator, for each process of the other group. The PML is locked.
 * @return OMPI_SUCCESS, or OMPI_ERR_OUT_OF_RESOURCE
 */
int mca_pml_fastpath_epoch_begin(const mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm);

/** @return the number of a communicator that we have with that process; locks the PML */
uint32_t mca_pml_fastpath_epoch_number(ompi_communicator_t *comm, opal_process_name_t name);

/** @return whether the communicator that a CANCEL means has not been made known here yet. The PML is locked.
 */
bool mca_pml_fastpath_epoch_is_new(const mca_pml_fastpath_cancel_hdr_t *cancel);

#endif /* MCA_PML_FASTPATH_FREED_H */
