/* -*- Mode: C; c-basic-offset:4 ; indent-tabs-mode:nil -*- */
/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "opal_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "opal/constants.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/util/proc.h"
#include "opal/util/sys_limits.h"

#include "mpool_fastsm.h"

#define FASTSM_HELP "help-mpool-fastsm.txt"

static void *mpool_fastsm_base(mca_mpool_base_module_t *module);
static void *mpool_fastsm_alloc(mca_mpool_base_module_t *module, size_t size, size_t align, uint32_t flags);
static void *mpool_fastsm_realloc(mca_mpool_base_module_t *module, void *addr, size_t size);
static void mpool_fastsm_free(mca_mpool_base_module_t *module, void *addr);
static void mpool_fastsm_finalize(mca_mpool_base_module_t *module);

/**
 * Makes the nameless file: no name, so nothing can be left behind however
 * the processes end, and no peer can shorten it under our feet.
 *
 * @return a descriptor, or -1 with errno set and *what naming the call that failed
 */
static int segment_file(size_t size, const char **what)
{
    struct rlimit limit;
    int saved, fd;

    *what = "memfd_create";
    fd = memfd_create("fastsm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (-1 == fd) {
        return -1;
    }

    /* beyond this limit ftruncate would end the process by SIGXFSZ */
    *what = "ftruncate";
    if (0 == getrlimit(RLIMIT_FSIZE, &limit) && RLIM_INFINITY != limit.rlim_cur && size > limit.rlim_cur) {
        errno = EFBIG;
        goto err_close;
    }
    if (0 != ftruncate(fd, (off_t) size)) {
        goto err_close;
    }

    *what = "fcntl(F_ADD_SEALS)";
    if (0 != fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
        goto err_close;
    }
    return fd;

err_close:
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int segment_map(mca_mpool_fastsm_module_t *module)
{
    const char *what = NULL;

    module->fd = segment_file(module->size, &what);
    if (-1 != module->fd) {
        what = "mmap";
        module->base = mmap(NULL, module->size, PROT_READ | PROT_WRITE, MAP_SHARED, module->fd, 0);
        if (MAP_FAILED != module->base) {
            return OPAL_SUCCESS;
        }
    }

    mca_common_fastpath_show_help(FASTSM_HELP, "segment failed", opal_process_info.nodename,
                                  (unsigned long) module->size, what, strerror(errno));
    if (-1 != module->fd) {
        close(module->fd);
    }
    return OPAL_ERR_OUT_OF_RESOURCE;
}

int mca_mpool_fastsm_module_create(size_t size, mca_mpool_fastsm_module_t **result)
{
    mca_mpool_fastsm_component_t *component = &mca_mpool_fastsm_component;
    mca_mpool_fastsm_module_t *module;
    mca_mpool_fastsm_segment_t *item;

    if (0 != component->max_size && size > component->max_size) {
        /* processes of a job need the same */
        if (mca_common_fastpath_speaker()) {
            mca_common_fastpath_show_help(FASTSM_HELP, "segment too large", opal_process_info.nodename,
                                          (unsigned long) size, (unsigned long) component->max_size);
        }
        return OPAL_ERR_OUT_OF_RESOURCE;
    }

    module = (mca_mpool_fastsm_module_t *) calloc(1, sizeof(*module));
    item = OBJ_NEW(mca_mpool_fastsm_segment_t);
    if (NULL == module || NULL == item) {
        goto err_free;
    }

    module->size = size < component->min_size ? component->min_size : size;
    if (0 != component->max_size && module->size > component->max_size) {
        module->size = component->max_size;
    }
    if (OPAL_SUCCESS != segment_map(module)) {
        goto err_free;
    }

    module->magic = MCA_MPOOL_FASTSM_MAGIC;
    module->item = item;
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

static void *mpool_fastsm_base(mca_mpool_base_module_t *module)
{
    return ((mca_mpool_fastsm_module_t *) module)->base;
}

/* A segment serves one allocation.  Its user either lays it out himself, as the BTL does through
 * `base`, or wanted one piece of shared memory, as MPI_Alloc_mem does. */
static void *mpool_fastsm_alloc(mca_mpool_base_module_t *module, size_t size, size_t align, uint32_t flags)
{
    mca_mpool_fastsm_module_t *derived = (mca_mpool_fastsm_module_t *) module;
    void *result = NULL;

    (void) flags;
    OPAL_THREAD_LOCK(&mca_mpool_fastsm_component.lock);
    if (!derived->taken && size <= derived->size && align <= module->mpool_allocation_unit) {
        derived->taken = true;
        result = derived->base;
    }
    OPAL_THREAD_UNLOCK(&mca_mpool_fastsm_component.lock);
    return result;
}

static void *mpool_fastsm_realloc(mca_mpool_base_module_t *module, void *addr, size_t size)
{
    return size <= ((mca_mpool_fastsm_module_t *) module)->size ? addr : NULL;
}

/* Nobody can allocate from this segment again, because every lookup makes a new one. */
static void mpool_fastsm_free(mca_mpool_base_module_t *module, void *addr)
{
    (void) addr;
    mpool_fastsm_finalize(module);
}

static void mpool_fastsm_finalize(mca_mpool_base_module_t *module)
{
    mca_mpool_fastsm_component_t *component = &mca_mpool_fastsm_component;
    mca_mpool_fastsm_module_t *derived = (mca_mpool_fastsm_module_t *) module;
    mca_mpool_fastsm_segment_t *item = (mca_mpool_fastsm_segment_t *) derived->item;

    OPAL_THREAD_LOCK(&component->lock);
    opal_list_remove_item(&component->segments, &item->super);
    OPAL_THREAD_UNLOCK(&component->lock);

    munmap(derived->base, derived->size);
    close(derived->fd);
    OBJ_RELEASE(item);
    free(derived);
}
