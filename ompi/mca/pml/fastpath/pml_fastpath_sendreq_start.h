/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * A send request begins: it is eager, multi-eager or a rendezvous, and what a BTL refuses is tried again.
 */
#ifndef MCA_PML_FASTPATH_SENDREQ_START_H
#define MCA_PML_FASTPATH_SENDREQ_START_H

#include "pml_fastpath_sendreq.h"

/**
 * Do what can fail, before the message is queued or takes a sequence number: a buffered send
 * that is too long to leave at once, or has no credit for it, is copied to the
 * attached buffer.
 *
 * @return OMPI_SUCCESS, or OMPI_ERR_BUFFER when there is no room in it
 */
int mca_pml_fastpath_send_request_prepare(mca_pml_fastpath_send_request_t *req);

/**
 * Make a request active and send as much of it as goes. What the BTL refuses is retried from progress. After
 * an error of the BTL's the receiver would wait for this sequence number for ever: the job ends, or with
 * fault tolerance the peer counts as failed.
 */
void mca_pml_fastpath_send_request_start(mca_pml_fastpath_send_request_t *req);

/**
 * Make a request active whose message has left with this number, but whose BTL still has the descriptor: it
 * completes with the BTL's call of mca_pml_fastpath_send_request_left(). Without fault tolerance.
 */
void mca_pml_fastpath_send_request_kept(mca_pml_fastpath_send_request_t *req, uint32_t number);

#endif /* MCA_PML_FASTPATH_SENDREQ_START_H */
