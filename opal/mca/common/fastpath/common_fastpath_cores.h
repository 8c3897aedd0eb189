/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How many cores there are for this process and for those that share them with it.
 *
 * Functions of what the kernel says, so that a test can say something else.  docs/waiting.md says what they
 * are for.
 */
#ifndef COMMON_FASTPATH_CORES_H
#define COMMON_FASTPATH_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * The cores that the control groups of this process let it use at a time, those of all processes in the group
 * together: the least of its group's and of all groups above that can be seen.
 *
 * @param root  prefix of all paths: "" for the running system, or a directory with a copy of /proc/self and
 *              of the control groups
 * @return      cores, as a fraction (0.5: every second moment); 0: no limit, or none that can be read
 */
double mca_common_fastpath_cores_quota(const char *root);

/** What somebody may run on. Returns false when that cannot be found out. */
typedef bool (*mca_common_fastpath_cores_mask_fn_t)(void *context, size_t index, cpu_set_t *mask);

/**
 * Says whether there are fewer cores than processes.  Processes are counted that are confined to this one's
 * cores, or to the cores of one that shares a core with it.  So two processes that are bound to one core are
 * short of cores wherever the others are.  A bound process beside an unbound one is not: that one can use
 * other cores.
 *
 * @param own     what this process may run on
 * @param others  further processes, each of which `mask_of` is asked for, perhaps twice; one of whom nothing
 *                is known is not counted
 */
bool mca_common_fastpath_cores_short(const cpu_set_t *own, size_t others,
                                     mca_common_fastpath_cores_mask_fn_t mask_of, void *context);

#endif /* COMMON_FASTPATH_CORES_H */
