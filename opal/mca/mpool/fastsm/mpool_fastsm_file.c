/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The file behind a segment.  It has no name, wherever it is: nothing can be left behind however the
 * processes end, and nobody can have put something else under its name before.  Peers open it as
 * /proc/PID/fd/FD.  Those that may not do that are given a name for a short time (mpool_fastsm_name.c).
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "opal_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "opal/constants.h"
#include "opal/mca/common/fastpath/common_fastpath_memory.h"

#include "mpool_fastsm.h"

static int failed(mca_mpool_fastsm_file_t *file, const char *what)
{
    snprintf(file->why, sizeof(file->why), "%s: %s", what, strerror(errno));
    return OPAL_ERR_OUT_OF_RESOURCE;
}

/* Memory that is not there is no error when it is taken: the kernel ends some process then. A disk would have
 * room for more than memory, at its own speed. */
static int check_memory(mca_mpool_fastsm_file_t *file, uint64_t wanted)
{
    const uint64_t available = mca_common_fastpath_memory_available("");

    if (available < wanted) {
        snprintf(file->why, sizeof(file->why), "%llu bytes of memory are available",
                 (unsigned long long) available);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return OPAL_SUCCESS;
}

/* Pages are taken later, one after the other; so whether there are enough is asked before. Processes that ask
 * at a time are told the same, and what they ask for is what all of them need. */
static int check_free(mca_mpool_fastsm_file_t *file, uint64_t wanted)
{
    struct statvfs fs;
    uint64_t available;

    if (0 != fstatvfs(file->fd, &fs)) {
        return failed(file, "statvfs");
    }
    available = (uint64_t) fs.f_bavail * fs.f_frsize;
    if (0 != fs.f_blocks && available < wanted) {
        snprintf(file->why, sizeof(file->why), "%llu bytes are free", (unsigned long long) available);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return check_memory(file, wanted);
}

/* Memory without a file system, which no size of /dev/shm limits. */
static int open_memfd(mca_mpool_fastsm_file_t *file, uint64_t wanted)
{
    file->fd = memfd_create("fastsm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return -1 == file->fd ? failed(file, "memfd_create") : check_free(file, wanted);
}

static int open_in_directory(mca_mpool_fastsm_file_t *file, const char *directory, uint64_t wanted)
{
    file->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return -1 == file->fd ? failed(file, "open(O_TMPFILE)") : check_free(file, wanted);
}

static int set_length(mca_mpool_fastsm_file_t *file, bool seals)
{
    struct rlimit limit;

    /* beyond this limit ftruncate would end the process by SIGXFSZ */
    if (0 == getrlimit(RLIMIT_FSIZE, &limit) && RLIM_INFINITY != limit.rlim_cur
        && file->size > limit.rlim_cur) {
        errno = EFBIG;
        return failed(file, "ftruncate");
    }
    if (0 != ftruncate(file->fd, (off_t) file->size)) {
        return failed(file, "ftruncate");
    }
    /* so that no peer can shorten it under our feet */
    if (seals && 0 != fcntl(file->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
        return failed(file, "fcntl(F_ADD_SEALS)");
    }
    return OPAL_SUCCESS;
}

static int map(mca_mpool_fastsm_file_t *file)
{
    file->base = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    if (MAP_FAILED == file->base) {
        file->base = NULL;
        return failed(file, "mmap");
    }
    mca_common_fastpath_place_here(file->base, file->size);
    return OPAL_SUCCESS;
}

/* Older kernels let any signal interrupt this, such as those of a profiler's timer, and take back what has
 * been allocated.  So it is done in pieces that are shorter than the time between two such signals. */
static int allocate_pages(mca_mpool_fastsm_file_t *file, size_t length)
{
    const size_t piece = (size_t) 256 * 1024;
    size_t done = 0;

    while (done < length) {
        const size_t bytes = length - done < piece ? length - done : piece;

        if (0 == fallocate(file->fd, 0, (off_t) done, (off_t) bytes)) {
            done += bytes;
        } else if (EINTR != errno) {
            return failed(file, "fallocate");
        }
    }
    return OPAL_SUCCESS;
}

/* Where the kernel cannot reserve pages of a mapping, the whole file is reserved. */
static int reserve_pages(mca_mpool_fastsm_file_t *file, size_t first)
{
    int rc = mca_mpool_fastsm_component.reserve_all ? OPAL_ERR_NOT_SUPPORTED
                                                    : mca_common_fastpath_reserve(file->base, first);

    if (OPAL_ERR_NOT_SUPPORTED == rc) {
        return allocate_pages(file, file->size);
    }
    if (OPAL_SUCCESS != rc) {
        errno = ENOSPC;
        return failed(file, "madvise(MADV_POPULATE_WRITE)");
    }
    return OPAL_SUCCESS;
}

int mca_mpool_fastsm_file_fill(mca_mpool_fastsm_file_t *file, const void *data, size_t first, uint64_t wanted)
{
    const bool parts = !mca_mpool_fastsm_component.reserve_all
                       && OPAL_ERR_NOT_SUPPORTED != mca_common_fastpath_reserve((void *) data, first);
    int rc = check_free(file, wanted);
    size_t done = 0;

    if (OPAL_SUCCESS == rc) {
        rc = set_length(file, false);
    }
    if (OPAL_SUCCESS == rc) {
        rc = allocate_pages(file, parts ? first : file->size);
    }
    while (OPAL_SUCCESS == rc && done < first) {
        const ssize_t written = pwrite(file->fd, (const char *) data + done, first - done, (off_t) done);

        if (0 < written) {
            done += (size_t) written;
        } else if (EINTR != errno) {
            rc = failed(file, "pwrite");
        }
    }
    return rc;
}

int mca_mpool_fastsm_file_make(mca_mpool_fastsm_file_t *file, const char *place, size_t size, size_t first,
                               uint64_t wanted)
{
    const bool memfd = 0 == strcmp("memfd", place);
    int rc;

    memset(file, 0, sizeof(*file));
    file->size = size;
    file->first = first;
    file->lock_fd = -1;
    rc = memfd ? open_memfd(file, wanted) : open_in_directory(file, place, wanted);
    if (OPAL_SUCCESS == rc) {
        rc = set_length(file, memfd);
    }
    if (OPAL_SUCCESS == rc) {
        rc = map(file);
    }
    if (OPAL_SUCCESS == rc) {
        rc = reserve_pages(file, first);
    }
    if (OPAL_SUCCESS != rc) {
        mca_mpool_fastsm_file_end(file);
    }
    return rc;
}

void mca_mpool_fastsm_file_end(mca_mpool_fastsm_file_t *file)
{
    mca_mpool_fastsm_name_take(file);
    if (-1 != file->lock_fd) {
        close(file->lock_fd);
    }
    if (NULL != file->base) {
        munmap(file->base, file->size);
    }
    if (-1 != file->fd) {
        close(file->fd);
    }
    file->base = NULL;
    file->fd = file->lock_fd = -1;
}
