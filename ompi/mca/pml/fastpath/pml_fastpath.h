/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * pml/fastpath: all of MPI point-to-point over whatever BTLs there are.
 * docs/data-path.md says which file serves which step of a message's life.
 */
#ifndef MCA_PML_FASTPATH_H
#define MCA_PML_FASTPATH_H

#include "ompi_config.h"

#include "opal/class/opal_free_list.h"
#include "opal/class/opal_hash_table.h"
#include "opal/class/opal_list.h"

#include "opal/mca/btl/fastsm/btl_fastsm_ext.h"
#include "opal/runtime/opal_progress.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/bml/base/base.h"
#include "ompi/mca/bml/bml.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/base/pml_base_request.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/message/message.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "ompi/runtime/mpiruntime.h"

#include "fastpath_ft_compat.h"
#include "fastpath_ompi_compat.h"

/** What waits for room, by what it has to wait for besides. Neither queue waits for the other one. */
enum {
    /** messages, and the CANCELs of such: in their order */
    MCA_PML_FASTPATH_QUEUE_MESSAGES,
    /** pieces of messages and control headers, which a message may be waiting for */
    MCA_PML_FASTPATH_QUEUE_REST,
    MCA_PML_FASTPATH_QUEUES
};

/** One of them. */
typedef struct {
    opal_list_t retries; /**< mca_pml_fastpath_retry_t in the order they were refused */
    int waited_for;      /**< peers that some of these wait for */
} mca_pml_fastpath_queue_t;

struct mca_pml_fastpath_comm_t; /* pml_fastpath_comm.h */

/** What there is to be done about requests of a kind, sends or receives, when their peer fails. */
typedef struct {
    size_t watch;                                    /**< offset of mca_pml_fastpath_watch_t in them */
    void (*failed)(mca_pml_base_request_t *request); /**< tell its user; it stays ours */
} mca_pml_fastpath_kind_t;

/**
 * What files call of others that stand above them: those that know requests, of those that know only their
 * peers. Filled in where the functions are that Open MPI calls (pml_fastpath_module.c).
 */
typedef struct {
    mca_pml_fastpath_kind_t kinds[MCA_PML_REQUEST_RECV + 1]; /**< by mca_pml_base_request_type_t */
    ompi_request_cancel_fn_t cancel_send;                    /**< req_cancel of sends */
    /** mca_pml_fastpath_comm_end(), of a communicator that is about to be freed */
    void (*end_comm)(struct mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm);
} mca_pml_fastpath_handlers_t;

/** Lists of communicators, the first of which is found without a lock: a power of two. */
#define MCA_PML_FASTPATH_COMMS 64

/** The module, its parameters and everything process-wide. */
typedef struct {
    mca_pml_base_module_t super;
    mca_pml_fastpath_handlers_t handlers;

    /* parameters, fixed after register() */
    int priority;           /**< reported when named; selection needs the name */
    unsigned send_depth;    /**< FRAGs in flight per message */
    unsigned put_depth;     /**< PUTs in flight per message */
    unsigned get_depth;     /**< BTL gets in flight per message */
    int verbose;            /**< 1: what processes are reached by is printed */
    size_t help_limit;      /**< bytes from which on a sender that waits copies a part; 0: never */
    char *multi_eager_limits; /**< as given; Open MPI's */
    /** what that says, of so many BTLs; constant after init */
    struct mca_pml_fastpath_multi_limit_t *multi_limits;
    size_t num_multi_limits;
    size_t window;          /**< bytes that a peer may hold of us unreceived; 0 = unlimited */
    int64_t window_part;    /**< of these, which are given back together; more than there are if unlimited */
    unsigned link_timeout;  /**< seconds after which a silent TCP connection ends the job; 0 = never */
    unsigned fault_percent; /**< debugging: percentage of BTL calls that are refused at random */
    unsigned free_list_inc; /**< objects that a free list grows by */
    bool use_get;           /**< offer large messages to be read with BTL get */
    bool use_put;           /**< ask for large messages to be written with BTL put */
    bool use_immediate_send; /**< try to send before a request is made */
    bool use_immediate_recv; /**< try to receive before a request is made */
    bool use_immediate;     /**< move data that is contiguous without a convertor */
    bool offered;           /**< `offers` is not empty */
    bool waits_installed;   /**< Open MPI's functions that wait for requests are ours: they count calls */
    unsigned interval;      /**< microseconds that may pass without opal_progress where calls do not wait */
    unsigned spin_count; /**< of a receive at its sender's slot, from one call of opal_progress to the next */

    const mca_base_component_t *component;  /**< what Open MPI knows us by; constant after register() */
    mca_btl_base_module_t *fastsm;          /**< btl/fastsm's module, where it runs; else NULL */
    const mca_btl_fastsm_ext_t *fastsm_ext; /**< its extension */
    _Atomic uint32_t *asleep;               /**< where this process says that it sleeps; NULL: without it */
    unsigned long btl_sends;                /**< calls of BTLs to send, those among them that were refused */
    unsigned long arrived;                  /**< messages and completions that BTLs have called us for */
    _Atomic bool waits;                     /**< a call waits for receives; of use without threads only */
    bool unfinished;    /**< a call that waits has something to do before it returns */
    bool takes_all;     /**< see mca_pml_fastpath_take_all() */
    unsigned long pieces_moved; /**< of messages that we have asked to be streamed, or that are claimed */
    opal_list_t
        offers; /**< large sends that are offered and that no call waits for alone, the oldest first */

    /** protects all up to num_retries, and comms and spare_comms; never held across a call into a BTL */
    opal_mutex_t lock;
    opal_hash_table_t peers;   /**< ompi_proc_t address -> mca_pml_fastpath_peer_t */
    opal_list_t pending;       /**< mca_pml_fastpath_parked_t of communicators that do not exist here yet */
    opal_hash_table_t
        freed; /**< id of a communicator that was freed here -> freed_t of pml_fastpath_freed.c */
    opal_hash_table_t epochs;  /**< intercommunicators with other processes, see pml_fastpath_freed.h */
    uint32_t incarnations;     /**< communicators that have existed here */
    int pending_unanswered;    /**< CANCELs among the pending messages whose sender has no answer yet */
    uint64_t late;             /**< messages that came after their communicator was freed here */
    mca_pml_fastpath_queue_t retries[MCA_PML_FASTPATH_QUEUES]; /**< what waits for room */
    opal_atomic_int32_t num_retries; /**< length of all of them, read without the lock */
    volatile int link_countdown;     /**< calls of progress until the next look at the clock for the links */

    opal_free_list_t rdmas;   /**< mca_pml_fastpath_rdma_t */
    opal_free_list_t ranges;  /**< mca_pml_fastpath_range_t */
    opal_free_list_t packets; /**< mca_pml_fastpath_packet_t */
    bool enabled;             /**< the lists above exist */
    bool ft;                  /**< the job goes on when processes fail */

    /** all communicators, in lists by the lower bits of their ids: the first one of each is read without the
     * lock, and changed with it. pml_fastpath_comm.h */
    struct mca_pml_fastpath_comm_t *volatile comms[MCA_PML_FASTPATH_COMMS];
    struct mca_pml_fastpath_comm_t *spare_comms; /**< memory of those that have been freed */
} mca_pml_fastpath_t;

/** The only instance. -fvisibility=hidden does not apply to declarations with extern: without the attribute
 * every access would go by the global offset table. */
extern mca_pml_fastpath_t mca_pml_fastpath __opal_attribute_visibility__("hidden");

/** @return whether the job goes on when processes fail; constant where Open MPI knows no such thing */
static inline bool mca_pml_fastpath_ft(void)
{
    return FASTPATH_HAVE_FT && OPAL_UNLIKELY(mca_pml_fastpath.ft);
}

/** @return whether all processes of the job arrive at the end of MPI: from now on they go one after the other
 */
static inline bool mca_pml_fastpath_at_end(void)
{
    return OMPI_MPI_STATE_FINALIZE_PAST_COMM_SELF_DESTRUCT <= ompi_mpi_state;
}

OMPI_DECLSPEC extern mca_pml_base_component_t mca_pml_fastpath_component;

/** pml_fastpath_module.c: fill in the table of functions that Open MPI calls. Before it is handed over. */
void mca_pml_fastpath_module_init(void);

/** The same file: make what the module consists of, once, before any process is added. @return
 * OMPI_ERR_OUT_OF_RESOURCE: the job cannot go on */
int mca_pml_fastpath_enable(bool enable);
/** pml_fastpath_add_procs.c: have the BTLs find ways to some processes. @return OMPI_SUCCESS; the error of
 * the first BTL or check that refuses; OMPI_ERR_OUT_OF_RESOURCE where btl/fastsm is out of use although those
 * processes count on it */
int mca_pml_fastpath_add_procs(ompi_proc_t **procs, size_t nprocs);
/** The same file: say goodbye where that is needed, and forget the processes. @return the BML's result */
int mca_pml_fastpath_del_procs(ompi_proc_t **procs, size_t nprocs);
/** pml_fastpath_add_comm.c: begin to send and receive on a communicator, with what has come for it already.
 * @return OMPI_SUCCESS, OMPI_ERR_OUT_OF_RESOURCE, or what adding its processes gave */
int mca_pml_fastpath_add_comm(ompi_communicator_t *comm);
/** The same file: the communicator is freed. Messages that nobody has received are dropped; requests keep the
 * communicator. @return OMPI_SUCCESS */
int mca_pml_fastpath_del_comm(ompi_communicator_t *comm);
/** The same file: MPIX_Comm_revoke. Requests on the communicator end with an error from here on.
 * @param coll_only  those of collective operations only. @return OMPI_SUCCESS */
int mca_pml_fastpath_revoke_comm(ompi_communicator_t *comm, bool coll_only);
/** pml_fastpath_module.c: release what mca_pml_fastpath_enable() has made; nothing if it has not. */
void mca_pml_fastpath_close(void);

/* One file per verb; their names and arguments are those of pml.h. All return OMPI_SUCCESS, or
 * OMPI_ERR_OUT_OF_RESOURCE (matched probes: OMPI_ERR_TEMP_OUT_OF_RESOURCE) where there is no memory for a
 * request; those that send, to a process that cannot be reached, OMPI_ERR_UNREACH, and in buffered mode
 * without room OMPI_ERR_BUFFER; and with fault tolerance the error of a communicator that is revoked or a
 * peer that has failed. Any other result of a blocking call is that of its request: MPI_ERR_TRUNCATE, for
 * one. */

/** pml_fastpath_isend.c: make a persistent request. */
int mca_pml_fastpath_isend_init(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                                mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                                ompi_request_t **request);
/** The same file. *request is complete on return where the message has left at once. */
int mca_pml_fastpath_isend(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                           mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                           ompi_request_t **request);
/** The same file: return when buf may be used again, with MPI_Ssend's mode when it is being received. */
int mca_pml_fastpath_send(const void *buf, size_t count, ompi_datatype_t *datatype, int dst, int tag,
                          mca_pml_base_send_mode_t mode, ompi_communicator_t *comm);
/** pml_fastpath_irecv.c: make a persistent request. */
int mca_pml_fastpath_irecv_init(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                                ompi_communicator_t *comm, ompi_request_t **request);
/** The same file. */
int mca_pml_fastpath_irecv(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                           ompi_communicator_t *comm, ompi_request_t **request);
/** pml_fastpath_recv.c: receive without a request where that is possible. @param status  may be
 * MPI_STATUS_IGNORE */
int mca_pml_fastpath_recv(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                          ompi_communicator_t *comm, ompi_status_public_t *status);
/** pml_recv of jobs that go on when processes fail: nothing is received on a communicator that is revoked. */
int mca_pml_fastpath_recv_ft(void *buf, size_t count, ompi_datatype_t *datatype, int src, int tag,
                             ompi_communicator_t *comm, ompi_status_public_t *status);
/** pml_fastpath_irecv.c: receive what a matched probe has taken. @param message  set to MPI_MESSAGE_NULL; as
 * it was when there is no memory */
int mca_pml_fastpath_imrecv(void *buf, size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                            ompi_request_t **request);
/** The same file: mca_pml_fastpath_imrecv() and wait. */
int mca_pml_fastpath_mrecv(void *buf, size_t count, ompi_datatype_t *datatype, ompi_message_t **message,
                           ompi_status_public_t *status);
/** pml_fastpath_iprobe.c: look for a message. @param matched  set to whether there is one; *status then tells
 * about it */
int mca_pml_fastpath_iprobe(int src, int tag, ompi_communicator_t *comm, int *matched,
                            ompi_status_public_t *status);
/** The same file: wait for a message. */
int mca_pml_fastpath_probe(int src, int tag, ompi_communicator_t *comm, ompi_status_public_t *status);
/** The same file: look for a message and take it. @param message  set to it, for mca_pml_fastpath_imrecv(),
 * or MPI_MESSAGE_NULL */
int mca_pml_fastpath_improbe(int src, int tag, ompi_communicator_t *comm, int *matched,
                             ompi_message_t **message, ompi_status_public_t *status);
/** The same file: wait for a message and take it. */
int mca_pml_fastpath_mprobe(int src, int tag, ompi_communicator_t *comm, ompi_message_t **message,
                            ompi_status_public_t *status);
/** pml_fastpath_progress.c: all that has to be seen to. @return how many things that were refused have left,
 * and one more for a caller that keeps its core: opal_progress yields on 0 */
int mca_pml_fastpath_progress(void);
/** pml_fastpath_start.c: start persistent requests; others among them are left alone. With fault tolerance
 * one that has failed and that others are still at work on is replaced by a new one in `requests`. */
int mca_pml_fastpath_start(size_t count, ompi_request_t **requests);
/** pml_fastpath_dump.c: print the communicator's receives and messages, and the process's.
 * @return OMPI_SUCCESS */
int mca_pml_fastpath_dump(ompi_communicator_t *comm, int verbose);

/** pml_fastpath_pvar.c: register the MPI_T performance variables. */
void mca_pml_fastpath_pvar_register(const mca_base_component_t *component);

/** pml_fastpath_callbacks.c: register the callbacks for all types of headers with the BTLs there are.
 * @return OMPI_SUCCESS, or the BML's error */
int mca_pml_fastpath_callbacks_register(void);

/** pml_fastpath_add_comm.c: a communicator's last user has let it go, which may be noticed before Open MPI
 * says so. What CANCELs have to know of it is remembered. Does nothing when that has been done. The PML is
 * locked. */
void mca_pml_fastpath_comm_end(struct mca_pml_fastpath_comm_t *pml_comm, ompi_communicator_t *comm);

/**
 * pml_fastpath_abort.c: say on stderr what went wrong and end the job.
 *
 * @param topic  of help-mpi-pml-fastpath.txt; its two %s take what and reason
 */
void mca_pml_fastpath_abort(const char *topic, const char *what,
                            const char *reason) __opal_attribute_noreturn__;

/**
 * End the job where there is no memory for something that cannot be done without.
 *
 * @param memory  what malloc, or whoever else `refuser` names, has returned
 * @return        memory, which is not NULL
 */
static inline void *mca_pml_fastpath_needed(void *memory, const char *purpose, const char *refuser)
{
    if (OPAL_UNLIKELY(NULL == memory)) {
        mca_pml_fastpath_abort("no memory", purpose, refuser);
    }
    return memory;
}

/**
 * Whether both sides copy a message of so many bytes, if its sender waits. Where processes share cores the
 * other side may not have one: then that pays for long ones only.
 */
static inline bool mca_pml_fastpath_is_helped(size_t size)
{
    const size_t limit = mca_pml_fastpath.help_limit;

    return 0 < limit && limit <= (opal_progress_yield_when_idle ? size / 16 : size);
}

/**
 * One of those who hold a request is done with it. Where the count is 1 nobody else does, and nobody can
 * come: no need for an atomic operation.
 * @return whether it was the last one
 */
static inline bool mca_pml_fastpath_last_hold(opal_atomic_int32_t *holds)
{
    if (OPAL_LIKELY(1 == *holds)) {
        opal_atomic_rmb();
        return true;
    }
    return 0 == OPAL_THREAD_ADD_FETCH32(holds, -1);
}

/** Keep a request from completing: add 1 to its reference count, unless that is 0. @return whether it was
 * added; false if the request has completed */
static inline bool mca_pml_fastpath_hold(opal_atomic_int64_t *todo)
{
    int64_t before = *todo;

    while (0 != before && !OPAL_THREAD_COMPARE_EXCHANGE_STRONG_64(todo, &before, before + 1)) {
        continue;
    }
    return 0 != before;
}

/**
 * Fill in what a request is whose message has come or left already. It is of the type that does nothing, as
 * those of MPI_PROC_NULL: from 5.0 on Open MPI looks into the communicator of each request of type
 * OMPI_REQUEST_PML that a call completes among others, and its own may be freed by then. It names no
 * communicator, so a debugger that lists the requests of one does not come upon it.
 */
static inline void mca_pml_fastpath_request_precompleted(mca_pml_base_request_t *request)
{
    OMPI_REQUEST_INIT(&request->req_ompi, false);
    request->req_ompi.req_type = OMPI_REQUEST_NOOP;
    request->req_ompi.req_mpi_object.comm = NULL;
    request->req_ompi.req_complete = REQUEST_COMPLETED;
    request->req_ompi.req_status.MPI_ERROR = MPI_SUCCESS;
    request->req_comm = NULL;
    request->req_pml_complete = true;
    request->req_free_called = false;
}

/** Something is due once: @return whether it still was, as a flag says that the lock protects. */
static inline bool mca_pml_fastpath_take_flag(opal_mutex_t *lock, bool *due)
{
    bool was_due;

    OPAL_THREAD_LOCK(lock);
    was_due = *due;
    *due = false;
    OPAL_THREAD_UNLOCK(lock);
    return was_due;
}

#endif /* MCA_PML_FASTPATH_H */
