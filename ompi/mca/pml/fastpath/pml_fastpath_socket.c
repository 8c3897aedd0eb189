/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#if !defined(_GNU_SOURCE)
#    define _GNU_SOURCE
#endif

#include "pml_fastpath_socket.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool is_ipv4(const mca_pml_fastpath_end_t *end)
{
    return 0 == memcmp(end->ip, mapped, sizeof(mapped));
}

bool mca_pml_fastpath_end_set(mca_pml_fastpath_end_t *end, const struct sockaddr *address)
{
    const void *any = address;

    if (AF_INET == address->sa_family) {
        const struct sockaddr_in *ipv4 = any;

        memcpy(end->ip, mapped, sizeof(mapped));
        memcpy(end->ip + sizeof(mapped), &ipv4->sin_addr, sizeof(ipv4->sin_addr));
        end->port = ntohs(ipv4->sin_port);
        return true;
    }
    if (AF_INET6 == address->sa_family) {
        const struct sockaddr_in6 *ipv6 = any;

        memcpy(end->ip, &ipv6->sin6_addr, sizeof(end->ip));
        end->port = ntohs(ipv6->sin6_port);
        return true;
    }
    return false;
}

bool mca_pml_fastpath_end_same_host(const mca_pml_fastpath_end_t *a, const mca_pml_fastpath_end_t *b)
{
    return 0 == memcmp(a->ip, b->ip, sizeof(a->ip));
}

bool mca_pml_fastpath_end_same(const mca_pml_fastpath_end_t *a, const mca_pml_fastpath_end_t *b)
{
    return a->port == b->port && mca_pml_fastpath_end_same_host(a, b);
}

bool mca_pml_fastpath_end_is_any(const mca_pml_fastpath_end_t *end)
{
    static const uint8_t zeros[16];
    const size_t prefix = is_ipv4(end) ? sizeof(mapped) : 0;

    return 0 == memcmp(end->ip + prefix, zeros, sizeof(end->ip) - prefix);
}

bool mca_pml_fastpath_end_accepts(const mca_pml_fastpath_end_t *listening,
                                  const mca_pml_fastpath_end_t *local)
{
    if (listening->port != local->port) {
        return false;
    }
    return mca_pml_fastpath_end_is_any(listening) ? is_ipv4(listening) == is_ipv4(local)
                                                  : mca_pml_fastpath_end_same_host(listening, local);
}

/* Numbers of more than a byte lie at even offsets. */
static bool occurs(const void *what, size_t length, const char *data, size_t size)
{
    for (size_t i = 0; i + length <= size; i += 2) {
        if (0 == memcmp(what, data + i, length)) {
            return true;
        }
    }
    return false;
}

size_t mca_pml_fastpath_ends_confirm(mca_pml_fastpath_end_t *ends, size_t count, const void *data,
                                     size_t size)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; ++i) {
        const mca_pml_fastpath_end_t end = ends[i];
        const size_t prefix = is_ipv4(&end) ? sizeof(mapped) : 0;
        const uint16_t port = htons(end.port);

        if (occurs(end.ip + prefix, sizeof(end.ip) - prefix, data, size)
            && occurs(&port, sizeof(port), data, size)) {
            ends[kept++] = end;
        }
    }
    return kept;
}

bool mca_pml_fastpath_ends_have(const mca_pml_fastpath_end_t *ends, size_t count,
                                const mca_pml_fastpath_end_t *end,
                                bool (*same)(const mca_pml_fastpath_end_t *, const mca_pml_fastpath_end_t *))
{
    for (size_t i = 0; i < count; ++i) {
        if (same(&ends[i], end)) {
            return true;
        }
    }
    return false;
}

size_t mca_pml_fastpath_ends_select(mca_pml_fastpath_end_t *ends, size_t count,
                                    const mca_pml_fastpath_end_t *own, size_t num_own)
{
    size_t others = 0;

    for (size_t i = 0; i < count; ++i) {
        if (!mca_pml_fastpath_ends_have(own, num_own, &ends[i], mca_pml_fastpath_end_same_host)) {
            const mca_pml_fastpath_end_t other = ends[i];

            ends[i] = ends[others];
            ends[others++] = other;
        }
    }
    return 0 < others ? others : count;
}

void mca_pml_fastpath_end_text(const mca_pml_fastpath_end_t *end, char text[MCA_PML_FASTPATH_END_TEXT])
{
    const int family = is_ipv4(end) ? AF_INET : AF_INET6;

    if (NULL
        == inet_ntop(family, AF_INET == family ? end->ip + sizeof(mapped) : end->ip, text,
                     MCA_PML_FASTPATH_END_TEXT)) {
        *text = '\0';
    }
}

static int option(int fd, int name)
{
    socklen_t size = sizeof(int);
    int value = -1;

    return 0 == getsockopt(fd, SOL_SOCKET, name, &value, &size) ? value : -1;
}

void mca_pml_fastpath_socket_look(int fd, mca_pml_fastpath_socket_t *socket)
{
    struct sockaddr_storage name;
    socklen_t size = sizeof(name);

    socket->kind = MCA_PML_FASTPATH_SOCKET_OTHER;
    if (IPPROTO_TCP != option(fd, SO_PROTOCOL) || 0 != getsockname(fd, (struct sockaddr *) &name, &size)
        || !mca_pml_fastpath_end_set(&socket->local, (struct sockaddr *) &name)) {
        return;
    }
    size = sizeof(name);
    if (1 == option(fd, SO_ACCEPTCONN)) {
        socket->kind = MCA_PML_FASTPATH_SOCKET_LISTENING;
    } else if (0 == getpeername(fd, (struct sockaddr *) &name, &size)
               && mca_pml_fastpath_end_set(&socket->remote, (struct sockaddr *) &name)) {
        socket->kind = MCA_PML_FASTPATH_SOCKET_CONNECTED;
    } else {
        socket->kind = MCA_PML_FASTPATH_SOCKET_IDLE;
    }
}

/* The kernel counts the begin and the end of either direction as a byte of it. */
bool mca_pml_fastpath_socket_both_ways(const struct tcp_info *info)
{
    return 2 < info->tcpi_bytes_acked && 1 < info->tcpi_bytes_received;
}

uint64_t mca_pml_fastpath_socket_inode(int fd)
{
    struct stat status;

    return 0 == fstat(fd, &status) && S_ISSOCK(status.st_mode) ? (uint64_t) status.st_ino : 0;
}

bool mca_pml_fastpath_sockets_each(void (*fn)(int fd, uint64_t inode, void *arg), void *arg)
{
    DIR *descriptors = opendir("/proc/self/fd");
    const struct dirent *entry;

    if (NULL == descriptors) {
        return false;
    }
    while (NULL != (entry = readdir(descriptors))) {
        char *rest;
        const long fd = strtol(entry->d_name, &rest, 10);

        if (rest != entry->d_name && '\0' == *rest) { /* neither "." nor ".." */
            const uint64_t inode = mca_pml_fastpath_socket_inode((int) fd);

            if (0 != inode) {
                fn((int) fd, inode, arg);
            }
        }
    }
    (void) closedir(descriptors);
    return true;
}
