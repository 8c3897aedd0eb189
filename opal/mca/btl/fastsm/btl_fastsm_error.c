/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "opal_config.h"

#include <stdio.h>
#include <stdlib.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "btl_fastsm.h"

void mca_btl_fastsm_corrupt(mca_btl_fastsm_endpoint_t *endpoint, const char *what, unsigned long value)
{
    static char info[] = "btl/fastsm cannot go on after a damaged message";
    mca_btl_fastsm_module_t *module = &mca_btl_fastsm_module;

    mca_common_fastpath_show_help(MCA_BTL_FASTSM_HELP, "damaged message", opal_process_info.nodename,
                                  endpoint->index, (int) endpoint->pid,
                                  NULL == endpoint->dynamic ? endpoint->in.read_pos
                                                            : mca_btl_fastsm_component.ring.read_pos,
                                  what, value);

    /* nothing behind the damage can be trusted, not even where the next message begins */
    endpoint->connected = endpoint->readable = false;
    if (NULL == module->error_cb) {
        mca_btl_fastsm_fatal(endpoint->proc, info);
    }
    module->error_cb(&module->super, MCA_BTL_ERROR_FLAGS_FATAL, endpoint->proc, info);
}

void mca_btl_fastsm_fatal(opal_proc_t *proc, char *info)
{
    mca_btl_fastsm_module_t *module = &mca_btl_fastsm_module;

    if (NULL != module->error_cb) {
        module->error_cb(&module->super, MCA_BTL_ERROR_FLAGS_FATAL, proc, info);
    }

    /* the callback normally does not return; without one there is nobody else to end the job */
    fprintf(stderr, "%s\n", info);
    fflush(stderr);
    _Exit(EXIT_FAILURE);
}
