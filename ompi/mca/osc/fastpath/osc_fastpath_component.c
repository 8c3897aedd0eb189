/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * register, init, query, finalize: whether there are windows of ours at all.
 */
#include "ompi_config.h"

#include "ompi/mca/bml/base/base.h"
#include "ompi/mca/pml/base/base.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_param.h"

#include "osc_fastpath.h"
#include "osc_fastpath_wait.h"
#include "osc_fastpath_window.h"

/** Priority with osc_fastpath_default: above that of all stock components */
#define PRIORITY_BY_DEFAULT 110

static const mca_common_fastpath_param_t params[] = {
    {"priority", MCA_COMMON_FASTPATH_INT, OPAL_INFO_LVL_9, &mca_osc_fastpath_component.priority, 5, 0,
     INT32_MAX,
     .text = "Priority among the components for one-sided communication where pml/fastpath is used, or where "
             "this component is named in the parameter osc"},
    {"default", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_3, &mca_osc_fastpath_component.by_default, false,
     .text = "Make windows with this component where pml/fastpath is used, before all others"},
    {"eager", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_5, &mca_osc_fastpath_component.eager, false,
     .text = "Send each operation when it is called, instead of when a packet is full or a synchronisation "
             "asks for it. The info key fastpath_eager of a window overrides it"},
    {"check_bounds", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_4, &mca_osc_fastpath_component.check_bounds,
     false,
     .text = "Check every access against the target's window where it is called, and return "
             "MPI_ERR_RMA_RANGE when it lies outside"},
    {"shared_memory", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_4, &mca_osc_fastpath_component.shared_memory,
     true,
     .text = "Processes of one node access the memory of allocated windows, and the locks of all windows, "
             "directly. Otherwise they use messages, as between nodes"},
    {"single_copy", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_4, &mca_osc_fastpath_component.single_copy, true,
     .text = "Windows in users' memory (MPI_Win_create, dynamic windows) are accessed by copies of the "
             "kernel between processes of one node, where the kernel permits that. Otherwise, and without "
             "osc_fastpath_shared_memory, by messages"},
    {"mailbox_spin_count", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_osc_fastpath_component.spin_count,
     100, 0, 1 << 20,
     .text = "Small operations on windows in users' memory are offered to the target first, which is faster "
             "if it is inside MPI. The origin looks so often for the answer, then takes the operation back "
             "and does it by single copy. 0: always by single copy"},
    {"place_limit", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_osc_fastpath_component.place_limit,
     64 << 10, 0, 1 << 30, .zero = "never",
     .text = "Gets of at least so many bytes, contiguous at both ends, are written straight into the "
             "origin's memory by the target's transport, where it has a put. 0: never"},
    {"packet_size", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_osc_fastpath_component.packet_size,
     32 << 10, 512, 16 << 20,
     .text = "Largest message, in bytes, that operations and their data are packed into; the transport may "
             "allow less"},
    {"max_packets", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_osc_fastpath_component.max_packets, 64, 2,
     1 << 20, .text = "Packets to one target that may be unacknowledged; further operations wait"},
    {"max_pending", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_osc_fastpath_component.max_pending, 4096,
     1, 1 << 24,
     .text = "Operations of one window that may be waiting for replies of one target; further operations "
             "wait. The info key fastpath_max_pending of a window overrides it"},
    {"debug_fault_percent", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_9,
     &mca_osc_fastpath_component.fault_percent, 0, 0, 90,
     .text =
         "Percentage of the calls to BTLs that are refused at random, as if the BTL had no room; for tests"},
    {"debug_node", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_9, &mca_osc_fastpath_component.debug_node, 0, 0,
     1 << 20, .text = "Tests only: treat every N consecutive ranks of a node as a node. 0: off"},
};

static int osc_component_register(void)
{
    const mca_base_component_t *component = &mca_osc_fastpath_component.super.super.osc_version;

    if (!mca_common_fastpath_host_ok(component)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    mca_common_fastpath_help_dir();
    mca_osc_fastpath_pvar_register(component);
    return mca_common_fastpath_param_register(component, params, sizeof(params) / sizeof(params[0]));
}

/* @return whether there is a list of components to use. One that begins with '^' says what not to use. Only
 * components in the list are opened, so we are in it. */
static bool named(void)
{
    const char *selection = ompi_osc_base_framework.framework_selection;

    return NULL != selection && '\0' != selection[0] && '^' != selection[0];
}

static bool pml_is_ours(void)
{
    return 0 == strcmp("fastpath", mca_pml_base_selected_component.pmlm_version.mca_component_name);
}

/* Installed but not asked for, we change nothing. */
static int osc_component_init(bool progress_threads, bool mpi_threads)
{
    (void) progress_threads;
    (void) mpi_threads;
    if (!named() && !pml_is_ours()) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (!mca_bml_base_inited() || NULL == mca_bml.bml_register) {
        if (named() && mca_common_fastpath_reporting_rank()) {
            opal_output(0,
                        "osc/fastpath: pml/%s does not use the transports (BTLs) that osc/fastpath needs; it "
                        "is not used",
                        mca_pml_base_selected_component.pmlm_version.mca_component_name);
        }
        return OMPI_ERR_NOT_AVAILABLE;
    }
    mca_osc_fastpath_wait_init();
    return mca_osc_fastpath_windows_init();
}

/* All members must answer alike: nothing here depends on the process. */
static int component_query(ompi_win_t *win, void **base, size_t size, fastpath_osc_disp_unit_t disp_unit,
                           ompi_communicator_t *comm, opal_info_t *info, int flavor)
{
    (void) win;
    (void) base;
    (void) size;
    (void) disp_unit;
    (void) info;
    if (MPI_WIN_FLAVOR_SHARED == flavor
        && (!mca_osc_fastpath_component.shared_memory || ompi_group_have_remote_peers(comm->c_local_group))) {
        /* the error ends the search, so another component is asked first */
        return 1 == opal_list_get_size(&ompi_osc_base_framework.framework_components) ? OMPI_ERR_RMA_SHARED
                                                                                      : -1;
    }
    if (mca_osc_fastpath_component.by_default && pml_is_ours()) {
        return PRIORITY_BY_DEFAULT;
    }
    return mca_osc_fastpath_component.priority;
}

static int osc_component_finalize(void)
{
    mca_osc_fastpath_windows_fini();
    mca_common_fastpath_idle_fini(&mca_osc_fastpath_component.idle);
    return OMPI_SUCCESS;
}

mca_osc_fastpath_component_t mca_osc_fastpath_component = {
    .super =
        {
            .super =
                {
                    .osc_version =
                        {
                            OMPI_OSC_BASE_VERSION_4_0_0,
                            .mca_component_name = "fastpath",
                            MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                                                  OMPI_RELEASE_VERSION),
                            .mca_register_component_params = osc_component_register,
                        },
                    .osc_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
                    .osc_init = osc_component_init,
                    .osc_query = component_query,
                    .osc_select = mca_osc_fastpath_select,
                    .osc_finalize = osc_component_finalize,
                },
            .magic = MCA_OSC_FASTPATH_EXT_MAGIC,
        },
};
