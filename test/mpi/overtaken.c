/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Two connections lead to a process, and one of them stands still while the other one carries more messages
 * than 16 bits can count. Everything comes in order all the same, and nobody waits for a receive that is
 * posted only afterwards. Synchronous sends of 8 bytes, of which only headers travel, and standard ones; more
 * than 65536 of either are under way before the first receive.
 *
 * BTLs write with writev() and wait by poll(), and this program has both of its own. With the argument
 * "links" btl/tcp makes two connections, and uses both for short messages, as their latency is the same;
 * otherwise nothing stands still, and the rest is tried. */

#include "support/fp_test.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MANY = 70000, TAG = 3, ROUNDS = 100, BYTES = 8 };

/* The connection that stands still: the second one that this thread writes to. */
static pthread_t main_thread;
static int first_socket = -1, held_socket = -1;
static atomic_bool watching, held;
static atomic_long held_back;

static bool is_tcp(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);

    return 0 == getpeername(fd, (struct sockaddr *) &address, &length)
           && (AF_INET == address.ss_family || AF_INET6 == address.ss_family);
}

static bool stands_still(int fd)
{
    if (!atomic_load(&watching) || !pthread_equal(pthread_self(), main_thread) || !is_tcp(fd)) {
        return false;
    }
    if (-1 == first_socket) {
        first_socket = fd;
    } else if (-1 == held_socket && fd != first_socket) {
        held_socket = fd;
    }
    return fd == held_socket && atomic_load(&held);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (stands_still(fd)) {
        (void) atomic_fetch_add(&held_back, 1);
        errno = EAGAIN;
        return -1;
    }
    return syscall(SYS_writev, fd, parts, count);
}

/* Nor can anything be written there. */
int poll(struct pollfd *descriptors, nfds_t count, int timeout)
{
    struct pollfd *volatile all = descriptors; /* poll() is declared as one that only writes there */
    struct pollfd *still = NULL;
    short events = 0;
    int result;

    for (nfds_t i = 0; atomic_load(&held) && i < count; i++) {
        if (held_socket == all[i].fd) {
            still = &all[i];
            events = still->events;
            still->events &= ~POLLOUT;
        }
    }
    result = (int) syscall(SYS_poll, descriptors, count, timeout);
    if (NULL != still) {
        still->events = events;
    }
    return result;
}

static void send_all(fp_isend_fn *isend)
{
    unsigned char *data = malloc((size_t) MANY * BYTES);
    MPI_Request *requests = malloc(MANY * sizeof(requests[0]));
    int flag;

    CHECK(NULL != data && NULL != requests);
    atomic_store(&held, true);
    for (int i = 0; i < MANY; i++) {
        const uint64_t number = (uint64_t) i;

        memcpy(data + (size_t) i * BYTES, &number, sizeof(number));
        FP(isend(data + (size_t) i * BYTES, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]));
    }
    /* what can leave does so now */
    for (int i = 0; i < ROUNDS; i++) {
        FP(MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    }
    atomic_store(&held, false);
    fp_signal(1, MPI_COMM_WORLD); /* behind all of them */
    FP(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    free(requests);
    free(data);
}

static void receive_all(void)
{
    bool in_order = true;

    fp_await(0, MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++) {
        uint64_t number = UINT64_MAX;
        MPI_Status status;

        FP(MPI_Recv(&number, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status));
        if (in_order && number != (uint64_t) i) { /* one report is enough */
            CHECK_INT(number, i);
            in_order = false;
        }
    }
}

/* As many as cannot all be under way, to a process that has freed their communicator, and all taken back. */
static void take_back_all(void)
{
    MPI_Request *requests = malloc(MANY * sizeof(requests[0]));
    int cancelled = 0;
    MPI_Comm comm;

    fp_case("cancelled sends on a communicator that is gone");
    FP(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (0 == fp_rank) {
        fp_await(1, MPI_COMM_WORLD);
        for (int i = 0; i < MANY; i++) {
            FP(MPI_Issend(NULL, 0, MPI_BYTE, 1, TAG, comm, &requests[i]));
        }
        for (int i = 0; i < MANY; i++) {
            FP(MPI_Cancel(&requests[i]));
        }
        for (int i = 0; i < MANY; i++) {
            MPI_Status status;

            FP(MPI_Wait(&requests[i], &status));
            cancelled += fp_was_cancelled(&status);
        }
        CHECK_INT(cancelled, MANY);
    }
    FP(MPI_Comm_free(&comm));
    if (1 == fp_rank) {
        fp_signal(0, MPI_COMM_WORLD);
    }
    FP(MPI_Barrier(MPI_COMM_WORLD));
    free(requests);
}

int main(int argc, char **argv)
{
    const bool links = 1 < argc;

    if (links) {
        setenv("OMPI_MCA_btl_tcp_links", "2", 1);
        setenv("OMPI_MCA_btl_tcp_latency_lo:0", "7", 1);
        setenv("OMPI_MCA_btl_tcp_latency_lo:1", "7", 1);
    }
    main_thread = pthread_self();
    fp_init(&argc, &argv, 2);
    atomic_store(&watching, 0 == fp_rank);
    /* until all connections are there */
    for (int i = 0; i < 100; i++) {
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
    for (int mode = 0; mode < 2; mode++) {
        fp_case("%s", 0 == mode ? "MPI_Issend" : "MPI_Isend");
        if (0 == fp_rank) {
            send_all(0 == mode ? MPI_Issend : MPI_Isend);
        } else if (1 == fp_rank) {
            receive_all();
        }
        FP(MPI_Barrier(MPI_COMM_WORLD));
    }
    take_back_all();
    if (links && 0 == fp_rank) {
        CHECK(0 < atomic_load(&held_back));
    }
    return fp_finish();
}
