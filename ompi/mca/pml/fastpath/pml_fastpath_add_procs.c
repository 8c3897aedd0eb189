/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "opal/class/opal_bitmap.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "pml_fastpath_jobs.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_link_failed.h"

/* The largest header that has to go out in one piece: it may carry a registration of any BTL over any other.
 */
static size_t largest_control(void)
{
    mca_btl_base_selected_module_t *selected;
    size_t handle_size = 0;

    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        if (handle_size < selected->btl_module->btl_registration_handle_size) {
            handle_size = selected->btl_module->btl_registration_handle_size;
        }
    }
    return sizeof(mca_pml_fastpath_hdr_t) + handle_size;
}

/* A btl/fastsm that was built with another version of btl_fastsm_ext.h would serve nobody, and all would be
 * slow without a word. */
static int check_fastsm(void)
{
    mca_btl_base_selected_module_t *selected;

    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        if (mca_btl_fastsm_is(selected->btl_module) && NULL == mca_btl_fastsm_ext(selected->btl_module)) {
            mca_common_fastpath_show_help_fatal("help-mpi-pml-fastpath.txt", "other fastsm",
                                                opal_process_info.nodename);
            return OMPI_ERR_NOT_SUPPORTED;
        }
    }
    return OMPI_SUCCESS;
}

/* Every BTL that sends has to take our headers in one piece. */
static int check_btls(void)
{
    mca_btl_base_selected_module_t *selected;
    const size_t needed = largest_control();

    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        const mca_btl_base_module_t *btl = selected->btl_module;

        if (0 != (MCA_BTL_FLAGS_SEND & btl->btl_flags)
            && (btl->btl_eager_limit < needed || btl->btl_max_send_size < needed)) {
            char limit[64];

            snprintf(limit, sizeof(limit), "%zu bytes, needed are %zu", btl->btl_eager_limit, needed);
            mca_common_fastpath_show_help_fatal(
                "help-mpi-pml-fastpath.txt", "eager limit too small", opal_process_info.nodename,
                selected->btl_component->btl_version.mca_component_name, limit);
            return OMPI_ERR_BAD_PARAM;
        }
    }
    return OMPI_SUCCESS;
}

/* A BTL has lost a peer or itself. Messages may be missing, and without fault tolerance nothing above us can
 * tell which. */
static void btl_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *errproc, char *info)
{
    (void) flags;
    if (NULL != errproc) {
        mca_pml_fastpath_link_failed(btl, NULL, errproc, NULL == info ? "no reason given" : info);
    } else if (!mca_pml_fastpath_at_end()) {
        mca_pml_fastpath_abort("transport failed", btl->btl_component->btl_version.mca_component_name,
                               NULL == info ? "none given" : info);
    }
}

/* How many processes btl/fastsm could not serve although they count on it; it has said why. */
static uint32_t refused_by_fastsm(void)
{
    return NULL == mca_pml_fastpath.fastsm ? 0
                                           : mca_pml_fastpath.fastsm_ext->refused(mca_pml_fastpath.fastsm);
}

int mca_pml_fastpath_add_procs(ompi_proc_t **procs, size_t nprocs)
{
    const uint32_t refused = refused_by_fastsm();
    opal_bitmap_t reachable;
    int rc;

    if (0 == nprocs) {
        return OMPI_SUCCESS;
    }
    rc = mca_pml_fastpath_jobs_check(procs, nprocs);
    if (OMPI_SUCCESS == rc) {
        rc = mca_pml_base_pml_check_selected("fastpath", procs, nprocs);
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    OBJ_CONSTRUCT(&reachable, opal_bitmap_t);
    rc = opal_bitmap_init(&reachable, (int) nprocs);
    if (OMPI_SUCCESS == rc) {
        rc = mca_bml.bml_add_procs(nprocs, procs, &reachable);
    }
    OBJ_DESTRUCT(&reachable);
    if (OMPI_SUCCESS == rc && refused != refused_by_fastsm()) {
        rc = OMPI_ERR_OUT_OF_RESOURCE; /* the BML would take another BTL, which they do not expect */
    }
    if (OMPI_SUCCESS == rc) {
        rc = check_fastsm();
    }
    if (OMPI_SUCCESS == rc) {
        rc = check_btls();
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_pml_fastpath_callbacks_register();
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_bml.bml_register_error(btl_error);
    }
    if (OMPI_SUCCESS == rc && OPAL_UNLIKELY(0 < mca_pml_fastpath.verbose)) {
        mca_pml_fastpath_say(procs, nprocs);
    }
    return rc;
}

int mca_pml_fastpath_del_procs(ompi_proc_t **procs, size_t nprocs)
{
    mca_pml_fastpath_links_leave();
    for (size_t i = 0; i < nprocs; ++i) {
        mca_pml_fastpath_peer_forget(procs[i]);
    }
    return mca_pml_fastpath_links_close(procs, nprocs);
}
