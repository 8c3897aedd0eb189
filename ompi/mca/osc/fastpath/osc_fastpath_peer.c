/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include "osc_fastpath_node.h"
#include "osc_fastpath_packet.h"
#include "osc_fastpath_peer.h"
#include "osc_fastpath_place.h"
#include "osc_fastpath_types.h"

static void osc_peer_construct(mca_osc_fastpath_peer_t *peer)
{
    memset((char *) peer + sizeof(peer->super), 0, sizeof(*peer) - sizeof(peer->super));
    OBJ_CONSTRUCT(&peer->target.parked, opal_list_t);
    OBJ_CONSTRUCT(&peer->target.wholes, opal_list_t);
    OBJ_CONSTRUCT(&peer->target.blocked_item, opal_list_item_t);
}

static void osc_peer_destruct(mca_osc_fastpath_peer_t *peer)
{
    mca_osc_fastpath_placing_t *placing;
    opal_list_item_t *item;

    while (NULL != (item = opal_list_remove_first(&peer->target.parked))) {
        OBJ_DESTRUCT(item);
        free(item);
    }
    while (NULL != (placing = mca_osc_fastpath_placed(peer))) {
        free(placing);
    }
    if (NULL != peer->origin.packet) {
        mca_osc_fastpath_packet_drop(peer->origin.packet);
    }
    free(peer->regions.list);
    mca_osc_fastpath_types_free(peer->origin.types);
    mca_osc_fastpath_types_free(peer->target.types);
    OBJ_DESTRUCT(&peer->target.blocked_item);
    OPAL_LIST_DESTRUCT(&peer->target.wholes);
    OBJ_DESTRUCT(&peer->target.parked);
}

static void whole_destruct(mca_osc_fastpath_whole_t *whole)
{
    free(whole->data);
}

OBJ_CLASS_INSTANCE(mca_osc_fastpath_whole_t, opal_list_item_t, NULL, whole_destruct);

/* How the peer is reached, which never changes. */
static void choose_access(mca_osc_fastpath_peer_t *peer)
{
    const mca_osc_fastpath_module_t *module = peer->module;
    const mca_osc_fastpath_node_t *node = &module->node;
    const int index = mca_osc_fastpath_node_index(node, peer->rank);

    peer->access = MCA_OSC_FASTPATH_MESSAGE;
    if (peer->rank == module->rank) {
        peer->access = MCA_OSC_FASTPATH_DIRECT;
        peer->node_index = node->index;
        peer->base = module->base;
        peer->size = module->bytes;
        peer->disp_unit = module->disp_unit;
        peer->member = module->member;
    } else if (0 <= index && mca_osc_fastpath_node_reaches(node)) {
        peer->access = node->direct ? MCA_OSC_FASTPATH_DIRECT : MCA_OSC_FASTPATH_COPY;
        peer->node_index = index;
        peer->pid = node->places[index].pid;
        peer->base = node->direct ? mca_osc_fastpath_node_memory(module, index)
                                  : (void *) (uintptr_t) node->places[index].address;
        peer->size = (size_t) node->places[index].bytes;
        peer->disp_unit = (ptrdiff_t) node->places[index].disp_unit;
        peer->member = &node->members[index];
    }
}

OBJ_CLASS_INSTANCE(mca_osc_fastpath_peer_t, opal_list_item_t, osc_peer_construct, osc_peer_destruct);

void mca_osc_fastpath_peer_describe(mca_osc_fastpath_peer_t *peer)
{
    const mca_osc_fastpath_module_t *module = peer->module;

    if (module->sizes_known && MCA_OSC_FASTPATH_MESSAGE == peer->access) {
        peer->size = module->uniform ? module->bytes : module->extents[peer->rank].bytes;
        peer->disp_unit =
            module->uniform ? module->disp_unit : (ptrdiff_t) module->extents[peer->rank].disp_unit;
    }
}

mca_osc_fastpath_peer_t *mca_osc_fastpath_peer_make(mca_osc_fastpath_module_t *module, int rank)
{
    mca_osc_fastpath_peer_t *peer = OBJ_NEW(mca_osc_fastpath_peer_t);

    if (NULL == peer) {
        return NULL;
    }
    peer->module = module;
    peer->rank = rank;
    choose_access(peer);
    mca_osc_fastpath_peer_describe(peer);
    atomic_thread_fence(memory_order_release); /* who finds it without the lock finds it filled in */
    module->peers[rank] = peer;
    return peer;
}
