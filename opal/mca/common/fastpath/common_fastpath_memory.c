/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "opal_config.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/constants.h"
#include "opal/mca/common/fastpath/common_fastpath_memory.h"
#include "opal/util/sys_limits.h"

/* The C library may be older than the kernel. */
#if !defined(MADV_POPULATE_WRITE)
#    define MADV_POPULATE_WRITE 23
#endif
/* Without libnuma's header; the kernel's interface. */
#define FASTPATH_MPOL_PREFERRED 1

int mca_common_fastpath_reserve(void *address, size_t length)
{
    const uintptr_t page = (uintptr_t) opal_getpagesize();
    const uintptr_t begin = (uintptr_t) address / page * page;
    const uintptr_t end = ((uintptr_t) address + length + page - 1) / page * page;
    int rc;

    do {
        rc = madvise((void *) begin, end - begin, MADV_POPULATE_WRITE);
    } while (0 != rc && (EINTR == errno || EAGAIN == errno));

    if (0 == rc) {
        return OPAL_SUCCESS;
    }
    return EINVAL == errno ? OPAL_ERR_NOT_SUPPORTED : OPAL_ERR_OUT_OF_RESOURCE;
}

void mca_common_fastpath_place_here(void *address, size_t length)
{
#if defined(SYS_mbind) && defined(SYS_getcpu)
    enum { BITS = sizeof(unsigned long) * CHAR_BIT };
    unsigned long nodes[1024 / BITS] = {0};
    unsigned cpu, node;

    if (0 != syscall(SYS_getcpu, &cpu, &node, NULL) || node >= 1024) {
        return;
    }
    nodes[node / BITS] |= 1ul << (node % BITS);
    (void) syscall(SYS_mbind, address, length, FASTPATH_MPOL_PREFERRED, nodes, 1024ul, 0u);
#else
    (void) address;
    (void) length;
#endif
}
