/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Peers that fail while the others go on: jobs that were started with fault
 * tolerance (mpirun --with-ft ulfm, Open MPI 5.0 on).
 *
 * Open MPI learns that a process has failed and says so to nobody; who waits for
 * a request asks whether it can still complete, and cancels it if not. That is
 * enough for receives that no message has matched. Where a peer is at work on a
 * request, or has to answer, we see to it ourselves: while such a request is
 * under way it is on its peer's list (watched), and progress looks now and then
 * whether somebody has failed.
 *
 * A request that has failed is complete for its user. For us it is not: what the
 * peer sent before it failed may still arrive, and BTLs may call back with its
 * address. So it is kept, and touches the user's memory no
 * more, until all of that has come, or for good.
 */
#ifndef MCA_PML_FASTPATH_FAILURE_H
#define MCA_PML_FASTPATH_FAILURE_H

#include "pml_fastpath_comm.h"
#include "pml_fastpath_watch.h"

/** Called from progress every now and then: looks whether a process has failed. */
void mca_pml_fastpath_failures_look(void);

/** Have the next call of progress look. */
static inline void mca_pml_fastpath_failures_look_soon(void)
{
    mca_pml_fastpath.link_countdown = 0;
}

/**
 * A BTL has lost a process. With fault tolerance it has failed from here on; all others are told.
 * @param proc  NULL: nobody knows which
 * @return false without fault tolerance, or without a process: the job has to end
 */
bool mca_pml_fastpath_failure_report(ompi_proc_t *proc);

/** @return the process that a BTL's endpoint leads to, or NULL */
ompi_proc_t *mca_pml_fastpath_failure_proc_of(const struct mca_btl_base_endpoint_t *endpoint);

/**
 * What an operation says that names a member that mca_pml_fastpath_member_reach() has not reached. Without
 * fault tolerance that is most often a mistake in what the user has chosen: the first one is reported.
 *
 * @return MPI_ERR_PROC_FAILED; OMPI_ERR_OUT_OF_RESOURCE; OMPI_ERR_UNREACH when no BTL leads to it
 */
int mca_pml_fastpath_failure_unreachable(ompi_communicator_t *comm, int rank);

/**
 * Find how to reach the sender of a message that has come. Ends the job where no BTL leads to it.
 *
 * @param member  the sender
 * @return false when its process has failed
 */
bool mca_pml_fastpath_failure_reach_sender(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm,
                                           int rank);

#endif /* MCA_PML_FASTPATH_FAILURE_H */
