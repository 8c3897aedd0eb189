/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Large messages whose processes wait. One that waits, for whatever, says which nonblocking sends it has
 * offered where their receivers can see it. Who claims such a send may ask for help; where both wait the
 * receiver measures whether the message had better be streamed (docs/data-path.md, "Both sides copy"). Only
 * without threads.
 */
#ifndef MCA_PML_FASTPATH_AWAITED_H
#define MCA_PML_FASTPATH_AWAITED_H

#include "pml_fastpath_recvreq.h"
#include "pml_fastpath_sendreq.h"

/** A call that waits. */
typedef struct {
    bool waits;    /**< there is such a call */
    bool says;     /**< it says the names of sends */
    bool sends;    /**< there were such when it began to say names, or it is such a send */
    bool receives; /**< it waits for receives: mca_pml_fastpath_awaited_finish() ends it */
} mca_pml_fastpath_awaited_t;

/** Before the first message. */
void mca_pml_fastpath_awaited_init(void);
/** After the last one. */
void mca_pml_fastpath_awaited_fini(void);

/**
 * A call begins to wait for requests, and does not return while one of them is incomplete.
 *
 * @return the call that it interrupts, for mca_pml_fastpath_awaited_end()
 */
mca_pml_fastpath_awaited_t mca_pml_fastpath_awaited_begin(size_t count, ompi_request_t **requests);

/** The same of a call that sends, and waits for that. Its header has said so. */
mca_pml_fastpath_awaited_t mca_pml_fastpath_awaited_begin_send(void);

/**
 * It ends, and the other one goes on. Before it returns, what it has asked to be streamed comes, and what has
 * been claimed of ours leaves: the other processes would be held up, as they would not if the receivers had
 * read it. They wait for that themselves, so it lasts as long as it takes to copy. One whose call has
 * returned for some error does not hold us up for long.
 */
void mca_pml_fastpath_awaited_end(mca_pml_fastpath_awaited_t other);

/** Whether such a call is under way here that had large sends to wait for when it began to say names. */
bool mca_pml_fastpath_awaited_sends(void);

/** Large sends are offered while a call that waits for receives begins, or by what progresses in it: it says
 * their names, unless another one is under way. */
void mca_pml_fastpath_awaited_begin_offers(void);

/** The end of a call that waits for receives, if something is unfinished: as mca_pml_fastpath_awaited_end().
 */
void mca_pml_fastpath_awaited_finish(void);

/** A call that has no request yet begins to wait for a message. */
static inline void mca_pml_fastpath_awaited_begin_message(void)
{
    if (OPAL_UNLIKELY(mca_pml_fastpath.offered)) {
        mca_pml_fastpath_awaited_begin_offers();
    }
}

/** It has come. */
static inline void mca_pml_fastpath_awaited_end_message(void)
{
    if (OPAL_UNLIKELY(mca_pml_fastpath.unfinished)) {
        mca_pml_fastpath_awaited_finish();
    }
}

/** A call begins to wait for receives. */
static inline void mca_pml_fastpath_awaited_begin_recv(void)
{
    atomic_store_explicit(&mca_pml_fastpath.waits, true, memory_order_relaxed);
    mca_pml_fastpath_awaited_begin_message();
}

/** It ends. One that it has interrupted counts no more as waiting, which does no harm. */
static inline void mca_pml_fastpath_awaited_end_recv(void)
{
    atomic_store_explicit(&mca_pml_fastpath.waits, false, memory_order_relaxed);
    mca_pml_fastpath_awaited_end_message();
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

/**
 * Sender of a message that is about to be offered: of an exchange one side decides how the messages of both
 * go, by what it measures of those that it receives.
 *
 * @param kind  EXCHANGE or REDUCED
 * @return what the header tells of that: FLAG_STREAM, FLAG_KERNEL, or 0: we do not decide, have not yet, or
 * have told it 64 times and asked for nothing since
 */
uint8_t mca_pml_fastpath_awaited_tell(mca_pml_fastpath_peer_t *peer, mca_pml_fastpath_asked_kind_t kind);

/** The receiver has answered a message of ours: another one may take its place. */
void mca_pml_fastpath_awaited_answered(const mca_pml_fastpath_send_request_t *req);

/** A large message is about to be offered, and no call waits for it alone: calls that wait say its name, but
 * those that have begun by mca_pml_fastpath_awaited_begin_message() only if they say others. */
void mca_pml_fastpath_awaited_offer(mca_pml_fastpath_send_request_t *req);

/** A message is about to be offered to be read. */
static inline void mca_pml_fastpath_awaited_offered(mca_pml_fastpath_send_request_t *req)
{
    if (!req->req_waits && NULL != req->req_peer->ext && !opal_using_threads()
        && mca_pml_fastpath_is_helped(req->req_send.req_bytes_packed)) {
        mca_pml_fastpath_awaited_offer(req);
    }
}

/** That send will be complete: it is offered no more. Only of one that is listed. */
void mca_pml_fastpath_awaited_forget(mca_pml_fastpath_send_request_t *req);

#endif /* MCA_PML_FASTPATH_AWAITED_H */
