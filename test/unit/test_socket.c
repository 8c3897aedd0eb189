/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Which descriptors are TCP connections and where they lead, with real sockets on the loopback device; and
 * addresses: of which host, of which socket that listens.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ompi/mca/pml/fastpath/pml_fastpath_socket.c"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

static mca_pml_fastpath_end_t end_of(const char *address, uint16_t port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } name = {.any = {.sa_family = AF_INET}};
    mca_pml_fastpath_end_t end;

    if (1 == inet_pton(AF_INET, address, &name.ipv4.sin_addr)) {
        name.ipv4.sin_port = htons(port);
    } else {
        name.any.sa_family = AF_INET6;
        assert_int_equal(1, inet_pton(AF_INET6, address, &name.ipv6.sin6_addr));
        name.ipv6.sin6_port = htons(port);
    }
    assert_true(mca_pml_fastpath_end_set(&end, &name.any));
    assert_int_equal(port, end.port);
    return end;
}

static void addresses(void **state)
{
    static const char *const texts[] = {"10.0.0.2", "255.255.255.255", "fd00::2", "::1", "2001:db8::ff:1"};
    const mca_pml_fastpath_end_t a = end_of("10.0.0.2", 1024), b = end_of("10.0.0.2", 1025),
                                 c = end_of("10.0.1.2", 1024), mapped_a = end_of("::ffff:10.0.0.2", 1024);
    const struct sockaddr_storage other = {.ss_family = AF_UNIX};
    char text[MCA_PML_FASTPATH_END_TEXT];
    mca_pml_fastpath_end_t end;

    (void) state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        end = end_of(texts[i], 7);
        mca_pml_fastpath_end_text(&end, text);
        assert_string_equal(texts[i], text);
    }
    assert_false(mca_pml_fastpath_end_set(&end, (const struct sockaddr *) &other));
    assert_true(mca_pml_fastpath_end_same_host(&a, &b));
    assert_false(mca_pml_fastpath_end_same(&a, &b));
    assert_false(mca_pml_fastpath_end_same_host(&a, &c));
    assert_true(mca_pml_fastpath_end_same(&a, &mapped_a));
}

/* A port may be in use by an IPv4 socket of btl/tcp and by an IPv6 socket of somebody else's. */
static void acceptance(void **state)
{
    const mca_pml_fastpath_end_t any4 = end_of("0.0.0.0", 1024), any6 = end_of("::", 1024),
                                 one = end_of("10.0.0.2", 1024), same = end_of("10.0.0.2", 1024),
                                 port = end_of("10.0.0.2", 1025), host = end_of("10.0.0.3", 1024),
                                 ipv6 = end_of("fd00::2", 1024);

    (void) state;
    assert_true(mca_pml_fastpath_end_is_any(&any4));
    assert_true(mca_pml_fastpath_end_is_any(&any6));
    assert_false(mca_pml_fastpath_end_is_any(&one));
    assert_true(mca_pml_fastpath_end_accepts(&any4, &same));
    assert_false(mca_pml_fastpath_end_accepts(&any4, &port));
    assert_false(mca_pml_fastpath_end_accepts(&any4, &ipv6));
    assert_true(mca_pml_fastpath_end_accepts(&any6, &ipv6));
    assert_false(mca_pml_fastpath_end_accepts(&any6, &same));
    assert_true(mca_pml_fastpath_end_accepts(&one, &same));
    assert_false(mca_pml_fastpath_end_accepts(&one, &host));
}

/* What btl/tcp publishes has an address, a port, and other things around them. */
static void confirmation(void **state)
{
    static const uint8_t data[] = {10, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 4, 1, 2, 0, 0xfd, 0, 0,
                                   0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 4, 7, 6, 0,    9};
    mca_pml_fastpath_end_t ends[] = {end_of("10.0.0.2", 1024), end_of("10.0.0.2", 1025),
                                     end_of("10.0.0.3", 1025), end_of("0.0.2.0", 1025),
                                     end_of("fd00::2", 1031),  end_of("fd00::2", 1032)};
    const mca_pml_fastpath_end_t first = ends[1], second = ends[4];
    const size_t count = sizeof(ends) / sizeof(ends[0]);

    (void) state;
    assert_int_equal(2, mca_pml_fastpath_ends_confirm(ends, count, data, sizeof(data)));
    assert_true(mca_pml_fastpath_end_same(&first, &ends[0]));
    assert_true(mca_pml_fastpath_end_same(&second, &ends[1]));
    assert_int_equal(0, mca_pml_fastpath_ends_confirm(ends, 2, data, 1));
    assert_int_equal(0, mca_pml_fastpath_ends_confirm(ends, 2, NULL, 0));
}

/* All hosts have the loopback address, and many the same bridges. */
static void selection(void **state)
{
    const mca_pml_fastpath_end_t own[] = {end_of("127.0.0.1", 1024), end_of("172.17.0.1", 1024),
                                          end_of("10.0.0.1", 1024)};
    mca_pml_fastpath_end_t there[] = {end_of("127.0.0.1", 1024), end_of("10.0.0.2", 1024),
                                      end_of("172.17.0.1", 1024), end_of("10.0.1.2", 1024)};
    mca_pml_fastpath_end_t here[] = {end_of("127.0.0.1", 1025), end_of("172.17.0.1", 1025),
                                     end_of("10.0.0.1", 1025)};
    const mca_pml_fastpath_end_t first = there[1], second = there[3];

    (void) state;
    assert_int_equal(2, mca_pml_fastpath_ends_select(there, 4, own, 3));
    assert_true(mca_pml_fastpath_end_same(&first, &there[0]));
    assert_true(mca_pml_fastpath_end_same(&second, &there[1]));
    assert_int_equal(3, mca_pml_fastpath_ends_select(here, 3, own, 3));
    assert_int_equal(0, mca_pml_fastpath_ends_select(here, 0, own, 3));
}

static mca_pml_fastpath_socket_t look(int fd)
{
    mca_pml_fastpath_socket_t socket;

    mca_pml_fastpath_socket_look(fd, &socket);
    return socket;
}

static int kind(int fd)
{
    return (int) look(fd).kind;
}

/* A socket that listens on the loopback device; -1 when there is no such family here. */
static int listener(int family, struct sockaddr_storage *name, socklen_t *size)
{
    struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(family, SOCK_STREAM, 0);

    *size = AF_INET == family ? sizeof(ipv4) : sizeof(ipv6);
    memcpy(name, AF_INET == family ? (void *) &ipv4 : (void *) &ipv6, *size);
    if (0 > fd || 0 != bind(fd, (struct sockaddr *) name, *size)) {
        assert_int_equal(AF_INET6, family);
        (void) close(fd);
        return -1;
    }
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_IDLE, kind(fd));
    assert_int_equal(0, listen(fd, 4));
    assert_int_equal(0, getsockname(fd, (struct sockaddr *) name, size));
    return fd;
}

static void connection(int family)
{
    struct sockaddr_storage name;
    mca_pml_fastpath_socket_t listening, here, there;
    socklen_t size;
    int server = listener(family, &name, &size), client, accepted, dummy;

    if (0 > server) {
        return;
    }
    client = socket(family, SOCK_STREAM, 0);
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_IDLE, kind(client));
    assert_int_equal(0, connect(client, (struct sockaddr *) &name, size));
    accepted = accept(server, NULL, NULL);
    assert_true(0 <= accepted);

    listening = look(server);
    here = look(client);
    there = look(accepted);
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_LISTENING, listening.kind);
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_CONNECTED, here.kind);
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_CONNECTED, there.kind);
    assert_true(mca_pml_fastpath_end_same(&here.local, &there.remote));
    assert_true(mca_pml_fastpath_end_same(&here.remote, &there.local));
    assert_true(mca_pml_fastpath_end_same(&here.remote, &listening.local));
    assert_true(mca_pml_fastpath_end_accepts(&listening.local, &there.local));
    assert_false(mca_pml_fastpath_end_accepts(&listening.local, &here.local));

    /* what is reset is no connection any more */
    assert_int_equal(
        0, setsockopt(accepted, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger)));
    assert_int_equal(0, close(accepted));
    assert_int_equal(-1, read(client, &dummy, sizeof(dummy)));
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_IDLE, kind(client));
    assert_int_equal(0, close(client));
    assert_int_equal(0, close(server));
}

static void connections(void **state)
{
    (void) state;
    connection(AF_INET);
    connection(AF_INET6);
}

static bool both_ways(int fd)
{
    struct tcp_info info = {.tcpi_state = 0};
    socklen_t size = sizeof(info);

    assert_int_equal(0, getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
    return mca_pml_fastpath_socket_both_ways(&info);
}

/* Waits for the other end's data, or its end, without taking it. */
static void await_other(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    assert_int_equal(1, poll(&readable, 1, -1));
}

/* Data of one side, and the end of the other one, are not data of both. */
static void directions(void **state)
{
    struct sockaddr_storage name;
    socklen_t size;
    int server = listener(AF_INET, &name, &size);
    char text[] = "name";

    (void) state;
    for (int answers = 0; answers < 2; ++answers) {
        int client = socket(AF_INET, SOCK_STREAM, 0), accepted;

        assert_int_equal(0, connect(client, (struct sockaddr *) &name, size));
        accepted = accept(server, NULL, NULL);
        assert_true(0 <= accepted);
        assert_false(both_ways(client));
        assert_false(both_ways(accepted));

        assert_int_equal(sizeof(text), write(client, text, sizeof(text)));
        await_other(accepted);
        assert_false(both_ways(client));
        assert_false(both_ways(accepted));
        assert_int_equal(sizeof(text), read(accepted, text, sizeof(text)));
        if (0 != answers) {
            assert_int_equal(sizeof(text), write(accepted, text, sizeof(text)));
            await_other(client);
            assert_true(both_ways(client));
        }
        assert_int_equal(0, close(accepted));
        await_other(client);
        assert_int_equal(0 != answers, both_ways(client));
        assert_int_equal(0, close(client));
    }
    assert_int_equal(0, close(server));
}

static void others(void **state)
{
    int pipes[2], pair[2], file = open("/proc/self/exe", O_RDONLY), udp = socket(AF_INET, SOCK_DGRAM, 0);

    (void) state;
    assert_int_equal(0, pipe(pipes));
    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_OTHER, kind(file));
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_OTHER, kind(pipes[0]));
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_OTHER, kind(pair[0]));
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_OTHER, kind(udp));
    assert_int_equal(MCA_PML_FASTPATH_SOCKET_OTHER, kind(-1));
    assert_true(0 == mca_pml_fastpath_socket_inode(file));
    assert_true(0 == mca_pml_fastpath_socket_inode(pipes[0]));
    assert_true(0 != mca_pml_fastpath_socket_inode(udp));
    for (int i = 0; i < 2; ++i) {
        (void) close(pipes[i]);
        (void) close(pair[i]);
    }
    (void) close(file);
    (void) close(udp);
}

/* Descriptors that have been met, and what socket they were. */
typedef struct {
    uint64_t inode[1024];
    int count;
} met_t;

static void meet(int fd, uint64_t inode, void *arg)
{
    met_t *met = arg;

    assert_true(fd < 1024);
    assert_true(0 == met->inode[fd]);
    met->inode[fd] = inode;
    ++met->count;
}

/* A socket is the same by any descriptor, and a descriptor that is used again is another socket. */
static void all_sockets(void **state)
{
    static met_t before, during, after;
    int first = socket(AF_INET, SOCK_STREAM, 0), copy = dup(first), again;
    uint64_t inode = mca_pml_fastpath_socket_inode(first);

    (void) state;
    assert_true(mca_pml_fastpath_sockets_each(meet, &before));
    assert_true(inode == before.inode[first]);
    assert_true(inode == before.inode[copy]);
    assert_int_equal(0, close(copy));
    assert_true(mca_pml_fastpath_sockets_each(meet, &during));
    assert_int_equal(before.count - 1, during.count);
    assert_int_equal(0, close(first));
    again = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(first, again);
    assert_true(mca_pml_fastpath_sockets_each(meet, &after));
    assert_true(0 != after.inode[again] && inode != after.inode[again]);
    assert_int_equal(0, close(again));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses), cmocka_unit_test(acceptance),  cmocka_unit_test(confirmation),
        cmocka_unit_test(selection), cmocka_unit_test(connections), cmocka_unit_test(directions),
        cmocka_unit_test(others),    cmocka_unit_test(all_sockets),
    };

    return cmocka_run_group_tests_name("socket", tests, NULL, NULL);
}
