/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_relax.h"

#include "osc_fastpath_mail.h"
#include "osc_fastpath_wait_memory.h"

int mca_osc_fastpath_wait_for_memory(mca_osc_fastpath_module_t *module, mca_osc_fastpath_done_fn_t done,
                                     void *context)
{
    int rc;

    for (unsigned tries = 0; tries < MCA_OSC_FASTPATH_TRIES; ++tries) {
        if (done(module, context)) {
            return OMPI_SUCCESS;
        }
        mca_common_fastpath_relax();
        (void) mca_osc_fastpath_look(NULL);
    }
    mca_osc_fastpath_enter(module);
    rc = mca_osc_fastpath_wait_until(module, done, context);
    mca_osc_fastpath_leave(module);
    return rc;
}
