/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "ompi_config.h"

#include <arpa/inet.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fastpath_tcp_endpoint.h"

#include "opal/mca/common/fastpath/common_fastpath_host.h"

#include "ompi/runtime/mpiruntime.h"

#include "pml_fastpath_check.h"
#include "pml_fastpath_failure.h"
#include "pml_fastpath_link.h"

/* Progress calls between looks at the clock, and ms between looks at the links. */
#define CALLS_PER_LOOK 64
#define LOOK_INTERVAL  1000

/* When a connection is gone, or something could not be sent, we wait so long (ms, or the timeout if that is
 * less): if its other end has died, the runtime ends the job meanwhile and can say more than we. */
#define GRACE 3000

/* Many processes see the same trouble at once. Those that can leave it to another one on their host, or to
 * one of lower rank at the other end of a troubled link, wait so long (ms) before they speak. */
#define AFTER_YOU 2000

/* What btl/tcp itself sends at the beginning of a connection, in either direction; bytes. */
#define HANDSHAKE 24

/* States of the kernel's tcpi_state, from include/net/tcp_states.h. */
enum { ESTABLISHED = 1, SYN_SENT = 2, SYN_RECV = 3 };

static int64_t now_ms(void)
{
    struct timespec now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t timeout_ms(void)
{
    return (int64_t) mca_pml_fastpath.link_timeout * 1000;
}

static bool is_elder(const opal_proc_t *proc)
{
    return 0 < opal_compare_proc(opal_proc_local_get()->proc_name, proc->proc_name);
}

/* "rank 3 on host h2 (10.0.0.2)"; of a static buffer, for those who are about to end the job */
static const char *describe(const opal_proc_t *proc, const char *address)
{
    static char text[512];
    char host[256];
    bool ours = proc->proc_name.jobid == opal_proc_local_get()->proc_name.jobid;

    fastpath_proc_hostname(proc, host, sizeof(host));
    snprintf(text, sizeof(text), "rank %lu%s on host %s%s%s%s", (unsigned long) proc->proc_name.vpid,
             ours ? "" : " of another job", host, '\0' == *address ? "" : " (", address,
             '\0' == *address ? "" : ")");
    return text;
}

static bool get_info(int sd, struct tcp_info *info)
{
    socklen_t size = sizeof(*info);

    memset(info, 0, sizeof(*info));
    return 0 <= sd && 0 == getsockopt(sd, IPPROTO_TCP, TCP_INFO, info, &size);
}

static uint64_t inode_of(int sd)
{
    struct stat status;

    return 0 == fstat(sd, &status) ? (uint64_t) status.st_ino : 0;
}

static void get_address(int sd, char *text, size_t size)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof(name);
    char host[INET6_ADDRSTRLEN] = "";

    *text = '\0';
    if (0 != getpeername(sd, (struct sockaddr *) &name, &length)) {
        return;
    }
    if (AF_INET == name.ss_family) {
        (void) inet_ntop(AF_INET, &((struct sockaddr_in *) &name)->sin_addr, host, sizeof(host));
    } else if (AF_INET6 == name.ss_family) {
        (void) inet_ntop(AF_INET6, &((struct sockaddr_in6 *) &name)->sin6_addr, host, sizeof(host));
    }
    snprintf(text, size, "%s", host);
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

/* That there is no connection, or no answer to an attempt to make one, is the same trouble as far as its
 * beginning is concerned: attempts fail and are repeated. */
static void trouble_set(mca_pml_fastpath_link_t *link, mca_pml_fastpath_link_trouble_t trouble, int64_t now)
{
    bool goes_on =
        trouble == link->trouble || (MCA_PML_FASTPATH_LINK_SOUND != link->trouble && !link->carried);

    link->trouble = trouble;
    if (!goes_on) {
        link->since = now;
    }
}

/* There is a connection, or an attempt to make one. The kernel counts what it has repeated without an
 * answer: data (retransmits), or questions after an idle or full receiver (probes). The silence began when
 * we first saw that, or with the last sign of life since. */
static void look_at_connection(mca_pml_fastpath_link_t *link, const struct tcp_info *info, int64_t now)
{
    bool connecting = SYN_SENT == info->tcpi_state || SYN_RECV == info->tcpi_state;

    link->carried =
        link->carried || HANDSHAKE + 1 < info->tcpi_bytes_acked || HANDSHAKE < info->tcpi_bytes_received;
    if (!connecting && 0 == info->tcpi_retransmits && 0 == info->tcpi_probes) {
        trouble_set(link, MCA_PML_FASTPATH_LINK_SOUND, now);
        return;
    }
    trouble_set(link, MCA_PML_FASTPATH_LINK_SILENT, now);
    if (!connecting && link->since < now - (int64_t) info->tcpi_last_ack_recv) {
        link->since = now;
    }
}

/* Compare a link with what it was at the last look. */
static void look_at_link(mca_pml_fastpath_link_t *link, const volatile fastpath_tcp_endpoint_t *tcp,
                         int64_t now)
{
    int sd = tcp->endpoint_sd;
    struct tcp_info info;
    uint64_t inode = get_info(sd, &info) ? inode_of(sd) : 0;

    if (inode != link->inode && link->carried) {
        trouble_set(link, MCA_PML_FASTPATH_LINK_LOST, now);
        return; /* for good, also if there is another connection now */
    }
    if (0 == inode) {
        bool wanted = NULL != tcp->endpoint_send_frag || 0 != tcp->endpoint_frags.opal_list_length;

        trouble_set(link, wanted ? MCA_PML_FASTPATH_LINK_REFUSED : MCA_PML_FASTPATH_LINK_SOUND, now);
    } else {
        if (inode != link->inode) {
            *link->address = '\0';
            keepalive(sd);
        }
        if ('\0' == *link->address) { /* the kernel tells no address before the connection is made */
            get_address(sd, link->address, sizeof(link->address));
        }
        look_at_connection(link, &info, now);
    }
    link->inode = inode;
}

/* End the job if a link's trouble has lasted long enough. */
static void judge(const mca_pml_fastpath_peer_t *peer, const mca_pml_fastpath_link_t *link, int64_t now,
                  bool after_you)
{
    bool lost = MCA_PML_FASTPATH_LINK_LOST == link->trouble;
    int64_t patience = !lost || timeout_ms() < GRACE ? timeout_ms() : GRACE;
    char cause[256];

    if (MCA_PML_FASTPATH_LINK_SOUND == link->trouble) {
        return;
    }
    if (lost && OMPI_MPI_STATE_FINALIZE_STARTED <= ompi_mpi_state) {
        return; /* all have arrived at the end, and go one after the other */
    }
    if (now - link->since < patience + (after_you ? AFTER_YOU : 0)
        || mca_pml_fastpath_failure_report(peer->proc)) {
        return;
    }
    if (link->memory) {
        mca_pml_fastpath_abort("peer died", describe(&peer->proc->super, link->address),
                               "it has ended without leaving MPI");
    }
    if (lost) {
        snprintf(cause, sizeof(cause), "the kernel has closed the TCP connection");
    } else {
        snprintf(cause, sizeof(cause), "%s for %u s (pml_fastpath_link_timeout)",
                 MCA_PML_FASTPATH_LINK_SILENT == link->trouble ? "no answer from that host"
                                                               : "no TCP connection could be made",
                 mca_pml_fastpath.link_timeout);
    }
    mca_pml_fastpath_abort("link lost", describe(&peer->proc->super, link->address), cause);
}

/* After a failed attempt to connect, btl/tcp keeps what waits for the connection, and tries again when there
 * is something else to be sent: a CREDIT of nothing. */
static void connect_again(mca_pml_fastpath_peer_t *peer, mca_btl_base_module_t *btl)
{
    const mca_pml_fastpath_credit_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_CREDIT,
                                               .hdr_name = opal_proc_local_get()->proc_name};

    mca_pml_fastpath_control_send(peer, btl, &hdr, sizeof(hdr));
}

static mca_pml_fastpath_link_t *link_find(mca_pml_fastpath_peer_t *peer, const void *endpoint)
{
    mca_pml_fastpath_link_t *links;

    for (size_t i = 0; i < peer->num_links; ++i) {
        if (endpoint == peer->links[i].endpoint) {
            return &peer->links[i];
        }
    }
    links = realloc(peer->links, (peer->num_links + 1) * sizeof(links[0]));
    if (NULL == links) {
        return NULL; /* the next look tries again */
    }
    peer->links = links;
    links += peer->num_links++;
    memset(links, 0, sizeof(*links));
    links->endpoint = endpoint;
    return links;
}

static bool is_of_our_job(const mca_pml_fastpath_peer_t *peer)
{
    return opal_proc_local_get()->proc_name.jobid == peer->proc->super.proc_name.jobid;
}

/* Are we still connected to it, as MPI understands it? After MPI_Comm_disconnect no communicator holds it:
 * only the table of peers does, and the caller. */
static bool is_connected(const mca_pml_fastpath_peer_t *peer)
{
    return is_of_our_job(peer) || 2 < peer->super.obj_reference_count;
}

/* Memory that we share with a process of another job tells nothing of its end. */
static void look_at_memory(mca_pml_fastpath_peer_t *peer, int64_t now)
{
    mca_pml_fastpath_link_t *link;

    if (NULL == peer->ext || is_of_our_job(peer) || !peer->ext->died(peer->btl_endpoint)) {
        return;
    }
    link = link_find(peer, peer->btl_endpoint);
    if (NULL != link) {
        link->memory = true;
        trouble_set(link, MCA_PML_FASTPATH_LINK_LOST, now);
    }
}

/* @return whether there is trouble with a peer of lower rank than ours */
static bool look_at_peer(mca_pml_fastpath_peer_t *peer, int64_t now)
{
    bool trouble = false;

    if (!is_connected(peer)) {
        peer->num_links = 0; /* what becomes of them is no concern of ours, also if we meet again */
        return false;
    }
    /* one that has only sent to us so far has a link nevertheless */
    if (peer->left || peer->failed || !mca_pml_fastpath_peer_reach(peer)) {
        return false;
    }
    look_at_memory(peer, now);
    for (size_t i = 0; i < mca_bml_base_btl_array_get_size(&peer->endpoint->btl_send); ++i) {
        mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(&peer->endpoint->btl_send, i);
        const volatile fastpath_tcp_endpoint_t *tcp =
            fastpath_tcp_endpoint(bml_btl->btl, bml_btl->btl_endpoint, &peer->proc->super);
        mca_pml_fastpath_link_t *link = NULL == tcp ? NULL : link_find(peer, bml_btl->btl_endpoint);

        if (NULL != link && link->carried && fastpath_tcp_has_parted(tcp)) {
            peer->left = true;
            return false;
        }
        if (NULL != link) {
            look_at_link(link, tcp, now);
            if (MCA_PML_FASTPATH_LINK_REFUSED == link->trouble) {
                connect_again(peer, bml_btl->btl);
            }
            trouble = trouble || MCA_PML_FASTPATH_LINK_SOUND != link->trouble;
        }
    }
    return trouble && 0 < opal_compare_proc(opal_proc_local_get()->proc_name, peer->proc->super.proc_name);
}

static void look_at_all(int64_t now)
{
    mca_pml_fastpath_peer_t **peers;
    size_t count = mca_pml_fastpath_peers_get(&peers);
    bool after_you = !mca_common_fastpath_speaker();

    for (size_t i = 0; i < count; ++i) {
        after_you = look_at_peer(peers[i], now) || after_you;
    }
    for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j < peers[i]->num_links && !peers[i]->left && !peers[i]->failed; ++j) {
            judge(peers[i], &peers[i]->links[j], now, after_you);
        }
        OBJ_RELEASE(peers[i]);
    }
    free(peers);
}

void mca_pml_fastpath_links_look(void)
{
    static opal_atomic_int32_t busy = 0;
    static int64_t next_look = 0;
    int64_t now;

    mca_pml_fastpath.link_countdown =
        0 == mca_pml_fastpath.link_timeout && !mca_pml_fastpath_ft() ? INT_MAX : CALLS_PER_LOOK;
    if (0 == mca_pml_fastpath.link_timeout) {
        return;
    }
    now = now_ms();
    if (now < next_look) {
        return;
    }
    /* one thread, and not from within itself: reaching a peer may come to progress */
    if (1 == OPAL_THREAD_ADD_FETCH32(&busy, 1)) {
        next_look = now + LOOK_INTERVAL;
        look_at_all(now);
    }
    (void) OPAL_THREAD_ADD_FETCH32(&busy, -1);
}

static void leave(mca_pml_fastpath_peer_t *peer)
{
    const mca_pml_fastpath_leave_hdr_t hdr = {.hdr_type = MCA_PML_FASTPATH_HDR_LEAVE,
                                              .hdr_name = opal_proc_local_get()->proc_name};

    if (NULL == peer->endpoint || peer->left || is_of_our_job(peer)) {
        return; /* the processes of our own job end when we do */
    }
    for (size_t i = 0; i < mca_bml_base_btl_array_get_size(&peer->endpoint->btl_send); ++i) {
        mca_bml_base_btl_t *bml_btl = mca_bml_base_btl_array_get_index(&peer->endpoint->btl_send, i);
        const volatile fastpath_tcp_endpoint_t *tcp =
            fastpath_tcp_endpoint(bml_btl->btl, bml_btl->btl_endpoint, &peer->proc->super);
        struct tcp_info info;

        /* never make a connection for this: the peer may have gone already */
        if (NULL != tcp && get_info(tcp->endpoint_sd, &info) && ESTABLISHED == info.tcpi_state) {
            mca_pml_fastpath_control_send(peer, bml_btl->btl, &hdr, sizeof(hdr));
        }
    }
}

void mca_pml_fastpath_links_leave(void)
{
    mca_pml_fastpath_peer_t **peers;
    size_t count;

    if (FASTPATH_TCP_SAYS_GOODBYE || OMPI_MPI_STATE_FINALIZE_STARTED > ompi_mpi_state) {
        return;
    }
    count = mca_pml_fastpath_peers_get(&peers);
    for (size_t i = 0; i < count; ++i) {
        leave(peers[i]);
        OBJ_RELEASE(peers[i]);
    }
    free(peers);
}

static bool has_link(const ompi_proc_t *proc)
{
    const mca_bml_base_endpoint_t *endpoint = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_BML];

    for (size_t i = 0; NULL != endpoint && i < endpoint->btl_send.arr_size; ++i) {
        const mca_bml_base_btl_t *bml_btl = &endpoint->btl_send.bml_btls[i];

        if (NULL != fastpath_tcp_endpoint(bml_btl->btl, bml_btl->btl_endpoint, &proc->super)) {
            return true;
        }
    }
    return false;
}

/* Open MPI deletes the processes of our job only; btl/tcp closes the links to others in its own end. */
static void close_others(void)
{
    mca_pml_fastpath_peer_t **peers;
    size_t count = mca_pml_fastpath_peers_get(&peers);

    for (size_t i = 0; i < count; ++i) {
        mca_pml_fastpath_peer_t *peer = peers[i];
        ompi_proc_t *proc = peer->proc;

        if (!is_of_our_job(peer) && has_link(proc)) {
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
    if (FASTPATH_TCP_SAYS_GOODBYE && OMPI_MPI_STATE_FINALIZE_STARTED <= ompi_mpi_state) {
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
    }
}

/* Is it a process that MPI_Comm_disconnect has parted us from, so that its end is no concern of ours? If not,
 * the address is that of its last link. */
static bool is_parted(const opal_proc_t *proc, char *address, size_t size)
{
    mca_pml_fastpath_peer_t **peers;
    size_t count = mca_pml_fastpath_peers_get(&peers);
    bool parted = false;

    for (size_t i = 0; i < count; ++i) {
        if (proc == &peers[i]->proc->super) {
            parted = !is_connected(peers[i]);
            for (size_t j = 0; j < peers[i]->num_links; ++j) {
                snprintf(address, size, "%s", peers[i]->links[j].address);
            }
        }
        OBJ_RELEASE(peers[i]);
    }
    free(peers);
    return parted;
}

void mca_pml_fastpath_link_failed(const mca_btl_base_module_t *btl,
                                  const struct mca_btl_base_endpoint_t *endpoint, const opal_proc_t *proc,
                                  const char *cause)
{
    char address[sizeof(((mca_pml_fastpath_link_t *) NULL)->address)] = "";
    char text[256];

    if (mca_pml_fastpath_at_end()) {
        return;
    }
    if (NULL == proc) {
        proc = (const opal_proc_t *) mca_pml_fastpath_failure_proc_of(endpoint);
    }
    if (mca_pml_fastpath_failure_report((ompi_proc_t *) proc)) {
        return;
    }
    if (is_parted(proc, address, sizeof(address))) {
        return;
    }
    sleep(NULL != proc && is_elder(proc) ? (GRACE + AFTER_YOU) / 1000 : GRACE / 1000);
    snprintf(text, sizeof(text), "%s (BTL %s)", cause,
             NULL == btl ? "unknown" : btl->btl_component->btl_version.mca_component_name);
    mca_pml_fastpath_abort("link lost", NULL == proc ? "unknown" : describe(proc, address), text);
}
