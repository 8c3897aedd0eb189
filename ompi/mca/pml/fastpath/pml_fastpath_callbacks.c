/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What is called when something of ours has come by a BTL: one function for each type of header.
 */
#include "ompi_config.h"

#include "pml_fastpath_adopt.h"
#include "pml_fastpath_cancel.h"
#include "pml_fastpath_check.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_help.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_number.h"
#include "pml_fastpath_rdma.h"
#include "pml_fastpath_recvfrag.h"
#include "pml_fastpath_sync.h"

/* A header that is all there is of its message, and whose handler has to know no more than its BTL. */
#define CONTROL(type, hdr_t, function)                                                                       \
    static inline void recv_##function(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,   \
                                       size_t num_segments)                                                  \
    {                                                                                                        \
        hdr_t hdr;                                                                                           \
                                                                                                             \
        (void) mca_pml_fastpath_hdr_read(MCA_PML_FASTPATH_HDR_##type, btl, segments, num_segments, &hdr);    \
        mca_pml_fastpath_##function(btl, &hdr);                                                              \
    }                                                                                                        \
    FASTPATH_BTL_RECV_CALLBACK(callback_##type, recv_##function)

CONTROL(ACK, mca_pml_fastpath_ack_hdr_t, send_request_acked)
CONTROL(PUT_DONE, mca_pml_fastpath_done_hdr_t, put_done)
CONTROL(GET_DONE, mca_pml_fastpath_done_hdr_t, send_request_read)
CONTROL(CANCEL, mca_pml_fastpath_cancel_hdr_t, cancel_requested)
CONTROL(CANCELLED, mca_pml_fastpath_done_hdr_t, cancel_answered)
CONTROL(CREDIT, mca_pml_fastpath_credit_hdr_t, credit_arrived)
CONTROL(LEAVE, mca_pml_fastpath_leave_hdr_t, link_left)
CONTROL(KNOWN, mca_pml_fastpath_known_hdr_t, known_arrived)
CONTROL(HELLO, mca_pml_fastpath_hello_hdr_t, link_hello)
CONTROL(PASSED, mca_pml_fastpath_passed_hdr_t, number_passed)
CONTROL(HELP, mca_pml_fastpath_help_hdr_t, help_requested)
CONTROL(HELPED, mca_pml_fastpath_done_hdr_t, help_done)
CONTROL(MATCHED, mca_pml_fastpath_match_hdr_t, sync_matched)
FASTPATH_BTL_RECV_CALLBACK(callback_PUT, mca_pml_fastpath_put_requested)
FASTPATH_BTL_RECV_CALLBACK(callback_EXTCID, mca_pml_fastpath_extcid_arrived)
FASTPATH_BTL_RECV_CALLBACK(callback_MULTI_FRAG, mca_pml_fastpath_multi_arrived)

int mca_pml_fastpath_callbacks_register(void)
{
    mca_btl_base_module_recv_cb_fn_t callbacks[MCA_PML_FASTPATH_HDR_MAX] = {
        [MCA_PML_FASTPATH_HDR_ACK] = callback_ACK,
        [MCA_PML_FASTPATH_HDR_PUT] = callback_PUT,
        [MCA_PML_FASTPATH_HDR_PUT_DONE] = callback_PUT_DONE,
        [MCA_PML_FASTPATH_HDR_GET_DONE] = callback_GET_DONE,
        [MCA_PML_FASTPATH_HDR_CANCEL] = callback_CANCEL,
        [MCA_PML_FASTPATH_HDR_CANCELLED] = callback_CANCELLED,
        [MCA_PML_FASTPATH_HDR_CREDIT] = callback_CREDIT,
        [MCA_PML_FASTPATH_HDR_LEAVE] = callback_LEAVE,
        [MCA_PML_FASTPATH_HDR_EXTCID] = callback_EXTCID,
        [MCA_PML_FASTPATH_HDR_KNOWN] = callback_KNOWN,
        [MCA_PML_FASTPATH_HDR_HELLO] = callback_HELLO,
        [MCA_PML_FASTPATH_HDR_PASSED] = callback_PASSED,
        [MCA_PML_FASTPATH_HDR_HELP] = callback_HELP,
        [MCA_PML_FASTPATH_HDR_HELPED] = callback_HELPED,
        [MCA_PML_FASTPATH_HDR_MULTI_FRAG] = callback_MULTI_FRAG,
        [MCA_PML_FASTPATH_HDR_MATCHED] = callback_MATCHED,
    };

    mca_pml_fastpath_recvfrag_callbacks(callbacks);
    for (int type = MCA_PML_FASTPATH_HDR_MATCH; type < MCA_PML_FASTPATH_HDR_MAX; ++type) {
        int rc = mca_bml.bml_register(MCA_BTL_TAG_PML + type, callbacks[type], NULL);

        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}
