/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Sleeping until a peer sends something: btl_fastsm_sleep.h, for this process.
 */

#include "opal_config.h"

#include <pthread.h>

#include "opal/mca/common/fastpath/common_fastpath_thread.h"

#include "btl_fastsm.h"
#include "btl_fastsm_sleep.h"

static pthread_t enlisting; /* component.enlisting says whether it is there */

static mca_btl_fastsm_segment_hdr_t *header_of(char *base)
{
    return (mca_btl_fastsm_segment_hdr_t *) base;
}

/* E4.  Partner: E5.  Who sees it knows that we are enlisted. */
static void *enlist(void *hdr)
{
    if (fastsm_sleep_enlist()) {
        atomic_store_explicit(&((mca_btl_fastsm_segment_hdr_t *) hdr)->wakes, 1, memory_order_release);
    }
    return NULL;
}

void mca_btl_fastsm_sleep_init(void)
{
    mca_btl_fastsm_component.enlisting =
        mca_common_fastpath_thread_start(&enlisting, enlist, header_of(mca_btl_fastsm_component.base));
}

void mca_btl_fastsm_sleep_fini(void)
{
    if (mca_btl_fastsm_component.enlisting) {
        (void) pthread_join(enlisting, NULL);
        mca_btl_fastsm_component.enlisting = false;
    }
}

/* E5.  Partner: E4.  Whether what the process of a segment sends, or completes for its own threads, ends a
 * sleep. */
static bool is_enlisted(char *base)
{
    return 0 != atomic_load_explicit(&header_of(base)->wakes, memory_order_acquire);
}

/* Whether a message of a peer's ends a sleep; nothing comes from one that we have parted from. */
static bool wakes(const mca_btl_fastsm_endpoint_t *endpoint)
{
    return NULL == endpoint->base || is_enlisted(endpoint->base);
}

/* The same for a process of our job on this node.  One that fastsm does not reach has other transports. */
static bool local_wakes(uint32_t index)
{
    const mca_btl_fastsm_endpoint_t *endpoint = &mca_btl_fastsm_component.peers[index];

    if (index == mca_btl_fastsm_component.me.local_index) {
        return !opal_using_threads() || is_enlisted(mca_btl_fastsm_component.base);
    }
    return MCA_BTL_FASTSM_PAIR_AGREED == endpoint->pair_state && wakes(endpoint);
}

/* Whether whatever comes by fastsm or from a process of our job on this node does. */
static bool all_wake(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const mca_btl_fastsm_dynamic_t *dynamic;
    bool all = true;

    for (uint32_t i = 0; all && i < component->n_local; ++i) {
        all = local_wakes(i);
    }
    if (!all || 0 == component->n_dynamic) {
        return all;
    }
    OPAL_THREAD_LOCK(&component->dynamic_lock);
    OPAL_LIST_FOREACH(dynamic, &component->dynamic_list, mca_btl_fastsm_dynamic_t)
    {
        all = all && (dynamic->gone || dynamic->parted || wakes(&dynamic->endpoint));
    }
    OPAL_THREAD_UNLOCK(&component->dynamic_lock);
    return all;
}

_Atomic uint32_t *mca_btl_fastsm_asleep(mca_btl_base_endpoint_t *endpoint)
{
    char *base = NULL == endpoint ? mca_btl_fastsm_component.base : endpoint->base;

    return NULL == base ? NULL : &header_of(base)->asleep;
}

/* What no announcement has been called by for long. */
static uint32_t fresh_word(void)
{
    static _Atomic uint32_t last;
    const uint32_t word = 1 + atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);

    return 0 != word ? word : fresh_word();
}

uint32_t mca_btl_fastsm_announce_sleep(mca_btl_base_module_t *btl)
{
    (void) btl;
    return all_wake() ? fastsm_sleep_announce(mca_btl_fastsm_asleep(NULL), fresh_word(), opal_using_threads())
                      : 0;
}

bool mca_btl_fastsm_sleep(mca_btl_base_module_t *btl, uint32_t word, uint64_t time)
{
    (void) btl;
    return fastsm_sleep(mca_btl_fastsm_asleep(NULL), word, time);
}
