/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What a communicator knows: its members' sequence numbers and the two queues
 * of matching.
 */
#ifndef MCA_PML_FASTPATH_COMM_H
#define MCA_PML_FASTPATH_COMM_H

#include "pml_fastpath.h"

#include "pml_fastpath_hdr.h"
#include "pml_fastpath_match.h"
#include "pml_fastpath_message.h"
#include "pml_fastpath_peer.h"

/** A message that its sender took back before its turn had come here. */
typedef struct {
    opal_list_item_t super;
    uint32_t sequence;
    bool answered;            /**< the sender knows; else it has to be told when the message is dropped */
    opal_process_name_t name; /**< the sender */
    uint64_t src_req;         /**< the sender's request, opaque */
} mca_pml_fastpath_withdrawn_t;

/** Messages that come before they are waited for, after which the next one is expected to have come even
 * before its receive is posted. */
#define MCA_PML_FASTPATH_EARLY_HITS 8

/** A member of a communicator (of the remote group, for an intercommunicator). */
typedef struct {
    mca_pml_fastpath_peer_t *peer; /**< holds a reference; NULL until we send to it or receive from it */
    /** where short messages to it go; NULL until we send to it, and where that is not possible */
    fastsm_fifo_sender_t *out;
    /** how other messages of contiguous data are sent immediately; NULL as out is */
    mca_btl_fastsm_sendi_fn_t sendi;
    mca_btl_fastsm_sendi_numbered_fn_t sendi_numbered; /**< the same with threads */
    /** sequence number of the last message sent to it; headers carry 16 bits of it. Protected by the lock of
     * out where that is; pml_fastpath_number.h */
    _Atomic uint32_t sent;
    volatile uint32_t passed; /**< all up to this one have come in their turn there, as it has told us;
                               * protected by mca_pml_fastpath.lock */
    uint32_t expected;        /**< sequence number of the next message from it */
    volatile uint32_t ctx;    /**< the communicator's number there, pml_fastpath_extcid.h */
    uint8_t early_hits;    /**< of its last messages, those that were there when a wait for them began: up to
                            * MCA_PML_FASTPATH_EARLY_HITS, when MPI_Irecv looks for the next one, as it does
                            * when progress has left one where it is */
    bool told;             /**< it knows the communicator's number here */
    bool one_way;          /**< of late many more messages have been sent to it than have come from it */
    uint16_t one_way_sent; /**< `sent` and `expected` when that was found out, in 16 bits */
    uint16_t one_way_expected;
    opal_list_t early;     /**< mca_pml_fastpath_parked_t before their turn, by sequence number */
    opal_list_t withdrawn; /**< mca_pml_fastpath_withdrawn_t, to be dropped when their turn comes */
} mca_pml_fastpath_member_t;

/** A message that a probe has reported and left where it arrives: until somebody takes it, whoever looks has
 * to find it. pml_fastpath_iprobe.c */
typedef struct {
    int src;         /**< its sender's rank; negative: there is none */
    int tag;         /**< its tag */
    uint32_t number; /**< its sequence number: it is there as long as this one is expected */
} mca_pml_fastpath_probed_t;

/** Hangs on ompi_communicator_t as c_pml_comm. */
typedef struct mca_pml_fastpath_comm_t {
    opal_object_t super;
    struct mca_pml_fastpath_comm_t *next; /**< in its list of communicators, or of spares */
    ompi_communicator_t *comm;            /**< the communicator; holds no reference */
    opal_mutex_t lock; /**< protects the matcher, the receiving side of the members, and changes of ctx */
    mca_pml_fastpath_matcher_t matcher;
    volatile uint32_t ctx; /**< the communicator's number here, as in headers; MCA_PML_FASTPATH_CTX_UNKNOWN
                            * once it is being freed */
    uint32_t incarnation;  /**< tells it from others that have, or had, the same id */
    int size;              /**< members */
    int any_src;           /**< whom the last message from MPI_ANY_SOURCE came from: a
                            * member that exists, once any_streak is not 0 */
    unsigned any_streak;   /**< and so many before it, up to some */
    unsigned any_hits;     /**< messages that came from it since all were looked at */
    mca_pml_fastpath_probed_t probed;    /**< the last one */
    mca_pml_fastpath_member_t **members; /**< by rank; NULL until first used */
} mca_pml_fastpath_comm_t;
OBJ_CLASS_DECLARATION(mca_pml_fastpath_comm_t);

/** @return our part of a communicator */
static inline mca_pml_fastpath_comm_t *mca_pml_fastpath_comm(const ompi_communicator_t *comm)
{
    return (mca_pml_fastpath_comm_t *) comm->c_pml_comm;
}

/*
 * Finding a communicator by its number, and for how long it is there.
 *
 * All communicators are in the lists of mca_pml_fastpath.comms from add_comm to del_comm. Whoever finds one
 * with the PML's lock held takes a reference to it (mca_pml_fastpath_comm_hold) and uses it at leisure.
 *
 * A message looks at the first one of its list without any lock. With several threads that one may be freed
 * at the same time, so our part of it is never given back to the C library before the end: it becomes a
 * spare, and perhaps another communicator. To read `ctx` is always allowed, therefore; what is read says
 * whether it is worth to lock it. Under its own lock the answer holds: who frees a communicator takes the
 * number away under that lock, and touches nothing of it before (mca_pml_fastpath_comm_end).
 */

/**
 * @return our part of the communicator with this number, or NULL: then there may still be one,
 *         mca_pml_fastpath_comm_hold(). Without its lock only mca_pml_fastpath_comm_lock() may be called
 */
static inline mca_pml_fastpath_comm_t *mca_pml_fastpath_comm_of(uint32_t ctx)
{
    mca_pml_fastpath_comm_t *pml_comm = mca_pml_fastpath.comms[ctx % MCA_PML_FASTPATH_COMMS];

    return OPAL_LIKELY(NULL != pml_comm && ctx == pml_comm->ctx) ? pml_comm : NULL;
}

/**
 * Lock a communicator that mca_pml_fastpath_comm_of() has found.
 * @return false when it is not that one any more, or not known to Open MPI as such; it is not locked then
 */
static inline bool mca_pml_fastpath_comm_lock(mca_pml_fastpath_comm_t *pml_comm, uint32_t ctx)
{
    if (opal_using_threads()) {
        opal_mutex_lock(&pml_comm->lock);
        if (OPAL_UNLIKELY(ctx != pml_comm->ctx)) {
            opal_mutex_unlock(&pml_comm->lock);
            return false;
        }
    }
    if (OPAL_UNLIKELY(pml_comm != mca_pml_fastpath_comm(pml_comm->comm))) {
        OPAL_THREAD_UNLOCK(&pml_comm->lock);
        return false;
    }
    return true;
}

/**
 * Find a communicator by its number. Locks the PML.
 * @return the communicator, with a reference for the caller; NULL when there is none, or it is being freed
 */
ompi_communicator_t *mca_pml_fastpath_comm_hold(uint32_t ctx);

/** The same while the PML is locked. */
ompi_communicator_t *mca_pml_fastpath_comm_hold_locked(uint32_t ctx);

/** @return our part of a new communicator, empty, or NULL when memory is short. Locks the PML. */
mca_pml_fastpath_comm_t *mca_pml_fastpath_comm_new(void);

/** From now on messages find this communicator. The PML is locked. */
void mca_pml_fastpath_comm_enter(mca_pml_fastpath_comm_t *pml_comm);

/** From now on it is not found. It is locked, and so is the PML. */
void mca_pml_fastpath_comm_leave(mca_pml_fastpath_comm_t *pml_comm);

/** Give an empty one back, for the next communicator. Locks the PML. */
void mca_pml_fastpath_comm_recycle(mca_pml_fastpath_comm_t *pml_comm);

/** At the end: give back the spare ones. */
void mca_pml_fastpath_comms_fini(void);

/** @return whether each member has a number of its own for the communicator, pml_fastpath_extcid.h */
static inline bool mca_pml_fastpath_comm_has_extcid(const mca_pml_fastpath_comm_t *pml_comm)
{
    return mca_pml_fastpath_ctx_is_own(pml_comm->ctx);
}

/** Make a member on first use. @return NULL when memory is short */
mca_pml_fastpath_member_t *mca_pml_fastpath_member_create(mca_pml_fastpath_comm_t *pml_comm, int rank);

/** @return the member of that rank, made on first use; NULL when memory is short */
static inline mca_pml_fastpath_member_t *mca_pml_fastpath_member(mca_pml_fastpath_comm_t *pml_comm, int rank)
{
    mca_pml_fastpath_member_t *member = pml_comm->members[rank];

    return OPAL_LIKELY(NULL != member) ? member : mca_pml_fastpath_member_create(pml_comm, rank);
}

/** Find a member's process. @return false when memory is short */
bool mca_pml_fastpath_member_connect(mca_pml_fastpath_member_t *member, ompi_communicator_t *comm, int rank);

/** @return the process of a member, found on first use; NULL when memory is short */
static inline mca_pml_fastpath_peer_t *mca_pml_fastpath_member_peer(mca_pml_fastpath_member_t *member,
                                                                    ompi_communicator_t *comm, int rank)
{
    if (OPAL_UNLIKELY(NULL == member->peer)) {
        (void) mca_pml_fastpath_member_connect(member, comm, rank);
    }
    return member->peer;
}

/**
 * @return the member of that rank with a peer that can be sent to, or NULL when
 *         no BTL reaches it or memory is short
 */
static inline mca_pml_fastpath_member_t *mca_pml_fastpath_member_reach(ompi_communicator_t *comm, int rank)
{
    mca_pml_fastpath_member_t *member = mca_pml_fastpath_member(mca_pml_fastpath_comm(comm), rank);

    if (OPAL_UNLIKELY(NULL == member || NULL == mca_pml_fastpath_member_peer(member, comm, rank)
                      || !mca_pml_fastpath_peer_reach(member->peer))) {
        return NULL;
    }
    return member;
}

/**
 * Whether the message that arrives next from a member is the next that counts. Not while some wait for their
 * turn, or their sender has taken them back. The communicator is locked.
 */
static inline bool mca_pml_fastpath_member_in_order(mca_pml_fastpath_member_t *member)
{
    return 0 == (opal_list_get_size(&member->early) | opal_list_get_size(&member->withdrawn));
}

/** @return whether messages of a member, which may be NULL, can be looked for in its slots */
static inline bool mca_pml_fastpath_member_has_slots(const mca_pml_fastpath_member_t *member)
{
    return NULL != member && NULL != member->peer && NULL != member->peer->in;
}

/** @return whether btl/fastsm, and no other transport, brings messages of a member, which may be NULL */
static inline bool mca_pml_fastpath_member_has_ext(const mca_pml_fastpath_member_t *member)
{
    return NULL != member && NULL != member->peer && NULL != member->peer->ext;
}

/** Prepare what an immediate send to a member needs, where that is possible. Its peer can be sent to. */
void mca_pml_fastpath_member_open(mca_pml_fastpath_member_t *member);

/** The same, if it has not been done. */
static inline void mca_pml_fastpath_member_ready(mca_pml_fastpath_member_t *member)
{
    if (OPAL_UNLIKELY(NULL == member->sendi)) {
        mca_pml_fastpath_member_open(member);
    } else {
        opal_atomic_rmb(); /* another thread may have done it: what it needs is there, too */
    }
}

/** @return the most bytes of data that member->sendi, which is there, takes */
static inline size_t mca_pml_fastpath_sendi_limit(const mca_pml_fastpath_member_t *member)
{
    return member->peer->ext->sendi_limit - sizeof(mca_pml_fastpath_match_hdr_t);
}

/** Fill in the matching header of a message. ctx is the communicator's number at the receiver. */
static inline void mca_pml_fastpath_match_hdr_init(mca_pml_fastpath_match_hdr_t *hdr, uint8_t type,
                                                   uint8_t flags, const ompi_communicator_t *comm,
                                                   uint32_t ctx, int tag, uint16_t seq)
{
    hdr->hdr_type = type;
    hdr->hdr_flags = flags;
    hdr->hdr_seq = seq;
    hdr->hdr_ctx = ctx;
    hdr->hdr_src = comm->c_my_rank;
    hdr->hdr_tag = tag;
}

#endif /* MCA_PML_FASTPATH_COMM_H */
