/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Two jobs that did not spawn each other meet: by MPI_Comm_accept and
 * MPI_Comm_connect, part, meet again, and by MPI_Comm_join.  Both are spawned by
 * a third one, which hands the name of the port over. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/fp_test.h"

enum { TAG = 161, EACH = 2, MEETINGS = 5 };

typedef enum { PARENT, HOST, GUEST } role_t;

/* All pairs over the intercommunicator, both ways at once. */
static void talk(MPI_Comm inter, const char *how)
{
    fp_message_t in[EACH], out[EACH];

    FP(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    for (int s = 0; s < fp_few_size_count; s++) {
        fp_case("%s, %zu bytes", how, fp_few_sizes[s]);
        for (int i = 0; i < EACH; i++) {
            fp_irecv(&in[i], fp_few_sizes[s], i, TAG, s, inter);
        }
        for (int i = 0; i < EACH; i++) {
            fp_isend(&out[i], &fp_modes[s % 2 ? FP_SYNCHRONOUS : FP_STANDARD], fp_few_sizes[s], i, TAG, s,
                     inter);
        }
        for (int i = 0; i < EACH; i++) {
            fp_wait_recv(&in[i]);
            fp_wait_send(&out[i]);
        }
    }
}

/* Merged, the two jobs are one communicator with collectives and wildcards. */
static void talk_merged(MPI_Comm inter, role_t role)
{
    MPI_Comm merged;
    int rank, sum = 0;

    fp_case("merge");
    FP(MPI_Intercomm_merge(inter, GUEST == role, &merged));
    FP(MPI_Comm_rank(merged, &rank));
    CHECK_INT(rank, fp_rank + (GUEST == role ? EACH : 0));
    FP(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged));
    CHECK_INT(sum, EACH * (2 * EACH - 1));
    for (int i = 1; i < 2 * EACH && 0 == rank; i++) {
        int value = -1;
        MPI_Status status;

        FP(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, merged, &status));
        CHECK_INT(value, status.MPI_SOURCE);
    }
    if (0 != rank) {
        FP(MPI_Send(&rank, 1, MPI_INT, 0, TAG, merged));
    }
    FP(MPI_Comm_free(&merged));
}

/* The name of the host's port, by way of the parent. */
static void hand_over(role_t role, char name[MPI_MAX_PORT_NAME], const MPI_Comm *comms)
{
    fp_case("hand the port over");
    if (0 != fp_rank) {
        return;
    }
    if (PARENT == role) {
        FP(MPI_Recv(name, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, comms[0], MPI_STATUS_IGNORE));
        FP(MPI_Send(name, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, comms[1]));
    } else if (HOST == role) {
        FP(MPI_Send(name, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, comms[0]));
    } else {
        FP(MPI_Recv(name, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, comms[0], MPI_STATUS_IGNORE));
    }
}

static void meet(role_t role, const MPI_Comm *comms)
{
    char name[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;

    if (HOST == role && 0 == fp_rank) {
        FP(MPI_Open_port(MPI_INFO_NULL, name));
    }
    hand_over(role, name, comms);
    if (PARENT == role) {
        return;
    }

    fp_case("connect and accept");
    if (HOST == role) {
        FP(MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    } else {
        FP(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    }
    talk(inter, "connected");
    talk_merged(inter, role);
    fp_case("part");
    fp_disconnect(&inter);
    if (HOST == role && 0 == fp_rank) {
        FP(MPI_Close_port(name));
    }
}

/* A TCP connection between the two first ranks; the name of the port is its number. */
static int socket_between(role_t role, const MPI_Comm *comms)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    char name[MPI_MAX_PORT_NAME] = "";
    int fd = socket(AF_INET, SOCK_STREAM, 0), accepted = -1;

    if (HOST == role && 0 == fp_rank) {
        CHECK_INT(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        CHECK_INT(listen(fd, 1), 0);
        CHECK_INT(getsockname(fd, (struct sockaddr *) &address, &length), 0);
        snprintf(name, sizeof(name), "%d", ntohs(address.sin_port));
    }
    hand_over(role, name, comms);
    if (0 == fp_rank && HOST == role) {
        accepted = accept(fd, NULL, NULL);
        close(fd);
        return accepted;
    }
    if (0 == fp_rank && GUEST == role) {
        address.sin_port = htons((uint16_t) atoi(name));
        CHECK_INT(connect(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        return fd;
    }
    close(fd);
    return -1;
}

/* MPI_Comm_join makes an intercommunicator of the two processes at the ends of a socket. */
static void join(role_t role, const MPI_Comm *comms)
{
    int fd = socket_between(role, comms);
    char byte = 'x', got = 0;
    MPI_Comm inter;

    if (-1 == fd) {
        return;
    }
    fp_case("join");
    FP(MPI_Comm_join(fd, &inter));
    if (CHECK(MPI_COMM_NULL != inter)) {
        for (int s = 0; s < fp_few_size_count; s++) {
            fp_message_t in, out;

            fp_case("joined, %zu bytes", fp_few_sizes[s]);
            fp_irecv(&in, fp_few_sizes[s], 0, TAG, s, inter);
            fp_isend(&out, &fp_modes[FP_STANDARD], fp_few_sizes[s], 0, TAG, s, inter);
            fp_wait_recv(&in);
            fp_wait_send(&out);
        }
        fp_disconnect(&inter);
    }
    fp_case("the socket is ours again");
    CHECK_INT(write(fd, &byte, 1), 1);
    CHECK_INT(read(fd, &got, 1), 1);
    CHECK_INT(got, byte);
    close(fd);
}

int main(int argc, char **argv)
{
    MPI_Comm comms[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    char *names[2][2] = {{"host", NULL}, {"guest", NULL}};
    role_t role = PARENT;

    fp_init(&argc, &argv, 1);
    fp_case("spawn");
    FP(MPI_Comm_get_parent(&comms[0]));
    if (MPI_COMM_NULL != comms[0]) {
        role = 0 == strcmp(argv[1], "host") ? HOST : GUEST;
    }
    for (int i = 0; i < 2 && PARENT == role; i++) {
        FP(MPI_Comm_spawn(argv[0], names[i], EACH, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comms[i],
                          MPI_ERRCODES_IGNORE));
    }
    for (int i = 0; i < MEETINGS; i++) {
        meet(role, comms);
    }
    join(role, comms);

    fp_case("part from the parent");
    for (int i = 0; i < 2; i++) {
        if (MPI_COMM_NULL != comms[i]) {
            fp_disconnect(&comms[i]);
        }
    }
    if (PARENT != role) { /* only the parent speaks; others that failed have said so */
        fclose(stdout);
    }
    return fp_finish();
}
