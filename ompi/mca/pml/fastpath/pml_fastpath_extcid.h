/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Communicators whose members have not agreed on an id.
 *
 * MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups (MPI-4, 7.4.2) have no communicator to
 * agree over. All that the members have in common is a name of 128 bits from the runtime, too long for
 * a header. So every process gives such a communicator a number of its own, from a space that
 * agreed ids do not use and without ever using one twice, and headers carry the receiver's number. As
 * long as a sender does not know that of a member, it puts the name, and its own number, in front of the
 * header (EXTCID); the member learns from it, and answers the first one with its own number (KNOWN).
 *
 * An EXTCID may come before its communicator exists here, as the collective step that ends its creation
 * already uses it; then it waits. One whose communicator has been freed is dealt with as other messages
 * of freed communicators are (pml_fastpath_pending.h), and for that each name is remembered: some 200 bytes
 * for each communicator of this kind that has ever been. That no number is used again is what keeps
 * a message of one that was freed from being taken for another one's.
 */
#ifndef MCA_PML_FASTPATH_EXTCID_H
#define MCA_PML_FASTPATH_EXTCID_H

#include "pml_fastpath_comm.h"

/** @return bytes that go before the header of a message: none where its receiver's number is known */
static inline size_t mca_pml_fastpath_extcid_size(const mca_pml_fastpath_match_hdr_t *hdr)
{
    return OPAL_LIKELY(mca_pml_fastpath_ctx_is_known(hdr->hdr_ctx)) ? 0
                                                                    : sizeof(mca_pml_fastpath_extcid_hdr_t);
}

/**
 * Write what goes before the header of a message, if anything.
 *
 * @param hdr  of the message
 * @param to   room for what mca_pml_fastpath_extcid_size() says
 * @param type of BTL message: set to EXTCID if something was written
 * @return     where the header itself goes
 */
void *mca_pml_fastpath_extcid_put(const ompi_communicator_t *comm, const mca_pml_fastpath_match_hdr_t *hdr,
                                  void *to, uint8_t *type);

/** Look whether the receiver's number has become known since the header of a message was filled in. */
static inline void mca_pml_fastpath_extcid_look(mca_pml_fastpath_match_hdr_t *hdr,
                                                const ompi_communicator_t *comm, int dst)
{
    if (OPAL_UNLIKELY(!mca_pml_fastpath_ctx_is_known(hdr->hdr_ctx))) {
        hdr->hdr_ctx = mca_pml_fastpath_comm(comm)->members[dst]->ctx;
    }
}

/**
 * A communicator comes into being: give it a number and remember its name.
 * @return its number, or MCA_PML_FASTPATH_CTX_UNKNOWN when memory is short or no number is left
 */
uint32_t mca_pml_fastpath_extcid_begin(const ompi_communicator_t *comm);

/** It is ready to receive; or about to be freed: NULL. The PML is locked. */
void mca_pml_fastpath_extcid_set(uint32_t ctx, ompi_communicator_t *comm);

/**
 * Find a communicator by its name. The PML is locked.
 *
 * @param ctx   set to its number
 * @param comm  set to the communicator; NULL: it is not ready, or has been freed
 * @return false when there has been none of that name
 */
bool mca_pml_fastpath_extcid_find(const fastpath_comm_name_t *name, uint32_t *ctx,
                                  ompi_communicator_t **comm);

/** Make the table of names, which is empty. */
void mca_pml_fastpath_extcid_init(void);
/** Release the table, with the names of communicators that were not freed. */
void mca_pml_fastpath_extcid_fini(void);

#endif /* MCA_PML_FASTPATH_EXTCID_H */
