/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "opal_config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "opal/mca/common/fastpath/common_fastpath_process.h"

/* Yama lets only ancestors reach a process unless it says otherwise; without Yama this fails and does not
 * matter.  Peers of this node are who could want to. */
void mca_common_fastpath_process_permit(void)
{
#if defined(PR_SET_PTRACER)
    (void) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

/* The kernel moves at most some 2 GiB at once and may stop early anywhere. */
bool mca_common_fastpath_process_copy(pid_t pid, bool write, void *local, uint64_t remote, size_t size)
{
    size_t done = 0;

    while (done < size) {
        struct iovec here = {.iov_base = (char *) local + done, .iov_len = size - done};
        struct iovec there = {.iov_base = (void *) (uintptr_t) (remote + done), .iov_len = size - done};
        ssize_t got = write ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                            : process_vm_readv(pid, &here, 1, &there, 1, 0);

        if (0 < got) {
            done += (size_t) got;
        } else if (0 == got || EINTR != errno) {
            return false;
        }
    }
    return true;
}

bool mca_common_fastpath_process_readable(const void *begin, size_t size)
{
    const uint64_t first = (uintptr_t) begin;
    char byte;

    return 0 == size
           || (mca_common_fastpath_process_copy(getpid(), false, &byte, first, 1)
               && mca_common_fastpath_process_copy(getpid(), false, &byte, first + size - 1, 1));
}

/* State and number of threads are the third and the twentieth field of what proc(5) calls stat; the second
 * one is a name in parentheses, which may have some itself. A process whose initial thread has ended before
 * others looks ended, but has more than one. */
bool mca_common_fastpath_process_ended(pid_t pid)
{
    char path[32], text[512] = "";
    const char *behind;
    long threads = 0;
    char state = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    file = fopen(path, "re");
    if (NULL == file) {
        return ENOENT == errno || ESRCH == errno;
    }
    (void) fgets(text, sizeof(text), file);
    fclose(file);
    behind = strrchr(text, ')');
    return NULL != behind
           && 2
                  == sscanf(behind,
                            ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld",
                            &state, &threads)
           && ('Z' == state || 'X' == state) && 1 >= threads;
}
