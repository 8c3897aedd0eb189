/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Says whether two processes may copy from and to each other's memory (process_vm_readv, process_vm_writev),
 * as large messages do, and why not.
 *
 * Usage: mpirun -np 2 [COMMAND ...] fastpath-probe DIRECTORY
 *
 * The two find each other by files in the directory, which is empty.  Each prints one line, "reads and
 * writes" or what it may not and why; exit status 0.  2: the other one did not come, or nothing could be
 * tried.
 */

#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    NONCE = 16,
    PATH_LENGTH = 4096,
    WAIT_SECONDS = 30, /**< for the other process */
    NO_PROBE = 2       /**< exit status */
};

/** what each of the two tells the other one */
typedef struct {
    int32_t pid;
    uint32_t uid;
    uint64_t pid_ns; /**< inodes of namespaces */
    uint64_t user_ns;
    uint64_t memory; /**< address of its `memory` */
    uint8_t nonce[NONCE];
    int32_t dumpable; /**< what prctl says; 1: as programs are */
} facts_t;

/** what the other one reads and writes */
static struct {
    uint8_t nonce[NONCE];
    uint8_t written[NONCE];
} memory;

static uint64_t namespace_id(const char *path)
{
    struct stat status;

    return 0 == stat(path, &status) ? (uint64_t) status.st_ino : 0;
}

static bool describe(facts_t *me)
{
    if (NONCE != getrandom(memory.nonce, NONCE, 0)) {
        return false;
    }
    memset(me, 0, sizeof(*me));
    me->pid = (int32_t) getpid();
    me->uid = (uint32_t) geteuid();
    me->pid_ns = namespace_id("/proc/self/ns/pid");
    me->user_ns = namespace_id("/proc/self/ns/user");
    me->memory = (uint64_t) (uintptr_t) &memory;
    memcpy(me->nonce, memory.nonce, NONCE);
    me->dumpable = prctl(PR_GET_DUMPABLE);
    return true;
}

static void path_of(char path[PATH_LENGTH], const char *directory, const char *what, int rank)
{
    snprintf(path, PATH_LENGTH, "%s/%s.%d", directory, what, rank);
}

/* Others see the file when it is complete. */
static bool tell(const char *directory, const char *what, int rank, const facts_t *facts)
{
    char path[PATH_LENGTH], hidden[PATH_LENGTH];
    int fd;
    bool good;

    path_of(path, directory, what, rank);
    path_of(hidden, directory, "new", rank);
    fd = open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (-1 == fd) {
        return false;
    }
    good = sizeof(*facts) == write(fd, facts, sizeof(*facts));
    return 0 == close(fd) && good && 0 == rename(hidden, path);
}

static bool hear(const char *directory, const char *what, int rank, facts_t *facts)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    char path[PATH_LENGTH];
    int fd = -1;
    bool good;

    path_of(path, directory, what, rank);
    for (int i = 0; i < 100 * WAIT_SECONDS && -1 == (fd = open(path, O_RDONLY | O_CLOEXEC)); i++) {
        (void) nanosleep(&nap, NULL);
    }
    if (-1 == fd) {
        return false;
    }
    good = sizeof(*facts) == read(fd, facts, sizeof(*facts));
    (void) close(fd);
    return good;
}

/* @return 0, or errno; ESRCH too where that is another process than the one meant */
static int copy(pid_t pid, uint64_t address, const uint8_t *nonce, bool write)
{
    uint8_t here[NONCE] = {0};
    struct iovec local = {.iov_base = here, .iov_len = NONCE};
    struct iovec remote = {.iov_base = (void *) (uintptr_t) address, .iov_len = NONCE};

    if (write) {
        remote.iov_base = (void *) (uintptr_t) (address + NONCE);
        return NONCE == process_vm_writev(pid, &local, 1, &remote, 1, 0) ? 0 : errno;
    }
    if (NONCE != process_vm_readv(pid, &local, 1, &remote, 1, 0)) {
        return errno;
    }
    return 0 == memcmp(here, nonce, NONCE) ? 0 : ESRCH;
}

static int yama_scope(void)
{
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int scope = 0;

    if (NULL != file) {
        if (1 != fscanf(file, "%d", &scope)) {
            scope = 0;
        }
        (void) fclose(file);
    }
    return scope;
}

/* Why not, beginning with what is certain.  A process may always copy its own memory, if it may make the
 * call. */
static const char *reason(const facts_t *me, const facts_t *other, bool write)
{
    const int own = copy(getpid(), me->memory, me->nonce, write);

    if (ENOSYS == own) {
        return "call: this kernel, or a seccomp filter, does not have the call";
    }
    if (0 != own) {
        return "seccomp: a seccomp filter forbids the call, as containers do without leave to use ptrace";
    }
    if (me->user_ns != other->user_ns) {
        return "namespaces: each rank has a user namespace of its own, as with a container for each rank";
    }
    if (me->pid_ns != other->pid_ns) {
        return "namespaces: each rank has a PID namespace of its own, as with a container for each rank";
    }
    if (me->uid != other->uid) {
        return "users: the ranks are different users'";
    }
    if (1 != other->dumpable) {
        return "dumpable: the other rank's program is not dumpable: its user may not read its file, or it is "
               "set-uid or has capabilities";
    }
    if (1 < yama_scope()) {
        return "yama: the security module Yama forbids it (kernel.yama.ptrace_scope is more than 1)";
    }
    return "unknown: perhaps a security module, such as SELinux or AppArmor, forbids it";
}

static void probe(const facts_t *me, const facts_t *other)
{
    /* a number of another PID namespace is nobody's here, or somebody else's */
    const int read =
        me->pid_ns == other->pid_ns ? copy(other->pid, other->memory, other->nonce, false) : ESRCH;
    const int write = 0 == read ? copy(other->pid, other->memory, other->nonce, true) : 0;

    if (0 == read && 0 == write) {
        printf("reads and writes\n");
    } else {
        printf("%s: %s: %s\n", 0 != read ? "cannot read" : "reads, and cannot write",
               strerror(0 != read ? read : write), reason(me, other, 0 == read));
    }
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    facts_t me, other;

    if (2 != argc || NULL == rank) {
        fprintf(stderr, "usage: mpirun -np 2 [COMMAND ...] fastpath-probe DIRECTORY\n");
        return NO_PROBE;
    }
    (void) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* as btl/fastsm does */
    if (!describe(&me) || !tell(argv[1], "here", atoi(rank), &me)) {
        fprintf(stderr, "fastpath-probe: %s: %s\n", argv[1], strerror(errno));
        return NO_PROBE;
    }
    if (!hear(argv[1], "here", 1 - atoi(rank), &other)) {
        fprintf(stderr, "fastpath-probe: the other rank has written nothing into %s\n", argv[1]);
        return NO_PROBE;
    }
    probe(&me, &other);
    (void) fflush(stdout);
    /* as long as the other one may read */
    if (!tell(argv[1], "done", atoi(rank), &me) || !hear(argv[1], "done", 1 - atoi(rank), &other)) {
        fprintf(stderr, "fastpath-probe: the other rank does not end\n");
        return NO_PROBE;
    }
    return EXIT_SUCCESS;
}
