/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Dynamic peers, that is processes of other jobs on this node: who is reachable,
 * who is admitted to our ring, and when one is forgotten.
 *
 * Open MPI keeps what it knows of a process until MPI_Finalize, also after
 * MPI_Comm_disconnect and when the process has ended long ago.  So we look
 * ourselves, whenever a new dynamic peer comes, whose processes have ended, and
 * give back what they occupied.
 */

#include "opal_config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_memory.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"

#include "btl_fastsm.h"
#include "btl_fastsm_deep.h"
#include "btl_fastsm_defer.h"
#include "btl_fastsm_dynamic.h"
#include "btl_fastsm_dynamic_send.h"
#include "btl_fastsm_endpoint.h"
#include "btl_fastsm_get.h"
#include "btl_fastsm_move.h"
#include "btl_fastsm_name.h"
#include "btl_fastsm_peers.h"
#include "btl_fastsm_segment.h"
#include "btl_fastsm_send.h"

/** rounds of progress without success before a peer that takes nothing is suspected to have ended */
#define FASTSM_FLUSH_ROUNDS 100u

OBJ_CLASS_INSTANCE(mca_btl_fastsm_dynamic_t, opal_list_item_t, NULL, NULL);

int mca_btl_fastsm_dynamic_init(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    fastsm_ring_receiver_init(&component->ring, component->base, &component->layout);
    component->n_dynamic = component->dynamic_refused = 0;
    component->admitted =
        (mca_btl_fastsm_admitted_t *) calloc(component->dynamic_peers + 1, sizeof(*component->admitted));
    return NULL == component->admitted ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}

static mca_btl_fastsm_admission_t *our_admission(uint32_t index)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    return (mca_btl_fastsm_admission_t *) (component->base
                                           + mca_btl_fastsm_layout_admission(&component->layout, index));
}

static mca_btl_fastsm_ring_ctl_t *our_ctl(void)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    return (mca_btl_fastsm_ring_ctl_t *) (component->base + component->layout.ring_ctl);
}

/* N1.  Partner: N2.  All of a dynamic peer's record is there before another thread finds it. */
static void store_peer(uint32_t index, mca_btl_fastsm_dynamic_t *dynamic)
{
    atomic_store_explicit(&mca_btl_fastsm_component.admitted[index].peer, dynamic, memory_order_release);
}

mca_btl_fastsm_dynamic_t *mca_btl_fastsm_dynamic_find(uint32_t admission)
{
    const uint32_t index = fastsm_admission_index(admission);
    mca_btl_fastsm_dynamic_t *dynamic;

    if (OPAL_UNLIKELY(index >= mca_btl_fastsm_component.dynamic_peers)) {
        return NULL;
    }
    dynamic = mca_btl_fastsm_admitted(index);
    return OPAL_LIKELY(NULL != dynamic && dynamic->admission == admission) ? dynamic : NULL;
}

/* ---- admission ---- */

/* The lowest free index, so that a peer finds its admission soon; dynamic_peers when there is none. */
static uint32_t free_index(void)
{
    uint32_t index = 0;

    while (index < mca_btl_fastsm_component.dynamic_peers
           && (NULL != mca_btl_fastsm_admitted(index)
               || NULL != mca_btl_fastsm_component.admitted[index].refused)) {
        ++index;
    }
    return index;
}

static void count_dynamic(int32_t by)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OPAL_THREAD_LOCK(&component->lock);
    component->n_dynamic += (uint32_t) by;
    component->deferred += by;
    OPAL_THREAD_UNLOCK(&component->lock);
}

/* Who looks for the peer's nonce finds its entry from now on. */
static void announce_entry(mca_btl_fastsm_dynamic_t *dynamic, uint32_t index)
{
    mca_btl_fastsm_ring_ctl_t *ctl = our_ctl();

    if (index >= atomic_load_explicit(&ctl->admitted, memory_order_relaxed)) {
        atomic_store_explicit(&ctl->admitted, index + 1, memory_order_relaxed);
    }
    fastsm_admission_admit(our_admission(index), dynamic->endpoint.nonce, dynamic->admission);
}

static void next_dynamic_id(mca_btl_fastsm_dynamic_t *dynamic, uint32_t index)
{
    mca_btl_fastsm_admitted_t *entry = &mca_btl_fastsm_component.admitted[index];

    entry->generation = 65535 == entry->generation ? 1 : entry->generation + 1;
    dynamic->admission = fastsm_admission_id(index, entry->generation);
}

static void admit(mca_btl_fastsm_dynamic_t *dynamic, uint32_t index)
{
    next_dynamic_id(dynamic, index);
    store_peer(index, dynamic);
    count_dynamic(1);
    announce_entry(dynamic, index);
}

/* The peer finds our refusal where it looks for its admission. */
static void turn_away(mca_btl_fastsm_dynamic_t *dynamic, uint32_t index)
{
    dynamic->refused = dynamic->parted = true;
    mca_btl_fastsm_component.admitted[index].refused = dynamic;
    next_dynamic_id(dynamic, index);
    announce_entry(dynamic, index);
}

/* ---- the end of a dynamic peer ---- */

/* Gives back all that a dynamic peer occupies, except for what Open MPI points to, and our word where it is
 * refused. */
static void part(mca_btl_fastsm_dynamic_t *dynamic, bool call_back)
{
    mca_btl_fastsm_endpoint_t *endpoint = &dynamic->endpoint;
    const uint32_t index = fastsm_admission_index(dynamic->admission);

    mca_btl_fastsm_take_back(endpoint, dynamic->gone);
    mca_btl_fastsm_lock(endpoint);
    dynamic->parted = true;
    endpoint->connected = false;
    mca_btl_fastsm_abandon(&endpoint->pending, call_back);
    mca_btl_fastsm_abandon(&endpoint->in_flight, call_back);
    endpoint->out.n_pending = endpoint->n_in_flight = endpoint->n_waiting = 0;
    fastsm_fifo_sender_none(&endpoint->out, &mca_btl_fastsm_no_room); /* nowhere to send to but the ring */
    mca_btl_fastsm_get_end(endpoint);
    mca_btl_fastsm_segment_detach(endpoint);
    mca_btl_fastsm_unlock(endpoint);
    mca_btl_fastsm_deactivate(endpoint);

    if (!dynamic->refused) {
        fastsm_admission_revoke(our_admission(index));
    }
    store_peer(index, NULL);
    count_dynamic(-1);
}

static void destroy(mca_btl_fastsm_dynamic_t *dynamic)
{
    if (!dynamic->parted) {
        part(dynamic, false);
    }
    if (dynamic->refused) {
        const uint32_t index = fastsm_admission_index(dynamic->admission);

        fastsm_admission_revoke(our_admission(index));
        mca_btl_fastsm_component.admitted[index].refused = NULL;
    }
    opal_list_remove_item(&mca_btl_fastsm_component.dynamic_list, &dynamic->super);
    mca_btl_fastsm_endpoint_destruct(&dynamic->endpoint);
    OBJ_RELEASE(dynamic);
}

/* Of peers that we have not parted from. */
static bool has_ended(const mca_btl_fastsm_dynamic_t *dynamic)
{
    return mca_btl_fastsm_dynamic_left(dynamic) || !mca_btl_fastsm_segment_alive(&dynamic->endpoint);
}

/* A process says that it leaves before it ends, so the questions are in this order. */
static bool has_died(const mca_btl_fastsm_dynamic_t *dynamic)
{
    return !mca_btl_fastsm_segment_alive(&dynamic->endpoint) && !mca_btl_fastsm_dynamic_left(dynamic);
}

bool mca_btl_fastsm_dynamic_died(mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const mca_btl_fastsm_dynamic_t *dynamic = endpoint->dynamic;
    bool died;

    if (NULL == dynamic || 0 != OPAL_THREAD_TRYLOCK(&component->dynamic_lock)) {
        return false;
    }
    died = dynamic->gone ? dynamic->died : !dynamic->parted && has_died(dynamic);
    OPAL_THREAD_UNLOCK(&component->dynamic_lock);
    return died;
}

bool mca_btl_fastsm_has_pid(const mca_btl_fastsm_endpoint_t *endpoint)
{
    return !endpoint->other_pids;
}

/* One more of those that mca_btl_fastsm_pids counts, if it is one. */
static void note_pid(const mca_btl_fastsm_endpoint_t *endpoint, pid_t *pids, size_t most, size_t *count)
{
    if (!endpoint->connected || !mca_btl_fastsm_has_pid(endpoint)) {
        return;
    }
    if (*count < most) {
        pids[*count] = endpoint->pid;
    }
    ++*count;
}

size_t mca_btl_fastsm_pids(pid_t *pids, size_t most)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const mca_btl_fastsm_dynamic_t *dynamic;
    size_t count = 0;

    for (uint32_t i = 0; NULL != component->peers && i < component->n_local; ++i) {
        note_pid(&component->peers[i], pids, most, &count);
    }
    if (0 == component->n_dynamic || 0 != OPAL_THREAD_TRYLOCK(&component->dynamic_lock)) {
        return count;
    }
    OPAL_LIST_FOREACH(dynamic, &component->dynamic_list, mca_btl_fastsm_dynamic_t)
    {
        if (!dynamic->gone && !dynamic->parted) {
            note_pid(&dynamic->endpoint, pids, most, &count);
        }
    }
    OPAL_THREAD_UNLOCK(&component->dynamic_lock);
    return count;
}

/* Parts from a peer that has ended, unless there are messages of it still. */
static void part_if_read(mca_btl_fastsm_dynamic_t *dynamic)
{
    mca_btl_fastsm_endpoint_t *endpoint = &dynamic->endpoint;

    if (!mca_btl_fastsm_begin_consuming(&endpoint->in)) {
        return;
    }
    if (!endpoint->readable || NULL == fastsm_fifo_peek(&endpoint->in)) {
        part(dynamic, true);
    }
    mca_btl_fastsm_end_consuming(&endpoint->in);
}

/* Our refusal is there for as long as the process may read it.  It may be one that we cannot look at. */
static void end_refusal(mca_btl_fastsm_dynamic_t *dynamic)
{
    if (0 == dynamic->users && 0 != kill(dynamic->endpoint.pid, 0) && ESRCH == errno) {
        destroy(dynamic);
    }
}

/* Its last messages may refer to its segment, which therefore stays until our ring has been read
 * beyond them, and the FIFO that it was assigned, too. */
static void sweep_dynamic(void)
{
    const uint32_t read_pos = fastsm_load_read_pos(&our_ctl()->read_pos);
    mca_btl_fastsm_dynamic_t *dynamic, *next;

    OPAL_LIST_FOREACH_SAFE(dynamic, next, &mca_btl_fastsm_component.dynamic_list, mca_btl_fastsm_dynamic_t)
    {
        if (dynamic->refused) {
            end_refusal(dynamic);
            continue;
        }
        if (dynamic->parted) {
            continue;
        }
        if (!dynamic->gone && has_ended(dynamic)) {
            dynamic->gone = true;
            dynamic->died = has_died(dynamic);
            dynamic->gone_pos = atomic_load_explicit(&our_ctl()->write_pos, memory_order_relaxed);
        }
        if (dynamic->gone && 0 <= (int32_t) (read_pos - dynamic->gone_pos)) {
            part_if_read(dynamic);
        }
    }
}

void mca_btl_fastsm_dynamic_sweep(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    /* whoever has the lock is doing the same, or will do so next time */
    if (0 == component->n_dynamic || 0 != OPAL_THREAD_TRYLOCK(&component->dynamic_lock)) {
        return;
    }
    sweep_dynamic();
    OPAL_THREAD_UNLOCK(&component->dynamic_lock);
}

/* What arrives while we leave is for nobody: all communicators are gone. */
static void discard(void)
{
    fastsm_fifo_receiver_t *ring = &mca_btl_fastsm_component.ring;
    const mca_btl_fastsm_slot_t *slot;

    while (NULL != (slot = fastsm_ring_peek(ring))) {
        mca_btl_fastsm_dynamic_t *dynamic = mca_btl_fastsm_dynamic_find(slot->u.ring.admission);

        if (NULL != dynamic && MCA_BTL_FASTSM_SLOT_CONTINUE == fastsm_slot_head(slot).flags) {
            (void) mca_btl_fastsm_continued(&dynamic->endpoint);
        }
        fastsm_fifo_release(ring, 1);
    }
    mca_btl_fastsm_deep_discard();
}

/* Messages that MPI considers sent may still wait for room in the peer's ring.  It takes them
 * when its process calls MPI next, so we stay as long as that. */
static void flush_dynamic(mca_btl_fastsm_dynamic_t *dynamic)
{
    const struct timespec pause = {.tv_nsec = 50000};
    mca_btl_fastsm_endpoint_t *endpoint = &dynamic->endpoint;
    unsigned idle = 0;

    while (0 != endpoint->out.n_pending && NULL != dynamic->our_entry) {
        const uint32_t before = endpoint->out.n_pending;
        bool sound;

        mca_btl_fastsm_lock(endpoint);
        mca_btl_fastsm_send_pending(endpoint);
        sound = mca_btl_fastsm_move(endpoint);
        mca_btl_fastsm_unlock(endpoint);
        if (!sound) {
            mca_btl_fastsm_corrupt(endpoint, "assignment", endpoint->move.nonsense);
        }
        discard(); /* the peer may be doing the same */
        if (before != endpoint->out.n_pending) {
            idle = 0;
        } else if (0 != ++idle % FASTSM_FLUSH_ROUNDS) {
            sched_yield();
        } else if (has_ended(dynamic)) {
            return;
        } else {
            nanosleep(&pause, NULL);
        }
    }
}

void mca_btl_fastsm_dynamic_disconnect(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    OPAL_THREAD_LOCK(&component->dynamic_lock);
    if (0 == --endpoint->dynamic->users) {
        destroy(endpoint->dynamic);
    }
    OPAL_THREAD_UNLOCK(&component->dynamic_lock);
}

void mca_btl_fastsm_dynamic_fini(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_dynamic_t *dynamic;
    opal_list_item_t *item;

    if (NULL == component->admitted) {
        return; /* init did not come that far */
    }

    OPAL_LIST_FOREACH(dynamic, &component->dynamic_list, mca_btl_fastsm_dynamic_t)
    {
        if (!dynamic->parted) {
            flush_dynamic(dynamic);
        }
    }
    fastsm_store_owner(&our_ctl()->owner, MCA_BTL_FASTSM_OWNER_LEFT);
    while (opal_list_get_end(&component->dynamic_list)
           != (item = opal_list_get_first(&component->dynamic_list))) {
        destroy((mca_btl_fastsm_dynamic_t *) item);
    }
    free(component->admitted);
    component->admitted = NULL;
}

/* ---- the begin of a dynamic peer ---- */

/* There is no place to say anything to the peer. */
static int no_place(const mca_btl_fastsm_modex_t *modex, const char *why)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    ++component->dynamic_refused;
    if (NULL == why) {
        mca_common_fastpath_show_help(MCA_BTL_FASTSM_HELP, "too many dynamic peers",
                                      opal_process_info.nodename, component->n_dynamic, (int) modex->pid,
                                      component->dynamic_peers);
    } else {
        mca_common_fastpath_show_help(MCA_BTL_FASTSM_HELP, "no place for a dynamic peer",
                                      opal_process_info.nodename, (int) modex->pid, why);
    }
    return OPAL_ERR_OUT_OF_RESOURCE;
}

/* The BML would take another BTL without a word; who uses the extension asks us, for all others the only way
 * is to end the job.  Not to be called with a lock held. */
static void end_job(opal_proc_t *proc)
{
    static char info[] = "btl/fastsm cannot serve a process of another job";
    mca_btl_fastsm_module_t *module = &mca_btl_fastsm_module;

    if (!mca_btl_fastsm_component.confirmed && NULL != module->error_cb) {
        module->error_cb(&module->super, MCA_BTL_ERROR_FLAGS_FATAL, proc, info);
    }
}

static mca_btl_fastsm_dynamic_t *make_dynamic(opal_proc_t *proc, const mca_btl_fastsm_modex_t *modex,
                                              uint32_t index)
{
    mca_btl_fastsm_dynamic_t *dynamic = OBJ_NEW(mca_btl_fastsm_dynamic_t);
    mca_btl_fastsm_endpoint_t *endpoint;

    if (NULL == dynamic) {
        return NULL;
    }
    endpoint = &dynamic->endpoint;
    mca_btl_fastsm_endpoint_construct(endpoint, modex->local_index);
    mca_btl_fastsm_endpoint_describe(endpoint, proc, modex);
    mca_btl_fastsm_pair_init(endpoint, modex, &our_admission(index)->pair);
    endpoint->dynamic = dynamic;
    endpoint->inline_bytes = mca_btl_fastsm_component.inline_bytes;
    fastsm_fifo_sender_none(&endpoint->out, &mca_btl_fastsm_no_room); /* nowhere to send to but the ring */
    dynamic->users = 0;
    dynamic->admission = 0;
    dynamic->gone = dynamic->died = dynamic->refused = dynamic->parted = false;
    dynamic->our_entry = NULL;
    dynamic->our_admission = dynamic->pieces_admission = 0;
    dynamic->pieces_length = 0;
    opal_list_append(&mca_btl_fastsm_component.dynamic_list, &dynamic->super);
    return dynamic;
}

/* A process that we know already, although Open MPI asks as if for a new one. */
static mca_btl_fastsm_dynamic_t *known(const mca_btl_fastsm_modex_t *modex)
{
    mca_btl_fastsm_dynamic_t *dynamic;

    OPAL_LIST_FOREACH(dynamic, &mca_btl_fastsm_component.dynamic_list, mca_btl_fastsm_dynamic_t)
    {
        if ((!dynamic->parted || dynamic->refused)
            && 0 == memcmp(dynamic->endpoint.nonce, modex->nonce, sizeof(dynamic->endpoint.nonce))) {
            return dynamic;
        }
    }
    return NULL;
}

/* Maps its segment; what our side says is there before the peer finds its entry. */
static void begin(mca_btl_fastsm_dynamic_t *dynamic, const mca_btl_fastsm_modex_t *modex, uint32_t index)
{
    mca_btl_fastsm_endpoint_t *endpoint = &dynamic->endpoint;
    const char *why;
    const bool mapped = OPAL_SUCCESS == mca_btl_fastsm_segment_attach(modex, endpoint, &why);
    const int error = errno;

    endpoint->pair_state = fastsm_pair_begin(&endpoint->pair, mapped);
    if (!mapped) {
        mca_btl_fastsm_unusable(modex, why, error);
        turn_away(dynamic, index);
        return;
    }
    fastsm_ring_sender_init(&dynamic->ring, endpoint->base, &endpoint->layout);
    mca_btl_fastsm_move_init(endpoint);
    endpoint->connected = true;
    mca_btl_fastsm_assign_again(endpoint);
    admit(dynamic, index);
}

static int meet_new(opal_proc_t *proc, const mca_btl_fastsm_modex_t *modex, mca_btl_fastsm_dynamic_t **result)
{
    uint32_t index;

    sweep_dynamic();
    index = free_index();
    if (index == mca_btl_fastsm_component.dynamic_peers) {
        return no_place(modex, NULL);
    }
    if (OPAL_ERR_OUT_OF_RESOURCE
        == mca_common_fastpath_reserve(our_admission(index), sizeof(mca_btl_fastsm_admission_t))) {
        return no_place(modex, "no shared memory for its admission");
    }
    *result = make_dynamic(proc, modex, index);
    if (NULL == *result) {
        return no_place(modex, "out of memory");
    }
    begin(*result, modex, index);
    return OPAL_SUCCESS;
}

int mca_btl_fastsm_dynamic_meet(opal_proc_t *proc, mca_btl_fastsm_endpoint_t **endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_dynamic_t *dynamic;
    mca_btl_fastsm_modex_t modex;
    int rc = OPAL_SUCCESS;

    *endpoint = NULL;
    if (OPAL_SUCCESS != mca_btl_fastsm_modex_fetch(proc, &modex)
        || !mca_btl_fastsm_same_surroundings(&component->me, &modex) || 0 == modex.dynamic_peers
        || 0 == component->dynamic_peers) {
        return OPAL_SUCCESS;
    }

    OPAL_THREAD_LOCK(&component->dynamic_lock);
    dynamic = known(&modex);
    if (NULL == dynamic) {
        rc = meet_new(proc, &modex, &dynamic);
    }
    if (OPAL_SUCCESS == rc && !dynamic->refused) {
        ++dynamic->users;
        *endpoint = &dynamic->endpoint;
    }
    OPAL_THREAD_UNLOCK(&component->dynamic_lock);
    if (OPAL_SUCCESS != rc) {
        end_job(proc);
    }
    return rc;
}

void mca_btl_fastsm_dynamic_look(mca_btl_fastsm_endpoint_t *endpoint, bool give_up)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_dynamic_t *dynamic = endpoint->dynamic;
    uint32_t id;

    OPAL_THREAD_LOCK(&component->dynamic_lock);
    if (MCA_BTL_FASTSM_PAIR_OFFERED != endpoint->pair_state) {
        /* another thread, which meets the same peer, was faster */
    } else if (dynamic->parted) {
        endpoint->pair_state = MCA_BTL_FASTSM_PAIR_REFUSED; /* it has ended */
    } else {
        mca_btl_fastsm_admission_t *entry = fastsm_admission_find(&dynamic->ring, component->me.nonce, &id);

        endpoint->pair.other = NULL == entry ? NULL : &entry->pair;
        endpoint->pair_state =
            give_up ? fastsm_pair_give_up(&endpoint->pair) : fastsm_pair_look(&endpoint->pair);
    }
    OPAL_THREAD_UNLOCK(&component->dynamic_lock);
}

bool mca_btl_fastsm_dynamic_settle(mca_btl_fastsm_endpoint_t *endpoint)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_dynamic_t *dynamic = endpoint->dynamic;
    bool reachable;

    OPAL_THREAD_LOCK(&component->dynamic_lock);
    reachable = MCA_BTL_FASTSM_PAIR_AGREED == endpoint->pair_state;
    if (!reachable && !dynamic->parted) {
        opal_output_verbose(1, opal_btl_base_framework.framework_output,
                            "btl:fastsm: process %d of another job cannot reach us, or does not answer",
                            (int) endpoint->pid);
        dynamic->refused = true;
        component->admitted[fastsm_admission_index(dynamic->admission)].refused = dynamic;
        part(dynamic, false);
    }
    if (reachable) {
        mca_btl_fastsm_get_begin(endpoint);
    }
    if (!reachable && 0 == --dynamic->users && !dynamic->refused) {
        destroy(dynamic);
    }
    OPAL_THREAD_UNLOCK(&component->dynamic_lock);
    return reachable;
}
