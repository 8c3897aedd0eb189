/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Sends that are cancelled and given up in the last moment before MPI_Finalize:
 * nobody waits for the answers, and nobody trips over them. With "late" rank 0
 * answers those of the others when they have left MPI, if they leave without the
 * answers; no message then says that somebody is not there. */

#define _GNU_SOURCE
#include "support/fp_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TAG = 99, EACH = 5 };
/* Microseconds from rank 0's call of MPI_Finalize: the runtime knows of it, and rank 0 falls asleep; the
 * others cancel, and leave where nothing keeps them; rank 0 wakes up; its other threads do, and hear that all
 * have come. */
enum { ASLEEP = 200000, CANCEL = 600000, AWAKE = 1500000, ALL_AWAKE = 2000000 };

static void sleep_here(int signal_number)
{
    const int before = errno;

    (void) signal_number;
    usleep((getpid() == (pid_t) syscall(SYS_gettid) ? AWAKE : ALL_AWAKE) - ASLEEP);
    errno = before;
}

/* All threads but this one fall asleep. */
static void *fall_asleep(void *unused)
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *entry;

    (void) unused;
    usleep(ASLEEP);
    while (NULL != threads && NULL != (entry = readdir(threads))) {
        long thread = atol(entry->d_name);

        if (0 < thread && syscall(SYS_gettid) != thread) {
            syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
        }
    }
    closedir(threads);
    return NULL;
}

/* What is written to stderr, by Open MPI above all, goes there by way of a pipe from now on. */
static struct {
    int before, ends[2];
    pthread_t thread;
    ssize_t bytes; /* that have passed */
} errors;

static void *pass_on(void *unused)
{
    char text[4096];
    ssize_t bytes;

    (void) unused;
    while (0 < (bytes = read(errors.ends[0], text, sizeof(text)))) {
        errors.bytes += bytes;
        (void) !write(errors.before, text, (size_t) bytes);
    }
    return NULL;
}

static void count_errors(void)
{
    errors.before = dup(STDERR_FILENO);
    CHECK(0 == pipe2(errors.ends, O_CLOEXEC) && STDERR_FILENO == dup2(errors.ends[1], STDERR_FILENO));
    close(errors.ends[1]);
    CHECK(0 == pthread_create(&errors.thread, NULL, pass_on, NULL));
}

/* @return how many bytes were written to stderr since then */
static ssize_t errors_counted(void)
{
    dup2(errors.before, STDERR_FILENO);
    pthread_join(errors.thread, NULL);
    return errors.bytes;
}

static void be_late(void)
{
    const struct sigaction action = {.sa_handler = sleep_here, .sa_flags = SA_RESTART};
    pthread_t thread;

    sigaction(SIGUSR1, &action, NULL);
    CHECK(0 == pthread_create(&thread, NULL, fall_asleep, NULL));
    pthread_detach(thread);
}

/* So that what is sent then waits for no connection. */
static void connect_all(void)
{
    int *sent = calloc((size_t) fp_size, sizeof(int));
    int *got = calloc((size_t) fp_size, sizeof(int));

    FP(MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD));
    FP(MPI_Barrier(MPI_COMM_WORLD));
    free(sent);
    free(got);
}

static void send_and_cancel(void)
{
    static unsigned char buffer[1 << 20];

    for (int i = 0; i < EACH * fp_few_size_count; i++) {
        const fp_mode_t *mode = &fp_modes[i % FP_READY];
        MPI_Request request;

        FP(mode->isend(buffer, (int) fp_few_sizes[i / EACH], MPI_BYTE, (fp_rank + 1 + i) % fp_size, TAG,
                       MPI_COMM_WORLD, &request));
        FP(MPI_Cancel(&request));
        FP(MPI_Request_free(&request));
    }
}

int main(int argc, char **argv)
{
    enum { ATTACHED = 64 << 20 };
    void *attached = malloc(ATTACHED);
    bool late;

    fp_init(&argc, &argv, 2);
    late = 1 < argc && 0 == strcmp("late", argv[1]);
    FP(MPI_Buffer_attach(attached, ATTACHED));
    fp_case("the last moment%s", late ? ", one is late" : "");
    if (late) {
        connect_all();
    }
    if (late && 0 == fp_rank) {
        int failed;

        count_errors();
        be_late();
        failed = fp_finish_alone();
        if (0 < errors_counted()) {
            fprintf(stderr, "# rank 0 FAILED: something was written to stderr in MPI_Finalize\n");
            failed = 1;
        }
        return failed;
    }
    if (late) {
        usleep(CANCEL);
    }
    send_and_cancel();
    return fp_finish_alone();
}
