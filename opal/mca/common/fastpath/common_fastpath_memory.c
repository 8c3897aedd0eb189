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
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "opal/constants.h"
#include "opal/mca/common/fastpath/common_fastpath_groups.h"
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

/* The sum of the numbers behind two names, each at the begin of a line; the second may be NULL. Closes the
 * stream. Where the first is missing or no number, `missing` takes its place, for the second 0 does. */
static double read_sum(FILE *stream, const char *first, const char *second, double missing)
{
    const char *const names[] = {first, second};
    double numbers[] = {missing, 0};
    char line[128], *end;

    while (NULL != stream && NULL != fgets(line, sizeof(line), stream)) {
        for (int i = 0; i < 2; ++i) {
            const size_t length = NULL == names[i] ? 0 : strlen(names[i]);

            if (NULL != names[i] && 0 == strncmp(line, names[i], length)) {
                const double number = strtod(line + length, &end);

                numbers[i] = line + length == end ? numbers[i] : number; /* "max" is no number */
            }
        }
    }
    if (NULL != stream) {
        (void) fclose(stream);
    }
    return numbers[0] + numbers[1];
}

/* What a group may have beside what its processes have. */
static double available_in_group(mca_common_fastpath_groups_t *groups,
                                 mca_common_fastpath_groups_version_t version)
{
    static const struct {
        const char *limit, *used, *files[2];
    } names[] = {
        [MCA_COMMON_FASTPATH_GROUPS_V1] = {"/memory.limit_in_bytes",
                                           "/memory.usage_in_bytes",
                                           {"total_active_file ", "total_inactive_file "}},
        [MCA_COMMON_FASTPATH_GROUPS_V2] = {"/memory.max",
                                           "/memory.current",
                                           {"active_file ", "inactive_file "}},
    };
    const char *const *files = names[version].files;
    const double limit =
        read_sum(mca_common_fastpath_groups_open(groups, names[version].limit), "", NULL, HUGE_VAL);
    double used;

    if (HUGE_VAL == limit) {
        return HUGE_VAL;
    }
    used = read_sum(mca_common_fastpath_groups_open(groups, names[version].used), "", NULL, 0)
           - read_sum(mca_common_fastpath_groups_open(groups, "/memory.stat"), files[0], files[1], 0);
    return limit > used ? limit - used : 0;
}

static FILE *open_meminfo(const char *root)
{
    char name[PATH_MAX];

    (void) snprintf(name, sizeof(name), "%s/proc/meminfo", root);
    return fopen(name, "r");
}

uint64_t mca_common_fastpath_memory_available(const char *root)
{
    const double machine = 1024 * read_sum(open_meminfo(root), "MemAvailable:", "SwapFree:", HUGE_VAL);
    const double groups = mca_common_fastpath_groups_min(root, "memory", available_in_group);
    const double least = groups < machine ? groups : machine;

    return 0x1p63 > least ? (uint64_t) least : UINT64_MAX;
}
