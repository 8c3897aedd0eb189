/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* What a broken test looks like, to test the runner: fails, hangs, crashes,
 * says nothing, or skips, as its argument says.  Rank 1 is the culprit. */

#include "support/fp_test.h"

#include <signal.h>

int main(int argc, char **argv)
{
    const char *what = (1 < argc) ? argv[1] : "";

    fp_init(&argc, &argv, 2);
    fp_case("being bad: %s", what);
    if (0 == strcmp(what, "skip")) {
        fp_skip("because it was asked to");
    }
    if (1 == fp_rank && 0 == strcmp(what, "fail")) {
        CHECK_INT(fp_rank, 0);
    }
    if (1 == fp_rank && 0 == strcmp(what, "hang")) {
        fp_await(0, MPI_COMM_WORLD);
    }
    if (1 == fp_rank && 0 == strcmp(what, "crash")) {
        raise(SIGSEGV);
    }
    if (0 == strcmp(what, "silent")) {
        FP(MPI_Finalize());
        return 0;
    }
    return fp_finish();
}
