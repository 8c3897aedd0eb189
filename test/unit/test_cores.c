/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* How many cores there are: limits of control groups read from copies of what a kernel shows, and bindings.
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "opal/mca/common/fastpath/common_fastpath_cores.c"
#include "opal/mca/common/fastpath/common_fastpath_groups.c"
#include "system_fixture.h"

static void check_quota(double cores)
{
    assert_int_equal((int) (1000 * mca_common_fastpath_cores_quota(root)), (int) (1000 * cores));
}

static void test_nothing(void **state)
{
    (void) state;
    check_quota(0);
    put("/proc/self/cgroup", "0::/\n");
    check_quota(0);
    put("/proc/self/mountinfo", MOUNTS);
    check_quota(0);
}

static void test_version2(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "0::/user.slice/job.scope\n");
    put("/proc/self/mountinfo",
        MOUNTS "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    check_quota(0); /* no controller there */
    put("/sys/fs/cgroup/user.slice/job.scope/cpu.max", "max 100000\n");
    check_quota(0);
    put("/sys/fs/cgroup/user.slice/job.scope/cpu.max", "150000 100000\n");
    check_quota(1.5);
    put("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n"); /* the group above is stricter */
    check_quota(0.5);
    put("/sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n"); /* and now it is not */
    check_quota(1.5);
}

/* A container without a namespace of groups: its group is what is mounted, and its path is that outside. */
static void test_container(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "0::/docker/abc\n");
    put("/proc/self/mountinfo",
        MOUNTS "30 22 0:26 /docker/abc /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    put("/sys/fs/cgroup/docker/abc/cpu.max", "100 100000\n"); /* somebody else's */
    check_quota(2);
    put("/proc/self/cgroup", "0::/docker/abc/inner\n");
    put("/sys/fs/cgroup/inner/cpu.max", "100000 100000\n");
    check_quota(1);
    put("/proc/self/cgroup", "0::/docker/abcd\n"); /* begins alike, and is not below */
    check_quota(2);
}

static void test_version1(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "11:cpuset:/elsewhere\n4:cpu,cpuacct:/batch/7\n1:name=systemd:/\n0::/\n");
    put("/proc/self/mountinfo",
        MOUNTS "31 30 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
               "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
               "33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/cpu,cpuacct/batch/7/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/batch/7/cpu.cfs_period_us", "100000\n");
    check_quota(0);
    put("/sys/fs/cgroup/cpu,cpuacct/batch/7/cpu.cfs_quota_us", "25000\n");
    check_quota(0.25);
    put("/sys/fs/cgroup/unified/cpu.max", "20000 100000\n"); /* both: the stricter one counts */
    check_quota(0.2);
    put("/sys/fs/cgroup/cpu,cpuacct/batch/7/cpu.cfs_period_us", "0\n"); /* makes no sense */
    check_quota(0.2);
}

static void test_nonsense(void **state)
{
    (void) state;
    put("/proc/self/cgroup", "\n:\n0\n0:\n0::\n");
    put("/proc/self/mountinfo", "\n - cgroup2\n30 22 0:26 / /cg rw - cgroup2 none rw\n");
    put("/cg/cpu.max", "");
    check_quota(0);
    put("/cg/cpu.max", "-5 100000");
    check_quota(0);
    put("/cg/cpu.max", "many few");
    check_quota(0);
    put("/cg/cpu.max", "100000 100000");
    check_quota(1);
}

/* ---- bindings ---- */

/* A word of 64 cores for each process; 0: nothing is known of it. */
static bool mask_of_word(void *context, size_t index, cpu_set_t *mask)
{
    const uint64_t word = ((const uint64_t *) context)[index];

    CPU_ZERO(mask);
    for (int cpu = 0; cpu < 64; ++cpu) {
        if (0 != (word >> cpu & 1)) {
            CPU_SET(cpu, mask);
        }
    }
    return 0 != word;
}

/* The first one asks. */
static bool is_short(size_t count, const uint64_t *words)
{
    cpu_set_t own;

    (void) mask_of_word((void *) (uintptr_t) words, 0, &own);
    return mca_common_fastpath_cores_short(&own, count - 1, mask_of_word, (void *) (uintptr_t) (words + 1));
}

#define SHORT(...)                                                                                           \
    is_short(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (const uint64_t[]){__VA_ARGS__})

static void test_bindings(void **state)
{
    (void) state;
    assert_false(SHORT(1));
    assert_false(SHORT(3, 3));   /* as many as cores, unbound */
    assert_true(SHORT(3, 3, 3)); /* and more */
    assert_false(SHORT(1, 2));   /* each its own */
    assert_true(SHORT(1, 1));    /* two on one core, whatever else there is */
    assert_true(SHORT(1, 1, 2, 4, 8));
    assert_false(SHORT(2, 1, 1, 4, 8)); /* which is not the others' trouble */
    assert_false(SHORT(1, 3));          /* one who may run elsewhere will */
    assert_false(SHORT(3, 1));
    assert_true(SHORT(1, 3, 3)); /* two of them cannot both */
    assert_true(SHORT(3, 3, 1));
    assert_false(SHORT(3, 6, 5)); /* three on three cores, in a ring */
    assert_true(SHORT(3, 6, 5, 7));
    assert_false(SHORT(1, 0)); /* unknown */
    assert_false(SHORT(UINT64_MAX, 1, 1));
}

/* ---- in a small thread ---- */

static void *read_quota(void *quota)
{
    *(double *) quota = mca_common_fastpath_cores_quota(root);
    return NULL;
}

/* Whoever waits for a message reads it. */
static void test_small_stack(void **state)
{
    enum { STACK = 32 * 1024 };
    pthread_attr_t attributes;
    pthread_t thread;
    double quota = 0;

    (void) state;
    put("/proc/self/cgroup", "0::/a\n");
    put("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, read_quota, &quota), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(1.5 == quota);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_version2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_container, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_version1, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_nonsense, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_small_stack, make_root, remove_root),
        cmocka_unit_test(test_bindings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
