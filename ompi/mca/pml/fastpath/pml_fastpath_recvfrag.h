/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What arrives: the callbacks that BTLs call, and the order of messages.
 */
#ifndef MCA_PML_FASTPATH_RECVFRAG_H
#define MCA_PML_FASTPATH_RECVFRAG_H

#include "pml_fastpath_comm.h"

/** Fill in the callbacks for MATCH, RNDV, RGET, MULTI and FRAG, by type of header. */
void mca_pml_fastpath_recvfrag_callbacks(mca_btl_base_module_recv_cb_fn_t *callbacks);

/** Deliver a MATCH, RNDV, RGET or MULTI that came before its communicator, which is known now. */
void mca_pml_fastpath_recvfrag_replay(mca_pml_fastpath_parked_t *parked);

/**
 * Compare what a RNDV, RGET or MULTI says of its message, which ends the job when it cannot be.
 * @param behind  bytes that follow the header
 */
void mca_pml_fastpath_rndv_check(const mca_btl_base_module_t *btl, const mca_pml_fastpath_hdr_t *hdr,
                                 size_t behind);

#endif /* MCA_PML_FASTPATH_RECVFRAG_H */
