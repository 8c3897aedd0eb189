/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What the programs do between MPI_Init and MPI_Finalize, with options as on their command lines.  Each is a
 * program of its own, and several.c does some of them in one job: with many ranks on few cores, starting
 * takes longer than measuring.
 */

#ifndef FASTPATH_BENCH_PARTS_H
#define FASTPATH_BENCH_PARTS_H

void bench_allpairs(int argc, char **argv);
void bench_pingpong(int argc, char **argv);
void bench_ragged(int argc, char **argv);
void bench_rings(int argc, char **argv);

#endif /* FASTPATH_BENCH_PARTS_H */
