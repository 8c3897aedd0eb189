/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * The list of all links, and which sockets of this process are such. pml_fastpath_link.h says what for.
 */
#ifndef MCA_PML_FASTPATH_LINK_FIND_H
#define MCA_PML_FASTPATH_LINK_FIND_H

#include "pml_fastpath_peer.h"

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

/** A BTL other than fastsm keeps what it was given to send until it can: take note that btl/tcp has, or
 * needs, a connection there. */
void mca_pml_fastpath_link_kept(const struct mca_btl_base_endpoint_t *endpoint);

/** Make the list of links, which is empty; at mca_pml_fastpath_enable(). */
void mca_pml_fastpath_links_init(void);
/** Release all links; at mca_pml_fastpath_close(). */
void mca_pml_fastpath_links_fini(void);

/** A HELLO has come. */
void mca_pml_fastpath_link_hello(const mca_btl_base_module_t *btl, const mca_pml_fastpath_hello_hdr_t *hdr);

#endif /* MCA_PML_FASTPATH_LINK_FIND_H */
