/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_T performance variables of the queues, read while the queues are known. */

#include "support/fp_test.h"

enum { TAG = 71, MESSAGES = 7, LENGTH = 100, RECEIVES = 5 };

static MPI_T_pvar_session session;

/* Reads the value for rank SRC of a variable that has one for each rank of COMM. */
static unsigned long value_of(const char *name, MPI_Comm comm, int src)
{
    MPI_T_pvar_handle handle;
    MPI_Datatype type;
    unsigned long values[16] = {0};
    int index, count, verbosity, class, bind, readonly, continuous, atomic;

    FP(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_SIZE, &index));
    FP(MPI_T_pvar_get_info(index, NULL, NULL, &verbosity, &class, &type, NULL, NULL, NULL, &bind, &readonly,
                           &continuous, &atomic));
    FP(MPI_T_pvar_handle_alloc(session, index, MPI_T_BIND_MPI_COMM == bind ? &comm : NULL, &handle, &count));
    CHECK_INT(count, MPI_T_BIND_MPI_COMM == bind ? fp_size : 1);
    FP(MPI_T_pvar_read(session, handle, values));
    FP(MPI_T_pvar_handle_free(session, &handle));
    return MPI_UNSIGNED_LONG == type ? values[src] : ((unsigned *) values)[src];
}

static void check(int src, unsigned long posted, unsigned long unexpected)
{
    CHECK_INT(value_of("pml_fastpath_posted_recvq_length", MPI_COMM_WORLD, src), posted);
    CHECK_INT(value_of("pml_fastpath_unexpected_msgq_length", MPI_COMM_WORLD, src), unexpected);
    CHECK_INT(value_of("pml_fastpath_unexpected_msgq_bytes", MPI_COMM_WORLD, src), unexpected * LENGTH);
    CHECK_INT(value_of("pml_fastpath_refused_length", MPI_COMM_WORLD, 0), 0);
}

int main(int argc, char **argv)
{
    fp_message_t receives[RECEIVES];
    int level;

    fp_init(&argc, &argv, 2);
    FP(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    FP(MPI_T_pvar_session_create(&session));
    if (0 == fp_rank) {
        for (int i = 0; i < MESSAGES; i++) {
            fp_send(&fp_modes[FP_STANDARD], LENGTH, 1, TAG, i, MPI_COMM_WORLD);
        }
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
    }
    FP(MPI_T_pvar_session_free(&session));
    FP(MPI_T_finalize());
    return fp_finish();
}
