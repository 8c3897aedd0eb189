/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Send requests.
 */
#ifndef MCA_PML_FASTPATH_SENDREQ_H
#define MCA_PML_FASTPATH_SENDREQ_H

#include "ompi/mca/pml/base/pml_base_bsend.h"
#include "ompi/mca/pml/base/pml_base_sendreq.h"

#include "pml_fastpath_comm.h"
#include "pml_fastpath_retry.h"
#include "pml_fastpath_watch.h"

/**
 * Added to req_todo until the receiver has said how much it wants: larger than
 * any message, so that what arrives earlier cannot make the sum zero.
 */
#define MCA_PML_FASTPATH_TODO_UNKNOWN (INT64_C(1) << 62)

/** A part of a message that the receiver wants streamed. */
typedef struct {
    opal_free_list_item_t super;
    size_t next; /**< first byte not yet sent */
    size_t end;
} mca_pml_fastpath_range_t;
OBJ_CLASS_DECLARATION(mca_pml_fastpath_range_t);

/**
 * What is in a send request, and whether its message is being taken back.
 *
 * Each use sets it anew: mca_pml_fastpath_send_request_sent() to PRECOMPLETED, _init() to ORDINARY, and each
 * start to ORDINARY, or to BESIDE. Within a use CANCEL goes out once, which makes ORDINARY to CANCELLING and
 * PRECOMPLETED to RECALLED. It is the one field that the next use reads: what such requests have in common
 * is still in place in a PRECOMPLETED one, which saves 13 of the 329 instructions of an MPI_Isend and its
 * end.
 */
typedef enum {
    MCA_PML_FASTPATH_SEND_ORDINARY,     /**< all fields are in use; holds communicator and datatype */
    MCA_PML_FASTPATH_SEND_CANCELLING,   /**< the same; CANCEL has gone out since the start */
    MCA_PML_FASTPATH_SEND_BESIDE,       /**< the same, of an earlier round: this one has another request */
    MCA_PML_FASTPATH_SEND_PRECOMPLETED, /**< left immediately: has no argument, and holds nothing */
    MCA_PML_FASTPATH_SEND_RECALLED      /**< the same; CANCEL has gone out, and it holds its communicator */
} mca_pml_fastpath_send_state_t;

/** A send, from MPI_Isend to its completion. Lives on mca_pml_base_send_requests. */
typedef struct mca_pml_fastpath_send_request_t {
    mca_pml_base_send_request_t req_send;
    mca_pml_fastpath_match_hdr_t req_hdr; /**< of the message, complete from the start on */
    mca_pml_fastpath_send_state_t req_state;
    uint32_t req_ctx;                      /**< the communicator's number here, if precompleted */
    uint32_t req_incarnation;              /**< and its incarnation */
    mca_pml_fastpath_member_t
        *req_member; /**< the receiver, unless precompleted; the communicator holds it */
    mca_pml_fastpath_peer_t *req_peer;     /**< its process; the communicator holds the reference */
    mca_pml_fastpath_retry_t req_retry;    /**< while a BTL refuses it */
    opal_atomic_int32_t req_holds;         /**< who still needs it: its user, and we while it is active */
    uint32_t req_sequence;                 /**< taken as the message leaves, and kept if it is refused then */
    opal_atomic_int64_t req_todo;          /**< bytes still to leave, and 1 for each function at work */
    bool req_paid;         /**< the cost of an eager message has been taken from the peer's credit */
    bool req_unanswered;   /**< TODO_UNKNOWN is part of req_todo; protected by req_lock */
    bool req_offered;      /**< unanswered: to be read by the receiver */
    bool req_waits;        /**< its user waits for it, and the peer is on this node: HELP is welcome */
    bool req_named;     /**< the receiver may claim it, or has: HELP is welcome. pml_fastpath_awaited.c */
    bool req_listed;    /**< it is one of the offers */
    bool req_helped;    /**< HELP has come; protected by req_lock */
    bool req_announced; /**< the answer says that there is a HELP; protected by req_lock */
    bool req_cancel_sent;  /**< CANCELLED is due; protected by req_lock */
    bool req_numbered;     /**< req_sequence is that of the message under way; protected by req_lock */
    bool req_cancel_waits; /**< CANCEL goes as soon as there is a number; protected by req_lock */
    uint32_t req_claimed; /**< since which epoch (pml_fastpath_awaited.c) the receiver counts on us though its
                           * name is not said any more, or 0 */
    opal_list_item_t req_offer;         /**< of the offers */
    mca_pml_fastpath_watch_t req_watch; /**< pml_fastpath_failure.h */
    opal_object_t *req_bsend_retained;  /**< until the copy is given back; NULL without */
    struct mca_pml_fastpath_send_request_t *req_sync_next; /**< pml_fastpath_sync.h */
    uint64_t
        req_multi; /**< id of its message if that goes in eager fragments, pml_fastpath_multi.h; else 0 */

    /* rendezvous */
    uint64_t req_handle;             /**< that the receiver knows it by, or MCA_PML_FASTPATH_HANDLE_NONE */
    uint64_t req_dst_req;            /**< the receiver's handle of its request, opaque */
    void *req_base;                  /**< the message where it is contiguous, else NULL */
    void *req_packed;                /**< borrowed: all of its data where that has gaps, or NULL */
    mca_bml_base_btl_t *req_get_btl; /**< BTL of req_get_handle */
    mca_btl_base_registration_handle_t *req_get_handle; /**< what lets the receiver read, or NULL */

    opal_mutex_t req_lock; /**< protects the convertor and the fields below */
    uint64_t req_asked;    /**< bytes that the receiver has asked for so far */
    uint64_t req_wanted;   /**< and will have asked for, once it has answered; until then the whole message */
    opal_list_t req_ranges; /**< to be streamed, in the order they were asked for */
    unsigned req_frags;     /**< FRAGs in flight */
    bool req_streaming;     /**< somebody is sending FRAGs, or waits for room to do so */
} mca_pml_fastpath_send_request_t;
OBJ_CLASS_DECLARATION(mca_pml_fastpath_send_request_t);

/** @return whether its message left immediately: then it holds at most its communicator */
static inline bool mca_pml_fastpath_is_precompleted(const mca_pml_fastpath_send_request_t *req)
{
    return MCA_PML_FASTPATH_SEND_PRECOMPLETED <= req->req_state;
}

/** @return a request from the free list, or NULL when memory is short */
static inline mca_pml_fastpath_send_request_t *mca_pml_fastpath_send_request_alloc(void)
{
    return (mca_pml_fastpath_send_request_t *) opal_free_list_get(&mca_pml_base_send_requests);
}

/** One holder is done with a request; the last one gives it back. */
static inline void mca_pml_fastpath_send_request_drop(mca_pml_fastpath_send_request_t *req)
{
    if (!mca_pml_fastpath_last_hold(&req->req_holds)) {
        return;
    }
    if (OPAL_LIKELY(mca_pml_fastpath_is_precompleted(req))) {
        OMPI_REQUEST_FINI(&req->req_send.req_base.req_ompi);
        if (OPAL_UNLIKELY(MCA_PML_FASTPATH_SEND_RECALLED == req->req_state)) {
            OBJ_RELEASE(req->req_send.req_base.req_comm);
        }
    } else {
        MCA_PML_BASE_SEND_REQUEST_FINI(&req->req_send);
    }
    opal_free_list_return(&mca_pml_base_send_requests, (opal_free_list_item_t *) req);
}

/** req_free of all of them; tells them from other requests. */
int mca_pml_fastpath_send_request_free(ompi_request_t **request);

/**
 * A request's user is done with it, in a job without threads: the fast path, without a call.
 * @return false when there is more to do: then nothing has been done
 */
static inline bool mca_pml_fastpath_send_request_release_st(mca_pml_fastpath_send_request_t *req)
{
    ompi_request_t *request = &req->req_send.req_base.req_ompi;

    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_SEND_PRECOMPLETED != req->req_state
                      || MPI_UNDEFINED != request->req_f_to_c_index)) {
        return false;
    }
    request->req_state = OMPI_REQUEST_INVALID;
    opal_free_list_return_st(&mca_pml_base_send_requests, (opal_free_list_item_t *) req);
    return true;
}

/** What a send has been called with. */
typedef struct {
    mca_pml_fastpath_member_t *member; /**< the receiver */
    const void *buf;
    size_t count;
    ompi_datatype_t *datatype;
    size_t size; /**< bytes of data */
    int dst;
    int tag;
    mca_pml_base_send_mode_t mode;
    ompi_communicator_t *comm;
} mca_pml_fastpath_send_args_t;

/** Fill in a request from the arguments of a send. Its user holds it from here on. */
static inline void mca_pml_fastpath_send_request_init(mca_pml_fastpath_send_request_t *req,
                                                      const mca_pml_fastpath_send_args_t *args,
                                                      bool persistent)
{
    ompi_communicator_t *const comm = args->comm; /* the macro's word for a member, too */

    req->req_send.req_base.req_proc = args->member->peer->proc;
    req->req_send.req_base.req_ompi.req_type = OMPI_REQUEST_PML;
    req->req_member = args->member;
    req->req_peer = args->member->peer;
    req->req_state = MCA_PML_FASTPATH_SEND_ORDINARY;
    req->req_holds = 1;
    req->req_paid = false;
    req->req_waits = false;
    MCA_PML_BASE_SEND_REQUEST_INIT(&req->req_send, args->buf, args->count, args->datatype, args->dst,
                                   args->tag, comm, args->mode, persistent, 0);
}

/** @return whether a buffered send has been copied to the attached buffer */
static inline bool mca_pml_fastpath_is_copied(const mca_pml_fastpath_send_request_t *req)
{
    return req->req_send.req_addr != req->req_send.req_base.req_addr;
}

/** @return whether its message has gone whole, and MATCHED is its receiver's answer: pml_fastpath_sync.h */
static inline bool mca_pml_fastpath_is_sync(const mca_pml_fastpath_send_request_t *req)
{
    return 0 != (MCA_PML_FASTPATH_HDR_FLAG_SYNC & req->req_hdr.hdr_flags);
}

/** @return bytes of the largest message that a BTL carries whole */
static inline size_t mca_pml_fastpath_eager_limit(const mca_bml_base_btl_t *bml_btl)
{
    return bml_btl->btl->btl_eager_limit - sizeof(mca_pml_fastpath_match_hdr_t);
}

/** Put the header of a request's message, as one of another type, in front of what that needs. */
static inline void mca_pml_fastpath_send_request_hdr(const mca_pml_fastpath_send_request_t *req,
                                                     mca_pml_fastpath_match_hdr_t *hdr, uint8_t type,
                                                     uint8_t flags)
{
    *hdr = req->req_hdr;
    hdr->hdr_type = type;
    hdr->hdr_flags = flags;
}

/** Fill in the status of a send that succeeds: all follows from its header and length. */
static inline void mca_pml_fastpath_send_request_status(mca_pml_fastpath_send_request_t *req)
{
    ompi_status_public_t *status = &req->req_send.req_base.req_ompi.req_status;

    status->MPI_SOURCE = req->req_hdr.hdr_src;
    status->MPI_TAG = req->req_hdr.hdr_tag;
    status->MPI_ERROR = MPI_SUCCESS;
    status->_ucount = req->req_send.req_bytes_packed;
}

/** Fill in what all requests have in common whose message has left already. */
static inline void mca_pml_fastpath_send_request_precompleted(mca_pml_fastpath_send_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;

    mca_pml_fastpath_request_precompleted(base);
    base->req_ompi.req_status._cancelled = 0;
    base->req_addr = NULL;
    req->req_send.req_addr = NULL; /* not copied */
    req->req_state = MCA_PML_FASTPATH_SEND_PRECOMPLETED;
    req->req_holds = 1;
    req->req_todo = 0;
    req->req_unanswered = false;
}

/**
 * Make a request of a message that has left already: complete, and good for a cancel.
 * It does not know its communicator, which is not retained; a cancel finds and retains it.
 *
 * @param ctx   the communicator's number at the receiver
 * @param size  bytes of the message
 */
static inline void mca_pml_fastpath_send_request_sent(mca_pml_fastpath_send_request_t *req,
                                                      mca_pml_fastpath_peer_t *peer,
                                                      ompi_communicator_t *comm, uint32_t ctx, int tag,
                                                      uint32_t sequence, size_t size)
{
    mca_pml_base_request_t *base = &req->req_send.req_base;
    const uint64_t header[] = {mca_pml_fastpath_match_word0((uint16_t) sequence, ctx),
                               mca_pml_fastpath_match_word1(comm->c_my_rank, tag)};

    if (OPAL_UNLIKELY(MCA_PML_FASTPATH_SEND_PRECOMPLETED != req->req_state)) {
        mca_pml_fastpath_send_request_precompleted(req);
    }
    base->req_ompi.req_state = OMPI_REQUEST_ACTIVE;
    base->req_ompi.req_status.MPI_SOURCE = comm->c_my_rank;
    base->req_ompi.req_status.MPI_TAG = tag;
    base->req_ompi.req_status._ucount = size;
    req->req_send.req_bytes_packed = size;
    memcpy(&req->req_hdr, header, sizeof(req->req_hdr));
    req->req_peer = peer;
    req->req_ctx = mca_pml_fastpath_comm(comm)->ctx;
    req->req_incarnation = mca_pml_fastpath_comm(comm)->incarnation;
    req->req_sequence = sequence;
}

/**
 * Copy the beginning of a message's data to a descriptor, so that it need not be looked at when the message
 * leaves.
 *
 * @param hdr_size  bytes that are left free before it
 * @param size      bytes of data at the most
 * @return the descriptor, or NULL when the BTL has no room
 */
mca_btl_base_descriptor_t *mca_pml_fastpath_send_request_pack(mca_pml_fastpath_send_request_t *req,
                                                              mca_bml_base_btl_t *bml_btl, size_t hdr_size,
                                                              size_t size, uint32_t flags);

/**
 * Send the first descriptor of a message. It takes its sequence number now, unless it has one from an earlier
 * attempt. Not to be called with a lock held: the BTL may call back.
 *
 * @param descriptor  complete but for the number; ours no longer, also on error
 * @param hdr         the matching header in it
 * @param type        of BTL message
 * @param later       as for mca_pml_fastpath_bml_send_or_later()
 * @return OMPI_SUCCESS; OMPI_ERR_OUT_OF_RESOURCE when there is no room, or too many messages are under way;
 * or another error of the BTL's
 */
int mca_pml_fastpath_send_request_leave(mca_pml_fastpath_send_request_t *req, mca_bml_base_btl_t *bml_btl,
                                        mca_btl_base_descriptor_t *descriptor,
                                        mca_pml_fastpath_match_hdr_t *hdr, uint8_t type, bool *later);

/** A BTL's word that such a descriptor, whose des_cbdata is the request, has left: it counts in req_todo. */
void mca_pml_fastpath_send_request_left(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                                        mca_btl_base_descriptor_t *descriptor, int status);

/**
 * Tell the receiver of a part that has been written to it, or cannot be. It waits for that word, so the send
 * is not complete before it has left: who sent it may not come back to MPI for long. The caller holds the
 * request alive (counts in req_todo) over the call.
 *
 * @param btl  as for mca_pml_fastpath_control_send()
 */
void mca_pml_fastpath_send_request_tell(mca_pml_fastpath_send_request_t *req, mca_btl_base_module_t *btl,
                                        const mca_pml_fastpath_done_hdr_t *done);

/**
 * Send the first part of a message whose receive has to be known before the rest.
 * The caller holds the request alive (counts in req_todo) over the call.
 * @return OMPI_SUCCESS, OMPI_ERR_OUT_OF_RESOURCE or another error of the BTL's
 */
int mca_pml_fastpath_send_request_start_rndv(mca_pml_fastpath_send_request_t *req,
                                             mca_bml_base_btl_t *bml_btl);

/** @return the handle by which a send is told to its receiver; its todo is not 0 */
uint64_t mca_pml_fastpath_send_request_handle(mca_pml_fastpath_send_request_t *req);

/**
 * From now on the receiver's answer is awaited. Adds MCA_PML_FASTPATH_TODO_UNKNOWN to req_todo.
 * @param wanted  bytes of the message that the receiver may ask for
 */
void mca_pml_fastpath_send_request_await_answer(mca_pml_fastpath_send_request_t *req, uint64_t wanted);

/**
 * The receiver has said what becomes of the message. The caller takes
 * MCA_PML_FASTPATH_TODO_UNKNOWN out of req_todo.
 *
 * @param cancelled  it will not be received; noted in the status
 * @return false when somebody has done that already, or no answer was awaited
 */
bool mca_pml_fastpath_send_request_answered(mca_pml_fastpath_send_request_t *req, bool cancelled);

/** Give a message its number, unless it has one. @return false: no number is free now */
bool mca_pml_fastpath_send_request_take_number(mca_pml_fastpath_send_request_t *req);

/** A request's message has this number. */
void mca_pml_fastpath_send_request_set_number(mca_pml_fastpath_send_request_t *req, uint32_t number);

/** Copy a buffered send to the attached buffer. @return OMPI_SUCCESS, or an error of Open MPI's */
int mca_pml_fastpath_bsend_copy(mca_pml_fastpath_send_request_t *req);

/** The user's buffer is free: complete the request towards its user. */
void mca_pml_fastpath_send_request_mpi_complete(mca_pml_fastpath_send_request_t *req);

/** Its peer has failed: the handler of mca_pml_fastpath_kind_t. */
void mca_pml_fastpath_send_request_failed(mca_pml_base_request_t *base);

/** Nothing more will happen: complete the request at both levels. */
void mca_pml_fastpath_send_request_complete(mca_pml_fastpath_send_request_t *req);

/** So many bytes have left, or one function is done; whoever brings todo to zero completes the request. */
static inline void mca_pml_fastpath_send_request_progressed(mca_pml_fastpath_send_request_t *req,
                                                            int64_t amount)
{
    if (0 == OPAL_THREAD_ADD_FETCH64(&req->req_todo, -amount)) {
        mca_pml_fastpath_send_request_complete(req);
    }
}

/**
 * Find the send that a header from a BTL names, and keep it from completing.
 * @return it, and the caller takes 1 out of its todo; or NULL: there is none, or it has failed
 */
mca_pml_fastpath_send_request_t *mca_pml_fastpath_send_request_named(const mca_btl_base_module_t *btl,
                                                                     uint8_t type, uint64_t handle);

/**
 * The receiver asks for a part of the message. The caller holds the request alive over the call.
 *
 * @param flags   of the header; FLAG_FIRST: it has also said how many bytes it wants in all
 * @param wanted  so many, if FLAG_FIRST
 * @return false when that cannot be: it is not a part, or more than is wanted, or that has been said before
 */
bool mca_pml_fastpath_send_request_asked(mca_pml_fastpath_send_request_t *req, uint64_t offset,
                                         uint64_t length, uint8_t flags, uint64_t wanted);

/** An ACK has come by a BTL: stream what it asks for. */
void mca_pml_fastpath_send_request_acked(const mca_btl_base_module_t *btl,
                                         const mca_pml_fastpath_ack_hdr_t *hdr);

/** A GET_DONE has come by a BTL: the receiver has read the whole message. */
void mca_pml_fastpath_send_request_read(const mca_btl_base_module_t *btl,
                                        const mca_pml_fastpath_done_hdr_t *hdr);

/**
 * Stream a range of the message, now and from progress. The caller holds the
 * request alive (counts in req_todo) over the call.
 */
void mca_pml_fastpath_send_request_stream(mca_pml_fastpath_send_request_t *req, size_t offset, size_t length);

#endif /* MCA_PML_FASTPATH_SENDREQ_H */
