/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common_fastpath_cores.h"
#include "common_fastpath_groups.h"

/* Reads the first two words of a file of the group. Returns how many there are. */
static int read_words(mca_common_fastpath_groups_t *groups, const char *path, char words[2][32])
{
    FILE *stream = mca_common_fastpath_groups_open(groups, path);
    int count = 0;

    if (NULL != stream) {
        count = fscanf(stream, "%31s %31s", words[0], words[1]);
        fclose(stream);
    }
    return count;
}

/* The limit of the group in cores. */
static double cores_of_group(mca_common_fastpath_groups_t *groups,
                             mca_common_fastpath_groups_version_t version)
{
    char quota[2][32], period[2][32];
    double time, of;

    if (MCA_COMMON_FASTPATH_GROUPS_V2 == version) {
        if (2 != read_words(groups, "/cpu.max", quota)) {
            return HUGE_VAL;
        }
        time = strtod(quota[0], NULL); /* "max" is no number */
        of = strtod(quota[1], NULL);
    } else {
        if (1 > read_words(groups, "/cpu.cfs_quota_us", quota)
            || 1 > read_words(groups, "/cpu.cfs_period_us", period)) {
            return HUGE_VAL;
        }
        time = strtod(quota[0], NULL); /* -1: none */
        of = strtod(period[0], NULL);
    }
    return 0 < time && 0 < of ? time / of : HUGE_VAL;
}

double mca_common_fastpath_cores_quota(const char *root)
{
    const double least = mca_common_fastpath_groups_min(root, "cpu", cores_of_group);

    return HUGE_VAL == least ? 0 : least;
}

/* @return whether everything is in a that is in b */
static bool contains(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;

    CPU_AND(&both, a, b);
    return CPU_EQUAL(&both, b);
}

/* Processes that may run nowhere but on these cores, this one among them. */
static size_t count_within(const cpu_set_t *cores, size_t others, mca_common_fastpath_cores_mask_fn_t mask_of,
                           void *context)
{
    size_t count = 1;
    cpu_set_t mask;

    for (size_t i = 0; i < others; ++i) {
        count += mask_of(context, i, &mask) && contains(cores, &mask);
    }
    return count;
}

bool mca_common_fastpath_cores_short(const cpu_set_t *own, size_t others,
                                     mca_common_fastpath_cores_mask_fn_t mask_of, void *context)
{
    cpu_set_t reach = *own, mask, both;

    if (count_within(own, others, mask_of, context) > (size_t) CPU_COUNT(own)) {
        return true;
    }
    for (size_t i = 0; i < others; ++i) {
        if (mask_of(context, i, &mask)) {
            CPU_AND(&both, own, &mask);
            if (0 < CPU_COUNT(&both)) {
                CPU_OR(&reach, &reach, &mask);
            }
        }
    }
    return !CPU_EQUAL(&reach, own)
           && count_within(&reach, others, mask_of, context) > (size_t) CPU_COUNT(&reach);
}
