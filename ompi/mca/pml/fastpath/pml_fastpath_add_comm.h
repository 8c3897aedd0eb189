/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The end of a communicator, where it is noticed before Open MPI says so.
 */
#ifndef MCA_PML_FASTPATH_ADD_COMM_H
#define MCA_PML_FASTPATH_ADD_COMM_H

#include "pml_fastpath_comm.h"

/**
 * And no longer: its last user has let it go. What CANCELs have to know of it is remembered. Does nothing
 * when that has been done. The PML is locked.
 */
void mca_pml_fastpath_comm_end(mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm);

#endif /* MCA_PML_FASTPATH_ADD_COMM_H */
