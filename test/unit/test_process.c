/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Which processes have ended: as who looks may not look into them, a user who is not root. */

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "opal/mca/common/fastpath/common_fastpath_process.h"

static void *sleep_long(void *nothing)
{
    sleep(100);
    return nothing;
}

/* A process that runs until the pipe is closed, or, without its initial thread, for long. */
static pid_t start(int pipe_ends[2], bool leaves_thread)
{
    pid_t pid;

    assert_int_equal(0, pipe(pipe_ends));
    pid = fork();
    assert_int_not_equal(-1, pid);
    if (0 == pid) {
        pthread_t thread;
        char byte;

        close(pipe_ends[1]);
        if (leaves_thread && 0 == pthread_create(&thread, NULL, sleep_long, NULL)) {
            pthread_exit(NULL);
        }
        (void) !read(pipe_ends[0], &byte, 1);
        _exit(0);
    }
    close(pipe_ends[0]);
    return pid;
}

static void test_ended(void **state)
{
    siginfo_t info;
    int ends[2];
    const pid_t pid = start(ends, false);

    (void) state;
    assert_false(mca_common_fastpath_process_ended(pid));
    close(ends[1]);
    assert_int_equal(0, waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT));
    assert_true(mca_common_fastpath_process_ended(pid)); /* nobody has taken notice */
    assert_int_equal(pid, waitpid(pid, NULL, 0));
    assert_true(mca_common_fastpath_process_ended(pid));
}

/* One that goes on without its initial thread looks like one that has ended. */
static void test_thread_left(void **state)
{
    char path[64], line[512] = "";
    int ends[2];
    const pid_t pid = start(ends, true);

    (void) state;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    while (NULL == strstr(line, ") Z ")) {
        FILE *file = fopen(path, "r");

        assert_non_null(file);
        assert_non_null(fgets(line, sizeof(line), file));
        fclose(file);
    }
    assert_false(mca_common_fastpath_process_ended(pid));
    assert_int_equal(0, kill(pid, SIGKILL));
    assert_int_equal(pid, waitpid(pid, NULL, 0));
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ended), cmocka_unit_test(test_thread_left)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
