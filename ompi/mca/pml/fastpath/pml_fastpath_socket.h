/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The TCP sockets of this process, whoever has opened them, as the kernel tells of them. Nothing here
 * changes a socket, and nothing here knows Open MPI.
 */
#ifndef MCA_PML_FASTPATH_SOCKET_H
#define MCA_PML_FASTPATH_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct tcp_info; /* of <linux/tcp.h> */

/** One end of a TCP connection, or where a process listens. Without padding: it travels. */
typedef struct {
    uint8_t ip[16]; /**< IPv6; IPv4 as ::ffff:a.b.c.d */
    uint16_t port;  /**< in the byte order of the machine */
} mca_pml_fastpath_end_t;
_Static_assert(18 == sizeof(mca_pml_fastpath_end_t), "ends travel as they are");

/** Room for what mca_pml_fastpath_end_text() writes. */
#define MCA_PML_FASTPATH_END_TEXT 48

/** What a descriptor is. */
typedef enum {
    MCA_PML_FASTPATH_SOCKET_OTHER,     /**< no TCP socket, and will never be one */
    MCA_PML_FASTPATH_SOCKET_LISTENING, /**< waits for others to connect; local is valid */
    MCA_PML_FASTPATH_SOCKET_IDLE,      /**< not connected, not connected yet, or not any more */
    MCA_PML_FASTPATH_SOCKET_CONNECTED, /**< local and remote are valid */
} mca_pml_fastpath_socket_kind_t;

/** What the kernel tells of a descriptor. */
typedef struct {
    mca_pml_fastpath_socket_kind_t kind;
    mca_pml_fastpath_end_t local;
    mca_pml_fastpath_end_t remote;
} mca_pml_fastpath_socket_t;

/** Set an end to an address of AF_INET or AF_INET6. @return false for any other family */
bool mca_pml_fastpath_end_set(mca_pml_fastpath_end_t *end, const struct sockaddr *address);

/** @return whether two ends have the same address, whatever their ports */
bool mca_pml_fastpath_end_same_host(const mca_pml_fastpath_end_t *a, const mca_pml_fastpath_end_t *b);

/** @return whether two ends are the same */
bool mca_pml_fastpath_end_same(const mca_pml_fastpath_end_t *a, const mca_pml_fastpath_end_t *b);

/**
 * @param same  one of the two above
 * @return whether one of some ends is the same as another one
 */
bool mca_pml_fastpath_ends_have(const mca_pml_fastpath_end_t *ends, size_t count,
                                const mca_pml_fastpath_end_t *end,
                                bool (*same)(const mca_pml_fastpath_end_t *, const mca_pml_fastpath_end_t *));

/** @return whether an end stands for any address of its family, as that of most listening sockets does */
bool mca_pml_fastpath_end_is_any(const mca_pml_fastpath_end_t *end);

/** @return whether a connection with this local end has been accepted from a socket that listens there */
bool mca_pml_fastpath_end_accepts(const mca_pml_fastpath_end_t *listening,
                                  const mca_pml_fastpath_end_t *local);

/**
 * From the ends of a process, keep those whose address and port both occur in what btl/tcp has published of
 * it, the way they lie in messages of IP; whatever else is in there, and in which order.
 * @return how many are left, at the front
 */
size_t mca_pml_fastpath_ends_confirm(mca_pml_fastpath_end_t *ends, size_t count, const void *data,
                                     size_t size);

/**
 * From the ends of a peer, keep those that lead to it: not addresses that this host has, too (loopback,
 * bridges), unless the peer has no other and so is on this host.
 *
 * @param own  ends of this process
 * @return     how many are left, at the front
 */
size_t mca_pml_fastpath_ends_select(mca_pml_fastpath_end_t *ends, size_t count,
                                    const mca_pml_fastpath_end_t *own, size_t num_own);

/** Write an end's address without its port, as users know it: "10.0.0.2" or "fd00::2". */
void mca_pml_fastpath_end_text(const mca_pml_fastpath_end_t *end, char text[MCA_PML_FASTPATH_END_TEXT]);

/** Ask what a descriptor is. */
void mca_pml_fastpath_socket_look(int fd, mca_pml_fastpath_socket_t *socket);

/**
 * @param info  what TCP_INFO says of a connection
 * @return whether data has gone both ways
 */
bool mca_pml_fastpath_socket_both_ways(const struct tcp_info *info);

/** @return the number by which a socket is known for as long as it exists; 0: the descriptor is no socket */
uint64_t mca_pml_fastpath_socket_inode(int fd);

/**
 * Call a function for every descriptor of this process that is a socket.
 * @return false when /proc cannot be read
 */
bool mca_pml_fastpath_sockets_each(void (*fn)(int fd, uint64_t inode, void *arg), void *arg);

#endif /* MCA_PML_FASTPATH_SOCKET_H */
