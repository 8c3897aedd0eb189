/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A name for a segment, for processes that cannot open /proc/PID/fd/FD: those in another user or PID
 * namespace.  The file with the name is a new one, because a memfd cannot have a name; it takes the place of
 * the old one in the memory of the process, and its descriptor number.
 *
 * The process holds a lock of its file (flock) from before there is a name until it ends, however it ends:
 * who has the file open sees by the lock whether the owner lives.  So does the next job of the user, which
 * removes names that a killed process has left.
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "opal_config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "opal/constants.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"
#include "opal/mca/common/fastpath/common_fastpath_memory.h"
#include "opal/util/argv.h"

#include "mpool_fastsm.h"

#define PREFIX "fastsm-"
/** hexadecimal digits behind that */
#define DIGITS 16

static int open_nameless(const char *directory)
{
    return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

void mca_mpool_fastsm_name_path(char path[MCA_MPOOL_FASTSM_PATH_MAX], const char *directory, uint64_t name)
{
    snprintf(path, MCA_MPOOL_FASTSM_PATH_MAX, "%s/" PREFIX "%016llx", directory, (unsigned long long) name);
}

bool mca_mpool_fastsm_name_held(int fd)
{
    if (0 == flock(fd, LOCK_SH | LOCK_NB)) {
        (void) flock(fd, LOCK_UN);
        return false;
    }
    return true;
}

/* Whether this is a name of ours, and nobody lives who made it. */
static bool is_left(int directory, const char *name)
{
    struct stat status;
    bool left;
    int fd;

    if (0 != strncmp(PREFIX, name, sizeof(PREFIX) - 1)
        || DIGITS != strspn(name + sizeof(PREFIX) - 1, "0123456789abcdef")
        || sizeof(PREFIX) - 1 + DIGITS != strlen(name)
        || 0 != fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode)
        || geteuid() != status.st_uid) {
        return false;
    }
    fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (-1 == fd) {
        return false;
    }
    left = !mca_mpool_fastsm_name_held(fd);
    (void) close(fd);
    return left;
}

/* Names are numbers drawn at random, so none that is looked at here comes back as somebody else's. */
static void sweep_names(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    while (NULL != directory && NULL != (entry = readdir(directory))) {
        if (is_left(dirfd(directory), entry->d_name)) {
            (void) unlinkat(dirfd(directory), entry->d_name, 0);
        }
    }
    if (NULL != directory) {
        (void) closedir(directory);
    }
}

/* Whether files without a name can be made in this directory and be given one. */
static bool directory_usable(const char *path, struct stat *status)
{
    int fd;

    if (0 != stat(path, status) || !S_ISDIR(status->st_mode) || 0 != access("/proc/self/fd", X_OK)) {
        return false;
    }
    fd = open_nameless(path);
    if (-1 != fd) {
        (void) close(fd);
    }
    return -1 != fd;
}

bool mca_mpool_fastsm_name_directory(mca_mpool_fastsm_directory_t *directory)
{
    char **places = opal_argv_split(mca_mpool_fastsm_component.backing, ',');
    struct stat status;
    bool found = false;

    memset(directory, 0, sizeof(*directory));
    for (int i = 0; NULL != places && NULL != places[i] && !found; ++i) {
        found = 0 != strcmp("memfd", places[i]) && sizeof(directory->path) > strlen(places[i])
                && directory_usable(places[i], &status);
        if (found) {
            strcpy(directory->path, places[i]);
            directory->device = (uint64_t) status.st_dev;
            directory->inode = (uint64_t) status.st_ino;
        }
    }
    opal_argv_free(places);
    if (found && mca_common_fastpath_reporting_rank()) {
        sweep_names(directory->path);
    }
    return found;
}

/* Gives the new file the contents, the descriptor number and the place of the old one.  All that may lack
 * room comes first, and has changed nothing when it fails. */
static int replace_file(mca_mpool_fastsm_file_t *file, int fd, uint64_t wanted)
{
    mca_mpool_fastsm_file_t fresh = {.fd = fd, .size = file->size};
    int rc = mca_mpool_fastsm_file_fill(&fresh, file->base, file->first, wanted);

    if (OPAL_SUCCESS != rc) {
        memcpy(file->why, fresh.why, sizeof(file->why));
        return rc;
    }
    if (-1 == dup3(fd, file->fd, O_CLOEXEC)
        || MAP_FAILED
               == mmap(file->base, file->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0)) {
        snprintf(file->why, sizeof(file->why), "dup3, mmap: %s", strerror(errno));
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    mca_common_fastpath_place_here(file->base, file->size);
    return OPAL_SUCCESS;
}

/* The kernel gives a name to what is open only through /proc, or to who may read everything. */
static int link_open(int fd, const char *path)
{
    char proc[64];

    snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, proc, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int mca_mpool_fastsm_name_give(mca_mpool_fastsm_module_t *module,
                               const mca_mpool_fastsm_directory_t *directory, uint64_t name,
                               unsigned processes)
{
    mca_mpool_fastsm_file_t *file = &module->file;
    const int fd = open_nameless(directory->path);
    char path[MCA_MPOOL_FASTSM_PATH_MAX];
    int rc;

    if (-1 == fd || 0 != flock(fd, LOCK_EX | LOCK_NB)) {
        snprintf(file->why, sizeof(file->why), "open(O_TMPFILE): %s", strerror(errno));
        if (-1 != fd) {
            (void) close(fd);
        }
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    rc = replace_file(file, fd, file->size * processes);
    if (OPAL_SUCCESS != rc && 0 != ftruncate(fd, 0)) {
        (void) close(fd);
        return rc; /* a name would be taken for a segment */
    }
    mca_mpool_fastsm_name_path(path, directory->path, name);
    if (0 == link_open(fd, path)) {
        file->path = strdup(path);
        if (NULL == file->path) {
            (void) unlink(path);
        }
    } else {
        snprintf(file->why, sizeof(file->why), "linkat: %s", strerror(errno));
        rc = OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (OPAL_SUCCESS == rc) {
        (void) close(fd); /* the other number keeps the lock */
    } else {
        file->lock_fd = fd;
    }
    return rc;
}

void mca_mpool_fastsm_name_take(mca_mpool_fastsm_file_t *file)
{
    if (NULL != file->path) {
        (void) unlink(file->path);
        free(file->path);
        file->path = NULL;
    }
}
