/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Processes of other jobs (MPI_Comm_spawn, MPI_Comm_connect): whether they speak our
 * language. Open MPI compares PMLs within a job only. And where processes run, as each publishes it, too: for
 * peers that share our cores though nothing else says so. Containers of one machine look like hosts of their
 * own.
 */
#ifndef MCA_PML_FASTPATH_JOBS_H
#define MCA_PML_FASTPATH_JOBS_H

#include <sched.h>

#include "opal/mca/common/fastpath/common_fastpath_machine.h"

#include "pml_fastpath.h"
#include "pml_fastpath_socket.h"

/** Ends that a process publishes at most; links to further ones are not watched. */
#define MCA_PML_FASTPATH_ENDS 64

/** What a process publishes of where it runs. */
typedef struct {
    uint8_t boot_id[MCA_COMMON_FASTPATH_BOOT_ID_SIZE]; /**< of its kernel; zeros: not known */
    cpu_set_t cores; /**< that it could run on in MPI_Init; sent as far as there is something in it */
} mca_pml_fastpath_place_t;

/** Find out where this process runs. To be called before the modex. */
void mca_pml_fastpath_place_find(void);

/** @return where this process runs */
const mca_pml_fastpath_place_t *mca_pml_fastpath_place_own(void);

/**
 * Tell whoever will meet us which wire headers we use, where we run, and where we listen. To be called before
 * the modex.
 *
 * @param count  of the ends, at most MCA_PML_FASTPATH_ENDS
 */
int mca_pml_fastpath_jobs_publish(const mca_pml_fastpath_end_t *ends, size_t count);

/**
 * Where a process runs, as it has published. May wait for the answer of one that we have not met.
 *
 * @param place  receives it, or zeros
 * @return       false where it has not said so
 */
bool mca_pml_fastpath_jobs_place(const opal_process_name_t *name, mca_pml_fastpath_place_t *place);

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

#endif /* MCA_PML_FASTPATH_JOBS_H */
