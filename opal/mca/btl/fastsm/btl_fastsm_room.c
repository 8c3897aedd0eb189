/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * There is no room in a FIFO: its pages are reserved before its first use, and later it counts as busy.
 */

#include "opal_config.h"

#include "opal/mca/common/fastpath/common_fastpath_memory.h"

#include "btl_fastsm.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_room.h"
#include "btl_fastsm_segment.h"

void mca_btl_fastsm_busy(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_move_t *move = &endpoint->move;

    if (MCA_BTL_FASTSM_MOVE_IDLE != move->state || 0 == move->limit) {
        return;
    }
    if (NULL == endpoint->dynamic) {
        /* a message that is tried again and again finds the FIFO full once */
        if (endpoint->out.write_pos == move->position) {
            return;
        }
        move->position = endpoint->out.write_pos;
    }
    if (++move->count >= move->limit) {
        move->state = MCA_BTL_FASTSM_MOVE_WANT;
        mca_btl_fastsm_activate(endpoint);
    }
}

bool mca_btl_fastsm_fifo_open(mca_btl_fastsm_endpoint_t *endpoint)
{
    const size_t bytes =
        mca_btl_fastsm_layout_fifo_size(&endpoint->layout, mca_btl_fastsm_component.me.local_index);

    if (NULL != endpoint->dynamic || !endpoint->connected) {
        return false;
    }
    if (endpoint->opened) {
        mca_btl_fastsm_count(&mca_btl_fastsm_component.fifo_full);
        mca_btl_fastsm_busy(endpoint);
        return false;
    }
    if (OPAL_ERR_OUT_OF_RESOURCE == mca_common_fastpath_reserve(endpoint->out.slots, bytes)) {
        mca_btl_fastsm_unlock(endpoint); /* which the job's end may want */
        mca_btl_fastsm_shortage(endpoint, "the FIFO to another process", bytes);
    }
    endpoint->opened = true;
    endpoint->out.shared_read_pos =
        (_Atomic uint32_t *) (endpoint->base
                              + mca_btl_fastsm_layout_read_pos(&endpoint->layout,
                                                               mca_btl_fastsm_component.me.local_index));
    endpoint->out.read_pos = endpoint->out.write_pos - endpoint->out.depth;
    return true;
}
