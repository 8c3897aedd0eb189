/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* The process is a real one, alone in its job and with stock components: Open MPI's lists, datatypes and
 * requests are as ever. The PML is linked into it, with its abort and the search for processes replaced. */

#include "fuzz_pml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/btl/base/base.h"

#include "ompi/group/group.h"
#include "ompi/mca/pml/base/pml_base_request.h"

#include "ompi/mca/pml/fastpath/pml_fastpath_comm.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_former.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_handle.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_peer.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_recvfrag.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_sendreq.h"

enum { FIRST_ID = 40, IDS = 16, HANDLE_SIZE = 16 };

ompi_communicator_t *world_comm;
ompi_proc_t *world_procs[RANKS];
bool world_registers;

static mca_btl_base_component_t btl_component = {.btl_version = {.mca_component_name = "played"}};
static mca_btl_base_module_t btl;
static uint32_t id = FIRST_ID;

/* ---- what the PML must not do itself here ---- */

void __wrap_mca_pml_fastpath_abort(const char *topic, const char *what, const char *reason);
opal_proc_t *__wrap_ompi_proc_for_name(const opal_process_name_t name);
opal_proc_t *__wrap_ompi_proc_lookup(const opal_process_name_t name);

void __wrap_mca_pml_fastpath_abort(const char *topic, const char *what, const char *reason)
{
    if (NULL != getenv("FP_FUZZ_VERBOSE")) {
        fprintf(stderr, "# %s: %s, %s\n", topic, what, reason);
    }
    if (0 != strcmp("corrupt message", topic) && 0 != strcmp("unreachable", topic)) {
        fuzz_fail("the job ends with the text '%s', %s, %s", topic, what, reason);
    }
    fuzz_clean();
}

opal_proc_t *__wrap_ompi_proc_for_name(const opal_process_name_t name)
{
    for (int rank = 0; rank < RANKS; rank++) {
        if (0 == opal_compare_proc(name, world_procs[rank]->super.proc_name)) {
            return &world_procs[rank]->super;
        }
    }
    return NULL;
}

opal_proc_t *__wrap_ompi_proc_lookup(const opal_process_name_t name)
{
    return __wrap_ompi_proc_for_name(name);
}

/* ---- checks that --break takes away ---- */

void *__wrap_mca_pml_fastpath_handle_hold(mca_pml_fastpath_handle_kind_t kind, uint64_t handle);
void *__real_mca_pml_fastpath_handle_hold(mca_pml_fastpath_handle_kind_t kind, uint64_t handle);
bool __wrap_mca_pml_fastpath_send_request_asked(mca_pml_fastpath_send_request_t *req, uint64_t offset,
                                                uint64_t length, bool first, uint64_t wanted);
bool __real_mca_pml_fastpath_send_request_asked(mca_pml_fastpath_send_request_t *req, uint64_t offset,
                                                uint64_t length, bool first, uint64_t wanted);

/* "handle": of any kind, and of any of the first uses. */
void *__wrap_mca_pml_fastpath_handle_hold(mca_pml_fastpath_handle_kind_t kind, uint64_t handle)
{
    void *object = __real_mca_pml_fastpath_handle_hold(kind, handle);

    for (uint64_t i = 0; NULL == object && 0 == strcmp("handle", fuzz_broken) && i < 8; i++) {
        kind = 0 == i % 2 ? MCA_PML_FASTPATH_HANDLE_SEND : MCA_PML_FASTPATH_HANDLE_RECV;
        object = __real_mca_pml_fastpath_handle_hold(kind, (1 + i / 2) << 32 | (uint32_t) handle);
    }
    return object;
}

/* "range": of a PUT. */
bool __wrap_mca_pml_fastpath_send_request_asked(mca_pml_fastpath_send_request_t *req, uint64_t offset,
                                                uint64_t length, bool first, uint64_t wanted)
{
    return __real_mca_pml_fastpath_send_request_asked(req, offset, length, first, wanted)
           || 0 == strcmp("range", fuzz_broken);
}

/* ---- the BTL ---- */

/* A descriptor and its bytes, in memory of exactly that length. */
typedef struct {
    mca_btl_base_descriptor_t base;
    mca_btl_base_segment_t segment;
} frag_t;

static int peer_of(const struct mca_btl_base_endpoint_t *endpoint)
{
    return (int) (intptr_t) endpoint;
}

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

    scene_heard(peer_of(endpoint), (uint8_t) (tag - MCA_BTL_TAG_PML), descriptor->des_segments->seg_addr.pval,
                descriptor->des_segments->seg_len);
    if (0 != (MCA_BTL_DES_SEND_ALWAYS_CALLBACK & flags)) {
        descriptor->des_cbfunc(module, endpoint, descriptor, OPAL_SUCCESS);
    }
    if (0 != (MCA_BTL_DES_FLAGS_BTL_OWNERSHIP & flags)) {
        btl_free(module, descriptor);
    }
    return 1;
}

static int btl_get(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, void *local,
                   uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
                   mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
                   mca_btl_base_rdma_completion_fn_t cbfunc, void *context, void *cbdata)
{
    (void) remote_handle;
    (void) flags;
    (void) order;
    if (fuzz_one_in(8) || !scene_get(remote, local, size)) {
        return OPAL_ERROR;
    }
    cbfunc(module, endpoint, local, local_handle, context, cbdata, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}

static int btl_put(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, void *local,
                   uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
                   mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
                   mca_btl_base_rdma_completion_fn_t cbfunc, void *context, void *cbdata)
{
    (void) remote_handle;
    (void) flags;
    (void) order;
    if (fuzz_one_in(8) || !scene_put(remote, local, size)) {
        return OPAL_ERROR;
    }
    cbfunc(module, endpoint, local, local_handle, context, cbdata, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}

static mca_btl_base_registration_handle_t *btl_register(mca_btl_base_module_t *module,
                                                        struct mca_btl_base_endpoint_t *endpoint, void *base,
                                                        size_t size, uint32_t flags)
{
    (void) module;
    (void) endpoint;
    (void) base;
    (void) size;
    (void) flags;
    return calloc(1, HANDLE_SIZE);
}

static int btl_deregister(mca_btl_base_module_t *module, mca_btl_base_registration_handle_t *handle)
{
    (void) module;
    free(handle);
    return OPAL_SUCCESS;
}

static void btl_start(void)
{
    btl.btl_component = &btl_component;
    btl.btl_eager_limit = 256;
    btl.btl_rndv_eager_limit = 128;
    btl.btl_max_send_size = 512;
    btl.btl_rdma_pipeline_send_length = 300;
    btl.btl_rdma_pipeline_frag_size = 700;
    btl.btl_get_limit = btl.btl_put_limit = 1000;
    btl.btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_GET | MCA_BTL_FLAGS_PUT;
    btl.btl_alloc = btl_alloc;
    btl.btl_free = btl_free;
    btl.btl_prepare_src = btl_prepare_src;
    btl.btl_send = btl_send;
    btl.btl_get = btl_get;
    btl.btl_put = btl_put;
}

static void btl_begin(void)
{
    world_registers = fuzz_one_in(3);
    btl.btl_register_mem = world_registers ? btl_register : NULL;
    btl.btl_deregister_mem = world_registers ? btl_deregister : NULL;
    btl.btl_registration_handle_size = world_registers ? HANDLE_SIZE : 0;
}

static void link_to(mca_bml_base_btl_array_t *array, int rank)
{
    mca_bml_base_btl_t *bml_btl;

    (void) mca_bml_base_btl_array_reserve(array, 1);
    bml_btl = mca_bml_base_btl_array_insert(array);
    bml_btl->btl = &btl;
    bml_btl->btl_endpoint = (struct mca_btl_base_endpoint_t *) (intptr_t) rank;
    bml_btl->btl_flags = btl.btl_flags;
    bml_btl->btl_weight = 1.0f;
}

/* ---- processes ---- */

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
    endpoint->btl_pipeline_send_length = btl.btl_rdma_pipeline_send_length;
    endpoint->btl_max_send_size = btl.btl_max_send_size;
    link_to(&endpoint->btl_eager, rank);
    link_to(&endpoint->btl_send, rank);
    link_to(&endpoint->btl_rdma, rank);
    proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML] = endpoint;
    return proc;
}

static void pml_start(void)
{
    mca_pml_fastpath_t *pml = &mca_pml_fastpath;

    pml->send_depth = pml->put_depth = pml->get_depth = 3;
    pml->window = 1 << 20;
    pml->window_part = 2000;
    pml->free_list_inc = 8;
    pml->use_get = pml->use_put = pml->use_sendi = pml->use_immediate = true;
    pml->looks = 1;
    OBJ_CONSTRUCT(&mca_pml_base_send_requests, opal_free_list_t); /* with requests of another PML */
    OBJ_CONSTRUCT(&mca_pml_base_recv_requests, opal_free_list_t);
    if (OMPI_SUCCESS != mca_pml_fastpath_enable(true)
        || OMPI_SUCCESS != mca_pml_fastpath_recvfrag_register()) {
        fuzz_fail("the PML cannot be started");
    }
}

void world_start(int *argc, char ***argv)
{
    ompi_group_t *group;

    setenv("OMPI_MCA_pml", "ob1", 1);
    setenv("OMPI_MCA_btl", "self", 1);
    setenv("OMPI_MCA_osc", "^rdma", 1);
    MPI_Init(argc, argv);
    btl_start();
    pml_start();
    group = ompi_group_allocate(RANKS);
    for (int rank = 0; rank < RANKS; rank++) {
        world_procs[rank] = process(rank);
        group->grp_proc_pointers[rank] = world_procs[rank];
    }
    group->grp_my_rank = 0;
    ompi_mpi_comm_world.comm.c_local_group->grp_proc_count = RANKS; /* as many as the job seems to have */
    world_comm = OBJ_NEW(ompi_communicator_t);
    world_comm->c_my_rank = 0;
    world_comm->c_local_group = world_comm->c_remote_group = group;
}

/* All that the last case may have left in the PML goes; what the requests held that it had to leave is lost.
 */
void world_begin(void)
{
    mca_pml_fastpath_t *pml = &mca_pml_fastpath;

    scene_forget();
    btl_begin();
    mca_pml_fastpath_former_fini();
    for (int rank = 0; rank < RANKS; rank++) {
        mca_pml_fastpath_peer_forget(world_procs[rank]);
    }
    mca_pml_fastpath_handles_fini(); /* what has not completed is known no more */
    if (OMPI_SUCCESS != mca_pml_fastpath_handles_init()) {
        fuzz_fail("no table of handles");
    }
    memset((void *) (uintptr_t) pml->comms, 0, sizeof(pml->comms));
    OBJ_CONSTRUCT(&pml->orphans, opal_list_t);
    for (int i = 0; i < MCA_PML_FASTPATH_QUEUES; i++) {
        OBJ_CONSTRUCT(&pml->retries[i].retries, opal_list_t);
        pml->retries[i].waited_for = 0;
    }
    pml->num_retries = pml->orphans_unanswered = 0;

    opal_pointer_array_set_item(&ompi_mpi_communicators, (int) id, NULL);
    id = IDS + FIRST_ID == id + 1 ? FIRST_ID : id + 1;
    world_comm->c_contextid = id;
    world_comm->c_pml_comm = NULL;
    opal_pointer_array_set_item(&ompi_mpi_communicators, (int) id, world_comm);
    if (OMPI_SUCCESS != mca_pml_fastpath_add_comm(world_comm)) {
        fuzz_fail("no communicator");
    }
}

void world_end(void)
{
    (void) mca_pml_fastpath_del_comm(world_comm);
}

void world_deliver(uint8_t type, const mca_btl_base_segment_t *segments, size_t count)
{
    mca_btl_active_message_callback_t *reg = &mca_btl_base_active_message_trigger[MCA_BTL_TAG_PML + type];
    mca_btl_base_descriptor_t descriptor = {.des_segments = (mca_btl_base_segment_t *) (uintptr_t) segments,
                                            .des_segment_count = count};

    reg->cbfunc(&btl, (mca_btl_base_tag_t) (MCA_BTL_TAG_PML + type), &descriptor, reg->cbdata);
}
