/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Which sockets of this process are connections of btl/tcp, and where they lead to.
 *
 * Whoever has connected knows: nobody else listens at the address and port that the connection leads to than
 * the peer that has published them (pml_fastpath_end.h). Whoever has accepted knows the host only, until the
 * other side says which of its processes has connected from that port (HELLO).
 */
#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "pml_fastpath_check.h"
#include "pml_fastpath_end.h"
#include "pml_fastpath_link_find.h"

/* HELLOs that are kept for connections that we have not seen yet, and descriptors whose sockets are
 * remembered; for more than these, links are found later, or with more effort. */
#define HELLOS      4096
#define DESCRIPTORS (1 << 20)

/* Endpoints that have been noted lately; a power of two. */
#define RECENT 256

static void link_construct(mca_pml_fastpath_link_t *link)
{
    memset((char *) link + sizeof(link->super), 0, sizeof(*link) - sizeof(link->super));
    link->fd = -1;
}

OBJ_CLASS_INSTANCE(mca_pml_fastpath_link_t, opal_list_item_t, link_construct, NULL);

/* Somebody has said that an end is its. */
typedef struct {
    opal_list_item_t super;
    mca_pml_fastpath_end_t end;
    opal_process_name_t name;
} hello_t;
static OBJ_CLASS_INSTANCE(hello_t, opal_list_item_t, NULL, NULL);

opal_list_t mca_pml_fastpath_links;

static struct {
    opal_list_t hellos;                  /* hello_t, protected by the PML's lock */
    opal_hash_table_t kept;              /* BTL endpoint -> itself, protected by the PML's lock */
    const void *volatile recent[RECENT]; /* some of these, to be asked without the lock */

    /* the looking thread's */
    uint64_t *seen; /* by descriptor: the socket that has been looked at there; 0 = none */
    size_t num_seen;
} find;

void mca_pml_fastpath_links_init(void)
{
    memset((void *) &find, 0, sizeof(find));
    OBJ_CONSTRUCT(&mca_pml_fastpath_links, opal_list_t);
    OBJ_CONSTRUCT(&find.hellos, opal_list_t);
    OBJ_CONSTRUCT(&find.kept, opal_hash_table_t);
    (void) opal_hash_table_init(&find.kept, 64);
}

void mca_pml_fastpath_links_fini(void)
{
    OBJ_DESTRUCT(&find.kept);
    OPAL_LIST_DESTRUCT(&find.hellos);
    OPAL_LIST_DESTRUCT(&mca_pml_fastpath_links);
    free(find.seen);
}

mca_pml_fastpath_link_t *mca_pml_fastpath_link_add(mca_pml_fastpath_link_kind_t kind)
{
    mca_pml_fastpath_link_t *link = OBJ_NEW(mca_pml_fastpath_link_t);

    if (NULL != link) {
        link->kind = kind;
        OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
        opal_list_append(&mca_pml_fastpath_links, &link->super);
        OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    }
    return link;
}

void mca_pml_fastpath_link_remove(mca_pml_fastpath_link_t *link)
{
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    opal_list_remove_item(&mca_pml_fastpath_links, &link->super);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    OBJ_RELEASE(link);
}

/* ---- what btl/tcp needs ---- */

void mca_pml_fastpath_link_kept(const struct mca_btl_base_endpoint_t *endpoint)
{
    const size_t slot = ((uintptr_t) endpoint >> 6) % RECENT;

    if (endpoint == find.recent[slot]) {
        return;
    }
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    if (OPAL_SUCCESS
        == opal_hash_table_set_value_uint64(&find.kept, (uint64_t) (uintptr_t) endpoint, (void *) endpoint)) {
        find.recent[slot] = endpoint;
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

bool mca_pml_fastpath_link_is_needed(const struct mca_btl_base_endpoint_t *endpoint)
{
    void *value = NULL;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    (void) opal_hash_table_get_value_uint64(&find.kept, (uint64_t) (uintptr_t) endpoint, &value);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
    return NULL != value;
}

/* ---- who is where ---- */

bool mca_pml_fastpath_endpoint_has_tcp(const mca_bml_base_endpoint_t *endpoint)
{
    for (size_t i = 0; NULL != endpoint && i < endpoint->btl_send.arr_size; ++i) {
        if (mca_pml_fastpath_is_tcp(endpoint->btl_send.bml_btls[i].btl)) {
            return true;
        }
    }
    return false;
}

/* @return whether they had not been asked for */
static bool ask_for_ends(mca_pml_fastpath_peer_t *peer)
{
    if (peer->ends_known) {
        return false;
    }
    peer->num_ends = mca_pml_fastpath_ends_of(&peer->proc->super.proc_name, &peer->ends);
    peer->ends_known = true;
    return true;
}

bool mca_pml_fastpath_peer_has_address(mca_pml_fastpath_peer_t *peer, const mca_pml_fastpath_end_t *end)
{
    (void) ask_for_ends(peer);
    return mca_pml_fastpath_ends_have(peer->ends, peer->num_ends, end, mca_pml_fastpath_end_same_host);
}

void mca_pml_fastpath_link_hello(const mca_btl_base_module_t *btl, const mca_pml_fastpath_hello_hdr_t *hdr)
{
    hello_t *hello, *other, *next;

    mca_pml_fastpath_name_check(btl, hdr->hdr_type, hdr->hdr_name);
    hello = 0 == hdr->hdr_end.port ? NULL : OBJ_NEW(hello_t);
    if (NULL == hello) {
        return; /* without memory, only the host of that connection is known */
    }
    hello->end = hdr->hdr_end;
    hello->name = hdr->hdr_name;
    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    OPAL_LIST_FOREACH_SAFE(other, next, &find.hellos, hello_t)
    {
        if (mca_pml_fastpath_end_same(&hello->end, &other->end)
            || HELLOS <= opal_list_get_size(&find.hellos)) {
            opal_list_remove_item(&find.hellos, &other->super);
            OBJ_RELEASE(other);
        }
    }
    opal_list_append(&find.hellos, &hello->super);
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

/* The process that has connected to us. */
static void identify(mca_pml_fastpath_link_t *link)
{
    hello_t *hello;

    OPAL_LIST_FOREACH(hello, &find.hellos, hello_t)
    {
        if (mca_pml_fastpath_end_same(&hello->end, &link->remote)) {
            link->name = hello->name;
            link->known = true;
            opal_list_remove_item(&find.hellos, &hello->super);
            OBJ_RELEASE(hello);
            return;
        }
    }
}

static void identify_all(void)
{
    mca_pml_fastpath_link_t *link;

    OPAL_THREAD_LOCK(&mca_pml_fastpath.lock);
    OPAL_LIST_FOREACH(link, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        if (opal_list_is_empty(&find.hellos)) {
            break;
        }
        if (!link->known) {
            identify(link);
        }
    }
    OPAL_THREAD_UNLOCK(&mca_pml_fastpath.lock);
}

/* ---- sockets ---- */

static void see(int fd, uint64_t inode)
{
    if (find.num_seen <= (size_t) fd && fd < DESCRIPTORS) {
        const size_t wanted = 64 + 2 * (size_t) fd;
        uint64_t *seen = realloc(find.seen, wanted * sizeof(*seen));

        if (NULL != seen) {
            memset(seen + find.num_seen, 0, (wanted - find.num_seen) * sizeof(*seen));
            find.seen = seen;
            find.num_seen = wanted;
        }
    }
    if ((size_t) fd < find.num_seen) {
        find.seen[fd] = inode;
    }
}

/* Two descriptors may be the same socket. */
static bool is_link(uint64_t inode)
{
    mca_pml_fastpath_link_t *link;

    OPAL_LIST_FOREACH(link, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        if (inode == link->inode && !link->gone) {
            return true;
        }
    }
    return false;
}

static void add_connection(int fd, uint64_t inode, const mca_pml_fastpath_socket_t *socket,
                           const mca_pml_fastpath_peer_t *peer)
{
    mca_pml_fastpath_link_t *link =
        is_link(inode) ? NULL : mca_pml_fastpath_link_add(MCA_PML_FASTPATH_LINK_CONNECTION);

    if (NULL != link) {
        link->fd = fd;
        link->inode = inode;
        link->remote = socket->remote;
        if (NULL != peer) {
            link->outgoing = true;
            link->known = true;
            link->name = peer->proc->super.proc_name;
        }
    }
}

/* All peers, and how many. */
typedef struct {
    mca_pml_fastpath_peer_t *const *peers;
    size_t count;
} peers_t;

/* The application's sockets, the runtime's and those of other libraries are none of our business. */
static void look_at_socket(int fd, uint64_t inode, void *arg)
{
    const peers_t *all = arg;
    mca_pml_fastpath_socket_t socket;

    if ((size_t) fd < find.num_seen && inode == find.seen[fd]) {
        return;
    }
    mca_pml_fastpath_socket_look(fd, &socket);
    if (MCA_PML_FASTPATH_SOCKET_IDLE == socket.kind) {
        return; /* it may be connected at the next look */
    }
    see(fd, inode);
    if (MCA_PML_FASTPATH_SOCKET_CONNECTED != socket.kind) {
        return;
    }
    if (mca_pml_fastpath_ends_accept(&socket.local)) {
        add_connection(fd, inode, &socket, NULL);
        return;
    }
    for (size_t i = 0; i < all->count; ++i) {
        const mca_pml_fastpath_peer_t *peer = all->peers[i];

        if (mca_pml_fastpath_ends_have(peer->ends, peer->num_ends, &socket.remote,
                                       mca_pml_fastpath_end_same)) { /* it listens there */
            add_connection(fd, inode, &socket, peer);
            return;
        }
    }
}

/* A socket that leads to nobody we know may lead to somebody whom we know now. */
static void look_again(void)
{
    mca_pml_fastpath_link_t *link;

    if (0 < find.num_seen) {
        memset(find.seen, 0, find.num_seen * sizeof(find.seen[0]));
    }
    OPAL_LIST_FOREACH(link, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        if (0 != link->inode && !link->gone) {
            see(link->fd, link->inode);
        }
    }
}

void mca_pml_fastpath_links_find(mca_pml_fastpath_peer_t *const *peers, size_t count)
{
    peers_t all = {.peers = peers, .count = count};
    mca_pml_fastpath_link_t *link;
    bool more = false;

    OPAL_LIST_FOREACH(link, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        if (0 != link->inode && !link->gone) {
            link->gone = link->inode != mca_pml_fastpath_socket_inode(link->fd);
        }
    }
    for (size_t i = 0; i < count; ++i) {
        more = (mca_pml_fastpath_endpoint_has_tcp(peers[i]->endpoint) && ask_for_ends(peers[i])) || more;
    }
    if (more) {
        look_again();
    }
    (void) mca_pml_fastpath_sockets_each(look_at_socket, &all);
    identify_all();
}
