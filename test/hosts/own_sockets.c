/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* An application with TCP connections of its own between its hosts, over the
 * network device DEVICE, as like those of btl/tcp as it can be: what becomes of
 * them is the application's business.  One has something to send when somebody
 * cuts the device, after rank 0 has printed "running"; one is idle; one is reset;
 * descriptors are used again.  Messages go on over another device until SECONDS
 * have passed.  The kernel's settings of the sockets stay as they were.
 *
 * usage: own_sockets DEVICE SECONDS    two ranks on different hosts */

#include "support/fp_test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TAG = 5, LENGTH = 1000, LINKS = 3, SILENT = 0, IDLE = 1, RESET = 2 };

/* Listens at any address, as btl/tcp does: at a port that is free. */
static int listen_somewhere(struct sockaddr_in *name)
{
    socklen_t size = sizeof(*name);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

    *name = (struct sockaddr_in){.sin_family = AF_INET};
    CHECK(0 == setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
    CHECK(0 == bind(fd, (struct sockaddr *) name, size));
    CHECK(0 == listen(fd, SOMAXCONN));
    CHECK(0 == getsockname(fd, (struct sockaddr *) name, &size));
    return fd;
}

static void set_address(struct sockaddr_in *name, const char *device)
{
    struct ifaddrs *all;

    CHECK(0 == getifaddrs(&all));
    for (const struct ifaddrs *one = all; NULL != one; one = one->ifa_next) {
        if (NULL != one->ifa_addr && AF_INET == one->ifa_addr->sa_family
            && 0 == strcmp(device, one->ifa_name)) {
            name->sin_addr = ((const struct sockaddr_in *) (const void *) one->ifa_addr)->sin_addr;
        }
    }
    freeifaddrs(all);
    CHECK(0 != name->sin_addr.s_addr);
}

/* Rank 0 connects to each of rank 1's sockets in turn. */
static void connect_all(int fds[LINKS], const int servers[LINKS], const struct sockaddr_in theirs[LINKS])
{
    for (int i = 0; i < LINKS; i++) {
        if (0 == fp_rank) {
            fds[i] = socket(AF_INET, SOCK_STREAM, 0);
            CHECK(0 == connect(fds[i], (const struct sockaddr *) &theirs[i], sizeof(theirs[i])));
        } else {
            fds[i] = accept(servers[i], NULL, NULL);
            CHECK(0 <= fds[i]);
        }
        CHECK_INT(5, send(fds[i], "hello", 5, 0));
    }
}

static void check_untouched(int fd)
{
    socklen_t size = sizeof(int);
    int value = -1;

    CHECK(0 == getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, &size));
    CHECK_INT(0, value);
}

static void exchange(int round)
{
    fp_message_t in, out;

    fp_irecv(&in, LENGTH, 1 - fp_rank, TAG, round, MPI_COMM_WORLD);
    fp_isend(&out, &fp_modes[FP_STANDARD], LENGTH, 1 - fp_rank, TAG, round, MPI_COMM_WORLD);
    fp_wait_recv(&in);
    fp_wait_send(&out);
}

/* The connection ends without a word, and its descriptor is used again. */
static void reset(int *fd)
{
    const struct linger none = {.l_onoff = 1, .l_linger = 0};

    CHECK(0 == setsockopt(*fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)));
    CHECK(0 == close(*fd));
    *fd = socket(AF_INET, SOCK_STREAM, 0);
}

int main(int argc, char **argv)
{
    double seconds = 2 < argc ? atof(argv[2]) : 0, begin;
    struct sockaddr_in ours[LINKS], theirs[LINKS];
    int servers[LINKS], fds[LINKS], more = 1;

    /* one before MPI, when btl/tcp has none yet, and one that does not block */
    servers[SILENT] = listen_somewhere(&ours[SILENT]);
    servers[IDLE] = listen_somewhere(&ours[IDLE]);
    fp_init(&argc, &argv, 2);
    servers[RESET] = listen_somewhere(&ours[RESET]);
    if (2 != fp_size || 3 > argc) {
        fp_skip("two ranks, a device and a number of seconds are needed");
    }
    fp_case("connect");
    for (int i = 0; i < LINKS; i++) {
        set_address(&ours[i], argv[1]);
    }
    FP(MPI_Sendrecv(ours, sizeof(ours), MPI_BYTE, 1 - fp_rank, TAG, theirs, sizeof(theirs), MPI_BYTE,
                    1 - fp_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    connect_all(fds, servers, theirs);
    fp_case("messages");
    begin = fp_now();
    for (int round = 0; more; round++) {
        exchange(round);
        if (0 == round % 100) {
            (void) send(fds[SILENT], "hello", 5, MSG_NOSIGNAL | MSG_DONTWAIT);
            reset(&fds[RESET]);
            if (0 == fp_rank) {
                printf("running\n");
                fflush(stdout);
            }
            more = fp_now() < begin + seconds;
            FP(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD));
        }
        fp_sleep_ms(1);
    }
    for (int i = 0; i < LINKS; i++) {
        check_untouched(fds[i]);
        check_untouched(servers[i]);
    }
    return fp_finish();
}
