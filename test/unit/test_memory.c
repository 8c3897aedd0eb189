/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* How much memory there is for this process, read from copies of what a kernel shows. */

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opal/mca/common/fastpath/common_fastpath_groups.c"
#include "opal/mca/common/fastpath/common_fastpath_memory.c"
#include "system_fixture.h"

#define V2    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
#define GROUP "/sys/fs/cgroup/user.slice/job.scope/"

static void check_available(uint64_t bytes)
{
    assert_int_equal(mca_common_fastpath_memory_available(root), bytes);
}

static void test_machine(void **state)
{
    (void) state;
    check_available(UINT64_MAX);
    put("/proc/meminfo", "MemTotal:  4000 kB\nMemFree:  10 kB\n"); /* a kernel that does not say it */
    check_available(UINT64_MAX);
    put("/proc/meminfo", "MemTotal:  4000 kB\nMemFree:  10 kB\nMemAvailable:  1000 kB\n");
    check_available(1000 << 10);
    put("/proc/meminfo", "MemAvailable:  1000 kB\nSwapTotal:  700 kB\nSwapFree:  500 kB\n");
    check_available(1500 << 10);
    put("/proc/meminfo", "MemAvailable:  0 kB\nSwapFree:  0 kB\n");
    check_available(0);
    put("/proc/meminfo", "MemAvailable:  much\n");
    check_available(UINT64_MAX);
}

static void test_version2(void **state)
{
    (void) state;
    put("/proc/meminfo", "MemAvailable:  1000 kB\nSwapFree:  0 kB\n");
    put("/proc/self/cgroup", "0::/user.slice/job.scope\n");
    put("/proc/self/mountinfo", MOUNTS V2);
    check_available(1000 << 10); /* no controller there */
    put(GROUP "memory.max", "max\n");
    put(GROUP "memory.current", "900000\n");
    check_available(1000 << 10);
    put(GROUP "memory.max", "1000000\n");
    check_available(100000);
    put(GROUP "memory.stat", "anon 5\nfile 600000\ninactive_file 20000\nactive_file 3000\nshmem 577000\n");
    check_available(123000); /* files' pages, but not those of shared memory */
    put("/sys/fs/cgroup/user.slice/memory.max", "2000000\n"); /* the group above is stricter */
    put("/sys/fs/cgroup/user.slice/memory.current", "1999000\n");
    check_available(1000);
    put("/sys/fs/cgroup/user.slice/memory.current", "2999000\n"); /* lowered below what is used */
    check_available(0);
    put("/sys/fs/cgroup/user.slice/memory.max", "20000000\n"); /* and now it is not */
    check_available(123000);
    put(GROUP "memory.max", "30000000\n"); /* the machine is */
    check_available(1000 << 10);
}

static void test_version1(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "9:memory:/batch/7\n4:cpu,cpuacct:/elsewhere\n0::/\n");
    put("/proc/self/mountinfo",
        MOUNTS "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
               "33 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put("/sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/batch/7/memory.usage_in_bytes", "5000\n");
    assert_true(UINT64_C(1) << 62 < mca_common_fastpath_memory_available(root)); /* as good as none */
    put("/sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes", "20000\n");
    check_available(15000);
    put("/sys/fs/cgroup/memory/batch/7/memory.stat",
        "inactive_file 1\ntotal_inactive_file 2000\ntotal_active_file 300\n");
    check_available(17300);
    put("/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "7000\n");
    check_available(7000);
    put("/sys/fs/cgroup/cpu,cpuacct/elsewhere/memory.limit_in_bytes", "1\n"); /* another hierarchy's */
    check_available(7000);
    put("/proc/meminfo", "MemAvailable:  1 kB\n");
    check_available(1024);
}

static void test_nonsense(void **state)
{
    (void) state;
    put("/proc/meminfo", "\n");
    put("/proc/self/cgroup", "\n:\n0\n0::\n");
    put("/proc/self/mountinfo", "30 22 0:26 / /cg rw - cgroup2 none rw\n");
    put("/cg/memory.max", "");
    check_available(UINT64_MAX);
    put("/cg/memory.max", "many");
    check_available(UINT64_MAX);
    put("/cg/memory.max", "100");
    put("/cg/memory.current", "few");
    put("/cg/memory.stat", "inactive_file\n");
    check_available(100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_machine, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_version2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_version1, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_nonsense, make_root, remove_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
