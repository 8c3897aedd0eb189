/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Differences between Open MPI series at the OMPI (MPI) level; see fastpath_opal_compat.h.
 */
#ifndef FASTPATH_OMPI_COMPAT_H
#define FASTPATH_OMPI_COMPAT_H

#include "ompi_config.h"

#include "compat/fastpath_opal_compat.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/proc/proc.h"

/**
 * The communicator's identifier as it travels in a match header.
 *
 * Up to 4.1 all members agree on one number; newer series call the agreed number the local index.
 */
static inline uint32_t fastpath_comm_cid(const ompi_communicator_t *comm)
{
    return (uint32_t) comm->c_contextid;
}

/** @return the name of the host that a process runs on, for messages to the user */
static inline const char *fastpath_proc_hostname(const ompi_proc_t *proc)
{
    return NULL == proc->super.proc_hostname ? "another host" : proc->super.proc_hostname;
}

/**
 * May `count` elements be moved with memcpy, because they are one piece of this process's memory?
 *
 * Builds that know accelerators answer no: their buffers may be on a device, which is the convertor's
 * business.
 */
static inline bool fastpath_is_plain(const ompi_datatype_t *datatype, size_t count)
{
#if OPAL_CUDA_SUPPORT
    (void) datatype;
    (void) count;
    return false;
#else
    return opal_datatype_is_contiguous_memory_layout(&datatype->super, 1 == count ? 1 : 2);
#endif
}

#endif /* FASTPATH_OMPI_COMPAT_H */
