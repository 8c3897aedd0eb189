/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Runs a program to which the kernel refuses single copy, as it does in many containers: a seccomp filter
 * answers process_vm_readv and process_vm_writev with EPERM.
 *
 * Usage: refuse [-r | -w | -m] [-o RANK] PROGRAM [ARGUMENT ...]
 *
 * -r  reading only
 * -w  writing only
 * -m  not these, but membarrier
 * -o  in this rank only, as Open MPI numbers the processes of a job; the others run as they are
 *
 * Exits with 77 where the kernel has no such filters, and with 127 where the program cannot be run.
 */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFUSE ((__u32) SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA))

/* Numbers of calls mean something for one architecture, and a program has one: what it may call besides is
 * none of our business, so there is no look at that. */
static bool refuse(bool read, bool write, bool membarrier)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, read ? REFUSE : SECCOMP_RET_ALLOW),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, write ? REFUSE : SECCOMP_RET_ALLOW),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, membarrier ? REFUSE : SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

    return 0 == prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
           && 0 == prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool is_rank(const char *wanted)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    return NULL == wanted || (NULL != rank && 0 == strcmp(rank, wanted));
}

int main(int argc, char **argv)
{
    bool read = true, write = true, membarrier = false;
    const char *rank = NULL;
    int option;

    while (-1 != (option = getopt(argc, argv, "+rwmo:"))) {
        switch (option) {
        case 'r':
            write = false;
            break;
        case 'w':
            read = false;
            break;
        case 'm':
            read = write = false;
            membarrier = true;
            break;
        case 'o':
            rank = optarg;
            break;
        default:
            return 2;
        }
    }
    if (optind == argc) {
        fprintf(stderr, "usage: refuse [-r | -w | -m] [-o RANK] PROGRAM [ARGUMENT ...]\n");
        return 2;
    }
    if (is_rank(rank) && !refuse(read, write, membarrier)) {
        fprintf(stderr, "refuse: the kernel takes no filter: %s\n", strerror(errno));
        return 77;
    }
    execvp(argv[optind], argv + optind);
    fprintf(stderr, "refuse: %s: %s\n", argv[optind], strerror(errno));
    return 127;
}
