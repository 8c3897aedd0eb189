/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Sending to a dynamic peer, through its ring.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_dynamic_send.h"
#include "btl_fastsm_room.h"

/* Whether the peer knows us.  Asked anew each time: it may have forgotten us and met us again. */
static bool admitted(mca_btl_fastsm_dynamic_t *dynamic)
{
    if (OPAL_LIKELY(NULL != dynamic->our_entry
                    && dynamic->our_admission == fastsm_load_admission(&dynamic->our_entry->id))) {
        return true;
    }
    dynamic->our_entry =
        fastsm_admission_find(&dynamic->ring, mca_btl_fastsm_component.me.nonce, &dynamic->our_admission);
    if (NULL == dynamic->our_entry) {
        return false;
    }
    if (!dynamic->endpoint.pair.host) { /* one that has met us again waits for our word */
        (void) fastsm_pair_decide(&dynamic->endpoint.pair, &dynamic->our_entry->pair,
                                  MCA_BTL_FASTSM_PAIR_AGREED);
    }
    return true;
}

bool mca_btl_fastsm_dynamic_left(const mca_btl_fastsm_dynamic_t *dynamic)
{
    return dynamic->parted || MCA_BTL_FASTSM_OWNER_LEFT == fastsm_load_owner(&dynamic->ring.ctl->owner);
}

bool mca_btl_fastsm_dynamic_known(mca_btl_fastsm_dynamic_t *dynamic, uint32_t admission)
{
    return !dynamic->parted && admitted(dynamic) && admission == dynamic->our_admission;
}

/* Whether it has a FIFO, or is on its way there.  Nothing goes to the ring then: it would come out of turn.
 */
static bool dynamic_has_moved(const mca_btl_fastsm_dynamic_t *dynamic)
{
    return MCA_BTL_FASTSM_MOVE_MOVING <= dynamic->endpoint.move.state;
}

bool mca_btl_fastsm_dynamic_room(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_dynamic_t *dynamic = endpoint->dynamic;
    uint32_t pos;

    return dynamic->parted
           || (!dynamic_has_moved(dynamic) && admitted(dynamic) && fastsm_ring_room(&dynamic->ring, &pos))
           || mca_btl_fastsm_dynamic_left(dynamic);
}

bool mca_btl_fastsm_dynamic_was_read(mca_btl_fastsm_dynamic_t *dynamic, uint32_t position)
{
    return dynamic->parted
           || fastsm_ring_was_read(&dynamic->ring, fastsm_load_read_pos(&dynamic->ring.ctl->read_pos),
                                   position)
           || mca_btl_fastsm_dynamic_left(dynamic);
}

static bool post_dynamic(mca_btl_fastsm_dynamic_t *dynamic, const void *data, size_t length,
                         mca_btl_base_tag_t tag, uint8_t flags, uint32_t *pos)
{
    mca_btl_fastsm_slot_t *slot = fastsm_ring_reserve(&dynamic->ring, pos);

    if (NULL == slot) {
        return false;
    }
    slot->u.ring.length = (uint16_t) length;
    slot->u.ring.tag = tag;
    slot->u.ring.flags = flags;
    slot->u.ring.admission = dynamic->our_admission;
    mca_common_fastpath_copy_small(slot->u.ring.data, data, length);
    fastsm_ring_commit(&dynamic->ring, slot, *pos);
    mca_btl_fastsm_busy(&dynamic->endpoint);
    return true;
}

bool mca_btl_fastsm_dynamic_post_own(mca_btl_fastsm_dynamic_t *dynamic, const void *data, size_t length,
                                     uint8_t flags, uint32_t *position)
{
    opal_list_t *pending = &dynamic->endpoint.pending;

    if (dynamic->parted || !admitted(dynamic)
        || (!opal_list_is_empty(pending)
            && 0 != ((const mca_btl_fastsm_frag_t *) opal_list_get_first(pending))->sent)) {
        return false;
    }
    return post_dynamic(dynamic, data, length, 0, flags, position);
}

static bool post_dynamic_reference(mca_btl_fastsm_dynamic_t *dynamic, mca_btl_fastsm_frag_t *frag,
                                   mca_btl_base_tag_t tag)
{
    mca_btl_fastsm_pool_ref_t reference;

    mca_btl_fastsm_refer(frag, &reference);
    if (!post_dynamic(dynamic, &reference, sizeof(reference), tag, MCA_BTL_FASTSM_SLOT_POOL,
                      &frag->position)) {
        return false;
    }
    mca_btl_fastsm_keep(&dynamic->endpoint, frag);
    return true;
}

/* A message that is not referred to leaves in as many slots as it needs, now or as there is room.  So it
 * needs no buffer, which others that wait behind it may hold. */
static bool post_pieces(mca_btl_fastsm_dynamic_t *dynamic, mca_btl_fastsm_frag_t *frag,
                        mca_btl_base_tag_t tag)
{
    const char *data = (const char *) frag->segment.seg_addr.pval;
    const size_t length = frag->segment.seg_len;
    uint32_t pos;
    bool more;

    /* a peer that has forgotten us meanwhile has forgotten the first pieces too */
    if (OPAL_UNLIKELY(dynamic->pieces_admission != dynamic->our_admission)) {
        dynamic->pieces_admission = dynamic->our_admission;
        frag->sent = 0;
    }
    do {
        const size_t rest = length - frag->sent;
        const size_t piece = rest < MCA_BTL_FASTSM_RING_DATA ? rest : MCA_BTL_FASTSM_RING_DATA;

        more = piece < rest;
        if (!post_dynamic(dynamic, data + frag->sent, piece, tag, more ? MCA_BTL_FASTSM_SLOT_MORE : 0,
                          &pos)) {
            return false;
        }
        frag->sent += (uint32_t) piece;
    } while (more);
    frag->sent = 0;
    return true;
}

bool mca_btl_fastsm_dynamic_post(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                                 mca_btl_base_tag_t tag, bool *in_flight)
{
    mca_btl_fastsm_dynamic_t *dynamic = endpoint->dynamic;

    *in_flight = false;
    if (dynamic->parted || dynamic_has_moved(dynamic) || !admitted(dynamic)) {
        frag->sent = 0;
        return mca_btl_fastsm_dynamic_left(dynamic);
    }
    if (frag->segment.seg_len <= endpoint->inline_bytes) {
        return post_pieces(dynamic, frag, tag);
    }
    *in_flight = true;
    return post_dynamic_reference(dynamic, frag, tag);
}
