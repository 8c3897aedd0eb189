/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Sending to dynamic peers.
 */
#ifndef MCA_BTL_FASTSM_DYNAMIC_SEND_H
#define MCA_BTL_FASTSM_DYNAMIC_SEND_H

#include "btl_fastsm.h"

/** mca_btl_fastsm_post for a dynamic peer.  When it returns false a part may have left: only the same frag
 *  may be posted next. */
bool mca_btl_fastsm_dynamic_post(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                                 mca_btl_base_tag_t tag, bool *in_flight);
/** Whether a message could be posted now.  The endpoint's lock is held. */
bool mca_btl_fastsm_dynamic_room(mca_btl_fastsm_endpoint_t *endpoint);
/** Whether a dynamic peer has read this position of its ring, or never will.  The lock is held. */
bool mca_btl_fastsm_dynamic_was_read(mca_btl_fastsm_dynamic_t *dynamic, uint32_t position);
/** Whether a dynamic peer knows us under this id.  The lock is held. */
bool mca_btl_fastsm_dynamic_known(mca_btl_fastsm_dynamic_t *dynamic, uint32_t admission);
/** Whether a dynamic peer will never read anything more.  The lock is held. */
bool mca_btl_fastsm_dynamic_left(const mca_btl_fastsm_dynamic_t *dynamic);
/** Posts a slot that is no message (MCA_BTL_FASTSM_SLOT_OWN) to its ring; false when there is no room, or the
 * peer has not admitted us, or a message has left in part only.  The lock is held. */
bool mca_btl_fastsm_dynamic_post_own(mca_btl_fastsm_dynamic_t *dynamic, const void *data, size_t length,
                                     uint8_t flags, uint32_t *position);

#endif /* MCA_BTL_FASTSM_DYNAMIC_SEND_H */
