/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Descriptors and their buffers.
 */

#include "opal_config.h"

#include <stdlib.h>

#include "opal/mca/common/fastpath/common_fastpath_memory.h"
#include "opal/runtime/opal_progress.h"

#include "btl_fastsm.h"
#include "btl_fastsm_failed.h"
#include "btl_fastsm_frag.h"
#include "btl_fastsm_segment.h"
#include "btl_fastsm_send.h"

/** private frags are allocated that many at a time */
#define FASTSM_SMALL_CHUNK 32u
/** eager buffers that take turns where processes share cores, at least */
#define TURNS_SHARED 8u
/** and at the most of them where there are messages of several: what a reader's core wrote or read last is
 * dear to write for another one */
#define TURNS_CHAINED 128u
/** and that may be in use there, when a peer that has not read some gets one more, before more pages are
 * asked for */
#define IN_USE_SHARED 32u
/** buffers in all pools of a node that its caches keep beside all else: so many take turns, and are in use
 * when such peers get messages of several, each pool its share */
#define NODE_SHARED 512u
/** buffers that each peer may have to read in any case */
#define UNREAD_ALWAYS 4u
/** the part of a pool that a peer with more than that to read does not get: it is for others, who may be all
 * that is waited for while this one does something else */
#define KEPT_PART 4u
/** buffers that are taken there before those that are in no use any more have no turns */
#define RESTING_SHARED 512u
/** bytes of all buffers that take turns where each is full: more than passes a reader's cache unnoticed, and
 * not so much more that it passes ours as well (docs/shared-layout.md, "Buffers take turns") */
#define FULL_TURNS ((size_t) 3 * 1024 * 1024)
/** bytes of buffers whose pages are asked for at a time */
#define GROWTH_MIN ((size_t) 64 * 1024)
#define GROWTH_MAX ((size_t) 512 * 1024)
/** fewest buffers that are taken between two growths of a pool, as a multiple of the growth */
#define GROWTH_TAKEN 32u
/** weight of how much longer first uses of new buffers took than later ones */
#define GROWTH_PRICE 4u
/** bytes that a processor fetches behind what it reads line by line.  In a buffer that is about to be written
 * it would take their lines away from the sender, which has got them for that */
#define FETCHED_BEHIND 1024u
/** buffers of a pool that can spare some for that */
#define SPACERS_FROM 64u
/** time between two growths, as a multiple of what asking for the pages took, where processes share cores and
 * only messages that could wait want them */
#define GROWTH_PAUSE 16u
/** most buffers that are taken between two growths, as a multiple: the program may have changed in between */
#define GROWTH_TAKEN_MAX 1024u

OBJ_CLASS_INSTANCE(mca_btl_fastsm_frag_t, mca_btl_base_descriptor_t, NULL, NULL);

static void frag_list_init(mca_btl_fastsm_frag_list_t *list, mca_btl_fastsm_frag_class_t frag_class,
                           size_t size, uint32_t count)
{
    *list =
        (mca_btl_fastsm_frag_list_t){.turns = MCA_BTL_FASTSM_FRAG_EAGER == frag_class ? TURNS_SHARED : 0,
                                     .share = NODE_SHARED / mca_btl_fastsm_component.layout.params.n_local,
                                     .full_turns = (uint32_t) (FULL_TURNS / size),
                                     .size = size,
                                     .count = count,
                                     .frag_class = frag_class};
    mca_btl_fastsm_rotation_init(&list->rotation);
    OBJ_CONSTRUCT(&list->lock, opal_mutex_t);
}

void mca_btl_fastsm_frags_init(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const mca_btl_fastsm_layout_params_t *params = &component->layout.params;
    mca_btl_fastsm_frag_list_t *lists = component->frags;

    component->inline_bytes = mca_btl_fastsm_inline_bytes(MCA_BTL_FASTSM_DEPTH_MAX);

    frag_list_init(&lists[MCA_BTL_FASTSM_FRAG_SMALL], MCA_BTL_FASTSM_FRAG_SMALL, component->inline_bytes,
                   UINT32_MAX);
    frag_list_init(&lists[MCA_BTL_FASTSM_FRAG_EAGER], MCA_BTL_FASTSM_FRAG_EAGER,
                   mca_btl_fastsm_layout_eager_limit(params), params->eager_count);
    frag_list_init(&lists[MCA_BTL_FASTSM_FRAG_MAX], MCA_BTL_FASTSM_FRAG_MAX, params->max_size,
                   params->max_count);
}

void mca_btl_fastsm_frags_fini(void)
{
    for (int i = 0; i < MCA_BTL_FASTSM_FRAG_CLASSES; ++i) {
        mca_btl_fastsm_frag_list_t *list = &mca_btl_fastsm_component.frags[i];

        if (0 == list->size) {
            continue; /* init did not come that far */
        }
        for (uint32_t c = 0; c < list->n_chunks; ++c) {
            free(list->chunks[c]);
        }
        free(list->chunks);
        list->chunks = NULL;
        list->free = NULL;
        list->spare = NULL;
        list->size = 0;
        OBJ_DESTRUCT(&list->lock);
    }
}

static void *new_chunk(mca_btl_fastsm_frag_list_t *list, size_t bytes)
{
    mca_btl_fastsm_frag_t **chunks;
    void *chunk;

    chunks = (mca_btl_fastsm_frag_t **) realloc(list->chunks, (list->n_chunks + 1) * sizeof(*chunks));
    if (NULL == chunks) {
        return NULL;
    }
    list->chunks = chunks;
    chunk = calloc(1, bytes);
    if (NULL != chunk) {
        chunks[list->n_chunks++] = (mca_btl_fastsm_frag_t *) chunk;
    }
    return chunk;
}

static void init_frag(mca_btl_fastsm_frag_list_t *list, mca_btl_fastsm_frag_t *frag, void *buffer)
{
    OBJ_CONSTRUCT(frag, mca_btl_fastsm_frag_t);
    frag->base.des_segments = &frag->segment;
    frag->base.des_segment_count = 1;
    frag->my_list = list;
    frag->frag_class = list->frag_class;
    frag->buffer = buffer;
}

/* Private frags and their buffers in one piece; all but the first go to the free list. */
static mca_btl_fastsm_frag_t *make_small(mca_btl_fastsm_frag_list_t *list)
{
    const size_t each = (sizeof(mca_btl_fastsm_frag_t) + list->size + 63) & ~(size_t) 63;
    char *chunk = (char *) new_chunk(list, FASTSM_SMALL_CHUNK * each);

    if (NULL == chunk) {
        return NULL;
    }
    for (uint32_t i = 0; i < FASTSM_SMALL_CHUNK; ++i) {
        mca_btl_fastsm_frag_t *frag = (mca_btl_fastsm_frag_t *) (chunk + i * each);

        init_frag(list, frag, frag + 1);
        if (0 < i) {
            mca_btl_fastsm_frag_list_put(list, frag);
        }
    }
    return (mca_btl_fastsm_frag_t *) chunk;
}

static uint64_t offset_of(const mca_btl_fastsm_frag_list_t *list, uint32_t index)
{
    const mca_btl_fastsm_layout_t *layout = &mca_btl_fastsm_component.layout;

    return MCA_BTL_FASTSM_FRAG_EAGER == list->frag_class ? mca_btl_fastsm_layout_eager(layout, index)
                                                         : mca_btl_fastsm_layout_max(layout, index);
}

/* bytes in front of a buffer that belong to it */
static size_t lead_of(const mca_btl_fastsm_frag_list_t *list)
{
    return MCA_BTL_FASTSM_FRAG_EAGER == list->frag_class ? MCA_BTL_FASTSM_EAGER_LEAD : 0;
}

/* Asks for the pages of so many buffers, which are at the most all that are left.  @return whether they are
 * there, or will be when they are touched */
static bool reserve(mca_btl_fastsm_frag_list_t *list, uint32_t count)
{
    const uint64_t begin = offset_of(list, list->there);
    const uint64_t end = offset_of(list, list->there + count - 1) + lead_of(list) + list->size;

    list->growth.began = mca_common_fastpath_ticks();
    if (OPAL_ERR_OUT_OF_RESOURCE
        == mca_common_fastpath_reserve(mca_btl_fastsm_component.base + begin, end - begin)) {
        return false;
    }
    list->there += count;
    list->growth.pages = mca_common_fastpath_ticks() - list->growth.began;
    list->growth.count = count;
    list->growth.taken = 0;
    return true;
}

/* How many buffers a pool grows by: as many as have been used, within limits. */
static inline uint32_t growth(const mca_btl_fastsm_frag_list_t *list)
{
    const size_t used = list->used * list->size;
    const size_t bytes = used < GROWTH_MIN ? GROWTH_MIN : used < GROWTH_MAX ? used : GROWTH_MAX;
    const uint32_t count = bytes < list->size ? 1 : (uint32_t) (bytes / list->size);
    const uint32_t left = list->count - list->there;

    return count < left ? count : left;
}

/* Asks for the pages of the next buffers, where there is too little memory of one.  @return whether that is
 * there */
static bool grow(mca_btl_fastsm_frag_list_t *list)
{
    const uint32_t count = growth(list);

    return (1 < count && reserve(list, count)) || reserve(list, 1);
}

/* There is no memory for more: what there is is all there will ever be. */
static void limit_pool(mca_btl_fastsm_frag_list_t *list)
{
    list->count = list->used;
    if (mca_btl_fastsm_module.ext.buffers > list->count) {
        mca_btl_fastsm_module.ext.buffers = list->count;
    }
}

/* Makes a frag that was never used before, or returns NULL.  The list's lock is held. */
static mca_btl_fastsm_frag_t *frag_make(mca_btl_fastsm_frag_list_t *list)
{
    mca_btl_fastsm_frag_t *frag;

    if (list->used >= list->count) {
        return NULL;
    }
    if (MCA_BTL_FASTSM_FRAG_SMALL == list->frag_class) {
        return make_small(list);
    }
    if (list->used == list->there && !grow(list)) {
        limit_pool(list);
        return NULL;
    }
    frag = (mca_btl_fastsm_frag_t *) new_chunk(list, sizeof(*frag));
    if (NULL == frag) {
        return NULL;
    }
    frag->offset = offset_of(list, list->used) + lead_of(list);
    init_frag(list, frag, mca_btl_fastsm_component.base + frag->offset);
    ++list->used;
    return frag;
}

/* How many take turns where few do: also those of the longest message, twice. */
static inline uint32_t few_turns(const mca_btl_fastsm_frag_list_t *list)
{
    return list->turns > MCA_BTL_FASTSM_ROTATION_FEW ? list->turns : MCA_BTL_FASTSM_ROTATION_FEW;
}

/* How many do where processes share cores: few, or where there are messages of several enough for the cores'
 * caches. */
static inline uint32_t shared_turns(const mca_btl_fastsm_frag_list_t *list)
{
    uint32_t share = list->share < TURNS_CHAINED ? list->share : TURNS_CHAINED;

    if (!list->chained) {
        return list->turns;
    }
    share = share < list->count ? share : list->count;
    return list->turns > share ? list->turns : share;
}

/* How many take turns in the long run: of a pool all, or enough if each is full, unless few are sooner or
 * processes share cores. */
static inline uint32_t turns(const mca_btl_fastsm_frag_list_t *list, bool full)
{
    if (MCA_BTL_FASTSM_FRAG_SMALL == list->frag_class) {
        return list->turns;
    }
    if (OPAL_UNLIKELY(opal_progress_yield_when_idle)) {
        return shared_turns(list);
    }
    if (list->rotation.few_now) {
        return few_turns(list);
    }
    return full && list->full_turns < list->count ? list->full_turns : list->count;
}

/* How often the buffers of the last growth shall be taken until the next one.  Their first turns, with the
 * pages that both sides have to get, have taken so many ticks, and as many turns after that. */
static uint32_t often(uint64_t first, uint64_t second)
{
    const uint64_t price = GROWTH_PRICE * first / (0 == second ? 1 : second);

    return price < GROWTH_TAKEN       ? GROWTH_TAKEN
           : price < GROWTH_TAKEN_MAX ? (uint32_t) price
                                      : GROWTH_TAKEN_MAX;
}

/* Whether one that was never used shall have its turn though others are free. */
static __opal_attribute_noinline__ bool one_more(mca_btl_fastsm_frag_list_t *list)
{
    mca_btl_fastsm_growth_t *last = &list->growth;

    if (list->used < list->there) {
        return true;
    }
    if (0 == last->taken) {
        const uint64_t now = mca_common_fastpath_ticks();

        last->first = now - last->began;
        last->began = now;
    } else if (last->count == last->taken) {
        last->often = often(last->first, mca_common_fastpath_ticks() - last->began);
    }
    ++last->taken;
    return last->count < last->taken && last->often * growth(list) <= last->taken;
}

static inline uint32_t in_use(const mca_btl_fastsm_frag_list_t *list)
{
    return list->used - list->n_free - list->n_spare;
}

/* The spare ones have their turns after all others. */
static void end_spare(mca_btl_fastsm_frag_list_t *list)
{
    if (NULL == list->spare) {
        return;
    }
    if (NULL == list->free) {
        list->free = list->spare;
    } else {
        list->last->base.super.super.opal_list_next = (opal_list_item_t *) list->spare;
    }
    list->last = list->last_spare;
    list->n_free += list->n_spare;
    list->spare = NULL;
    list->n_spare = 0;
}

/* None but spare ones are free: one of them takes turns from now on. */
static inline void spare_one_less(mca_btl_fastsm_frag_list_t *list)
{
    mca_btl_fastsm_frag_t *frag = list->spare;

    list->spare = mca_btl_fastsm_frag_next(frag);
    --list->n_spare;
    mca_btl_fastsm_frag_list_put(list, frag);
}

/* Keep `keep` free buffers in rotation, at least 1, and make the others spare. There must be no spare ones
 * yet. */
static void spare_all_but(mca_btl_fastsm_frag_list_t *list, uint32_t keep)
{
    mca_btl_fastsm_frag_t *frag = list->free;

    if (list->n_free <= keep) {
        return;
    }
    for (uint32_t i = 1; i < keep; ++i) {
        frag = mca_btl_fastsm_frag_next(frag);
    }
    list->spare = mca_btl_fastsm_frag_next(frag);
    list->last_spare = list->last;
    list->n_spare = list->n_free - keep;
    frag->base.super.super.opal_list_next = NULL;
    list->last = frag;
    list->n_free = keep;
}

/* Whether all that may take turns do, and are more than few. */
static bool all_have_turns(const mca_btl_fastsm_frag_list_t *list)
{
    return list->used == list->used_before && few_turns(list) < list->used
           && (list->count == list->used || list->full_turns <= list->used);
}

/* Some have had their turns: how many take turns is looked at anew.  Those that only many in use at a time
 * have brought in are spare again.  The list's lock is held. */
static __opal_attribute_noinline__ void rotation_step(mca_btl_fastsm_frag_list_t *list)
{
    uint32_t most;

    if (MCA_BTL_FASTSM_FRAG_EAGER != list->frag_class) {
        list->rotation.left = UINT32_MAX;
        return;
    }
    if (OPAL_UNLIKELY(opal_progress_yield_when_idle)) {
        mca_btl_fastsm_rotation_stop(&list->rotation);
        list->rotation.left = RESTING_SHARED;
    } else {
        mca_btl_fastsm_rotation_step(&list->rotation, mca_common_fastpath_ticks(),
                                     all_have_turns(list) ? list->used : 0);
    }
    list->used_before = list->used;
    end_spare(list);
    most = turns(list, false);
    spare_all_but(list, most > in_use(list) ? most - in_use(list) : 1);
}

/* Whether pages for so many more would have to be asked for too soon. */
static __opal_attribute_noinline__ bool grows_too_soon(const mca_btl_fastsm_frag_list_t *list, uint32_t more)
{
    const uint32_t needed = in_use(list) + more;

    return IN_USE_SHARED < needed && list->there < needed
           && mca_common_fastpath_ticks() - list->growth.began < GROWTH_PAUSE * list->growth.pages;
}

/* Whether so much is unread that one more long message had better be read where it is.  Where processes share
 * cores who sends may be far ahead of who receives, and what is not read soon is in no cache any more. */
static bool are_held(const mca_btl_fastsm_frag_list_t *list, const mca_btl_fastsm_endpoint_t *endpoint,
                     uint32_t more)
{
    return 1 < more && list->share < in_use(list) + more && !fastsm_pair_refuses(&endpoint->pair);
}

/* Whether a peer has to read what it has, before it gets so many more.  One that has little to read gets them
 * in any case: others' messages must not hold up its own.  The list's lock is held. */
static inline bool are_enough(const mca_btl_fastsm_frag_list_t *list,
                              const mca_btl_fastsm_endpoint_t *endpoint, uint32_t more)
{
    if (NULL == endpoint || MCA_BTL_FASTSM_FRAG_SMALL == list->frag_class
        || UNREAD_ALWAYS > endpoint->n_in_flight + endpoint->out.n_pending) {
        return false;
    }
    return list->count - list->count / KEPT_PART < in_use(list) + more
           || (OPAL_UNLIKELY(opal_progress_yield_when_idle)
               && (grows_too_soon(list, more) || are_held(list, endpoint, more)));
}

/* Takes a frag from a free list, or makes one; NULL when there is none.  The list's lock is held.
 * @param full  its buffer will be */
static inline mca_btl_fastsm_frag_t *frag_take(mca_btl_fastsm_frag_list_t *list, bool full)
{
    mca_btl_fastsm_frag_t *frag = NULL;

    if (OPAL_UNLIKELY(0 == --list->rotation.left)) {
        rotation_step(list);
    }
    if (OPAL_UNLIKELY(NULL == list->free && NULL != list->spare)) {
        spare_one_less(list);
    }
    if (NULL == list->free || OPAL_UNLIKELY(list->used < turns(list, full) && one_more(list))) {
        frag = frag_make(list);
    }
    if (OPAL_LIKELY(NULL == frag && NULL != list->free)) {
        frag = list->free;
        list->free = mca_btl_fastsm_frag_next(frag);
        --list->n_free;
    }
    return frag;
}

/* Keeps the next message away from one that ends in this frag, which has so many bytes: lines of its buffer
 * are fetched by whoever reads this one to the end.  Buffers of one message lie side by side, because there
 * that is what they are wanted for (docs/shared-layout.md, "Chunks").  The list's lock is held. */
static inline void take_spacer(mca_btl_fastsm_frag_list_t *list, mca_btl_fastsm_frag_t *frag, size_t bytes)
{
    const size_t behind = mca_btl_fastsm_smaller(FETCHED_BEHIND, list->size / 4);

    if (bytes > list->size - behind && MCA_BTL_FASTSM_FRAG_EAGER == list->frag_class
        && SPACERS_FROM <= list->count && in_use(list) < list->count / 2
        && OPAL_LIKELY(!opal_progress_yield_when_idle)) {
        frag->spacer = frag_take(list, true);
    }
}

/* @param endpoint  whom it is for; NULL: nobody yet
 * @param bytes     that it will have */
static inline mca_btl_fastsm_frag_t *frag_get(mca_btl_fastsm_frag_list_t *list,
                                              const mca_btl_fastsm_endpoint_t *endpoint, size_t bytes)
{
    mca_btl_fastsm_frag_t *frag;

    OPAL_THREAD_LOCK(&list->lock);
    frag = are_enough(list, endpoint, 1) ? NULL : frag_take(list, false);
    if (OPAL_LIKELY(NULL != frag)) {
        take_spacer(list, frag, bytes);
    }
    OPAL_THREAD_UNLOCK(&list->lock);
    return frag;
}

/* Collects buffers that a peer is through with. */
static inline void reclaim_from(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_lock(endpoint);
    mca_btl_fastsm_reclaim(endpoint);
    mca_btl_fastsm_unlock(endpoint);
}

/* The same from all peers. */
static void reclaim_all(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    for (uint32_t i = 0; i < component->n_local; ++i) {
        mca_btl_fastsm_endpoint_t *endpoint = &component->peers[i];

        if (0 != endpoint->n_in_flight) {
            reclaim_from(endpoint);
            mca_btl_fastsm_failed_reclaim(endpoint);
        }
    }
    for (uint32_t i = 0; 0 != component->n_dynamic && i < component->dynamic_peers; ++i) {
        mca_btl_fastsm_dynamic_t *dynamic = mca_btl_fastsm_admitted(i);

        if (NULL != dynamic && 0 != dynamic->endpoint.n_in_flight) {
            reclaim_from(&dynamic->endpoint);
        }
    }
}

/* Collects what a peer is through with, where less than so many are free. */
static inline void reclaim_some(const mca_btl_fastsm_frag_list_t *list, mca_btl_fastsm_endpoint_t *endpoint,
                                uint32_t count)
{
    if (NULL != endpoint && 0 < endpoint->n_in_flight && list->n_free < count) {
        reclaim_from(endpoint);
    }
}

static mca_btl_fastsm_frag_t *get_pool_frag(mca_btl_fastsm_frag_list_t *list,
                                            mca_btl_fastsm_endpoint_t *endpoint, size_t bytes)
{
    mca_btl_fastsm_frag_t *frag;

    reclaim_some(list, endpoint, 1);
    frag = frag_get(list, endpoint, bytes);
    if (OPAL_UNLIKELY(NULL == frag)) {
        reclaim_all();
        frag = frag_get(list, endpoint, bytes);
    }
    return frag;
}

/* So many of a list, linked, or none; the last one with so many bytes. */
static mca_btl_fastsm_frag_t *take_chain(mca_btl_fastsm_frag_list_t *list,
                                         mca_btl_fastsm_endpoint_t *endpoint, uint32_t count, size_t bytes)
{
    mca_btl_fastsm_frag_t *first = NULL, *last = NULL;
    uint32_t taken = 0;

    OPAL_THREAD_LOCK(&list->lock);
    if (are_enough(list, endpoint, count)) {
        OPAL_THREAD_UNLOCK(&list->lock);
        return NULL;
    }
    if (OPAL_UNLIKELY(list->turns < 2 * count)) {
        list->turns = 2 * count < list->count ? 2 * count : list->count;
    }
    list->chained = list->chained || 1 < count;
    while (taken < count) {
        mca_btl_fastsm_frag_t *frag = frag_take(list, 1 < count);

        if (OPAL_UNLIKELY(NULL == frag)) {
            break;
        }
        frag->base.des_flags = MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
        frag->base.super.super.opal_list_next = NULL;
        frag->endpoint = endpoint;
        if (NULL == first) {
            first = frag;
        } else {
            last->base.super.super.opal_list_next = (opal_list_item_t *) frag;
        }
        last = frag;
        ++taken;
    }
    if (OPAL_LIKELY(taken == count)) {
        take_spacer(list, last, bytes);
    }
    OPAL_THREAD_UNLOCK(&list->lock);
    if (OPAL_UNLIKELY(taken < count)) {
        mca_btl_fastsm_frags_put_back(first, taken);
        first = NULL;
    }
    return first;
}

mca_btl_fastsm_frag_t *mca_btl_fastsm_frags_take(mca_btl_fastsm_endpoint_t *endpoint, uint32_t count,
                                                 size_t last)
{
    mca_btl_fastsm_frag_list_t *list = &mca_btl_fastsm_component.frags[MCA_BTL_FASTSM_FRAG_EAGER];
    mca_btl_fastsm_frag_t *first;

    reclaim_some(list, endpoint, count);
    first = take_chain(list, endpoint, count, last);
    if (OPAL_UNLIKELY(NULL == first)) {
        reclaim_all();
        first = take_chain(list, endpoint, count, last);
    }
    return first;
}

void mca_btl_fastsm_frags_put_back(mca_btl_fastsm_frag_t *first, uint32_t count)
{
    while (0 < count--) {
        mca_btl_fastsm_frag_t *frag = first;

        first = mca_btl_fastsm_frag_next(frag);
        mca_btl_fastsm_frag_return(frag);
    }
}

/* The pool for so many bytes; NULL: they are too many. */
static mca_btl_fastsm_frag_list_t *pool_for(size_t size)
{
    mca_btl_fastsm_frag_list_t *lists = mca_btl_fastsm_component.frags;

    if (size <= lists[MCA_BTL_FASTSM_FRAG_EAGER].size) {
        return &lists[MCA_BTL_FASTSM_FRAG_EAGER];
    }
    return size <= lists[MCA_BTL_FASTSM_FRAG_MAX].size ? &lists[MCA_BTL_FASTSM_FRAG_MAX] : NULL;
}

/* btl_alloc, but where there is memory for none it only returns NULL. */
static mca_btl_base_descriptor_t *alloc_frag(mca_btl_base_endpoint_t *endpoint, uint8_t order, size_t size,
                                             uint32_t flags)
{
    mca_btl_fastsm_frag_t *frag = NULL;

    if (size <= (OPAL_LIKELY(NULL != endpoint) ? endpoint->inline_bytes
                                               : fastsm_fifo_capacity(MCA_BTL_FASTSM_INLINE_SLOTS_MIN))) {
        frag = frag_get(&mca_btl_fastsm_component.frags[MCA_BTL_FASTSM_FRAG_SMALL], NULL, size);
    } else {
        mca_btl_fastsm_frag_list_t *pool = pool_for(size);

        frag = OPAL_LIKELY(NULL != pool) ? get_pool_frag(pool, endpoint, size) : NULL;
    }
    if (OPAL_UNLIKELY(NULL == frag)) {
        return NULL;
    }

    frag->segment.seg_addr.pval = frag->buffer;
    frag->segment.seg_len = size;
    frag->base.des_segment_count = 1;
    frag->base.des_flags = flags;
    frag->base.order = order;
    frag->endpoint = endpoint;
    return &frag->base;
}

mca_btl_base_descriptor_t *mca_btl_fastsm_alloc(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                                                uint8_t order, size_t size, uint32_t flags)
{
    mca_btl_base_descriptor_t *des = alloc_frag(endpoint, order, size, flags);
    const mca_btl_fastsm_frag_list_t *pool;

    (void) btl;
    if (OPAL_LIKELY(NULL != des)) {
        return des;
    }
    pool = pool_for(size);
    if (OPAL_UNLIKELY(NULL != pool && 0 == pool->count)) { /* there will never be one */
        mca_btl_fastsm_shortage(NULL, "a buffer to send from", pool->size);
    }
    return NULL;
}

int mca_btl_fastsm_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *des)
{
    (void) btl;
    mca_btl_fastsm_frag_return((mca_btl_fastsm_frag_t *) des);
    return OPAL_SUCCESS;
}

/* What comes first in a buffer is not measured: that would tell what its pages cost. */
static void fill_frag(mca_btl_base_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag, void *to,
                      const void *from, size_t length)
{
    if (OPAL_LIKELY(length <= frag->filled)) {
        mca_common_fastpath_ways_copy(&endpoint->pack_ways, MCA_COMMON_FASTPATH_FILL_WAYS, to, from, length);
    } else {
        mca_common_fastpath_copy(to, from, length);
        frag->filled = length;
    }
}

/* Packs data into a buffer for a peer. @return OPAL_SUCCESS or what the convertor says */
static int pack(mca_btl_base_endpoint_t *endpoint, opal_convertor_t *convertor, mca_btl_fastsm_frag_t *frag,
                void *to, size_t *length)
{
    const bool contiguous = !fastpath_convertor_needs_buffers(convertor);
    /* a convertor without a place to pack to says where contiguous data is */
    struct iovec iov = {.iov_base = (IOVBASE_TYPE *) (contiguous ? NULL : to), .iov_len = *length};
    uint32_t iov_count = 1;
    const int rc = opal_convertor_pack(convertor, &iov, &iov_count, length);

    if (contiguous && 0 <= rc) {
        fill_frag(endpoint, frag, to, iov.iov_base, *length);
    }
    return rc;
}

/* A frag for so many bytes behind `reserve`, or for fewer.  Where there is no buffer for a peer that has read
 * all it had, others have them all, and may not read for long.  So it gets a message that needs none, which
 * is short: it must not wait for them.  Callers that send from where the data is (INPLACE) do not look at
 * what is left. */
static mca_btl_base_descriptor_t *alloc_piece(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                                              uint8_t order, size_t reserve, size_t *length, uint32_t flags)
{
    mca_btl_base_descriptor_t *des;

    if (OPAL_UNLIKELY(0 != (MCA_BTL_FLAGS_SEND_INPLACE & btl->btl_flags))) {
        return mca_btl_fastsm_alloc(btl, endpoint, order, reserve + *length, flags);
    }
    des = alloc_frag(endpoint, order, reserve + *length, flags);
    if (OPAL_UNLIKELY(NULL == des && NULL != endpoint && 0 == endpoint->n_in_flight
                      && 0 == endpoint->out.n_pending && reserve < endpoint->inline_bytes)) {
        *length = endpoint->inline_bytes - reserve;
        des = alloc_frag(endpoint, order, reserve + *length, flags);
    }
    return des;
}

mca_btl_base_descriptor_t *mca_btl_fastsm_prepare_src(mca_btl_base_module_t *btl,
                                                      mca_btl_base_endpoint_t *endpoint,
                                                      opal_convertor_t *convertor, uint8_t order,
                                                      size_t reserve, size_t *size, uint32_t flags)
{
    const size_t limit = mca_btl_fastsm_component.frags[MCA_BTL_FASTSM_FRAG_MAX].size;
    mca_btl_base_descriptor_t *des;
    size_t length = *size;

    if (reserve > limit) {
        return NULL;
    }
    if (length > limit - reserve) {
        length = limit - reserve;
    }
    des = alloc_piece(btl, endpoint, order, reserve, &length, flags);
    if (OPAL_UNLIKELY(NULL == des)) {
        return NULL;
    }

    if (0 < length
        && OPAL_UNLIKELY(0 > pack(endpoint, convertor, (mca_btl_fastsm_frag_t *) des,
                                  (char *) des->des_segments->seg_addr.pval + reserve, &length))) {
        mca_btl_fastsm_free(btl, des);
        return NULL;
    }
    des->des_segments->seg_len = reserve + length;
    *size = length;
    return des;
}
