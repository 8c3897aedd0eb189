/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Processes of another job end, and with them the connections to them, while
 * this job goes on: that is not the loss of a peer.  Each child has exchanged
 * messages with each parent.  With "disconnect" they part properly, otherwise
 * the children just end.
 *
 * usage: leave [disconnect] SECONDS    how long the job goes on */

#include "support/fp_test.h"

#include <unistd.h>

enum { TAG = 4, LENGTH = 1000 };

static void exchange(MPI_Comm comm)
{
    int size;

    FP(MPI_Comm_remote_size(comm, &size));
    for (int i = 0; i < size; i++) {
        fp_message_t in, out;

        fp_irecv(&in, LENGTH, i, TAG, 0, comm);
        fp_isend(&out, &fp_modes[FP_STANDARD], LENGTH, i, TAG, 0, comm);
        fp_wait_recv(&in);
        fp_wait_send(&out);
    }
}

int main(int argc, char **argv)
{
    bool disconnect = 1 < argc && 0 == strcmp(argv[1], "disconnect");
    char *arguments[] = {disconnect ? "disconnect" : NULL, NULL};
    int seconds = 1 < argc ? atoi(argv[argc - 1]) : 0;
    MPI_Comm parent, comm;

    fp_init(&argc, &argv, 1);
    FP(MPI_Comm_get_parent(&parent));
    if (MPI_COMM_NULL != parent) {
        comm = parent;
    } else {
        FP(MPI_Comm_spawn(argv[0], arguments, fp_size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm,
                          MPI_ERRCODES_IGNORE));
    }
    fp_case("exchange");
    exchange(comm);
    if (disconnect) {
        FP(MPI_Comm_disconnect(&comm));
    }
    if (MPI_COMM_NULL != parent) {
        sleep(3); /* so that the connections have been noticed by then; nothing depends on it */
        FP(MPI_Finalize());
        return 0;
    }
    fp_case("going on without the children");
    if (0 == fp_rank) {
        for (int i = 1; i < fp_size; i++) {
            FP(MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    } else {
        sleep((unsigned) seconds);
        FP(MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
    }
    return fp_finish();
}
