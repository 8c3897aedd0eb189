/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Process-local state of btl/fastsm: component, module, endpoint.
 * What lives in shared memory is in btl_fastsm_layout.h.
 */

#ifndef MCA_BTL_FASTSM_H
#define MCA_BTL_FASTSM_H

#include "opal_config.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "compat/fastpath_opal_compat.h"
#include "compat/fastpath_smsc_compat.h"
#include "opal/class/opal_list.h"
#include "opal/mca/btl/base/base.h"
#include "opal/mca/btl/base/btl_base_error.h"
#include "opal/mca/btl/btl.h"
#include "opal/mca/common/fastpath/common_fastpath_clock.h"
#include "opal/mca/common/fastpath/common_fastpath_fault.h"
#include "opal/mca/common/fastpath/common_fastpath_machine.h"
#include "opal/mca/common/fastpath/common_fastpath_ways.h"
#include "opal/mca/mpool/fastsm/mpool_fastsm.h"

#include "btl_fastsm_ext.h"
#include "btl_fastsm_fifo.h"
#include "btl_fastsm_frag_list.h"
#include "btl_fastsm_layout.h"
#include "btl_fastsm_pair.h"
#include "btl_fastsm_ring.h"

#define MCA_BTL_FASTSM_HELP "help-mpi-btl-fastsm.txt"

/**
 * Range of the longest inline message, in slots.  Two are enough for the control messages of a PML:
 * their descriptors are then private memory, and btl_alloc never refuses one.  ob1 retries
 * refused data from progress, but refused control messages only when something completes.
 */
#define MCA_BTL_FASTSM_INLINE_SLOTS_MIN 2u
#define MCA_BTL_FASTSM_INLINE_SLOTS_MAX 16u
/** bytes of such a message */
#define MCA_BTL_FASTSM_INLINE_BYTES_MAX                                                                      \
    (MCA_BTL_FASTSM_HEAD_DATA + (MCA_BTL_FASTSM_INLINE_SLOTS_MAX - 1) * MCA_BTL_FASTSM_CONT_DATA)
/** senders whose slots are looked at before the doorbells */
#define MCA_BTL_FASTSM_RECENT 4u
/** seconds that a process has for its answer whether it reaches another; all come to that question together */
#define MCA_BTL_FASTSM_AGREE_TIMEOUT 60u
/** Open MPI's own value for shared memory is exactly this; we have to be above it */
#define MCA_BTL_FASTSM_EXCLUSIVITY (MCA_BTL_EXCLUSIVITY_HIGH + 1024)

typedef struct mca_btl_base_endpoint_t mca_btl_base_endpoint_t;
typedef struct mca_btl_base_endpoint_t mca_btl_fastsm_endpoint_t;

/** most buffers that one message takes */
#define MCA_BTL_FASTSM_CHUNKS_MAX 64u

/** @return the smaller one of two numbers */
static inline size_t mca_btl_fastsm_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/**
 * The lines of the buffers that the next message will probably take, if the last one was in buffers: they are
 * fetched while the process waits.  Only without threads.
 */
typedef struct {
    fastsm_fifo_idle_t idle;           /**< `work` is the lines that are left */
    mca_btl_base_endpoint_t *endpoint; /**< to whom the last one was sent */
    uint32_t buffers;                  /**< of those that are free, so many have been fetched */
    uint32_t line;                     /**< and so many lines of the next one */
    bool begun;                        /**< buffers and line are set */
} mca_btl_fastsm_ahead_t;

/** whether we may read this peer's memory */
typedef enum {
    MCA_BTL_FASTSM_GET_UNKNOWN, /**< not tried yet */
    MCA_BTL_FASTSM_GET_SMSC,    /**< by Open MPI's module for that */
    MCA_BTL_FASTSM_GET_WORKS,   /**< directly */
    MCA_BTL_FASTSM_GET_REFUSED
} mca_btl_fastsm_get_state_t;

/** item of component.active, part of the endpoint it stands for */
typedef struct {
    opal_list_item_t super;
    struct mca_btl_base_endpoint_t *endpoint;
} mca_btl_fastsm_active_t;

OBJ_CLASS_DECLARATION(mca_btl_fastsm_active_t);

/** how far a sender is on its way to a deep FIFO (btl_fastsm_deep.c) */
typedef enum {
    MCA_BTL_FASTSM_MOVE_IDLE,   /**< busy or not, it goes on where it is */
    MCA_BTL_FASTSM_MOVE_WANT,   /**< it is to ask as soon as there is room for the question */
    MCA_BTL_FASTSM_MOVE_ASKED,  /**< it waits for the answer */
    MCA_BTL_FASTSM_MOVE_LEAVE,  /**< it is to say that it goes on elsewhere, as soon as there is room for that
                                 */
    MCA_BTL_FASTSM_MOVE_MOVING, /**< it has said so and waits until all that it sent has been read */
    MCA_BTL_FASTSM_MOVE_MOVED   /**< it is there */
} mca_btl_fastsm_move_state_t;

/** the sender's side of an assignment; protected by the endpoint's lock */
typedef struct {
    mca_btl_fastsm_move_state_t state;
    uint32_t limit;    /**< how busy is busy; 0: it never asks */
    uint32_t count;    /**< how often it was since it asked last */
    uint32_t position; /**< IDLE: where the FIFO was found full last.  MOVING: of the last slot in the ring */
    uint32_t serial;   /**< of the last question, 1 to 65535 */
    uint32_t admission;       /**< a dynamic peer's id when it asked */
    uint32_t number;          /**< of the FIFO that it was assigned */
    uint32_t nonsense;        /**< an answer that is none; 0: there was no such one */
    _Atomic uint32_t stopped; /**< MOVING: a read position that leaves no room */
} mca_btl_fastsm_move_t;

/** Messages of one kind to one peer, without threads: which of some ways they take, as in chunks or by the
 * kernel.  Many in turn take the same way, and each way is measured.  Times are in ticks. */
typedef struct {
    mca_common_fastpath_ways_t ways; /**< a use is a turn */
    unsigned way;      /**< of the present one */
    uint32_t messages; /**< in it */
    size_t bytes;      /**< in it */
    uint64_t began;    /**< when it began */
    uint64_t last;     /**< of a stream: when the last message was sent */
    uint64_t pause;    /**< of a stream: the longest one between two messages of late */
    uint32_t unread;   /**< of messages in a buffer each: n_in_flight when it began */
} mca_btl_fastsm_turns_t;

/** Of an exchange that the other side decides about. */
typedef struct {
    uint32_t turn; /**< its last one, as fastsm_pair_turn() */
    uint32_t left; /**< messages that follow it if there is no other one */
} mca_btl_fastsm_followed_t;

/**
 * A local peer.  All of them are in component.peers, in the order of their
 * local index, whether add_procs accepted them or not.
 */
struct mca_btl_base_endpoint_t {
    /* receive side: touched only by the thread that holds in.consuming */
    fastsm_fifo_receiver_t in;
    uint32_t looked_pos; /**< where `in` was after progress looked at it last */
    uint32_t left_look;  /**< component.looks when messages were left last */
    bool readable;      /**< `in` may be looked at: connected, and a dynamic peer has moved to a FIFO */
    bool connected;     /**< accepted by add_procs and not yet removed */
    bool heard;         /**< a message came from it; protected by component.lock */
    mca_common_fastpath_ways_t take_ways; /**< of copying chunks from there */
    uint32_t index;     /**< local index */
    uint32_t in_number; /**< of the FIFO that `in` is */
    uint32_t assigned;  /**< number of the deep FIFO that it may move to, or has; 0: none */

    /* send side: protected by out.lock */
    fastsm_fifo_sender_t out;      /**< its n_pending is the length of `pending` */
    bool opened;                   /**< the pages of its FIFO are there; until then `out` has no room */
    bool failed;                   /**< its process has failed, and what we send counts as read */
    size_t inline_bytes;           /**< longest inline message; it never becomes less */
    volatile uint32_t n_in_flight; /**< frags on `in_flight` */
    uint32_t n_waiting;            /**< of them, those whose callback is still due */
    _Atomic uint64_t fill_ticks;   /**< what filling 4096 bytes takes of late, on the average; 0: not known */
    _Atomic uint32_t fill_way;     /**< which way of fill_ways that is */
    _Atomic uint32_t n_slow;       /**< messages for which chunks were slow */
    mca_common_fastpath_ways_t fill_ways; /**< of filling chunks: MCA_COMMON_FASTPATH_BY_LOOP and so on */
    mca_common_fastpath_ways_t pack_ways; /**< of filling other buffers, as fill_ways */
    mca_btl_fastsm_turns_t stream; /**< messages that are sent while it has not read the last one yet */
    mca_btl_fastsm_turns_t
        filled; /**< messages in a buffer each, with no answer in between; ways as of fill_ways */
    mca_btl_fastsm_turns_t exchange; /**< messages that go both ways at once */
    mca_btl_fastsm_followed_t followed; /**< the same where the peer decides */
    _Atomic uint64_t long_sent; /**< component.long_sent after the last one to this peer; 0: there was none */
    uint32_t answered;             /**< where `in` was when the last message left in eager buffers */
    bool exchanged;                /**< the next message goes both ways at once, and in chunks */
    opal_list_t pending;           /**< frags that found no room, oldest first */
    opal_list_t in_flight;         /**< frags whose buffer the peer may still read, by position */
    mca_btl_fastsm_active_t active;
    bool on_active; /**< `active` is on component.active; protected by component.lock */
    mca_btl_fastsm_move_t move;

    /* the peer: constant while connected */
    mca_btl_fastsm_layout_t layout; /**< of its segment */
    char *base;                     /**< its segment in our address space */
    size_t size;                    /**< bytes mapped */
    ino_t inode;                    /**< of its segment */
    int fd;                         /**< of its segment, in that process */
    int name_fd;                    /**< of its segment, here, where it was opened by its name; else -1 */
    bool by_name;                   /**< its segment is found by its name, not by the next three */
    bool other_pids;                /**< its process ids are not ours */
    struct mca_btl_fastsm_announced_t *sought; /**< what is still to be found; owned.  NULL: nothing is */
    pid_t pid;
    uint64_t nonce_address; /**< of its nonce in its private memory */
    uint8_t nonce[MCA_BTL_FASTSM_NONCE_SIZE];
    volatile mca_btl_fastsm_get_state_t get_state; /**< changed with component.lock held */
    volatile mca_btl_fastsm_get_state_t write_state; /**< the same of writing, never SMSC */
    int get_error; /**< errno of why it cannot be read; 0: another process has its number */
    fastpath_smsc_endpoint_t *smsc;                /**< of the peer, once there has been one; else NULL */
    opal_proc_t *proc;

    struct mca_btl_fastsm_dynamic_t *dynamic; /**< the rest of a dynamic peer; NULL for a local one */

    /* whether both sides reach each other: changed by the thread in add_procs */
    fastsm_pair_t pair;                     /**< our view of it */
    mca_btl_fastsm_pair_state_t pair_state; /**< what is known of it; UNKNOWN: never tried */
};

/**
 * A dynamic peer: a process of another job on this node.  It has no FIFO until it
 * is assigned one: its messages come through our ring, and ours go through its
 * ring.  Until then `out` of its endpoint has no slots, so that the fast paths
 * of sending find no room there and need no test of their own.  All dynamic peers
 * are on component.dynamic_list.
 */
typedef struct mca_btl_fastsm_dynamic_t {
    opal_list_item_t super;
    mca_btl_base_endpoint_t endpoint;
    uint32_t users; /**< times that add_procs has given it out */

    /* how we receive from it: protected by component.dynamic_lock */
    uint32_t admission; /**< the id that we gave it; 0: none any more */
    bool gone;          /**< its process has ended; what it sent before is still there */
    bool died;          /**< then: without leaving MPI */
    bool refused;       /**< one side cannot reach the other: nothing but our word for that is left here */
    uint32_t gone_pos;  /**< then: what it sent is before this position of our ring */

    /* a message that comes in pieces: touched only by the thread that consumes our ring */
    _Alignas(16) char pieces[MCA_BTL_FASTSM_INLINE_BYTES_MAX];
    size_t pieces_length; /**< bytes so far */

    /* how we send to it: protected by the endpoint's lock */
    fastsm_ring_sender_t ring;             /**< its ring */
    mca_btl_fastsm_admission_t *our_entry; /**< where it admitted us; NULL: not found yet */
    uint32_t our_admission;                /**< the id that it gave us */
    uint32_t pieces_admission;             /**< the id under which we began to send a message in pieces */
    bool parted;                           /**< its segment is unmapped, what we send is dropped */
} mca_btl_fastsm_dynamic_t;

OBJ_CLASS_DECLARATION(mca_btl_fastsm_dynamic_t);

/** an admission as its owner sees it */
typedef struct {
    _Atomic(mca_btl_fastsm_dynamic_t *) peer; /**< NULL: nobody is admitted here */
    mca_btl_fastsm_dynamic_t *refused;     /**< whom our refusal here is for; NULL: free, if `peer` is NULL */
    uint32_t generation;                   /**< uses so far, 1 to 65535 and then 1 again */
} mca_btl_fastsm_admitted_t;

/** a deep FIFO of ours; protected by component.lock, unless said otherwise */
typedef struct {
    _Atomic(mca_btl_fastsm_endpoint_t *) writer; /**< whom it is assigned; stored with release */
    bool retired;                                /**< its writer was forgotten and may still write there */
    uint8_t nonce[MCA_BTL_FASTSM_NONCE_SIZE];    /**< then: who that was */
} mca_btl_fastsm_deep_t;

/**
 * What each process tells its peers.  Fixed-size fields only.
 */
typedef struct {
    uint32_t version;     /**< MCA_BTL_FASTSM_LAYOUT_VERSION */
    uint32_t usable;      /**< 0: this process could not make its segment */
    uint32_t local_index; /**< local rank */
    int32_t pid;          /**< in the PID namespace below */
    int32_t fd;           /**< of the segment, in that process */
    uint32_t uid;         /**< effective user id */
    uint32_t dynamic_peers; /**< how many it admits; 0: it talks to its own job only */
    uint32_t reserved;
    uint64_t name;             /**< of the segment, if it gets one */
    uint64_t directory_device; /**< where that would be; with the next one, 0: nowhere */
    uint64_t directory_inode;
    uint64_t total;         /**< length of the segment's file in bytes */
    uint64_t nonce_address; /**< of `nonce` in the process's private memory */
    uint64_t pid_ns;        /**< namespaces: inode numbers of /proc/self/ns */
    uint64_t user_ns;
    uint8_t boot_id[MCA_COMMON_FASTPATH_BOOT_ID_SIZE]; /**< of the running kernel: which machine this is */
    uint8_t nonce[MCA_BTL_FASTSM_NONCE_SIZE];
} mca_btl_fastsm_modex_t;

/** how a local process finds the segment of another one */
typedef enum {
    MCA_BTL_FASTSM_ROUTE_NONE, /**< not at all, in both directions */
    MCA_BTL_FASTSM_ROUTE_PROC, /**< by /proc/PID/fd/FD */
    MCA_BTL_FASTSM_ROUTE_NAME  /**< by its name */
} mca_btl_fastsm_route_t;

/** what a local process has told, and what follows from that and what all the others have */
typedef struct mca_btl_fastsm_announced_t {
    mca_btl_fastsm_modex_t modex; /**< `usable` is 0 where there is nothing */
    bool named;                   /**< its segment has a name, for a time */
    mca_btl_fastsm_route_t route; /**< between it and us */
} mca_btl_fastsm_announced_t;

typedef struct {
    mca_btl_base_component_t super;

    /* parameters */
    unsigned fifo_depth;
    unsigned inline_slots;
    unsigned bell_stride;
    unsigned position_stride;
    unsigned eager_buffers;
    unsigned max_buffers;
    unsigned poll_max;
    unsigned ring_depth;
    unsigned dynamic_peers;
    int deep_fifos;
    unsigned deep_fifo_depth;
    unsigned deep_fifo_after;
    unsigned agree_timeout;
    unsigned fault_percent;
    bool single_copy;
    bool smsc; /**< and there is a module, from init on */
    bool print_memory;
    bool eager_limit_given; /**< btl_eager_limit is not the default */
    bool max_send_given;    /**< btl_max_send_size is not the default */

    bool threads; /**< MPI_THREAD_MULTIPLE is in force */

    /* hot: receiving */
    uint32_t n_local;         /**< processes of our job on this node */
    uint32_t n_connected;     /**< peers whose FIFOs may be looked at */
    _Atomic uint32_t n_bells; /**< bells that may ring: of local processes, and of deep FIFOs so far */
    _Atomic uint32_t n_recent; /**< valid entries of `recent`; both change under `lock` */
    /** last senders, latest first; all that were heard of, in any order, while no more are connected.  The
     * slots of others are not looked at, because that would take pages that may never be needed */
    _Atomic(mca_btl_fastsm_endpoint_t *) recent[MCA_BTL_FASTSM_RECENT];
    mca_btl_fastsm_endpoint_t *peers; /**< n_local of them, ours unused */
    _Atomic uint64_t *bell_expected;  /**< low bits of each read position, a byte per peer */
    volatile unsigned long arrived;   /**< messages delivered and callbacks called by progress; with threads about so many */
    mca_btl_fastsm_handed_t
        handed; /**< the message that a callback is called for; of use with one thread only */
    _Atomic unsigned long missed;     /**< looks at a FIFO that another thread was looking at */
    uint32_t bells_skipped;           /**< calls of progress since the bells were looked at */
    uint32_t looks;                   /**< calls of progress without threads */
    _Atomic uint32_t scan_turn;       /**< scans that have found something */
    _Atomic uint32_t scan_from;       /**< where in recent the next scan begins */

    /* what progress does only when there is something to do */
    opal_mutex_t lock;         /**< protects the two lists and the counters */
    opal_list_t active;        /**< endpoints with pending or callback-wanting frags */
    opal_list_t done;          /**< frags that are sent and want their callback */
    volatile int32_t deferred; /**< length of both, and 1 for each dynamic peer: 0 means nothing to do */

    /* dynamic peers */
    fastsm_fifo_receiver_t ring; /**< our ring; touched only by the thread that holds its `consuming` */
    opal_mutex_t dynamic_lock;   /**< taken before any other lock of ours */
    opal_list_t dynamic_list;    /**< all dynamic peers, also those that are gone */
    mca_btl_fastsm_admitted_t *admitted; /**< dynamic_peers of them */
    uint32_t n_dynamic;                  /**< dynamic peers that are admitted */
    uint32_t dynamic_refused;            /**< dynamic peers that could not be admitted */

    /* deep FIFOs that we assign, and counters */
    mca_btl_fastsm_deep_t *deep;          /**< layout.params.deep_fifos of them */
    _Atomic unsigned long bell_scans;     /**< times that all doorbells were looked at */
    _Atomic unsigned long fifo_full;      /**< attempts to send that found a FIFO full */
    _Atomic unsigned long deep_fifos_assigned; /**< senders that have moved to a FIFO of ours */
    _Atomic unsigned long deep_fifos_obtained; /**< times that we have moved to one of a peer's */
    _Atomic unsigned long deep_fifos_refused;  /**< times that we have asked for one and were refused */
    _Atomic unsigned long peers_read;          /**< peers whose memory could be read when we met them */
    _Atomic unsigned long peers_not_read;      /**< and could not */
    _Atomic unsigned long peers_written;       /**< the same of writing */
    _Atomic unsigned long peers_not_written;

    /* own segment */
    mca_mpool_fastsm_module_t *segment;
    char *base;
    mca_btl_fastsm_layout_t layout;
    mca_btl_fastsm_frag_list_t frags[MCA_BTL_FASTSM_FRAG_CLASSES];
    size_t inline_bytes; /**< longest inline message to anybody */
    unsigned chunk_max;  /**< parameter: bytes that a chunk in several buffers may have; 0: what is sooner */
    unsigned chunk_time; /**< parameter: nanoseconds that filling a message's chunks may take; 0: any */
    _Atomic uint64_t chunk_ticks; /**< the same in ticks of the clock; 0: not known yet */
    mca_common_fastpath_clock_t clock;
    uint32_t chunks_max; /**< buffers that one message of ours takes at the most */
    _Atomic uint64_t long_sent; /**< bytes of messages so far for which chunks or the kernel was a question;
                                 * counted where processes share cores */
    mca_btl_fastsm_ahead_t ahead;

    bool enlisting; /**< the thread that enlists us has been started (btl_fastsm_sleep.c) */
    bool named;     /**< by the btl list */
    bool confirmed; /**< by a caller of the extension */
    bool has_name;  /**< our segment was given a name, or should have been */
    uint32_t n_by_name;                     /**< local processes that find it so */
    mca_mpool_fastsm_directory_t directory; /**< where it is */
    mca_btl_fastsm_modex_t me;
} mca_btl_fastsm_component_t;

/** the first two members are mca_btl_fastsm_public_module_t */
typedef struct mca_btl_fastsm_module_t {
    mca_btl_base_module_t super;
    mca_btl_fastsm_ext_t ext;
    mca_btl_base_module_error_cb_fn_t error_cb;
} mca_btl_fastsm_module_t;

OPAL_DECLSPEC extern mca_btl_fastsm_component_t mca_btl_fastsm_component;
extern mca_btl_fastsm_module_t mca_btl_fastsm_module;

/* ---- btl_fastsm_select.c ---- */

/** Whether the btl list names fastsm. */
bool mca_btl_fastsm_named(void);
/** Whether the variable `pml` says that pml/fastpath is to run. */
bool mca_btl_fastsm_pml_wanted(void);

/* ---- btl_fastsm_sleep.c ---- */

/** Enlists this process among those whose messages end a sleep; returns at once. The segment is there. */
void mca_btl_fastsm_sleep_init(void);
/** Waits until that is done: from here on nothing writes to the segment for it. Not by several threads at a
 * time. */
void mca_btl_fastsm_sleep_fini(void);
/** The extension's asleep (btl_fastsm_ext.h). */
_Atomic uint32_t *mca_btl_fastsm_asleep(mca_btl_base_endpoint_t *endpoint);
/** The extension's announce_sleep (btl_fastsm_ext.h). */
uint32_t mca_btl_fastsm_announce_sleep(mca_btl_base_module_t *btl);
/** The extension's sleep (btl_fastsm_ext.h). */
bool mca_btl_fastsm_sleep(mca_btl_base_module_t *btl, uint32_t word, uint64_t time);

/* ---- btl_fastsm_pvar.c ---- */

/** Registers the performance variables of the BTL. */
void mca_btl_fastsm_pvar_register(void);

/* ---- btl_fastsm_fault.c ---- */

/** Has the module refuse at random if a parameter says so. */
void mca_btl_fastsm_fault_install(mca_btl_fastsm_module_t *module);

/* ---- btl_fastsm_error.c ---- */

/**
 * The peer's FIFO holds what no fastsm writes.  Says so once and tells the
 * registered error callback, or ends the process when there is none.  Returns
 * where the job goes on without that peer; its FIFO is not looked at any more.
 * Not to be called with a lock held: the callback may come back to us.
 */
void mca_btl_fastsm_corrupt(mca_btl_fastsm_endpoint_t *endpoint, const char *what, unsigned long value);

/** Tells the registered error callback that all is lost, and ends the process.  Not to be called with a lock held. */
void mca_btl_fastsm_fatal(opal_proc_t *proc, char *info) __opal_attribute_noreturn__;

/* ---- inline helpers ---- */

/** Whether this shall fail for the sake of a test.  Not for the fast path. */
static inline bool mca_btl_fastsm_fault(void)
{
    return mca_common_fastpath_fault(mca_btl_fastsm_component.fault_percent);
}

/** N2.  Partner: N1.  The dynamic peer with this index among those that are admitted; NULL where there is
 * none. */
static inline mca_btl_fastsm_dynamic_t *mca_btl_fastsm_admitted(uint32_t index)
{
    return atomic_load_explicit(&mca_btl_fastsm_component.admitted[index].peer, memory_order_acquire);
}

/** Counts an event. Not atomic: of two concurrent ones one may be lost. */
static inline void mca_btl_fastsm_count(_Atomic unsigned long *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/** Keeps other threads from sending to the peer, and from what belongs to that. */
static inline void mca_btl_fastsm_lock(mca_btl_base_endpoint_t *endpoint)
{
    mca_common_fastpath_lock_if(&endpoint->out.lock, opal_using_threads());
}

/** Lets them send again. */
static inline void mca_btl_fastsm_unlock(mca_btl_base_endpoint_t *endpoint)
{
    mca_common_fastpath_unlock_if(&endpoint->out.lock, opal_using_threads());
}

/**
 * One thread at a time takes messages from a FIFO, or the ring.  Without threads this guards against
 * recursion: a callback may call opal_progress, and its own slot is not released yet.
 *
 * @return whether the caller is the one
 */
static inline bool mca_btl_fastsm_begin_consuming(fastsm_fifo_receiver_t *fifo)
{
    if (OPAL_UNLIKELY(opal_using_threads())) {
        /* C1.  Partner: C2.  Sees the read position that the last consumer left. */
        if (0 == atomic_exchange_explicit(&fifo->consuming, 1, memory_order_acquire)) {
            return true;
        }
        (void) atomic_fetch_add_explicit(&mca_btl_fastsm_component.missed, 1, memory_order_relaxed);
        return false;
    }
    if (OPAL_UNLIKELY(0 != atomic_load_explicit(&fifo->consuming, memory_order_relaxed))) {
        return false;
    }
    atomic_store_explicit(&fifo->consuming, 1, memory_order_relaxed);
    return true;
}

/** Refers to the message of a frag that is longer than what is inline. */
static inline void mca_btl_fastsm_refer(const mca_btl_fastsm_frag_t *frag,
                                        mca_btl_fastsm_pool_ref_t *reference)
{
    const char *data = (const char *) frag->segment.seg_addr.pval;

    reference->place = mca_btl_fastsm_place(frag->offset + (uint64_t) (data - (const char *) frag->buffer),
                                            frag->segment.seg_len);
    memcpy(reference->header, data, sizeof(reference->header));
}

/**
 * What a slot refers to in its sender's pool.  The reference is copied before it is checked, so that a peer
 * cannot change it in between.
 *
 * @param data    of the slot
 * @param place   the copy
 * @param here    bytes that lie there in one piece at the most; a message in chunks has its first one there
 * @return        where it is in our address space, or NULL when it is not in the pool
 */
static inline char *mca_btl_fastsm_referenced(const mca_btl_base_endpoint_t *endpoint, const void *data,
                                              uint64_t *place, size_t here)
{
    uint64_t offset;
    size_t length;

    fastsm_read_once(place, data, sizeof(*place));
    offset = mca_btl_fastsm_place_offset(*place);
    length = mca_btl_fastsm_place_length(*place);
    return mca_btl_fastsm_layout_in_pool(&endpoint->layout, offset, length < here ? length : here)
               ? endpoint->base + offset
               : NULL;
}

/** The longest inline message where FIFOs have so many slots: one longer than half of the FIFO seldom finds
 * room. */
static inline size_t mca_btl_fastsm_inline_bytes(uint32_t depth)
{
    uint32_t slots = mca_btl_fastsm_component.inline_slots;

    if (slots > depth / 2) {
        slots = depth / 2;
    }
    if (slots < MCA_BTL_FASTSM_INLINE_SLOTS_MIN) {
        slots = MCA_BTL_FASTSM_INLINE_SLOTS_MIN;
    }
    return fastsm_fifo_capacity(slots);
}

/**
 * Halves of slots of the message or pad that begins at the consumer's position, by what its header says.
 * Messages that fastsm_fifo_short_halves() or fastsm_fifo_see() has checked need not come here.
 *
 * @param flags   0 or MCA_BTL_FASTSM_SLOT_PAD; everything else is one half
 * @param length  the header's
 * @return        0 when no sender writes that; progress reports it, everybody else leaves it where it is
 */
static inline uint32_t mca_btl_fastsm_extent(const fastsm_fifo_receiver_t *fifo, uint8_t flags, size_t length)
{
    uint32_t halves = 1;

    if (MCA_BTL_FASTSM_SLOT_PAD == flags) {
        halves = (uint32_t) length;
    } else if (0 == flags) {
        halves = length <= MCA_BTL_FASTSM_INLINE_BYTES_MAX ? fastsm_fifo_halves(length) : 0;
    }
    return fastsm_fifo_count_ok(fifo, halves) ? halves : 0;
}

/** The endpoint whose FIFO of ours has this number.  NULL where that is nobody's. */
static inline mca_btl_fastsm_endpoint_t *mca_btl_fastsm_writer(uint32_t number)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;

    if (OPAL_LIKELY(number < component->n_local)) {
        return &component->peers[number];
    }
    /* T2.  Partner: T1.  The writer's record is complete. */
    return atomic_load_explicit(&component->deep[number - component->n_local].writer, memory_order_acquire);
}

#endif /* MCA_BTL_FASTSM_H */
