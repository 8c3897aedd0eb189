/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Which of the communicators that have had the same id a CANCEL means.
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
#ifndef MCA_PML_FASTPATH_EPOCH_H
#define MCA_PML_FASTPATH_EPOCH_H

#include "pml_fastpath_comm.h"

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

#endif /* MCA_PML_FASTPATH_EPOCH_H */
