/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/base/base.h"

#include "pml_fastpath_end.h"
#include "pml_fastpath_jobs.h"

/* Sockets of this process that listen; with more than these, links are not watched. */
#define LISTENERS 16

static struct {
    mca_pml_fastpath_end_t listening[LISTENERS];
    size_t num_listening;
    mca_pml_fastpath_end_t ends[MCA_PML_FASTPATH_ENDS];
    size_t num_ends;
    bool confirmed; /* they are btl/tcp's */
} own;

static const mca_base_component_t *tcp_key(void)
{
    mca_btl_base_selected_module_t *selected;

    OPAL_LIST_FOREACH(selected, &mca_btl_base_modules_initialized, mca_btl_base_selected_module_t)
    {
        if (mca_pml_fastpath_is_tcp(selected->btl_module)) {
            return &selected->btl_component->btl_version;
        }
    }
    return NULL;
}

static void add_listener(int fd, uint64_t inode, void *arg)
{
    mca_pml_fastpath_socket_t socket;

    (void) inode;
    (void) arg;
    mca_pml_fastpath_socket_look(fd, &socket);
    if (MCA_PML_FASTPATH_SOCKET_LISTENING == socket.kind && own.num_listening++ < LISTENERS) {
        own.listening[own.num_listening - 1] = socket.local;
    }
}

/* A socket that is bound to any address is reached at each one of its family. */
static void add_ends(const mca_pml_fastpath_end_t *address)
{
    for (size_t i = 0; i < own.num_listening && own.num_ends < MCA_PML_FASTPATH_ENDS; ++i) {
        mca_pml_fastpath_end_t end = *address;

        end.port = own.listening[i].port;
        if (mca_pml_fastpath_end_accepts(&own.listening[i], &end)) {
            own.ends[own.num_ends++] = end;
        }
    }
}

size_t mca_pml_fastpath_ends_find(const mca_pml_fastpath_end_t **ends)
{
    struct ifaddrs *addresses = NULL;

    memset(&own, 0, sizeof(own));
    *ends = own.ends;
    if (NULL == tcp_key() || !mca_pml_fastpath_sockets_each(add_listener, NULL)
        || own.num_listening > LISTENERS || 0 != getifaddrs(&addresses)) {
        own.num_listening = 0;
        return 0;
    }
    for (const struct ifaddrs *address = addresses; NULL != address; address = address->ifa_next) {
        mca_pml_fastpath_end_t end;

        if (NULL != address->ifa_addr && 0 != (IFF_UP & address->ifa_flags)
            && mca_pml_fastpath_end_set(&end, address->ifa_addr)) {
            add_ends(&end);
        }
    }
    freeifaddrs(addresses);
    return own.num_ends;
}

static size_t confirm(const opal_process_name_t *name, mca_pml_fastpath_end_t *ends, size_t count)
{
    size_t size;
    void *data;

    if (0 == count || NULL == tcp_key()
        || OPAL_SUCCESS != fastpath_modex_recv(tcp_key(), name, &data, &size)) {
        return 0;
    }
    count = mca_pml_fastpath_ends_confirm(ends, count, data, size);
    free(data);
    return count;
}

static void confirm_own(void)
{
    if (!own.confirmed) {
        own.confirmed = true;
        own.num_ends = confirm(&opal_proc_local_get()->proc_name, own.ends, own.num_ends);
    }
}

size_t mca_pml_fastpath_ends_of(const opal_process_name_t *name, mca_pml_fastpath_end_t **ends)
{
    size_t count = mca_pml_fastpath_jobs_ends(name, ends);

    confirm_own();
    count = confirm(name, *ends, count);
    return mca_pml_fastpath_ends_select(*ends, count, own.ends, own.num_ends);
}

bool mca_pml_fastpath_ends_any(void)
{
    confirm_own();
    return 0 < own.num_ends;
}

bool mca_pml_fastpath_ends_accept(const mca_pml_fastpath_end_t *local)
{
    confirm_own();
    return mca_pml_fastpath_ends_have(own.ends, own.num_ends, local, mca_pml_fastpath_end_same);
}
