/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "opal_config.h"

#include <errno.h>
#include <stdlib.h>

#include "opal/constants.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/util/argv.h"
#include "opal/util/proc.h"
#include "opal/util/sys_limits.h"

#include "mpool_fastsm.h"

#define FASTSM_HELP "help-mpool-fastsm.txt"

static void take_name(mca_mpool_fastsm_module_t *module)
{
    mca_mpool_fastsm_name_take(&module->file);
}

static const mca_mpool_fastsm_names_t names = {
    .directory = mca_mpool_fastsm_name_directory,
    .path = mca_mpool_fastsm_name_path,
    .give = mca_mpool_fastsm_name_give,
    .take = take_name,
    .held = mca_mpool_fastsm_name_held,
};

/* What is missing is missing for all processes of the node, as a rule, so one of them speaks; unless it is
 * something that each has of its own. */
static void complain_of_shortage(const mca_mpool_fastsm_demand_t *demand, const char *tried, bool own)
{
    if (!demand->quiet && (own || mca_common_fastpath_reporting_rank())) {
        mca_common_fastpath_show_help(FASTSM_HELP, "segment failed", opal_process_info.nodename,
                                      (unsigned long) demand->size, demand->processes,
                                      (unsigned long) demand->size * demand->processes, tried);
    }
}

/* The first place that works. */
static int make_segment_file(const mca_mpool_fastsm_demand_t *demand, mca_mpool_fastsm_file_t *file)
{
    const char *backing = mca_mpool_fastsm_component.backing; /* Open MPI makes NULL of an empty one */
    char **places = opal_argv_split(backing, ',');
    const size_t first = demand->reserve < demand->size ? demand->reserve : demand->size;
    int rc = OPAL_ERR_OUT_OF_RESOURCE;
    bool own = false;
    char *tried;

    if (0 > asprintf(&tried, "         nothing, mpool_fastsm_backing is \"%s\"",
                     NULL == backing ? "" : backing)) {
        tried = NULL;
    }
    for (int i = 0; NULL != tried && NULL != places && NULL != places[i]; ++i) {
        char *more = NULL;

        rc = mca_mpool_fastsm_file_make(file, places[i], demand->size, first,
                                        (uint64_t) demand->size * demand->processes);
        if (OPAL_SUCCESS == rc) {
            break;
        }
        own = own || EMFILE == errno;
        if (0 > asprintf(&more, "%s\n  %s: %s", 0 == i ? "" : tried, places[i], file->why)) {
            more = NULL;
        }
        free(tried);
        tried = more;
    }
    if (OPAL_SUCCESS != rc) {
        complain_of_shortage(demand, NULL == tried ? "" : tried, own);
    }
    free(tried);
    opal_argv_free(places);
    return rc;
}

/* The demand within the limits that parameters set. */
static int limited(const mca_mpool_fastsm_demand_t *demand, mca_mpool_fastsm_demand_t *result)
{
    const mca_mpool_fastsm_component_t *component = &mca_mpool_fastsm_component;

    *result = *demand;
    if (0 != component->max_size && demand->size > component->max_size) {
        /* processes of a job need the same */
        if (!demand->quiet && mca_common_fastpath_reporting_rank()) {
            mca_common_fastpath_show_help(FASTSM_HELP, "segment too large", opal_process_info.nodename,
                                          (unsigned long) demand->size, (unsigned long) component->max_size);
        }
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (result->size < component->min_size) {
        result->size = component->min_size;
    }
    return OPAL_SUCCESS;
}

static void *mpool_fastsm_base(mca_mpool_base_module_t *module)
{
    return ((mca_mpool_fastsm_module_t *) module)->file.base;
}

/* A segment serves one allocation.  Its user either lays it out himself, as the BTL does through
 * `base`, or wanted one piece of shared memory, as MPI_Alloc_mem does.  That one takes ordinary memory after
 * a refusal and forgets the module, so the segment ends here; only the module itself stays. */
static void *mpool_fastsm_alloc(mca_mpool_base_module_t *module, size_t size, size_t align, uint32_t flags)
{
    mca_mpool_fastsm_module_t *derived = (mca_mpool_fastsm_module_t *) module;
    void *result = NULL;

    (void) flags;
    OPAL_THREAD_LOCK(&mca_mpool_fastsm_component.lock);
    if (!derived->taken && size <= derived->file.size && align <= module->mpool_allocation_unit) {
        derived->taken = true;
        result = derived->file.base;
    } else if (!derived->taken) {
        derived->taken = true; /* there is nothing left to hand out */
        mca_mpool_fastsm_file_end(&derived->file);
    }
    OPAL_THREAD_UNLOCK(&mca_mpool_fastsm_component.lock);
    return result;
}

static void *mpool_fastsm_realloc(mca_mpool_base_module_t *module, void *addr, size_t size)
{
    return size <= ((mca_mpool_fastsm_module_t *) module)->file.size ? addr : NULL;
}

static void mpool_fastsm_finalize(mca_mpool_base_module_t *module)
{
    mca_mpool_fastsm_component_t *component = &mca_mpool_fastsm_component;
    mca_mpool_fastsm_module_t *derived = (mca_mpool_fastsm_module_t *) module;
    mca_mpool_fastsm_segment_t *item = (mca_mpool_fastsm_segment_t *) derived->item;

    OPAL_THREAD_LOCK(&component->lock);
    opal_list_remove_item(&component->segments, &item->super);
    OPAL_THREAD_UNLOCK(&component->lock);

    mca_mpool_fastsm_file_end(&derived->file);
    OBJ_RELEASE(item);
    free(derived);
}

/* Nobody can allocate from this segment again, because every lookup makes a new one. */
static void mpool_fastsm_free(mca_mpool_base_module_t *module, void *addr)
{
    (void) addr;
    mpool_fastsm_finalize(module);
}

int mca_mpool_fastsm_module_create(const mca_mpool_fastsm_demand_t *demand,
                                   mca_mpool_fastsm_module_t **result)
{
    mca_mpool_fastsm_component_t *component = &mca_mpool_fastsm_component;
    mca_mpool_fastsm_demand_t usable;
    mca_mpool_fastsm_module_t *module;
    mca_mpool_fastsm_segment_t *item;

    if (OPAL_SUCCESS != limited(demand, &usable)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    module = (mca_mpool_fastsm_module_t *) calloc(1, sizeof(*module));
    item = OBJ_NEW(mca_mpool_fastsm_segment_t);
    if (NULL == module || NULL == item) {
        goto err_free;
    }
    if (OPAL_SUCCESS != make_segment_file(&usable, &module->file)) {
        goto err_free;
    }

    module->magic = MCA_MPOOL_FASTSM_MAGIC;
    module->item = item;
    module->names = &names;
    module->super.mpool_component = &component->super;
    module->super.mpool_base = mpool_fastsm_base;
    module->super.mpool_alloc = mpool_fastsm_alloc;
    module->super.mpool_realloc = mpool_fastsm_realloc;
    module->super.mpool_free = mpool_fastsm_free;
    module->super.mpool_finalize = mpool_fastsm_finalize;
    module->super.mpool_allocation_unit = opal_getpagesize();

    item->module = module;
    OPAL_THREAD_LOCK(&component->lock);
    opal_list_append(&component->segments, &item->super);
    OPAL_THREAD_UNLOCK(&component->lock);

    *result = module;
    return OPAL_SUCCESS;

err_free:
    if (NULL != item) {
        OBJ_RELEASE(item);
    }
    free(module);
    return OPAL_ERR_OUT_OF_RESOURCE;
}
