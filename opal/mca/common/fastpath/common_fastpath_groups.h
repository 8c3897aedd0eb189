/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * What the control groups of this process allow: those of version 1 and of version 2, its own and all above
 * that can be seen.
 */
#ifndef COMMON_FASTPATH_GROUPS_H
#define COMMON_FASTPATH_GROUPS_H

#include <stdio.h>

typedef enum {
    MCA_COMMON_FASTPATH_GROUPS_V1,
    MCA_COMMON_FASTPATH_GROUPS_V2,
} mca_common_fastpath_groups_version_t;

typedef struct mca_common_fastpath_groups_t mca_common_fastpath_groups_t;

/** Reads the limit of one group; HUGE_VAL: none. */
typedef double (*mca_common_fastpath_groups_limit_fn_t)(mca_common_fastpath_groups_t *groups,
                                                        mca_common_fastpath_groups_version_t version);

/** Opens a file of the group whose limit is asked for, such as "/cpu.max". Returns NULL where it cannot. */
FILE *mca_common_fastpath_groups_open(mca_common_fastpath_groups_t *groups, const char *name);

/**
 * The least limit of the group that this process is in and of all groups above that can be seen.
 *
 * @param root        prefix of all paths: "" for the running system, or a directory with a copy of /proc/self
 *                    and of the control groups
 * @param controller  "cpu", "memory"
 * @param limit_of    is called for each group
 * @return            HUGE_VAL: no limit, or none that can be read
 */
double mca_common_fastpath_groups_min(const char *root, const char *controller,
                                      mca_common_fastpath_groups_limit_fn_t limit_of);

#endif /* COMMON_FASTPATH_GROUPS_H */
