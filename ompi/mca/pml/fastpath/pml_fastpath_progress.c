/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What Open MPI's progress has to see to: clocks, processes that fail, links, and what BTLs have refused.
 */
#include "ompi_config.h"

#include "pml_fastpath_failure.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_pace.h"
#include "pml_fastpath_retry.h"
#include "pml_fastpath_pause.h"

int mca_pml_fastpath_progress(void)
{
    const bool keeps_core = mca_pml_fastpath_pause_state.keeps_core;

    /* for this call of opal_progress only: what it calls may call it again */
    mca_pml_fastpath_pause_state.keeps_core = false;
    mca_pml_fastpath_pace_note(opal_using_threads());
    mca_pml_fastpath_pause_note();
    if (OPAL_UNLIKELY(mca_pml_fastpath_at_end())) {
        mca_pml_fastpath_links_end();
    }
    if (OPAL_UNLIKELY(0
                      > --mca_pml_fastpath.link_countdown)) { /* not atomic: some calls more do not matter */
        mca_pml_fastpath_failures_look();
        mca_pml_fastpath_links_look();
    }
    /* opal_progress gives the core away where nobody has had anything to do */
    return keeps_core + (OPAL_LIKELY(0 == mca_pml_fastpath.num_retries) ? 0 : mca_pml_fastpath_retry_all());
}
