/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/common/fastpath/common_fastpath_clock.h"

#include "pml_fastpath_jobs.h"
#include "pml_fastpath_neighbor.h"

typedef struct {
    mca_pml_fastpath_peer_t *peer;
    cpu_set_t cores; /* once it has been looked up */
} neighbor_t;

/* Protected by mca_pml_fastpath.lock. First the neighbors, then the peers that are still to be looked up. */
static struct {
    neighbor_t *all;
    size_t known; /* that many are neighbors */
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
static void append(mca_pml_fastpath_peer_t *peer)
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
    neighbors.all[neighbors.count++].peer = peer;
}

static void remove_at(size_t at)
{
    if (at < neighbors.known) {
        neighbors.all[at] = neighbors.all[--neighbors.known];
        at = neighbors.known;
    }
    neighbors.all[at] = neighbors.all[--neighbors.count];
}

void mca_pml_fastpath_neighbor_add(mca_pml_fastpath_peer_t *peer)
{
    if (!is_counted(peer)) {
        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        append(peer);
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    }
}

void mca_pml_fastpath_neighbor_remove(const mca_pml_fastpath_peer_t *peer)
{
    size_t at;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    at = find_neighbor(peer);
    if (at < neighbors.count) {
        remove_at(at);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

/* @return a peer that is still to be looked up, and stays until it is released; NULL: there is none */
static mca_pml_fastpath_peer_t *next_unknown(void)
{
    mca_pml_fastpath_peer_t *peer = NULL;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    if (neighbors.known < neighbors.count) {
        peer = neighbors.all[neighbors.known].peer;
        OBJ_RETAIN(peer);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return peer;
}

/* A peer has been looked up, and may have been removed meanwhile. @param cores  NULL: it is no neighbor */
static void looked_up(mca_pml_fastpath_peer_t *peer, const cpu_set_t *cores)
{
    size_t at;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    at = find_neighbor(peer);
    if (at < neighbors.count && NULL == cores) {
        remove_at(at);
    } else if (at < neighbors.count) {
        neighbors.all[at] = neighbors.all[neighbors.known];
        neighbors.all[neighbors.known++] = (neighbor_t){.peer = peer, .cores = *cores};
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

bool mca_pml_fastpath_neighbor_find(uint64_t until)
{
    mca_pml_fastpath_peer_t *peer;
    bool found = false;

    while (!found && mca_common_fastpath_nanoseconds() < until && NULL != (peer = next_unknown())) {
        mca_pml_fastpath_place_t place;

        found = mca_pml_fastpath_jobs_place(&peer->proc->super.proc_name, &place) && place_is_here(&place);
        looked_up(peer, found ? &place.cores : NULL);
        OBJ_RELEASE(peer);
    }
    return found;
}

size_t mca_pml_fastpath_neighbors(void)
{
    return neighbors.known; /* any of late */
}

bool mca_pml_fastpath_neighbor_cores(size_t index, cpu_set_t *cores)
{
    bool there;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    there = index < neighbors.known && !neighbors.all[index].peer->left && !neighbors.all[index].peer->failed;
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
