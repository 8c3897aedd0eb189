/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_adopt.h"
#include "pml_fastpath_callbacks.h"
#include "pml_fastpath_cancel.h"
#include "pml_fastpath_check.h"
#include "pml_fastpath_credit.h"
#include "pml_fastpath_help.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_multi.h"
#include "pml_fastpath_number.h"
#include "pml_fastpath_rdma.h"
#include "pml_fastpath_recvfrag.h"

/* A header that is all there is of its message, and whose handler has to know no more than its BTL. */
#define CONTROL(type, hdr_t, function)                                                                       \
    static inline void recv_##function(mca_btl_base_module_t *btl, const mca_btl_base_segment_t *segments,   \
                                       size_t num_segments)                                                  \
    {                                                                                                        \
        hdr_t hdr;                                                                                           \
                                                                                                             \
        (void) mca_pml_fastpath_hdr_read(type, btl, segments, num_segments, &hdr);                           \
        mca_pml_fastpath_##function(btl, &hdr);                                                              \
    }

CONTROL(MCA_PML_FASTPATH_HDR_ACK, mca_pml_fastpath_ack_hdr_t, send_request_acked)
CONTROL(MCA_PML_FASTPATH_HDR_PUT_DONE, mca_pml_fastpath_done_hdr_t, put_done)
CONTROL(MCA_PML_FASTPATH_HDR_GET_DONE, mca_pml_fastpath_done_hdr_t, send_request_read)
CONTROL(MCA_PML_FASTPATH_HDR_CANCEL, mca_pml_fastpath_cancel_hdr_t, cancel_requested)
CONTROL(MCA_PML_FASTPATH_HDR_CANCELLED, mca_pml_fastpath_done_hdr_t, cancel_answered)
CONTROL(MCA_PML_FASTPATH_HDR_CREDIT, mca_pml_fastpath_credit_hdr_t, credit_arrived)
CONTROL(MCA_PML_FASTPATH_HDR_LEAVE, mca_pml_fastpath_leave_hdr_t, link_left)
CONTROL(MCA_PML_FASTPATH_HDR_KNOWN, mca_pml_fastpath_known_hdr_t, known_arrived)
CONTROL(MCA_PML_FASTPATH_HDR_HELLO, mca_pml_fastpath_hello_hdr_t, link_hello)
CONTROL(MCA_PML_FASTPATH_HDR_PASSED, mca_pml_fastpath_passed_hdr_t, number_passed)
CONTROL(MCA_PML_FASTPATH_HDR_HELP, mca_pml_fastpath_help_hdr_t, help_requested)
CONTROL(MCA_PML_FASTPATH_HDR_HELPED, mca_pml_fastpath_done_hdr_t, help_done)

FASTPATH_BTL_RECV_CALLBACK(callback_ack, recv_send_request_acked)
FASTPATH_BTL_RECV_CALLBACK(callback_put, mca_pml_fastpath_put_requested)
FASTPATH_BTL_RECV_CALLBACK(callback_put_done, recv_put_done)
FASTPATH_BTL_RECV_CALLBACK(callback_get_done, recv_send_request_read)
FASTPATH_BTL_RECV_CALLBACK(callback_cancel, recv_cancel_requested)
FASTPATH_BTL_RECV_CALLBACK(callback_cancelled, recv_cancel_answered)
FASTPATH_BTL_RECV_CALLBACK(callback_credit, recv_credit_arrived)
FASTPATH_BTL_RECV_CALLBACK(callback_leave, recv_link_left)
FASTPATH_BTL_RECV_CALLBACK(callback_extcid, mca_pml_fastpath_extcid_arrived)
FASTPATH_BTL_RECV_CALLBACK(callback_known, recv_known_arrived)
FASTPATH_BTL_RECV_CALLBACK(callback_hello, recv_link_hello)
FASTPATH_BTL_RECV_CALLBACK(callback_passed, recv_number_passed)
FASTPATH_BTL_RECV_CALLBACK(callback_help, recv_help_requested)
FASTPATH_BTL_RECV_CALLBACK(callback_helped, recv_help_done)
FASTPATH_BTL_RECV_CALLBACK(callback_multi_frag, mca_pml_fastpath_multi_arrived)

int mca_pml_fastpath_callbacks_register(void)
{
    mca_btl_base_module_recv_cb_fn_t callbacks[MCA_PML_FASTPATH_HDR_MAX] = {
        [MCA_PML_FASTPATH_HDR_ACK] = callback_ack,
        [MCA_PML_FASTPATH_HDR_PUT] = callback_put,
        [MCA_PML_FASTPATH_HDR_PUT_DONE] = callback_put_done,
        [MCA_PML_FASTPATH_HDR_GET_DONE] = callback_get_done,
        [MCA_PML_FASTPATH_HDR_CANCEL] = callback_cancel,
        [MCA_PML_FASTPATH_HDR_CANCELLED] = callback_cancelled,
        [MCA_PML_FASTPATH_HDR_CREDIT] = callback_credit,
        [MCA_PML_FASTPATH_HDR_LEAVE] = callback_leave,
        [MCA_PML_FASTPATH_HDR_EXTCID] = callback_extcid,
        [MCA_PML_FASTPATH_HDR_KNOWN] = callback_known,
        [MCA_PML_FASTPATH_HDR_HELLO] = callback_hello,
        [MCA_PML_FASTPATH_HDR_PASSED] = callback_passed,
        [MCA_PML_FASTPATH_HDR_HELP] = callback_help,
        [MCA_PML_FASTPATH_HDR_HELPED] = callback_helped,
        [MCA_PML_FASTPATH_HDR_MULTI_FRAG] = callback_multi_frag,
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
