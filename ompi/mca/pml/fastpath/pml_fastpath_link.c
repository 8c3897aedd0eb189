/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "opal/mca/common/fastpath/common_fastpath_clock.h"
#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "ompi/runtime/mpiruntime.h"

#include "pml_fastpath_bml.h"
#include "pml_fastpath_check.h"
#include "pml_fastpath_control.h"
#include "pml_fastpath_end.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_link.h"
#include "pml_fastpath_link_failed.h"

/* Progress calls between looks at the clock, and ms between looks at the links, and before the first one:
 * that asks the runtime about each peer, and in the first moments of a job the runtime's threads may have to
 * wait for a core behind ranks that do not know yet that cores are short. */
#define CALLS_PER_LOOK 64
#define LOOK_INTERVAL  1000

/* State of the kernel's tcpi_state, from include/net/tcp_states.h. */
enum { ESTABLISHED = 1 };

/* The peers in the order of their names, while the looking thread looks. */
static struct {
    mca_pml_fastpath_peer_t **peers;
    size_t count;
} all;

static int64_t timeout_ms(void)
{
    return (int64_t) mca_pml_fastpath.link_timeout * 1000;
}

static bool get_info(int sd, struct tcp_info *info)
{
    socklen_t size = sizeof(*info);

    memset(info, 0, sizeof(*info));
    return 0 <= sd && 0 == getsockopt(sd, IPPROTO_TCP, TCP_INFO, info, &size);
}

/* Let the kernel ask the other end's kernel now and then when nothing else is sent, so that its silence
 * means something. The kernel shall not give up by itself before we do. */
static void keepalive(int sd)
{
    int on = 1, interval = (int) mca_pml_fastpath.link_timeout / 4, count = 127;

    interval = interval < 1 ? 1 : 60 < interval ? 60 : interval;
    (void) setsockopt(sd, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof(interval));
    (void) setsockopt(sd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    (void) setsockopt(sd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
    (void) setsockopt(sd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static void trouble_set(mca_pml_fastpath_link_t *link, mca_pml_fastpath_link_trouble_t trouble, int64_t now)
{
    if (trouble != link->trouble) {
        link->trouble = trouble;
        link->since = now;
    }
}

static bool is_of_our_job(const mca_pml_fastpath_peer_t *peer)
{
    return opal_proc_local_get()->proc_name.jobid == peer->proc->super.proc_name.jobid;
}

/* Whether what becomes of the links to it is any concern of ours. */
static bool is_watched(const mca_pml_fastpath_peer_t *peer)
{
    return mca_pml_fastpath_peer_is_connected(peer) && !peer->left && !peer->failed;
}

static int by_name(const void *a, const void *b)
{
    const mca_pml_fastpath_peer_t *const *one = a, *const *other = b;

    return opal_compare_proc((*one)->proc->super.proc_name, (*other)->proc->super.proc_name);
}

static mca_pml_fastpath_peer_t *peer_of(const mca_pml_fastpath_link_t *link)
{
    size_t low = 0, high = all.count;

    while (link->known && low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = opal_compare_proc(link->name, all.peers[middle]->proc->super.proc_name);

        if (0 == order) {
            return all.peers[middle];
        }
        if (0 < order) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

static mca_pml_fastpath_link_t *link_find(const struct mca_btl_base_endpoint_t *endpoint)
{
    mca_pml_fastpath_link_t *link;

    OPAL_LIST_FOREACH(link, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        if (endpoint == link->endpoint) {
            return link;
        }
    }
    return NULL;
}

/* A link of a kind that has no socket, found again or new. */
static mca_pml_fastpath_link_t *link_get(mca_pml_fastpath_link_kind_t kind,
                                         const mca_pml_fastpath_peer_t *peer,
                                         const struct mca_btl_base_endpoint_t *endpoint)
{
    mca_pml_fastpath_link_t *link = link_find(endpoint);

    if (NULL != link && 0 != opal_compare_proc(link->name, peer->proc->super.proc_name)) {
        mca_pml_fastpath_link_remove(link); /* the endpoint has got the memory of another one */
        link = NULL;
    }
    if (NULL == link && NULL != (link = mca_pml_fastpath_link_add(kind))) {
        link->endpoint = endpoint;
        link->known = true;
        link->name = peer->proc->super.proc_name;
    }
    return link;
}

/* Memory that we share with a process of another job tells nothing of its end. One that has only sent to us
 * so far has a link nevertheless. */
static void look_at_memory(mca_pml_fastpath_peer_t *peer, int64_t now)
{
    mca_pml_fastpath_link_t *link;

    if (is_of_our_job(peer) || !is_watched(peer) || !mca_pml_fastpath_peer_reach(peer) || NULL == peer->ext
        || !peer->ext->died(peer->btl_endpoint)) {
        return;
    }
    link = link_get(MCA_PML_FASTPATH_LINK_MEMORY, peer, peer->btl_endpoint);
    if (NULL != link) {
        trouble_set(link, MCA_PML_FASTPATH_LINK_LOST, now);
    }
}

/* ---- connections ---- */

/* The kernel counts what it has repeated without an answer: data (retransmits), or questions after an idle or
 * full receiver (probes). The silence began when we first saw that, or with the last sign of life since. */
static void look_at_connection(mca_pml_fastpath_link_t *link, int64_t now)
{
    struct tcp_info info;

    if (!get_info(link->fd, &info) || link->inode != mca_pml_fastpath_socket_inode(link->fd)) {
        return; /* closed since we have looked */
    }
    if (!link->watched) {
        keepalive(link->fd);
        link->watched = true;
    }
    /* btl/tcp uses it when either side has told the other one its name. Of two that both sides have begun at
     * the same time, one gets no answer and is closed. */
    link->carried = link->carried || mca_pml_fastpath_socket_both_ways(&info);
    if (0 == info.tcpi_retransmits && 0 == info.tcpi_probes) {
        trouble_set(link, MCA_PML_FASTPATH_LINK_SOUND, now);
        return;
    }
    trouble_set(link, MCA_PML_FASTPATH_LINK_SILENT, now);
    if (link->since < now - (int64_t) info.tcpi_last_ack_recv) {
        link->since = now;
    }
}

/* Of a connection that was of no use, or that leads to a process which may end as it likes, nothing remains.
 * Where btl/tcp reports what it loses, it has closed the others because the peer has said goodbye. */
static void look_at_end(mca_pml_fastpath_link_t *link, mca_pml_fastpath_peer_t *peer, int64_t now)
{
    const bool matters = link->carried && (!link->known || (NULL != peer && is_watched(peer)));

    if (matters && !FASTPATH_TCP_REPORTS_LOSS) {
        trouble_set(link, MCA_PML_FASTPATH_LINK_LOST, now);
        return;
    }
    if (matters && NULL != peer) {
        peer->left = true;
    }
    mca_pml_fastpath_link_remove(link);
}

/* Whoever may be at the other end of a connection has one connection more. */
static void count_connection(const mca_pml_fastpath_link_t *link, mca_pml_fastpath_peer_t *peer)
{
    if (NULL != peer) {
        ++peer->connections;
    }
    for (size_t i = 0; !link->known && i < all.count; ++i) {
        if (mca_pml_fastpath_endpoint_has_tcp(all.peers[i]->endpoint)
            && mca_pml_fastpath_peer_has_address(all.peers[i], &link->remote)) {
            ++all.peers[i]->connections;
        }
    }
}

static void look_at_connections(int64_t now)
{
    mca_pml_fastpath_link_t *link, *next;

    OPAL_LIST_FOREACH_SAFE(link, next, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        mca_pml_fastpath_peer_t *peer = peer_of(link);

        if (MCA_PML_FASTPATH_LINK_CONNECTION != link->kind) {
            continue;
        }
        if (link->gone) {
            look_at_end(link, peer, now);
            continue;
        }
        count_connection(link, peer);
        if (link->known && (NULL == peer || !is_watched(peer))) {
            trouble_set(link, MCA_PML_FASTPATH_LINK_SOUND, now);
        } else {
            look_at_connection(link, now);
        }
    }
}

/* ---- connections that are missing ---- */

/* What we sent over a connection that we do not see has left. */
static void probe_completion(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                             mca_btl_base_descriptor_t *descriptor, int status)
{
    mca_pml_fastpath_link_t *link = descriptor->des_cbdata;

    link->proved = link->proved || OPAL_SUCCESS == status;
    OBJ_RELEASE(link);
    mca_pml_fastpath_control_completion(btl, endpoint, descriptor, status);
}

/* After a failed attempt to connect, btl/tcp of Open MPI 4.1 keeps what waits for the connection, and tries
 * again when there is something else to be sent: a HELLO of no connection. When that has left, all before it
 * has. */
static void probe_link(mca_pml_fastpath_link_t *link, const mca_pml_fastpath_peer_t *peer,
                       mca_bml_base_btl_t *bml_btl)
{
    const mca_pml_fastpath_hello_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_HELLO,
                                              .hdr_name = opal_proc_local_get()->proc_name};
    mca_btl_base_descriptor_t *descriptor = mca_pml_fastpath_bml_alloc(
        bml_btl, sizeof(hdr),
        MCA_BTL_DES_FLAGS_PRIORITY | MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    int rc;

    if (NULL == descriptor) {
        return; /* the next look tries again */
    }
    memcpy(descriptor->des_segments->seg_addr.pval, &hdr, sizeof(hdr));
    descriptor->des_cbfunc = probe_completion;
    descriptor->des_cbdata = link;
    OBJ_RETAIN(link);
    rc = mca_pml_fastpath_bml_send(bml_btl, descriptor, hdr.hdr_type);
    if (OMPI_SUCCESS != rc) {
        OBJ_RELEASE(link); /* nobody calls back */
    }
    if (OMPI_SUCCESS != rc && OMPI_ERR_OUT_OF_RESOURCE != rc) {
        mca_pml_fastpath_link_failed(bml_btl->btl, NULL, &peer->proc->super, opal_strerror(rc));
    }
}

/* btl/tcp needs a connection, and none is there that could be it. For a moment that is so whenever a
 * connection begins; and it may be one that we do not see. */
static void look_at_missing(mca_pml_fastpath_peer_t *peer, mca_bml_base_btl_t *bml_btl, int64_t now)
{
    mca_pml_fastpath_link_t *link = link_get(MCA_PML_FASTPATH_LINK_MISSING, peer, bml_btl->btl_endpoint);

    if (NULL == link) {
        return;
    }
    trouble_set(link, link->proved ? MCA_PML_FASTPATH_LINK_SOUND : MCA_PML_FASTPATH_LINK_REFUSED, now);
    if (!link->proved && link->since < now && !mca_pml_fastpath_at_end()) {
        probe_link(link, peer, bml_btl);
    }
}

static void look_for_missing(mca_pml_fastpath_peer_t *peer, int64_t now)
{
    const size_t count =
        NULL == peer->endpoint ? 0 : mca_bml_base_btl_array_get_size(&peer->endpoint->btl_send);
    unsigned needed = 0;

    for (size_t i = 0; i < count; ++i) {
        mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(&peer->endpoint->btl_send, i);

        needed +=
            mca_pml_fastpath_is_tcp(bml_btl->btl) && mca_pml_fastpath_link_is_needed(bml_btl->btl_endpoint);
    }
    for (size_t i = 0; i < count; ++i) {
        mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(&peer->endpoint->btl_send, i);
        mca_pml_fastpath_link_t *link;

        if (!mca_pml_fastpath_is_tcp(bml_btl->btl)
            || !mca_pml_fastpath_link_is_needed(bml_btl->btl_endpoint)) {
            continue;
        }
        if (peer->connections < needed && 0 < peer->num_ends && is_watched(peer)) {
            look_at_missing(peer, bml_btl, now);
        } else if (NULL != (link = link_find(bml_btl->btl_endpoint))) {
            mca_pml_fastpath_link_remove(link);
        }
    }
}

/* ---- who we are ---- */

/* Whoever has accepted a connection does not know whose it is. It is told over any. */
static void introduce(mca_pml_fastpath_link_t *link, mca_pml_fastpath_peer_t *peer)
{
    mca_pml_fastpath_hello_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_HELLO,
                                        .hdr_name = opal_proc_local_get()->proc_name};
    mca_pml_fastpath_socket_t socket;

    mca_pml_fastpath_socket_look(link->fd, &socket);
    if (MCA_PML_FASTPATH_SOCKET_CONNECTED != socket.kind) {
        return; /* not any more */
    }
    hdr.hdr_end = socket.local;
    link->introduced = true;
    for (size_t i = 0; i < mca_bml_base_btl_array_get_size(&peer->endpoint->btl_send); ++i) {
        const mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(&peer->endpoint->btl_send, i);

        if (mca_pml_fastpath_is_tcp(bml_btl->btl) && mca_pml_fastpath_link_is_needed(bml_btl->btl_endpoint)) {
            mca_pml_fastpath_control_send(peer, bml_btl->btl, &hdr, sizeof(hdr));
            return;
        }
    }
}

/* Whether the peer at the other end of a connection may be told now. */
typedef bool (*may_tell_fn_t)(const mca_pml_fastpath_link_t *link, const mca_pml_fastpath_peer_t *peer);

static bool is_used(const mca_pml_fastpath_link_t *link, const mca_pml_fastpath_peer_t *peer)
{
    return link->carried && !link->gone && is_watched(peer);
}

static void introduce_all(may_tell_fn_t may_tell)
{
    mca_pml_fastpath_link_t *link;

    OPAL_LIST_FOREACH(link, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        mca_pml_fastpath_peer_t *peer = peer_of(link);

        if (link->outgoing && !link->introduced && NULL != peer && NULL != peer->endpoint
            && may_tell(link, peer)) {
            introduce(link, peer);
        }
    }
}

/* ---- the end ---- */

/* The peers that may be at the other end of a connection. @return how many; the first one is set */
static size_t suspects(const mca_pml_fastpath_link_t *link, mca_pml_fastpath_peer_t **first)
{
    size_t count = 0;

    *first = peer_of(link);
    if (link->known) {
        return NULL == *first ? 0 : 1;
    }
    for (size_t i = 0; i < all.count; ++i) {
        mca_pml_fastpath_peer_t *peer = all.peers[i];

        if (mca_pml_fastpath_peer_has_address(peer, &link->remote)) {
            if (!is_watched(peer)) {
                return 0; /* it may be that one, whose end is no concern of ours */
            }
            *first = 0 == count++ ? peer : *first;
        }
    }
    return count;
}

/* "rank 3 on host h2 (10.0.0.2)", or "rank 1, 3 or 5 on host h2 (10.0.0.2)" */
static const char *describe_suspects(const mca_pml_fastpath_link_t *link, mca_pml_fastpath_peer_t *first)
{
    static char text[512];
    char address[MCA_PML_FASTPATH_END_TEXT] = "";
    size_t length = 0;

    if (MCA_PML_FASTPATH_LINK_CONNECTION == link->kind) {
        mca_pml_fastpath_end_text(&link->remote, address);
    } else if (0 < first->num_ends) {
        mca_pml_fastpath_end_text(&first->ends[0], address);
    }
    for (size_t i = 0; !link->known && i < all.count && length < sizeof(text) / 2; ++i) {
        mca_pml_fastpath_peer_t *peer = all.peers[i];

        if (peer != first && mca_pml_fastpath_peer_has_address(peer, &link->remote)) {
            length += (size_t) snprintf(text + length, sizeof(text) - length, "rank %lu or ",
                                        (unsigned long) peer->proc->super.proc_name.vpid);
        }
    }
    snprintf(text + length, sizeof(text) - length, "%s",
             mca_pml_fastpath_proc_text(&first->proc->super, address));
    return text;
}

static void say_trouble(const mca_pml_fastpath_link_t *link, mca_pml_fastpath_peer_t *peer)
{
    char cause[256];

    if (MCA_PML_FASTPATH_LINK_MEMORY == link->kind) {
        mca_pml_fastpath_abort("peer died", describe_suspects(link, peer),
                               "it has ended without leaving MPI");
    }
    if (MCA_PML_FASTPATH_LINK_LOST == link->trouble) {
        snprintf(cause, sizeof(cause), "the kernel has closed the TCP connection");
    } else {
        snprintf(cause, sizeof(cause), "%s for %u s (pml_fastpath_link_timeout)",
                 MCA_PML_FASTPATH_LINK_SILENT == link->trouble ? "no answer from that host"
                                                               : "no TCP connection could be made",
                 mca_pml_fastpath.link_timeout);
    }
    mca_pml_fastpath_abort("link lost", describe_suspects(link, peer), cause);
}

/* End the job if a link's trouble has lasted long enough. */
static void judge_link(const mca_pml_fastpath_link_t *link, int64_t now, bool after_you)
{
    bool lost = MCA_PML_FASTPATH_LINK_LOST == link->trouble;
    int64_t patience = !lost || timeout_ms() < MCA_PML_FASTPATH_GRACE ? timeout_ms() : MCA_PML_FASTPATH_GRACE;
    mca_pml_fastpath_peer_t *peer;
    size_t count;

    if (lost && OMPI_MPI_STATE_FINALIZE_STARTED <= ompi_mpi_state) {
        return; /* all have arrived at the end, and go one after the other */
    }
    if (now - link->since < patience + (after_you ? MCA_PML_FASTPATH_AFTER_YOU : 0)) {
        return;
    }
    count = suspects(link, &peer);
    if (0 == count || !is_watched(peer)) {
        return;
    }
    if (mca_pml_fastpath_ft() && 1 < count) {
        return; /* nobody can say which one has failed */
    }
    if (!mca_pml_fastpath_failure_report(peer->proc)) {
        say_trouble(link, peer);
    }
}

/* @return whether there is trouble with a peer of lower rank than ours */
static bool is_elders(const mca_pml_fastpath_link_t *link)
{
    mca_pml_fastpath_peer_t *peer;

    return MCA_PML_FASTPATH_LINK_SOUND != link->trouble && 0 < suspects(link, &peer)
           && mca_pml_fastpath_is_elder(&peer->proc->super);
}

static void judge_all(int64_t now)
{
    bool after_you = !mca_common_fastpath_reporting_rank();
    mca_pml_fastpath_link_t *link, *next;

    OPAL_LIST_FOREACH(link, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        after_you = after_you || is_elders(link);
    }
    OPAL_LIST_FOREACH_SAFE(link, next, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        if (MCA_PML_FASTPATH_LINK_SOUND != link->trouble) {
            judge_link(link, now, after_you);
        }
    }
}

/* ---- looking ---- */

static void peers_take(void)
{
    all.count = mca_pml_fastpath_peers_get(&all.peers);
    qsort(all.peers, all.count, sizeof(all.peers[0]), by_name);
    for (size_t i = 0; i < all.count; ++i) {
        all.peers[i]->connections = 0;
    }
}

static void peers_release(void)
{
    for (size_t i = 0; i < all.count; ++i) {
        OBJ_RELEASE(all.peers[i]);
    }
    free(all.peers);
    all.peers = NULL;
    all.count = 0;
}

/* Whether btl/tcp may have connections. A peer that only sends to us has no endpoint here. */
static bool may_have_connections(void)
{
    if (!mca_pml_fastpath_ends_any()) {
        return false;
    }
    for (size_t i = 0; i < all.count; ++i) {
        if (NULL == all.peers[i]->endpoint ? !OPAL_PROC_ON_LOCAL_NODE(all.peers[i]->proc->super.proc_flags)
                                           : mca_pml_fastpath_endpoint_has_tcp(all.peers[i]->endpoint)) {
            return true;
        }
    }
    return false;
}

static void look_at_links(int64_t now)
{
    peers_take();
    for (size_t i = 0; i < all.count; ++i) {
        look_at_memory(all.peers[i], now);
    }
    if (may_have_connections()) {
        mca_pml_fastpath_links_find(all.peers, all.count);
        look_at_connections(now);
        for (size_t i = 0; i < all.count; ++i) {
            look_for_missing(all.peers[i], now);
        }
        if (!mca_pml_fastpath_at_end()) {
            introduce_all(is_used);
        }
    }
    judge_all(now);
    peers_release();
}

void mca_pml_fastpath_links_look(void)
{
    static opal_atomic_int32_t busy = 0;
    static int64_t next_look = -1;
    int64_t now;

    mca_pml_fastpath.link_countdown =
        0 == mca_pml_fastpath.link_timeout && !mca_pml_fastpath_ft() ? INT_MAX : CALLS_PER_LOOK;
    if (0 == mca_pml_fastpath.link_timeout || !mca_pml_fastpath.enabled) {
        return;
    }
    now = (int64_t) (mca_common_fastpath_nanoseconds() / 1000000);
    if (0 > next_look) {
        next_look = now + LOOK_INTERVAL;
    }
    if (now < next_look) {
        return;
    }
    /* one thread, and not from within itself: reaching a peer may come to progress */
    if (1 == OPAL_THREAD_ADD_FETCH32(&busy, 1)) {
        next_look = now + LOOK_INTERVAL;
        look_at_links(now);
    }
    (void) OPAL_THREAD_ADD_FETCH32(&busy, -1);
}

/* It is asked anew before each write: the other process may be about to end as well, and btl/tcp does not
 * survive a write that fails at the end (it closes its endpoint, adds an event to it all the same, and
 * frees it). */
static bool is_up(const mca_pml_fastpath_link_t *link)
{
    struct tcp_info info;

    return MCA_PML_FASTPATH_LINK_CONNECTION == link->kind && !link->gone && get_info(link->fd, &info)
           && ESTABLISHED == info.tcpi_state;
}

/* Whether a connection that may be this peer's is up. */
static bool is_reached(mca_pml_fastpath_peer_t *peer)
{
    mca_pml_fastpath_link_t *link;

    OPAL_LIST_FOREACH(link, &mca_pml_fastpath_links, mca_pml_fastpath_link_t)
    {
        if ((link->known ? peer == peer_of(link) : mca_pml_fastpath_peer_has_address(peer, &link->remote))
            && is_up(link)) {
            return true;
        }
    }
    return false;
}

/* Never make a connection for this: the peer may have gone already. Where there is one, the peer is there,
 * and only its BTLs know which of them it belongs to. */
static void leave_peer(mca_pml_fastpath_peer_t *peer)
{
    const mca_pml_fastpath_leave_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_LEAVE,
                                              .hdr_name = opal_proc_local_get()->proc_name};

    if (NULL == peer->endpoint || peer->left || is_of_our_job(peer)) {
        return; /* the processes of our own job end when we do */
    }
    for (size_t i = 0; i < mca_bml_base_btl_array_get_size(&peer->endpoint->btl_send); ++i) {
        mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(&peer->endpoint->btl_send, i);

        if (mca_pml_fastpath_is_tcp(bml_btl->btl) && is_reached(peer)) {
            mca_pml_fastpath_control_send(peer, bml_btl->btl, &hdr, sizeof(hdr));
        }
    }
}

/* Whether the peer's job may go on after the end of ours. */
static bool goes_on(const mca_pml_fastpath_link_t *link, const mca_pml_fastpath_peer_t *peer)
{
    return !is_of_our_job(peer) && is_up(link);
}

void mca_pml_fastpath_links_leave(void)
{
    if (FASTPATH_TCP_REPORTS_LOSS || OMPI_MPI_STATE_FINALIZE_STARTED > ompi_mpi_state) {
        return;
    }
    mca_pml_fastpath_links_end(); /* progress may not have been called since MPI_Finalize began */
    peers_take();
    if (may_have_connections()) {
        mca_pml_fastpath_links_find(all.peers, all.count);
        introduce_all(goes_on);
        for (size_t i = 0; i < all.count; ++i) {
            leave_peer(all.peers[i]);
        }
    }
    peers_release();
}

/* Open MPI deletes the processes of our job only; btl/tcp closes the links to others in its own end. */
static void close_others(void)
{
    mca_pml_fastpath_peer_t **peers;
    size_t count = mca_pml_fastpath_peers_get(&peers);

    for (size_t i = 0; i < count; ++i) {
        mca_pml_fastpath_peer_t *peer = peers[i];
        ompi_proc_t *proc = peer->proc;

        if (!is_of_our_job(peer)
            && mca_pml_fastpath_endpoint_has_tcp(proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML])) {
            mca_pml_fastpath_peer_forget(proc);
            (void) mca_bml.bml_del_procs(1, &proc);
        }
        OBJ_RELEASE(peer);
    }
    free(peers);
}

/* A signal that is held back from the calling thread. */
typedef struct {
    sigset_t before; /* the thread's mask */
    bool pending;    /* it had come before */
} held_t;

static void hold_broken_pipe(held_t *held)
{
    sigset_t broken, pending;

    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigemptyset(&pending);
    (void) sigpending(&pending);
    held->pending = 0 != sigismember(&pending, SIGPIPE);
    (void) pthread_sigmask(SIG_BLOCK, &broken, &held->before);
}

static void release_broken_pipe(const held_t *held)
{
    const struct timespec now = {0, 0};
    sigset_t broken;

    if (!held->pending) {
        sigemptyset(&broken);
        sigaddset(&broken, SIGPIPE);
        (void) sigtimedwait(&broken, NULL, &now); /* takes it away if it has come */
    }
    (void) pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

/* what is held back from the first progress in MPI_Finalize on */
static held_t at_end;
static bool ending;

void mca_pml_fastpath_links_end(void)
{
    if (!ending) {
        ending = true;
        hold_broken_pipe(&at_end);
    }
}

void mca_pml_fastpath_links_ended(void)
{
    if (ending) {
        ending = false;
        release_broken_pipe(&at_end);
    }
}

int mca_pml_fastpath_links_close(ompi_proc_t **procs, size_t nprocs)
{
    held_t held;
    int rc;

    hold_broken_pipe(&held);
    rc = mca_bml.bml_del_procs(nprocs, procs);
    if (FASTPATH_TCP_REPORTS_LOSS && OMPI_MPI_STATE_FINALIZE_STARTED <= ompi_mpi_state) {
        close_others();
    }
    release_broken_pipe(&held);
    return rc;
}

void mca_pml_fastpath_link_left(const mca_btl_base_module_t *btl, const mca_pml_fastpath_leave_hdr_t *hdr)
{
    opal_proc_t *proc = ompi_proc_lookup(hdr->hdr_name);
    mca_pml_fastpath_peer_t *peer = NULL == proc ? NULL : mca_pml_fastpath_peer_find((ompi_proc_t *) proc);

    if (OPAL_UNLIKELY(opal_proc_local_get()->proc_name.jobid == hdr->hdr_name.jobid)) {
        mca_pml_fastpath_corrupt(btl, (ompi_proc_t *) proc, hdr->hdr_type, "a process of this job");
    }
    if (NULL != peer) {
        peer->left = true;
        OBJ_RELEASE(peer);
    }
}
