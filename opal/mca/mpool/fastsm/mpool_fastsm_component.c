/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "opal_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "opal/constants.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_param.h"
#include "opal/util/argv.h"

#include "mpool_fastsm.h"

/** what a hint string asks for */
typedef struct {
    bool addressed; /**< mpool=fastsm is among the hints */
    /** size is 0 when it is not given or no number; all of it is reserved if nothing else is said */
    mca_mpool_fastsm_demand_t demand;
} fastsm_hints_t;

OBJ_CLASS_INSTANCE(mca_mpool_fastsm_segment_t, opal_list_item_t, NULL, NULL);

/* Who has little memory says max_size. */
static void check_sizes(mca_mpool_fastsm_component_t *component)
{
    char used[32];

    if (0 != component->max_size && component->min_size > component->max_size) {
        snprintf(used, sizeof(used), "%zu", component->max_size);
        mca_common_fastpath_param_refuse(&component->super.mpool_version, "min_size",
                                         "not more than mpool_fastsm_max_size", used);
        component->min_size = component->max_size;
    }
}

static int mpool_fastsm_register(void)
{
    mca_mpool_fastsm_component_t *component = &mca_mpool_fastsm_component;
    const mca_common_fastpath_param_t table[] = {
        {"min_size", MCA_COMMON_FASTPATH_SIZE, OPAL_INFO_LVL_5, &component->min_size, 0, 0, UINT64_C(1) << 46,
         .text = "Smallest shared segment in bytes, even if less is needed; at most mpool_fastsm_max_size. "
                 "btl_fastsm_print_memory and fastpath-memory say what is needed"},
        {"max_size", MCA_COMMON_FASTPATH_SIZE, OPAL_INFO_LVL_4, &component->max_size, 0, 0, UINT64_C(1) << 46,
         .zero = "no limit",
         .text =
             "Largest shared segment in bytes, of a process for its messages, and of a node for a window; what "
             "needs more does without shared memory. 0: no limit"},
        {"backing", MCA_COMMON_FASTPATH_STRING, OPAL_INFO_LVL_4, &component->backing,
         .string = "memfd,/dev/shm,/tmp",
         .text = "Where shared segments are: a list, separated by commas, of directories and the word memfd, "
                 "which is memory without a file system. The first that works and is large enough is used"},
        {"reserve_all", MCA_COMMON_FASTPATH_BOOL, OPAL_INFO_LVL_5, &component->reserve_all, false,
         .text =
             "Allocate all pages of a segment at start, so that a shortage shows there. Otherwise they are "
             "allocated region by region, just before a region's first use"},
    };
    int rc;

    if (!mca_common_fastpath_host_ok(&component->super.mpool_version)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    mca_common_fastpath_help_dir();

    rc = mca_common_fastpath_param_register(&component->super.mpool_version, table,
                                            sizeof(table) / sizeof(table[0]));
    check_sizes(component);
    return rc;
}

static int mpool_fastsm_open(void)
{
    OBJ_CONSTRUCT(&mca_mpool_fastsm_component.segments, opal_list_t);
    OBJ_CONSTRUCT(&mca_mpool_fastsm_component.lock, opal_mutex_t);
    return OPAL_SUCCESS;
}

/* The framework does not know our modules, so whatever its users left is ours to release. */
static int mpool_fastsm_close(void)
{
    mca_mpool_fastsm_component_t *component = &mca_mpool_fastsm_component;

    while (!opal_list_is_empty(&component->segments)) {
        mca_mpool_fastsm_segment_t *item =
            (mca_mpool_fastsm_segment_t *) opal_list_get_first(&component->segments);

        item->module->super.mpool_finalize(&item->module->super);
    }

    OBJ_DESTRUCT(&component->segments);
    OBJ_DESTRUCT(&component->lock);
    return OPAL_SUCCESS;
}

static size_t parse_size(const char *text)
{
    unsigned long long value;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (0 != errno || end == text || '\0' != *end || '-' == *text) {
        return 0;
    }
    return (size_t) value;
}

/* Hints are "key=value" separated by commas; those we do not know are no business of ours. */
static int parse_hints(const char *hints, fastsm_hints_t *result)
{
    char **argv = opal_argv_split(hints, ',');

    memset(result, 0, sizeof(*result));
    result->demand.reserve = SIZE_MAX;
    result->demand.processes = 1;
    if (NULL == argv) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }

    for (int i = 0; NULL != argv[i]; ++i) {
        char *value = strchr(argv[i], '=');

        if (NULL == value) {
            continue;
        }
        *value++ = '\0';
        if (0 == strcasecmp("mpool", argv[i])) {
            result->addressed = (0 == strcasecmp("fastsm", value));
        } else if (0 == strcasecmp("segment_size", argv[i])) {
            result->demand.size = parse_size(value);
        } else if (0 == strcasecmp("reserve", argv[i])) {
            result->demand.reserve = parse_size(value);
        } else if (0 == strcasecmp("processes", argv[i])) {
            result->demand.processes = (unsigned) parse_size(value);
        } else if (0 == strcasecmp("quiet", argv[i])) {
            result->demand.quiet = 0 != parse_size(value);
        }
    }

    opal_argv_free(argv);
    return OPAL_SUCCESS;
}

/**
 * Answers hints that name us and a size, each time with a segment of its own.
 *
 * Everybody in the process asks here: MPI_Alloc_mem passes its info key
 * mpool_hints on as it is.  "mpool=fastsm" without a size is declined, and
 * MPI_Alloc_mem then uses ordinary memory.
 */
static int mpool_fastsm_query(const char *hints, int *priority, mca_mpool_base_module_t **module)
{
    mca_mpool_fastsm_module_t *derived = NULL;
    fastsm_hints_t parsed;
    int rc;

    if (NULL == hints) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    rc = parse_hints(hints, &parsed);
    if (OPAL_SUCCESS != rc) {
        return rc;
    }
    if (!parsed.addressed || 0 == parsed.demand.size || NULL == module) {
        return OPAL_ERR_NOT_AVAILABLE;
    }

    rc = mca_mpool_fastsm_module_create(&parsed.demand, &derived);
    if (OPAL_SUCCESS != rc) {
        return rc;
    }

    *module = &derived->super;
    if (NULL != priority) {
        *priority = 100;
    }
    return OPAL_SUCCESS;
}

mca_mpool_fastsm_component_t mca_mpool_fastsm_component = {
    .super =
        {
            .mpool_version =
                {
                    MCA_MPOOL_BASE_VERSION_3_1_0,

                    .mca_component_name = "fastsm",
                    MCA_BASE_MAKE_VERSION(component, OPAL_MAJOR_VERSION, OPAL_MINOR_VERSION,
                                          OPAL_RELEASE_VERSION),
                    .mca_open_component = mpool_fastsm_open,
                    .mca_close_component = mpool_fastsm_close,
                    .mca_register_component_params = mpool_fastsm_register,
                },
            .mpool_data = {.param_field = MCA_BASE_METADATA_PARAM_NONE},
            .mpool_query = mpool_fastsm_query,
        },
};
