/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The beginning of Open MPI's endpoint of btl/tcp, whose header is not installed.
 *
 * btl/tcp keeps to itself that the kernel has given up a connection.  Which socket leads to which
 * process, and whether something waits for a connection, is in its endpoint only.  The members below
 * are in this order from 4.0 to 6.0; as nothing vouches for that, fastpath_tcp_endpoint() compares
 * what it can compare before anybody reads a socket's number there.
 */
#ifndef FASTPATH_TCP_ENDPOINT_H
#define FASTPATH_TCP_ENDPOINT_H

#include "opal_config.h"

#include <stdbool.h>
#include <string.h>

#include "opal/class/opal_list.h"
#include "opal/mca/btl/btl.h"
#include "opal/util/proc.h"

/** The beginning of a mca_btl_tcp_proc_t. */
typedef struct {
    opal_list_item_t super;
    opal_proc_t *proc_opal;
} fastpath_tcp_proc_t;

/** The beginning of a mca_btl_tcp_endpoint_t.  Others change it: read it, never keep what was read. */
typedef struct {
    opal_list_item_t super;
    mca_btl_base_module_t *endpoint_btl;
    fastpath_tcp_proc_t *endpoint_proc;
    void *endpoint_addr;
    int endpoint_sd; /**< the connection's socket, -1 when there is none */
    int endpoint_sd_next;
    char *endpoint_cache;
    char *endpoint_cache_pos;
    size_t endpoint_cache_length;
    void *endpoint_send_frag; /**< being sent, or NULL */
    void *endpoint_recv_frag;
    int endpoint_state;
    uint32_t endpoint_retries;
    opal_list_t endpoint_frags; /**< waiting to be sent */
} fastpath_tcp_endpoint_t;

/** 1 if btl/tcp tells its other end, as the last thing over a connection, that it closes it in MPI_Finalize.
 */
#if 5 <= OMPI_MAJOR_VERSION
#    define FASTPATH_TCP_SAYS_GOODBYE 1
#else
#    define FASTPATH_TCP_SAYS_GOODBYE 0
#endif

/** @return whether the other end has said so, as opposed to a connection that ended without a word */
static inline bool fastpath_tcp_has_parted(const volatile fastpath_tcp_endpoint_t *tcp)
{
    enum { CLOSED = 2, FAILED = 3 }; /* of mca_btl_tcp_state_t; without a word it comes to FAILED */

    return FASTPATH_TCP_SAYS_GOODBYE && 0 > tcp->endpoint_sd && CLOSED == tcp->endpoint_state;
}

/**
 * Look at an endpoint as one of btl/tcp's.
 *
 * @param btl       the module that the endpoint belongs to
 * @param endpoint  opaque
 * @param proc      the process that it leads to
 * @return the endpoint, or NULL if the module is not btl/tcp's or its structures are not those above
 */
static inline const volatile fastpath_tcp_endpoint_t *
fastpath_tcp_endpoint(const mca_btl_base_module_t *btl, const struct mca_btl_base_endpoint_t *endpoint,
                      const opal_proc_t *proc)
{
    const fastpath_tcp_endpoint_t *tcp = (const fastpath_tcp_endpoint_t *) endpoint;
    const opal_class_t *class;

    if (NULL == endpoint || 0 != strcmp("tcp", btl->btl_component->btl_version.mca_component_name)) {
        return NULL;
    }
    class = tcp->super.super.obj_class;
    if (0 != strcmp("mca_btl_tcp_endpoint_t", class->cls_name) || class->cls_sizeof < sizeof(*tcp)
        || btl != tcp->endpoint_btl || OBJ_CLASS(opal_list_t) != tcp->endpoint_frags.super.obj_class) {
        return NULL;
    }
    class = tcp->endpoint_proc->super.super.obj_class;
    if (0 != strcmp("mca_btl_tcp_proc_t", class->cls_name) || proc != tcp->endpoint_proc->proc_opal) {
        return NULL;
    }
    return tcp;
}

#endif /* FASTPATH_TCP_ENDPOINT_H */
