/* -*- Mode: C; c-basic-offset:4 ; indent-tabs-mode:nil -*- */
/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Reading a peer's memory.  Whether the kernel permits it is found out by
 * trying, without a word: where it does not, btl_get fails and the caller
 * asks the sender to stream the data.
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "opal_config.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "opal/util/output.h"

#include "btl_fastsm.h"

/* The kernel moves at most some 2 GiB at once and may stop early anywhere. */
static bool read_all(pid_t pid, void *local, uint64_t remote, size_t size)
{
    size_t done = 0;

    while (done < size) {
        struct iovec to = {.iov_base = (char *) local + done, .iov_len = size - done};
        struct iovec from = {.iov_base = (void *) (uintptr_t) (remote + done), .iov_len = size - done};
        ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

        if (0 < got) {
            done += (size_t) got;
        } else if (0 == got || EINTR != errno) {
            return false;
        }
    }
    return true;
}

bool mca_btl_fastsm_get_possible(void)
{
    const mca_btl_fastsm_modex_t *me = &mca_btl_fastsm_component.me;
    uint8_t nonce[MCA_BTL_FASTSM_NONCE_SIZE];

    /* Yama lets only descendants read us unless we say otherwise; without Yama this fails and
     * does not matter.  Peers of this node are who could want to. */
#if defined(PR_SET_PTRACER)
    (void) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif

    return read_all(getpid(), nonce, me->nonce_address, sizeof(nonce))
           && 0 == memcmp(nonce, me->nonce, sizeof(nonce));
}

/* Reads what only this very peer can have where it says it is. */
static bool probe(mca_btl_fastsm_endpoint_t *endpoint)
{
    uint8_t nonce[MCA_BTL_FASTSM_NONCE_SIZE];

    if (read_all(endpoint->pid, nonce, endpoint->nonce_address, sizeof(nonce))
        && 0 == memcmp(nonce, endpoint->nonce, sizeof(nonce))) {
        endpoint->get_state = MCA_BTL_FASTSM_GET_WORKS;
        return true;
    }
    endpoint->get_state = MCA_BTL_FASTSM_GET_REFUSED;
    opal_output_verbose(1, opal_btl_base_framework.framework_output,
                        "btl:fastsm: memory of local process %u is not readable, large messages "
                        "are streamed",
                        endpoint->index);
    return false;
}

/**
 * Reads `size` bytes of the peer's memory.  Done when it returns; cbfunc has
 * been called then.
 *
 * @return  OPAL_SUCCESS; OPAL_ERROR when this peer's memory cannot be read, and
 *          cbfunc is not called
 */
int mca_btl_fastsm_get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint, void *local_address,
                       uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
                       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
                       mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    (void) remote_handle;
    (void) flags;
    (void) order;

    if (OPAL_UNLIKELY(MCA_BTL_FASTSM_GET_WORKS != endpoint->get_state)
        && (MCA_BTL_FASTSM_GET_REFUSED == endpoint->get_state || !probe(endpoint))) {
        return OPAL_ERROR;
    }
    if (OPAL_UNLIKELY(!read_all(endpoint->pid, local_address, remote_address, size))) {
        return OPAL_ERROR;
    }
    cbfunc(btl, endpoint, local_address, local_handle, cbcontext, cbdata, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}
