/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Reading a peer's memory, and writing there: with the module that Open MPI has
 * selected for reading (framework smsc, since 5.0), where there is one and it
 * leads to the peer; else ourselves.  Whether the kernel permits it is found
 * out by trying, without a word, when both have agreed to talk; each tells the
 * other whether it can read, because that may differ in the two directions.
 * Where it cannot, messages go through the segment.  And what a process says it
 * waits for, so that others may ask it to write.
 */

#include "opal_config.h"

#include <errno.h>
#include <string.h>

#include "opal/mca/common/fastpath/common_fastpath_process.h"
#include "opal/util/output.h"

#include "btl_fastsm.h"
#include "btl_fastsm_get.h"

static bool read_all(pid_t pid, void *local, uint64_t remote, size_t size)
{
    return mca_common_fastpath_process_copy(pid, false, local, remote, size);
}

static mca_btl_fastsm_ring_ctl_t *ctl_of(char *base, const mca_btl_fastsm_layout_t *layout)
{
    return (mca_btl_fastsm_ring_ctl_t *) (base + layout->ring_ctl);
}

static mca_btl_fastsm_ring_ctl_t *own_ctl(void)
{
    return ctl_of(mca_btl_fastsm_component.base, &mca_btl_fastsm_component.layout);
}

/* Peers see it. They only choose by it what they ask for, so it needs no order with anything. */
static void say_copying(bool copying)
{
    atomic_store_explicit(&own_ctl()->copies, copying, memory_order_relaxed);
}

static mca_btl_base_registration_handle_t *register_mem(mca_btl_base_module_t *btl,
                                                        mca_btl_base_endpoint_t *endpoint, void *base,
                                                        size_t size, uint32_t flags)
{
    (void) btl;
    (void) endpoint;
    (void) flags;
    return (mca_btl_base_registration_handle_t *) fastpath_smsc_register(base, size);
}

static int deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle)
{
    (void) btl;
    fastpath_smsc_deregister(handle);
    return OPAL_SUCCESS;
}

/* The module says what is wanted, and not what the kernel will permit: other PMLs take its word for all
 * pairs, on both sides, and end the job where one side offers what the other cannot take. */
void mca_btl_fastsm_get_init(mca_btl_base_module_t *btl)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    if (component->single_copy) {
        mca_common_fastpath_process_permit();
    }
    component->smsc = component->smsc && component->single_copy && fastpath_smsc();
    if (!component->single_copy) {
        btl->btl_flags &= ~MCA_BTL_FLAGS_GET;
        btl->btl_get = NULL;
    } else if (component->smsc && 0 < fastpath_smsc_handle_size()) {
        btl->btl_registration_handle_size = fastpath_smsc_handle_size();
        btl->btl_register_mem = register_mem;
        btl->btl_deregister_mem = deregister_mem;
        btl->btl_get_local_registration_threshold = SIZE_MAX; /* only what is read has to be registered */
    }
}

static void say_how_copied(const mca_btl_fastsm_endpoint_t *endpoint, const char *how)
{
    opal_output_verbose(10, opal_btl_base_framework.framework_output,
                        "btl:fastsm: memory of local process %u is read %s", endpoint->index, how);
}

/* Finds the host's way to a peer. Where memory can be read as it is, it has to lead to this very peer. */
static bool probe_smsc(mca_btl_fastsm_endpoint_t *endpoint)
{
    uint8_t nonce[MCA_BTL_FASTSM_NONCE_SIZE];

    endpoint->smsc = fastpath_smsc_connect(endpoint->proc);
    if (NULL == endpoint->smsc) {
        return false;
    }
    if (0 == fastpath_smsc_handle_size()
        && (!fastpath_smsc_read(endpoint->smsc, nonce, endpoint->nonce_address, sizeof(nonce), NULL)
            || 0 != memcmp(nonce, endpoint->nonce, sizeof(nonce)))) {
        return false; /* the endpoint stays until the peer goes: another thread may be using it */
    }
    endpoint->get_state = MCA_BTL_FASTSM_GET_SMSC;
    say_how_copied(endpoint, "by the module of smsc");
    return true;
}

/* Reads what only this very peer can have where it says it is. */
static bool is_peer(mca_btl_fastsm_endpoint_t *endpoint)
{
    uint8_t nonce[MCA_BTL_FASTSM_NONCE_SIZE];

    errno = ESRCH;
    if (endpoint->other_pids) {
        return false; /* nobody here, or somebody else, has its number */
    }
    errno = 0;
    if (read_all(endpoint->pid, nonce, endpoint->nonce_address, sizeof(nonce))) {
        errno = 0;
        return 0 == memcmp(nonce, endpoint->nonce, sizeof(nonce));
    }
    return false;
}

static bool probe_own(mca_btl_fastsm_endpoint_t *endpoint)
{
    if (is_peer(endpoint)) {
        endpoint->get_state = MCA_BTL_FASTSM_GET_WORKS;
        say_how_copied(endpoint, "directly");
        return true;
    }
    endpoint->get_error = errno;
    endpoint->get_state = MCA_BTL_FASTSM_GET_REFUSED;
    opal_output_verbose(1, opal_btl_base_framework.framework_output,
                        "btl:fastsm: memory of local process %u is not readable, large messages "
                        "are streamed",
                        endpoint->index);
    return false;
}

/* Finds out how, once. */
static bool probe_copies(mca_btl_fastsm_endpoint_t *endpoint)
{
    bool found = true;

    OPAL_THREAD_LOCK(&mca_btl_fastsm_component.lock);
    if (MCA_BTL_FASTSM_GET_UNKNOWN == endpoint->get_state) {
        found = (mca_btl_fastsm_component.smsc && probe_smsc(endpoint)) || probe_own(endpoint);
    }
    OPAL_THREAD_UNLOCK(&mca_btl_fastsm_component.lock);
    return found;
}

/* The host's way has failed: this peer's memory is read directly from now on, where that works. */
static bool give_up_smsc(mca_btl_fastsm_endpoint_t *endpoint)
{
    bool found;

    OPAL_THREAD_LOCK(&mca_btl_fastsm_component.lock);
    found = MCA_BTL_FASTSM_GET_SMSC == endpoint->get_state ? probe_own(endpoint)
                                                           : MCA_BTL_FASTSM_GET_WORKS == endpoint->get_state;
    fastsm_pair_tell(&endpoint->pair, found);
    OPAL_THREAD_UNLOCK(&mca_btl_fastsm_component.lock);
    return found;
}

void mca_btl_fastsm_get_end(mca_btl_fastsm_endpoint_t *endpoint)
{
    if (NULL != endpoint->smsc) {
        fastpath_smsc_disconnect(endpoint->smsc);
        endpoint->smsc = NULL;
    }
    endpoint->get_state = MCA_BTL_FASTSM_GET_UNKNOWN;
    endpoint->write_state = MCA_BTL_FASTSM_GET_UNKNOWN;
}

/* Read a part of a peer's memory, by whichever way leads there. */
static bool read_peer(mca_btl_fastsm_endpoint_t *endpoint, void *local, uint64_t remote,
                      mca_btl_base_registration_handle_t *handle, size_t size)
{
    if (MCA_BTL_FASTSM_GET_SMSC == endpoint->get_state) {
        if (OPAL_LIKELY(fastpath_smsc_read(endpoint->smsc, local, remote, size, handle))) {
            return true;
        }
        if (!give_up_smsc(endpoint)) {
            return false;
        }
    }
    return read_all(endpoint->pid, local, remote, size);
}

int mca_btl_fastsm_get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint, void *local_address,
                       uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
                       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
                       mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    bool read;

    (void) flags;
    (void) order;

    if (OPAL_UNLIKELY(MCA_BTL_FASTSM_GET_UNKNOWN == endpoint->get_state) && !probe_copies(endpoint)) {
        return OPAL_ERROR;
    }
    if (MCA_BTL_FASTSM_GET_REFUSED == endpoint->get_state) {
        return OPAL_ERROR;
    }
    say_copying(true);
    read = read_peer(endpoint, local_address, remote_address, remote_handle, size);
    say_copying(false);
    if (OPAL_UNLIKELY(!read)) {
        return OPAL_ERROR;
    }
    cbfunc(btl, endpoint, local_address, local_handle, cbcontext, cbdata, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}

/* Writes what is there.  Who may read a process's memory may not write there for that reason alone: calls are
 * refused one by one. */
static void probe_write(mca_btl_fastsm_endpoint_t *endpoint)
{
    endpoint->write_state =
        is_peer(endpoint)
                && mca_common_fastpath_process_copy(endpoint->pid, true, endpoint->nonce,
                                                    endpoint->nonce_address, sizeof(endpoint->nonce))
            ? MCA_BTL_FASTSM_GET_WORKS
            : MCA_BTL_FASTSM_GET_REFUSED;
}

void mca_btl_fastsm_get_begin(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    if (!component->single_copy) {
        endpoint->get_state = endpoint->write_state = MCA_BTL_FASTSM_GET_REFUSED;
    } else if (MCA_BTL_FASTSM_GET_UNKNOWN == endpoint->get_state) {
        mca_btl_fastsm_count(probe_copies(endpoint) ? &component->peers_read : &component->peers_not_read);
        probe_write(endpoint);
        mca_btl_fastsm_count(MCA_BTL_FASTSM_GET_WORKS == endpoint->write_state
                                 ? &component->peers_written
                                 : &component->peers_not_written);
    }
    fastsm_pair_tell(&endpoint->pair, MCA_BTL_FASTSM_GET_REFUSED != endpoint->get_state);
}

bool mca_btl_fastsm_write(mca_btl_base_endpoint_t *endpoint, const void *local, uint64_t remote, size_t size)
{
    bool written;

    if (MCA_BTL_FASTSM_GET_WORKS != endpoint->write_state) {
        return false;
    }
    say_copying(true);
    written = mca_common_fastpath_process_copy(endpoint->pid, true, (void *) (uintptr_t) local, remote, size);
    say_copying(false);
    if (OPAL_UNLIKELY(!written)) {
        endpoint->write_state = MCA_BTL_FASTSM_GET_REFUSED;
    }
    return written;
}

void mca_btl_fastsm_copies(mca_btl_base_endpoint_t *endpoint, mca_btl_fastsm_copies_t *copies)
{
    copies->wanted = mca_btl_fastsm_component.single_copy;
    copies->reads =
        MCA_BTL_FASTSM_GET_WORKS == endpoint->get_state || MCA_BTL_FASTSM_GET_SMSC == endpoint->get_state;
    copies->smsc = MCA_BTL_FASTSM_GET_SMSC == endpoint->get_state;
    copies->writes = MCA_BTL_FASTSM_GET_WORKS == endpoint->write_state;
    copies->is_read = !fastsm_pair_refuses(&endpoint->pair);
    copies->error = endpoint->get_error;
}

void mca_btl_fastsm_await(mca_btl_base_module_t *btl, uint32_t place, uint64_t name)
{
    (void) btl;
    fastsm_store_awaited(&own_ctl()->awaited[place], name);
}

bool mca_btl_fastsm_await_end(mca_btl_base_module_t *btl, uint32_t place, uint64_t name)
{
    (void) btl;
    return name != fastsm_take_awaited(&own_ctl()->awaited[place]);
}

bool mca_btl_fastsm_claim(mca_btl_base_endpoint_t *endpoint, uint64_t name)
{
    mca_btl_fastsm_ring_ctl_t *ctl;

    if (OPAL_UNLIKELY(NULL == endpoint->base)) { /* a process of another job that has ended */
        return false;
    }
    ctl = ctl_of(endpoint->base, &endpoint->layout);
    for (uint32_t i = 0; 0 != name && i < MCA_BTL_FASTSM_AWAITED; ++i) {
        if (fastsm_claim_awaited(&ctl->awaited[i], name)) {
            return true;
        }
    }
    return false;
}

bool mca_btl_fastsm_is_copying(mca_btl_base_endpoint_t *endpoint)
{
    return NULL != endpoint->base
           && 0
                  != atomic_load_explicit(&ctl_of(endpoint->base, &endpoint->layout)->copies,
                                          memory_order_relaxed);
}
