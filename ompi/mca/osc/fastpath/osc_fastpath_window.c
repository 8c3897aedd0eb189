/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Windows: how they come and go.
 *
 * The members of a window agree on an id that none of them has used before. Each of them makes the window
 * known under it before any of them has finished, so that no packet comes for a window that is still to be
 * made; and none of them frees it before all packets that have been sent are there, so that no packet comes
 * for a window that has been freed.
 */
#include "ompi_config.h"

#include "opal/runtime/opal_progress.h"

#include "osc_fastpath_abort.h"
#include "osc_fastpath_info.h"
#include "osc_fastpath_mail.h"
#include "osc_fastpath_node.h"
#include "osc_fastpath_packet.h"
#include "osc_fastpath_peer.h"
#include "osc_fastpath_recv.h"
#include "osc_fastpath_request.h"
#include "osc_fastpath_sync.h"
#include "osc_fastpath_ticket.h"
#include "osc_fastpath_wait.h"
#include "osc_fastpath_window.h"

/** Objects by which free lists grow. */
#define FREE_LIST_INC 64

static const ompi_osc_base_module_t module_template = {
    .osc_win_shared_query = mca_osc_fastpath_shared_query,
    .osc_win_attach = mca_osc_fastpath_attach,
    .osc_win_detach = mca_osc_fastpath_detach,
    .osc_free = mca_osc_fastpath_free,
    .osc_put = mca_osc_fastpath_put,
    .osc_get = mca_osc_fastpath_get,
    .osc_accumulate = mca_osc_fastpath_accumulate,
    .osc_compare_and_swap = mca_osc_fastpath_compare_and_swap,
    .osc_fetch_and_op = mca_osc_fastpath_fetch_and_op,
    .osc_get_accumulate = mca_osc_fastpath_get_accumulate,
    .osc_rput = mca_osc_fastpath_rput,
    .osc_rget = mca_osc_fastpath_rget,
    .osc_raccumulate = mca_osc_fastpath_raccumulate,
    .osc_rget_accumulate = mca_osc_fastpath_rget_accumulate,
    .osc_fence = mca_osc_fastpath_fence,
    .osc_start = mca_osc_fastpath_start,
    .osc_complete = mca_osc_fastpath_complete,
    .osc_post = mca_osc_fastpath_post,
    .osc_wait = mca_osc_fastpath_wait,
    .osc_test = mca_osc_fastpath_test,
    .osc_lock = mca_osc_fastpath_lock,
    .osc_unlock = mca_osc_fastpath_unlock,
    .osc_lock_all = mca_osc_fastpath_lock_all,
    .osc_unlock_all = mca_osc_fastpath_unlock_all,
    .osc_sync = mca_osc_fastpath_sync,
    .osc_flush = mca_osc_fastpath_flush,
    .osc_flush_all = mca_osc_fastpath_flush_all,
    .osc_flush_local = mca_osc_fastpath_flush_local,
    .osc_flush_local_all = mca_osc_fastpath_flush_local_all,
};

/* ------------------------------------------------------------------------------------- what windows share */

int mca_osc_fastpath_windows_init(void)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    int rc;

    OBJ_CONSTRUCT(&component->windows, opal_hash_table_t);
    OBJ_CONSTRUCT(&component->modules, opal_list_t);
    OBJ_CONSTRUCT(&component->packets, opal_free_list_t);
    OBJ_CONSTRUCT(&component->requests, opal_free_list_t);
    component->initialized = true;
    rc = opal_hash_table_init(&component->windows, 16);
    if (OPAL_SUCCESS == rc) {
        rc = opal_free_list_init(&component->packets, sizeof(mca_osc_fastpath_packet_t), 8,
                                 OBJ_CLASS(mca_osc_fastpath_packet_t), 0, 0, 0, -1, FREE_LIST_INC, NULL, 0,
                                 NULL, NULL, NULL);
    }
    if (OPAL_SUCCESS == rc) {
        rc = opal_free_list_init(&component->requests, sizeof(mca_osc_fastpath_request_t), 8,
                                 OBJ_CLASS(mca_osc_fastpath_request_t), 0, 0, 0, -1, FREE_LIST_INC, NULL, 0,
                                 NULL, NULL, NULL);
    }
    if (OPAL_SUCCESS == rc) {
        rc = mca_osc_fastpath_recv_register();
    }
    if (OPAL_SUCCESS != rc) {
        mca_osc_fastpath_windows_fini();
    }
    return rc;
}

void mca_osc_fastpath_windows_fini(void)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;

    if (component->progress_registered) {
        (void) opal_progress_unregister(mca_osc_fastpath_progress);
        component->progress_registered = false;
    }
    if (component->initialized) {
        OBJ_DESTRUCT(&component->requests);
        OBJ_DESTRUCT(&component->packets);
        OBJ_DESTRUCT(&component->modules);
        OBJ_DESTRUCT(&component->windows);
        component->initialized = false;
    }
}

/* --------------------------------------------------------------------------------------- making a window */

/* What all members have to know before there is a window; the largest of each. */
enum {
    NEXT_ID,      /* next id that is free here */
    FAILED,       /* 1: something went wrong here */
    BYTES_MAX,    /* of windows */
    BYTES_MIN,    /* negative */
    UNIT_MAX,     /* of displacement units */
    UNIT_MIN,     /* negative */
    CHECK_BOUNDS, /* 1: wants to know the others' windows */
    THREADS,      /* 1: several threads may be in MPI at a time */
    NOT_ATOMIC,   /* 1: updates all elements with the accumulate lock */
    NUM_FACTS
};

static int agree(ompi_communicator_t *comm, int64_t *facts, int count)
{
    return comm->c_coll->coll_allreduce(MPI_IN_PLACE, facts, FASTPATH_COLL_COUNT(count), &ompi_mpi_int64_t.dt,
                                        &ompi_mpi_op_max.op, comm, comm->c_coll->coll_allreduce_module);
}

static uint32_t next_window_id(void)
{
    uint32_t id;

    mca_common_fastpath_lock(&mca_osc_fastpath_component.lock);
    id = mca_osc_fastpath_component.next_id;
    mca_common_fastpath_unlock(&mca_osc_fastpath_component.lock);
    return id;
}

/* Make the window known under an id, unless another thread was faster. @return whether it is */
static bool announce_window(mca_osc_fastpath_module_t *module, uint32_t id)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    bool good = false;

    mca_common_fastpath_lock(&component->lock);
    if (id >= component->next_id) {
        component->next_id = id + 1;
        module->id = id;
        good = OPAL_SUCCESS == opal_hash_table_set_value_uint32(&component->windows, id, module);
        if (good) {
            opal_list_append(&component->modules, &module->item);
        }
    }
    mca_common_fastpath_unlock(&component->lock);
    return good;
}

/* Undo it, when nobody works on messages of the window any more. */
static void retract(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    unsigned tries = 0;

    mca_osc_fastpath_deafen(module);
    mca_common_fastpath_lock(&component->lock);
    (void) opal_hash_table_remove_value_uint32(&component->windows, module->id);
    while (0 != module->users) {
        mca_common_fastpath_unlock(&component->lock);
        mca_osc_fastpath_backoff(&tries);
        mca_common_fastpath_lock(&component->lock);
    }
    opal_list_remove_item(&component->modules, &module->item);
    mca_common_fastpath_unlock(&component->lock);
}

/* Whether processors may update integers of a window: it is in host memory, and so are the data of origins
 * and results. */
static bool may_be_atomic(const mca_osc_fastpath_module_t *module)
{
    return mca_osc_fastpath_is_allocated(module) && !fastpath_have_accelerator();
}

static void use_facts(mca_osc_fastpath_module_t *module, const int64_t *facts)
{
    module->uniform = facts[BYTES_MAX] == -facts[BYTES_MIN] && facts[UNIT_MAX] == -facts[UNIT_MIN];
    module->threads = 0 != facts[THREADS];
    module->atomic = 0 == facts[NOT_ATOMIC];
    module->wants_sizes = 0 != facts[CHECK_BOUNDS] && MPI_WIN_FLAVOR_DYNAMIC != module->flavor;
}

/* Agree on an id and on what the windows have in common. Threads may make windows on other communicators
 * meanwhile: an id that has been taken on one member is given up by all. */
static int agree_on_window(mca_osc_fastpath_module_t *module, bool failed)
{
    int64_t facts[NUM_FACTS], refused;
    int rc;

    do {
        facts[NEXT_ID] = next_window_id();
        facts[FAILED] = failed;
        facts[BYTES_MAX] = (int64_t) module->bytes;
        facts[BYTES_MIN] = -(int64_t) module->bytes;
        facts[UNIT_MAX] = module->disp_unit;
        facts[UNIT_MIN] = -(int64_t) module->disp_unit;
        facts[CHECK_BOUNDS] = mca_osc_fastpath_component.check_bounds;
        facts[THREADS] = opal_using_threads();
        facts[NOT_ATOMIC] = !may_be_atomic(module);
        rc = agree(module->comm, facts, NUM_FACTS);
        if (OMPI_SUCCESS != rc || 0 != facts[FAILED] || UINT32_MAX <= facts[NEXT_ID]) {
            return OMPI_SUCCESS == rc ? OMPI_ERR_OUT_OF_RESOURCE : rc;
        }
        /* before the others can send something, which who has agreed already may do */
        use_facts(module, facts);
        refused = announce_window(module, (uint32_t) facts[NEXT_ID]) ? 0 : 1;
        module->announced = 0 == refused;
        rc = agree(module->comm, &refused, 1);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        if (0 != refused && module->announced) {
            retract(module);
            module->announced = false;
        }
    } while (0 != refused);
    return OMPI_SUCCESS;
}

/* Members that were ready earlier may have sent something by now, and have a peer here that knows no size. */
static void sizes_are_known(mca_osc_fastpath_module_t *module)
{
    mca_osc_fastpath_enter(module);
    module->sizes_known = true;
    for (int rank = 0; rank < module->size; ++rank) {
        if (NULL != module->peers[rank]) {
            mca_osc_fastpath_peer_describe(module->peers[rank]);
        }
    }
    mca_osc_fastpath_leave(module);
}

/* Fetch what the members say of their windows, where somebody checks it; once if all say the same. */
static int fetch_sizes(mca_osc_fastpath_module_t *module)
{
    ompi_communicator_t *comm = module->comm;
    mca_osc_fastpath_extent_t own = {.bytes = module->bytes, .disp_unit = module->disp_unit};
    int rc = OMPI_SUCCESS;

    if (!module->wants_sizes) {
        return OMPI_SUCCESS;
    }
    if (!module->uniform) {
        module->extents = calloc((size_t) module->size, sizeof(own));
        if (NULL == module->extents) { /* the others wait in the call below */
            mca_osc_fastpath_no_memory("the sizes of a window's members");
        }
        rc = comm->c_coll->coll_allgather(&own, (int) sizeof(own), &ompi_mpi_byte.dt, module->extents,
                                          (int) sizeof(own), &ompi_mpi_byte.dt, comm,
                                          comm->c_coll->coll_allgather_module);
    }
    if (OMPI_SUCCESS == rc) {
        sizes_are_known(module);
    }
    return rc;
}

static mca_osc_fastpath_module_t *module_make(ompi_win_t *win, int flavor)
{
    mca_osc_fastpath_module_t *module = calloc(1, sizeof(*module));

    if (NULL == module) {
        return NULL;
    }
    module->super = module_template;
    module->win = win;
    module->flavor = flavor;
    module->post_count = -1;
    OBJ_CONSTRUCT(&module->item, opal_list_item_t);
    OBJ_CONSTRUCT(&module->active, opal_list_t);
    OBJ_CONSTRUCT(&module->refused, opal_list_t);
    OBJ_CONSTRUCT(&module->blocked, opal_list_t);
    OBJ_CONSTRUCT(&module->inbox, opal_list_t);
    return module;
}

static void module_free(mca_osc_fastpath_module_t *module)
{
    for (int rank = 0; NULL != module->peers && rank < module->size; ++rank) {
        if (NULL != module->peers[rank]) {
            OBJ_RELEASE(module->peers[rank]);
        }
    }
    mca_osc_fastpath_node_free(&module->node);
    free(module->peers);
    free(module->batch);
    free(module->extents);
    free(module->heap_member);
    free(module->fence_sent);
    free(module->allocated);
    free(module->regions);
    free(module->start_ranks);
    free(module->post_ranks);
    mca_osc_fastpath_tickets_free(module->tickets);
    OBJ_DESTRUCT(&module->inbox);
    OBJ_DESTRUCT(&module->blocked);
    OBJ_DESTRUCT(&module->refused);
    OBJ_DESTRUCT(&module->active);
    OBJ_DESTRUCT(&module->item);
    if (NULL != module->comm) {
        ompi_comm_free(&module->comm);
    }
    free(module);
}

/* MPI_Win_allocate's memory where the node does not share it. */
static int allocate(mca_osc_fastpath_module_t *module, opal_info_t *info)
{
    if (0
        != posix_memalign(&module->allocated, mca_osc_fastpath_alignment(info),
                          0 < module->bytes ? module->bytes : 1)) {
        module->allocated = NULL;
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    module->base = module->allocated;
    return OMPI_SUCCESS;
}

/* What this process needs by itself. */
static int make_parts(mca_osc_fastpath_module_t *module, void *base, size_t size,
                      fastpath_osc_disp_unit_t disp_unit)
{
    module->rank = ompi_comm_rank(module->comm);
    module->size = ompi_comm_size(module->comm);
    module->base = base;
    module->bytes = size;
    module->disp_unit = disp_unit;
    if (MPI_WIN_FLAVOR_DYNAMIC == module->flavor) {
        module->base = NULL;
        module->bytes = 0;
        module->disp_unit = 1;
    }
    module->peers = calloc((size_t) module->size, sizeof(module->peers[0]));
    module->fence_sent = calloc((size_t) module->size, sizeof(module->fence_sent[0]));
    module->tickets = mca_osc_fastpath_tickets_make();
    if (0
        != posix_memalign((void **) &module->heap_member, MCA_OSC_FASTPATH_LINE,
                          sizeof(*module->heap_member))) {
        module->heap_member = NULL;
    }
    if (NULL == module->peers || NULL == module->fence_sent || NULL == module->tickets
        || NULL == module->heap_member) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    memset(module->heap_member, 0, sizeof(*module->heap_member));
    module->member = module->heap_member;
    return OMPI_SUCCESS;
}

/* Memory that the node shares, or else the own. Collective. */
static int make_memory(mca_osc_fastpath_module_t *module, bool failed, opal_info_t *info)
{
    int rc = mca_osc_fastpath_node_make(module, failed, info);

    if (OMPI_SUCCESS == rc && MPI_WIN_FLAVOR_ALLOCATE == module->flavor && !module->node.direct) {
        rc = allocate(module, info);
    }
    return failed ? OMPI_ERR_OUT_OF_RESOURCE : rc;
}

static void register_progress(void)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;
    bool first;

    mca_common_fastpath_lock(&component->lock);
    first = !component->progress_registered;
    component->progress_registered = true;
    mca_common_fastpath_unlock(&component->lock);
    if (first) {
        (void) opal_progress_register(mca_osc_fastpath_progress);
    }
}

/* For others of this process: osc_fastpath_ext.h. @param change  a window opens: 1, or closes: -1 */
static void count_window(const mca_osc_fastpath_module_t *module, int change)
{
    const mca_osc_fastpath_ext_kind_t kind = mca_osc_fastpath_ext_kind(module->flavor);

    atomic_fetch_add_explicit(&mca_osc_fastpath_component.super.windows[kind], change, memory_order_relaxed);
}

int mca_osc_fastpath_select(ompi_win_t *win, void **base, size_t size, fastpath_osc_disp_unit_t disp_unit,
                            ompi_communicator_t *comm, opal_info_t *info, int flavor, int *model)
{
    mca_osc_fastpath_module_t *module = module_make(win, flavor);
    int rc, made;

    if (NULL == module) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = ompi_comm_dup(comm, &module->comm);
    if (OMPI_SUCCESS != rc) {
        module->comm = NULL;
        module_free(module);
        return rc;
    }
    win->w_osc_module = &module->super;
    rc = make_parts(module, NULL == base ? NULL : *base, size, disp_unit);
    if (OMPI_SUCCESS == rc) {
        rc = mca_osc_fastpath_info_init(module, info);
    }
    made = make_memory(module, OMPI_SUCCESS != rc, info);
    rc = agree_on_window(module, OMPI_SUCCESS != made);
    if (OMPI_SUCCESS != rc && OMPI_ERR_RMA_SHARED == made) {
        rc = made; /* on all of them */
    }
    if (OMPI_SUCCESS == rc) {
        register_progress();
        mca_osc_fastpath_listen(module);
        rc = fetch_sizes(module);
    }
    if (OMPI_SUCCESS != rc) {
        if (module->announced) {
            retract(module);
        }
        win->w_osc_module = NULL;
        module_free(module);
        return rc;
    }
    count_window(module, 1);
    if (mca_osc_fastpath_is_allocated(module)) {
        *base = module->base;
    }
    *model = MPI_WIN_UNIFIED;
    return OMPI_SUCCESS;
}

/* ------------------------------------------------------------------------------------- where the memory is
 */

/* The first member with memory, for MPI_PROC_NULL. */
static int first_with_memory(const mca_osc_fastpath_node_t *node)
{
    for (int index = 0; index < node->count; ++index) {
        if (0 < node->places[index].bytes) {
            return index;
        }
    }
    return -1;
}

int mca_osc_fastpath_shared_query(ompi_win_t *win, int rank, size_t *size,
                                  fastpath_osc_disp_unit_t *disp_unit, void *base)
{
    const mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    const mca_osc_fastpath_node_t *node = &module->node;
    int index = -1;

    if (MPI_WIN_FLAVOR_DYNAMIC == module->flavor
        || (MPI_WIN_FLAVOR_CREATE == module->flavor && !FASTPATH_SHARED_QUERY_OF_CREATED)) {
        return OMPI_ERR_RMA_FLAVOR;
    }
    if (node->direct) { /* never of a created one */
        index = MPI_PROC_NULL == rank ? first_with_memory(node) : mca_osc_fastpath_node_index(node, rank);
    }
    /* MPI 4.1, 12.2.3: no memory that could be shared is memory of 0 bytes */
    *size = 0 <= index ? (size_t) node->places[index].bytes : 0;
    *disp_unit = 0 <= index ? (fastpath_osc_disp_unit_t) node->places[index].disp_unit : 1;
    *(void **) base = 0 <= index ? mca_osc_fastpath_node_memory(module, index) : NULL;
    return OMPI_SUCCESS;
}

/* ------------------------------------------------------------------------------------------ freeing a window
 */

/* @return whether everything has left, and every reply has come that was asked for */
static bool nothing_out(mca_osc_fastpath_module_t *module, void *context)
{
    (void) context;
    for (int rank = 0; rank < module->size; ++rank) {
        const mca_osc_fastpath_peer_t *peer = module->peers[rank];

        if (NULL != peer && 0 > (int32_t) (peer->origin.acked - peer->origin.ack_asked)) {
            return false;
        }
    }
    return opal_list_is_empty(&module->refused);
}

static bool window_all_here(mca_osc_fastpath_module_t *module, void *context)
{
    return *(const uint32_t *) context == module->packets_done;
}

/* Wait until nothing is on its way any more, in either direction: the last packets of an epoch need no reply,
 * and must not arrive when the window has gone. MPI 3.1, 11.2.5: nobody leaves before all have come. */
static int drain(mca_osc_fastpath_module_t *module)
{
    uint32_t expected = 0;
    int rc;

    mca_osc_fastpath_enter(module);
    rc = mca_osc_fastpath_wait_until(module, nothing_out, NULL);
    for (int rank = 0; rank < module->size; ++rank) {
        module->fence_sent[rank] = NULL == module->peers[rank] ? 0 : module->peers[rank]->origin.sent;
    }
    mca_osc_fastpath_leave(module);
    if (OMPI_SUCCESS == rc) {
        rc = mca_osc_fastpath_count_packets(module, &expected);
    }
    if (OMPI_SUCCESS == rc) {
        mca_osc_fastpath_enter(module);
        rc = mca_osc_fastpath_wait_until(module, window_all_here, &expected);
        mca_osc_fastpath_leave(module);
    }
    return rc;
}

/* What nobody waits for any more: things that progress would have looked after. */
static void forget_window(mca_osc_fastpath_module_t *module)
{
    opal_list_item_t *item;

    while (NULL != (item = opal_list_remove_first(&module->inbox))) {
        OBJ_DESTRUCT(item);
        free(item);
        mca_osc_fastpath_pend(-1);
    }
    while (NULL != opal_list_remove_first(&module->blocked)) {
        mca_osc_fastpath_pend(-1);
    }
    while (NULL != (item = opal_list_remove_first(&module->refused))) {
        mca_osc_fastpath_packet_drop((mca_osc_fastpath_packet_t *) item);
        mca_osc_fastpath_pend(-1);
    }
}

int mca_osc_fastpath_free(ompi_win_t *win)
{
    mca_osc_fastpath_module_t *module = mca_osc_fastpath_module(win);
    int rc;

    if (NULL == module) {
        return OMPI_SUCCESS;
    }
    if (0 != module->locks || 0 <= module->post_count
        || (MCA_OSC_FASTPATH_EPOCH_NONE != module->epoch && MCA_OSC_FASTPATH_EPOCH_FENCE != module->epoch)) {
        return OMPI_ERR_RMA_SYNC;
    }
    rc = mca_osc_fastpath_take_active_error(module, drain(module));
    retract(module);
    forget_window(module);
    count_window(module, -1);
    module_free(module);
    win->w_osc_module = NULL;
    return rc;
}
