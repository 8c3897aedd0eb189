/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Frags, which are descriptors with a buffer each, and lists of those that are free.
 */
#ifndef MCA_BTL_FASTSM_FRAG_LIST_H
#define MCA_BTL_FASTSM_FRAG_LIST_H

#include "opal_config.h"

#include <stddef.h>
#include <stdint.h>

#include "compat/fastpath_opal_compat.h"
#include "opal/mca/btl/btl.h"

#include "btl_fastsm_rotation.h"

/** where the bytes of a frag live */
typedef enum {
    MCA_BTL_FASTSM_FRAG_SMALL, /**< private memory; always travels inline */
    MCA_BTL_FASTSM_FRAG_EAGER, /**< buffer of our segment's eager pool */
    MCA_BTL_FASTSM_FRAG_MAX,   /**< buffer of our segment's max pool */
    MCA_BTL_FASTSM_FRAG_CLASSES
} mca_btl_fastsm_frag_class_t;

/**
 * A descriptor and its buffer.  Both stay together for life.
 */
typedef struct mca_btl_fastsm_frag_t {
    mca_btl_base_descriptor_t base;             /**< also the item of every list below */
    mca_btl_base_segment_t segment;             /**< the one segment of a descriptor */
    struct mca_btl_base_endpoint_t *endpoint;   /**< whom it was sent to */
    struct mca_btl_fastsm_frag_list_t *my_list; /**< where it goes when free */
    void *buffer;                               /**< begin of its buffer */
    uint64_t offset;                            /**< of the buffer in our segment; not for SMALL */
    uint32_t position;                          /**< in flight: the slot that refers to it */
    uint32_t sent;                              /**< pending: bytes that have left already, in pieces */
    mca_btl_fastsm_frag_class_t frag_class;
    mca_btl_base_tag_t tag; /**< pending: to be sent with this tag */
    struct mca_btl_fastsm_frag_t *spacer; /**< unused, behind a message that fills its buffer; or NULL */
    size_t filled; /**< the most bytes that a piece in its buffer had: their pages are there */
} mca_btl_fastsm_frag_t;

OBJ_CLASS_DECLARATION(mca_btl_fastsm_frag_t);

/** When a pool has asked for pages last, and what those have cost. */
typedef struct mca_btl_fastsm_growth_t {
    uint64_t began; /**< ticks of mca_common_fastpath_ticks(): when its buffers' present turns began */
    uint64_t pages; /**< ticks that asking for the pages took */
    uint64_t first; /**< ticks that their first turns took */
    uint32_t count; /**< its buffers */
    uint32_t taken; /**< buffers that have been taken since they had their first turns */
    uint32_t often; /**< how often as many have to be taken as the next growth brings */
} mca_btl_fastsm_growth_t;

/**
 * Free frags of one class.  Those with private memory are used last in first out, because it is warm then.
 * Those in the pools take turns, because what another process has read last is not: all of them, or enough if
 * each is full, so that by the next turn it has left that one's cache; but few where that is sooner, or where
 * processes share cores, and caches, some more there for messages of several buffers, and few until so much
 * has been sent that the pages of more are worth their price (docs/shared-layout.md, "Buffers take turns").
 * Buffers that were never used stay untouched until then.
 */
typedef struct mca_btl_fastsm_frag_list_t {
    opal_mutex_t lock;
    mca_btl_fastsm_frag_t *free;    /**< the next ones, linked through super.opal_list_next */
    mca_btl_fastsm_frag_t *last;    /**< the end of that, if there are any */
    uint32_t n_free;                /**< how many */
    mca_btl_fastsm_frag_t *spare;   /**< free ones that have no turn until there are no others */
    mca_btl_fastsm_frag_t *last_spare; /**< the end of that, if there are any */
    uint32_t n_spare;                  /**< how many */
    mca_btl_fastsm_rotation_t rotation;
    uint32_t used_before;           /**< `used` at its last step */
    uint32_t turns;                 /**< buffers that are made before the first one is used again */
    uint32_t share; /**< of the buffers that a node's caches keep where processes share cores */
    bool chained;                   /**< some were taken for a message of several */
    uint32_t full_turns;            /**< limit of `turns` for messages that fill their buffers */
    mca_btl_fastsm_frag_t **chunks; /**< all that was allocated, for the end */
    uint32_t n_chunks;
    uint32_t used;  /**< frags made so far */
    uint32_t there; /**< frags whose pages are there, in a pool: used or more */
    uint32_t count; /**< frags that may be made */
    size_t size;    /**< bytes of a buffer */
    mca_btl_fastsm_frag_class_t frag_class;
    mca_btl_fastsm_growth_t growth;
} mca_btl_fastsm_frag_list_t;

/** Puts a frag on its free list, whose lock is held: first or last. */
static inline void mca_btl_fastsm_frag_list_put(mca_btl_fastsm_frag_list_t *list, mca_btl_fastsm_frag_t *frag)
{
    if (MCA_BTL_FASTSM_FRAG_SMALL == list->frag_class || NULL == list->free) {
        frag->base.super.super.opal_list_next = (opal_list_item_t *) list->free;
        list->last = NULL == list->free ? frag : list->last;
        list->free = frag;
    } else {
        frag->base.super.super.opal_list_next = NULL;
        list->last->base.super.super.opal_list_next = (opal_list_item_t *) frag;
        list->last = frag;
    }
    ++list->n_free;
}

/** @return the one that a list has behind this one */
static inline mca_btl_fastsm_frag_t *mca_btl_fastsm_frag_next(const mca_btl_fastsm_frag_t *frag)
{
    return (mca_btl_fastsm_frag_t *) frag->base.super.super.opal_list_next;
}

/** Puts a frag back on its free list, and its spacer behind it: what lay side by side does so again. */
static inline void mca_btl_fastsm_frag_return(mca_btl_fastsm_frag_t *frag)
{
    mca_btl_fastsm_frag_list_t *list = frag->my_list;

    OPAL_THREAD_LOCK(&list->lock);
    mca_btl_fastsm_frag_list_put(list, frag);
    if (OPAL_UNLIKELY(NULL != frag->spacer)) {
        mca_btl_fastsm_frag_list_put(list, frag->spacer);
        frag->spacer = NULL;
    }
    OPAL_THREAD_UNLOCK(&list->lock);
}

#endif /* MCA_BTL_FASTSM_FRAG_LIST_H */
