/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Who needs a name for its segment.
 *
 * The kernel lets nobody open /proc/PID/fd/FD of a process in another user namespace, and in another PID
 * namespace the number is another process's, or nobody's.  Where such processes see the same directory, all
 * who see it find each other there by names.  Everybody else does without: a name may be left behind.
 *
 * Whether that is so follows from what all processes of the job on this node have published: their
 * namespaces, and which directory they see, by device and inode.  So all of them know it, each for all,
 * without asking.
 */

#include "opal_config.h"

#include <string.h>
#include <sys/random.h>

#include "opal/util/output.h"

#include "btl_fastsm.h"
#include "btl_fastsm_name.h"

void mca_btl_fastsm_name_prepare(mca_btl_fastsm_modex_t *me)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    if (component->segment->names->directory(&component->directory)
        && sizeof(me->name) == getrandom(&me->name, sizeof(me->name), 0)) {
        me->directory_device = component->directory.device;
        me->directory_inode = component->directory.inode;
    }
}

static bool same_machine(const mca_btl_fastsm_modex_t *a, const mca_btl_fastsm_modex_t *b)
{
    return a->version == b->version && 0 != a->usable && 0 != b->usable
           && 0 == memcmp(a->boot_id, b->boot_id, sizeof(a->boot_id));
}

static bool same_namespaces(const mca_btl_fastsm_modex_t *a, const mca_btl_fastsm_modex_t *b)
{
    return a->pid_ns == b->pid_ns && a->user_ns == b->user_ns;
}

bool mca_btl_fastsm_same_surroundings(const mca_btl_fastsm_modex_t *a, const mca_btl_fastsm_modex_t *b)
{
    return same_machine(a, b) && same_namespaces(a, b) && a->uid == b->uid;
}

static bool same_directory(const mca_btl_fastsm_modex_t *a, const mca_btl_fastsm_modex_t *b)
{
    return same_machine(a, b) && (0 != a->directory_device || 0 != a->directory_inode)
           && a->directory_device == b->directory_device && a->directory_inode == b->directory_inode;
}

/* User ids of two namespaces cannot be compared: whether one may open what the other has is found by trying.
 */
static bool same_user(const mca_btl_fastsm_modex_t *a, const mca_btl_fastsm_modex_t *b)
{
    return a->user_ns != b->user_ns || a->uid == b->uid;
}

static bool all_in_one(const mca_btl_fastsm_announced_t *all, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (0 != all[i].modex.usable && !same_namespaces(&mca_btl_fastsm_component.me, &all[i].modex)) {
            return false;
        }
    }
    return true;
}

/* Says whether `one` sees a directory together with somebody in other namespaces.  The same for all who see
 * it. */
static bool needs_name(const mca_btl_fastsm_modex_t *one, const mca_btl_fastsm_announced_t *all, size_t count)
{
    const mca_btl_fastsm_modex_t *me = &mca_btl_fastsm_component.me;

    if (same_directory(one, me) && !same_namespaces(one, me)) {
        return true;
    }
    for (size_t i = 0; i < count; ++i) {
        if (same_directory(one, &all[i].modex) && !same_namespaces(one, &all[i].modex)) {
            return true;
        }
    }
    return false;
}

static void give_segment_name(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_mpool_fastsm_module_t *segment = component->segment;

    component->has_name = true;
    mca_btl_fastsm_sleep_fini(); /* its thread writes to the segment, which is copied here */
    if (OPAL_SUCCESS
        != segment->names->give(segment, &component->directory, component->me.name, component->n_local)) {
        opal_output_verbose(1, opal_btl_base_framework.framework_output,
                            "btl:fastsm: no file with a name in %s: %s", component->directory.path,
                            segment->file.why);
    }
}

static mca_btl_fastsm_route_t route(bool we_are_named, const mca_btl_fastsm_announced_t *peer)
{
    const mca_btl_fastsm_modex_t *me = &mca_btl_fastsm_component.me;

    if (we_are_named || peer->named) {
        return same_directory(me, &peer->modex) && same_user(me, &peer->modex) ? MCA_BTL_FASTSM_ROUTE_NAME
                                                                               : MCA_BTL_FASTSM_ROUTE_NONE;
    }
    return mca_btl_fastsm_same_surroundings(me, &peer->modex) ? MCA_BTL_FASTSM_ROUTE_PROC
                                                              : MCA_BTL_FASTSM_ROUTE_NONE;
}

void mca_btl_fastsm_name_decide(mca_btl_fastsm_announced_t *all, size_t count)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const bool simple = all_in_one(all, count);
    const bool named = component->has_name || (!simple && needs_name(&component->me, all, count));
    uint32_t by_name = 0;

    for (size_t i = 0; i < count; ++i) {
        all[i].named = !simple && needs_name(&all[i].modex, all, count);
        all[i].route = route(named, &all[i]);
        by_name += MCA_BTL_FASTSM_ROUTE_NAME == all[i].route;
    }
    if (named && !component->has_name) {
        component->n_by_name = by_name;
        give_segment_name();
    }
}

/* A process that refuses us has come to its conclusion if we see that in its segment; one that we refuse may
 * still look for ours. */
static bool needs_no_more(const mca_btl_fastsm_endpoint_t *endpoint)
{
    return endpoint->by_name
           && (MCA_BTL_FASTSM_PAIR_AGREED == endpoint->pair_state
               || (MCA_BTL_FASTSM_PAIR_REFUSED == endpoint->pair_state && NULL != endpoint->base));
}

void mca_btl_fastsm_name_done(void)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    uint32_t done = 0;

    for (uint32_t i = 0; component->has_name && i < component->n_local; ++i) {
        done += needs_no_more(&component->peers[i]);
    }
    if (component->has_name && done == component->n_by_name) {
        component->segment->names->take(component->segment);
    }
}
