/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Taking a send back (MPI 3.1, 3.8.4).
 *
 * The message may be anywhere: not yet accepted by a BTL, on its way, or waiting
 * at its receiver. The receiver decides, since it alone knows whether a receive
 * has matched it: CANCEL names the message by its sequence number, CANCELLED
 * says whether it was taken back. What has not come in its turn yet is dropped
 * when it does; so the answer never waits for the message. Until the answer the
 * request is pending, also if it had been complete.
 */
#ifndef MCA_PML_FASTPATH_CANCEL_H
#define MCA_PML_FASTPATH_CANCEL_H

#include "pml_fastpath_comm.h"

BEGIN_C_DECLS

/** req_cancel of send requests; always succeeds: whether the send was cancelled is in its status. */
int mca_pml_fastpath_send_request_cancel(ompi_request_t *request, int complete);

/** Receiver: a CANCEL has come by a BTL. */
void mca_pml_fastpath_cancel_requested(mca_btl_base_module_t *btl, const mca_pml_fastpath_cancel_hdr_t *hdr);

/**
 * Receiver: a message's turn has come; has it been withdrawn? Forgets that if so.
 * The communicator is locked.
 */
bool mca_pml_fastpath_cancel_withdrawn(mca_pml_fastpath_member_t *member, uint32_t sequence);

/** Sender: a CANCELLED has come. */
void mca_pml_fastpath_cancel_answered(const mca_pml_fastpath_done_hdr_t *hdr);

END_C_DECLS

#endif /* MCA_PML_FASTPATH_CANCEL_H */
