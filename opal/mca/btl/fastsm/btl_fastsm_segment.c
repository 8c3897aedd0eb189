/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Our own segment and those of our peers.
 */

#include "opal_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_process.h"
#include "opal/mca/mpool/base/base.h"
#include "opal/util/output.h"

#include "btl_fastsm.h"
#include "btl_fastsm_segment.h"

/** one message takes no more than this part of the eager pool, */
#define CHUNKS_SHARE 2u
/** and is no longer than this, in bytes, unless it fits into one buffer */
#define CHUNKS_BYTES (256u * 1024)

static uint32_t whole_lines(size_t bytes)
{
    return (uint32_t) ((bytes + MCA_BTL_FASTSM_LINE - 1) / MCA_BTL_FASTSM_LINE * MCA_BTL_FASTSM_LINE);
}

/* What was asked for; 0 where the number of local processes decides. */
static void own_params(mca_btl_fastsm_layout_params_t *params)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const mca_btl_base_module_t *btl = &mca_btl_fastsm_module.super;

    params->n_local = component->n_local;
    params->fifo_depth = component->fifo_depth;
    params->bell_stride = component->bell_stride;
    params->position_stride = component->position_stride;
    params->eager_count = component->eager_buffers;
    params->eager_size =
        component->eager_limit_given ? mca_btl_fastsm_layout_eager_size(btl->btl_eager_limit) : 0;
    params->max_count = component->max_buffers;
    params->max_size = component->max_send_given ? whole_lines(btl->btl_max_send_size) : 0;
    params->ring_depth = component->ring_depth;
    params->dynamic_peers = component->dynamic_peers;
    params->deep_fifos =
        0 > component->deep_fifos ? MCA_BTL_FASTSM_DEEP_FIFOS_SCALED : (uint32_t) component->deep_fifos;
    params->deep_fifo_depth = component->deep_fifo_depth;
}

/* The same with as little as serves; false when that is no less. */
static bool least_params(const mca_btl_fastsm_layout_params_t *params, mca_btl_fastsm_layout_params_t *least)
{
    own_params(least);
    mca_btl_fastsm_layout_min(least);
    mca_btl_fastsm_layout_scale(least, mca_btl_fastsm_component.threads);
    return 0 != memcmp(params, least, sizeof(*least));
}

/* The limits that the layers above read from the module, where the number of local processes decided. */
static void set_limits(const mca_btl_fastsm_layout_params_t *params)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_base_module_t *btl = &mca_btl_fastsm_module.super;

    component->chunks_max = (uint32_t) mca_btl_fastsm_smaller(
        params->eager_count / CHUNKS_SHARE,
        mca_btl_fastsm_smaller(MCA_BTL_FASTSM_CHUNKS_MAX,
                               CHUNKS_BYTES / mca_btl_fastsm_layout_chunk(params)));
    if (0 == component->chunks_max) {
        component->chunks_max = 1;
    }
    mca_btl_fastsm_module.ext.sendi_limit =
        MCA_BTL_FASTSM_HEADER_BYTES + (size_t) component->chunks_max * mca_btl_fastsm_layout_chunk(params);
    mca_btl_fastsm_module.ext.buffers =
        (uint32_t) mca_btl_fastsm_smaller(params->eager_count, params->max_count);
    if (!component->eager_limit_given) {
        btl->btl_eager_limit = mca_btl_fastsm_layout_eager_limit(params);
    }
    if (!component->max_send_given) {
        btl->btl_max_send_size = params->max_size;
    }
    if (btl->btl_rndv_eager_limit > btl->btl_eager_limit) {
        btl->btl_rndv_eager_limit = btl->btl_eager_limit;
    }
}

/* The demand travels in the hints, so that the pool makes exactly what the layout needs.  What senders ring
 * and read is there from the start; FIFOs, buffers and admissions are reserved before their first use. */
static mca_mpool_fastsm_module_t *get_segment(const mca_btl_fastsm_layout_t *layout, bool quiet)
{
    const unsigned long long total = layout->total;
    mca_mpool_base_module_t *pool;
    char hints[128];

    snprintf(hints, sizeof(hints), "mpool=fastsm,segment_size=%llu,reserve=%llu,processes=%u,quiet=%d", total,
             (unsigned long long) layout->admissions, layout->params.n_local, quiet ? 1 : 0);
    pool = mca_mpool_base_module_lookup(hints);
    if (NULL == mca_mpool_fastsm_module(pool)) {
        opal_output_verbose(1, opal_btl_base_framework.framework_output,
                            "btl:fastsm: mpool/fastsm did not make a segment of %llu bytes", total);
        return NULL;
    }
    return mca_mpool_fastsm_module(pool);
}

/* What was asked for, or, where there is no room for that, as little as serves.  Each process decides for
 * itself, by what is free when it looks: peers take the layout from the segment. */
static int make_segment(mca_btl_fastsm_layout_params_t *params)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_layout_params_t least;
    const bool shrinkable = least_params(params, &least);
    const uint64_t wanted = component->layout.total;

    component->segment = get_segment(&component->layout, shrinkable);
    if (NULL == component->segment && shrinkable && 0 == mca_btl_fastsm_layout(&least, &component->layout)) {
        *params = least;
        component->segment = get_segment(&component->layout, false);
        if (NULL != component->segment) {
            opal_output_verbose(
                1, opal_btl_base_framework.framework_output,
                "btl:fastsm: no room for segments of %llu bytes, those of %llu have fewer slots "
                "and buffers",
                (unsigned long long) wanted, (unsigned long long) component->layout.total);
        }
    }
    return NULL == component->segment ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}

/* One text for the node: its processes have the same. */
static void print_memory(void)
{
    const mca_btl_fastsm_layout_t *layout = &mca_btl_fastsm_component.layout;
    const mca_btl_fastsm_layout_params_t *params = &layout->params;
    mca_btl_fastsm_layout_parts_t parts;

    if (!mca_btl_fastsm_component.print_memory || !mca_common_fastpath_reporting_rank()) {
        return;
    }
    mca_btl_fastsm_layout_parts(layout, &parts);
    mca_common_fastpath_show_help(
        MCA_BTL_FASTSM_HELP, "memory", opal_process_info.nodename, params->n_local,
        (unsigned long) parts.fifos, params->fifo_depth, (unsigned long) parts.eager, params->eager_count,
        params->eager_size, (unsigned long) parts.max, params->max_count, params->max_size,
        (unsigned long) parts.deep, params->deep_fifos, params->deep_fifo_depth, (unsigned long) parts.other,
        params->ring_depth, params->dynamic_peers, (unsigned long) layout->total,
        (unsigned long) layout->total * params->n_local);
}

int mca_btl_fastsm_segment_create(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    mca_btl_fastsm_layout_params_t params;
    mca_btl_fastsm_segment_hdr_t *hdr;

    component->n_local = 1 + (uint32_t) opal_process_info.num_local_peers;
    own_params(&params);
    mca_btl_fastsm_layout_scale(&params, component->threads);
    if (0 != mca_btl_fastsm_layout(&params, &component->layout)) {
        if (mca_common_fastpath_reporting_rank()) {
            mca_common_fastpath_show_help(MCA_BTL_FASTSM_HELP, "impossible layout", params.n_local,
                                          params.fifo_depth, params.eager_count, params.eager_size,
                                          params.max_count, params.max_size);
        }
        return OPAL_ERR_BAD_PARAM;
    }

    if (OPAL_SUCCESS != make_segment(&params)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    set_limits(&params);
    component->base = (char *) component->segment->file.base;
    component->me.total = component->segment->file.size;
    component->me.fd = component->segment->file.fd;

    hdr = (mca_btl_fastsm_segment_hdr_t *) component->base;
    hdr->magic = MCA_BTL_FASTSM_SEGMENT_MAGIC;
    hdr->version = MCA_BTL_FASTSM_LAYOUT_VERSION;
    hdr->local_index = component->me.local_index;
    hdr->total = component->layout.total;
    hdr->pid = component->me.pid;
    hdr->params = params;
    memcpy(hdr->nonce, component->me.nonce, sizeof(hdr->nonce));
    print_memory();
    return OPAL_SUCCESS;
}

void mca_btl_fastsm_segment_release(void)
{
    mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    if (NULL != component->segment) {
        component->segment->super.mpool_finalize(&component->segment->super);
    }
    component->segment = NULL;
    component->base = NULL;
}

/* What we map has to be the very segment that was announced: another process may have got the
 * same process id or descriptor number since. */
static const char *check_segment(const mca_btl_fastsm_modex_t *modex, const char *base, bool same_job,
                                 mca_btl_fastsm_layout_t *layout)
{
    mca_btl_fastsm_segment_hdr_t hdr;

    memcpy(&hdr, base, sizeof(hdr));
    if (MCA_BTL_FASTSM_SEGMENT_MAGIC != hdr.magic || MCA_BTL_FASTSM_LAYOUT_VERSION != hdr.version) {
        return "no fastsm segment of this version";
    }
    if (0 != memcmp(hdr.nonce, modex->nonce, sizeof(hdr.nonce))) {
        return "another nonce";
    }
    if (hdr.local_index != modex->local_index
        || (same_job && hdr.params.n_local != mca_btl_fastsm_component.n_local)) {
        return "another numbering of the local processes";
    }
    if (0 != mca_btl_fastsm_layout(&hdr.params, layout) || layout->total != hdr.total
        || layout->total > modex->total) {
        return "a layout that does not fit its length";
    }
    return NULL;
}

enum { FASTSM_PATH_MAX = 64 };

/* A segment without a name: its process is asked for the one behind its descriptor. */
static const char *segment_path(char path[FASTSM_PATH_MAX], int pid, int fd)
{
    snprintf(path, FASTSM_PATH_MAX, "/proc/%d/fd/%d", pid, fd);
    return path;
}

/* A descriptor of a peer's segment, or -1.  The one of a segment with a name stays: the name goes. */
static int open_file(const mca_btl_fastsm_modex_t *modex, const mca_btl_fastsm_endpoint_t *endpoint)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    char named[MCA_MPOOL_FASTSM_PATH_MAX];
    char path[FASTSM_PATH_MAX];

    if (!endpoint->by_name) {
        return open(segment_path(path, modex->pid, modex->fd), O_RDWR | O_CLOEXEC);
    }
    if (-1 != endpoint->name_fd) {
        return endpoint->name_fd;
    }
    component->segment->names->path(named, component->directory.path, modex->name);
    return open(named, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
}

static void close_file(mca_btl_fastsm_endpoint_t *endpoint, int fd, bool keep)
{
    if (endpoint->by_name && keep) {
        endpoint->name_fd = fd;
    } else if (fd != endpoint->name_fd) {
        close(fd);
    }
}

static int open_segment(const mca_btl_fastsm_modex_t *modex, mca_btl_fastsm_endpoint_t *endpoint,
                        const char **why)
{
    struct stat status;
    int fd = open_file(modex, endpoint);

    if (-1 == fd) {
        *why = strerror(errno);
        return -1;
    }
    if (endpoint->by_name && 0 == fstat(fd, &status) && 0 == status.st_size) {
        *why = "there was no room for one with a name";
        close_file(endpoint, fd, false);
        errno = ENOSPC;
        return -1;
    }
    if (0 != fstat(fd, &status) || !S_ISREG(status.st_mode) || (uint64_t) status.st_size != modex->total
        || modex->total < sizeof(mca_btl_fastsm_segment_hdr_t)) {
        *why = "not a file of the announced length";
        close_file(endpoint, fd, false);
        errno = 0;
        return -1;
    }
    endpoint->inode = status.st_ino;
    return fd;
}

/* Free bytes where a peer's segment is; 0 when that cannot be found out. */
static unsigned long free_bytes(const mca_btl_fastsm_endpoint_t *endpoint)
{
    char path[FASTSM_PATH_MAX];
    struct statvfs fs;

    if (0
        != (endpoint->by_name ? fstatvfs(endpoint->name_fd, &fs)
                              : statvfs(segment_path(path, (int) endpoint->pid, endpoint->fd), &fs))) {
        return 0;
    }
    return (unsigned long) fs.f_bavail * fs.f_frsize;
}

void mca_btl_fastsm_shortage(const mca_btl_fastsm_endpoint_t *endpoint, const char *what, size_t bytes)
{
    static char info[] = "btl/fastsm has run out of shared memory";

    mca_common_fastpath_show_help(MCA_BTL_FASTSM_HELP, "shortage", opal_process_info.nodename, what,
                                  (unsigned long) bytes, NULL == endpoint ? 0 : free_bytes(endpoint));
    mca_btl_fastsm_fatal(NULL == endpoint ? NULL : endpoint->proc, info);
}

bool mca_btl_fastsm_segment_alive(const mca_btl_fastsm_endpoint_t *endpoint)
{
    char path[FASTSM_PATH_MAX];
    struct stat status;

    if (endpoint->by_name) { /* who has not been found yet may come */
        return -1 == endpoint->name_fd || mca_btl_fastsm_component.segment->names->held(endpoint->name_fd);
    }
    if (0 == stat(segment_path(path, (int) endpoint->pid, endpoint->fd), &status)) {
        return 0 == endpoint->inode || status.st_ino == endpoint->inode;
    }
    if (ENOENT == errno || ESRCH == errno) {
        return false;
    }
    /* it may not be looked at any more, or has ended, and its parent has not taken notice */
    return !mca_common_fastpath_process_ended(endpoint->pid);
}

int mca_btl_fastsm_segment_attach(const mca_btl_fastsm_modex_t *modex, mca_btl_fastsm_endpoint_t *endpoint,
                                  const char **why)
{
    mca_btl_fastsm_layout_t layout;
    char *base;
    int fd, saved = 0;

    *why = NULL;
    errno = 0;
    fd = open_segment(modex, endpoint, why);
    if (-1 == fd) {
        saved = errno;
        goto err_say;
    }
    base = (char *) mmap(NULL, modex->total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (MAP_FAILED == (void *) base) {
        *why = strerror(errno);
        close_file(endpoint, fd, false);
        goto err_say;
    }
    *why = check_segment(modex, base, NULL == endpoint->dynamic, &layout);
    close_file(endpoint, fd, NULL == *why);
    if (NULL != *why) {
        munmap(base, modex->total);
        goto err_say;
    }

    endpoint->base = base;
    endpoint->size = modex->total;
    endpoint->layout = layout;
    return OPAL_SUCCESS;

err_say:
    if (!endpoint->by_name || ENOENT != saved) { /* a name that is not there yet is looked for again */
        opal_output_verbose(1, opal_btl_base_framework.framework_output,
                            "btl:fastsm: segment of local process %u (pid %d, descriptor %d): %s",
                            modex->local_index, (int) modex->pid, (int) modex->fd, *why);
    }
    errno = saved;
    return OPAL_ERR_UNREACH;
}

void mca_btl_fastsm_segment_detach(mca_btl_fastsm_endpoint_t *endpoint)
{
    if (NULL != endpoint->base) {
        munmap(endpoint->base, endpoint->size);
    }
    endpoint->base = NULL;
    endpoint->size = 0;
    endpoint->pair.other = NULL;
}
