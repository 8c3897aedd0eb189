/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/*
 * A spawned process ends while its parent, in MPI_Finalize, is about to say goodbye to it over btl/tcp: after
 * it has looked whether the connection is there.  What the parent writes then nobody reads, and the next
 * write would raise SIGPIPE.  The parent ends all the same.  Where pml/fastpath does not say goodbye (since
 * Open MPI 5.0) two jobs end, no more.
 */

#define _GNU_SOURCE /* POLLRDHUP */
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/fp_test.h"

static bool is_parent, ending;

static int end_begins(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void) comm, (void) keyval, (void) value, (void) state;
    ending = true;
    return MPI_SUCCESS;
}

static void await_end(int fd)
{
    enum { MOST = 10000 }; /* ms */
    struct pollfd poll_fd = {.fd = fd, .events = POLLRDHUP};

    if (1 != poll(&poll_fd, 1, MOST)) {
        fprintf(stderr, "gone_before: the child's end of a connection has not closed in %d ms\n", MOST);
        _exit(EXIT_FAILURE);
    }
}

/* In place of libc's: what is said is true when it is asked, and no longer when the answer comes. */
int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
    const long rc = syscall(SYS_getsockopt, fd, level, name, value, length);

    if (0 == rc && is_parent && ending && IPPROTO_TCP == level && TCP_INFO == name
        && TCP_ESTABLISHED == ((const struct tcp_info *) value)->tcpi_state) {
        await_end(fd);
    }
    return (int) rc;
}

int main(int argc, char **argv)
{
    MPI_Comm parent, child;
    int keyval;

    fp_init(&argc, &argv, 1);
    FP(MPI_Comm_get_parent(&parent));
    if (MPI_COMM_NULL != parent) {
        FP(MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, parent, MPI_STATUS_IGNORE));
        fp_disconnect(&parent);
        FP(MPI_Finalize());
        return EXIT_SUCCESS; /* the parent gives the verdict */
    }
    is_parent = true;
    FP(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_begins, &keyval, NULL));
    FP(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL));
    fp_case("spawn");
    FP(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child,
                      MPI_ERRCODES_IGNORE));
    FP(MPI_Send(NULL, 0, MPI_BYTE, 0, 1, child)); /* so the connection is ours, and we say whose it is */
    fp_disconnect(&child);
    return fp_finish();
}
