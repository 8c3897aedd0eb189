/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * segment DIRECTORY: what a rank's shared memory is, at start and after a message to its right neighbour.
 * Each rank prints
 *
 *     segment RANK BYTES       length of the file of its own segment
 *     start RANK PAGES         pages of that file before any message
 *     ring RANK PAGES          the same when one message has come from the left neighbour
 *     pss RANK KIB             its share of all resident pages of all segments, when a ring of messages of 8
 * and of 1000 bytes has gone round and after a barrier policy RANK TEXT         where the kernel takes the
 * pages of its segment from
 *
 * Ranks wait for each other by files in DIRECTORY, because a message would change what is measured.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mpi.h>

static int rank, size;
static const char *directory;

/* The only file of ours that a process keeps open is its own segment; zeros when there is not exactly one. */
static struct stat own_segment(void)
{
    struct stat result = {0}, status;
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    int found = 0;

    while (NULL != dir && NULL != (entry = readdir(dir))) {
        char target[256] = "";

        if (0 < readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1)
            && NULL != strstr(target, "memfd:fastsm")
            && 0 == fstatat(dirfd(dir), entry->d_name, &status, 0)) {
            result = status;
            ++found;
        }
    }
    if (NULL != dir) {
        closedir(dir);
    }
    return 1 == found ? result : (struct stat){0};
}

static void print_pages(const char *when)
{
    printf("%s %d %lld\n", when, rank, (long long) own_segment().st_blocks * 512 / sysconf(_SC_PAGESIZE));
    fflush(stdout);
}

/* Kilobytes that all mappings of segments, ours or stock Open MPI's, are for this process. */
static void print_pss(void)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    long total = 0, kib;
    int ours = 0;
    char line[512];

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        unsigned long begin, end;

        if (2 == sscanf(line, "%lx-%lx ", &begin, &end)) {
            ours = NULL != strstr(line, "memfd:fastsm") || NULL != strstr(line, "vader_segment")
                   || NULL != strstr(line, "/sm_segment");
        } else if (ours && 1 == sscanf(line, "Pss: %ld", &kib)) {
            total += kib;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    printf("pss %d %ld\n", rank, total);
    fflush(stdout);
}

static void print_policy(void)
{
    FILE *file = fopen("/proc/self/numa_maps", "r");
    char line[1024], policy[64];

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (NULL != strstr(line, "memfd:fastsm") && 1 == sscanf(line, "%*x %63s", policy)) {
            printf("policy %d %s\n", rank, policy);
            break;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
}

/* Until all ranks have come here; ended by the time limit of whoever started us. */
static void meet(const char *where)
{
    char name[512];
    FILE *file;

    snprintf(name, sizeof(name), "%s/%s.%d", directory, where, rank);
    file = fopen(name, "w");
    if (NULL == file) {
        perror(name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    fclose(file);
    for (int i = 0; i < size; ++i) {
        snprintf(name, sizeof(name), "%s/%s.%d", directory, where, i);
        while (0 != access(name, F_OK)) {
            usleep(10000);
        }
    }
}

static void pass_on(void)
{
    static char out[8], in[8];

    MPI_Sendrecv(out, sizeof(out), MPI_CHAR, (rank + 1) % size, 7, in, sizeof(in), MPI_CHAR,
                 (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (2 != argc) {
        fprintf(stderr, "usage: segment DIRECTORY\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    directory = argv[1];

    printf("segment %d %lld\n", rank, (long long) own_segment().st_size);
    print_pages("start");
    meet("start");
    pass_on();
    meet("ring");
    print_pages("ring");
    meet("rounds");
    for (int i = 0; i < 2 * size; ++i) {
        pass_on();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    meet("pss");
    print_pss();
    print_policy();
    meet("end");
    MPI_Finalize();
    return 0;
}
