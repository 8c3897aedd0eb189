/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Processes of other jobs (MPI_Comm_spawn, MPI_Comm_connect): whether they speak our
 * language. Open MPI compares PMLs within a job only.
 */
#ifndef MCA_PML_FASTPATH_JOBS_H
#define MCA_PML_FASTPATH_JOBS_H

#include "pml_fastpath.h"

#include "pml_fastpath_end.h"

BEGIN_C_DECLS

/** Tell whoever will meet us which wire headers we use, and where we listen. To be called before the modex.
 */
int mca_pml_fastpath_jobs_publish(void);

/**
 * Where a process listens, as it has published. May wait for the answer of one that we have not met.
 *
 * @param ends  set to them, malloc'ed, or NULL
 * @return      how many there are
 */
size_t mca_pml_fastpath_jobs_ends(const opal_process_name_t *name, mca_pml_fastpath_end_t **ends);

/**
 * Check processes that are to be added. Those of our own job pass.
 *
 * @return OMPI_SUCCESS, or OMPI_ERR_NOT_SUPPORTED when one belongs to a job with another PML or other wire
 *         headers; a help text has then said so
 */
int mca_pml_fastpath_jobs_check(ompi_proc_t **procs, size_t nprocs);

/**
 * Add the processes of other jobs that a new communicator connects us with. Open MPI 4.1 does so itself; 5.0
 * and 6.0 hand an empty list to add_procs, and somebody who only receives would never know who sends.
 * @return as add_procs
 */
int mca_pml_fastpath_jobs_meet(ompi_communicator_t *comm);

/** @return how many processes btl/fastsm could not serve although they count on it; it has said why */
uint32_t mca_pml_fastpath_jobs_refused(void);

END_C_DECLS

#endif /* MCA_PML_FASTPATH_JOBS_H */
