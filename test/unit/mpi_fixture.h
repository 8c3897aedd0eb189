/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* MPI of one process, for tests of what takes datatypes: since Open MPI 5.0 those are there with MPI only. */
#ifndef MPI_FIXTURE_H
#define MPI_FIXTURE_H

#include <mpi.h>

#ifdef __SANITIZE_ADDRESS__
/* What Open MPI leaves behind when it ends is not looked for. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

static int begin_mpi(void **state)
{
    (void) state;
    return MPI_SUCCESS == MPI_Init(NULL, NULL) ? 0 : -1;
}

static int end_mpi(void **state)
{
    (void) state;
    return MPI_SUCCESS == MPI_Finalize() ? 0 : -1;
}

#endif /* MPI_FIXTURE_H */
