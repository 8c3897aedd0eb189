/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Looking for messages, handing them up, and the work that send left for later.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_chunk_recv.h"
#include "btl_fastsm_deep.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_dynamic.h"
#include "btl_fastsm_move.h"
#include "btl_fastsm_peek.h"
#include "btl_fastsm_peers.h"
#include "btl_fastsm_progress.h"
#include "btl_fastsm_send.h"

/** with more peers than `recent` holds: calls that find a message there, per look at the bells */
#define FASTSM_BELLS_EVERY 8u

/** what is said in place of halves where the rest of a FIFO cannot be read, because this is damaged */
#define NOTHING_MORE UINT32_MAX

/* A message may come before the layer above has registered its callbacks, because add_procs of
 * other BTLs can call progress; it then stays where it is.  The error callback is registered
 * last: once it is there, a tag without callback is damage. */
static inline bool tag_known(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_base_tag_t tag)
{
    if (OPAL_LIKELY(MCA_BTL_TAG_MAX > tag && NULL != mca_btl_base_active_message_trigger[tag].cbfunc)) {
        return true;
    }
    if (NULL != mca_btl_fastsm_module.error_cb) {
        mca_btl_fastsm_corrupt(endpoint, "tag", tag);
    }
    return false;
}

static inline void deliver(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_base_tag_t tag, void *data,
                           size_t length)
{
    fastpath_btl_deliver(&mca_btl_fastsm_module.super, endpoint, tag, data, length);
}

/* Messages of several slots are put together first: receivers may expect one piece. */
static __opal_attribute_noinline__ uint32_t deliver_slots(mca_btl_fastsm_endpoint_t *endpoint,
                                                          mca_btl_fastsm_slot_t *slot, fastsm_head_t head)
{
    _Alignas(16) char data[MCA_BTL_FASTSM_INLINE_BYTES_MAX];
    const uint32_t halves = mca_btl_fastsm_extent(&endpoint->in, 0, head.length);

    if (OPAL_UNLIKELY(0 == halves)) {
        mca_btl_fastsm_corrupt(endpoint, "length", head.length);
        return NOTHING_MORE;
    }
    fastsm_fifo_gather(data, slot, halves);
    deliver(endpoint, head.tag, data, head.length);
    return halves;
}

/* false: the reference is damaged */
static __opal_attribute_noinline__ bool deliver_reference(mca_btl_fastsm_endpoint_t *endpoint,
                                                          mca_btl_base_tag_t tag, const void *data)
{
    uint64_t place;
    char *message = mca_btl_fastsm_referenced(endpoint, data, &place, SIZE_MAX);

    if (OPAL_UNLIKELY(NULL == message)) {
        mca_btl_fastsm_corrupt(endpoint, "offset", (unsigned long) mca_btl_fastsm_place_offset(place));
        return false;
    }
    deliver(endpoint, tag, message, mca_btl_fastsm_place_length(place));
    return true;
}

/* A message in chunks, when all have come; the header is in front of the first one. */
static __opal_attribute_noinline__ uint32_t deliver_chunks(mca_btl_fastsm_endpoint_t *endpoint,
                                                           const mca_btl_fastsm_slot_t *slot,
                                                           mca_btl_base_tag_t tag, uint32_t split)
{
    const size_t first = MCA_BTL_FASTSM_HEADER_BYTES + mca_btl_fastsm_first_chunk(endpoint, split);
    mca_btl_base_segment_t segments[MCA_BTL_FASTSM_CHUNKS_MAX];
    uint64_t place;
    char *message = mca_btl_fastsm_referenced(endpoint, slot->u.head.data, &place, first);
    const size_t length = mca_btl_fastsm_place_length(place);
    const uint32_t chunks = mca_btl_fastsm_view_chunks(endpoint, split, length);
    size_t rest = length - first;

    if (OPAL_UNLIKELY(NULL == message)) {
        mca_btl_fastsm_corrupt(endpoint, "offset", (unsigned long) mca_btl_fastsm_place_offset(place));
        return NOTHING_MORE;
    }
    if (OPAL_UNLIKELY(0 == chunks)) {
        mca_btl_fastsm_corrupt(endpoint, "length", (unsigned long) length);
        return NOTHING_MORE;
    }
    if (!mca_btl_fastsm_chunks_are_here(endpoint, chunks)) {
        return NOTHING_MORE;
    }
    segments[0].seg_addr.pval = message;
    segments[0].seg_len = first;
    for (uint32_t i = 1; i < chunks; ++i) {
        size_t bytes;

        segments[i].seg_addr.pval = (void *) (uintptr_t) mca_btl_fastsm_chunk(endpoint, i, rest, &bytes);
        segments[i].seg_len = bytes;
        rest -= bytes;
        if (OPAL_UNLIKELY(NULL == segments[i].seg_addr.pval || (i + 1 == chunks && 0 != rest))) {
            mca_btl_fastsm_corrupt(endpoint, "chunk", i);
            return NOTHING_MORE;
        }
    }
    fastpath_btl_deliver_segments(&mca_btl_fastsm_module.super, endpoint, tag, segments, chunks);
    return chunks;
}

static __opal_attribute_noinline__ uint32_t deliver_special(mca_btl_fastsm_endpoint_t *endpoint,
                                                            mca_btl_fastsm_slot_t *slot, fastsm_head_t head)
{
    if (MCA_BTL_FASTSM_SLOT_POOL == head.flags) {
        return deliver_reference(endpoint, head.tag, slot->u.head.data) ? 1 : NOTHING_MORE;
    }
    if ((MCA_BTL_FASTSM_SLOT_POOL | MCA_BTL_FASTSM_SLOT_CHUNKS) == head.flags) {
        return deliver_chunks(endpoint, slot, head.tag, head.length);
    }
    if (MCA_BTL_FASTSM_SLOT_PAD == head.flags) {
        const uint32_t halves = mca_btl_fastsm_extent(&endpoint->in, head.flags, head.length);

        if (OPAL_LIKELY(0 != halves)) {
            return halves;
        }
        mca_btl_fastsm_corrupt(endpoint, "pad", head.length);
        return NOTHING_MORE;
    }
    if (MCA_BTL_FASTSM_SLOT_WANT == head.flags) {
        return mca_btl_fastsm_wanted(endpoint, slot->u.head.data) ? 1 : NOTHING_MORE;
    }
    if (MCA_BTL_FASTSM_SLOT_CONTINUE == head.flags) {
        fastsm_fifo_release(&endpoint->in, 1);
        if (OPAL_LIKELY(mca_btl_fastsm_continued(endpoint))) {
            return 0;
        }
    }
    mca_btl_fastsm_corrupt(endpoint, "flags", head.flags);
    return NOTHING_MORE;
}

/* What the callback has done. If its message was taken, the next one may stay. */
static inline mca_btl_fastsm_answer_t answer_of(mca_btl_fastsm_handed_t *handed,
                                                mca_btl_fastsm_choice_t *choice)
{
    const mca_btl_fastsm_answer_t answer = handed->answer;

    if (OPAL_LIKELY(MCA_BTL_FASTSM_TAKEN == answer)) {
        *choice = MCA_BTL_FASTSM_MAY_STAY;
    } else {
        handed->answer = MCA_BTL_FASTSM_TAKEN;
    }
    return answer;
}

/* Takes up to poll_max messages from one sender. If something has been taken since the last look, by
 * whomever, or half a slot passed over, the first one may stay, too: so of two looks one takes something at
 * the least. A message that is left counts if it is the only one: something is there. */
static int consume(mca_btl_fastsm_endpoint_t *endpoint)
{
    const int most = (int) mca_btl_fastsm_component.poll_max;
    const bool threads = opal_using_threads();
    mca_btl_fastsm_handed_t unused = {.answer = MCA_BTL_FASTSM_TAKEN};
    mca_btl_fastsm_handed_t *handed = OPAL_UNLIKELY(threads) ? &unused : &mca_btl_fastsm_component.handed;
    mca_btl_fastsm_choice_t choice;
    mca_btl_fastsm_answer_t answer;
    mca_btl_fastsm_slot_t *slot;
    int count = 0;

    if (OPAL_UNLIKELY(!endpoint->readable || !mca_btl_fastsm_begin_consuming(&endpoint->in))) {
        return 0;
    }
    choice = endpoint->in.read_pos != endpoint->looked_pos ? MCA_BTL_FASTSM_MAY_STAY : MCA_BTL_FASTSM_MAY_END;
    while (NULL != (slot = fastsm_fifo_peek(&endpoint->in))) {
        const fastsm_head_t head = fastsm_slot_head(slot);
        uint32_t halves = fastsm_fifo_short_halves(&endpoint->in, head.length);

        if (OPAL_UNLIKELY(0 == (head.flags & MCA_BTL_FASTSM_SLOT_OWN) && !tag_known(endpoint, head.tag))) {
            break;
        }
        handed->choice = choice; /* each time: a callback may have let others progress */
        if (OPAL_LIKELY(0 == head.flags && 0 != halves)) {
            deliver(endpoint, head.tag, slot->u.head.data, head.length);
        } else {
            halves =
                0 == head.flags ? deliver_slots(endpoint, slot, head) : deliver_special(endpoint, slot, head);
            if (OPAL_UNLIKELY(NOTHING_MORE == halves)) {
                break;
            }
        }
        answer = answer_of(handed, &choice);
        if (OPAL_UNLIKELY(MCA_BTL_FASTSM_LEFT == answer)) {
            endpoint->left_look = mca_btl_fastsm_component.looks;
            count = 0 == count ? 1 : count;
            break;
        }
        fastsm_fifo_release(&endpoint->in, halves);
        ++count;
        if (OPAL_UNLIKELY(MCA_BTL_FASTSM_KEPT_LAST == answer || most == count)) {
            endpoint->left_look = mca_btl_fastsm_component.looks; /* what is behind is for the next look */
            break;
        }
    }
    endpoint->looked_pos = endpoint->in.read_pos;
    mca_btl_fastsm_end_consuming(&endpoint->in);
    return count;
}

/* Puts a message together that comes in pieces; other senders' slots may lie between them. */
static __opal_attribute_noinline__ void deliver_piece(mca_btl_fastsm_dynamic_t *dynamic,
                                                      mca_btl_fastsm_slot_t *slot, fastsm_head_t head)
{
    const size_t before = dynamic->pieces_length;

    if (OPAL_UNLIKELY(head.length > sizeof(dynamic->pieces) - before)) {
        mca_btl_fastsm_corrupt(&dynamic->endpoint, "length", before + head.length);
        return;
    }
    memcpy(dynamic->pieces + before, slot->u.ring.data, head.length);
    dynamic->pieces_length = before + head.length;
    if (0 == head.flags) {
        dynamic->pieces_length = 0;
        deliver(&dynamic->endpoint, head.tag, dynamic->pieces, before + head.length);
    }
}

static void deliver_dynamic(mca_btl_fastsm_dynamic_t *dynamic, mca_btl_fastsm_slot_t *slot,
                            fastsm_head_t head)
{
    if (MCA_BTL_FASTSM_SLOT_POOL == head.flags) {
        (void) deliver_reference(&dynamic->endpoint, head.tag, slot->u.ring.data);
    } else if (OPAL_UNLIKELY(0 != head.flags && MCA_BTL_FASTSM_SLOT_MORE != head.flags)) {
        mca_btl_fastsm_corrupt(&dynamic->endpoint, "flags", head.flags);
    } else if (OPAL_UNLIKELY(head.length > MCA_BTL_FASTSM_RING_DATA)) {
        mca_btl_fastsm_corrupt(&dynamic->endpoint, "length", head.length);
    } else if (0 != head.flags || 0 != dynamic->pieces_length) {
        deliver_piece(dynamic, slot, head);
    } else {
        deliver(&dynamic->endpoint, head.tag, slot->u.ring.data, head.length);
    }
}

/* What is no message; false when it cannot be handled now. */
static __opal_attribute_noinline__ bool deliver_own(mca_btl_fastsm_dynamic_t *dynamic,
                                                    mca_btl_fastsm_slot_t *slot, uint8_t flags)
{
    mca_btl_fastsm_endpoint_t *endpoint = &dynamic->endpoint;
    bool known = MCA_BTL_FASTSM_SLOT_WANT == flags;

    if (known) {
        (void) mca_btl_fastsm_wanted(endpoint, slot->u.ring.data);
    } else if (MCA_BTL_FASTSM_SLOT_CONTINUE == flags) {
        if (!mca_btl_fastsm_begin_consuming(&endpoint->in)) {
            return false;
        }
        known = mca_btl_fastsm_continued(endpoint);
        mca_btl_fastsm_end_consuming(&endpoint->in);
    }
    if (!known) {
        mca_btl_fastsm_corrupt(endpoint, "flags", flags);
    }
    return true;
}

/* The peer whose slot this is.  NULL: a peer's that was forgotten while it sent, or one's of which nothing is
 * read any more because it was damaged; neither is worth a word. */
static inline mca_btl_fastsm_dynamic_t *sender_of(const mca_btl_fastsm_slot_t *slot)
{
    uint32_t admission;
    mca_btl_fastsm_dynamic_t *dynamic;

    fastsm_read_once(&admission, &slot->u.ring.admission, sizeof(admission));
    dynamic = mca_btl_fastsm_dynamic_find(admission);
    return OPAL_LIKELY(NULL != dynamic && dynamic->endpoint.connected) ? dynamic : NULL;
}

/* Takes up to poll_max slots from the ring. */
static __opal_attribute_noinline__ int consume_ring(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const int most = (int) component->poll_max;
    mca_btl_fastsm_slot_t *slot;
    int count = 0;

    if (!mca_btl_fastsm_begin_consuming(&component->ring)) {
        return 0;
    }
    while (count < most && NULL != (slot = fastsm_ring_peek(&component->ring))) {
        const fastsm_head_t head = fastsm_slot_head(slot);
        mca_btl_fastsm_dynamic_t *dynamic = sender_of(slot);

        if (OPAL_UNLIKELY(NULL != dynamic && 0 != (head.flags & MCA_BTL_FASTSM_SLOT_OWN))) {
            if (!deliver_own(dynamic, slot, head.flags)) {
                break;
            }
        } else if (OPAL_LIKELY(NULL != dynamic)) {
            if (OPAL_UNLIKELY(!tag_known(&dynamic->endpoint, head.tag))) {
                break;
            }
            component->handed.choice = MCA_BTL_FASTSM_MUST_TAKE;
            deliver_dynamic(dynamic, slot, head);
        }
        fastsm_fifo_release(&component->ring, 1);
        ++count;
    }
    mca_btl_fastsm_end_consuming(&component->ring);
    return count;
}

/* Whether messages of this sender have been left by this call of progress, so that its bell rings still. */
static inline bool was_left(const mca_btl_fastsm_endpoint_t *endpoint)
{
    return !opal_using_threads() && endpoint->left_look == mca_btl_fastsm_component.looks;
}

static int poll_bell(uint32_t index)
{
    mca_btl_fastsm_endpoint_t *endpoint = mca_btl_fastsm_writer(index);
    int count;

    if (OPAL_UNLIKELY(NULL == endpoint || was_left(endpoint))) {
        return 0;
    }
    count = consume(endpoint);
    if (OPAL_UNLIKELY(0 == count) && mca_btl_fastsm_read_first(endpoint)) {
        count = consume(endpoint);
    }
    if (0 < count) {
        mca_btl_fastsm_remember(endpoint);
    }
    return count;
}

static int poll_bells(void)
{
    const uint32_t groups = mca_btl_fastsm_bell_groups();
    int count = 0;

    mca_btl_fastsm_count(&mca_btl_fastsm_component.bell_scans);
    for (uint32_t group = 0; group < groups; ++group) {
        for (uint32_t rung = mca_btl_fastsm_rung(group); 0 != rung; rung &= rung - 1) {
            count += poll_bell(8 * group + (uint32_t) __builtin_ctz(rung));
        }
    }
    return count;
}

static int run_callbacks(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    int count = 0;

    for (;;) {
        mca_btl_fastsm_frag_t *frag;
        bool ours;

        OPAL_THREAD_LOCK(&component->lock);
        frag = (mca_btl_fastsm_frag_t *) opal_list_remove_first(&component->done);
        if (NULL != frag) {
            --component->deferred;
        }
        OPAL_THREAD_UNLOCK(&component->lock);
        if (NULL == frag) {
            return count;
        }

        /* without ownership the callback may free the frag */
        ours = 0 != (MCA_BTL_DES_FLAGS_BTL_OWNERSHIP & frag->base.des_flags);
        /* we call back unasked; active messages of Open MPI's do not expect it */
        if (NULL != frag->base.des_cbfunc) {
            frag->base.des_cbfunc(&mca_btl_fastsm_module.super, frag->endpoint, &frag->base, OPAL_SUCCESS);
        }
        if (ours) {
            mca_btl_fastsm_frag_return(frag);
        }
        ++count;
    }
}

static __opal_attribute_noinline__ int progress_deferred(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    size_t rounds = opal_list_get_size(&component->active);
    int count = 0;

    if (0 != component->n_dynamic) {
        count = consume_ring();
    }
    while (0 < rounds--) {
        mca_btl_fastsm_active_t *item;
        bool sound;

        OPAL_THREAD_LOCK(&component->lock);
        item = (mca_btl_fastsm_active_t *) opal_list_remove_first(&component->active);
        if (NULL != item) {
            item->endpoint->on_active = false;
            --component->deferred;
        }
        OPAL_THREAD_UNLOCK(&component->lock);
        if (NULL == item) {
            break;
        }

        mca_btl_fastsm_lock(item->endpoint);
        mca_btl_fastsm_reclaim(item->endpoint);
        mca_btl_fastsm_send_pending(item->endpoint);
        sound = mca_btl_fastsm_move(item->endpoint);
        if (0 != item->endpoint->out.n_pending || 0 != item->endpoint->n_waiting
            || mca_btl_fastsm_moving(item->endpoint)) {
            mca_btl_fastsm_activate(item->endpoint);
        }
        mca_btl_fastsm_unlock(item->endpoint);
        if (OPAL_UNLIKELY(!sound)) {
            mca_btl_fastsm_corrupt(item->endpoint, "assignment", item->endpoint->move.nonsense);
        }
    }
    return count + run_callbacks();
}

/* One round: the last senders' slots, then the doorbells, then what send left. Who shares a core has been
 * away for long, and others may have sent, too. */
static inline __opal_attribute_always_inline__ int progress(bool threads)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint32_t n_recent = mca_btl_fastsm_load_n_recent();
    int count = 0;

    component->looks += threads ? 0 : 1;
    for (uint32_t i = 0; i < n_recent; ++i) {
        mca_btl_fastsm_endpoint_t *endpoint =
            atomic_load_explicit(&component->recent[i], memory_order_relaxed);

        /* with threads only the consumer may look */
        if (threads || NULL != fastsm_fifo_peek(&endpoint->in)) {
            count += consume(endpoint);
        }
    }

    if (component->n_connected > n_recent
        && (0 == count || opal_progress_yield_when_idle
            || FASTSM_BELLS_EVERY <= ++component->bells_skipped)) {
        component->bells_skipped = 0;
        count += poll_bells();
    }

    if (OPAL_UNLIKELY(0 != component->deferred)) {
        count += progress_deferred();
    }
    component->arrived += (unsigned long) count;
    return count;
}

/* What has been delivered, with several threads, may be what another one sleeps for. */
static int wake_if_delivered(int count)
{
    if (0 < count) {
        fastsm_wake_if_asleep(mca_btl_fastsm_asleep(NULL));
    }
    return count;
}

static __opal_attribute_noinline__ int progress_mt(void)
{
    return wake_if_delivered(progress(true));
}

int mca_btl_fastsm_component_progress(void)
{
    return OPAL_UNLIKELY(opal_using_threads()) ? progress_mt() : progress(false);
}

static inline __opal_attribute_always_inline__ int poll_one(mca_btl_base_endpoint_t *endpoint, unsigned spins,
                                                            bool threads)
{
    int count = 0;

    for (;;) {
        /* with threads only the consumer may look */
        if (threads || NULL != fastsm_fifo_peek(&endpoint->in)) {
            count = consume(endpoint);
        }
        if (0 != count || 0 == --spins) {
            break;
        }
        mca_common_fastpath_relax();
    }
    mca_btl_fastsm_component.arrived += (unsigned long) count;
    return count;
}

static __opal_attribute_noinline__ int poll_one_mt(mca_btl_base_endpoint_t *endpoint, unsigned spins)
{
    return wake_if_delivered(poll_one(endpoint, spins, true));
}

int mca_btl_fastsm_poll(mca_btl_base_endpoint_t *endpoint, unsigned spins)
{
    if (NULL == endpoint || NULL != endpoint->dynamic || !endpoint->connected) {
        return mca_btl_fastsm_component_progress();
    }
    return OPAL_UNLIKELY(opal_using_threads()) ? poll_one_mt(endpoint, spins)
                                               : poll_one(endpoint, spins, false);
}
