/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* What a broken test looks like, to test the runner: fails, hangs, crashes (also
 * by "overflow" of its stack), says nothing, or skips, as its argument says.  Rank 1 is the culprit.
 *
 * "spawn WHERE FILE TIMES" spawns a child that gets stuck on its way into MPI in
 * the function WHERE of PMIx, in the first TIMES runs; FILE counts them.
 * "start WHERE" gets stuck there itself.  "pmix FILE TIMES" crashes in a thread that executes PMIx's code on the
 * way into MPI, in the first TIMES runs.  "garbage BYTE" looks whether memory that
 * is freed and allocated again is full of the complement of that byte. */

#include "support/fp_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* ------------------------------------------------------- to get stuck in PMIx */

static const char *stuck_where = "nowhere"; /* this process */
static int parent_pid;                      /* who waits for it, or 0 */

/* As if the time were up, for both. */
static void get_stuck(const char *where)
{
    if (0 == strcmp(where, stuck_where)) {
        if (0 != parent_pid) {
            kill(parent_pid, SIGALRM);
        }
        raise(SIGALRM);
    }
}

static void *real(const char *name)
{
    return dlsym(dlopen("libpmix.so.2", RTLD_LAZY), name);
}

/* Open MPI calls these instead of those of the library. */
int PMIx_Init(void *proc, void *info, size_t count);
int PMIx_Init(void *proc, void *info, size_t count)
{
    get_stuck("PMIx_Init");
    return ((int (*)(void *, void *, size_t)) real("PMIx_Init"))(proc, info, count);
}

static bool crashes_in_pmix; /* this process */

static void *crash_in_pmix(void *unused)
{
    void *nothing = (void *) 8;

    (void) ((int (*)(void *, void *)) real("PMIx_Data_unload"))(nothing, nothing);
    return unused;
}

int PMIx_Commit(void);
int PMIx_Commit(void)
{
    pthread_t thread;

    get_stuck("PMIx_Commit");
    if (crashes_in_pmix && 0 == pthread_create(&thread, NULL, crash_in_pmix, NULL)) {
        pthread_join(thread, NULL);
    }
    return ((int (*)(void)) real("PMIx_Commit"))();
}

/* Lines of FILE, with one more. */
static int count_run(const char *name)
{
    FILE *file = fopen(name, "a+");
    int lines = 0;

    fprintf(file, "run\n");
    rewind(file);
    for (int c = fgetc(file); EOF != c; c = fgetc(file)) {
        lines += '\n' == c;
    }
    fclose(file);
    return lines;
}

static int spawn(int argc, char **argv)
{
    char pid[20], *arguments[] = {"child", "nowhere", pid, NULL};
    MPI_Comm inter;

    fp_init(&argc, &argv, 1);
    if (0 == fp_rank) {
        snprintf(pid, sizeof(pid), "%d", (int) getpid());
        if (atoi(argv[4]) >= count_run(argv[3])) {
            arguments[1] = argv[2];
        }
        FP(MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter,
                          MPI_ERRCODES_IGNORE));
    }
    return fp_finish();
}

static int child(int argc, char **argv)
{
    stuck_where = argv[2];
    parent_pid = atoi(argv[3]);
    fp_init(&argc, &argv, 1);
    fclose(stdout); /* only the parent speaks */
    return fp_finish();
}

/* Needs memory for itself and for what it calls, without end. */
static int overflow(int depth)
{
    volatile char some[4096];

    some[0] = (char) depth;
    return (0 <= depth) ? overflow(depth + 1) + some[0] : 0;
}

static void look_for_garbage(int byte)
{
    enum { SIZE = 200 };

    for (int i = 0; i < 3; i++) {
        volatile unsigned char *memory = malloc(SIZE);

        CHECK_INT(memory[SIZE / 2], byte ^ 255);
        memset((void *) memory, i, SIZE);
        free((void *) memory);
    }
}

int main(int argc, char **argv)
{
    const char *what = (1 < argc) ? argv[1] : "", *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (0 == strcmp(what, "spawn")) {
        return spawn(argc, argv);
    }
    if (0 == strcmp(what, "child")) {
        return child(argc, argv);
    }
    if (0 == strcmp(what, "pmix") && NULL != rank && 0 == strcmp(rank, "1")) {
        crashes_in_pmix = atoi(argv[3]) >= count_run(argv[2]);
    }
    if (0 == strcmp(what, "start") && NULL != rank && 0 == strcmp(rank, "1")) {
        stuck_where = argv[2];
    }
    fp_init(&argc, &argv, 2);
    fp_case("being bad: %s", what);
    if (0 == strcmp(what, "skip")) {
        fp_skip("because it was asked to");
    }
    if (1 == fp_rank && 0 == strcmp(what, "fail")) {
        CHECK_INT(fp_rank, 0);
    }
    if (1 == fp_rank && 0 == strcmp(what, "hang")) {
        fp_await(0, MPI_COMM_WORLD);
    }
    if (1 == fp_rank && 0 == strcmp(what, "crash")) {
        raise(SIGSEGV);
    }
    if (1 == fp_rank && 0 == strcmp(what, "overflow")) {
        CHECK_INT(overflow(0), 0);
    }
    if (0 == strcmp(what, "garbage")) {
        look_for_garbage(atoi(argv[2]));
    }
    if (0 == strcmp(what, "silent")) {
        FP(MPI_Finalize());
        return 0;
    }
    return fp_finish();
}
