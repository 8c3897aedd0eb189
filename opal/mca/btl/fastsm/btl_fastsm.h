/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Process-local types of btl/fastsm: component, module, endpoint, frag.
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
#include "btl_fastsm_layout.h"
#include "btl_fastsm_pair.h"
#include "btl_fastsm_ring.h"
#include "btl_fastsm_rotation.h"

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

struct mca_btl_fastsm_frag_t;
struct mca_btl_base_endpoint_t;
typedef struct mca_btl_base_endpoint_t mca_btl_base_endpoint_t;
typedef struct mca_btl_base_endpoint_t mca_btl_fastsm_endpoint_t;

/** where the bytes of a frag live */
typedef enum {
    MCA_BTL_FASTSM_FRAG_SMALL, /**< private memory; always travels inline */
    MCA_BTL_FASTSM_FRAG_EAGER, /**< buffer of our segment's eager pool */
    MCA_BTL_FASTSM_FRAG_MAX,   /**< buffer of our segment's max pool */
    MCA_BTL_FASTSM_FRAG_CLASSES
} mca_btl_fastsm_frag_class_t;

/**
 * A descriptor and its buffer.  Both stay together for life.
 */
typedef struct mca_btl_fastsm_frag_t {
    mca_btl_base_descriptor_t base;             /**< also the item of every list below */
    mca_btl_base_segment_t segment;             /**< the one segment of a descriptor */
    struct mca_btl_base_endpoint_t *endpoint;   /**< whom it was sent to */
    struct mca_btl_fastsm_frag_list_t *my_list; /**< where it goes when free */
    void *buffer;                               /**< begin of its buffer */
    uint64_t offset;                            /**< of the buffer in our segment; not for SMALL */
    uint32_t position;                          /**< in flight: the slot that refers to it */
    uint32_t sent;                              /**< pending: bytes that have left already, in pieces */
    mca_btl_fastsm_frag_class_t frag_class;
    mca_btl_base_tag_t tag; /**< pending: to be sent with this tag */
    size_t filled;          /**< the most bytes that a chunk in its buffer had: their pages are there */
} mca_btl_fastsm_frag_t;

OBJ_CLASS_DECLARATION(mca_btl_fastsm_frag_t);

/** When a pool has asked for pages last, and what those have cost. */
typedef struct mca_btl_fastsm_growth_t {
    uint64_t began; /**< ticks of mca_common_fastpath_ticks(): when its buffers' present turns began */
    uint64_t first; /**< ticks that their first turns took */
    uint32_t count; /**< its buffers */
    uint32_t taken; /**< buffers that have been taken since they had their first turns */
    uint32_t often; /**< how often as many have to be taken as the next growth brings */
} mca_btl_fastsm_growth_t;

/**
 * Free frags of one class.  Those with private memory are used last in first out, because it is warm then.
 * Those in the pools take turns, because what another process has read last is not: all of them, or enough if
 * each is full, so that by the next turn it has left that one's cache; but few where that is sooner, or where
 * processes share cores, and caches, and few until so much has been sent that the pages of more are worth
 * their price (docs/shared-layout.md, "Buffers take turns").  Buffers that were never used stay untouched
 * until then.
 */
typedef struct mca_btl_fastsm_frag_list_t {
    opal_mutex_t lock;
    mca_btl_fastsm_frag_t *free;    /**< the next ones, linked through super.opal_list_next */
    mca_btl_fastsm_frag_t *last;    /**< the end of that, if there are any */
    uint32_t n_free;                /**< how many */
    mca_btl_fastsm_frag_t *spare;   /**< free ones that have no turn until there are no others */
    mca_btl_fastsm_frag_t *last_spare; /**< the end of that, if there are any */
    uint32_t n_spare;                  /**< how many */
    mca_btl_fastsm_rotation_t rotation;
    uint32_t used_before;           /**< `used` at its last step */
    uint32_t turns;                 /**< buffers that are made before the first one is used again */
    uint32_t full_turns;            /**< limit of `turns` for messages that fill their buffers */
    mca_btl_fastsm_frag_t **chunks; /**< all that was allocated, for the end */
    uint32_t n_chunks;
    uint32_t used;  /**< frags made so far */
    uint32_t there; /**< frags whose pages are there, in a pool: used or more */
    uint32_t count; /**< frags that may be made */
    size_t size;    /**< bytes of a buffer */
    mca_btl_fastsm_frag_class_t frag_class;
    mca_btl_fastsm_growth_t growth;
} mca_btl_fastsm_frag_list_t;

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

/** Long messages of one kind to one peer, without threads: whether they go in chunks, or are copied by the
 * kernel.  Many in turn take the same way, and each way is measured.  Times are in ticks. */
typedef struct {
    mca_common_fastpath_ways_t ways; /**< a use is a turn */
    unsigned way;      /**< of the present one */
    uint32_t messages; /**< in it */
    size_t bytes;      /**< in it */
    uint64_t began;    /**< when it began */
    uint64_t last;     /**< of a stream: when the last message was sent */
    uint64_t pause;    /**< of a stream: the longest one between two messages of late */
} mca_btl_fastsm_turns_t;

/**
 * A local peer.  All of them are in component.peers, in the order of their
 * local index, whether add_procs accepted them or not.
 */
struct mca_btl_base_endpoint_t {
    /* receive side: touched only by the thread that holds in.consuming */
    fastsm_fifo_receiver_t in;
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
    _Atomic uint32_t n_slow;       /**< messages for which chunks were slow */
    mca_common_fastpath_ways_t fill_ways; /**< of filling chunks: MCA_COMMON_FASTPATH_BY_LOOP, or _STRING */
    mca_common_fastpath_ways_t pack_ways; /**< of filling other buffers, as fill_ways */
    mca_btl_fastsm_turns_t stream; /**< messages that are sent while it has not read the last one yet */
    mca_btl_fastsm_turns_t exchange; /**< messages that go both ways at once */
    uint32_t answered;             /**< where `in` was when the last message left in eager buffers */
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
    _Atomic unsigned long missed;     /**< looks at a FIFO that another thread was looking at */
    uint32_t bells_skipped;           /**< calls of progress since the bells were looked at */
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
    unsigned chunk_time; /**< parameter: nanoseconds that filling a message's chunks may take; 0: any */
    _Atomic uint64_t chunk_ticks; /**< the same in ticks of the clock; 0: not known yet */
    mca_common_fastpath_clock_t clock;
    uint32_t chunks_max; /**< buffers that one message of ours takes at the most */
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

/* ---- btl_fastsm_segment.c ---- */

/**
 * Makes our own segment and fills its header.
 *
 * @return OPAL_SUCCESS, or an error; the mpool has then said why
 */
int mca_btl_fastsm_segment_create(void);

/** Gives our own segment back. */
void mca_btl_fastsm_segment_release(void);

/**
 * Opens a peer's segment, checks that it is what the peer announced, and maps it.
 *
 * @param modex     the peer's announcement
 * @param endpoint  base, size, inode, layout and, by name, name_fd are set on success only; index is that of
 *                  the peer, by_name is read
 * @param why       on failure what was wrong, in words
 * @return          OPAL_SUCCESS; OPAL_ERR_UNREACH, with errno set when it could not be opened and else 0
 */
int mca_btl_fastsm_segment_attach(const mca_btl_fastsm_modex_t *modex, mca_btl_fastsm_endpoint_t *endpoint,
                                  const char **why);
/** Whether the process that made a peer's segment is still there. */
bool mca_btl_fastsm_segment_alive(const mca_btl_fastsm_endpoint_t *endpoint);

/** Pointer to what lies `offset` bytes behind the begin of a peer's segment. */
static inline void *mca_btl_fastsm_in_segment(const mca_btl_fastsm_endpoint_t *endpoint, uint64_t offset)
{
    return endpoint->base + offset;
}

/** Says that there is no memory for `what`, which needs so many bytes, and ends the job.  Not to be called with a
 *  lock held.
 *  @param endpoint  in whose segment; NULL: in ours */
void mca_btl_fastsm_shortage(const mca_btl_fastsm_endpoint_t *endpoint, const char *what,
                             size_t bytes) __opal_attribute_noreturn__;

/** Unmaps a peer's segment; does nothing when it is not mapped. */
void mca_btl_fastsm_segment_detach(mca_btl_fastsm_endpoint_t *endpoint);

/* ---- btl_fastsm_defer.c ---- */

/** Makes progress look after `endpoint` while something is deferred there.  Its lock is held. */
void mca_btl_fastsm_activate(mca_btl_fastsm_endpoint_t *endpoint);
/** Takes the endpoint off component.active.  Its frags are nobody's then. */
void mca_btl_fastsm_deactivate(mca_btl_fastsm_endpoint_t *endpoint);
/** Has the callback of a frag that is sent called from progress. */
void mca_btl_fastsm_complete_later(mca_btl_fastsm_frag_t *frag);
/** A frag that was kept is sent, or counts as sent because its peer will never take it: its callback comes
 * from progress, if there is to be one; else it is free. */
void mca_btl_fastsm_frag_done(mca_btl_fastsm_frag_t *frag);
/** What we have for a peer that will take nothing any more counts as sent.  The endpoint's lock is held. */
void mca_btl_fastsm_abandon(opal_list_t *list, bool call_back);
/** Keeps a posted frag until the peer is through with its buffer.  The endpoint's lock is held. */
void mca_btl_fastsm_keep(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag);

/* ---- btl_fastsm_room.c ---- */

/** Counts that the FIFO was full, or that one more slot of the ring was needed.  The endpoint's lock is held.
 */
void mca_btl_fastsm_busy(mca_btl_fastsm_endpoint_t *endpoint);
/**
 * What follows when there is no room in the FIFO to a local peer: before its first use, its pages are
 * reserved; later it counts as one more time that it was full.  The endpoint's lock is held.
 *
 * @return  true when there is room now where there was none before
 */
bool mca_btl_fastsm_fifo_open(mca_btl_fastsm_endpoint_t *endpoint);

/* ---- btl_fastsm_peers.c: which FIFOs of ours are looked at ---- */

/** A message came from this peer, so its slots may be looked at from now on. */
void mca_btl_fastsm_heard(mca_btl_fastsm_endpoint_t *endpoint);
/** Has a peer's FIFO looked at from now on. */
void mca_btl_fastsm_list_peer(mca_btl_fastsm_endpoint_t *endpoint);
/** Has it looked at no longer. */
void mca_btl_fastsm_unlist_peer(mca_btl_fastsm_endpoint_t *endpoint);
/** Makes `in` of an endpoint the FIFO with this number, as it has been left. */
void mca_btl_fastsm_read_fifo(mca_btl_fastsm_endpoint_t *endpoint, uint32_t number);
/**
 * The same, but until mca_btl_fastsm_read_first() `in` has a slot of its own in which nothing comes: nobody
 * has written to the FIFO, so it may have no pages, and to look at a slot would take one, or be a SIGBUS
 * where there is none left.
 */
void mca_btl_fastsm_read_bell(mca_btl_fastsm_endpoint_t *endpoint, uint32_t number);
/**
 * The bell of this peer rings, and nothing was found in `in`, which is its FIFO from now on.
 *
 * @return whether to look again; false: another thread does
 */
bool mca_btl_fastsm_read_first(mca_btl_fastsm_endpoint_t *endpoint);
/** Makes `in` of an endpoint a FIFO in which nothing ever comes: another thread may be about to look there.
 */
void mca_btl_fastsm_read_nothing(mca_btl_fastsm_endpoint_t *endpoint);
/** The read position of a FIFO that leaves no room: one without slots, or without pages yet. */
extern _Atomic uint32_t mca_btl_fastsm_no_room;
/** Puts a peer first in `recent`: the senders of the last messages are most likely to be those of the next.
 */
void mca_btl_fastsm_remember(mca_btl_base_endpoint_t *endpoint);

/* ---- btl_fastsm_endpoint.c ---- */

/** Collects what our peers have to know, except the segment.  Returns an OPAL error code. */
int mca_btl_fastsm_modex_prepare(mca_btl_fastsm_modex_t *me);
/** Allocates component.peers, none of them connected, and starts the receiving ends. */
int mca_btl_fastsm_endpoints_init(void);
/** Disconnects and frees them all. */
void mca_btl_fastsm_endpoints_fini(void);
/**
 * Maps the segment of `proc` and says in ours whether that worked, which is half of the decision whether it
 * is reachable: mca_btl_fastsm_agree() comes next.
 *
 * @param announced  what it has told
 * @return           the endpoint; NULL when `proc` is not reachable
 */
mca_btl_fastsm_endpoint_t *mca_btl_fastsm_endpoint_meet(opal_proc_t *proc,
                                                        const mca_btl_fastsm_announced_t *announced);
/**
 * Looks again for the segment of a peer that had no name yet, and says in ours what has come of it.
 *
 * @param give_up  look for the last time
 * @return         false while there is nothing to say
 */
bool mca_btl_fastsm_endpoint_seek(mca_btl_fastsm_endpoint_t *endpoint, bool give_up);
/**
 * Takes a peer into use with which we have agreed, or gives up what we have of one with which we have not.
 *
 * @return  whether it is reachable
 */
bool mca_btl_fastsm_endpoint_settle(mca_btl_fastsm_endpoint_t *endpoint);
/** Gives up the peer's segment: nothing is sent or received any more. The endpoint can meet a peer anew. */
void mca_btl_fastsm_endpoint_disconnect(mca_btl_fastsm_endpoint_t *endpoint);

/** Fetches what a process has published.  Returns OPAL_SUCCESS or OPAL_ERR_UNREACH. */
int mca_btl_fastsm_modex_fetch(const opal_proc_t *proc, mca_btl_fastsm_modex_t *modex);
/**
 * Says, for everybody to read, why another process's segment is of no use; where that has been arranged, by what
 * the kernel permits, only to who asks for it (btl_base_verbose).
 *
 * @param error  errno of opening it, or 0
 */
void mca_btl_fastsm_unusable(const mca_btl_fastsm_modex_t *modex, const char *why, int error);
/** Makes an empty endpoint for the local or dynamic peer with this index in its job. */
void mca_btl_fastsm_endpoint_construct(mca_btl_fastsm_endpoint_t *endpoint, uint32_t index);
/** Releases what an endpoint consists of; its peer has been given up. */
void mca_btl_fastsm_endpoint_destruct(mca_btl_fastsm_endpoint_t *endpoint);
/** Notes what its announcement says about a peer. */
void mca_btl_fastsm_endpoint_describe(mca_btl_fastsm_endpoint_t *endpoint, opal_proc_t *proc,
                                      const mca_btl_fastsm_modex_t *modex);

/** Begins what is to be known about the pair with the peer that published `modex`; our word is at `own`. */
void mca_btl_fastsm_pair_init(mca_btl_fastsm_endpoint_t *endpoint, const mca_btl_fastsm_modex_t *modex,
                              _Atomic uint32_t *own);

/* ---- btl_fastsm_name.c ---- */

/**
 * Whether both sides would find each other under /proc and may open what they
 * find.  Symmetric in its arguments, so both come to the same answer.
 */
bool mca_btl_fastsm_same_surroundings(const mca_btl_fastsm_modex_t *a, const mca_btl_fastsm_modex_t *b);
/** Notes in `me` under which name our segment would be found.  There is a segment. */
void mca_btl_fastsm_name_prepare(mca_btl_fastsm_modex_t *me);
/**
 * Decides how local processes find each other's segments, and gives ours a name if it needs one.  Each of
 * them decides alike.
 *
 * @param all    what they have told, without us
 * @param count  processes
 */
void mca_btl_fastsm_name_decide(mca_btl_fastsm_announced_t *all, size_t count);
/** Takes our name away if all who need it have come to a conclusion; not later than at the end. */
void mca_btl_fastsm_name_done(void);

/* ---- btl_fastsm_agree.c ---- */

/**
 * Waits until every pair has come to a conclusion, whatever the other sides are doing: those that do not answer
 * in btl_fastsm_agree_timeout seconds, or have ended, are refused.  Calls opal_progress when there are dynamic
 * peers among them, and holds no lock then.
 *
 * @param endpoints  peers that have been met; NULL where there is none
 */
void mca_btl_fastsm_agree(mca_btl_base_endpoint_t **endpoints, size_t count);

/* ---- btl_fastsm_dynamic.c ---- */

/** Starts with no dynamic peer.  Returns an OPAL error code. */
int mca_btl_fastsm_dynamic_init(void);
/**
 * Sends what is pending to dynamic peers, for as long as they are there to take
 * it, tells them that we leave, and frees what is known of them.  Open MPI
 * 4.1 never calls del_procs for them.
 */
void mca_btl_fastsm_dynamic_fini(void);
/**
 * The same as mca_btl_fastsm_endpoint_meet() for `proc`, a process of another job, which is admitted to our ring if
 * its segment can be mapped.
 *
 * @param endpoint  NULL when it is not reachable
 * @return          OPAL_SUCCESS in both cases; OPAL_ERR_OUT_OF_RESOURCE when there is no place to admit it or to
 *                  refuse it in, which has been said then
 */
int mca_btl_fastsm_dynamic_meet(opal_proc_t *proc, mca_btl_fastsm_endpoint_t **endpoint);
/** Asks where the pair with a dynamic peer stands.
 *  @param give_up  wait no longer */
void mca_btl_fastsm_dynamic_look(mca_btl_fastsm_endpoint_t *endpoint, bool give_up);
/** mca_btl_fastsm_endpoint_settle() for a dynamic peer.  The caller does not have the endpoint when it returns
 *  false. */
bool mca_btl_fastsm_dynamic_settle(mca_btl_fastsm_endpoint_t *endpoint);
/** Forgets the peer and frees its endpoint, when all who got it have said so. */
void mca_btl_fastsm_dynamic_disconnect(mca_btl_fastsm_endpoint_t *endpoint);

/** Forgets dynamic peers that have ended, unless another thread is at work on dynamic peers. */
void mca_btl_fastsm_dynamic_sweep(void);
/** The extension's died(). */
bool mca_btl_fastsm_dynamic_died(mca_btl_base_endpoint_t *endpoint);
/** The extension's pids (btl_fastsm_ext.h). */
size_t mca_btl_fastsm_pids(pid_t *pids, size_t most);
/** The extension's has_pid (btl_fastsm_ext.h). */
bool mca_btl_fastsm_has_pid(const mca_btl_fastsm_endpoint_t *endpoint);
/** The dynamic peer with this id, or NULL when it is not, or no longer, admitted. */
mca_btl_fastsm_dynamic_t *mca_btl_fastsm_dynamic_find(uint32_t admission);

/* ---- btl_fastsm_dynamic_send.c ---- */

/** mca_btl_fastsm_post for a dynamic peer.  When it returns false a part may have left: only the same frag
 *  may be posted next. */
bool mca_btl_fastsm_dynamic_post(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                                 mca_btl_base_tag_t tag, bool *in_flight);
/** Whether a message could be posted now.  The endpoint's lock is held. */
bool mca_btl_fastsm_dynamic_room(mca_btl_fastsm_endpoint_t *endpoint);
/** Whether a dynamic peer has read this position of its ring, or never will.  The lock is held. */
bool mca_btl_fastsm_dynamic_was_read(mca_btl_fastsm_dynamic_t *dynamic, uint32_t position);
/** Whether a dynamic peer knows us under this id.  The lock is held. */
bool mca_btl_fastsm_dynamic_known(mca_btl_fastsm_dynamic_t *dynamic, uint32_t admission);
/** Whether a dynamic peer will never read anything more.  The lock is held. */
bool mca_btl_fastsm_dynamic_left(const mca_btl_fastsm_dynamic_t *dynamic);
/** Posts a slot that is no message (MCA_BTL_FASTSM_SLOT_OWN) to its ring; false when there is no room, or the
 * peer has not admitted us, or a message has left in part only.  The lock is held. */
bool mca_btl_fastsm_dynamic_post_own(mca_btl_fastsm_dynamic_t *dynamic, const void *data, size_t length,
                                     uint8_t flags, uint32_t *position);

/* ---- btl_fastsm_move.c: the sender's side of deeper FIFOs ---- */

/** One line, for who asks for it, about a step on the way to a deeper FIFO; number 0: of no FIFO. */
void mca_btl_fastsm_move_say(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t number, const char *step);
/** Says when the peer, which is connected, counts as busy. */
void mca_btl_fastsm_move_init(mca_btl_fastsm_endpoint_t *endpoint);
/**
 * Goes on towards a deep FIFO of the peer, as far as possible now.  The endpoint's lock is held.
 *
 * @return  false, once, when the peer has given an answer that makes no sense.  Then, without the lock:
 *          mca_btl_fastsm_corrupt(endpoint, "assignment", endpoint->move.nonsense)
 */
bool mca_btl_fastsm_move(mca_btl_fastsm_endpoint_t *endpoint);
/** Puts the sending end back to where it was when a local peer was removed. */
void mca_btl_fastsm_move_resume(mca_btl_fastsm_endpoint_t *endpoint);

/* ---- btl_fastsm_deep.c: the receiver's side of that ---- */

/** Makes the records of our deep FIFOs.  Returns an OPAL error code. */
int mca_btl_fastsm_deep_init(void);
/** Releases them. Nobody writes to our deep FIFOs any more. */
void mca_btl_fastsm_deep_fini(void);
/**
 * Answers a question for a FIFO; `data` is that of its slot.  The caller consumes what comes from the peer.
 *
 * @return  false when it is damaged, which has been reported
 */
bool mca_btl_fastsm_wanted(mca_btl_fastsm_endpoint_t *endpoint, const void *data);
/**
 * Goes on reading in the FIFO that the peer was assigned.  The caller holds `consuming`, and has released the
 * slot that said so.
 *
 * @return  false when it was assigned none
 */
bool mca_btl_fastsm_continued(mca_btl_fastsm_endpoint_t *endpoint);
/**
 * Takes the FIFO back from a peer.  The caller holds `consuming`, or the peer is forgotten.
 *
 * @param ended  its process writes no more, and all it wrote has been read
 */
void mca_btl_fastsm_take_back(mca_btl_fastsm_endpoint_t *endpoint, bool ended);
/** Gives a dynamic peer that is met again the FIFO back that it may still write. */
void mca_btl_fastsm_assign_again(mca_btl_fastsm_endpoint_t *endpoint);
/** Drops what is in the FIFOs of dynamic peers. */
void mca_btl_fastsm_deep_discard(void);

/* ---- btl_fastsm_pvar.c ---- */

/** Registers the performance variables of the BTL. */
void mca_btl_fastsm_pvar_register(void);

/* ---- btl_fastsm_failed.c ---- */

/** The extension's failed (btl_fastsm_ext.h). */
void mca_btl_fastsm_failed(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint);
/** Gives back the buffers that a peer that has failed would have read, as soon as it cannot do so any more.
 */
void mca_btl_fastsm_failed_reclaim(mca_btl_base_endpoint_t *endpoint);
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

/* ---- btl_fastsm_frag.c ---- */

/** Makes the lists of free frags, all empty.  The segment's layout is known. */
void mca_btl_fastsm_frags_init(void);
/** Releases all frags; nothing when there are no lists. */
void mca_btl_fastsm_frags_fini(void);

/**
 * btl_alloc: a frag with a buffer of the segment, or of this process for what fits into the FIFO.
 *
 * @param size  bytes, headers included
 * @return      NULL: there is none free, or size is above btl_fastsm_max_send_size
 */
mca_btl_base_descriptor_t *mca_btl_fastsm_alloc(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                                                uint8_t order, size_t size, uint32_t flags);
/** btl_free: gives back a frag that is the caller's.  Returns OPAL_SUCCESS. */
int mca_btl_fastsm_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *des);
/**
 * btl_prepare_src: a frag with data that the convertor has packed into it, behind `reserve` bytes for
 * headers.
 *
 * @param size  bytes that shall be packed; set to those that have been, where the buffer is full
 * @return      NULL: there is none free, none that large, or the convertor cannot pack
 */
mca_btl_base_descriptor_t *mca_btl_fastsm_prepare_src(mca_btl_base_module_t *btl,
                                                      mca_btl_base_endpoint_t *endpoint,
                                                      opal_convertor_t *convertor, uint8_t order,
                                                      size_t reserve, size_t *size, uint32_t flags);

/**
 * Takes so many frags of the eager pool for messages to a peer, linked through super.opal_list_next, or none:
 * where there are no more, or, where processes share cores, many are in use and the peer has some to read.
 *
 * @return  the first, or NULL
 */
mca_btl_fastsm_frag_t *mca_btl_fastsm_frags_take(mca_btl_fastsm_endpoint_t *endpoint, uint32_t count);
/**
 * Whether few frags of the eager pool are in use, with so many more: 16, or twice as many as these; 32, if
 * these are one or two.  Collects what peers have read if it has to. No lock is held.
 */
bool mca_btl_fastsm_frags_few(uint32_t more);
/** Gives them back, unused. */
void mca_btl_fastsm_frags_put_back(mca_btl_fastsm_frag_t *first, uint32_t count);

/* ---- btl_fastsm_chunk.c ---- */

/**
 * Sends a message in one or several eager buffers, at once and completely, or not at all.
 *
 * @param header   MCA_BTL_FASTSM_HEADER_BYTES of it; stamped
 * @param payload  contiguous; or NULL
 * @param data     takes its place then
 * @param size     bytes, more than 0
 * @param stamp    or NULL
 * @return         OPAL_SUCCESS or OPAL_ERR_OUT_OF_RESOURCE
 */
int mca_btl_fastsm_sendi_chunks(mca_btl_fastsm_endpoint_t *endpoint, void *header, const void *payload,
                                const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                                mca_btl_fastsm_stamp_t *stamp);

/** The extension's chunks_are_slow (btl_fastsm_ext.h). */
bool mca_btl_fastsm_chunks_are_slow(mca_btl_base_endpoint_t *endpoint, size_t size);

/** The extension's exchange_is_slow (btl_fastsm_ext.h). */
bool mca_btl_fastsm_exchange_is_slow(mca_btl_base_endpoint_t *endpoint, size_t size, bool alone);

/** The extension's sendi_data (btl_fastsm_ext.h). */
int mca_btl_fastsm_sendi_data(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                              const mca_btl_fastsm_data_t *data, size_t size, mca_btl_base_tag_t tag,
                              mca_btl_fastsm_stamp_t *stamp);
/** Fetches lines of the next buffers until a message has come: mca_btl_fastsm_ahead_t. */
void mca_btl_fastsm_ahead_run(fastsm_fifo_idle_t *idle, const _Atomic uint32_t *word, uint32_t value);
/** No message has been sent in buffers yet. */
void mca_btl_fastsm_ahead_init(void);
/** There will be no message to this peer. */
void mca_btl_fastsm_ahead_forget(const mca_btl_fastsm_endpoint_t *endpoint);

/** Chunks of a message of so many bytes from a peer, 2 or more; 0: none can be that long, or short. */
uint32_t mca_btl_fastsm_view_chunks(const mca_btl_fastsm_endpoint_t *endpoint, size_t length);
/** Whether all chunks of the message at the consumer's position have come. */
bool mca_btl_fastsm_chunks_are_here(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t chunks);
/**
 * Waits for a further chunk of the message at the consumer's position.
 *
 * @param index  1 for the second one
 * @param bytes  that it has to have
 * @return       its data, or NULL: it does not come soon, or makes no sense
 */
const char *mca_btl_fastsm_chunk(const mca_btl_fastsm_endpoint_t *endpoint, uint32_t index, size_t bytes);
/** The extension's move (btl_fastsm_ext.h) for a message in chunks. */
bool mca_btl_fastsm_move_chunks(const mca_btl_fastsm_view_t *view, void *to,
                                const mca_btl_fastsm_data_t *data, size_t length, bool undecided);

/* ---- btl_fastsm_send.c, _sendi.c, _get.c, _progress.c ---- */

/**
 * btl_send: sends a descriptor from btl_alloc or btl_prepare_src.
 *
 * @return  1 when the caller is through with it: no callback comes, and the descriptor is ours if it had
 *          BTL_OWNERSHIP, else the caller's.  OPAL_SUCCESS when the callback comes later, from progress
 */
int mca_btl_fastsm_send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *des, mca_btl_base_tag_t tag);

/**
 * Puts a frag into the peer's FIFO.  The endpoint's lock is held.
 *
 * @return  true when it is posted.  *in_flight then says whether the peer still
 *          reads the frag's buffer; if so the frag is on endpoint->in_flight.
 *          false when there is no room; nothing has changed
 */
bool mca_btl_fastsm_post(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag,
                         mca_btl_base_tag_t tag, bool *in_flight);

/**
 * Takes the frags that the peer is through with off endpoint->in_flight.
 * Those nobody waits for become free, the others go to component.done.
 * The endpoint's lock is held.
 */
void mca_btl_fastsm_reclaim(mca_btl_fastsm_endpoint_t *endpoint);

/** Sends what is pending, in order, as far as there is room.  The endpoint's lock is held. */
void mca_btl_fastsm_send_pending(mca_btl_fastsm_endpoint_t *endpoint);

/** Appends a frag to those that wait for room.  The endpoint's lock is held. */
void mca_btl_fastsm_pend(mca_btl_fastsm_endpoint_t *endpoint, mca_btl_fastsm_frag_t *frag);

/**
 * btl_sendi: sends header and payload at once and completely, or not at all.
 *
 * @param descriptor  when nothing was sent: a descriptor of the right size for the caller to fill and
 *                    send, or NULL.  May be NULL
 * @return            OPAL_SUCCESS or OPAL_ERR_OUT_OF_RESOURCE
 */
int mca_btl_fastsm_sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
                         uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t **descriptor);

/** The extension's sendi (btl_fastsm_ext.h). */
int mca_btl_fastsm_sendi_contiguous(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                                    const void *payload, size_t payload_size, mca_btl_base_tag_t tag);

/** The extension's sendi_numbered (btl_fastsm_ext.h). */
int mca_btl_fastsm_sendi_numbered(mca_btl_base_endpoint_t *endpoint, uint64_t word0, uint64_t word1,
                                  const void *payload, size_t payload_size, mca_btl_base_tag_t tag,
                                  mca_btl_fastsm_stamp_t *stamp);
/** The extension's send_numbered (btl_fastsm_ext.h). */
int mca_btl_fastsm_send_numbered(mca_btl_base_endpoint_t *endpoint, mca_btl_base_descriptor_t *des,
                                 mca_btl_base_tag_t tag, mca_btl_fastsm_stamp_t *stamp);

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

/** The extension's sender (btl_fastsm_ext.h). */
fastsm_fifo_sender_t *mca_btl_fastsm_sender(mca_btl_base_endpoint_t *endpoint);

/** Sets up what of the module has to do with reading: its flags, and registration where that is needed. */
void mca_btl_fastsm_get_init(mca_btl_base_module_t *btl);
/** Finds out whether a new peer's memory can be read and written to, and tells it about the former. */
void mca_btl_fastsm_get_begin(mca_btl_base_endpoint_t *endpoint);
/** The peer goes: forgets how its memory is read. */
void mca_btl_fastsm_get_end(mca_btl_base_endpoint_t *endpoint);
/**
 * btl_get: reads `size` bytes of the peer's memory.  Done when it returns; cbfunc has been called then.
 *
 * @return  OPAL_SUCCESS; OPAL_ERROR when this peer's memory cannot be read, and cbfunc is not called
 */
int mca_btl_fastsm_get(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *endpoint, void *local_address,
                       uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
                       mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
                       mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata);

/** The extension's write (btl_fastsm_ext.h). */
bool mca_btl_fastsm_write(mca_btl_base_endpoint_t *endpoint, const void *local, uint64_t remote, size_t size);
/** The extension's copies (btl_fastsm_ext.h). */
void mca_btl_fastsm_copies(mca_btl_base_endpoint_t *endpoint, mca_btl_fastsm_copies_t *copies);
/** The extension's await (btl_fastsm_ext.h). */
void mca_btl_fastsm_await(mca_btl_base_module_t *btl, const uint64_t *names, uint32_t count);
/** The extension's is_awaited (btl_fastsm_ext.h). */
bool mca_btl_fastsm_is_awaited(mca_btl_base_endpoint_t *endpoint, uint64_t name);

/** One round of progress.  Returns messages delivered and callbacks called; 0 lets opal_progress yield. */
int mca_btl_fastsm_component_progress(void);

/** The extension's receiver (btl_fastsm_ext.h). */
fastsm_fifo_receiver_t *mca_btl_fastsm_receiver(mca_btl_base_endpoint_t *endpoint);
/** The extension's peek (btl_fastsm_ext.h). */
int mca_btl_fastsm_peek(mca_btl_base_endpoint_t *endpoint, unsigned spins, mca_btl_fastsm_view_t *view);
/** The extension's move (btl_fastsm_ext.h). */
bool mca_btl_fastsm_view_move(const mca_btl_fastsm_view_t *view, void *to, const mca_btl_fastsm_data_t *data,
                              size_t length, bool undecided);
/** The extension's poll (btl_fastsm_ext.h). */
int mca_btl_fastsm_poll(mca_btl_base_endpoint_t *endpoint, unsigned spins);
/** The extension's scan (btl_fastsm_ext.h). */
mca_btl_base_endpoint_t *mca_btl_fastsm_scan(mca_btl_base_module_t *btl, unsigned spins, void *header);

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

/** How many bells there are to look at.  It only grows, and before the first of them that counts can ring. */
static inline uint32_t mca_btl_fastsm_load_n_bells(void)
{
    return atomic_load_explicit(&mca_btl_fastsm_component.n_bells, memory_order_relaxed);
}

/**
 * Which of 8 neighbouring FIFOs have rung.  A bell that differs from what we have read is rung.  It may be
 * ahead of its slot or behind it, either way it differs until we have read all there is.
 *
 * @param group  of the FIFOs with numbers 8 * group and up
 * @return       bit per FIFO
 */
static inline uint32_t mca_btl_fastsm_rung(uint32_t group)
{
    const mca_btl_fastsm_component_t *component = &mca_btl_fastsm_component;
    const uint32_t stride = component->layout.params.bell_stride;
    const uint32_t first = 8 * group;
    _Atomic uint8_t *expected = (_Atomic uint8_t *) component->bell_expected;
    char *bells = component->base + component->layout.bells;
    uint32_t rung = 0;

    if (1 == stride
        && OPAL_LIKELY(fastsm_load_bells((_Atomic uint64_t *) (bells + first))
                       == atomic_load_explicit(&component->bell_expected[group], memory_order_relaxed))) {
        return 0;
    }
    for (uint32_t i = first; i < mca_btl_fastsm_load_n_bells() && i < first + 8; ++i) {
        if (fastsm_load_bell((_Atomic uint8_t *) (bells + (size_t) i * stride))
            != atomic_load_explicit(&expected[i], memory_order_relaxed)) {
            rung |= 1u << (i - first);
        }
    }
    return rung;
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

/** Groups of 8 that mca_btl_fastsm_rung() is asked about. */
static inline uint32_t mca_btl_fastsm_bell_groups(void)
{
    return (mca_btl_fastsm_load_n_bells() + 7) / 8;
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

/** Whether something is under way that leads to a deeper FIFO. */
static inline bool mca_btl_fastsm_moving(const mca_btl_fastsm_endpoint_t *endpoint)
{
    return MCA_BTL_FASTSM_MOVE_IDLE != endpoint->move.state
           && MCA_BTL_FASTSM_MOVE_MOVED != endpoint->move.state;
}

/** H2.  Partner: H1.  How many entries of `recent` are there; each of them can be read. */
static inline uint32_t mca_btl_fastsm_load_n_recent(void)
{
    return atomic_load_explicit(&mca_btl_fastsm_component.n_recent, memory_order_acquire);
}

/** Puts a frag on its free list, whose lock is held: first or last. */
static inline void mca_btl_fastsm_frag_list_put(mca_btl_fastsm_frag_list_t *list, mca_btl_fastsm_frag_t *frag)
{
    if (MCA_BTL_FASTSM_FRAG_SMALL == list->frag_class || NULL == list->free) {
        frag->base.super.super.opal_list_next = (opal_list_item_t *) list->free;
        list->last = NULL == list->free ? frag : list->last;
        list->free = frag;
    } else {
        frag->base.super.super.opal_list_next = NULL;
        list->last->base.super.super.opal_list_next = (opal_list_item_t *) frag;
        list->last = frag;
    }
    ++list->n_free;
}

/** @return the one that a list has behind this one */
static inline mca_btl_fastsm_frag_t *mca_btl_fastsm_frag_next(const mca_btl_fastsm_frag_t *frag)
{
    return (mca_btl_fastsm_frag_t *) frag->base.super.super.opal_list_next;
}

/** Puts a frag back on its free list. */
static inline void mca_btl_fastsm_frag_return(mca_btl_fastsm_frag_t *frag)
{
    mca_btl_fastsm_frag_list_t *list = frag->my_list;

    OPAL_THREAD_LOCK(&list->lock);
    mca_btl_fastsm_frag_list_put(list, frag);
    OPAL_THREAD_UNLOCK(&list->lock);
}

#endif /* MCA_BTL_FASTSM_H */
