/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What peers tell each other, and who is reachable.
 */

#include "opal_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/util/output.h"

#include "btl_fastsm.h"
#include "btl_fastsm_ahead.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_endpoint.h"
#include "btl_fastsm_get.h"
#include "btl_fastsm_move.h"
#include "btl_fastsm_peers.h"
#include "btl_fastsm_segment.h"

OBJ_CLASS_INSTANCE(mca_btl_fastsm_active_t, opal_list_item_t, NULL, NULL);

static char fastsm_lost[] = "btl/fastsm cannot map the segment of a local process again";

int mca_btl_fastsm_modex_prepare(mca_btl_fastsm_modex_t *me)
{
    memset(me, 0, sizeof(*me));
    me->version = MCA_BTL_FASTSM_LAYOUT_VERSION;
    me->local_index = (uint32_t) opal_process_info.my_local_rank;
    me->pid = (int32_t) getpid();
    me->fd = -1;
    me->uid = (uint32_t) geteuid();
    me->dynamic_peers = mca_btl_fastsm_component.dynamic_peers;
    me->pid_ns = mca_common_fastpath_namespace("pid");
    me->user_ns = mca_common_fastpath_namespace("user");
    me->nonce_address = (uint64_t) (uintptr_t) me->nonce;
    if (sizeof(me->nonce) != getrandom(me->nonce, sizeof(me->nonce), 0)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    return mca_common_fastpath_boot_id(me->boot_id) ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
}

void mca_btl_fastsm_endpoint_construct(mca_btl_fastsm_endpoint_t *endpoint, uint32_t index)
{
    memset(endpoint, 0, sizeof(*endpoint));
    endpoint->index = index;
    endpoint->name_fd = -1;
    OBJ_CONSTRUCT(&endpoint->pending, opal_list_t);
    OBJ_CONSTRUCT(&endpoint->in_flight, opal_list_t);
    OBJ_CONSTRUCT(&endpoint->active, mca_btl_fastsm_active_t);
    endpoint->active.endpoint = endpoint;
}

void mca_btl_fastsm_endpoint_destruct(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_ahead_forget(endpoint);
    if (-1 != endpoint->name_fd) {
        close(endpoint->name_fd);
    }
    free(endpoint->sought);
    OBJ_DESTRUCT(&endpoint->active);
    OBJ_DESTRUCT(&endpoint->in_flight);
    OBJ_DESTRUCT(&endpoint->pending);
}

int mca_btl_fastsm_endpoints_init(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const size_t bells = mca_btl_fastsm_layout_count(&component->layout);
    const size_t bell_bytes = (bells + MCA_BTL_FASTSM_LINE - 1) / MCA_BTL_FASTSM_LINE * MCA_BTL_FASTSM_LINE;
    void *memory = NULL;

    component->bell_expected = (_Atomic uint64_t *) calloc(1, bell_bytes);
    if (NULL == component->bell_expected
        || 0
               != posix_memalign(&memory, MCA_BTL_FASTSM_LINE,
                                 component->n_local * sizeof(*component->peers))) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    component->peers = (mca_btl_fastsm_endpoint_t *) memory;
    for (uint32_t i = 0; i < component->n_local; ++i) {
        mca_btl_fastsm_endpoint_construct(&component->peers[i], i);
        mca_btl_fastsm_read_bell(&component->peers[i], i);
    }
    return OPAL_SUCCESS;
}

void mca_btl_fastsm_endpoints_fini(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    for (uint32_t i = 0; NULL != component->peers && i < component->n_local; ++i) {
        mca_btl_fastsm_endpoint_t *endpoint = &component->peers[i];

        mca_btl_fastsm_endpoint_disconnect(endpoint);
        mca_btl_fastsm_endpoint_destruct(endpoint);
    }
    free(component->peers);
    component->peers = NULL;
    free(component->bell_expected);
    component->bell_expected = NULL;
}

int mca_btl_fastsm_modex_fetch(const opal_proc_t *proc, mca_btl_fastsm_modex_t *modex)
{
    void *data = NULL;
    size_t size = 0;
    int rc = fastpath_modex_recv(&mca_btl_fastsm_component.super.btl_version, &proc->proc_name, &data, &size);

    if (OPAL_SUCCESS != rc) {
        return OPAL_ERR_UNREACH;
    }
    if (sizeof(*modex) == size) {
        memcpy(modex, data, sizeof(*modex));
    } else {
        rc = OPAL_ERR_UNREACH;
    }
    free(data);
    return rc;
}

void mca_btl_fastsm_endpoint_describe(mca_btl_fastsm_endpoint_t *endpoint, opal_proc_t *proc,
                                      const mca_btl_fastsm_modex_t *modex)
{
    endpoint->proc = proc;
    endpoint->pid = (pid_t) modex->pid;
    endpoint->fd = modex->fd;
    endpoint->other_pids = modex->pid_ns != mca_btl_fastsm_component.me.pid_ns;
    endpoint->nonce_address = modex->nonce_address;
    memcpy(endpoint->nonce, modex->nonce, sizeof(endpoint->nonce));
    endpoint->get_state = MCA_BTL_FASTSM_GET_UNKNOWN;
    endpoint->write_state = MCA_BTL_FASTSM_GET_UNKNOWN;
}

void mca_btl_fastsm_unusable(const mca_btl_fastsm_modex_t *modex, const char *why, int error)
{
    if (EMFILE == error || ENFILE == error) { /* there may be no descriptor to read the help text with */
        opal_output(0, "btl/fastsm cannot use the segment of a local process: %s", why);
        return;
    }
    /* what the kernel does not permit has been arranged so; ENOENT is /proc with hidepid, ENOSPC has been
     * said by the other process, to who asks */
    if (EACCES != error && EPERM != error && ENOENT != error && ESRCH != error && ENOSPC != error) {
        mca_common_fastpath_show_help(MCA_BTL_FASTSM_HELP, "segment of another process",
                                      opal_process_info.nodename, modex->local_index, (int) modex->pid, why);
    }
}

/* The local peer that this process is, by what it says itself; NULL where no segment is to be tried, which is
 * final.  What is asked here has the same answer on the other side. */
static mca_btl_fastsm_endpoint_t *local_peer(const mca_btl_fastsm_announced_t *announced)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint32_t index = announced->modex.local_index;

    if (0 == announced->modex.usable || index >= component->n_local || index == component->me.local_index) {
        return NULL;
    }
    if (MCA_BTL_FASTSM_ROUTE_NONE == announced->route) {
        component->peers[index].pair_state = MCA_BTL_FASTSM_PAIR_REFUSED;
    }
    return MCA_BTL_FASTSM_PAIR_REFUSED == component->peers[index].pair_state ? NULL
                                                                             : &component->peers[index];
}

/* What the peer says about us, in its segment. */
static void find_their_word(mca_btl_fastsm_endpoint_t *endpoint)
{
    endpoint->pair.other = (_Atomic uint32_t *) mca_btl_fastsm_in_segment(
        endpoint, mca_btl_fastsm_layout_pair(&endpoint->layout, mca_btl_fastsm_component.me.local_index));
}

/* Says whether the peer's segment is mapped. */
static void begin_pair(mca_btl_fastsm_endpoint_t *endpoint, bool mapped)
{
    if (mapped) {
        find_their_word(endpoint);
    }
    endpoint->pair_state = fastsm_pair_begin(&endpoint->pair, mapped);
}

/* A peer that is found by its name gives that to its segment as soon as it comes here. */
static void begin_to_seek(mca_btl_fastsm_endpoint_t *endpoint, const mca_btl_fastsm_announced_t *announced)
{
    endpoint->sought = (mca_btl_fastsm_announced_t *) malloc(sizeof(*endpoint->sought));
    if (NULL == endpoint->sought) {
        begin_pair(endpoint, false);
        return;
    }
    *endpoint->sought = *announced;
    endpoint->pair_state = MCA_BTL_FASTSM_PAIR_OFFERED;
}

bool mca_btl_fastsm_endpoint_seek(mca_btl_fastsm_endpoint_t *endpoint, bool give_up)
{
    const mca_btl_fastsm_modex_t *modex = &endpoint->sought->modex;
    const char *why;
    const bool mapped = OPAL_SUCCESS == mca_btl_fastsm_segment_attach(modex, endpoint, &why);

    if (!mapped && ENOENT == errno && !give_up) {
        return false;
    }
    if (!mapped) {
        mca_btl_fastsm_unusable(modex, why, errno);
    }
    free(endpoint->sought);
    endpoint->sought = NULL;
    begin_pair(endpoint, mapped);
    return true;
}

/* It has been removed and comes back, and the peer counts on what we agreed upon. */
static mca_btl_fastsm_endpoint_t *meet_again(mca_btl_fastsm_endpoint_t *endpoint, opal_proc_t *proc,
                                             const mca_btl_fastsm_modex_t *modex)
{
    const char *why;

    if (OPAL_SUCCESS != mca_btl_fastsm_segment_attach(modex, endpoint, &why)) {
        mca_btl_fastsm_unusable(modex, why, errno);
        mca_btl_fastsm_fatal(proc, fastsm_lost);
    }
    endpoint->proc = proc;
    find_their_word(endpoint);
    return endpoint;
}

mca_btl_fastsm_endpoint_t *mca_btl_fastsm_endpoint_meet(opal_proc_t *proc,
                                                        const mca_btl_fastsm_announced_t *announced)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_endpoint_t *endpoint = local_peer(announced);
    const mca_btl_fastsm_modex_t *modex = &announced->modex;
    const char *why;
    bool mapped;

    if (NULL == endpoint || endpoint->connected) {
        return endpoint;
    }
    if (MCA_BTL_FASTSM_PAIR_AGREED == endpoint->pair_state) {
        return meet_again(endpoint, proc, modex);
    }
    endpoint->by_name = MCA_BTL_FASTSM_ROUTE_NAME == announced->route;
    mca_btl_fastsm_endpoint_describe(endpoint, proc, modex);
    mca_btl_fastsm_pair_init(
        endpoint, modex,
        (_Atomic uint32_t *) (component->base
                              + mca_btl_fastsm_layout_pair(&component->layout, endpoint->index)));

    mapped = OPAL_SUCCESS == mca_btl_fastsm_segment_attach(modex, endpoint, &why);
    if (!mapped && ENOENT == errno && endpoint->by_name) {
        begin_to_seek(endpoint, announced);
        return endpoint;
    }
    if (!mapped) {
        mca_btl_fastsm_unusable(modex, why, errno);
    }
    begin_pair(endpoint, mapped);
    return mapped ? endpoint : NULL;
}

bool mca_btl_fastsm_endpoint_settle(mca_btl_fastsm_endpoint_t *endpoint)
{
    if (endpoint->connected) {
        return true;
    }
    if (MCA_BTL_FASTSM_PAIR_AGREED != endpoint->pair_state) {
        opal_output_verbose(1, opal_btl_base_framework.framework_output,
                            "btl:fastsm: local process %u (pid %d) cannot reach us, or does not answer",
                            endpoint->index, (int) endpoint->pid);
        mca_btl_fastsm_segment_detach(endpoint);
        return false;
    }

    /* a peer that was removed and comes back goes on where its FIFO stopped; a FIFO that was never used has
     * no room until its pages are there */
    endpoint->connected = true;
    if (0 == endpoint->inline_bytes) {
        endpoint->inline_bytes = mca_btl_fastsm_inline_bytes(endpoint->layout.params.fifo_depth);
    }
    mca_btl_fastsm_move_init(endpoint);
    mca_btl_fastsm_move_resume(endpoint);
    if (!endpoint->opened) {
        endpoint->out.shared_read_pos = &mca_btl_fastsm_no_room;
    }
    endpoint->out.sendi_bytes = (uint32_t) endpoint->inline_bytes;
    mca_btl_fastsm_get_begin(endpoint);
    mca_btl_fastsm_list_peer(endpoint);
    return true;
}

void mca_btl_fastsm_endpoint_disconnect(mca_btl_fastsm_endpoint_t *endpoint)
{
    if (!endpoint->connected) {
        return;
    }
    mca_btl_fastsm_deactivate(endpoint);

    mca_btl_fastsm_lock(endpoint);
    endpoint->connected = false;
    mca_btl_fastsm_abandon(&endpoint->pending, false);
    mca_btl_fastsm_abandon(&endpoint->in_flight, false);
    endpoint->out.n_pending = endpoint->n_in_flight = endpoint->n_waiting = 0;
    mca_btl_fastsm_get_end(endpoint);
    mca_btl_fastsm_segment_detach(endpoint);
    mca_btl_fastsm_unlock(endpoint);

    mca_btl_fastsm_unlist_peer(endpoint);
}

void mca_btl_fastsm_pair_init(mca_btl_fastsm_endpoint_t *endpoint, const mca_btl_fastsm_modex_t *modex,
                              _Atomic uint32_t *own)
{
    const mca_btl_fastsm_modex_t *me = &mca_btl_fastsm_component.me;

    endpoint->pair.own = own;
    endpoint->pair.other = NULL;
    endpoint->pair.tag = fastsm_pair_tag(me->nonce, modex->nonce);
    endpoint->pair.host = 0 > memcmp(me->nonce, modex->nonce, sizeof(me->nonce));
}
