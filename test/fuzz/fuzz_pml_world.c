/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* The PML is linked into the process, with its abort, the search for processes and what they have published
 * replaced. */

#include "fuzz_pml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/pml/base/pml_base_request.h"

#include "ompi/mca/pml/fastpath/pml_fastpath_comm.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_freed.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_handle.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_jobs.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_multi.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_peer.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_sendreq.h"
#include "ompi/mca/pml/fastpath/pml_fastpath_sync.h"

enum { FIRST_ID = 40, IDS = 16, HANDLE_SIZE = 16, MOST_AT_ONCE = 128 };

ompi_communicator_t *world_comm;
bool world_registers;
bool world_helps;

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
    if (!world_is_damaged() || (0 != strcmp("corrupt message", topic) && 0 != strcmp("unreachable", topic))) {
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

bool __wrap_mca_pml_fastpath_jobs_place(const opal_process_name_t *name, mca_pml_fastpath_place_t *place);

/* Some have published nothing, some run here, some elsewhere. */
bool __wrap_mca_pml_fastpath_jobs_place(const opal_process_name_t *name, mca_pml_fastpath_place_t *place)
{
    (void) name;
    *place = *mca_pml_fastpath_place_own();
    place->boot_id[0] ^= (uint8_t) fuzz_below(2);
    return fuzz_one_in(2);
}

/* ---- checks that --break takes away ---- */

void *__wrap_mca_pml_fastpath_handle_hold(mca_pml_fastpath_handle_kind_t kind, uint64_t handle);
void *__real_mca_pml_fastpath_handle_hold(mca_pml_fastpath_handle_kind_t kind, uint64_t handle);
bool __wrap_mca_pml_fastpath_send_request_asked(mca_pml_fastpath_send_request_t *req, uint64_t offset,
                                                uint64_t length, uint8_t flags, uint64_t wanted);
bool __real_mca_pml_fastpath_send_request_asked(mca_pml_fastpath_send_request_t *req, uint64_t offset,
                                                uint64_t length, uint8_t flags, uint64_t wanted);

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
                                                uint64_t length, uint8_t flags, uint64_t wanted)
{
    return __real_mca_pml_fastpath_send_request_asked(req, offset, length, flags, wanted)
           || 0 == strcmp("range", fuzz_broken);
}

/* ---- sends that are waited for ---- */

void __wrap_mca_pml_fastpath_send_request_start(mca_pml_fastpath_send_request_t *req);
void __real_mca_pml_fastpath_send_request_start(mca_pml_fastpath_send_request_t *req);

/* Nobody can wait here. */
void __wrap_mca_pml_fastpath_send_request_start(mca_pml_fastpath_send_request_t *req)
{
    req->req_waits = world_helps && fuzz_one_in(2);
    __real_mca_pml_fastpath_send_request_start(req);
}

static bool ext_has_pid(const struct mca_btl_base_endpoint_t *endpoint)
{
    (void) endpoint;
    return fuzz_one_in(2);
}

static bool ext_write(struct mca_btl_base_endpoint_t *endpoint, const void *local, uint64_t remote,
                      size_t size)
{
    (void) endpoint;
    return !fuzz_one_in(6) && scene_put(remote, local, size);
}

/* Who has said so may be wrong. */
static void ext_copies(struct mca_btl_base_endpoint_t *endpoint, mca_btl_fastsm_copies_t *copies)
{
    (void) endpoint;
    *copies = (mca_btl_fastsm_copies_t){
        .wanted = true, .reads = !fuzz_one_in(6), .writes = !fuzz_one_in(6), .is_read = !fuzz_one_in(6)};
}

static fastsm_fifo_sender_t *ext_sender(struct mca_btl_base_endpoint_t *endpoint)
{
    (void) endpoint;
    return NULL;
}

static void ext_await(mca_btl_base_module_t *btl, uint32_t place, uint64_t name)
{
    (void) btl;
    (void) place;
    (void) name;
}

static bool ext_await_end(mca_btl_base_module_t *btl, uint32_t place, uint64_t name)
{
    (void) btl;
    (void) place;
    (void) name;
    return fuzz_one_in(3);
}

/* Peers say what they like. */
static bool ext_claim(struct mca_btl_base_endpoint_t *endpoint, uint64_t name)
{
    (void) endpoint;
    (void) name;
    return fuzz_one_in(3);
}

static bool ext_is_copying(struct mca_btl_base_endpoint_t *endpoint)
{
    (void) endpoint;
    return fuzz_one_in(3);
}

static bool ext_chunks_are_slow(struct mca_btl_base_endpoint_t *endpoint, size_t size)
{
    (void) endpoint;
    (void) size;
    return fuzz_one_in(3);
}

static bool ext_exchange_is_slow(struct mca_btl_base_endpoint_t *endpoint, size_t size, bool alone)
{
    (void) endpoint;
    (void) size;
    (void) alone;
    return fuzz_one_in(3);
}

static int ext_sendi(struct mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                     const void *payload, size_t payload_size, mca_btl_base_tag_t tag)
{
    const uint64_t words[] = {word0, word1};
    uint8_t bytes[MOST_AT_ONCE];

    if (fuzz_one_in(4)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    memcpy(bytes, words, sizeof(words));
    if (0 < payload_size) {
        memcpy(bytes + sizeof(words), payload, payload_size);
    }
    scene_heard((int) (intptr_t) endpoint, (uint8_t) (tag - MCA_BTL_TAG_PML), bytes,
                sizeof(words) + payload_size);
    return OPAL_SUCCESS;
}

mca_btl_fastsm_handed_t world_handed;

static const mca_btl_fastsm_ext_t ext = {.sendi = ext_sendi,
                                         .sendi_limit = MOST_AT_ONCE,
                                         .has_pid = ext_has_pid,
                                         .chunks_are_slow = ext_chunks_are_slow,
                                         .exchange_is_slow = ext_exchange_is_slow,
                                         .write = ext_write,
                                         .copies = ext_copies,
                                         .handed = &world_handed,
                                         .await = ext_await,
                                         .await_end = ext_await_end,
                                         .claim = ext_claim,
                                         .is_copying = ext_is_copying,
                                         .sender = ext_sender};

/* As if they were reached by btl/fastsm. */
static void peers_help(void)
{
    for (int rank = 1; rank < RANKS; rank++) {
        mca_pml_fastpath_peer_t *peer = mca_pml_fastpath_peer_get(world_procs[rank]);

        if (NULL == peer || !mca_pml_fastpath_peer_reach(peer)) {
            fuzz_fail("no peer");
        }
        peer->ext = &ext;
        OBJ_RELEASE(peer);
    }
}

/* ---- the BTL ---- */

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
    mca_btl_base_module_t *btl = &world_btl;

    btl->btl_rdma_pipeline_send_length = 300;
    btl->btl_rdma_pipeline_frag_size = 700;
    btl->btl_get_limit = btl->btl_put_limit = 1000;
    btl->btl_flags |= MCA_BTL_FLAGS_GET | MCA_BTL_FLAGS_PUT;
    btl->btl_get = btl_get;
    btl->btl_put = btl_put;
    world_link();
}

static void btl_begin(void)
{
    world_registers = fuzz_one_in(3);
    world_btl.btl_register_mem = world_registers ? btl_register : NULL;
    world_btl.btl_deregister_mem = world_registers ? btl_deregister : NULL;
    world_btl.btl_registration_handle_size = world_registers ? HANDLE_SIZE : 0;
}

static void pml_start(void)
{
    static mca_pml_fastpath_multi_limit_t limit = {.name = "played", .limit = 4000};
    mca_pml_fastpath_t *pml = &mca_pml_fastpath;

    pml->send_depth = pml->put_depth = pml->get_depth = 3;
    pml->help_limit = 16;
    pml->fastsm = &world_btl;
    pml->window = 1 << 20;
    pml->window_part = 2000;
    pml->free_list_inc = 8;
    pml->multi_limits = &limit;
    pml->use_get = pml->use_put = pml->use_immediate_send = pml->use_immediate = true;
    pml->spin_count = 1;
    OBJ_CONSTRUCT(&mca_pml_base_send_requests, opal_free_list_t); /* with requests of another PML */
    OBJ_CONSTRUCT(&mca_pml_base_recv_requests, opal_free_list_t);
    mca_pml_fastpath_place_find();
    mca_pml_fastpath_module_init();
    if (OMPI_SUCCESS != mca_pml_fastpath_enable(true)
        || OMPI_SUCCESS != mca_pml_fastpath_callbacks_register()) {
        fuzz_fail("the PML cannot be started");
    }
}

static void heard(int rank, mca_btl_base_tag_t tag, const void *bytes, size_t length)
{
    scene_heard(rank, (uint8_t) (tag - MCA_BTL_TAG_PML), bytes, length);
}

void world_start(int *argc, char ***argv)
{
    world_init(argc, argv, heard);
    btl_start();
    pml_start();
    world_comm = world_comm_new(0);
}

/* All that the last case may have left in the PML goes; what the requests held that it had to leave is lost.
 */
void world_begin(void)
{
    mca_pml_fastpath_t *pml = &mca_pml_fastpath;

    scene_forget();
    pml->use_immediate_recv = false; /* it may have ended while a packet arrived */
    btl_begin();
    mca_pml_fastpath_freed_fini();
    for (int rank = 0; rank < RANKS; rank++) {
        mca_pml_fastpath_peer_forget(world_procs[rank]);
    }
    mca_pml_fastpath_handles_fini(); /* what has not completed is known no more */
    mca_pml_fastpath_multi_fini();
    mca_pml_fastpath_sync_fini();
    if (OMPI_SUCCESS != mca_pml_fastpath_handles_init() || OMPI_SUCCESS != mca_pml_fastpath_multi_init()) {
        fuzz_fail("no table of handles");
    }
    pml->num_multi_limits = fuzz_one_in(2) ? 1 : 0;
    memset((void *) (uintptr_t) pml->comms, 0, sizeof(pml->comms));
    OBJ_CONSTRUCT(&pml->pending, opal_list_t);
    for (int i = 0; i < MCA_PML_FASTPATH_QUEUES; i++) {
        OBJ_CONSTRUCT(&pml->retries[i].retries, opal_list_t);
        pml->retries[i].waited_for = 0;
    }
    pml->num_retries = pml->pending_unanswered = 0;

    opal_pointer_array_set_item(&ompi_mpi_communicators, (int) id, NULL);
    id = IDS + FIRST_ID == id + 1 ? FIRST_ID : id + 1;
    world_comm->c_contextid = id;
    world_comm->c_pml_comm = NULL;
    opal_pointer_array_set_item(&ompi_mpi_communicators, (int) id, world_comm);
    if (OMPI_SUCCESS != mca_pml_fastpath_add_comm(world_comm)) {
        fuzz_fail("no communicator");
    }
    world_helps = fuzz_one_in(2);
    if (world_helps) {
        peers_help();
    }
}

void world_end(void)
{
    (void) mca_pml_fastpath_del_comm(world_comm);
}
