/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <unistd.h>

#include "ompi/attribute/attribute.h"
#include "ompi/runtime/params.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/proc.h"

#include "pml_fastpath_unanswered.h"

/** microseconds; MPI_Finalize pauses as long while it waits for the other processes */
#define PAUSE 100u

static opal_atomic_int32_t unanswered;

/* MPI_Finalize waits for no process of another job, nor for any if it is told so, and with fault tolerance a
 * receiver may have failed. */
static bool is_certain(const mca_pml_fastpath_send_request_t *req)
{
    return !mca_pml_fastpath_ft() && !ompi_async_mpi_finalize
           && opal_proc_local_get()->proc_name.jobid == req->req_peer->proc->super.proc_name.jobid;
}

static int wait_for_answers(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm;
    (void) key;
    (void) value;
    (void) extra;
    while (0 < unanswered) {
        opal_progress();
        usleep(PAUSE);
    }
    return MPI_SUCCESS;
}

/* What Open MPI takes for a function that copies attributes: in 4.1 it has one argument more than MPI's. */
typedef __typeof__(((ompi_attribute_fn_ptr_union_t *) NULL)->attr_communicator_copy_fn) copy_fn_t;

/* An attribute that was set by a callback of MPI_Finalize itself would not be deleted there any more. */
void mca_pml_fastpath_unanswered_expect(void)
{
    const ompi_attribute_fn_ptr_union_t copy = {.attr_communicator_copy_fn =
                                                    (copy_fn_t) (void (*)(void)) MPI_COMM_NULL_COPY_FN};
    const ompi_attribute_fn_ptr_union_t wait = {.attr_communicator_delete_fn = wait_for_answers};
    static opal_atomic_int32_t set = 0;
    int key;

    if (0 != set || OMPI_MPI_STATE_INIT_COMPLETED != ompi_mpi_state || 0 != opal_atomic_swap_32(&set, 1)
        || OMPI_SUCCESS != ompi_attr_create_keyval(COMM_ATTR, copy, wait, &key, NULL, 0, NULL)) {
        return;
    }
    (void) ompi_attr_set_c(COMM_ATTR, &ompi_mpi_comm_self.comm, &ompi_mpi_comm_self.comm.c_keyhash, key, NULL,
                           false);
    (void) ompi_attr_free_keyval(COMM_ATTR, &key, false); /* goes with the attribute */
}

void mca_pml_fastpath_unanswered_begin(const mca_pml_fastpath_send_request_t *req)
{
    if (is_certain(req)) {
        (void) OPAL_THREAD_ADD_FETCH32(&unanswered, 1);
    }
}

void mca_pml_fastpath_unanswered_end(const mca_pml_fastpath_send_request_t *req)
{
    if (is_certain(req)) {
        (void) OPAL_THREAD_ADD_FETCH32(&unanswered, -1);
    }
}
