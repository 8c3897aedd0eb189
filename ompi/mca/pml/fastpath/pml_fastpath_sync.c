/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_check.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_sync.h"

/* Lists of the table: requests whose numbers have the same lower bits are in the same one. */
#define LISTS 64u

static struct {
    opal_mutex_t lock; /* taken last */
    mca_pml_fastpath_send_request_t *first[LISTS];
} table = {.lock = OPAL_MUTEX_STATIC_INIT};

/* Take a request out of the table. @return it, or NULL when it is not there */
static mca_pml_fastpath_send_request_t *take_awaiting(const mca_pml_fastpath_member_t *member,
                                                      uint32_t number)
{
    mca_pml_fastpath_send_request_t **link = &table.first[number % LISTS];
    mca_pml_fastpath_send_request_t *req;

    OPAL_THREAD_LOCK(&table.lock);
    while (NULL != *link && (number != (*link)->req_sequence || member != (*link)->req_member)) {
        link = &(*link)->req_sync_next;
    }
    req = *link;
    if (NULL != req) {
        *link = req->req_sync_next;
    }
    OPAL_THREAD_UNLOCK(&table.lock);
    return req;
}

void mca_pml_fastpath_sync_begin(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_fastpath_send_request_t **first = &table.first[req->req_sequence % LISTS];

    req->req_hdr.hdr_flags |= MCA_PML_FASTPATH_HDR_FLAG_SYNC;
    mca_pml_fastpath_send_request_await_answer(req, 0);
    OPAL_THREAD_LOCK(&table.lock);
    req->req_sync_next = *first;
    *first = req;
    OPAL_THREAD_UNLOCK(&table.lock);
}

void mca_pml_fastpath_sync_end(mca_pml_fastpath_send_request_t *req)
{
    (void) take_awaiting(req->req_member, req->req_sequence);
}

void mca_pml_fastpath_sync_refused(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_fastpath_sync_end(req);
    req->req_hdr.hdr_flags &= (uint8_t) ~MCA_PML_FASTPATH_HDR_FLAG_SYNC;
    if (mca_pml_fastpath_send_request_answered(req, false)) {
        (void) OPAL_THREAD_ADD_FETCH64(&req->req_todo, -MCA_PML_FASTPATH_TODO_UNKNOWN);
    }
}

/* The member that a MATCHED is from; NULL: there is none. */
static mca_pml_fastpath_member_t *member_of(const mca_pml_fastpath_comm_t *pml_comm, int32_t src)
{
    return 0 <= src && src < pml_comm->size ? pml_comm->members[src] : NULL;
}

void mca_pml_fastpath_sync_matched(const mca_btl_base_module_t *btl, const mca_pml_fastpath_match_hdr_t *hdr)
{
    ompi_communicator_t *comm = mca_pml_fastpath_comm_hold(hdr->hdr_ctx);
    mca_pml_fastpath_member_t *member =
        NULL == comm ? NULL : member_of(mca_pml_fastpath_comm(comm), hdr->hdr_src);
    mca_pml_fastpath_send_request_t *req =
        NULL == member ? NULL : take_awaiting(member, (uint32_t) hdr->hdr_tag);

    if (OPAL_UNLIKELY(NULL == req)) {
        mca_pml_fastpath_stray(btl, hdr->hdr_type, "message that it names");
    } else if (!mca_pml_fastpath_has_failed(&req->req_watch)
               && OPAL_LIKELY(mca_pml_fastpath_send_request_answered(req, false))) {
        mca_pml_fastpath_send_request_progressed(req, MCA_PML_FASTPATH_TODO_UNKNOWN);
    }
    if (NULL != comm) {
        OBJ_RELEASE(comm);
    }
}

void mca_pml_fastpath_sync_tell(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm, int rank,
                                uint32_t number)
{
    mca_pml_fastpath_match_hdr_t hdr;
    char packet[sizeof(mca_pml_fastpath_extcid_hdr_t) + sizeof(hdr)] __attribute__((aligned(8)));
    uint8_t type = MCA_PML_FASTPATH_HDR_MATCHED;
    char *to;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_failure_reach_sender(member, comm, rank))) {
        return;
    }
    mca_pml_fastpath_match_hdr_init(&hdr, type, 0, comm, member->ctx, (int) number, (uint16_t) number);
    to = mca_pml_fastpath_extcid_put(comm, &hdr, packet, &type);
    memcpy(to, &hdr, sizeof(hdr));
    mca_pml_fastpath_control_send(member->peer, NULL, packet, (size_t) (to - packet) + sizeof(hdr));
}
