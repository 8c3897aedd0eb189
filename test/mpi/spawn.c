/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI_Comm_spawn: one child of the same program, messages of all sizes both ways
 * over the intercommunicator and the merged one, then a clean parting. */

#include "support/fp_test.h"

enum { TAG = 141 };

static void exchange(MPI_Comm comm, int peer, bool first)
{
    for (int i = 0; i < fp_few_size_count; i++) {
        fp_case("%s exchanges %zu bytes", first ? "parent" : "child", fp_few_sizes[i]);
        for (int side = 0; side < 2; side++) {
            if (first == (0 == side)) {
                fp_send(&fp_modes[FP_STANDARD], fp_few_sizes[i], peer, TAG, i, comm);
                fp_send(&fp_modes[FP_SYNCHRONOUS], fp_few_sizes[i], peer, TAG, i, comm);
            } else {
                fp_recv(fp_few_sizes[i], peer, TAG, i, comm);
                fp_recv(fp_few_sizes[i], peer, TAG, i, comm);
            }
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Comm inter, intra;
    bool parent;
    int code = 0, rank;

    fp_init(&argc, &argv, 1);
    FP(MPI_Comm_get_parent(&inter));
    parent = MPI_COMM_NULL == inter;
    fp_case("spawn");
    if (parent) {
        FP(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, &code));
        CHECK_INT(code, MPI_SUCCESS);
    }
    exchange(inter, 0, parent);
    fp_case("merge");
    FP(MPI_Intercomm_merge(inter, !parent, &intra));
    FP(MPI_Comm_rank(intra, &rank));
    CHECK_INT(rank, parent ? 0 : 1);
    exchange(intra, 1 - rank, parent);
    fp_case("part");
    FP(MPI_Comm_free(&intra));
    fp_disconnect(&inter);
    if (!parent) { /* only the parent speaks; a child that failed says so by itself */
        fclose(stdout);
    }
    return fp_finish();
}
