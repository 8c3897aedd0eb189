/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Cancels whose answers have not come, and that MPI_Finalize waits for them.
 *
 * A process that frees a cancelled send does not wait for the answer, and could leave MPI before the receiver
 * sends it. btl/tcp of Open MPI 4.1 and 5.0 then frees memory that libevent still uses, and the receiver's
 * MPI_Finalize crashes or hangs. So MPI_Finalize waits until all answers have come.
 *
 * The wait is where MPI_Finalize deletes the attributes of MPI_COMM_SELF (MPI 3.1, 8.7.1): after that it
 * tells the runtime that this process has arrived, and who has heard so from all may go. Until then all
 * receivers are there, and answer at the latest in MPI_Finalize themselves. What a callback of such an
 * attribute of the user's cancels, if that was set before the first cancel, is not waited for; nor is a
 * message that has not left yet, whose CANCEL has not either.
 */
#ifndef MCA_PML_FASTPATH_UNANSWERED_H
#define MCA_PML_FASTPATH_UNANSWERED_H

#include "pml_fastpath_sendreq.h"

/** The user cancels a send. Without memory for the attribute MPI_Finalize does not wait. No lock is held. */
void mca_pml_fastpath_unanswered_expect(void);

/** CANCEL leaves for a send. */
void mca_pml_fastpath_unanswered_begin(const mca_pml_fastpath_send_request_t *req);

/** Its receiver has answered. */
void mca_pml_fastpath_unanswered_end(const mca_pml_fastpath_send_request_t *req);

#endif /* MCA_PML_FASTPATH_UNANSWERED_H */
