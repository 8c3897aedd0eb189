/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "osc_fastpath_layout.h"
#include "osc_fastpath_shared.h"

bool mca_osc_fastpath_node_layout(size_t size, size_t page, mca_osc_fastpath_node_layout_t *layout)
{
    const size_t line = MCA_OSC_FASTPATH_LINE;

    layout->align = page;
    layout->length = sizeof(mca_osc_fastpath_announced_t);
    layout->posts_stride = (size * sizeof(uint32_t) + line - 1) / line * line / sizeof(uint32_t);
    return mca_osc_fastpath_next_part(&layout->length, line, size * sizeof(mca_osc_fastpath_place_t),
                                      &layout->places)
           && mca_osc_fastpath_next_part(&layout->length, line, size * sizeof(mca_osc_fastpath_member_t),
                                         &layout->members)
           && mca_osc_fastpath_next_part(&layout->length, line,
                                         size * layout->posts_stride * sizeof(uint32_t), &layout->posts)
           && mca_osc_fastpath_next_part(&layout->length, page, 0, &layout->data);
}
