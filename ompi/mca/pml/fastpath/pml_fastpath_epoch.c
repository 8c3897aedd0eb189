/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_epoch.h"

/* What there is a number for. */
typedef struct {
    opal_process_name_t name;
    uint32_t ctx;
} epoch_key_t;
_Static_assert(sizeof(opal_process_name_t) + sizeof(uint32_t) == sizeof(epoch_key_t),
               "all bytes are compared");

static uint32_t epoch_last(const epoch_key_t *key)
{
    void *last = NULL;

    (void) opal_hash_table_get_value_ptr(&mca_pml_fastpath.epochs, key, sizeof(*key), &last);
    return (uint32_t) (uintptr_t) last;
}

/* An id that only this process uses for its communicator never means another one. */
static bool is_numbered(const mca_pml_fastpath_comm_t *pml_comm, const ompi_communicator_t *comm)
{
    return FASTPATH_EARLY_INTERCOMMS && OMPI_COMM_IS_INTER(comm)
           && !mca_pml_fastpath_comm_has_extcid(pml_comm);
}

int mca_pml_fastpath_epoch_begin(const mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm)
{
    if (OPAL_LIKELY(!is_numbered(pml_comm, comm))) {
        return OMPI_SUCCESS;
    }
    for (int rank = 0; rank < pml_comm->size; ++rank) {
        const epoch_key_t key = {.name = ompi_group_get_proc_name(comm->c_remote_group, rank),
                                 .ctx = pml_comm->ctx};
        void *next = (void *) (uintptr_t) (epoch_last(&key) + 1);

        if (OPAL_SUCCESS
            != opal_hash_table_set_value_ptr(&mca_pml_fastpath.epochs, &key, sizeof(key), next)) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    return OMPI_SUCCESS;
}

uint32_t mca_pml_fastpath_epoch_number(ompi_communicator_t *comm, opal_process_name_t name)
{
    const mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    uint32_t number = 0;

    if (is_numbered(pml_comm, comm)) {
        const epoch_key_t key = {.name = name, .ctx = pml_comm->ctx};

        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        number = epoch_last(&key);
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    }
    return number;
}

bool mca_pml_fastpath_epoch_is_new(const mca_pml_fastpath_cancel_hdr_t *cancel)
{
    const epoch_key_t key = {.name = cancel->hdr_name, .ctx = cancel->hdr_match.hdr_ctx};

    return cancel->hdr_epoch > epoch_last(&key);
}
