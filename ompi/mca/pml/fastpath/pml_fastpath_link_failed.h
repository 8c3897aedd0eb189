/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * A way to a peer has failed: with fault tolerance the peer has, without it the job ends, and says which peer
 * it was.
 */
#ifndef MCA_PML_FASTPATH_LINK_FAILED_H
#define MCA_PML_FASTPATH_LINK_FAILED_H

#include "pml_fastpath_peer.h"

/** When a connection is gone, or something could not be sent, we wait so long (ms, or the timeout if that is
 * less): if its other end has died, the runtime ends the job meanwhile and can say more than we. */
#define MCA_PML_FASTPATH_GRACE 3000

/** Many processes see the same trouble at once. Those that can leave it to another one on their host, or to
 * one of lower rank at the other end of a troubled link, wait so long (ms) before they speak. */
#define MCA_PML_FASTPATH_AFTER_YOU 2000

/** @return whether a process comes before this one: it is to speak where both see the same trouble */
bool mca_pml_fastpath_is_elder(const opal_proc_t *proc);

/** @return "rank 3 on host h2 (10.0.0.2)"; of a static buffer, for those who are about to end the job */
const char *mca_pml_fastpath_proc_text(const opal_proc_t *proc, const char *address);

/**
 * @return whether we are still connected to a peer, as MPI understands it. After MPI_Comm_disconnect no
 * communicator holds it: only the table of peers does, and the caller.
 */
bool mca_pml_fastpath_peer_is_connected(const mca_pml_fastpath_peer_t *peer);

/**
 * A BTL reports that something could not be sent, or that a peer is lost, as
 * btl/tcp does since Open MPI 5.0. Waits some seconds for the runtime, which can
 * say more if the peer has died; then names the peer and ends the job. Returns
 * with fault tolerance, where the peer has failed from here on, when the peer
 * has said that it leaves or MPI_Comm_disconnect has parted us from it, and at
 * the end of MPI_Finalize.
 *
 * @param btl       the BTL, or NULL
 * @param endpoint  the BTL's, or NULL when proc is known
 * @param proc      the peer, or NULL
 * @param cause     what the BTL says
 */
void mca_pml_fastpath_link_failed(const mca_btl_base_module_t *btl,
                                  const struct mca_btl_base_endpoint_t *endpoint, const opal_proc_t *proc,
                                  const char *cause);

#endif /* MCA_PML_FASTPATH_LINK_FAILED_H */
