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
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"
#if 5 <= OMPI_MAJOR_VERSION
#    include "ompi/runtime/ompi_rte.h"
#else
#    include "ompi/mca/rte/rte.h"
#    include "opal/runtime/opal_cr.h"
#endif

/* The names of 5.0 and later, and what their module table has in addition. */
#if 5 <= OMPI_MAJOR_VERSION
#    define FASTPATH_PML_MODULE_SINCE_5_0                                                                    \
        .pml_flags = MCA_PML_BASE_FLAG_SUPPORTS_EXT_CID, .pml_revoke_comm = mca_pml_fastpath_revoke_comm,
#else
#    define FASTPATH_PML_MODULE_SINCE_5_0
#    define MCA_PML_BASE_VERSION_2_1_0 MCA_PML_BASE_VERSION_2_0_0
#endif

/**
 * Mark a communicator as revoked: its requests end with an error as soon as somebody looks at them.
 * @param coll_only  only those of collective operations
 */
static inline void fastpath_comm_revoke(ompi_communicator_t *comm, bool coll_only)
{
#if 5 <= OMPI_MAJOR_VERSION && OPAL_ENABLE_FT_MPI
    comm->coll_revoked = true;
    comm->comm_revoked = comm->comm_revoked || !coll_only;
#else
    (void) comm;
    (void) coll_only;
#endif
}

/** The name of a communicator whose members have not agreed on an id; the same at all of them. */
typedef struct {
    uint64_t word[2];
} fastpath_comm_name_t;

/** 1 if there are such communicators in this series. */
#define FASTPATH_HAVE_NAMED_COMMS (5 <= OMPI_MAJOR_VERSION)

/** @return whether a communicator is one of those */
static inline bool fastpath_comm_has_name(const ompi_communicator_t *comm)
{
#if FASTPATH_HAVE_NAMED_COMMS
    return !OMPI_COMM_IS_GLOBAL_INDEX(comm);
#else
    (void) comm;
    return false;
#endif
}

/** @return its name */
static inline fastpath_comm_name_t fastpath_comm_name(const ompi_communicator_t *comm)
{
#if FASTPATH_HAVE_NAMED_COMMS
    const ompi_comm_extended_cid_t cid = ompi_comm_get_extended_cid(comm);

    return (fastpath_comm_name_t){.word = {cid.cid_base, cid.cid_sub.u64}};
#else
    (void) comm;
    return (fastpath_comm_name_t){.word = {0, 0}};
#endif
}

/**
 * The communicator's identifier as it travels in a match header.
 *
 * Up to 4.1 all members agree on one number; newer series call the agreed number the local index.
 */
static inline uint32_t fastpath_comm_cid(const ompi_communicator_t *comm)
{
#if 5 <= OMPI_MAJOR_VERSION
    return comm->c_index;
#else
    return comm->c_contextid;
#endif
}

/** @return how many processes our job began with */
static inline uint32_t fastpath_num_procs(void)
{
#if 5 <= OMPI_MAJOR_VERSION
    return opal_process_info.num_procs;
#else
    return (uint32_t) ompi_comm_size(&ompi_mpi_comm_world.comm);
#endif
}

/** @return whether all processes that our job began with are on this node */
static inline bool fastpath_one_node(void)
{
    return fastpath_num_procs() == 1 + (uint32_t) opal_process_info.num_local_peers;
}

/** The members of a communicator that say which one it is, each as FIELD(type, member). */
#if 5 <= OMPI_MAJOR_VERSION
#    define FASTPATH_COMM_ID_FIELDS(FIELD)                                                                   \
        FIELD(ompi_communicator_t, c_contextid), FIELD(ompi_communicator_t, c_contextidb),                   \
            FIELD(ompi_communicator_t, c_index)
#else
#    define FASTPATH_COMM_ID_FIELDS(FIELD) FIELD(ompi_communicator_t, c_contextid)
#endif

/**
 * 1 if the creation of an intercommunicator ends without a step that its members take together: one of them
 * may send before another one has announced it to the PML.
 */
#define FASTPATH_EARLY_INTERCOMMS (6 <= OMPI_MAJOR_VERSION)

/**
 * @return whether Open MPI has given an agreed id to a communicator here, or reserved it while members agree
 * on one; whether that has been announced to the PML, or is its last user, does not matter
 */
static inline bool fastpath_comm_id_is_taken(uint32_t id)
{
    return NULL != opal_pointer_array_get_item(&ompi_mpi_communicators, (int) id);
}

/** Let a communicator that has been announced to the PML be found by its id from now on. */
static inline void fastpath_comm_announced(ompi_communicator_t *comm)
{
#if 5 <= OMPI_MAJOR_VERSION
    OMPI_COMM_SET_PML_ADDED(comm); /* Open MPI does so, too, but only when add_comm has returned */
#else
    (void) comm;
#endif
}

/** Whether `count` elements follow each other without gaps. */
static inline bool fastpath_has_no_gaps(const ompi_datatype_t *datatype, size_t count)
{
    return opal_datatype_is_contiguous_memory_layout(&datatype->super, 1 == count ? 1 : 2);
}

/**
 * Keep what the end of a buffered send looks at from its beginning until then, besides the communicator.
 *
 * Open MPI 6.0 looks for the buffer that holds the copy in the communicator's instance (the session), to
 * which the communicator has no reference.  MPI_Finalize and MPI_Session_finalize release it first, and wait
 * for such copies then.
 *
 * @return what has to be released when the send has given its copy back, or NULL
 */
static inline opal_object_t *fastpath_bsend_retain(ompi_communicator_t *comm)
{
#if 6 <= OMPI_MAJOR_VERSION
    opal_object_t *instance = (opal_object_t *) comm->instance;

    if (NULL != instance) {
        OBJ_RETAIN(instance);
    }
    return instance;
#else
    (void) comm;
    return NULL;
#endif
}

/** Whether `count` elements at `buf` may be moved with memcpy: they follow each other in memory that is no
 * accelerator's. */
static inline bool fastpath_is_contiguous(const void *buf, const ompi_datatype_t *datatype, size_t count)
{
    return fastpath_has_no_gaps(datatype, count) && fastpath_is_host_memory(buf);
}

/** @return whether Open MPI's functions that wait for requests can be replaced: they have no side effects */
static inline bool fastpath_waits_replaceable(void)
{
#if 5 > OMPI_MAJOR_VERSION && OPAL_ENABLE_FT_CR
    return !opal_cr_is_enabled; /* they tell checkpoints */
#else
    return true;
#endif
}

#endif /* FASTPATH_OMPI_COMPAT_H */
