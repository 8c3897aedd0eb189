/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The module: its function table, peers coming and going, the end.
 */

#include "opal_config.h"

#include <stdlib.h>
#include <string.h>

#include "opal/class/opal_bitmap.h"
#include "opal/util/output.h"

#include "opal/mca/common/fastpath/common_fastpath_runtime.h"

#include "btl_fastsm.h"
#include "btl_fastsm_chunk_send.h"
#include "btl_fastsm_deep.h"
#include "btl_fastsm_dynamic.h"
#include "btl_fastsm_endpoint.h"
#include "btl_fastsm_failed.h"
#include "btl_fastsm_frag.h"
#include "btl_fastsm_get.h"
#include "btl_fastsm_name.h"
#include "btl_fastsm_peek.h"
#include "btl_fastsm_segment.h"
#include "btl_fastsm_send.h"
#include "btl_fastsm_turns.h"

static void fastsm_confirm(mca_btl_base_module_t *btl)
{
    (void) btl;
    mca_btl_fastsm_component.confirmed = true;
    mca_common_fastpath_runtime_remove(); /* pml/fastpath has its own */
}

static uint32_t fastsm_refused(mca_btl_base_module_t *btl)
{
    (void) btl;
    return mca_btl_fastsm_component.dynamic_refused;
}

/* Whether it is another process of our job on this node. */
static bool proc_is_local(const opal_proc_t *proc)
{
    const opal_proc_t *me = opal_proc_local_get();

    return me != proc && proc->proc_name.jobid == me->proc_name.jobid
           && OPAL_PROC_ON_LOCAL_NODE(proc->proc_flags);
}

/* Fetches what the local ones among `procs` have published, in their order.  `all` has room for the node's.
 */
static size_t fetch_local(opal_proc_t **procs, size_t nprocs, mca_btl_fastsm_announced_t *all)
{
    size_t count = 0;

    for (size_t i = 0; i < nprocs && count < mca_btl_fastsm_component.n_local; ++i) {
        if (proc_is_local(procs[i])) {
            if (OPAL_SUCCESS != mca_btl_fastsm_modex_fetch(procs[i], &all[count].modex)) {
                all[count].modex.usable = 0;
            }
            ++count;
        }
    }
    return count;
}

/* Our half of the decision about one process: NULL where it is not for us.
 *  announced  what a local process has told; NULL: it is none */
static int meet(opal_proc_t *proc, const mca_btl_fastsm_announced_t *announced,
                mca_btl_base_endpoint_t **endpoint)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const opal_proc_t *me = opal_proc_local_get();

    *endpoint = NULL;
    if (NULL != announced) {
        *endpoint = mca_btl_fastsm_endpoint_meet(proc, announced);
        return OPAL_SUCCESS;
    }
    if (proc->proc_name.jobid == me->proc_name.jobid) {
        return OPAL_SUCCESS; /* also ourselves: a process reaches itself by btl/self */
    }
    if (!FASTPATH_JOBS_ARE_ADDED && !component->confirmed) {
        /* whoever only receives would not know us; pml/fastpath sees to that, others do not */
        return OPAL_SUCCESS;
    }
    /* Open MPI's word on who is local is wrong between jobs */
    return mca_btl_fastsm_dynamic_meet(proc, endpoint);
}

/* Our half of all decisions. */
static int meet_all(opal_proc_t **procs, size_t nprocs, mca_btl_base_endpoint_t **endpoints)
{
    mca_btl_fastsm_announced_t *all =
        (mca_btl_fastsm_announced_t *) calloc(mca_btl_fastsm_component.n_local, sizeof(*all));
    size_t count, local = 0;
    int rc = OPAL_SUCCESS;

    if (NULL == all) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    count = fetch_local(procs, nprocs, all);
    mca_btl_fastsm_name_decide(all, count);
    for (size_t i = 0; i < nprocs; ++i) {
        const bool one_of_them = local < count && proc_is_local(procs[i]);
        const int one = meet(procs[i], one_of_them ? &all[local++] : NULL, &endpoints[i]);

        rc = OPAL_SUCCESS == rc ? one : rc;
    }
    free(all);
    return rc;
}

/**
 * Decides for good which of `procs` are reached through shared memory.  Each of them comes to the same
 * conclusion about us: first we say of all of them what we have to say, then we wait for what they say.
 *
 * @param reachable  NULL when the caller adds a single process on first use
 */
static int fastsm_add_procs(mca_btl_base_module_t *btl, size_t nprocs, opal_proc_t **procs,
                            mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    int rc = OPAL_SUCCESS;

    (void) btl;
    memset(endpoints, 0, nprocs * sizeof(*endpoints));
    if (component->named || component->confirmed) {
        rc = meet_all(procs, nprocs, endpoints);
    }
    mca_btl_fastsm_agree(endpoints, nprocs);
    mca_btl_fastsm_name_done();
    for (size_t i = 0; i < nprocs; ++i) {
        if (NULL == endpoints[i]) {
            continue;
        }
        if (!(NULL == endpoints[i]->dynamic ? mca_btl_fastsm_endpoint_settle(endpoints[i])
                                            : mca_btl_fastsm_dynamic_settle(endpoints[i]))) {
            endpoints[i] = NULL;
        } else if (OPAL_SUCCESS == rc && NULL != reachable) {
            rc = opal_bitmap_set_bit(reachable, (int) i);
        }
    }
    return rc;
}

/* The caller's array stays as it is: bml/r2 looks there whether an endpoint of its second list has been in
 * the first one, and if not deletes it again. */
static int fastsm_del_procs(mca_btl_base_module_t *btl, size_t nprocs, opal_proc_t **procs,
                            mca_btl_base_endpoint_t **endpoints)
{
    (void) btl;
    (void) procs;
    for (size_t i = 0; i < nprocs; ++i) {
        if (NULL == endpoints[i]) {
            continue;
        }
        if (NULL != endpoints[i]->dynamic) {
            mca_btl_fastsm_dynamic_disconnect(endpoints[i]);
        } else {
            mca_btl_fastsm_endpoint_disconnect(endpoints[i]);
        }
    }
    return OPAL_SUCCESS;
}

/** Undoes what init did; works on what is there, so init uses it too. */
static int fastsm_finalize(mca_btl_base_module_t *btl)
{
    (void) btl;
    mca_common_fastpath_runtime_remove();
    mca_btl_fastsm_sleep_fini();
    mca_btl_fastsm_dynamic_fini();
    mca_btl_fastsm_endpoints_fini();
    mca_btl_fastsm_deep_fini();
    mca_btl_fastsm_frags_fini();
    mca_btl_fastsm_segment_release();
    return OPAL_SUCCESS;
}

static int fastsm_register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t cbfunc)
{
    ((mca_btl_fastsm_module_t *) btl)->error_cb = cbfunc;
    return OPAL_SUCCESS;
}

static void dump_dynamic(const mca_btl_fastsm_dynamic_t *dynamic)
{
    opal_output(
        0,
        "fastsm dynamic peer pid %d: admission %x, ours %x%s%s%s%s; %u sends pending, %u buffers in flight",
        (int) dynamic->endpoint.pid, dynamic->admission, dynamic->our_admission,
        dynamic->gone ? ", has ended" : "", dynamic->parted ? ", forgotten" : "",
        dynamic->endpoint.readable ? ", has a FIFO here" : "",
        MCA_BTL_FASTSM_MOVE_MOVED == dynamic->endpoint.move.state ? ", has one for us" : "",
        dynamic->endpoint.out.n_pending, dynamic->endpoint.n_in_flight);
}

static void dump_endpoint(const mca_btl_fastsm_endpoint_t *ep)
{
    if (NULL != ep->dynamic) {
        dump_dynamic(ep->dynamic);
        return;
    }
    opal_output(0,
                "fastsm peer %u pid %d: sent %u slots, of them seen read %u; read %u slots; "
                "%u sends pending, %u buffers in flight%s%s",
                ep->index, (int) ep->pid, ep->out.write_pos, ep->out.read_pos, ep->in.read_pos,
                ep->out.n_pending, ep->n_in_flight,
                ep->in_number != ep->index ? "; has a deeper FIFO here" : "",
                MCA_BTL_FASTSM_MOVE_MOVED == ep->move.state ? "; has one for us" : "");
}

static void fastsm_dump(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint, int verbose)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const mca_btl_fastsm_dynamic_t *dynamic;

    (void) btl;
    opal_output(0, "fastsm: local index %u of %u, %u peers connected, %u dynamic ones, segment of %lu bytes",
                component->me.local_index, component->n_local, component->n_connected, component->n_dynamic,
                (unsigned long) component->layout.total);
    if (NULL != endpoint) {
        dump_endpoint(endpoint);
        return;
    }
    for (uint32_t i = 0; 0 != verbose && NULL != component->peers && i < component->n_local; ++i) {
        if (component->peers[i].connected) {
            dump_endpoint(&component->peers[i]);
        }
    }
    if (0 != verbose) {
        OPAL_LIST_FOREACH(dynamic, &component->dynamic_list, mca_btl_fastsm_dynamic_t)
        {
            dump_dynamic(dynamic);
        }
    }
}

mca_btl_fastsm_module_t mca_btl_fastsm_module = {
    .super =
        {
            .btl_component = &mca_btl_fastsm_component.super,
            .btl_add_procs = fastsm_add_procs,
            .btl_del_procs = fastsm_del_procs,
            .btl_finalize = fastsm_finalize,
            .btl_alloc = mca_btl_fastsm_alloc,
            .btl_free = mca_btl_fastsm_free,
            .btl_prepare_src = mca_btl_fastsm_prepare_src,
            .btl_send = mca_btl_fastsm_send,
            .btl_sendi = mca_btl_fastsm_sendi,
            .btl_get = mca_btl_fastsm_get,
            .btl_dump = fastsm_dump,
            .btl_register_error = fastsm_register_error,
        },
    .ext =
        {
            .magic = MCA_BTL_FASTSM_EXT_MAGIC,
            .abi = MCA_BTL_FASTSM_ABI,
            .size = sizeof(mca_btl_fastsm_ext_t),
            .confirm = fastsm_confirm,
            .sendi = mca_btl_fastsm_sendi_contiguous,
            .sendi_numbered = mca_btl_fastsm_sendi_numbered,
            .sendi_data = mca_btl_fastsm_sendi_data,
            .chunks_are_slow = mca_btl_fastsm_chunks_are_slow,
            .exchange_is_slow = mca_btl_fastsm_exchange_is_slow,
            .send_numbered = mca_btl_fastsm_send_numbered,
            .sender = mca_btl_fastsm_sender,
            .receiver = mca_btl_fastsm_receiver,
            .peek = mca_btl_fastsm_peek,
            .move = mca_btl_fastsm_view_move,
            .write = mca_btl_fastsm_write,
            .copies = mca_btl_fastsm_copies,
            .await_max = MCA_BTL_FASTSM_AWAITED,
            .await = mca_btl_fastsm_await,
            .await_end = mca_btl_fastsm_await_end,
            .claim = mca_btl_fastsm_claim,
            .is_copying = mca_btl_fastsm_is_copying,
            .scan = mca_btl_fastsm_scan,
            .poll = mca_btl_fastsm_poll,
            .refused = fastsm_refused,
            .failed = mca_btl_fastsm_failed,
            .died = mca_btl_fastsm_dynamic_died,
            .pids = mca_btl_fastsm_pids,
            .has_pid = mca_btl_fastsm_has_pid,
            .arrived = &mca_btl_fastsm_component.arrived,
            .missed = &mca_btl_fastsm_component.missed,
            .handed = &mca_btl_fastsm_component.handed,
            .asleep = mca_btl_fastsm_asleep,
            .announce_sleep = mca_btl_fastsm_announce_sleep,
            .sleep = mca_btl_fastsm_sleep,
        },
};

_Static_assert(offsetof(mca_btl_fastsm_module_t, ext) == offsetof(mca_btl_fastsm_public_module_t, ext),
               "the extension is where its users look for it");
