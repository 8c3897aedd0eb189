/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What progress has to see to later: endpoints with something pending, and frags whose callback is due.
 */

#include "opal_config.h"

#include "btl_fastsm.h"
#include "btl_fastsm_defer.h"

void mca_btl_fastsm_activate(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OPAL_THREAD_LOCK(&component->lock);
    if (!endpoint->on_active) {
        opal_list_append(&component->active, &endpoint->active.super);
        endpoint->on_active = true;
        ++component->deferred;
    }
    OPAL_THREAD_UNLOCK(&component->lock);
}

void mca_btl_fastsm_deactivate(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OPAL_THREAD_LOCK(&component->lock);
    if (endpoint->on_active) {
        opal_list_remove_item(&component->active, &endpoint->active.super);
        endpoint->on_active = false;
        --component->deferred;
    }
    OPAL_THREAD_UNLOCK(&component->lock);
}

/* Callbacks are never called from send, because its caller may hold locks or be in the middle
 * of counting what it sends; progress does it. */
void mca_btl_fastsm_complete_later(mca_btl_fastsm_frag_t *frag)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OPAL_THREAD_LOCK(&component->lock);
    opal_list_append(&component->done, &frag->base.super.super);
    ++component->deferred;
    OPAL_THREAD_UNLOCK(&component->lock);
}

void mca_btl_fastsm_frag_done(mca_btl_fastsm_frag_t *frag)
{
    if (0 != (MCA_BTL_DES_SEND_ALWAYS_CALLBACK & frag->base.des_flags)) {
        mca_btl_fastsm_complete_later(frag);
    } else {
        mca_btl_fastsm_frag_return(frag);
    }
}

void mca_btl_fastsm_abandon(opal_list_t *list, bool call_back)
{
    opal_list_item_t *item;

    while (NULL != (item = opal_list_remove_first(list))) {
        mca_btl_fastsm_frag_t *frag = (mca_btl_fastsm_frag_t *) item;

        frag->sent = 0;
        if (call_back) {
            mca_btl_fastsm_frag_done(frag);
        } else {
            mca_btl_fastsm_frag_return(frag);
        }
    }
}

void mca_btl_fastsm_keep(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag)
{
    if (OPAL_UNLIKELY(endpoint->failed)) {
        mca_btl_fastsm_frag_done(frag);
        return;
    }
    opal_list_append(&endpoint->in_flight, &frag->base.super.super);
    ++endpoint->n_in_flight;
    if (MCA_BTL_DES_SEND_ALWAYS_CALLBACK & frag->base.des_flags) {
        ++endpoint->n_waiting;
        mca_btl_fastsm_activate(endpoint);
    }
}
