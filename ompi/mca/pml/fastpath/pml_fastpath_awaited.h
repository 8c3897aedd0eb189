/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Large messages whose processes wait. One that has come to wait for a nonblocking send says so where the
 * receiver can see it, which may then ask for help; where both wait the receiver measures whether the message
 * had better be streamed (docs/data-path.md, "Both sides copy"). Only without threads.
 */
#ifndef MCA_PML_FASTPATH_AWAITED_H
#define MCA_PML_FASTPATH_AWAITED_H

#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sendreq.h"

/** A call that waits for requests, all of them. */
typedef struct {
    ompi_request_t **requests;
    size_t count;
    size_t first; /**< those before this one are complete */
    bool says;    /**< it says that it waits for large sends among them */
    bool sends;   /**< there were such when it began, or it is such a send */
} mca_pml_fastpath_awaited_t;

/**
 * A call begins to wait for requests, and does not return while one of them is incomplete.
 *
 * @return the call that it interrupts, for mca_pml_fastpath_awaited_end()
 */
mca_pml_fastpath_awaited_t mca_pml_fastpath_awaited_begin(size_t count, ompi_request_t **requests);

/** The same of a call that sends, and waits for that. Its header has said so. */
mca_pml_fastpath_awaited_t mca_pml_fastpath_awaited_begin_send(void);

/**
 * It ends, and the other one goes on. Before it returns, what it has asked to be streamed comes: its senders
 * would be held up, as they would not if we had read it. They wait for that themselves, so it lasts as long
 * as it takes to copy. One whose call has returned for some error does not hold us up for long.
 */
void mca_pml_fastpath_awaited_end(mca_pml_fastpath_awaited_t other);

/** Whether such a call is under way here that had large sends to wait for when it began. */
bool mca_pml_fastpath_awaited_sends(void);

/** A call begins to wait for receives, and does not return while one of them is incomplete. */
static inline void mca_pml_fastpath_awaited_begin_recv(void)
{
    atomic_store_explicit(&mca_pml_fastpath.waits, true, memory_order_relaxed);
}

/** What has been asked to be streamed comes, before a call returns: see mca_pml_fastpath_awaited_end(). */
void mca_pml_fastpath_awaited_streams(void);

/** It ends. One that it has interrupted counts no more as waiting, which does no harm. */
static inline void mca_pml_fastpath_awaited_end_recv(void)
{
    atomic_store_explicit(&mca_pml_fastpath.waits, false, memory_order_relaxed);
    if (OPAL_UNLIKELY(0 < mca_pml_fastpath.streams)) {
        mca_pml_fastpath_awaited_streams();
    }
}

/**
 * During such a call, or one that waits for large sends, ask for a message whose sender waits.
 *
 * @param bytes  of it that come from here on
 * @return       whether it is to be streamed; otherwise the kernel copies it
 */
bool mca_pml_fastpath_awaited_ask(mca_pml_fastpath_recv_request_t *req, mca_pml_fastpath_asked_kind_t kind,
                                  size_t bytes);

/**
 * No more data of this message will come.
 *
 * @param whole  all of it has come; otherwise its sender has failed
 */
void mca_pml_fastpath_awaited_come(mca_pml_fastpath_recv_request_t *req, bool whole);

/** The receiver has answered a message of ours: another one may take its place. */
void mca_pml_fastpath_awaited_answered(const mca_pml_fastpath_send_request_t *req);

/** A message has been offered to be read, and its process does not wait for it. */
static inline void mca_pml_fastpath_awaited_offered(const mca_pml_fastpath_send_request_t *req)
{
    if (!req->req_waits && NULL != req->req_peer->ext
        && mca_pml_fastpath_is_helped(req->req_send.req_bytes_packed)) {
        mca_pml_fastpath.offered = true;
    }
}

#endif /* MCA_PML_FASTPATH_AWAITED_H */
