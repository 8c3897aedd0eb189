/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * A message and a receive have met: what becomes of the message follows from its protocol.
 */
#ifndef MCA_PML_FASTPATH_MATCHED_H
#define MCA_PML_FASTPATH_MATCHED_H

#include "pml_fastpath_message.h"
#include "pml_fastpath_recvreq.h"

/**
 * Make a request active and match it: with a message that is already here, or by
 * posting it.
 * @return OMPI_SUCCESS, or OMPI_ERR_OUT_OF_RESOURCE (the request is inactive again)
 */
int mca_pml_fastpath_recv_request_start(mca_pml_fastpath_recv_request_t *req);

/**
 * A message and a receive have found each other: move what came with the header
 * and see to the rest. Call without locks; the request may be complete and gone
 * on return.
 */
void mca_pml_fastpath_recv_request_matched(mca_pml_fastpath_recv_request_t *req,
                                           const mca_pml_fastpath_arrival_t *arrival);

/** The same with a message that was kept, which is given back, and its cost to its sender. */
void mca_pml_fastpath_recv_request_matched_message(mca_pml_fastpath_recv_request_t *req,
                                                   mca_pml_fastpath_message_t *message);

#endif /* MCA_PML_FASTPATH_MATCHED_H */
