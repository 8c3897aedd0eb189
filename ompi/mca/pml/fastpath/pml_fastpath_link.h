/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Links: the TCP connections that btl/tcp has to peers on other hosts, and the memory that btl/fastsm shares
 * with processes of other jobs.
 *
 * btl/tcp tells nobody about its connections. They are found among the sockets of this process
 * (pml_fastpath_link_find.c), by calls of the operating system that change nothing.
 *
 * When the kernel gives up a connection, btl/tcp drops it and tells nobody: what
 * was on its way is lost, and all would wait for ever. So once a second, as long
 * as somebody here is in MPI, progress looks at these connections from the side.
 * The job ends
 *   - when the peer's kernel has answered nothing for pml_fastpath_link_timeout
 *     seconds although something was waiting for its answer (what we sent, an
 *     attempt to connect, or the keepalive probes that are switched on for idle
 *     connections), or
 *   - when a connection that has carried messages is there no longer, or
 *   - when a process of another job that we share memory with has ended without
 *     leaving MPI. That of a process of our own job is seen by the runtime.
 * With fault tolerance the peer is declared to have failed instead.
 * An attempt to connect that failed, which btl/tcp of Open MPI 4.1 would leave at that, is repeated.
 *
 * It is the peer's kernel that answers, not the peer: a process may compute, or be
 * stopped, for as long as it likes.
 */
#ifndef MCA_PML_FASTPATH_LINK_H
#define MCA_PML_FASTPATH_LINK_H

#include "pml_fastpath_peer.h"

BEGIN_C_DECLS

/** What a link is. */
typedef enum {
    MCA_PML_FASTPATH_LINK_CONNECTION, /**< a TCP connection of btl/tcp */
    MCA_PML_FASTPATH_LINK_MISSING,    /**< a connection that btl/tcp needs and that is not there */
    MCA_PML_FASTPATH_LINK_MEMORY,     /**< memory that we share with a process of another job that has died */
} mca_pml_fastpath_link_kind_t;

/** What is wrong with a link. */
typedef enum {
    MCA_PML_FASTPATH_LINK_SOUND,   /**< nothing */
    MCA_PML_FASTPATH_LINK_SILENT,  /**< its other end owes an answer */
    MCA_PML_FASTPATH_LINK_REFUSED, /**< attempts to connect fail, and messages wait for it */
    MCA_PML_FASTPATH_LINK_LOST,    /**< the connection that carried messages is gone */
} mca_pml_fastpath_link_trouble_t;

/** One link. Read and written by the looking thread only, but for the lock where it enters or leaves the list
 * of all links. Reference-counted: one for the list, one for each message that will call back. */
typedef struct {
    opal_list_item_t super;
    mca_pml_fastpath_link_kind_t kind;
    opal_process_name_t name; /**< whom it leads to, if known */
    bool known;
    mca_pml_fastpath_link_trouble_t trouble;
    int64_t since; /**< when the trouble began, ms of the monotonic clock */

    /* connections */
    int fd;
    uint64_t inode;                /**< of the socket, by which it is known again */
    mca_pml_fastpath_end_t remote; /**< its other end */
    bool outgoing;                 /**< we have connected; otherwise the peer has */
    bool watched;                  /**< the kernel probes it when it is idle */
    bool introduced;               /**< and have told the peer that it is us */
    bool carried;                  /**< btl/tcp has begun to use it */
    bool gone;                     /**< the socket does not exist any more */

    /* other kinds */
    const struct mca_btl_base_endpoint_t *endpoint; /**< the BTL's */
    volatile bool proved; /**< MISSING: a message has left there, over a connection that we do not see */
} mca_pml_fastpath_link_t;
OBJ_CLASS_DECLARATION(mca_pml_fastpath_link_t);

/* ---- pml_fastpath_link_find.c: for pml_fastpath_link.c ---- */

/** All links. The lock of mca_pml_fastpath protects what is not the looking thread's. */
extern opal_list_t mca_pml_fastpath_links __opal_attribute_visibility__("hidden");

/**
 * Bring the connections among the links up to date: which have gone, which are new, and who is at the other
 * end.
 * @param peers  all of them
 */
void mca_pml_fastpath_links_find(mca_pml_fastpath_peer_t *const *peers, size_t count);

/** Add a link. @return the link, which is the list's, or NULL when memory is short: the next look tries again
 */
mca_pml_fastpath_link_t *mca_pml_fastpath_link_add(mca_pml_fastpath_link_kind_t kind);

/** Remove a link. */
void mca_pml_fastpath_link_remove(mca_pml_fastpath_link_t *link);

/** @return whether one of the BTLs that reach a process is btl/tcp; no if endpoint is NULL */
bool mca_pml_fastpath_endpoint_has_tcp(const mca_bml_base_endpoint_t *endpoint);

/** @return whether a connection that the peer has not told us of may be its: it has that address */
bool mca_pml_fastpath_peer_has_address(mca_pml_fastpath_peer_t *peer, const mca_pml_fastpath_end_t *end);

/** @return whether btl/tcp has ever kept something that was to be sent there, and so needs a connection */
bool mca_pml_fastpath_link_is_needed(const struct mca_btl_base_endpoint_t *endpoint);

/* ---- for the others ---- */

/** pml_fastpath_enable and _close. */
void mca_pml_fastpath_links_init(void);
void mca_pml_fastpath_links_fini(void);

/** A HELLO has come. */
void mca_pml_fastpath_link_hello(const mca_btl_base_module_t *btl, const mca_pml_fastpath_hello_hdr_t *hdr);

/** Called from progress every now and then: look at all links if it is time to. */
void mca_pml_fastpath_links_look(void);

/**
 * If this process is about to end, tell those of other jobs that it is connected to, so that the end of
 * the connections does not surprise them. Where btl/tcp does so this does nothing.
 */
void mca_pml_fastpath_links_leave(void);

/**
 * Have the BML delete these processes, which are no peers any more; at the end of this one those of other
 * jobs as well whose links would be closed later. What btl/tcp writes to say goodbye ends no process, even
 * where the kernel has heard that nobody will read it.
 */
int mca_pml_fastpath_links_close(ompi_proc_t **procs, size_t nprocs);

/**
 * MPI_Finalize has begun; called from each progress of then. Others may leave before us, while we still
 * answer what they have asked, though they do not wait for it: a cancel, say. From now on a connection
 * without a reader ends nobody.
 */
void mca_pml_fastpath_links_end(void);

/** The BTLs have closed their connections: signals are as they were. */
void mca_pml_fastpath_links_ended(void);

/** A LEAVE has come. */
void mca_pml_fastpath_link_left(const mca_btl_base_module_t *btl, const mca_pml_fastpath_leave_hdr_t *hdr);

/**
 * A BTL reports that something could not be sent, or that a peer is lost, as
 * btl/tcp does since Open MPI 5.0. Waits some seconds for the runtime, which can
 * say more if the peer has died; then names the peer and ends the job. Returns
 * with fault tolerance, where the peer has failed from here on, when
 * MPI_Comm_disconnect has parted us from it, and at the end of MPI_Finalize.
 *
 * @param btl       the BTL, or NULL
 * @param endpoint  the BTL's, or NULL when proc is known
 * @param proc      the peer, or NULL
 * @param cause     what the BTL says
 */
void mca_pml_fastpath_link_failed(const mca_btl_base_module_t *btl,
                                  const struct mca_btl_base_endpoint_t *endpoint, const opal_proc_t *proc,
                                  const char *cause);

END_C_DECLS

#endif /* MCA_PML_FASTPATH_LINK_H */
