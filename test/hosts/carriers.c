/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Which way messages go: those to a rank on the same host do not touch any
 * network device of the host, not even the loopback device; those to another
 * host go over its networks.  Every pair of ranks, both ways, by what the
 * kernel has counted.
 *
 * usage: carriers [LINKS]    with LINKS, that many TCP connections to each peer
 * on other hosts are expected */

#include "support/fp_test.h"

#include <dirent.h>
#include <unistd.h>

enum { TAG = 11, SHORT = 2000, SHORTS = 500, LONG = 1 << 20, LONGS = 4, HOSTS = 64, NAME = 64 };
/* What the runtime and our own barriers send may not come near this. */
static const double payload = 1.0 * SHORT * SHORTS + 1.0 * LONG * LONGS, noise = 300e3;

static char host_of[HOSTS][NAME]; /* by rank */

/* Bytes received and sent by all devices that this process can see. */
static double bytes_counted(void)
{
    FILE *file = fopen("/proc/self/net/dev", "r");
    double in, out, sum = 0;
    char line[512];

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (2 == sscanf(line, " %*[^:]: %lf %*f %*f %*f %*f %*f %*f %*f %lf", &in, &out)) {
            sum += in + out;
        }
    }
    CHECK(NULL != file && 0 == fclose(file));
    return sum;
}

static void messages(int from, int to)
{
    for (int i = 0; i < SHORTS + LONGS; i++) {
        size_t length = i < SHORTS ? SHORT : LONG;

        if (fp_rank == from) {
            fp_send(&fp_modes[FP_STANDARD], length, to, TAG, i, MPI_COMM_WORLD);
        } else if (fp_rank == to) {
            fp_recv(length, from, TAG, i, MPI_COMM_WORLD);
        }
    }
}

/* The answer in the end is for the sender: then all has been counted. */
static void pair(int from, int to)
{
    bool local = 0 == strcmp(host_of[from], host_of[to]);
    double bytes;

    fp_case("%d on %s to %d on %s", from, host_of[from], to, host_of[to]);
    FP(MPI_Barrier(MPI_COMM_WORLD));
    bytes = bytes_counted();
    FP(MPI_Barrier(MPI_COMM_WORLD)); /* nothing is sent before both have counted */
    messages(from, to);
    if (fp_rank == from) {
        fp_await(to, MPI_COMM_WORLD);
    } else if (fp_rank == to) {
        fp_signal(from, MPI_COMM_WORLD);
    }
    bytes = bytes_counted() - bytes;
    if (fp_rank == from || fp_rank == to) {
        fp_check(local ? bytes < noise : payload < bytes, __FILE__, __LINE__,
                 "%.0f bytes of %.0f counted by the network, but the ranks are %s", bytes, payload,
                 local ? "on one host" : "on two hosts");
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
}

/* Whether one of this process's descriptors is the socket INODE. */
static bool is_mine(unsigned long inode)
{
    char want[64], path[300], target[64] = "";
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    bool found = false;

    snprintf(want, sizeof(want), "socket:[%lu]", inode);
    while (NULL != directory && !found && NULL != (entry = readdir(directory))) {
        ssize_t length;

        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        length = readlink(path, target, sizeof(target) - 1);
        target[0 < length ? length : 0] = '\0';
        found = 0 == strcmp(target, want);
    }
    CHECK(NULL != directory && 0 == closedir(directory));
    return found;
}

/* TCP connections of this process that do not end on its own host. */
static int connections(void)
{
    enum { ESTABLISHED = 1 };
    FILE *file = fopen("/proc/self/net/tcp", "r");
    unsigned here, there, status;
    unsigned long inode;
    char line[512];
    int count = 0;

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (4
                == sscanf(line, " %*d: %x:%*x %x:%*x %x %*s %*s %*s %*d %*d %lu", &here, &there, &status,
                          &inode)
            && ESTABLISHED == status && here != there && is_mine(inode)) {
            count++;
        }
    }
    CHECK(NULL != file && 0 == fclose(file));
    return count;
}

static void check_hosts(void)
{
    int hosts = 0;

    FP(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, host_of, NAME, MPI_CHAR, MPI_COMM_WORLD));
    for (int i = 0; i < fp_size; i++) {
        int first = 0;

        while (0 != strcmp(host_of[first], host_of[i])) {
            first++;
        }
        hosts += first == i;
    }
    if (1 == hosts) {
        fp_skip("all ranks are on one host");
    }
}

int main(int argc, char **argv)
{
    int links = (1 < argc) ? atoi(argv[1]) : 0, remote = 0;

    fp_init(&argc, &argv, 2);
    if (HOSTS < fp_size) {
        fp_skip("more than %d ranks", HOSTS);
    }
    CHECK_INT(gethostname(host_of[fp_rank], NAME - 1), 0);
    check_hosts();
    for (int from = 0; from < fp_size; from++) {
        remote += 0 != strcmp(host_of[from], host_of[fp_rank]);
        for (int to = 0; to < fp_size; to++) {
            if (from != to) {
                pair(from, to);
            }
        }
    }
    if (0 < links) {
        fp_case("connections");
        CHECK_INT(connections(), links * remote);
    }
    return fp_finish();
}
