/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_T performance variables. The queues are walked when somebody asks: nothing
 * is counted for them on the data path.
 */
#include "ompi_config.h"

#include "opal/mca/base/mca_base_pvar.h"

#include "pml_fastpath_comm.h"

/* What is summed up over a queue, by rank. */
typedef struct {
    int size;
    unsigned *counts; /* of one of these two */
    size_t *bytes;
} sums_t;

static void count_posted(mca_pml_fastpath_match_post_t *post, void *ctx)
{
    sums_t *sums = ctx;

    if (0 <= post->src && post->src < sums->size) { /* receives from any source belong to no rank */
        ++sums->counts[post->src];
    }
}

static void count_unexpected(mca_pml_fastpath_match_msg_t *msg, void *ctx)
{
    sums_t *sums = ctx;

    if (NULL != sums->counts) {
        ++sums->counts[msg->src];
    } else {
        sums->bytes[msg->src] += mca_pml_fastpath_message_payload(mca_pml_fastpath_message_of(msg));
    }
}

static int get_posted(const mca_base_pvar_t *pvar, void *value, void *comm)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    sums_t sums = {.size = pml_comm->size, .counts = value};

    (void) pvar;
    memset(value, 0, (size_t) sums.size * sizeof(sums.counts[0]));
    OPAL_THREAD_LOCK(&pml_comm->lock);
    mca_pml_fastpath_match_each_posted(&pml_comm->matcher, count_posted, &sums);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return OMPI_SUCCESS;
}

static int get_unexpected(const mca_base_pvar_t *pvar, void *value, void *comm)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath_comm(comm);
    bool bytes = MCA_BASE_VAR_TYPE_UNSIGNED_LONG == pvar->type;
    sums_t sums = {.size = pml_comm->size, .counts = bytes ? NULL : value, .bytes = bytes ? value : NULL};

    memset(value, 0, (size_t) sums.size * (bytes ? sizeof(sums.bytes[0]) : sizeof(sums.counts[0])));
    OPAL_THREAD_LOCK(&pml_comm->lock);
    mca_pml_fastpath_match_each_unexpected(&pml_comm->matcher, count_unexpected, &sums);
    OPAL_THREAD_UNLOCK(&pml_comm->lock);
    return OMPI_SUCCESS;
}

static int get_refused(const mca_base_pvar_t *pvar, void *value, void *object)
{
    (void) pvar;
    (void) object;
    *(unsigned *) value = (unsigned) mca_pml_fastpath.num_retries;
    return OMPI_SUCCESS;
}

/* One value for each rank of the communicator (of its remote group, for an intercommunicator). */
static int per_rank(mca_base_pvar_t *pvar, mca_base_pvar_event_t event, void *comm, int *count)
{
    (void) pvar;
    if (MCA_BASE_PVAR_HANDLE_BIND == event) {
        *count = mca_pml_fastpath_comm(comm)->size;
    }
    return OMPI_SUCCESS;
}

static const struct {
    const char *name;
    const char *text;
    mca_base_var_type_t type;
    int bind;
    mca_base_get_value_fn_t get;
    mca_base_notify_fn_t notify;
} pvars[] = {
    {"posted_recvq_length", "Receives posted for each peer of a communicator and not matched",
     MCA_BASE_VAR_TYPE_UNSIGNED_INT, MPI_T_BIND_MPI_COMM, get_posted, per_rank},
    {"unexpected_msgq_length", "Messages from each peer of a communicator that no receive has matched",
     MCA_BASE_VAR_TYPE_UNSIGNED_INT, MPI_T_BIND_MPI_COMM, get_unexpected, per_rank},
    {"unexpected_msgq_bytes", "Bytes of data that these messages keep here", MCA_BASE_VAR_TYPE_UNSIGNED_LONG,
     MPI_T_BIND_MPI_COMM, get_unexpected, per_rank},
    {"refused_length", "Messages of this process that wait until a transport has room for them",
     MCA_BASE_VAR_TYPE_UNSIGNED_INT, MPI_T_BIND_NO_OBJECT, get_refused, NULL},
};
_Static_assert(sizeof(unsigned long) == sizeof(size_t), "bytes are counted in size_t");

void mca_pml_fastpath_pvar_register(const mca_base_component_t *component)
{
    for (size_t i = 0; i < sizeof(pvars) / sizeof(pvars[0]); ++i) {
        (void) mca_base_component_pvar_register(component, pvars[i].name, pvars[i].text, OPAL_INFO_LVL_4,
                                                MPI_T_PVAR_CLASS_SIZE, pvars[i].type, NULL, pvars[i].bind,
                                                MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
                                                pvars[i].get, NULL, pvars[i].notify, NULL);
    }
}
