/* -*- Mode: C; c-basic-offset:4 ; indent-tabs-mode:nil -*- */
/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Sending to a late peer, through its ring.
 */

#include "opal_config.h"

#include "btl_fastsm.h"

/* Does the peer know us?  Asked anew each time: it may have forgotten us and met us again. */
static bool admitted(mca_btl_fastsm_late_t *late)
{
    if (OPAL_LIKELY(NULL != late->our_entry
                    && late->our_admission == fastsm_load_admission(&late->our_entry->id))) {
        return true;
    }
    late->our_entry =
        fastsm_admission_find(&late->ring, mca_btl_fastsm_component.me.nonce, &late->our_admission);
    if (NULL == late->our_entry) {
        return false;
    }
    if (!late->endpoint.pair.host) { /* one that has met us again waits for our word */
        (void) fastsm_pair_decide(&late->endpoint.pair, &late->our_entry->pair, MCA_BTL_FASTSM_PAIR_AGREED);
    }
    return true;
}

/* Nobody will ever read what we send there. */
static bool left(const mca_btl_fastsm_late_t *late)
{
    return late->parted || MCA_BTL_FASTSM_OWNER_LEFT == fastsm_load_owner(&late->ring.ctl->owner);
}

bool mca_btl_fastsm_late_left(const mca_btl_fastsm_late_t *late)
{
    return left(late);
}

bool mca_btl_fastsm_late_known(mca_btl_fastsm_late_t *late, uint32_t admission)
{
    return !late->parted && admitted(late) && admission == late->our_admission;
}

/* Does it have a FIFO, or is it on its way there?  Nothing goes to the ring then: it would come out of turn.
 */
static bool has_moved(const mca_btl_fastsm_late_t *late)
{
    return MCA_BTL_FASTSM_GROW_MOVING <= late->endpoint.grow.state;
}

bool mca_btl_fastsm_late_room(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_late_t *late = endpoint->late;
    uint32_t pos;

    return late->parted || (!has_moved(late) && admitted(late) && fastsm_ring_room(&late->ring, &pos))
           || left(late);
}

bool mca_btl_fastsm_late_was_read(mca_btl_fastsm_late_t *late, uint32_t position)
{
    return late->parted
           || fastsm_ring_was_read(&late->ring, fastsm_load_read_pos(&late->ring.ctl->read_pos), position)
           || left(late);
}

static bool post(mca_btl_fastsm_late_t *late, const void *data, size_t length, mca_btl_base_tag_t tag,
                 uint8_t flags, uint32_t *pos)
{
    mca_btl_fastsm_slot_t *slot = fastsm_ring_reserve(&late->ring, pos);

    if (NULL == slot) {
        return false;
    }
    slot->u.ring.length = (uint16_t) length;
    slot->u.ring.tag = tag;
    slot->u.ring.flags = flags;
    slot->u.ring.admission = late->our_admission;
    mca_common_fastpath_copy_small(slot->u.ring.data, data, length);
    fastsm_ring_commit(slot, *pos);
    mca_btl_fastsm_busy(&late->endpoint);
    return true;
}

bool mca_btl_fastsm_late_post_own(mca_btl_fastsm_late_t *late, const void *data, size_t length, uint8_t flags,
                                  uint32_t *position)
{
    opal_list_t *pending = &late->endpoint.pending;

    if (late->parted || !admitted(late)
        || (!opal_list_is_empty(pending)
            && 0 != ((const mca_btl_fastsm_frag_t *) opal_list_get_first(pending))->sent)) {
        return false;
    }
    return post(late, data, length, 0, flags, position);
}

static bool post_reference(mca_btl_fastsm_late_t *late, mca_btl_fastsm_frag_t *frag, mca_btl_base_tag_t tag)
{
    const char *data = (const char *) frag->segment.seg_addr.pval;
    const mca_btl_fastsm_pool_ref_t reference = {
        .offset = frag->offset + (uint64_t) (data - (const char *) frag->buffer),
        .length = (uint32_t) frag->segment.seg_len,
    };

    if (!post(late, &reference, sizeof(reference), tag, MCA_BTL_FASTSM_SLOT_POOL, &frag->position)) {
        return false;
    }
    mca_btl_fastsm_keep(&late->endpoint, frag);
    return true;
}

/* A message that is not referred to leaves in as many slots as it needs, now or as there is room.  So it
 * needs no buffer, which others that wait behind it may hold. */
static bool post_pieces(mca_btl_fastsm_late_t *late, mca_btl_fastsm_frag_t *frag, mca_btl_base_tag_t tag)
{
    const char *data = (const char *) frag->segment.seg_addr.pval;
    const size_t length = frag->segment.seg_len;
    uint32_t pos;
    bool more;

    /* a peer that has forgotten us meanwhile has forgotten the first pieces too */
    if (OPAL_UNLIKELY(late->pieces_admission != late->our_admission)) {
        late->pieces_admission = late->our_admission;
        frag->sent = 0;
    }
    do {
        const size_t rest = length - frag->sent;
        const size_t piece = rest < MCA_BTL_FASTSM_RING_DATA ? rest : MCA_BTL_FASTSM_RING_DATA;

        more = piece < rest;
        if (!post(late, data + frag->sent, piece, tag, more ? MCA_BTL_FASTSM_SLOT_MORE : 0, &pos)) {
            return false;
        }
        frag->sent += (uint32_t) piece;
    } while (more);
    frag->sent = 0;
    return true;
}

bool mca_btl_fastsm_late_post(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                              mca_btl_base_tag_t tag, bool *in_flight)
{
    mca_btl_fastsm_late_t *late = endpoint->late;

    *in_flight = false;
    if (late->parted || has_moved(late) || !admitted(late)) {
        frag->sent = 0;
        return left(late);
    }
    if (frag->segment.seg_len <= endpoint->inline_bytes) {
        return post_pieces(late, frag, tag);
    }
    *in_flight = true;
    return post_reference(late, frag, tag);
}
