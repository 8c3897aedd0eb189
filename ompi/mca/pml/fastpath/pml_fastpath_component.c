/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * register, open, init, finalize: what Open MPI calls before there is a module
 * and after it has gone.
 */
#include "ompi_config.h"

#include "opal/mca/btl/base/base.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_param.h"

#include "ompi/mca/pml/base/pml_base_recvreq.h"
#include "ompi/mca/pml/base/pml_base_sendreq.h"

#include "pml_fastpath.h"
#include "pml_fastpath_end.h"
#include "pml_fastpath_jobs.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_multi_limit.h"
#include "pml_fastpath_pace.h"
#include "pml_fastpath_pause.h"

static const mca_common_fastpath_param_t params[] = {
    {"priority", MCA_COMMON_FASTPATH_INT, OPAL_INFO_LVL_9, &mca_pml_fastpath.priority, 10, 0, INT32_MAX,
     .text = "Priority among the PMLs that are considered; fastpath is considered only when it is named"},
    {"verbose", MCA_COMMON_FASTPATH_INT, OPAL_INFO_LVL_3, &mca_pml_fastpath.verbose, 0, 0, INT32_MAX,
     .text = "1: each process prints a line for each class of peers: the transports used, and whether the "
             "kernel copies their messages (single copy), or why not"},
    {"send_pipeline_depth", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_pml_fastpath.send_depth, 8, 1,
     1024, .text = "Fragments in flight per large message that is streamed"},
    {"put_pipeline_depth", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_pml_fastpath.put_depth, 4, 1, 1024,
     .text = "BTL put operations in flight per large message"},
    {"get_pipeline_depth", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_pml_fastpath.get_depth, 4, 1, 1024,
     .text = "BTL get operations in flight per large message"},
    {"use_get", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_5, &mca_pml_fastpath.use_get, true,
     .text = "Let the receiver read large messages from the sender's memory where a BTL can get"},
    {"use_put", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_5, &mca_pml_fastpath.use_put, true,
     .text = "Let the sender write large messages into the receiver's memory where a BTL can put"},
    {"use_immediate_send", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_6, &mca_pml_fastpath.use_immediate_send,
     true, .text = "Try to send a message at once, before a request is made"},
    {"use_immediate_recv", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_6, &mca_pml_fastpath.use_immediate_recv,
     true,
     .text = "Try to take a message from shared memory at once, before a request is made; a receive that is "
             "waited for is also completed in place"},
    {"use_immediate_data", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_6, &mca_pml_fastpath.use_immediate, true,
     .text = "Copy contiguous data directly, without a convertor, where it is sent or received at once"},
    {"recv_spin_count", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_6, &mca_pml_fastpath.spin_count, 200, 1,
     1000000,
     .text = "How often a waiting receive polls for its message before other communication progresses. On a "
             "node with more processes than cores once, and twice as often while that helps"},
    {"sleep_after", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_pml_fastpath_pause_state.sleep_after,
     5000, 0, 1000000000,
     .text = "Idle time (us) before a wait sleeps, where pml_fastpath_wait permits sleep; 8 times that while "
             "the wait yields its core. Each sleep lasts 1/32 of the idle time, 50 us to 30 ms, unless a "
             "message ends it; up to 32 times that where there are several ranks for each core"},
    {"progress_interval", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_6, &mca_pml_fastpath.interval, 50, 0,
     1000000000,
     .text = "Longest time (us) between two calls of opal_progress while MPI is called and no call has to "
             "wait. What other processes need of this one, and other transports, is late by that at most. 0: "
             "every MPI call calls opal_progress"},
    {"help_limit", MCA_COMMON_FASTPATH_SIZE, OPAL_INFO_LVL_5, &mca_pml_fastpath.help_limit, 16 << 10, 0,
     INT64_MAX / 2,
     .text = "Messages of at least this size (16 times this size where processes share cores) are copied by "
             "sender and receiver in parallel if the sender is waiting and single copy works both ways. 0: "
             "the receiver copies alone"},
    {"multi_eager_limits", MCA_COMMON_FASTPATH_STRING, OPAL_INFO_LVL_4, &mca_pml_fastpath.multi_eager_limits,
     .text = "Largest message that is sent in several eager fragments instead of by rendezvous, for each "
             "transport (BTL) that is named, as in tcp:1m,ofi:128k. Saves a round trip for messages above "
             "the transport's eager limit; costs memory at a receiver that is late. No effect if it is not "
             "above the eager limit"},
    {"unexpected_limit", MCA_COMMON_FASTPATH_SIZE, OPAL_INFO_LVL_4, &mca_pml_fastpath.window, 16 << 20, 0,
     INT64_MAX / 2, .zero = "unlimited",
     .text = "Bytes of messages from one peer that may be under way or wait unmatched at the receiver, with "
             "160 bytes added for each message. Beyond that the sender waits for the matching receive. 0: "
             "unlimited"},
    {"link_timeout", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_4, &mca_pml_fastpath.link_timeout, 300, 0,
     1000000, .zero = "for ever",
     .text = "The job is ended when another host does not answer on a TCP connection of btl/tcp for so many "
             "seconds, or some seconds after such a connection is lost. Processes that compute or are "
             "stopped do not matter: it is the host's kernel that answers. 0: wait for ever"},
    {"debug_fault_percent", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_9, &mca_pml_fastpath.fault_percent, 0, 0,
     90,
     .text =
         "Percentage of the calls to BTLs that are refused at random, as if the BTL had no room; for tests"},
    {"free_list_inc", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_8, &mca_pml_fastpath.free_list_inc, 64, 1,
     65536, .text = "Objects added to a list of requests or messages that has run out"},
};

/* What we reach into, or have our own structures begin with. */
static const mca_common_fastpath_layout_t layouts[] = {
    MCA_COMMON_FASTPATH_LAYOUT(mca_bml_base_endpoint_t),
    MCA_COMMON_FASTPATH_LAYOUT(mca_pml_base_recv_request_t),
    MCA_COMMON_FASTPATH_LAYOUT(mca_pml_base_send_request_t),
    MCA_COMMON_FASTPATH_LAYOUT(ompi_communicator_t),
    MCA_COMMON_FASTPATH_LAYOUT(ompi_datatype_t),
    MCA_COMMON_FASTPATH_LAYOUT(ompi_group_t),
    MCA_COMMON_FASTPATH_LAYOUT(ompi_message_t),
    MCA_COMMON_FASTPATH_LAYOUT(ompi_proc_t),
    MCA_COMMON_FASTPATH_LAYOUT(ompi_request_t),
};

static int pml_component_register(void)
{
    const mca_base_component_t *component = &mca_pml_fastpath_component.pmlm_version;

    if (!mca_common_fastpath_host_ok(component)
        || !mca_common_fastpath_layouts_ok(component, layouts, sizeof(layouts) / sizeof(layouts[0]))) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    mca_pml_fastpath.component = component;
    mca_common_fastpath_help_dir();
    mca_pml_fastpath_pvar_register(component);
    if (OPAL_SUCCESS != mca_pml_fastpath_pause_register(component)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    return mca_common_fastpath_param_register(component, params, sizeof(params) / sizeof(params[0]));
}

/* btl/fastsm serves nobody until somebody who asked for it is there: that is us. */
static void confirm_fastsm(void)
{
    mca_pml_fastpath.fastsm_ext = mca_btl_fastsm_find(&mca_pml_fastpath.fastsm);
    if (NULL != mca_pml_fastpath.fastsm_ext) {
        mca_pml_fastpath.fastsm_ext->confirm(mca_pml_fastpath.fastsm);
        mca_pml_fastpath.asleep = mca_pml_fastpath.fastsm_ext->asleep(NULL);
    }
}

/* A name that is no transport's would be without effect and without a word; one that is not used in this job
 * is all right. */
static void check_names(const mca_pml_fastpath_multi_limit_t *limits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!fastpath_component_exists(&opal_btl_base_framework, limits[i].name)
            && mca_common_fastpath_reporting_rank()) {
            mca_common_fastpath_show_help("help-mpi-pml-fastpath.txt", "unknown transport",
                                          mca_pml_fastpath.multi_eager_limits, limits[i].name);
        }
    }
}

static void multi_limits(void)
{
    static mca_pml_fastpath_multi_limit_t limits[MCA_PML_FASTPATH_MULTI_BTLS];

    mca_pml_fastpath.multi_limits = limits;
    mca_pml_fastpath.num_multi_limits =
        mca_pml_fastpath_multi_limits_read(mca_pml_fastpath.multi_eager_limits, limits);
    check_names(limits, mca_pml_fastpath.num_multi_limits);
}

static mca_pml_base_module_t *pml_component_init(int *priority, bool progress_threads, bool mpi_threads)
{
    const mca_pml_fastpath_end_t *ends;
    size_t num_ends;

    if (OMPI_SUCCESS != mca_bml_base_init(progress_threads, mpi_threads)) {
        return NULL;
    }
    num_ends = mca_pml_fastpath_ends_find(&ends);
    mca_pml_fastpath_place_find();
    if (OMPI_SUCCESS != mca_pml_fastpath_jobs_publish(ends, num_ends)) {
        return NULL;
    }
    confirm_fastsm();
    multi_limits();
    mca_pml_fastpath_pace_start();
    mca_pml_fastpath.window_part =
        0 == mca_pml_fastpath.window ? INT64_MAX : (int64_t) (mca_pml_fastpath.window / 4);
    *priority = mca_pml_fastpath.priority;
    mca_pml_fastpath_module_init();
    return &mca_pml_fastpath.super;
}

/* The BML unregisters the BTLs' progress functions, which has to happen before the BTLs are unloaded. */
static int pml_component_finalize(void)
{
    int rc = NULL == mca_bml.bml_finalize ? OMPI_SUCCESS : mca_bml.bml_finalize();

    mca_pml_fastpath_links_ended();
    mca_pml_fastpath_close();
    return rc;
}

mca_pml_base_component_t mca_pml_fastpath_component = {
    .pmlm_version =
        {
            MCA_PML_BASE_VERSION_2_1_0,
            .mca_component_name = "fastpath",
            MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
            .mca_register_component_params = pml_component_register,
        },
    .pmlm_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
    .pmlm_init = pml_component_init,
    .pmlm_finalize = pml_component_finalize,
};
