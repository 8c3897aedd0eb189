/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Taking a send back (MPI 3.1, 3.8.4).
 *
 * The receiver decides, since it alone knows whether a receive has matched the
 * message: CANCEL names the message by its sequence number and its sender by
 * its process, CANCELLED says whether it was taken back. Until the answer the
 * request is pending, also if it had been complete.
 *
 * CANCEL leaves after the message but may overtake it where there are several
 * ways to a process. Then the answer waits for the message. So once a send is
 * known to be cancelled, nothing of it is under way any more, and its sender
 * may free the communicator: the message cannot turn up in a later one with the
 * same id. Whatever keeps a message from being matched (its communicator is not
 * known yet, or has been freed) does not keep its CANCEL from being answered.
 */
#ifndef MCA_PML_FASTPATH_CANCEL_H
#define MCA_PML_FASTPATH_CANCEL_H

#include "pml_fastpath_sendreq.h"

/** req_cancel of send requests; always succeeds: whether the send was cancelled is in its status. */
int mca_pml_fastpath_send_request_cancel(ompi_request_t *request, int complete);

/** Sender: another message may have the sequence number of a cancelled one. If so, ask the receiver now. */
void mca_pml_fastpath_cancel_leave(mca_pml_fastpath_send_request_t *req);

/** Receiver: a CANCEL has come by a BTL. Not to be called with a lock held. */
void mca_pml_fastpath_cancel_requested(mca_btl_base_module_t *btl, const mca_pml_fastpath_cancel_hdr_t *hdr);

/** Receiver: tell a process whether its message was taken back. Not to be called with a lock held. */
void mca_pml_fastpath_cancel_answer(opal_process_name_t name, uint64_t src_req, bool dropped);

/**
 * Receiver: whether a message whose turn has come has been withdrawn. The communicator is
 * locked.
 * @return the record, for mca_pml_fastpath_cancel_withdrawn_done() without the lock, or NULL
 */
mca_pml_fastpath_withdrawn_t *mca_pml_fastpath_cancel_withdrawn(mca_pml_fastpath_member_t *member,
                                                                uint32_t sequence);

/** Receiver: the withdrawn message has been dropped, or never will come in its turn. Answers once. */
void mca_pml_fastpath_cancel_withdrawn_done(mca_pml_fastpath_withdrawn_t *withdrawn);

/** Sender: a CANCELLED has come by a BTL. */
void mca_pml_fastpath_cancel_answered(const mca_btl_base_module_t *btl,
                                      const mca_pml_fastpath_done_hdr_t *hdr);

#endif /* MCA_PML_FASTPATH_CANCEL_H */
