/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdio.h>

#include "pml_fastpath_failure.h"
#include "pml_fastpath_link_failed.h"
#include "pml_fastpath_link_find.h"

bool mca_pml_fastpath_is_elder(const opal_proc_t *proc)
{
    return 0 < opal_compare_proc(opal_proc_local_get()->proc_name, proc->proc_name);
}

const char *mca_pml_fastpath_proc_text(const opal_proc_t *proc, const char *address)
{
    static char text[512];
    char host[256];
    bool ours = proc->proc_name.jobid == opal_proc_local_get()->proc_name.jobid;

    fastpath_proc_hostname(proc, host, sizeof(host));
    snprintf(text, sizeof(text), "rank %lu%s on host %s%s%s%s", (unsigned long) proc->proc_name.vpid,
             ours ? "" : " of another job", host, '\0' == *address ? "" : " (", address,
             '\0' == *address ? "" : ")");
    return text;
}

bool mca_pml_fastpath_peer_is_connected(const mca_pml_fastpath_peer_t *peer)
{
    return opal_proc_local_get()->proc_name.jobid == peer->proc->super.proc_name.jobid
           || 2 < peer->super.obj_reference_count;
}

/* The address that a process was last seen at, or "" */
static void find_address(const opal_proc_t *proc, char address[MCA_PML_FASTPATH_END_TEXT])
{
    mca_pml_fastpath_link_t *link;

    *address = '\0';
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    OPAL_LIST_FOREACH(link, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        if (MCA_PML_FASTPATH_LINK_CONNECTION == link->kind && link->known
            && 0 == opal_compare_proc(link->name, proc->proc_name)) {
            mca_pml_fastpath_end_text(&link->remote, address);
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

/* Whether it has said that it leaves, or MPI_Comm_disconnect has parted us from it: its end is no concern of
 * ours. */
static bool is_parted(const opal_proc_t *proc)
{
    mca_pml_fastpath_peer_t *peer = NULL == proc ? NULL : mca_pml_fastpath_peer_find((ompi_proc_t *) proc);
    bool parted = false;

    if (NULL != peer) {
        parted = peer->left || !mca_pml_fastpath_peer_is_connected(peer);
        OBJ_RELEASE(peer);
    }
    return parted;
}

void mca_pml_fastpath_link_failed(const mca_btl_base_module_t *btl,
                                  const struct mca_btl_base_endpoint_t *endpoint, const opal_proc_t *proc,
                                  const char *cause)
{
    char address[MCA_PML_FASTPATH_END_TEXT] = "", text[256];

    if (mca_pml_fastpath_at_end()) {
        return;
    }
    if (NULL == proc) {
        proc = (const opal_proc_t *) mca_pml_fastpath_failure_proc_of(endpoint);
    }
    if (mca_pml_fastpath_failure_report((ompi_proc_t *) proc)) {
        return;
    }
    if (is_parted(proc)) {
        return;
    }
    if (NULL != proc) {
        find_address(proc, address);
    }
    sleep(NULL != proc && mca_pml_fastpath_is_elder(proc)
              ? (MCA_PML_FASTPATH_GRACE + MCA_PML_FASTPATH_AFTER_YOU) / 1000
              : MCA_PML_FASTPATH_GRACE / 1000);
    snprintf(text, sizeof(text), "%s (BTL %s)", cause,
             NULL == btl ? "unknown" : btl->btl_component->btl_version.mca_component_name);
    mca_pml_fastpath_abort("link lost", NULL == proc ? "unknown" : mca_pml_fastpath_proc_text(proc, address),
                           text);
}
