/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The memory that the members of a window on one node share.
 */
#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "ompi_config.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_memory.h"
#include "opal/mca/common/fastpath/common_fastpath_process.h"
#include "opal/mca/mpool/base/base.h"
#include "opal/mca/mpool/fastsm/mpool_fastsm.h"
#include "opal/util/sys_limits.h"

#include "osc_fastpath.h"
#include "osc_fastpath_abort.h"
#include "osc_fastpath_node.h"
#include "osc_fastpath_layout.h"

/** All there is to know while the memory is being made. */
typedef struct {
    mca_osc_fastpath_module_t *module;
    ompi_communicator_t *comm; /**< of the node's members */
    int rank;                  /**< in comm, which is the index */
    int size;
    mca_osc_fastpath_place_t *places;
    mca_osc_fastpath_node_layout_t layout;
    mca_osc_fastpath_announced_t announced;
    bool copy;                          /**< the kernel copies between all members' memory */
    mca_mpool_fastsm_module_t *segment; /**< the first member's, until the others have mapped it */
    char *base;
} making_t;

size_t mca_osc_fastpath_alignment(opal_info_t *info)
{
    size_t alignment = MCA_OSC_FASTPATH_LINE, wanted = 0;
    char text[32];

    if (fastpath_info_get(info, "mpi_minimum_memory_alignment", text, sizeof(text))) {
        wanted = strtoul(text, NULL, 10);
    }
    while (alignment < wanted && alignment <= SIZE_MAX / 4) {
        alignment *= 2;
    }
    return alignment;
}

/* Windows of MPI_Win_allocate_shared lie side by side to the byte, unless the user permits gaps. Everybody
 * else's have pages of their own, so that each may be near the processor of its owner, and begin some lines
 * into the first one. */
static bool place_data(making_t *making)
{
    const bool data = mca_osc_fastpath_is_allocated(making->module);
    const bool packed = MPI_WIN_FLAVOR_SHARED == making->module->flavor && !making->module->noncontig;
    const size_t page = (size_t) opal_getpagesize();
    mca_osc_fastpath_node_layout_t *layout = &making->layout;
    bool good = true;

    for (int i = 0; i < making->size && data && good; ++i) {
        mca_osc_fastpath_place_t *place = &making->places[i];
        size_t part = 0;

        if (!packed || 0 == i) {
            const size_t align = (size_t) place->align;

            layout->align = align > layout->align ? align : layout->align;
            good = mca_osc_fastpath_next_part(&layout->length, align > page ? align : page,
                                              mca_osc_fastpath_data_shift(align), &part);
        }
        good = good && mca_osc_fastpath_next_part(&layout->length, 1, (size_t) place->bytes, &part);
        place->offset = part;
    }
    return good;
}

/* @return false when no memory is as large as that */
static bool lay_out(making_t *making)
{
    const size_t page = (size_t) opal_getpagesize();
    size_t rest;

    return mca_osc_fastpath_node_layout((size_t) making->size, page, &making->layout) && place_data(making)
           && mca_osc_fastpath_next_part(&making->layout.length, page, 0, &rest);
}

/* The first member makes the file; the demand travels in hints. */
static void make_window_file(making_t *making)
{
    mca_mpool_base_module_t *pool;
    char hints[128];

    snprintf(hints, sizeof(hints), "mpool=fastsm,segment_size=%zu,reserve=%zu,processes=1,quiet=1",
             making->layout.length, making->layout.data);
    pool = mca_mpool_base_module_lookup(hints);
    making->segment = mca_mpool_fastsm_module(pool);
    if (NULL == making->segment
        || sizeof(making->announced.nonce)
               != getrandom(making->announced.nonce, sizeof(making->announced.nonce), 0)) {
        return;
    }
    making->announced.length = making->segment->file.size;
    making->announced.pid = (int32_t) getpid();
    making->announced.fd = making->segment->file.fd;
    memcpy(making->segment->file.base, &making->announced, sizeof(making->announced));
    memcpy((char *) making->segment->file.base + making->layout.places, making->places,
           (size_t) making->size * sizeof(making->places[0]));
}

/* Map the file at an address of the alignment that is wanted. @return whether it could be done */
static bool map_aligned(making_t *making, int fd)
{
    const size_t length = (size_t) making->announced.length, align = making->layout.align;
    const size_t room = length + align;
    char *area = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *begin;

    if (MAP_FAILED == (void *) area) {
        return false;
    }
    begin = (char *) (((uintptr_t) area + align - 1) & ~(uintptr_t) (align - 1));
    if (MAP_FAILED == mmap(begin, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0)) {
        (void) munmap(area, room);
        return false;
    }
    if (begin > area) {
        (void) munmap(area, (size_t) (begin - area));
    }
    if (area + room > begin + length) {
        (void) munmap(begin + length, (size_t) (area + room - (begin + length)));
    }
    making->base = begin;
    return true;
}

/* Another process may have got the same id or descriptor since: the file has to be the very one. */
static bool open_and_map(making_t *making)
{
    const mca_osc_fastpath_announced_t *announced = &making->announced;
    struct stat status;
    char path[64];
    bool good;
    int fd;

    if (0 == announced->length || announced->length < making->layout.length) {
        return false;
    }
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", announced->pid, announced->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (-1 == fd) {
        return false;
    }
    good = 0 == fstat(fd, &status) && S_ISREG(status.st_mode)
           && (uint64_t) status.st_size == announced->length && map_aligned(making, fd);
    (void) close(fd);
    return good && 0 == memcmp(making->base, announced, sizeof(*announced));
}

/* The pages of the own window, near this process: touched later, they might not be there. */
static bool reserve_own(const making_t *making)
{
    const size_t page = (size_t) opal_getpagesize();
    const mca_osc_fastpath_place_t *place = &making->places[making->rank];
    char *begin = making->base + place->offset / page * page;
    const size_t bytes = (size_t) (making->base + place->offset + place->bytes - begin);

    if (0 == place->bytes || !mca_osc_fastpath_is_allocated(making->module)) {
        return true;
    }
    mca_common_fastpath_place_here(begin, bytes);
    return OPAL_ERR_OUT_OF_RESOURCE != mca_common_fastpath_reserve(begin, bytes);
}

/* Who is here, and what their windows are like; the same for all. @return OMPI_SUCCESS or an error */
static int gather_places(making_t *making, bool failed, opal_info_t *info)
{
    mca_osc_fastpath_module_t *module = making->module;
    mca_osc_fastpath_place_t own = {.bytes = module->bytes,
                                    .disp_unit = module->disp_unit,
                                    .align = mca_osc_fastpath_alignment(info),
                                    .address = (uintptr_t) module->base,
                                    .probe = (uintptr_t) &module->probe,
                                    .rank = (uint32_t) module->rank,
                                    .noncontig = module->noncontig,
                                    .pid = failed ? 0 : (int32_t) getpid()};

    if (sizeof(module->probe.nonce) != getrandom(module->probe.nonce, sizeof(module->probe.nonce), 0)) {
        own.pid = 0;
    }
    memcpy(own.nonce, module->probe.nonce, sizeof(own.nonce));
    making->places = calloc((size_t) making->size, sizeof(own));
    if (NULL == making->places) { /* the others wait in the call below */
        mca_osc_fastpath_no_memory("the places of a window's members");
    }
    return making->comm->c_coll->coll_allgather(&own, (int) sizeof(own), &ompi_mpi_byte.dt, making->places,
                                                (int) sizeof(own), &ompi_mpi_byte.dt, making->comm,
                                                making->comm->c_coll->coll_allgather_module);
}

/* @return whether the kernel copies from and to the memory of all the others. Tried with what only that very
 * process can have there. */
static bool copies(const making_t *making)
{
    uint8_t nonce[MCA_OSC_FASTPATH_NONCE];

    for (int i = 0; i < making->size; ++i) {
        const mca_osc_fastpath_place_t *place = &making->places[i];

        if (i != making->rank
            && (!mca_common_fastpath_process_copy(place->pid, false, nonce, place->probe, sizeof(nonce))
                || 0 != memcmp(nonce, place->nonce, sizeof(nonce))
                || !mca_common_fastpath_process_copy(
                    place->pid, true, nonce, place->probe + offsetof(mca_osc_fastpath_probe_t, written),
                    sizeof(nonce)))) {
            return false;
        }
    }
    return true;
}

/* @return whether nothing has gone wrong anywhere; module.noncontig is the same for all then */
static bool all_good(const making_t *making)
{
    for (int i = 0; i < making->size; ++i) {
        if (0 == making->places[i].pid) {
            return false;
        }
        if (0 == making->places[i].noncontig) {
            making->module->noncontig = false;
        }
    }
    return true;
}

/* Whether memory of this member's may be an accelerator's, of which the kernel makes no copies. What is
 * attached to a dynamic window is not known yet. */
static bool may_be_on_accelerator(const mca_osc_fastpath_module_t *module)
{
    return MPI_WIN_FLAVOR_DYNAMIC == module->flavor ? fastpath_have_accelerator()
                                                    : !fastpath_is_host_memory(module->base);
}

/* @return whether the others may have the kernel copy from and to this member's memory. That of a dynamic
 * window is looked at when it is attached. */
static bool may_copy(const mca_osc_fastpath_module_t *module)
{
    return mca_osc_fastpath_component.single_copy && !mca_osc_fastpath_is_allocated(module)
           && !may_be_on_accelerator(module)
           && (MPI_WIN_FLAVOR_DYNAMIC == module->flavor
               || mca_common_fastpath_process_readable(module->base, module->bytes));
}

/* Make the file here, or open it. @return whether all members have it */
static bool share(making_t *making)
{
    ompi_communicator_t *comm = making->comm;
    int32_t bad[2]; /* file, single copy */

    if (0 == making->rank) {
        make_window_file(making);
    }
    if (OMPI_SUCCESS
        != comm->c_coll->coll_bcast(&making->announced, FASTPATH_COLL_COUNT(sizeof(making->announced)),
                                    &ompi_mpi_byte.dt, 0, comm, comm->c_coll->coll_bcast_module)) {
        return false;
    }
    bad[0] = !open_and_map(making) || !reserve_own(making);
    bad[1] = !may_copy(making->module) || !copies(making);
    if (OMPI_SUCCESS
        != comm->c_coll->coll_allreduce(MPI_IN_PLACE, bad, FASTPATH_COLL_COUNT(2), &ompi_mpi_int32_t.dt,
                                        &ompi_mpi_op_max.op, comm, comm->c_coll->coll_allreduce_module)) {
        return false;
    }
    making->copy = 0 == bad[1];
    return 0 == bad[0];
}

static void take_over_memory(const making_t *making)
{
    mca_osc_fastpath_module_t *module = making->module;
    mca_osc_fastpath_node_t *node = &module->node;

    node->base = making->base;
    node->length = (size_t) making->announced.length;
    node->count = making->size;
    node->index = making->rank;
    node->places = (const mca_osc_fastpath_place_t *) (making->base + making->layout.places);
    node->members = (mca_osc_fastpath_member_t *) (making->base + making->layout.members);
    node->posts = (_Atomic uint32_t *) (making->base + making->layout.posts);
    node->posts_stride = making->layout.posts_stride;
    module->member = &node->members[node->index];
    node->copy = making->copy;
    if (mca_osc_fastpath_is_allocated(module)) {
        node->direct = true;
        module->base = mca_osc_fastpath_node_memory(module, node->index);
    }
}

/* Everything between a communicator of the node and its memory. @return OMPI_SUCCESS or an error */
static int build_memory(making_t *making, bool failed, opal_info_t *info)
{
    bool good;

    making->rank = ompi_comm_rank(making->comm);
    making->size = ompi_comm_size(making->comm);
    if (2 > making->size && MPI_WIN_FLAVOR_SHARED != making->module->flavor) {
        return OMPI_SUCCESS; /* nobody to share with */
    }
    mca_common_fastpath_process_permit();
    if (OMPI_SUCCESS != gather_places(making, failed, info)) {
        return OMPI_ERROR;
    }
    good = all_good(making) && lay_out(making) && share(making);
    if (NULL != making->segment) { /* all who could have mapped it */
        making->segment->super.mpool_finalize(&making->segment->super);
    }
    if (good) {
        take_over_memory(making);
    } else if (NULL != making->base) {
        (void) munmap(making->base, (size_t) making->announced.length);
    }
    return OMPI_SUCCESS;
}

/* A communicator of those who are on this node; the window's own where that is all. */
static int node_comm(making_t *making)
{
    ompi_communicator_t *all = making->module->comm, *part = NULL;
    const int divide = (int) mca_osc_fastpath_component.debug_node;
    int rc;

    making->comm = all;
    if (ompi_group_have_remote_peers(all->c_local_group)) {
        rc = ompi_comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, NULL, &making->comm);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    if (0 < divide) {
        rc = ompi_comm_split(making->comm, ompi_comm_rank(making->comm) / divide, 0, &part, false);
        if (all != making->comm) {
            ompi_comm_free(&making->comm);
        }
        making->comm = part;
        return rc;
    }
    return OMPI_SUCCESS;
}

/* One text for the node. */
static void complain_of_memory(const making_t *making)
{
    if (0 == making->rank) {
        mca_common_fastpath_show_help("help-mpi-osc-fastpath.txt", "no shared memory",
                                      opal_process_info.nodename, making->size,
                                      (unsigned long) making->layout.length);
    }
}

int mca_osc_fastpath_node_make(mca_osc_fastpath_module_t *module, bool failed, opal_info_t *info)
{
    const bool needed = MPI_WIN_FLAVOR_SHARED == module->flavor;
    making_t making = {.module = module};
    int rc;

    module->node.count = 1;
    module->node.members = module->heap_member;
    if (!mca_osc_fastpath_component.shared_memory || (1 == module->size && !needed)) {
        return needed ? OMPI_ERR_RMA_SHARED : OMPI_SUCCESS;
    }
    rc = node_comm(&making);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (needed && ompi_comm_size(making.comm) < module->size) {
        rc = OMPI_ERR_RMA_SHARED;
    } else {
        rc = build_memory(&making, failed, info);
    }
    module->node.everybody =
        mca_osc_fastpath_node_reaches(&module->node) && module->size == module->node.count;
    if (OMPI_SUCCESS == rc && needed && !module->node.direct) {
        complain_of_memory(&making);
        rc = OMPI_ERR_RMA_SHARED;
    }
    free(making.places);
    if (module->comm != making.comm) {
        ompi_comm_free(&making.comm);
    }
    return rc;
}

void mca_osc_fastpath_node_free(mca_osc_fastpath_node_t *node)
{
    if (NULL != node->base) {
        (void) munmap(node->base, node->length);
        node->base = NULL;
    }
}

int mca_osc_fastpath_node_index(const mca_osc_fastpath_node_t *node, int rank)
{
    int low = 0, high = NULL == node->places ? 0 : node->count;

    while (low < high) {
        const int middle = low + (high - low) / 2;

        if ((int) node->places[middle].rank < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL != node->places && low < node->count && rank == (int) node->places[low].rank ? low : -1;
}

/* Without gaps, memory of 0 bytes still has a place between that of others. */
void *mca_osc_fastpath_node_memory(const mca_osc_fastpath_module_t *module, int index)
{
    const mca_osc_fastpath_place_t *place = &module->node.places[index];

    return 0 == place->bytes && module->noncontig ? NULL : module->node.base + place->offset;
}
