/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * One process that we talk to, whatever communicators it shares with us, and
 * the things that wait for it to have room.
 */
#ifndef MCA_PML_FASTPATH_PEER_H
#define MCA_PML_FASTPATH_PEER_H

#include "opal/mca/common/fastpath/common_fastpath_ways.h"

#include "pml_fastpath.h"

#include "pml_fastpath_hdr.h"

/** Large messages for which both processes wait, by what they do beside. */
typedef enum {
    MCA_PML_FASTPATH_ASKED_ONE_WAY,  /**< the receiver waits for no large send of its own */
    MCA_PML_FASTPATH_ASKED_EXCHANGE, /**< it does */
    MCA_PML_FASTPATH_ASKED_REDUCED,  /**< the same in a reduction: mca_pml_fastpath_help_is_reduced() */
    MCA_PML_FASTPATH_ASKED_KINDS
} mca_pml_fastpath_asked_kind_t;

/** How such a message comes: whichever is sooner. */
typedef enum {
    MCA_PML_FASTPATH_ASKED_STREAM, /**< in fragments, through buffers */
    MCA_PML_FASTPATH_ASKED_KERNEL, /**< by the kernel, which one or both of the processes call */
    MCA_PML_FASTPATH_ASKED_WAYS    /**< how many there are */
} mca_pml_fastpath_asked_way_t;

/** Such messages of one sender, pml_fastpath_awaited.h. They come one way from the first that is asked for
 * while there are none to the last, unless the sender decides: what is measured is how long all of them take,
 * or 64. */
typedef struct {
    mca_common_fastpath_ways_t ways; /**< mca_pml_fastpath_asked_way_t */
    unsigned way;                    /**< that those under way come, and the next ones */
    uint32_t left;                   /**< measurements until another way is chosen; 0: none has been yet */
    uint32_t told; /**< messages that have told the other side the way since we last asked */
    bool counts;   /**< what comes is measured, and not followed or the beginning of a turn */
    uint32_t under_way;              /**< messages that have been asked for and have not come */
    uint32_t come;                   /**< messages since `began` */
    size_t bytes;                    /**< of these, without what had been read before they were asked for */
    uint64_t began;                  /**< ticks */
} mca_pml_fastpath_asked_t;

/** A process reached through bml/r2. Reference-counted: every communicator that knows it holds one. */
typedef struct {
    opal_object_t super;
    ompi_proc_t *proc;                 /**< not retained: Open MPI calls del_procs first */
    mca_bml_base_endpoint_t *endpoint; /**< the BTLs that reach it; NULL until we send to it */

    /* constant from the moment that endpoint is there */
    const mca_btl_fastsm_ext_t *ext; /**< of the BTL for all its messages, where that is fastsm; else NULL */
    struct mca_btl_base_endpoint_t *btl_endpoint; /**< if ext: what fastsm knows it by */
    bool help_refused;                            /**< it cannot write into our memory */
    bool decides;                                 /**< it is us who decide how messages of an exchange go */
    mca_pml_fastpath_asked_t asked[MCA_PML_FASTPATH_ASKED_KINDS];
    uint32_t offers; /**< nonblocking sends to it that pml_fastpath_awaited.h lists */
    fastsm_fifo_receiver_t
        *in; /**< if ext: where its messages arrive, if receives may take them from there; else NULL */

    /* flow control, pml_fastpath_credit.h; all in bytes */
    opal_atomic_int64_t credit; /**< that we may still send eagerly; if unlimited, more than can be used up */
    opal_atomic_int64_t consumed;         /**< of its eager messages, not yet told to it */
    opal_atomic_int32_t queued;           /**< retries waiting for it; new messages queue behind them */
    uint64_t blocked_pass;                /**< last pass over a queue of retries in which it had no room */
    int waiting[MCA_PML_FASTPATH_QUEUES]; /**< retries in each queue; protected by mca_pml_fastpath.lock */

    /* pml_fastpath_link.h */
    mca_pml_fastpath_end_t *ends; /**< where btl/tcp reaches it, once asked for; the looking thread's */
    size_t num_ends;
    bool ends_known;      /**< they have been asked for */
    unsigned connections; /**< to it, or maybe to it, at the last look */
    volatile bool left;   /**< of another job, and has said that it leaves: nothing is sent to it any more */

    /* pml_fastpath_failure.h; protected by mca_pml_fastpath.lock */
    volatile bool failed; /**< its process has failed, and nothing is sent to it any more */
    opal_list_t watched;  /**< with fault tolerance: mca_pml_base_request_t that it is at work on */
} mca_pml_fastpath_peer_t;
OBJ_CLASS_DECLARATION(mca_pml_fastpath_peer_t);

/**
 * All peers, each with a reference for the caller.
 * @param peers  malloc'ed, or NULL when memory is short
 * @return       how many
 */
size_t mca_pml_fastpath_peers_get(mca_pml_fastpath_peer_t ***peers);

/**
 * Find or make the peer of a process. Touches no BTL.
 * @return the peer with a reference for the caller, or NULL when memory is short
 */
mca_pml_fastpath_peer_t *mca_pml_fastpath_peer_get(ompi_proc_t *proc);

/** Find the peer of a process that we have met. @return the peer with a reference for the caller, or NULL */
mca_pml_fastpath_peer_t *mca_pml_fastpath_peer_find(ompi_proc_t *proc);

/**
 * Bring up a peer's BTLs (processes off this node are never passed to add_procs).
 * Not to be called with a lock held. @return false when no BTL reaches it
 */
bool mca_pml_fastpath_peer_connect(mca_pml_fastpath_peer_t *peer);

/** @return whether a peer can be sent to, bringing up its BTLs on first use */
static inline bool mca_pml_fastpath_peer_reach(mca_pml_fastpath_peer_t *peer)
{
    return OPAL_LIKELY(NULL != peer->endpoint) || mca_pml_fastpath_peer_connect(peer);
}

/**
 * Print a line for each class of processes: by which transports they are reached, and whether the kernel
 * copies their messages, or why not. Brings up their BTLs.
 */
void mca_pml_fastpath_say(ompi_proc_t **procs, size_t nprocs);

/** Forget the peer of a process; its object lives on while references exist. */
void mca_pml_fastpath_peer_forget(ompi_proc_t *proc);

/** A peer's process has failed: from here on nothing is sent to it. mca_pml_fastpath.lock is held. */
void mca_pml_fastpath_peer_mark_failed(mca_pml_fastpath_peer_t *peer);

/** @return whether nothing need be sent to a peer any more */
static inline bool mca_pml_fastpath_peer_has_failed(const mca_pml_fastpath_peer_t *peer)
{
    return FASTPATH_HAVE_FT && OPAL_UNLIKELY(peer->failed);
}

/** @return the credit that a sender begins with, bytes; where it is unlimited, too many to be used up */
static inline int64_t mca_pml_fastpath_credit_initial(void)
{
    return 0 == mca_pml_fastpath.window ? INT64_MAX / 2 : (int64_t) mca_pml_fastpath.window;
}

#endif /* MCA_PML_FASTPATH_PEER_H */
