/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdio.h>

#include "pml_fastpath_check.h"

static const char *name_of(uint8_t type)
{
    const char *name = type < MCA_PML_FASTPATH_HDR_MAX ? mca_pml_fastpath_rule(type)->name : NULL;

    return NULL != name ? name : "unknown type";
}

void mca_pml_fastpath_corrupt(const mca_btl_base_module_t *btl, const ompi_proc_t *proc, uint8_t type,
                              const char *reason)
{
    const char *transport = btl->btl_component->btl_version.mca_component_name;
    char from[320], what[160];

    if (NULL == proc) {
        snprintf(from, sizeof(from), "%s", transport);
    } else {
        char host[200];

        fastpath_proc_hostname(&proc->super, host, sizeof(host));
        snprintf(from, sizeof(from), "%s, from process %s on %s", transport,
                 OPAL_NAME_PRINT(proc->super.proc_name), host);
    }
    snprintf(what, sizeof(what), "%s: %s", name_of(type), reason);
    mca_pml_fastpath_abort("corrupt message", from, what);
}

void mca_pml_fastpath_stray(const mca_btl_base_module_t *btl, uint8_t type, const char *reason)
{
    if (!mca_pml_fastpath_ft() || 0 == fastpath_failed_procs()) {
        mca_pml_fastpath_corrupt(btl, NULL, type, reason);
    }
}

void mca_pml_fastpath_name_check(const mca_btl_base_module_t *btl, uint8_t type, opal_process_name_t name)
{
    /* those of other jobs may be unknown so far */
    if (opal_proc_local_get()->proc_name.jobid == name.jobid && fastpath_num_procs() <= name.vpid) {
        mca_pml_fastpath_corrupt(btl, NULL, type, "a process that does not exist");
    }
}
