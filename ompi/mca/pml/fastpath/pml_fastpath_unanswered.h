/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Cancels whose answers have not come, and that MPI_Finalize waits for them.
 *
 * Who frees a request that he has cancelled waits for no answer, and may leave MPI before its receiver
 * writes it. btl/tcp of Open MPI 4.1 and 5.0 does not stand such a write: it says that it failed, and leaves
 * with libevent an event whose memory it frees, on which MPI_Finalize then crashes or hangs. So nobody leaves
 * before his answers are here.
 *
 * The wait is where MPI_Finalize deletes the attributes of MPI_COMM_SELF (MPI 3.1, 8.7.1): after that it
 * tells the runtime that this process has arrived, and who has heard so from all may go. Until then all
 * receivers are there, and answer at the latest in MPI_Finalize themselves.
 */
#ifndef MCA_PML_FASTPATH_UNANSWERED_H
#define MCA_PML_FASTPATH_UNANSWERED_H

#include "pml_fastpath_sendreq.h"

/** A send is being cancelled. Without memory for the attribute MPI_Finalize does not wait. */
void mca_pml_fastpath_unanswered_begin(const mca_pml_fastpath_send_request_t *req);

/** Its receiver has answered. */
void mca_pml_fastpath_unanswered_end(const mca_pml_fastpath_send_request_t *req);

#endif /* MCA_PML_FASTPATH_UNANSWERED_H */
