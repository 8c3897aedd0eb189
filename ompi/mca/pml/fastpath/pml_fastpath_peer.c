/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <stdlib.h>

#include "opal/util/proc.h"

#include "pml_fastpath_neighbor.h"
#include "pml_fastpath_peer.h"

static void pml_peer_construct(mca_pml_fastpath_peer_t *peer)
{
    memset((char *) peer + sizeof(peer->super), 0, sizeof(*peer) - sizeof(peer->super));
    peer->credit = mca_pml_fastpath_credit_initial();
    OBJ_CONSTRUCT(&peer->watched, opal_list_t);
}

static void pml_peer_destruct(mca_pml_fastpath_peer_t *peer)
{
    OBJ_DESTRUCT(&peer->watched);
    free(peer->ends);
}

OBJ_CLASS_INSTANCE(mca_pml_fastpath_peer_t, opal_object_t, pml_peer_construct, pml_peer_destruct);

/* Who sends looks at queued first, and so comes to know. */
void mca_pml_fastpath_peer_mark_failed(mca_pml_fastpath_peer_t *peer)
{
    peer->failed = true;
    (void) OPAL_THREAD_ADD_FETCH32(&peer->queued, 1);
}

static inline uint64_t peer_key(const ompi_proc_t *proc)
{
    return (uint64_t) (uintptr_t) proc;
}

/* @param add  where there is none, make one */
static mca_pml_fastpath_peer_t *find_peer(ompi_proc_t *proc, bool add)
{
    mca_pml_fastpath_peer_t *peer = NULL;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    (void) opal_hash_table_get_value_uint64(&mca_pml_fastpath.peers, peer_key(proc), (void **) &peer);
    if (NULL == peer && add) {
        peer = OBJ_NEW(mca_pml_fastpath_peer_t);
        if (NULL != peer) {
            peer->proc = proc;
            peer->decides = 0 > opal_compare_proc(opal_proc_local_get()->proc_name, proc->super.proc_name);
            if (mca_pml_fastpath_ft() && fastpath_proc_failed(proc)) { /* already */
                mca_pml_fastpath_peer_mark_failed(peer);
            }
            if (OPAL_SUCCESS
                != opal_hash_table_set_value_uint64(&mca_pml_fastpath.peers, peer_key(proc), peer)) {
                OBJ_RELEASE(peer);
                peer = NULL;
            }
        }
    }
    if (NULL != peer) {
        OBJ_RETAIN(peer);
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return peer;
}

mca_pml_fastpath_peer_t *mca_pml_fastpath_peer_find(ompi_proc_t *proc)
{
    return find_peer(proc, false);
}

mca_pml_fastpath_peer_t *mca_pml_fastpath_peer_get(ompi_proc_t *proc)
{
    return find_peer(proc, true);
}

size_t mca_pml_fastpath_peers_get(mca_pml_fastpath_peer_t ***peers)
{
    mca_pml_fastpath_peer_t *peer;
    size_t count = 0;
    uint64_t key;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    *peers = malloc((1 + opal_hash_table_get_size(&mca_pml_fastpath.peers)) * sizeof(**peers));
    if (NULL != *peers) {
        OPAL_HASH_TABLE_FOREACH(key, uint64, peer, &mca_pml_fastpath.peers)
        {
            OBJ_RETAIN(peer);
            (*peers)[count++] = peer;
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return count;
}

bool mca_pml_fastpath_peer_connect(mca_pml_fastpath_peer_t *peer)
{
    mca_bml_base_endpoint_t *endpoint;

    if (mca_pml_fastpath_peer_has_failed(peer)) {
        return false;
    }
    endpoint = mca_bml_base_get_endpoint(peer->proc);
    if (peer->proc->super.proc_arch != opal_proc_local_get()->proc_arch) {
        char host[256];

        fastpath_proc_hostname(&peer->proc->super, host, sizeof(host));
        mca_pml_fastpath_abort("other architecture", host, "byte order or type sizes");
    }
    if (NULL == endpoint || 0 == mca_bml_base_btl_array_get_size(&endpoint->btl_eager)) {
        return false;
    }
    if (1 == mca_bml_base_btl_array_get_size(&endpoint->btl_eager)
        && 1 == mca_bml_base_btl_array_get_size(&endpoint->btl_send)) {
        const mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(&endpoint->btl_eager, 0);
        const mca_btl_fastsm_ext_t *ext = mca_btl_fastsm_ext(bml_btl->btl);

        peer->btl_endpoint = bml_btl->btl_endpoint;
        if (NULL != ext && mca_pml_fastpath.use_immediate_recv && mca_pml_fastpath.use_immediate) {
            peer->in = ext->receiver(bml_btl->btl_endpoint);
        }
        opal_atomic_wmb(); /* whoever sees ext sees these; MPI_Irecv asks for no more */
        peer->ext = ext;
    }
    mca_pml_fastpath_neighbor_add(peer);
    opal_atomic_wmb(); /* whoever sees the endpoint sees the rest */
    peer->endpoint = endpoint;
    return true;
}

void mca_pml_fastpath_peer_forget(ompi_proc_t *proc)
{
    mca_pml_fastpath_peer_t *peer = NULL;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    (void) opal_hash_table_get_value_uint64(&mca_pml_fastpath.peers, peer_key(proc), (void **) &peer);
    if (NULL != peer) {
        (void) opal_hash_table_remove_value_uint64(&mca_pml_fastpath.peers, peer_key(proc));
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    if (NULL != peer) {
        mca_pml_fastpath_neighbor_remove(peer);
        OBJ_RELEASE(peer);
    }
}
