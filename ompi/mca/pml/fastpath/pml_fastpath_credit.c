/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/util/proc.h"

#include "pml_fastpath_control.h"
#include "pml_fastpath_credit.h"

void mca_pml_fastpath_credit_return(mca_pml_fastpath_peer_t *peer)
{
    mca_pml_fastpath_credit_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_CREDIT,
                                         .hdr_name = opal_proc_local_get()->proc_name};
    int64_t bytes = peer->consumed;

    if (0 >= bytes || 0 == mca_pml_fastpath.window || !mca_pml_fastpath_peer_reach(peer)) {
        return;
    }
    if (0 > OPAL_THREAD_ADD_FETCH64(&peer->consumed, -bytes)) {
        (void) OPAL_THREAD_ADD_FETCH64(&peer->consumed, bytes); /* another thread has returned it */
        return;
    }
    hdr.hdr_bytes = (uint64_t) bytes;
    mca_pml_fastpath_control_send(peer, NULL, &hdr, sizeof(hdr));
}

void mca_pml_fastpath_message_consumed(const mca_pml_fastpath_message_t *message, ompi_communicator_t *comm)
{
    mca_pml_fastpath_member_t *member =
        mca_pml_fastpath_member(mca_pml_fastpath_comm(comm), message->msg.src);

    mca_pml_fastpath_consumed(member, comm, message->msg.src, message->type,
                              mca_pml_fastpath_message_unasked(message));
}

void mca_pml_fastpath_credit_arrived(const mca_btl_base_module_t *btl,
                                     const mca_pml_fastpath_credit_hdr_t *hdr)
{
    const int64_t most = mca_pml_fastpath_credit_initial();
    opal_proc_t *proc = ompi_proc_lookup(hdr->hdr_name);
    mca_pml_fastpath_peer_t *peer = NULL == proc ? NULL : mca_pml_fastpath_peer_find((ompi_proc_t *) proc);

    mca_pml_fastpath_name_check(btl, hdr->hdr_type, hdr->hdr_name);
    /* It may be more than all there is: buffered sends without data go on credit that is not there. */
    if (OPAL_UNLIKELY(0 == hdr->hdr_bytes || hdr->hdr_bytes > INT64_MAX / 2)) {
        mca_pml_fastpath_corrupt(btl, (ompi_proc_t *) proc, hdr->hdr_type, "credit that nobody can have taken");
    }
    if (NULL != peer) {
        const int64_t excess = OPAL_THREAD_ADD_FETCH64(&peer->credit, (int64_t) hdr->hdr_bytes) - most;

        if (OPAL_UNLIKELY(0 < excess)) { /* of an earlier connection with it */
            (void) OPAL_THREAD_ADD_FETCH64(&peer->credit, -excess);
        }
        OBJ_RELEASE(peer);
    }
}
