/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Receive requests.
 */
#ifndef MCA_PML_FASTPATH_RECVREQ_H
#define MCA_PML_FASTPATH_RECVREQ_H

#include "ompi/mca/pml/base/pml_base_recvreq.h"

#include "opal/mca/common/fastpath/common_fastpath_copy.h"

#include "pml_fastpath_accept.h"
#include "pml_fastpath_idle.h"
#include "pml_fastpath_watch.h"

/**
 * What is in a receive request, and what it holds. Each use says it once:
 * mca_pml_fastpath_recv_request_init() and _init_contiguous() when a receive is made, _received() for one
 * whose message is there. The next use reads nothing of it.
 */
typedef enum {
    MCA_PML_FASTPATH_RECV_CONVERTOR,  /**< needs its convertor; holds communicator and datatype */
    MCA_PML_FASTPATH_RECV_CONTIGUOUS, /**< contiguous, without a convertor; holds communicator and datatype */
    MCA_PML_FASTPATH_RECV_PREDEFINED, /**< contiguous, of a predefined datatype; holds its communicator */
    MCA_PML_FASTPATH_RECV_PRECOMPLETED /**< complete from the start; has no argument but source and tag in the
                                        * status, and holds nothing */
} mca_pml_fastpath_recv_state_t;

/** A receive, from MPI_Irecv to its completion. Lives on mca_pml_base_recv_requests. */
typedef struct {
    mca_pml_base_recv_request_t req_recv;
    mca_pml_fastpath_match_post_t req_post; /**< while it waits for a message; guarded by the communicator */
    opal_atomic_int32_t req_holds;          /**< who still needs it: its user, and we while it is active */
    mca_pml_fastpath_watch_t req_watch;     /**< pml_fastpath_failure.h */

    mca_pml_fastpath_recv_state_t req_state;
    bool req_begun;   /**< posted, and a part of its message may be in the buffer already: it gets that one */
    void *req_buffer; /**< where the user's buffer begins, if it is contiguous */
    size_t req_room;  /**< bytes that fit into it */

    /* from the match on */
    mca_pml_fastpath_peer_t *req_peer; /**< the sender; the communicator holds the reference */
    uint64_t req_src_req;              /**< the sender's handle of its request, opaque */
    size_t req_accepted;               /**< bytes of the message that fit into the user's buffer */
    opal_atomic_int64_t req_todo;      /**< bytes still to come, and 1 for each function that is at work */
    opal_atomic_int64_t req_uncovered; /**< sum of the numbers of the bytes that FRAGs are still to bring */
    uint64_t req_handle;               /**< that the sender knows it by, or MCA_PML_FASTPATH_HANDLE_NONE */

    /** where the message goes if that is contiguous: the user's buffer, or req_whole; else NULL: see
     * the convertor */
    void *req_base;
    void *req_whole; /**< borrowed: the message is put together there, and unpacked in the end; else NULL */
    opal_mutex_t req_lock; /**< protects the convertor against concurrent FRAGs, and the fields below */
    size_t req_put_begin;  /**< first byte that is written by PUTs */
    size_t req_put_next;   /**< first byte that no PUT has asked for */
    uint8_t req_put_flags; /**< of the next PUT: FLAG_FIRST if there has been no ACK */
    unsigned req_puts;     /**< PUTs in flight */
    bool req_put_busy;     /**< somebody is sending PUTs */

    /* a message that is read, pml_fastpath_help.h */
    bool req_reduced; /**< mca_pml_fastpath_help_is_reduced() */
    bool req_alone;   /**< the sender may come to wait, and then it may be asked; of who reads */
    bool req_helping; /**< HELP has gone out, and is unanswered; protected by req_lock */
    size_t req_own; /**< bytes that we read, the first ones; the sender has been asked to write the others */
    uint8_t req_told; /**< FLAG_STREAM or FLAG_KERNEL: the sender decides how it comes in an exchange; or 0 */
    mca_pml_fastpath_asked_t *req_asked; /**< among which it has been asked for and comes; NULL: it has not */
    size_t req_asked_bytes;              /**< if any: of it */
    uint32_t req_streamed; /**< since which epoch it is streamed (pml_fastpath_awaited.c), or 0 */
} mca_pml_fastpath_recv_request_t;
OBJ_CLASS_DECLARATION(mca_pml_fastpath_recv_request_t);

/** @return the receive that was posted so */
static inline mca_pml_fastpath_recv_request_t *
mca_pml_fastpath_recv_request_of(mca_pml_fastpath_match_post_t *post)
{
    return (mca_pml_fastpath_recv_request_t *) ((char *) post
                                                - offsetof(mca_pml_fastpath_recv_request_t, req_post));
}

/** req_free of all of them; tells them from other requests. */
int mca_pml_fastpath_recv_request_free(ompi_request_t **request);

/** @return whether the user's buffer is contiguous, and no convertor is needed */
static inline bool mca_pml_fastpath_recv_request_contiguous(const mca_pml_fastpath_recv_request_t *req)
{
    return MCA_PML_FASTPATH_RECV_CONVERTOR != req->req_state;
}

/** @return a request from the free list, or NULL when memory is short */
static inline mca_pml_fastpath_recv_request_t *mca_pml_fastpath_recv_request_alloc(void)
{
    return (mca_pml_fastpath_recv_request_t *) opal_free_list_get(&mca_pml_base_recv_requests);
}

/** Give back what a request holds. */
void mca_pml_fastpath_recv_request_fini(mca_pml_fastpath_recv_request_t *req);

/** One holder is done with a request; the last one gives it back. */
static inline void mca_pml_fastpath_recv_request_drop(mca_pml_fastpath_recv_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_recv.req_base;

    if (!mca_pml_fastpath_last_hold(&req->req_holds)) {
        return;
    }
    OMPI_REQUEST_FINI(&base->req_ompi);
    if (MCA_PML_FASTPATH_RECV_PRECOMPLETED != req->req_state) {
        mca_pml_fastpath_recv_request_fini(req);
    }
    opal_free_list_return(&mca_pml_base_recv_requests, (opal_free_list_item_t *) req);
}

/**
 * A request's user is done with it, in a job without threads: the fast path, without a call.
 * @return false when there is more to do: then nothing has been done
 */
static inline bool mca_pml_fastpath_recv_request_release_st(mca_pml_fastpath_recv_request_t *req)
{
    mca_pml_base_request_t *base = &req->req_recv.req_base;

    if (OPAL_UNLIKELY(1 != req->req_holds || MPI_UNDEFINED != base->req_ompi.req_f_to_c_index)) {
        return false;
    }
    if (OPAL_LIKELY(MCA_PML_FASTPATH_RECV_PREDEFINED == req->req_state)) {
        opal_object_t *comm = (opal_object_t *) base->req_comm;

        if (OPAL_UNLIKELY(1 >= comm->obj_reference_count)) {
            return false;
        }
        --comm->obj_reference_count;
    } else if (OPAL_UNLIKELY(MCA_PML_FASTPATH_RECV_PRECOMPLETED != req->req_state)) {
        return false;
    }
    base->req_ompi.req_state = OMPI_REQUEST_INVALID;
    opal_free_list_return_st(&mca_pml_base_recv_requests, (opal_free_list_item_t *) req);
    return true;
}

/** Fill in a request from the arguments of a receive. Its user holds it from here on. */
static inline void mca_pml_fastpath_recv_request_init(mca_pml_fastpath_recv_request_t *req, void *buf,
                                                      size_t count, ompi_datatype_t *datatype, int src,
                                                      int tag, ompi_communicator_t *comm, bool persistent)
{
    MCA_PML_BASE_RECV_REQUEST_INIT(&req->req_recv, buf, count, datatype, src, tag, comm, persistent);
    req->req_recv.req_base.req_ompi.req_type = OMPI_REQUEST_PML;
    req->req_holds = 1;
    req->req_state = fastpath_is_contiguous(buf, datatype, count) ? MCA_PML_FASTPATH_RECV_CONTIGUOUS
                                                                  : MCA_PML_FASTPATH_RECV_CONVERTOR;
    req->req_buffer = (char *) buf + datatype->super.true_lb;
    req->req_room = datatype->super.size * count;
}

/** Source and tag in the status of a receive that has no message yet, which debuggers go by. */
#define MCA_PML_FASTPATH_NO_ORIGIN                                                                           \
    mca_pml_fastpath_match_word1(MCA_PML_FASTPATH_ANY_SOURCE, MCA_PML_FASTPATH_ANY_TAG)

/**
 * The same as mca_pml_fastpath_recv_request_init() for a receive that is not persistent, and whose buffer is
 * contiguous: active, as mca_pml_fastpath_recv_request_activate() makes it. What such requests do
 * not use is left as it was.
 */
static inline void mca_pml_fastpath_recv_request_init_contiguous(mca_pml_fastpath_recv_request_t *req,
                                                                 void *buf, size_t count,
                                                                 ompi_datatype_t *datatype, int src, int tag,
                                                                 ompi_communicator_t *comm, bool threads)
{
    mca_pml_base_request_t *base = &req->req_recv.req_base;

    base->req_ompi.req_status.MPI_ERROR = MPI_SUCCESS;
    mca_pml_fastpath_status_set(&base->req_ompi.req_status, MCA_PML_FASTPATH_NO_ORIGIN, 0);
    base->req_ompi.req_persistent = false;
    base->req_free_called = false;
    req->req_recv.req_bytes_packed = 0;
    req->req_begun = false;
    if (threads) {
        OBJ_RETAIN(comm);
    } else {
        ++((opal_object_t *) comm)->obj_reference_count;
    }
    req->req_state = MCA_PML_FASTPATH_RECV_PREDEFINED;
    if (OPAL_UNLIKELY(!ompi_datatype_is_predefined(datatype))) {
        req->req_state = MCA_PML_FASTPATH_RECV_CONTIGUOUS;
        OBJ_RETAIN(datatype);
    }
    base->req_ompi.req_type = OMPI_REQUEST_PML;
    base->req_ompi.req_complete = REQUEST_PENDING;
    base->req_ompi.req_state = OMPI_REQUEST_ACTIVE;
    base->req_ompi.req_complete_cb = NULL;
    base->req_ompi.req_mpi_object.comm = comm;
    base->req_pml_complete = false;
    base->req_comm = comm;
    base->req_datatype = datatype;
    base->req_addr = buf;
    base->req_count = count;
    base->req_peer = src;
    base->req_tag = tag;
    req->req_holds = 2;
    req->req_buffer = (char *) buf + datatype->super.true_lb;
    req->req_room = datatype->super.size * count;
}

/** Make a request active, without looking for a message. We hold it until it completes. */
static inline void mca_pml_fastpath_recv_request_activate(mca_pml_fastpath_recv_request_t *req)
{
    MCA_PML_BASE_RECV_START(&req->req_recv);
    req->req_begun = false;
    if (OPAL_LIKELY(!req->req_recv.req_base.req_ompi.req_persistent)) {
        req->req_holds = 2; /* its user does not have it yet */
    } else {
        (void) OPAL_THREAD_ADD_FETCH32(&req->req_holds, 1);
    }
}

/** MPI_Recv by a request that waits for the message; arguments and result of pml_recv. */
int mca_pml_fastpath_recv_ordinary(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                                   ompi_communicator_t *comm, ompi_status_public_t *status);

/**
 * Make a request of a message that has been received already: complete.
 *
 * @param word1   source and tag, as in the header
 * @param length  bytes of the message, all of which are in the user's buffer
 */
static inline void mca_pml_fastpath_recv_request_received(mca_pml_fastpath_recv_request_t *req,
                                                          uint64_t word1, size_t length)
{
    mca_pml_base_request_t *base = &req->req_recv.req_base;

    mca_pml_fastpath_request_precompleted(base);
    base->req_ompi.req_state = OMPI_REQUEST_ACTIVE;
    mca_pml_fastpath_status_set(&base->req_ompi.req_status, word1, length);
    req->req_recv.req_bytes_packed = length;
    req->req_holds = 1;
    req->req_state = MCA_PML_FASTPATH_RECV_PRECOMPLETED;
}

/** A request that is active could not be posted for want of memory: inactive again. @return
 * OMPI_ERR_OUT_OF_RESOURCE */
int mca_pml_fastpath_recv_request_unstart(mca_pml_fastpath_recv_request_t *req);

/**
 * Put a piece of the message where it belongs.
 *
 * @param skip    bytes of header at the front of the segments
 * @param offset  of the piece within the message, bytes
 * @param limit   bytes to take at the most
 * @return bytes taken
 */
size_t mca_pml_fastpath_recv_request_unpack(mca_pml_fastpath_recv_request_t *req,
                                            const mca_btl_base_segment_t *segments, size_t num_segments,
                                            size_t skip, size_t offset, size_t limit);

/** Complete the request at both levels. */
static inline void mca_pml_fastpath_recv_request_complete(mca_pml_fastpath_recv_request_t *req)
{
    req->req_recv.req_base.req_pml_complete = true;
    mca_pml_fastpath_request_complete(&req->req_recv.req_base.req_ompi);
    mca_pml_fastpath_recv_request_drop(req);
}

/** The same in a job without threads, where no lock is held and nobody else can look at it meanwhile. */
static inline __opal_attribute_always_inline__ void
mca_pml_fastpath_recv_request_complete_st(mca_pml_fastpath_recv_request_t *req)
{
    ompi_request_t *request = &req->req_recv.req_base.req_ompi;

    if (OPAL_LIKELY(NULL == request->req_complete_cb && REQUEST_PENDING == request->req_complete
                    && 2 == req->req_holds)) {
        req->req_recv.req_base.req_pml_complete = true;
        request->req_complete = REQUEST_COMPLETED;
        req->req_holds = 1;
    } else {
        mca_pml_fastpath_recv_request_complete(req);
    }
}

/** @return bytes of a message of that length that fit into the user's buffer */
static inline size_t mca_pml_fastpath_recv_request_room(const mca_pml_fastpath_recv_request_t *req,
                                                        size_t length)
{
    return OPAL_LIKELY(length <= req->req_room) ? length : req->req_room;
}

/**
 * Fill in what the status says of a message, for a receive that completes now.
 *
 * @param word1     source and tag, as in the header
 * @param accepted  mca_pml_fastpath_recv_request_room()
 */
static inline void mca_pml_fastpath_recv_request_status(mca_pml_fastpath_recv_request_t *req, uint64_t word1,
                                                        size_t length, size_t accepted)
{
    ompi_status_public_t *status = &req->req_recv.req_base.req_ompi.req_status;

    req->req_recv.req_bytes_packed = length;
    status->MPI_ERROR = OPAL_LIKELY(length == accepted) ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    mca_pml_fastpath_status_set(status, word1, accepted);
}

/**
 * Say in the status of a receive that is about to complete whether its message was too long. Not before that:
 * Open MPI gives back each request of a call that is in error, also one that is still active.
 */
static inline void mca_pml_fastpath_recv_request_check_length(mca_pml_fastpath_recv_request_t *req)
{
    if (OPAL_UNLIKELY(req->req_recv.req_bytes_packed > req->req_accepted)) {
        req->req_recv.req_base.req_ompi.req_status.MPI_ERROR = MPI_ERR_TRUNCATE;
    }
}

/** memcpy from where a BTL has delivered something, by the way that is sooner. */
void mca_pml_fastpath_recv_request_take(void *to, const void *from, size_t length);

/** A whole message, in one piece, and a receive have found each other, whose buffer is contiguous: all is
 * done. */
static inline void mca_pml_fastpath_recv_request_deliver(mca_pml_fastpath_recv_request_t *req, uint64_t word1,
                                                         const void *data, size_t length)
{
    const size_t accepted = mca_pml_fastpath_recv_request_room(req, length);

    mca_pml_fastpath_recv_request_status(req, word1, length, accepted);
    if (OPAL_LIKELY(MCA_COMMON_FASTPATH_COPY_MEASURED > accepted)) {
        mca_common_fastpath_copy(req->req_buffer, data, accepted);
    } else {
        mca_pml_fastpath_recv_request_take(req->req_buffer, data, accepted);
    }
    mca_pml_fastpath_recv_request_complete(req);
}

/** Nothing of a message is under way any more: complete its request, or drop it where an error has done so.
 * todo is what is left of req_todo. Unless it is 0 and all of the message has come, the job ends. */
void mca_pml_fastpath_recv_request_finish(mca_pml_fastpath_recv_request_t *req, int64_t todo);

/** So many bytes have come, or one function is done; whoever brings todo to zero completes the request. */
static inline void mca_pml_fastpath_recv_request_progressed(mca_pml_fastpath_recv_request_t *req,
                                                            size_t amount)
{
    const int64_t todo = OPAL_THREAD_ADD_FETCH64(&req->req_todo, -(int64_t) amount);

    if (0 >= todo) {
        mca_pml_fastpath_recv_request_finish(req, todo);
    }
}

/** @return the handle by which a receive is told to its sender */
uint64_t mca_pml_fastpath_recv_request_handle(mca_pml_fastpath_recv_request_t *req);

/**
 * Send the sender a control header, as mca_pml_fastpath_control_send() does. The request is not complete
 * before it has left: its process need not call MPI again soon. Something else has to be left of req_todo.
 */
void mca_pml_fastpath_recv_request_tell(mca_pml_fastpath_recv_request_t *req, const void *hdr, size_t size);

/**
 * Ask the sender to stream a range of the message.
 *
 * @param flags   MCA_PML_FASTPATH_HDR_FLAG_FIRST with the first answer to a message
 * @param wanted  with that flag: bytes that the sender will send or write from now on
 */
void mca_pml_fastpath_recv_request_ack(mca_pml_fastpath_recv_request_t *req, uint8_t flags, size_t offset,
                                       size_t length, size_t wanted);

/** Its peer has failed: the handler of mca_pml_fastpath_kind_t. */
void mca_pml_fastpath_recv_request_failed(mca_pml_base_request_t *base);

/** Complete a receive in error that nothing is under way for. @param error an error class */
void mca_pml_fastpath_recv_request_refused(mca_pml_fastpath_recv_request_t *req, int error);

/**
 * The message that has been put together in req_whole is complete: give that memory back.
 * @param unpack  before that, to the user's buffer: its user has not been told that the receive has failed
 */
void mca_pml_fastpath_recv_request_whole(mca_pml_fastpath_recv_request_t *req, bool unpack);

/* ---- pml_fastpath_matched.c: what becomes of a message that has a receive follows from its protocol ---- */

/**
 * Make a request active and match it: with a message that is already here, or by
 * posting it.
 * @return OMPI_SUCCESS, or OMPI_ERR_OUT_OF_RESOURCE (the request is inactive again)
 */
int mca_pml_fastpath_recv_request_start(mca_pml_fastpath_recv_request_t *req);

/**
 * A message and a receive have found each other: move what came with the header
 * and see to the rest. Call without locks; the request may be complete and gone
 * on return.
 */
void mca_pml_fastpath_recv_request_matched(mca_pml_fastpath_recv_request_t *req,
                                           const mca_pml_fastpath_arrival_t *arrival);

/** The same with a message that was kept, which is given back, and its cost to its sender. */
void mca_pml_fastpath_recv_request_matched_message(mca_pml_fastpath_recv_request_t *req,
                                                   mca_pml_fastpath_message_t *message);

#endif /* MCA_PML_FASTPATH_RECVREQ_H */
