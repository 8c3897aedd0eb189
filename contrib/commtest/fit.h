/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Medians, and the straight line through times.  No function here calls MPI.
 */

#ifndef FASTPATH_COMMTEST_FIT_H
#define FASTPATH_COMMTEST_FIT_H

#include <stdbool.h>

/** Sorts the times, and returns the one in the middle, or the mean of the two there. */
double commtest_median(double *times, int count);

/** What a volume takes: latency_us for each packet, and its bytes at mb_per_s (10^6 bytes a second). */
typedef struct {
    double latency_us;
    double mb_per_s;
} commtest_fit_t;

/**
 * The latency and bandwidth that are nearest to the times of one volume in different numbers of packets:
 * least squares of the relative errors, so that the short times count as much as the long ones.  Returns
 * false where no line goes through them: fewer than two numbers of packets, or a bandwidth that would not be
 * positive.
 */
bool commtest_fit(commtest_fit_t *fit, const int *packets, const double *us, int count, double bytes);

#endif /* FASTPATH_COMMTEST_FIT_H */
