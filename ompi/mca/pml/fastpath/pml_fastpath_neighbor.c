/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "pml_fastpath_jobs.h"
#include "pml_fastpath_neighbor.h"

typedef struct {
    const mca_pml_fastpath_peer_t *peer;
    cpu_set_t cores;
} neighbor_t;

/* Protected by mca_pml_fastpath.lock. */
static struct {
    neighbor_t *all;
    size_t count;
    size_t room;
} neighbors;

/* Whether it is this process, or btl/fastsm counts it. */
static bool is_counted(const mca_pml_fastpath_peer_t *peer)
{
    return ompi_proc_local() == peer->proc || (NULL != peer->ext && peer->ext->has_pid(peer->btl_endpoint));
}

/* Whether that is on this machine, as far as the kernel says which one it is. */
static bool place_is_here(const mca_pml_fastpath_place_t *place)
{
    static const uint8_t unknown[MCA_COMMON_FASTPATH_BOOT_ID_SIZE];

    return 0 != memcmp(unknown, place->boot_id, sizeof(unknown))
           && 0 == memcmp(mca_pml_fastpath_place_own()->boot_id, place->boot_id, sizeof(place->boot_id));
}

/* @return where it is, or how many there are */
static size_t find_neighbor(const mca_pml_fastpath_peer_t *peer)
{
    size_t i = 0;

    while (i < neighbors.count && peer != neighbors.all[i].peer) {
        ++i;
    }
    return i;
}

/* Two threads may have connected it. One for whom there is no memory is not counted. */
static void append(const mca_pml_fastpath_peer_t *peer, const cpu_set_t *cores)
{
    if (find_neighbor(peer) < neighbors.count) {
        return;
    }
    if (neighbors.count == neighbors.room) {
        const size_t room = 0 == neighbors.room ? 8 : 2 * neighbors.room;
        neighbor_t *all = realloc(neighbors.all, room * sizeof(*all));

        if (NULL == all) {
            return;
        }
        neighbors.all = all;
        neighbors.room = room;
    }
    neighbors.all[neighbors.count++] = (neighbor_t){.peer = peer, .cores = *cores};
}

void mca_pml_fastpath_neighbor_add(const mca_pml_fastpath_peer_t *peer)
{
    mca_pml_fastpath_place_t place;

    if (!is_counted(peer) && mca_pml_fastpath_jobs_place(&peer->proc->super.proc_name, &place)
        && place_is_here(&place)) {
        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        append(peer, &place.cores);
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    }
}

void mca_pml_fastpath_neighbor_remove(const mca_pml_fastpath_peer_t *peer)
{
    size_t at;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    at = find_neighbor(peer);
    if (at < neighbors.count) {
        neighbors.all[at] = neighbors.all[--neighbors.count];
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

size_t mca_pml_fastpath_neighbors(void)
{
    return neighbors.count; /* any of late */
}

bool mca_pml_fastpath_neighbor_cores(size_t index, cpu_set_t *cores)
{
    bool there;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    there = index < neighbors.count && !neighbors.all[index].peer->left && !neighbors.all[index].peer->failed;
    if (there) {
        *cores = neighbors.all[index].cores;
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return there;
}

void mca_pml_fastpath_neighbors_fini(void)
{
    free(neighbors.all);
    memset(&neighbors, 0, sizeof(neighbors));
}
