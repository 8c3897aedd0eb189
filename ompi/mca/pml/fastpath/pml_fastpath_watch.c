/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "pml_fastpath_watch.h"

bool mca_pml_fastpath_watch_begin(mca_pml_fastpath_peer_t *peer, mca_pml_base_request_t *request,
                                  mca_pml_fastpath_watch_t *watch)
{
    bool failed;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    failed = peer->failed || NULL == peer->endpoint;
    if (!failed && MCA_PML_FASTPATH_WATCH_NONE == watch->state) {
        watch->state = MCA_PML_FASTPATH_WATCH_ON;
        opal_list_append(&peer->watched, (opal_list_item_t *) request);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return !failed;
}

bool mca_pml_fastpath_watch_end(mca_pml_fastpath_peer_t *peer, mca_pml_base_request_t *request,
                                mca_pml_fastpath_watch_t *watch)
{
    bool failed;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    failed = MCA_PML_FASTPATH_WATCH_FAILED == watch->state;
    if (MCA_PML_FASTPATH_WATCH_ON == watch->state) {
        opal_list_remove_item(&peer->watched, (opal_list_item_t *) request);
    }
    watch->state = MCA_PML_FASTPATH_WATCH_NONE;
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return !failed;
}
