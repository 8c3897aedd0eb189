/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The component's life: parameters, selection, module.
 */

#include "opal_config.h"

#include <stdio.h>
#include <stdlib.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_param.h"
#include "opal/mca/common/fastpath/common_fastpath_runtime.h"

#include "btl_fastsm.h"
#include "btl_fastsm_ahead.h"
#include "btl_fastsm_deep.h"
#include "btl_fastsm_dynamic.h"
#include "btl_fastsm_endpoint.h"
#include "btl_fastsm_frag.h"
#include "btl_fastsm_get.h"
#include "btl_fastsm_name.h"
#include "btl_fastsm_progress.h"
#include "btl_fastsm_segment.h"

/** a frag has to hold any header of a PML; ob1 and fastpath need less */
#define FASTSM_EAGER_LIMIT     8208u
#define FASTSM_RNDV_LIMIT      4112u
#define FASTSM_MAX_SEND        32768u
#define FASTSM_GET_LIMIT       (UINT64_C(1) << 62)
#define FASTSM_EAGER_LIMIT_MIN 256u
#define FASTSM_EAGER_LIMIT_MAX (1u << 20)
#define FASTSM_MAX_SEND_MAX    (16u << 20)

static const mca_common_fastpath_param_t own_parameters[] = {
    {"fifo_depth", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_btl_fastsm_component.fifo_depth, 0,
     MCA_BTL_FASTSM_DEPTH_MIN, MCA_BTL_FASTSM_DEPTH_MAX, .or_zero = true, .power_of_two = true,
     .text = "Slots of the FIFO from one process to another; a slot is 64 bytes and takes a message of up to "
             "56 bytes with its header, or two of up to 24 bytes. More than 128 is not possible, because a "
             "doorbell is 8 bits wide. 0: by the number of local processes"},
    {"inline_slots", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_6, &mca_btl_fastsm_component.inline_slots, 10,
     MCA_BTL_FASTSM_INLINE_SLOTS_MIN, MCA_BTL_FASTSM_INLINE_SLOTS_MAX,
     .text = "Longest message, in slots, that is stored in the FIFO itself, where it may take half of the "
             "slots at most. Longer ones lie in buffers of the sender's segment"},
    {"bell_stride", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_8, &mca_btl_fastsm_component.bell_stride,
     MCA_BTL_FASTSM_BELL_STRIDE, 1, MCA_BTL_FASTSM_LINE, .power_of_two = true,
     .text = "Bytes from one doorbell (a sender's mark that it has written) to the next. 64 gives each "
             "sender a cache line of its own, which costs memory and makes looking at them slower"},
    {"position_stride", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_8, &mca_btl_fastsm_component.position_stride,
     0, sizeof(mca_btl_fastsm_read_pos_t), MCA_BTL_FASTSM_LINE, .or_zero = true, .power_of_two = true,
     .text = "Bytes from one read position (how far the receiver has read a FIFO) to the next. 64 gives each "
             "sender a cache line of its own, which matters where several threads receive. 0: 64 with "
             "MPI_THREAD_MULTIPLE or up to 16 local processes, else 8"},
    {"eager_buffers", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_btl_fastsm_component.eager_buffers, 0,
     1, 1u << 20, .or_zero = true,
     .text = "Buffers of btl_fastsm_eager_limit bytes in each process, for all its peers together. 0: by the "
             "number of local processes"},
    {"max_buffers", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_btl_fastsm_component.max_buffers, 0, 1,
     1u << 20, .or_zero = true,
     .text = "Buffers of btl_fastsm_max_send_size bytes in each process, for all its peers together. 0: by "
             "the number of local processes"},
    {"chunk_max", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_6, &mca_btl_fastsm_component.chunk_max, 0, 1,
     1u << 20, .or_zero = true,
     .text = "Most bytes of a message that are copied to eager buffers, and from them, at a time, where "
             "several buffers lie side by side; one buffer at the least. 0: half of the message, 16 to 32 "
             "KiB, where the processor's "
             "instruction for copies is the sooner way, elsewhere one buffer"},
    {"chunk_time", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_btl_fastsm_component.chunk_time, 7000, 0,
     1u << 30, .zero = "no limit",
     .text = "Time budget (ns) for copying a message through eager buffers while its sender waits. If the "
             "estimate, by recent copies to that peer, is higher, sender and receiver each copy a part by "
             "single copy, where the kernel permits that; where processes share cores the receiver copies it. "
             "Each 4096 bytes add 1/14 to the budget, about what the kernel takes for a page. 0: no limit"},
    {"poll_max", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_8, &mca_btl_fastsm_component.poll_max, 32, 1,
     1u << 20, .text = "Messages taken from one sender before the others get their turn"},
    {"ring_depth", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_6, &mca_btl_fastsm_component.ring_depth,
     MCA_BTL_FASTSM_RING_DEPTH, MCA_BTL_FASTSM_RING_DEPTH_MIN, MCA_BTL_FASTSM_RING_DEPTH_MAX,
     .power_of_two = true,
     .text = "Slots of the ring through which processes of other jobs on the node (MPI_Comm_spawn, "
             "MPI_Comm_connect) send to a process; a slot takes a message of up to 48 bytes with its header"},
    {"dynamic_peers", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_5, &mca_btl_fastsm_component.dynamic_peers,
     MCA_BTL_FASTSM_DYNAMIC_PEERS, 0, MCA_BTL_FASTSM_DYNAMIC_PEERS_MAX,
     .text = "Processes of other jobs on the node that a process may be connected with at a time. With 0 "
             "another BTL carries the messages between jobs"},
    {"deep_fifos", MCA_COMMON_FASTPATH_INT, OPAL_INFO_LVL_5, &mca_btl_fastsm_component.deep_fifos, -1,
     (uint64_t) -1, MCA_BTL_FASTSM_DEEP_FIFOS_MAX,
     .text = "Deeper FIFOs in each process, lent to senders that find their own one full and to processes of "
             "other jobs on the node. 0: none; -1: by the number of local processes"},
    {"deep_fifo_depth", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_6, &mca_btl_fastsm_component.deep_fifo_depth,
     0, MCA_BTL_FASTSM_DEPTH_MIN, MCA_BTL_FASTSM_DEPTH_MAX, .or_zero = true, .power_of_two = true,
     .text = "Slots of each deeper FIFO. 0: by the number of local processes"},
    {"deep_fifo_after", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_6, &mca_btl_fastsm_component.deep_fifo_after,
     32, 0, 1u << 30, .zero = "never",
     .text = "A sender asks for a deeper FIFO after it has found its own one full so often; a process of "
             "another job, after it has sent so many slots. Each refusal doubles that. 0: never"},
    {"agree_timeout", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_6, &mca_btl_fastsm_component.agree_timeout,
     MCA_BTL_FASTSM_AGREE_TIMEOUT, 0, 1u << 20, .zero = "for ever",
     .text = "Seconds to wait until another process on the node, of this job or another one, says whether it "
             "can map our segment. After that another BTL carries the messages between the two. 0: for ever"},
    {"debug_fault_percent", MCA_COMMON_FASTPATH_UINT, OPAL_INFO_LVL_9,
     &mca_btl_fastsm_component.fault_percent, 0, 0, 90,
     .text = "Percentage of the sends and allocations that are refused at random, as if there were no room; "
             "for tests"},
    {"print_memory", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_4, &mca_btl_fastsm_component.print_memory, false,
     .text = "One process of each node prints at start how much shared memory the segments may use, and for "
             "what"},
    {"single_copy", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_4, &mca_btl_fastsm_component.single_copy, true,
     .text = "Read large messages directly from the sender's memory where the kernel permits it. Otherwise "
             "they are copied through the shared segment"},
    {"smsc", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_4, &mca_btl_fastsm_component.smsc, true,
     .text = "Use Open MPI's selected smsc component (5.0 and later) for single copy"},
};

/* Whether somebody has chosen a value for this standard parameter. */
static bool given(const char *name)
{
    const mca_base_var_t *var;
    int index = mca_base_var_find("opal", "btl", "fastsm", name);

    return 0 <= index && OPAL_SUCCESS == mca_base_var_get(index, &var)
           && MCA_BASE_VAR_SOURCE_DEFAULT != var->mbv_source;
}

/* Open MPI registers its standard parameters without looking at their values. */
static void check_standard(mca_btl_base_module_t *btl)
{
    const mca_base_component_t *version = &mca_btl_fastsm_component.super.btl_version;
    const mca_common_fastpath_param_t eager[] = {
        {"eager_limit", MCA_COMMON_FASTPATH_SIZE, 0, &btl->btl_eager_limit, FASTSM_EAGER_LIMIT,
         .min = FASTSM_EAGER_LIMIT_MIN, .max = FASTSM_EAGER_LIMIT_MAX},
    };

    /* the range of two others follows from it */
    mca_common_fastpath_param_check(version, eager, 1);

    const mca_common_fastpath_param_t others[] = {
        {"rndv_eager_limit", MCA_COMMON_FASTPATH_SIZE, 0, &btl->btl_rndv_eager_limit, FASTSM_RNDV_LIMIT,
         .max = btl->btl_eager_limit},
        {"max_send_size", MCA_COMMON_FASTPATH_SIZE, 0, &btl->btl_max_send_size, FASTSM_MAX_SEND,
         .min = given("eager_limit") ? btl->btl_eager_limit : FASTSM_RNDV_LIMIT, .max = FASTSM_MAX_SEND_MAX},
        /* since 5.0; no accelerator's memory comes to us */
        {"accelerator_max_send_size", MCA_COMMON_FASTPATH_SIZE, 0,
         fastpath_btl_accelerator_max_send_size(btl), 0, .max = FASTSM_MAX_SEND_MAX},
        {"exclusivity", MCA_COMMON_FASTPATH_UINT, 0, &btl->btl_exclusivity,
         .value = MCA_BTL_FASTSM_EXCLUSIVITY},
        {"get_limit", MCA_COMMON_FASTPATH_SIZE, 0, &btl->btl_get_limit, FASTSM_GET_LIMIT, .min = 4096,
         .max = FASTSM_GET_LIMIT},
        {"get_alignment", MCA_COMMON_FASTPATH_SIZE, 0, &btl->btl_get_alignment, 0, .max = 4096,
         .power_of_two = true},
    };

    mca_common_fastpath_param_check(version, others, sizeof(others) / sizeof(others[0]));
}

/* What we cannot do is dropped; not to send at all would leave peers without a way to reach us. */
static void check_flags(mca_btl_base_module_t *btl)
{
    const uint32_t possible = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_GET | MCA_BTL_FLAGS_SEND_INPLACE;
    const uint32_t usable = (btl->btl_flags & possible) | MCA_BTL_FLAGS_SEND;

    if (usable != btl->btl_flags) {
        char used[32];

        snprintf(used, sizeof(used), "send%s%s", 0 != (usable & MCA_BTL_FLAGS_GET) ? ",get" : "",
                 0 != (usable & MCA_BTL_FLAGS_SEND_INPLACE) ? ",inplace" : "");
        mca_common_fastpath_param_refuse(&mca_btl_fastsm_component.super.btl_version, "flags",
                                         "send, alone or together with get and inplace", used);
    }
    btl->btl_flags = usable;
}

static int register_standard(void)
{
    mca_btl_base_module_t *btl = &mca_btl_fastsm_module.super;
    int rc;

    btl->btl_exclusivity = MCA_BTL_FASTSM_EXCLUSIVITY;
    btl->btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_GET;
    btl->btl_eager_limit = FASTSM_EAGER_LIMIT;
    btl->btl_rndv_eager_limit = FASTSM_RNDV_LIMIT;
    btl->btl_max_send_size = FASTSM_MAX_SEND;
    btl->btl_rdma_pipeline_send_length = 32768;
    btl->btl_rdma_pipeline_frag_size = 32768;
    btl->btl_min_rdma_pipeline_size = SIZE_MAX; /* there is no put */
    btl->btl_get_limit = 0;
    btl->btl_latency = 1;
    btl->btl_bandwidth = 12000;

    rc = mca_btl_base_param_register(&mca_btl_fastsm_component.super.btl_version, btl);
    if (OPAL_SUCCESS != rc) {
        return rc;
    }

    check_standard(btl);
    check_flags(btl);
    mca_btl_fastsm_component.eager_limit_given = given("eager_limit");
    mca_btl_fastsm_component.max_send_given = given("max_send_size");
    return mca_btl_base_param_verify(btl);
}

static int fastsm_register(void)
{
    int rc;

    if (!mca_common_fastpath_host_ok(&mca_btl_fastsm_component.super.btl_version)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    mca_common_fastpath_help_dir();

    rc = mca_common_fastpath_param_register(&mca_btl_fastsm_component.super.btl_version, own_parameters,
                                            sizeof(own_parameters) / sizeof(own_parameters[0]));
    mca_btl_fastsm_pvar_register();
    return OPAL_SUCCESS == rc ? register_standard() : rc;
}

static int fastsm_open(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OBJ_CONSTRUCT(&component->lock, opal_mutex_t);
    OBJ_CONSTRUCT(&component->active, opal_list_t);
    OBJ_CONSTRUCT(&component->done, opal_list_t);
    OBJ_CONSTRUCT(&component->dynamic_lock, opal_mutex_t);
    OBJ_CONSTRUCT(&component->dynamic_list, opal_list_t);
    return OPAL_SUCCESS;
}

static int fastsm_close(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OBJ_DESTRUCT(&component->dynamic_list);
    OBJ_DESTRUCT(&component->dynamic_lock);
    OBJ_DESTRUCT(&component->done);
    OBJ_DESTRUCT(&component->active);
    OBJ_DESTRUCT(&component->lock);
    return OPAL_SUCCESS;
}

/* Everything that may fail, in order; what was done is undone by btl_finalize. */
static int start_btl(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    int rc = mca_btl_fastsm_modex_prepare(&component->me);

    if (OPAL_SUCCESS == rc) {
        rc = mca_btl_fastsm_segment_create();
    }
    if (OPAL_SUCCESS == rc) {
        mca_btl_fastsm_sleep_init();
        mca_btl_fastsm_name_prepare(&component->me);
        mca_btl_fastsm_ahead_init();
        mca_common_fastpath_clock_start(&component->clock);
        mca_btl_fastsm_frags_init();
        rc = mca_btl_fastsm_endpoints_init();
    }
    if (OPAL_SUCCESS == rc) {
        rc = mca_btl_fastsm_deep_init();
    }
    if (OPAL_SUCCESS == rc) {
        rc = mca_btl_fastsm_dynamic_init();
    }
    return rc;
}

/**
 * Offers the one module, or NULL when fastsm is not wanted or cannot work.
 * In the latter case our peers are told, so that both sides of each pair
 * decide alike.
 */
static mca_btl_base_module_t **fastsm_init(int *num_btls, bool enable_progress_threads,
                                           bool enable_mpi_threads)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_module_t *module = &mca_btl_fastsm_module;
    mca_btl_base_module_t **modules;
    int rc;

    (void) enable_progress_threads;
    component->threads = enable_mpi_threads;
    *num_btls = 0;

    component->named = mca_btl_fastsm_named();
    if (!component->named && !mca_btl_fastsm_pml_wanted()) {
        return NULL;
    }
    if (!fastpath_local_ranks_known()) {
        return NULL;
    }

    modules = (mca_btl_base_module_t **) calloc(1, sizeof(*modules));
    if (NULL == modules) {
        return NULL;
    }

    rc = start_btl();
    component->me.usable = (OPAL_SUCCESS == rc);
    if (OPAL_SUCCESS
            != fastpath_modex_send(&component->super.btl_version, &component->me, sizeof(component->me))
        || OPAL_SUCCESS != rc) {
        module->super.btl_finalize(&module->super);
        free(modules);
        return NULL;
    }

    mca_btl_fastsm_get_init(&module->super);
    mca_btl_fastsm_fault_install(module);
    mca_common_fastpath_runtime_install();

    modules[0] = &module->super;
    *num_btls = 1;
    return modules;
}

mca_btl_fastsm_component_t mca_btl_fastsm_component = {
    .super =
        {
            .btl_version =
                {
                    MCA_BTL_DEFAULT_VERSION("fastsm"),
                    .mca_open_component = fastsm_open,
                    .mca_close_component = fastsm_close,
                    .mca_register_component_params = fastsm_register,
                },
            .btl_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
            .btl_init = fastsm_init,
            .btl_progress = mca_btl_fastsm_component_progress,
        },
};
