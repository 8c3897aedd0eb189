/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The target's side of packets. All of it inside module.lock.
 */
#ifndef MCA_OSC_FASTPATH_TARGET_H
#define MCA_OSC_FASTPATH_TARGET_H

#include "osc_fastpath.h"

/** Report a malformed message. Only corruption of a message can cause this. */
void mca_osc_fastpath_complain(const mca_osc_fastpath_hdr_t *hdr, const char *reason);

/**
 * Let a packet take effect, or as much of it as may.
 *
 * @param packet    header and what follows
 * @param position  bytes that have taken effect already; updated
 * @param locked    whether its lock has been taken already; updated
 *
 * @return OMPI_SUCCESS; OMPI_ERR_WOULD_BLOCK when the rest has to wait
 */
int mca_osc_fastpath_target_run(mca_osc_fastpath_peer_t *peer, const void *packet, size_t *position,
                                bool *locked);

/** Take this process's lock shared, for itself or for who has asked by message, behind those who have asked
 * for it exclusively unless `pass` or it is late. @return whether it could be taken */
bool mca_osc_fastpath_share_own(mca_osc_fastpath_peer_t *peer, bool pass);

#endif /* MCA_OSC_FASTPATH_TARGET_H */
