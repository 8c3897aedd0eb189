/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* The component is linked into the process. Its three windows think that each of them is in a process of its
 * own; what one sends arrives at another one. Collective calls are played, for the others take no part. */

#include "fuzz_osc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat/fastpath_ft_compat.h"

#include "ompi/group/group.h"

#include "ompi/mca/osc/fastpath/osc_fastpath_operation.h"
#include "ompi/mca/osc/fastpath/osc_fastpath_recv.h"
#include "ompi/mca/osc/fastpath/osc_fastpath_wait.h"
#include "ompi/mca/osc/fastpath/osc_fastpath_window.h"

enum { PATIENCE = 2 };

member_t members[RANKS];
static uint32_t expected[RANKS];
static bool dynamic;
bool world_shortage;

/* ---- memory ---- */

uint8_t *guarded_new(guarded_t *memory, size_t size, uint8_t fill)
{
    memory->size = size;
    memory->all = malloc(size + 2 * GUARD);
    memset(memory->all, 0xa7, size + 2 * GUARD);
    memset(guarded(memory), fill, size);
    return guarded(memory);
}

void guarded_free(guarded_t *memory, const char *what)
{
    const uint8_t *end = guarded(memory) + memory->size;

    for (int i = 0; i < GUARD; i++) {
        if (0xa7 != memory->all[i] || 0xa7 != end[i]) {
            fuzz_fail("something is written beside %s", what);
        }
    }
    free(memory->all);
    memory->all = NULL;
}

/* ---- what the component must not do itself here ---- */

void __wrap_mca_common_fastpath_show_help(const char *file, const char *topic, ...);
void __wrap_ompi_rte_abort(int error, const char *format, ...);
int __wrap_ompi_comm_dup(ompi_communicator_t *comm, ompi_communicator_t **copy);
int __wrap_ompi_comm_free(ompi_communicator_t **comm);
int __wrap_mca_osc_fastpath_info_init(mca_osc_fastpath_module_t *module, opal_info_t *info);
int __wrap_mca_osc_fastpath_wait_until(mca_osc_fastpath_module_t *module, mca_osc_fastpath_done_fn_t done,
                                       void *context);
int __wrap_mca_osc_fastpath_wait_for_memory(mca_osc_fastpath_module_t *module,
                                            mca_osc_fastpath_done_fn_t done, void *context);

void __wrap_mca_common_fastpath_show_help(const char *file, const char *topic, ...)
{
    va_list list;
    const char *host, *reason;
    unsigned window, rank;

    (void) file;
    if (0 != strcmp("corrupt message", topic)) {
        fuzz_fail("the help text '%s'", topic);
    }
    va_start(list, topic);
    host = va_arg(list, const char *);
    window = va_arg(list, unsigned);
    rank = va_arg(list, unsigned);
    reason = va_arg(list, const char *);
    case_reported(rank, reason);
    if (NULL != getenv("FP_FUZZ_VERBOSE")) {
        fprintf(stderr, "# %s: window %u, rank %u: %s\n", host, window, rank, reason);
    }
    va_end(list);
}

void __wrap_ompi_rte_abort(int error, const char *format, ...)
{
    (void) format;
    fuzz_fail("the job ends with error %d", error);
}

int __wrap_ompi_comm_dup(ompi_communicator_t *comm, ompi_communicator_t **copy)
{
    OBJ_RETAIN(comm);
    *copy = comm;
    return OMPI_SUCCESS;
}

int __wrap_ompi_comm_free(ompi_communicator_t **comm)
{
    OBJ_RELEASE(*comm);
    *comm = NULL;
    return OMPI_SUCCESS;
}

/* No peer has a say in info keys. */
int __wrap_mca_osc_fastpath_info_init(mca_osc_fastpath_module_t *module, opal_info_t *info)
{
    (void) info;
    module->eager = fuzz_one_in(4);
    module->max_pending = fuzz_one_in(4) ? 1 + (unsigned) fuzz_below(4) : 4096;
    return OMPI_SUCCESS;
}

/* Who waits has everything else go on: what is under way arrives, then other members make their next calls,
 * within which they may have to wait, too. When nothing is left to happen, a packet was damaged, or what is
 * waited for here is the next call of a member that waits further out, which cannot be had. */
int __wrap_mca_osc_fastpath_wait_until(mca_osc_fastpath_module_t *module, mca_osc_fastpath_done_fn_t done,
                                       void *context)
{
    static int depth;
    const bool shortage = world_shortage; /* of who waits, not of the others */
    int rc = OMPI_SUCCESS;

    world_shortage = false;
    depth++;
    for (int idle = 0; OMPI_SUCCESS == rc && !done(module, context); idle++) {
        mca_osc_fastpath_leave(module);
        (void) mca_osc_fastpath_progress();
        if (case_deliver() || (PATIENCE == idle && scene_go_on())) {
            idle = 0;
        }
        mca_osc_fastpath_enter(module);
        if (PATIENCE < idle && !done(module, context)) {
            rc = MPI_ERR_PROC_FAILED;
        }
    }
    depth--;
    world_shortage = shortage;
    if (OMPI_SUCCESS != rc && 0 < depth) {
        case_give_up();
    }
    return rc;
}

int __wrap_mca_osc_fastpath_wait_for_memory(mca_osc_fastpath_module_t *module,
                                            mca_osc_fastpath_done_fn_t done, void *context)
{
    int rc;

    mca_osc_fastpath_enter(module);
    rc = __wrap_mca_osc_fastpath_wait_until(module, done, context);
    mca_osc_fastpath_leave(module);
    return rc;
}

/* ---- checks that --break takes away ---- */

int __wrap_mca_osc_fastpath_locate(mca_osc_fastpath_module_t *module, int64_t disp, size_t count,
                                   ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory);
int __real_mca_osc_fastpath_locate(mca_osc_fastpath_module_t *module, int64_t disp, size_t count,
                                   ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory);

/* "bounds": near the window, whose guards have to tell. */
int __wrap_mca_osc_fastpath_locate(mca_osc_fastpath_module_t *module, int64_t disp, size_t count,
                                   ompi_datatype_t *type, mca_osc_fastpath_memory_t *memory)
{
    const int rc = __real_mca_osc_fastpath_locate(module, disp, count, type, memory);

    if (OMPI_SUCCESS != rc && 0 == strcmp("bounds", fuzz_broken)) {
        *memory = (mca_osc_fastpath_memory_t){
            .address = (char *) module->base + disp % WINDOW, .type = type, .count = count};
        return OMPI_SUCCESS;
    }
    return rc;
}

bool __wrap_mca_osc_fastpath_op_defined(ompi_op_t *op, ompi_datatype_t *element);
bool __real_mca_osc_fastpath_op_defined(ompi_op_t *op, ompi_datatype_t *element);

/* "op": every operation with every type. */
bool __wrap_mca_osc_fastpath_op_defined(ompi_op_t *op, ompi_datatype_t *element)
{
    return __real_mca_osc_fastpath_op_defined(op, element) || 0 == strcmp("op", fuzz_broken);
}

/* ---- shortage ---- */

mca_osc_fastpath_packet_t *__wrap_mca_osc_fastpath_origin_packet(mca_osc_fastpath_peer_t *peer, size_t room,
                                                                 size_t expected_length);
mca_osc_fastpath_packet_t *__real_mca_osc_fastpath_origin_packet(mca_osc_fastpath_peer_t *peer, size_t room,
                                                                 size_t expected_length);

mca_osc_fastpath_packet_t *__wrap_mca_osc_fastpath_origin_packet(mca_osc_fastpath_peer_t *peer, size_t room,
                                                                 size_t expected_length)
{
    if (world_shortage && fuzz_one_in(2)) {
        return NULL;
    }
    return __real_mca_osc_fastpath_origin_packet(peer, room, expected_length);
}

/* ---- collective calls ---- */

static int member_of(const ompi_communicator_t *comm)
{
    return comm->c_my_rank;
}

static void copy_in(const void *from, void *to, int count, const ompi_datatype_t *type)
{
    if (MPI_IN_PLACE != from) {
        memcpy(to, from, (size_t) count * type->super.size);
    }
}

/* All others say the same. */
static int allreduce(const void *from, void *to, int count, ompi_datatype_t *type, ompi_op_t *op,
                     ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void) op;
    (void) comm;
    (void) module;
    copy_in(from, to, count, type);
    return OMPI_SUCCESS;
}

/* How many packets have been sent to whom. */
static int reduce_scatter_block(const void *from, void *to, int count, ompi_datatype_t *type, ompi_op_t *op,
                                ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void) from;
    (void) count;
    (void) type;
    (void) op;
    (void) module;
    memcpy(to, &expected[member_of(comm)], sizeof(expected[0]));
    return OMPI_SUCCESS;
}

void world_count(bool fence)
{
    memset(expected, 0, sizeof(expected));
    for (int from = 0; from < RANKS; from++) {
        for (int to = 0; to < RANKS; to++) {
            const mca_osc_fastpath_peer_t *peer = members[from].module->peers[to];

            if (fence) {
                expected[to] += members[from].module->fence_sent[to];
            } else if (NULL != peer) {
                expected[to] += peer->origin.sent;
            }
        }
    }
}

/* ---- windows ---- */

void world_start(int *argc, char ***argv)
{
    static mca_coll_base_comm_coll_t coll = {.coll_allreduce = allreduce,
                                             .coll_reduce_scatter_block = reduce_scatter_block};
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;

    world_init(argc, argv, case_heard);
    world_btl.btl_eager_limit = 1024;
    world_btl.btl_max_send_size = 2048;
    world_btl.btl_flags |= MCA_BTL_FLAGS_PUT;
    world_btl.btl_put = case_put;
    world_btl.btl_put_limit = SIZE_MAX;
    world_link();
    component->packet_size = 1024;
    component->max_packets = 64;
    if (OMPI_SUCCESS != mca_osc_fastpath_windows_init()) {
        fuzz_fail("the component cannot be started");
    }
    for (int rank = 0; rank < RANKS; rank++) {
        members[rank].comm = world_comm_new(rank);
        members[rank].comm->c_coll = &coll;
        members[rank].win = OBJ_NEW(ompi_win_t);
    }
    scene_start();
}

static void make_member(int rank, int unit)
{
    member_t *member = &members[rank];
    void *base = guarded_new(&member->memory, WINDOW, (uint8_t) rank);
    int model;

    member->busy = false;
    member->last_locked = NULL;
    member->shadow = malloc(WINDOW);
    memset(member->shadow, rank, WINDOW);
    if (OMPI_SUCCESS
        != mca_osc_fastpath_select(member->win, &base, dynamic ? 0 : WINDOW, unit, member->comm, NULL,
                                   dynamic ? MPI_WIN_FLAVOR_DYNAMIC : MPI_WIN_FLAVOR_CREATE, &model)) {
        fuzz_fail("no window");
    }
    member->module = mca_osc_fastpath_module(member->win);
    member->id = member->module->id;
    if (dynamic) { /* in two pieces, side by side */
        (void) mca_osc_fastpath_attach(member->win, guarded(&member->memory) + WINDOW / 2, WINDOW / 2);
        (void) mca_osc_fastpath_attach(member->win, guarded(&member->memory), WINDOW / 2);
    }
}

void world_begin(void)
{
    mca_osc_fastpath_component_t *component = &mca_osc_fastpath_component;

    dynamic = fuzz_one_in(4);
    component->check_bounds = fuzz_one_in(4);
    component->packet_size = fuzz_one_in(4) ? 512 : 1024;
    component->max_packets = fuzz_one_in(4) ? 2 + (unsigned) fuzz_below(3) : 64;
    component->place_limit = fuzz_one_in(3) ? 0 : 1 + (unsigned) fuzz_below(200);
    component->locks_held = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        make_member(rank, 1);
    }
}

ptrdiff_t world_disp(int target, size_t place)
{
    return dynamic ? (ptrdiff_t) (guarded(&members[target].memory) + place) : (ptrdiff_t) place;
}

uint8_t *world_translate(int to, const void *bytes, size_t length)
{
    mca_osc_fastpath_hdr_t *hdr = malloc(length + GUARD);

    memset(hdr, 0, length + GUARD);
    memcpy(hdr, bytes, length);
    hdr->window = members[to].id;
    return (uint8_t *) hdr;
}

/* Whatever state damage has left a window in, freeing it is allowed now. */
static void end_epochs(mca_osc_fastpath_module_t *module)
{
    module->epoch = MCA_OSC_FASTPATH_EPOCH_NONE;
    module->locks = 0;
    module->post_count = -1;
}

void world_end(void)
{
    case_close();
    world_count(false);
    for (int rank = 0; rank < RANKS; rank++) {
        end_epochs(members[rank].module);
        case_returned(mca_osc_fastpath_free(members[rank].win), "MPI_Win_free");
    }
    if (0 != mca_osc_fastpath_component.pending) {
        fuzz_fail("%d things stay pending", (int) mca_osc_fastpath_component.pending);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        if (!case_damaged() && 0 != memcmp(guarded(&members[rank].memory), members[rank].shadow, WINDOW)) {
            fuzz_fail("the window of rank %d has something else", rank);
        }
        guarded_free(&members[rank].memory, "a window");
        free(members[rank].shadow);
    }
}
