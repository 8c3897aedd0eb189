/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * How much memory a window takes.
 */
#include "ompi_config.h"

#include "osc_fastpath_copy.h"
#include "osc_fastpath_layout.h"
#include "osc_fastpath_size.h"
#include "osc_fastpath_ticket.h"

void mca_osc_fastpath_window_size(size_t size, size_t local, size_t page,
                                  mca_osc_fastpath_window_size_t *bytes)
{
    const mca_osc_fastpath_module_t *module = NULL; /* for the sizes of what it points to */
    mca_osc_fastpath_node_layout_t layout = {.length = 0};

    bytes->window = sizeof(*module) + size * (sizeof(*module->peers) + sizeof(*module->fence_sent))
                    + sizeof(*module->tickets) + sizeof(*module->heap_member);
    if (1 < local) {
        (void) mca_osc_fastpath_node_layout(local, page, &layout);
    }
    bytes->node = layout.length;
    bytes->peer = sizeof(**module->peers);
    bytes->puts = sizeof(mca_osc_fastpath_batch_t);
    bytes->tickets =
        MCA_OSC_FASTPATH_TICKETS_CHUNK * (sizeof(mca_osc_fastpath_ticket_t) + sizeof(*module->tickets->all));
}
