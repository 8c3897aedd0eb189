/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/util/proc.h"

#include "pml_fastpath_check.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_extcid.h"
#include "pml_fastpath_number.h"

void mca_pml_fastpath_number_tell(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm, int rank,
                                  uint16_t sequence)
{
    mca_pml_fastpath_passed_hdr_t hdr = {.hdr_name = opal_proc_local_get()->proc_name};
    char packet[sizeof(mca_pml_fastpath_extcid_hdr_t) + sizeof(hdr)] __attribute__((aligned(8)));
    uint8_t type = MCA_PML_FASTPATH_HDR_PASSED;
    char *to;

    if (OPAL_UNLIKELY(!mca_pml_fastpath_failure_reach_sender(member, comm, rank))) {
        return;
    }
    mca_pml_fastpath_match_hdr_init(&hdr.hdr_match, type, 0, comm, member->ctx, 0, sequence);
    to = mca_pml_fastpath_extcid_put(comm, &hdr.hdr_match, packet, &type);
    memcpy(to, &hdr, sizeof(hdr));
    mca_pml_fastpath_control_send(member->peer, NULL, packet, (size_t) (to - packet) + sizeof(hdr));
}

void mca_pml_fastpath_number_tell_late(mca_pml_fastpath_peer_t *peer, const mca_pml_fastpath_match_hdr_t *hdr)
{
    mca_pml_fastpath_passed_hdr_t passed = {.hdr_match = *hdr, .hdr_name = opal_proc_local_get()->proc_name};

    /* what the sender calls a communicator that has no agreed id is forgotten */
    if (mca_pml_fastpath_ctx_is_own(hdr->hdr_ctx) || !mca_pml_fastpath_peer_reach(peer)) {
        return;
    }
    passed.hdr_match.hdr_type = MCA_PML_FASTPATH_HDR_PASSED;
    passed.hdr_match.hdr_flags = 0;
    passed.hdr_match.hdr_src = -1;
    mca_pml_fastpath_control_send(peer, NULL, &passed, sizeof(passed));
}

static bool is_from(const mca_pml_fastpath_member_t *member, opal_process_name_t name)
{
    return NULL != member && NULL != member->peer
           && 0 == opal_compare_proc(member->peer->proc->super.proc_name, name);
}

/* The member of a communicator that a PASSED is from. NULL: there is none, because what is told about had
 * that communicator's id before. */
static mca_pml_fastpath_member_t *passed_member(const mca_btl_base_module_t *btl,
                                                const mca_pml_fastpath_comm_t *pml_comm,
                                                const mca_pml_fastpath_passed_hdr_t *hdr)
{
    const int src = hdr->hdr_match.hdr_src;

    if (OPAL_UNLIKELY(-1 > src || pml_comm->size <= src)) {
        mca_pml_fastpath_corrupt(btl, NULL, hdr->hdr_match.hdr_type, "sender's rank out of range");
    }
    if (0 <= src) {
        return is_from(pml_comm->members[src], hdr->hdr_name) ? pml_comm->members[src] : NULL;
    }
    for (int rank = 0; rank < pml_comm->size; ++rank) {
        if (is_from(pml_comm->members[rank], hdr->hdr_name)) {
            return pml_comm->members[rank];
        }
    }
    return NULL;
}

void mca_pml_fastpath_number_passed(const mca_btl_base_module_t *btl,
                                    const mca_pml_fastpath_passed_hdr_t *hdr)
{
    ompi_communicator_t *comm = mca_pml_fastpath_comm_hold(hdr->hdr_match.hdr_ctx);
    mca_pml_fastpath_member_t *member;

    if (NULL == comm) {
        return; /* freed here meanwhile: nothing is sent there any more */
    }
    member = passed_member(btl, mca_pml_fastpath_comm(comm), hdr);
    if (NULL != member) {
        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        member->passed = mca_pml_fastpath_window_move(mca_pml_fastpath_last_number(member), member->passed,
                                                      hdr->hdr_match.hdr_seq);
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    }
    OBJ_RELEASE(comm);
}
