/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "fit.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

double commtest_median(double *times, int count)
{
    qsort(times, (size_t) count, sizeof(*times), compare);
    return (times[(count - 1) / 2] + times[count / 2]) / 2.0;
}

bool commtest_fit(commtest_fit_t *fit, const int *packets, const double *us, int count, double bytes)
{
    double w = 0.0, wn = 0.0, wnn = 0.0, wt = 0.0, wnt = 0.0, det, copying;

    for (int i = 0; i < count; ++i) {
        double weight = 1.0 / (us[i] * us[i]), n = packets[i];

        w += weight;
        wn += weight * n;
        wnn += weight * n * n;
        wt += weight * us[i];
        wnt += weight * n * us[i];
    }
    det = w * wnn - wn * wn;
    if (count < 2 || !(det > 1e-12 * w * wnn)) {
        return false;
    }
    fit->latency_us = (w * wnt - wn * wt) / det;
    copying = (wnn * wt - wn * wnt) / det; /* microseconds that do not depend on the number of packets */
    fit->mb_per_s = bytes / copying;
    return copying > 0.0 && isfinite(fit->latency_us);
}
