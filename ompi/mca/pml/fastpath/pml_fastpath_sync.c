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

/* Lists of the table in the beginning; a power of two. */
#define LISTS 64u

/* Requests by member and number. There are as many lists as requests, or more, as far as memory goes. */
static mca_pml_fastpath_send_request_t *few[LISTS];
static struct {
    opal_mutex_t lock; /* taken last */
    mca_pml_fastpath_send_request_t **first;
    uint32_t lists;
    uint32_t count; /* requests */
} table = {.lock = OPAL_MUTEX_STATIC_INIT, .first = few, .lists = LISTS};

/* Numbers of one member's messages follow each other. */
static mca_pml_fastpath_send_request_t **list_of(const mca_pml_fastpath_member_t *member, uint32_t number)
{
    return &table.first[(number + (uint32_t) ((uintptr_t) member / sizeof(*member))) % table.lists];
}

static void insert(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_fastpath_send_request_t **first = list_of(req->req_member, req->req_sequence);

    req->req_sync_next = *first;
    *first = req;
}

/* Make the table twice as large, if there is memory for that. */
static void double_lists(void)
{
    mca_pml_fastpath_send_request_t **before = table.first;
    const uint32_t lists = table.lists;
    mca_pml_fastpath_send_request_t **more = calloc(2 * (size_t) lists, sizeof(*more));

    if (NULL == more) {
        return;
    }
    table.first = more;
    table.lists = 2 * lists;
    for (uint32_t i = 0; i < lists; ++i) {
        for (mca_pml_fastpath_send_request_t *req = before[i], *next; NULL != req; req = next) {
            next = req->req_sync_next;
            insert(req);
        }
    }
    if (few != before) {
        free(before);
    }
}

/* Take a request out of the table. @return it, or NULL when it is not there */
static mca_pml_fastpath_send_request_t *take_awaiting(const mca_pml_fastpath_member_t *member,
                                                      uint32_t number)
{
    mca_pml_fastpath_send_request_t **link, *req;

    OPAL_THREAD_LOCK(&table.lock);
    link = list_of(member, number);
    while (NULL != *link && (number != (*link)->req_sequence || member != (*link)->req_member)) {
        link = &(*link)->req_sync_next;
    }
    req = *link;
    if (NULL != req) {
        *link = req->req_sync_next;
        --table.count;
    }
    OPAL_THREAD_UNLOCK(&table.lock);
    return req;
}

void mca_pml_fastpath_sync_begin(mca_pml_fastpath_send_request_t *req)
{
    req->req_hdr.hdr_flags |= MCA_PML_FASTPATH_HDR_FLAG_SYNC;
    mca_pml_fastpath_send_request_await_answer(req, 0);
    OPAL_THREAD_LOCK(&table.lock);
    if (OPAL_UNLIKELY(table.count == table.lists)) {
        double_lists();
    }
    insert(req);
    ++table.count;
    OPAL_THREAD_UNLOCK(&table.lock);
}

void mca_pml_fastpath_sync_fini(void)
{
    if (few != table.first) {
        free(table.first);
        table.first = few;
        table.lists = LISTS;
    }
    memset(few, 0, sizeof(few)); /* of peers that have failed */
    table.count = 0;
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

bool mca_pml_fastpath_sync_tell(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm, int rank,
                                uint32_t number, void (*left)(void *context), void *context)
{
    mca_pml_fastpath_match_hdr_t hdr;
    char packet[sizeof(mca_pml_fastpath_extcid_hdr_t) + sizeof(hdr)] __attribute__((aligned(8)));
    uint8_t type = MCA_PML_FASTPATH_HDR_MATCHED;
    size_t size;
    char *to;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_failure_reach_sender(member, comm, rank))) {
        return true;
    }
    mca_pml_fastpath_match_hdr_init(&hdr, type, 0, comm, member->ctx, (int) number, (uint16_t) number);
    to = mca_pml_fastpath_extcid_put(comm, &hdr, packet, &type);
    memcpy(to, &hdr, sizeof(hdr));
    size = (size_t) (to - packet) + sizeof(hdr);
    if (OPAL_LIKELY(mca_pml_fastpath_control_at_once(member->peer, packet, size))) {
        return true;
    }
    if (NULL == left) {
        mca_pml_fastpath_control_send(member->peer, NULL, packet, size);
    } else {
        mca_pml_fastpath_control_send_until(member->peer, NULL, packet, size, left, context);
    }
    return false;
}
