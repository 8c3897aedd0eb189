/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "fuzz_world.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/base/base.h"

#include "ompi/datatype/ompi_datatype.h"
#include "ompi/group/group.h"

static mca_btl_base_component_t btl_component = {.btl_version = {.mca_component_name = "played"}};
static world_heard_t heard_by_target;

ompi_proc_t *world_procs[RANKS];

/* ---- the BTL ---- */

/* A descriptor and its bytes, in memory of exactly that length. */
typedef struct {
    mca_btl_base_descriptor_t base;
    mca_btl_base_segment_t segment;
} frag_t;

static mca_btl_base_descriptor_t *btl_alloc(mca_btl_base_module_t *module,
                                            struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                            size_t size, uint32_t flags)
{
    frag_t *frag = calloc(1, sizeof(*frag));

    (void) module;
    (void) endpoint;
    frag->segment.seg_addr.pval = malloc(size);
    frag->segment.seg_len = size;
    frag->base.des_segments = &frag->segment;
    frag->base.des_segment_count = 1;
    frag->base.des_flags = flags;
    frag->base.order = order;
    return &frag->base;
}

static int btl_free(mca_btl_base_module_t *module, mca_btl_base_descriptor_t *descriptor)
{
    frag_t *frag = (frag_t *) descriptor;

    (void) module;
    free(frag->segment.seg_addr.pval);
    free(frag);
    return OPAL_SUCCESS;
}

static mca_btl_base_descriptor_t *btl_prepare_src(mca_btl_base_module_t *module,
                                                  struct mca_btl_base_endpoint_t *endpoint,
                                                  struct opal_convertor_t *convertor, uint8_t order,
                                                  size_t reserve, size_t *size, uint32_t flags)
{
    mca_btl_base_descriptor_t *descriptor = btl_alloc(module, endpoint, order, reserve + *size, flags);
    struct iovec iov = {.iov_base = (char *) descriptor->des_segments->seg_addr.pval + reserve,
                        .iov_len = *size};
    uint32_t count = 1;

    (void) opal_convertor_pack(convertor, &iov, &count, size);
    descriptor->des_segments->seg_len = reserve + *size;
    return descriptor;
}

static int btl_send(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    const uint32_t flags = descriptor->des_flags;

    heard_by_target(world_rank_of(endpoint), tag, descriptor->des_segments->seg_addr.pval,
                    descriptor->des_segments->seg_len);
    if (0 != (MCA_BTL_DES_SEND_ALWAYS_CALLBACK & flags)) {
        descriptor->des_cbfunc(module, endpoint, descriptor, OPAL_SUCCESS);
    }
    if (0 != (MCA_BTL_DES_FLAGS_BTL_OWNERSHIP & flags)) {
        btl_free(module, descriptor);
    }
    return 1;
}

mca_btl_base_module_t world_btl = {
    .btl_component = &btl_component,
    .btl_eager_limit = 256,
    .btl_rndv_eager_limit = 128,
    .btl_max_send_size = 512,
    .btl_flags = MCA_BTL_FLAGS_SEND,
    .btl_alloc = btl_alloc,
    .btl_free = btl_free,
    .btl_prepare_src = btl_prepare_src,
    .btl_send = btl_send,
};

void world_arrive(mca_btl_base_tag_t tag, const void *bytes, size_t length, size_t whole)
{
    const mca_btl_active_message_callback_t *reg = &mca_btl_base_active_message_trigger[tag];
    const size_t cut = fuzz_one_in(8) && length > whole ? whole + fuzz_below(length - whole) : length;
    char *first = malloc(cut), *second = malloc(length - cut);
    mca_btl_base_segment_t segments[] = {{.seg_addr.pval = first, .seg_len = cut},
                                         {.seg_addr.pval = second, .seg_len = length - cut}};
    mca_btl_base_descriptor_t descriptor = {.des_segments = segments,
                                            .des_segment_count = cut == length ? 1 : 2};

    memcpy(first, bytes, cut);
    memcpy(second, (const char *) bytes + cut, length - cut);
    reg->cbfunc(&world_btl, tag, &descriptor, reg->cbdata);
    free(first);
    free(second);
}

/* ---- processes ---- */

static void link_to(mca_bml_base_btl_array_t *array, int rank)
{
    mca_bml_base_btl_t *bml_btl;

    (void) mca_bml_base_btl_array_reserve(array, 1);
    bml_btl = mca_bml_base_btl_array_insert(array);
    bml_btl->btl = &world_btl;
    bml_btl->btl_endpoint = (struct mca_btl_base_endpoint_t *) (intptr_t) rank;
    bml_btl->btl_flags = world_btl.btl_flags;
    bml_btl->btl_weight = 1.0f;
}

static ompi_proc_t *process(int rank)
{
    const opal_proc_t *me = opal_proc_local_get();
    mca_bml_base_endpoint_t *endpoint = OBJ_NEW(mca_bml_base_endpoint_t);
    ompi_proc_t *proc = OBJ_NEW(ompi_proc_t);

    proc->super.proc_name = me->proc_name;
    proc->super.proc_name.vpid = (opal_vpid_t) rank;
    proc->super.proc_arch = me->proc_arch;
    proc->super.proc_convertor = ompi_mpi_local_convertor;
    proc->super.proc_hostname = "played"; /* not to be asked for */
    endpoint->btl_proc = proc;
    proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML] = endpoint;
    return proc;
}

void world_link(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        mca_bml_base_endpoint_t *endpoint = world_procs[rank]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML];

        endpoint->btl_pipeline_send_length = world_btl.btl_rdma_pipeline_send_length;
        endpoint->btl_max_send_size = world_btl.btl_max_send_size;
        link_to(&endpoint->btl_eager, rank);
        link_to(&endpoint->btl_send, rank);
        link_to(&endpoint->btl_rdma, rank);
    }
}

ompi_communicator_t *world_comm_new(int rank)
{
    ompi_group_t *group = ompi_group_allocate(RANKS);
    ompi_communicator_t *comm = OBJ_NEW(ompi_communicator_t);

    for (int i = 0; i < RANKS; i++) {
        group->grp_proc_pointers[i] = world_procs[i];
    }
    group->grp_my_rank = rank;
    comm->c_my_rank = rank;
    comm->c_local_group = comm->c_remote_group = group;
    return comm;
}

void world_init(int *argc, char ***argv, world_heard_t heard)
{
    heard_by_target = heard;
    setenv("OMPI_MCA_pml", "ob1", 1);
    setenv("OMPI_MCA_btl", "self", 1);
    setenv("OMPI_MCA_osc", "^rdma,fastpath", 1); /* it may be linked in */
    MPI_Init(argc, argv);
    for (int rank = 0; rank < RANKS; rank++) {
        world_procs[rank] = process(rank);
    }
    ompi_mpi_comm_world.comm.c_local_group->grp_proc_count = RANKS; /* as many as the job seems to have */
}
