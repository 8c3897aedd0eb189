/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * To be preloaded: rank 1 damages the segment of another process just before it attaches to it, as another
 * process of the same user could.  FP_SABOTAGE is what it does: "scribble", "truncate", "limit", which
 * leaves no descriptor to open it with, or "pause", which does nothing for four seconds, once.  With "interrupt" each
 * process gets the pages of its own segment at the tenth attempt only.
 * All ranks truncate: one that had attached before somebody else truncates would go on with less than it needs, and
 * would rightly end the job.
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

typedef int open_function_t(const char *path, int flags, ...);

static void damage(open_function_t *real, const char *path, const char *how)
{
    char junk[256];
    int fd;

    if (0 == strcmp(how, "pause")) {
        static bool paused;

        const char *seconds = getenv("FP_PAUSE");

        sleep(paused ? 0 : NULL == seconds ? 4 : (unsigned) atoi(seconds));
        paused = true;
        return;
    }
    if (0 == strcmp(how, "limit")) {
        const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};

        (void) setrlimit(RLIMIT_NOFILE, &none);
        return;
    }
    fd = real(path, O_RDWR | O_CLOEXEC);
    memset(junk, 0xa5, sizeof(junk));
    if (-1 == fd || (0 == strcmp(how, "truncate") && 0 != ftruncate(fd, 4096))
        || (0 == strcmp(how, "scribble") && (ssize_t) sizeof(junk) != pwrite(fd, junk, sizeof(junk), 0))) {
        perror("sabotage");
    }
    close(fd);
}

int open(const char *path, int flags, ...)
{
    open_function_t *real = (open_function_t *) dlsym(RTLD_NEXT, "open");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *how = getenv("FP_SABOTAGE");
    int pid, number, end = 0;
    va_list args;
    mode_t mode;

    if (NULL != rank && NULL != how && (0 == strcmp(rank, "1") || 0 == strcmp(how, "truncate"))
        && O_RDWR == (flags & O_ACCMODE) && 2 == sscanf(path, "/proc/%d/fd/%d%n", &pid, &number, &end) && '\0' == path[end]) {
        damage(real, path, how);
    }
    va_start(args, flags);
    mode = (O_CREAT | O_TMPFILE) & flags ? va_arg(args, mode_t) : 0;
    va_end(args);
    return real(path, flags, mode);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    typedef int fallocate_function_t(int fd, int mode, off_t offset, off_t length);
    const char *how = getenv("FP_SABOTAGE");
    static int attempts;

    if (NULL != how && 0 == strcmp(how, "interrupt") && 10 > ++attempts) {
        errno = EINTR;
        return -1;
    }
    return ((fallocate_function_t *) dlsym(RTLD_NEXT, "fallocate"))(fd, mode, offset, length);
}
