/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "pml_fastpath_cancel.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_freed.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_number.h"
#include "pml_fastpath_pending.h"
#include "pml_fastpath_recvfrag.h"

/* What is remembered of a communicator, also after its end. */
typedef struct {
    fastpath_comm_name_t name;
    ompi_communicator_t *comm; /* NULL when it has been freed */
    uint32_t ctx;
} record_t;

/* A message whose communicator is not here yet. */
typedef struct {
    opal_list_item_t super;
    mca_pml_fastpath_extcid_hdr_t hdr;
    mca_pml_fastpath_parked_t *parked;
} waiting_t;
static OBJ_CLASS_INSTANCE(waiting_t, opal_list_item_t, NULL, NULL);

/* Protected by the PML's lock. */
static struct {
    opal_hash_table_t by_name; /* fastpath_comm_name_t -> record_t, which is the table's */
    opal_hash_table_t by_ctx;  /* number -> the same */
    opal_list_t waiting;       /* waiting_t in the order of their arrival */
    uint32_t last;             /* number that was given out */
} extcid;

void mca_pml_fastpath_extcid_init(void)
{
    OBJ_CONSTRUCT(&extcid.by_name, opal_hash_table_t);
    OBJ_CONSTRUCT(&extcid.by_ctx, opal_hash_table_t);
    OBJ_CONSTRUCT(&extcid.waiting, opal_list_t);
    (void) opal_hash_table_init(&extcid.by_name, 16);
    (void) opal_hash_table_init(&extcid.by_ctx, 16);
    extcid.last = MCA_PML_FASTPATH_CTX_OWN;
}

void mca_pml_fastpath_extcid_fini(void)
{
    waiting_t *waiting;
    void *record, *node;
    uint32_t ctx;
    int rc = opal_hash_table_get_first_key_uint32(&extcid.by_ctx, &ctx, &record, &node);

    while (OPAL_SUCCESS == rc) {
        free(record);
        rc = opal_hash_table_get_next_key_uint32(&extcid.by_ctx, &ctx, &record, node, &node);
    }
    while (NULL != (waiting = (waiting_t *) opal_list_remove_first(&extcid.waiting))) {
        mca_pml_fastpath_parked_free(waiting->parked);
        OBJ_RELEASE(waiting);
    }
    OBJ_DESTRUCT(&extcid.waiting);
    OBJ_DESTRUCT(&extcid.by_ctx);
    OBJ_DESTRUCT(&extcid.by_name);
}

static record_t *find_ctx(uint32_t ctx)
{
    void *record = NULL;

    (void) opal_hash_table_get_value_uint32(&extcid.by_ctx, ctx, &record);
    return record;
}

static record_t *find_name(const fastpath_comm_name_t *name)
{
    void *record = NULL;

    (void) opal_hash_table_get_value_ptr(&extcid.by_name, name, sizeof(*name), &record);
    return record;
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

void mca_pml_fastpath_extcid_end(uint32_t ctx)
{
    find_ctx(ctx)->comm = NULL;
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

/* Whether a process can have given a communicator this number. */
static bool is_number(uint32_t ctx)
{
    return mca_pml_fastpath_ctx_is_own(ctx) && mca_pml_fastpath_ctx_is_known(ctx);
}

/* Learn what a member calls the communicator. */
static mca_pml_fastpath_member_t *learn(const mca_btl_base_module_t *btl, uint8_t type,
                                        ompi_communicator_t *comm, int src, uint32_t ctx)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    mca_pml_fastpath_member_t *member;

    if (OPAL_UNLIKELY(0 > src || src >= pml_comm->size || !mca_pml_fastpath_comm_has_extcid(pml_comm))) {
        mca_pml_fastpath_corrupt(btl, NULL, type, "sender's rank out of range");
    }
    member = mca_pml_fastpath_member(pml_comm, src);
    if (NULL == member) {
        mca_pml_fastpath_abort("no memory", "a communicator's member", "malloc");
    }
    if (OPAL_UNLIKELY(!is_number(ctx)
                      || (mca_pml_fastpath_ctx_is_known(member->ctx) && ctx != member->ctx))) {
        mca_pml_fastpath_corrupt(btl, NULL, type, "the sender's number of the communicator");
    }
    member->ctx = ctx;
    return member;
}

/* Tell a member, once, what the communicator is called here. */
static void tell(ompi_communicator_t *comm, mca_pml_fastpath_member_t *member, int rank)
{
    const mca_pml_fastpath_known_hdr_t known = {.hdr_type = MCA_PML_FASTPATH_HDR_KNOWN,
                                                .hdr_src = comm->c_my_rank,
                                                .hdr_ctx = mca_pml_fastpath_comm(comm)->ctx,
                                                .hdr_their_ctx = member->ctx};

    if (member->told) {
        return;
    }
    member->told = true; /* another thread may do the same, which costs a message */
    if (mca_pml_fastpath_failure_reach_sender(member, comm, rank)) {
        mca_pml_fastpath_control_send(member->peer, NULL, &known, sizeof(known));
    }
}

/* A message as if it had come with our number; if comm is NULL it has been freed. */
static void deliver(ompi_communicator_t *comm, uint32_t ctx, const mca_pml_fastpath_extcid_hdr_t *hdr,
                    mca_pml_fastpath_parked_t *parked)
{
    int src = parked->hdr->hdr_match.hdr_src;

    parked->hdr->hdr_match.hdr_ctx = ctx;
    if (NULL != comm) {
        mca_pml_fastpath_member_t *member = learn(parked->btl, hdr->hdr_type, comm, src, hdr->hdr_ctx);

        tell(comm, member, src);
    }
    if (MCA_PML_FASTPATH_HDR_CANCEL == parked->hdr->hdr_type) {
        mca_pml_fastpath_cancel_requested(parked->btl, &parked->hdr->hdr_cancel);
    } else if (MCA_PML_FASTPATH_HDR_PASSED == parked->hdr->hdr_type) {
        mca_pml_fastpath_number_passed(parked->btl, &parked->hdr->hdr_passed);
    } else {
        mca_pml_fastpath_recvfrag_replay(parked);
    }
    mca_pml_fastpath_parked_free(parked);
}

/* @return whether the communicator is here, with a reference in comm, or has been; else the message waits for
 * it
 */
static bool find_or_wait(const mca_pml_fastpath_extcid_hdr_t *hdr, mca_pml_fastpath_parked_t *parked,
                         uint32_t *ctx, ompi_communicator_t **comm)
{
    const record_t *record;
    waiting_t *waiting;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    record = find_name(&hdr->hdr_name);
    *comm = NULL == record || NULL == record->comm ? NULL : mca_pml_fastpath_comm_hold_locked(record->ctx);
    if (NULL != record && (NULL != *comm || mca_pml_fastpath_freed_is(record->ctx))) {
        *ctx = record->ctx;
    } else {
        record = NULL;
        waiting = OBJ_NEW(waiting_t);
        if (NULL == waiting) {
            mca_pml_fastpath_abort("no memory", "a message that came early", "malloc");
        }
        waiting->hdr = *hdr;
        waiting->parked = parked;
        opal_list_append(&extcid.waiting, &waiting->super);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return NULL != record;
}

/* What follows the name has to be a message that goes by it. It is not read yet. */
static void check(const mca_pml_fastpath_parked_t *parked)
{
    const mca_btl_base_segment_t segment = {.seg_addr.pval = (void *) (uintptr_t) parked->hdr,
                                            .seg_len = parked->size};
    const uint8_t type = 0 < parked->size ? parked->hdr->hdr_type : 0;
    mca_pml_fastpath_hdr_t hdr;
    size_t behind;

    if (MCA_PML_FASTPATH_HDR_MATCH != type && MCA_PML_FASTPATH_HDR_RNDV != type
        && MCA_PML_FASTPATH_HDR_CANCEL != type && MCA_PML_FASTPATH_HDR_PASSED != type) {
        mca_pml_fastpath_corrupt(parked->btl, NULL, MCA_PML_FASTPATH_HDR_EXTCID, "type of its message");
    }
    behind = mca_pml_fastpath_hdr_read(type, parked->btl, &segment, 1, &hdr);
    if (MCA_PML_FASTPATH_HDR_RNDV == type) {
        mca_pml_fastpath_rndv_check(parked->btl, &hdr, behind);
    }
}

void mca_pml_fastpath_extcid_arrived(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,
                                     size_t num_segments)
{
    mca_pml_fastpath_parked_t *parked;
    mca_pml_fastpath_extcid_hdr_t hdr;
    ompi_communicator_t *comm;
    uint32_t ctx;

    (void) mca_pml_fastpath_hdr_read(MCA_PML_FASTPATH_HDR_EXTCID, btl, segments, num_segments, &hdr);
    if (OPAL_UNLIKELY(!is_number(hdr.hdr_ctx))) {
        mca_pml_fastpath_corrupt(btl, NULL, hdr.hdr_type, "the sender's number of the communicator");
    }
    parked = mca_pml_fastpath_park(btl, NULL, segments, num_segments, sizeof(hdr));
    check(parked);
    if (find_or_wait(&hdr, parked, &ctx, &comm)) {
        deliver(comm, ctx, &hdr, parked);
        if (NULL != comm) {
            OBJ_RELEASE(comm);
        }
    }
}

void mca_pml_fastpath_extcid_adopt(ompi_communicator_t *comm)
{
    const uint32_t ctx = mca_pml_fastpath_comm(comm)->ctx;
    const fastpath_comm_name_t name = fastpath_comm_name(comm);
    waiting_t *waiting, *next;
    opal_list_t adopted;

    OBJ_CONSTRUCT(&adopted, opal_list_t);
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    find_ctx(ctx)->comm = comm;
    OPAL_LIST_FOREACH_SAFE(waiting, next, &extcid.waiting, waiting_t)
    {
        if (0 == memcmp(&waiting->hdr.hdr_name, &name, sizeof(name))) {
            opal_list_remove_item(&extcid.waiting, &waiting->super);
            opal_list_append(&adopted, &waiting->super);
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    while (NULL != (waiting = (waiting_t *) opal_list_remove_first(&adopted))) {
        deliver(comm, ctx, &waiting->hdr, waiting->parked);
        OBJ_RELEASE(waiting);
    }
    OBJ_DESTRUCT(&adopted);
}

void mca_pml_fastpath_known_arrived(const mca_btl_base_module_t *btl, const mca_pml_fastpath_known_hdr_t *hdr)
{
    ompi_communicator_t *comm = mca_pml_fastpath_comm_hold(hdr->hdr_their_ctx);

    if (NULL != comm) {
        (void) learn(btl, hdr->hdr_type, comm, hdr->hdr_src, hdr->hdr_ctx);
        OBJ_RELEASE(comm);
    }
}
