/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Fault tolerance (ULFM), which Open MPI has since 5.0: processes fail, and the others go on.  Where it does
 * not exist all of this is constant and costs nothing.
 */
#ifndef FASTPATH_FT_COMPAT_H
#define FASTPATH_FT_COMPAT_H

#include "compat/fastpath_ompi_compat.h"

#if 5 <= OMPI_MAJOR_VERSION && OPAL_ENABLE_FT_MPI
#    include "ompi/errhandler/errhandler.h"
#    include "ompi/group/group.h"
#    include "ompi/request/request.h"
#    include "ompi/runtime/params.h"
#    define FASTPATH_HAVE_FT 1
#else
#    define FASTPATH_HAVE_FT 0
#    if !defined(MPI_ERR_PROC_FAILED)
#        define MPI_ERR_PROC_FAILED         MPI_ERR_OTHER
#        define MPI_ERR_PROC_FAILED_PENDING MPI_ERR_OTHER
#    endif
#endif

/** @return whether this job has been started with fault tolerance */
static inline bool fastpath_ft(void)
{
#if FASTPATH_HAVE_FT
    return ompi_ftmpi_enabled;
#else
    return false;
#endif
}

/** @return how many processes are known to have failed */
static inline int fastpath_failed_procs(void)
{
#if FASTPATH_HAVE_FT
    int count;

    opal_mutex_lock(&ompi_group_afp_mutex);
    count = NULL == ompi_group_all_failed_procs ? 0 : ompi_group_size(ompi_group_all_failed_procs);
    opal_mutex_unlock(&ompi_group_afp_mutex);
    return count;
#else
    return 0;
#endif
}

/** @return whether a process is known to have failed */
static inline bool fastpath_proc_failed(const ompi_proc_t *proc)
{
#if FASTPATH_HAVE_FT
    return !proc->proc_active;
#else
    (void) proc;
    return false;
#endif
}

/** Tell Open MPI and all other processes that one has failed.  Not to be called with a lock held. */
static inline void fastpath_proc_report_failed(ompi_proc_t *proc)
{
#if FASTPATH_HAVE_FT
    (void) ompi_errhandler_proc_failed(proc);
#else
    (void) proc;
#endif
}

/**
 * What becomes of traffic with this tag on a communicator, whoever the peer is.
 * @return MPI_SUCCESS; or MPI_ERR_REVOKED; or MPI_ERR_PROC_FAILED: a member has failed, and the tag is one of
 *         a collective operation's
 */
static inline int fastpath_comm_error(ompi_communicator_t *comm, int tag)
{
#if FASTPATH_HAVE_FT
    if (OPAL_LIKELY(!ompi_comm_coll_revoked(comm))) {
        return MPI_SUCCESS; /* a communicator that is revoked is this, too */
    }
    if (ompi_comm_is_revoked(comm) && !ompi_request_tag_is_ft(tag)) {
        return MPI_ERR_REVOKED;
    }
    if (ompi_request_tag_is_collective(tag)) {
        return MPI_ERR_PROC_FAILED;
    }
#else
    (void) comm;
    (void) tag;
#endif
    return MPI_SUCCESS;
}

/**
 * Whether a receive or a probe can wait for a message from there.
 * @param src  rank, or MPI_ANY_SOURCE: no as soon as a member has failed and that has not been acknowledged
 * @return MPI_SUCCESS, MPI_ERR_REVOKED or MPI_ERR_PROC_FAILED
 */
static inline int fastpath_source_error(ompi_communicator_t *comm, int src, int tag)
{
    int rc = fastpath_comm_error(comm, tag);

#if FASTPATH_HAVE_FT
    if (MPI_SUCCESS == rc && fastpath_ft() && !ompi_request_tag_is_ft(tag)
        && !ompi_comm_is_proc_active(comm, src, OMPI_COMM_IS_INTER(comm))) {
        rc = MPI_ERR_PROC_FAILED;
    }
#else
    (void) src;
#endif
    return rc;
}

#endif /* FASTPATH_FT_COMPAT_H */
