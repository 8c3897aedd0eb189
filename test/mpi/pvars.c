/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_T performance variables of the queues, read while the queues are known. */

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"

#include "support/fp_test.h"

enum {
    TAG = 71,
    MESSAGES = 7,
    LENGTH = 100,
    RECEIVES = 5,
    HEADER = 16,       /* bytes of an eager message's */
    RECORD = 128,      /* bytes that a waiting message takes beside its data */
    LIMIT = 16 << 20,  /* pml_fastpath_unexpected_limit */
    RECORD_COST = 160, /* of that, for each message beside its data */
    COST = RECORD_COST + LENGTH,
};

static MPI_T_pvar_session session;

/* Reads the value for rank SRC of a variable that has one for each rank of COMM. */
static unsigned long read_value(const char *name, int class, MPI_Comm comm, int src)
{
    MPI_T_pvar_handle handle;
    MPI_Datatype type;
    unsigned long values[16] = {0};
    int index, count, verbosity, found, bind, readonly, continuous, atomic;

    FP(MPI_T_pvar_get_index(name, class, &index));
    FP(MPI_T_pvar_get_info(index, NULL, NULL, &verbosity, &found, &type, NULL, NULL, NULL, &bind, &readonly,
                           &continuous, &atomic));
    FP(MPI_T_pvar_handle_alloc(session, index, MPI_T_BIND_MPI_COMM == bind ? &comm : NULL, &handle, &count));
    CHECK_INT(count, MPI_T_BIND_MPI_COMM == bind ? fp_size : 1);
    FP(MPI_T_pvar_read(session, handle, values));
    FP(MPI_T_pvar_handle_free(session, &handle));
    return MPI_UNSIGNED_LONG == type ? values[src] : ((unsigned *) values)[src];
}

/* Can a handle be had for a communicator? Open MPI 6.0.0rc2 takes the address of one for the communicator
 * itself (ompit_obj_invalid()) and refuses all. */
static bool binds(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_T_pvar_handle handle;
    int index, count, rc;

    FP(MPI_T_pvar_get_index("pml_fastpath_credit", MPI_T_PVAR_CLASS_LEVEL, &index));
    rc = MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count);
    if (MPI_SUCCESS == rc) {
        FP(MPI_T_pvar_handle_free(session, &handle));
    }
    return MPI_T_ERR_INVALID_HANDLE != rc;
}

static unsigned long value_of(const char *name, MPI_Comm comm, int src)
{
    return read_value(name, MPI_T_PVAR_CLASS_SIZE, comm, src);
}

static unsigned long credit_with(int dst)
{
    return read_value("pml_fastpath_credit", MPI_T_PVAR_CLASS_LEVEL, MPI_COMM_WORLD, dst);
}

static unsigned long max_kept(void)
{
    return read_value("pml_fastpath_kept_bytes_most", MPI_T_PVAR_CLASS_HIGHWATERMARK, MPI_COMM_WORLD, 0);
}

static void check(int src, unsigned long posted, unsigned long unexpected)
{
    CHECK_INT(value_of("pml_fastpath_posted_recvq_length", MPI_COMM_WORLD, src), posted);
    CHECK_INT(value_of("pml_fastpath_unexpected_msgq_length", MPI_COMM_WORLD, src), unexpected);
    CHECK_INT(value_of("pml_fastpath_unexpected_msgq_bytes", MPI_COMM_WORLD, src), unexpected * LENGTH);
    CHECK_INT(value_of("pml_fastpath_refused_length", MPI_COMM_WORLD, 0), 0);
    CHECK_INT(value_of("pml_fastpath_kept_bytes", MPI_COMM_WORLD, 0), unexpected * (RECORD + LENGTH));
}

/* One message that waits for one before it, and one whose communicator is not known: rank 1 pretends
 * that its PML has just been told of the one, and not of the other. */
static void early_and_pending(void)
{
    MPI_Comm early, pending;
    opal_object_t *known[2];

    FP(MPI_Comm_dup(MPI_COMM_WORLD, &early));
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &pending));
    if (0 == fp_rank) {
        fp_send(&fp_modes[FP_STANDARD], LENGTH, 1, TAG, 0, early);
        fp_await(1, MPI_COMM_WORLD);
        fp_send(&fp_modes[FP_STANDARD], LENGTH, 1, TAG, 1, early);
        fp_send(&fp_modes[FP_STANDARD], LENGTH, 1, TAG, 0, pending);
        fp_signal(1, MPI_COMM_WORLD);
    } else if (1 == fp_rank) {
        fp_recv(LENGTH, 0, TAG, 0, early);
        known[0] = (opal_object_t *) early->c_pml_comm;
        known[1] = (opal_object_t *) pending->c_pml_comm;
        CHECK_INT(mca_pml.pml_add_comm(early), OMPI_SUCCESS);
        pending->c_pml_comm = NULL;
        fp_signal(0, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
        CHECK_INT(value_of("pml_fastpath_early_msgq_length", early, 0), 1);
        CHECK_INT(value_of("pml_fastpath_early_msgq_bytes", early, 0), HEADER + LENGTH);
        CHECK_INT(value_of("pml_fastpath_early_msgq_length", MPI_COMM_WORLD, 0), 0);
        CHECK_INT(value_of("pml_fastpath_pending_comm_msgq_length", MPI_COMM_WORLD, 0), 1);
        CHECK_INT(value_of("pml_fastpath_pending_comm_msgq_bytes", MPI_COMM_WORLD, 0), HEADER + LENGTH);
        CHECK_INT(mca_pml.pml_add_comm(pending), OMPI_SUCCESS);
        fp_recv(LENGTH, 0, TAG, 0, pending);
        CHECK_INT(value_of("pml_fastpath_pending_comm_msgq_length", MPI_COMM_WORLD, 0), 0);
        OBJ_RELEASE(known[0]);
        OBJ_RELEASE(known[1]);
    }
    FP(MPI_Comm_free(&pending));
    FP(MPI_Comm_free(&early));
}

/* A message that comes after its communicator was freed. Its sender takes it back. */
static void late(void)
{
    unsigned long value[2] = {0};
    MPI_T_pvar_handle handle;
    fp_message_t message;
    MPI_Comm comm;
    int index, count;

    FP(MPI_T_pvar_get_index("pml_fastpath_freed_comm_messages", MPI_T_PVAR_CLASS_COUNTER, &index));
    FP(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        fp_isend(&message, &fp_modes[FP_STANDARD], LENGTH, 1, TAG, 0, comm);
        FP(MPI_Cancel(&message.request));
        FP(MPI_Wait(&message.request, MPI_STATUS_IGNORE));
        fp_free(message.buffer);
        fp_signal(1, MPI_COMM_WORLD);
    }
    FP(MPI_Comm_free(&comm));
    if (1 == fp_rank) {
        fp_signal(0, MPI_COMM_WORLD);
        fp_await(0, MPI_COMM_WORLD);
        FP(MPI_T_pvar_read(session, handle, value));
        CHECK_INT(value[0], 1);
    }
    FP(MPI_T_pvar_handle_free(session, &handle));
}

/* The first part of a message ends with an element, and costs no more than it has. */
static void first_part(void)
{
    enum { DOUBLES = 100000 };
    double *doubles = calloc(2 * DOUBLES, sizeof(*doubles));
    MPI_Datatype type;

    FP(MPI_Type_vector(DOUBLES, 1, 2, MPI_DOUBLE, &type));
    FP(MPI_Type_commit(&type));
    if (0 == fp_rank) {
        unsigned long credit = credit_with(1);

        FP(MPI_Send(doubles, 1, type, 1, TAG, MPI_COMM_WORLD));
        credit -= credit_with(1);
        CHECK(RECORD_COST < credit);
        CHECK_INT((credit - RECORD_COST) % sizeof(double), 0);
    } else if (1 == fp_rank) {
        FP(MPI_Recv(doubles, 1, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    FP(MPI_Type_free(&type));
    free(doubles);
}

/* Memory of unexpected messages that have been received is used for the next ones. They are eager with each
 * eager limit that testlist sets: the sender need not wait for a receive, whatever else is in the segment. */
static void spare(void)
{
    enum { MANY = 20, LONG = 3000, BLOCK = LONG + LONG / 4, ROUNDS = 3 };

    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; 0 == fp_rank && i < MANY; i++) {
            fp_send(&fp_modes[FP_STANDARD], LONG, 1, TAG, i, MPI_COMM_WORLD);
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
        if (1 == fp_rank) {
            unsigned long kept = value_of("pml_fastpath_unexpected_msgq_bytes", MPI_COMM_WORLD, 0), now;

            for (int i = 0; i < MANY; i++) {
                fp_recv(LONG, 0, TAG, i, MPI_COMM_WORLD);
            }
            now = value_of("pml_fastpath_spare_bytes", MPI_COMM_WORLD, 0);
            CHECK(0 < kept && kept <= now && now <= MANY * BLOCK);
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv)
{
    fp_message_t receives[RECEIVES];
    int level;

    fp_init(&argc, &argv, 2);
    FP(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    FP(MPI_T_pvar_session_create(&session));
    if (!binds()) {
        fp_skip("this Open MPI takes no communicator for a variable that has a value for each (6.0.0rc2)");
    }
    if (0 == fp_rank) {
        unsigned long credit = credit_with(1);

        CHECK(LIMIT >= credit && LIMIT / 2 < credit);
        for (int i = 0; i < MESSAGES; i++) {
            fp_send(&fp_modes[FP_STANDARD], LENGTH, 1, TAG, i, MPI_COMM_WORLD);
        }
        CHECK_INT(credit_with(1), credit - MESSAGES * COST);
        fp_signal(1, MPI_COMM_WORLD);
        fp_await(1, MPI_COMM_WORLD);
        for (int i = 0; i < RECEIVES; i++) {
            fp_send(&fp_modes[FP_STANDARD], LENGTH, 1, TAG + 1, i, MPI_COMM_WORLD);
        }
    } else if (1 == fp_rank) {
        fp_await(0, MPI_COMM_WORLD);
        check(0, 0, MESSAGES);
        fp_recv(LENGTH, 0, TAG, 0, MPI_COMM_WORLD);
        check(0, 0, MESSAGES - 1);
        for (int i = 0; i < RECEIVES; i++) {
            fp_irecv(&receives[i], LENGTH, 0, TAG + 1, i, MPI_COMM_WORLD);
        }
        check(0, RECEIVES, MESSAGES - 1);
        fp_signal(0, MPI_COMM_WORLD);
        for (int i = 0; i < RECEIVES; i++) {
            fp_wait_recv(&receives[i]);
        }
        for (int i = 1; i < MESSAGES; i++) {
            fp_recv(LENGTH, 0, TAG, i, MPI_COMM_WORLD);
        }
        check(0, 0, 0);
        CHECK(max_kept() >= MESSAGES * (RECORD + LENGTH));
    }
    fp_case("messages that wait for others or for their communicator");
    early_and_pending();
    fp_case("messages that come late");
    late();
    fp_case("first part of a message");
    first_part();
    fp_case("memory of unexpected messages");
    spare();
    FP(MPI_T_pvar_session_free(&session));
    FP(MPI_T_finalize());
    return fp_finish();
}
