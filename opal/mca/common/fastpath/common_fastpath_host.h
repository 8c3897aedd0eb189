/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Whether this is the Open MPI we were built for, and where our help texts are.
 */
#ifndef MCA_COMMON_FASTPATH_HOST_H
#define MCA_COMMON_FASTPATH_HOST_H

#include "opal_config.h"

#include <stdbool.h>
#include <stddef.h>

#include "opal/class/opal_object.h"
#include "opal/mca/mca.h"

/**
 * Check that the running Open MPI is of the series (major.minor) the component was built for, and that its
 * structures have the same sizes.
 *
 * Open MPI's loader does not check this, and its structures differ between series.  Call it first in
 * register(), before anything else of Open MPI's is touched.
 *
 * @return true when they agree; otherwise false, after one line that names the component and what differs.
 * The caller then returns OPAL_ERR_NOT_AVAILABLE, which drops the component.
 */
bool mca_common_fastpath_host_ok(const mca_base_component_t *component);

/** What a structure of Open MPI's is taken to be. */
typedef struct {
    const opal_class_t *type; /**< whose cls_sizeof is that of the running Open MPI */
    size_t size;              /**< of the type that we are compiled with, bytes */
} mca_common_fastpath_layout_t;

/** The layout that we are compiled with, for a table of them. */
#define MCA_COMMON_FASTPATH_LAYOUT(type_)                                                                    \
    {                                                                                                        \
        .type = OBJ_CLASS(type_), .size = sizeof(type_)                                                      \
    }

/**
 * Check that structures have the size here that they had where the component was compiled.
 *
 * Open MPI of one series may be built with other options, and some headers that its own headers need are not
 * installed (compat/shims).  mca_common_fastpath_host_ok() checks those of OPAL's already.
 *
 * @return true when they have; otherwise false, after one line that names component and structure.  The
 * caller then returns OPAL_ERR_NOT_AVAILABLE.
 */
bool mca_common_fastpath_layouts_ok(const mca_base_component_t *component,
                                    const mca_common_fastpath_layout_t *layouts, size_t count);

/**
 * Let opal_show_help() find our help texts: in the directory named by the environment variable
 * FASTPATH_HELP_DIR, if set (a build tree that is not installed), and in the installed one.
 */
void mca_common_fastpath_help_dir(void);

/**
 * Print a help text with error bars, as opal_show_help() does, but from this process itself.
 *
 * Open MPI 4.1 passes help texts of ranks on to mpirun, and about every fourth is lost or garbled on the way
 * when it comes early in MPI_Init (its daemon uses the buffer after giving it away).  What a user must see
 * goes through here.  Open MPI 6.0 does not look at our texts at all, so they are read and formatted here.
 * There is no aggregation: where all processes of a node have the same to say, ask
 * mca_common_fastpath_reporting_rank() first.
 */
void mca_common_fastpath_show_help(const char *file, const char *topic, ...);

/**
 * The same for what some processes have to say, nobody knows which: mpirun makes one text of theirs where it
 * can, which is not in Open MPI 6.0.
 */
void mca_common_fastpath_show_help_once(const char *file, const char *topic, ...);

/**
 * The same for what all processes of the node have to say before each of them ends the job: the reporting
 * rank prints it, and the others wait for a second, so that it has done so before the first of them ends the
 * job.  Returns in all of them.
 */
void mca_common_fastpath_show_help_fatal(const char *file, const char *topic, ...);

/**
 * Whether this process is the one that speaks where all processes of the node have the same to say.
 */
bool mca_common_fastpath_reporting_rank(void);

#endif /* MCA_COMMON_FASTPATH_HOST_H */
