/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "pml_fastpath_extcid.h"

/* What is remembered of a communicator, also after its end. */
typedef struct {
    fastpath_comm_name_t name;
    ompi_communicator_t *comm; /* NULL when it has been freed */
    uint32_t ctx;
} record_t;

/* Protected by the PML's lock. */
static struct {
    opal_hash_table_t by_name; /* fastpath_comm_name_t -> record_t, which is the table's */
    opal_hash_table_t by_ctx;  /* number -> the same */
    uint32_t last;             /* number that was given out */
} extcid;

void mca_pml_fastpath_extcid_init(void)
{
    OBJ_CONSTRUCT(&extcid.by_name, opal_hash_table_t);
    OBJ_CONSTRUCT(&extcid.by_ctx, opal_hash_table_t);
    (void) opal_hash_table_init(&extcid.by_name, 16);
    (void) opal_hash_table_init(&extcid.by_ctx, 16);
    extcid.last = MCA_PML_FASTPATH_CTX_OWN;
}

void mca_pml_fastpath_extcid_fini(void)
{
    void *record, *node;
    uint32_t ctx;
    int rc = opal_hash_table_get_first_key_uint32(&extcid.by_ctx, &ctx, &record, &node);

    while (OPAL_SUCCESS == rc) {
        free(record);
        rc = opal_hash_table_get_next_key_uint32(&extcid.by_ctx, &ctx, &record, node, &node);
    }
    OBJ_DESTRUCT(&extcid.by_ctx);
    OBJ_DESTRUCT(&extcid.by_name);
}

/* The PML is locked. */
static bool remember(record_t *record)
{
    if (MCA_PML_FASTPATH_CTX_UNKNOWN - 1 == extcid.last) {
        return false;
    }
    record->ctx = extcid.last + 1;
    if (OPAL_SUCCESS
        != opal_hash_table_set_value_ptr(&extcid.by_name, &record->name, sizeof(record->name), record)) {
        return false;
    }
    if (OPAL_SUCCESS != opal_hash_table_set_value_uint32(&extcid.by_ctx, record->ctx, record)) {
        (void) opal_hash_table_remove_value_ptr(&extcid.by_name, &record->name, sizeof(record->name));
        return false;
    }
    ++extcid.last;
    return true;
}

uint32_t mca_pml_fastpath_extcid_begin(const ompi_communicator_t *comm)
{
    record_t *record = calloc(1, sizeof(*record));
    uint32_t ctx = MCA_PML_FASTPATH_CTX_UNKNOWN;

    if (NULL == record) {
        return ctx;
    }
    record->name = fastpath_comm_name(comm);
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    if (remember(record)) {
        ctx = record->ctx;
        record = NULL;
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    free(record);
    return ctx;
}

void *mca_pml_fastpath_extcid_put(const ompi_communicator_t *comm, const mca_pml_fastpath_match_hdr_t *hdr,
                                  void *to, uint8_t *type)
{
    mca_pml_fastpath_extcid_hdr_t *front = to;

    if (OPAL_LIKELY(mca_pml_fastpath_ctx_is_known(hdr->hdr_ctx))) {
        return to;
    }
    front->hdr_type = MCA_PML_FASTPATH_HDR_EXTCID;
    front->hdr_flags = 0;
    front->hdr_padding = 0;
    front->hdr_ctx = mca_pml_fastpath_comm(comm)->ctx;
    front->hdr_name = fastpath_comm_name(comm);
    *type = MCA_PML_FASTPATH_HDR_EXTCID;
    return front + 1;
}

void mca_pml_fastpath_extcid_set(uint32_t ctx, ompi_communicator_t *comm)
{
    void *record = NULL;

    (void) opal_hash_table_get_value_uint32(&extcid.by_ctx, ctx, &record);
    ((record_t *) record)->comm = comm;
}

bool mca_pml_fastpath_extcid_find(const fastpath_comm_name_t *name, uint32_t *ctx, ompi_communicator_t **comm)
{
    const record_t *record;
    void *found;

    *comm = NULL;
    if (OPAL_SUCCESS != opal_hash_table_get_value_ptr(&extcid.by_name, name, sizeof(*name), &found)) {
        return false;
    }
    record = found;
    *ctx = record->ctx;
    *comm = record->comm;
    return true;
}
