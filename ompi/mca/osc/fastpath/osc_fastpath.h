/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * One-sided communication with as few messages as an epoch needs: the component, the window (module) and
 * the peer.
 *
 * Every peer of a window has an access, agreed by all members when the window is made:
 *
 *     DIRECT   its memory is mapped here, its own rank first of all: loads, stores, locks in memory
 *     COPY     on the node, the kernel copies: data by single copy, locks in memory
 *     MESSAGE  everybody else, and everybody where the others cannot be had: packets and replies
 *
 * Each verb of MPI fills in an operation (osc_fastpath_operation.h) and hands it to
 * mca_osc_fastpath_issue(), which calls the one implementation that the peer's access has. The target side
 * of a message reads, writes and updates memory by the same functions (osc_fastpath_memory.h) as the origin
 * does that can reach the memory itself.
 *
 * All names that other files see begin with mca_osc_fastpath_, as those of pml/fastpath do with theirs;
 * Open MPI's own components of osc begin most with ompi_osc_.
 */
#ifndef MCA_OSC_FASTPATH_H
#define MCA_OSC_FASTPATH_H

#include "ompi_config.h"

#include "compat/fastpath_osc_compat.h"

#include "ompi/mca/bml/base/base.h"
#include "ompi/mca/bml/bml.h"
#include "ompi/request/request.h"
#include "opal/class/opal_free_list.h"
#include "opal/class/opal_hash_table.h"
#include "opal/class/opal_list.h"
#include "opal/mca/common/fastpath/common_fastpath_idle.h"
#include "opal/mca/common/fastpath/common_fastpath_lock.h"

#include "osc_fastpath_counters.h"
#include "osc_fastpath_ext.h"
#include "osc_fastpath_hdr.h"
#include "osc_fastpath_member.h"
#include "osc_fastpath_shared.h"

/** How the memory and the locks of a peer are reached. */
typedef enum {
    MCA_OSC_FASTPATH_MESSAGE, /**< by packets, which the target works on */
    MCA_OSC_FASTPATH_DIRECT,  /**< peer.base is the target's window, mapped here; peer.member its locks */
    MCA_OSC_FASTPATH_COPY, /**< peer.base is the window's address in process peer.pid; peer.member its locks
                            */
} mca_osc_fastpath_access_t;

/** The component's parameters and what all windows share. */
typedef struct {
    mca_osc_fastpath_public_component_t super;

    int priority;           /**< parameter */
    bool by_default;        /**< parameter: priority above the stock components' */
    bool eager;             /**< parameter: packets leave with each operation */
    bool check_bounds;      /**< parameter: the origin checks each access against the target's window */
    unsigned packet_size;   /**< parameter: bytes */
    unsigned max_packets;   /**< parameter: unacknowledged packets to one target */
    unsigned max_pending;   /**< parameter: operations of a window that wait for replies of one target */
    unsigned spin_count;    /**< parameter: for an answer in a target's mailbox; 0: none is used */
    unsigned place_limit;   /**< parameter: gets of so many bytes are written by the target's BTL; 0: none */
    bool shared_memory;     /**< parameter: members of a node share memory */
    bool single_copy;       /**< parameter: the kernel may copy between members of a node */
    unsigned fault_percent; /**< parameter: percentage of BTL calls that fail, for tests */
    unsigned debug_node;    /**< parameter: so many processes are taken for a node, for tests; 0: all of it */

    bool initialized;                /**< osc_init has run */
    bool progress_registered;        /**< there are windows; under lock */
    mca_common_fastpath_lock_t lock; /**< guards the next four */
    opal_hash_table_t windows;       /**< id to module */
    opal_list_t modules;             /**< all windows, by module.item */
    /** A window whose mailbox progress looks at, in a ring of them, or NULL; see osc_fastpath_mail.c */
    _Atomic(struct mca_osc_fastpath_module_t *) listener;
    uint32_t next_id;               /**< ids below have been used in this process, or cannot be any more */
    opal_atomic_int32_t pending;    /**< things that progress has to look after; 0 lets it return at once */
    opal_atomic_int32_t locks_held; /**< peers with origin.lock_sent, windows with lock_all_taken */
    struct mca_osc_fastpath_peer_t *last_locked; /**< by MPI_Win_lock, of all windows: its lock may not have
                                                      been asked for yet. With threads one of each, in a list;
                                                      under lock */
    mca_common_fastpath_idle_t idle;             /**< how waits sleep */
    const volatile int *wait_mode;        /**< pml_fastpath_wait: MCA_COMMON_FASTPATH_WAIT_*; or NULL */
    const volatile unsigned *sleep_after; /**< pml_fastpath_sleep_after: microseconds; or NULL */
    _Atomic int filling;                  /**< packets that are being filled in buffers of BTLs */
    opal_free_list_t packets;                    /**< mca_osc_fastpath_packet_t */
    opal_free_list_t requests;                   /**< mca_osc_fastpath_request_t */
} mca_osc_fastpath_component_t;

OMPI_DECLSPEC extern mca_osc_fastpath_component_t mca_osc_fastpath_component;

/** A packet or a reply that is being filled, or that a BTL has refused. */
typedef struct {
    opal_free_list_item_t super;
    struct mca_osc_fastpath_peer_t *peer; /**< whom it is for */
    mca_bml_base_btl_t *bml_btl;          /**< who carries it */
    mca_btl_base_descriptor_t *descriptor; /**< where it is filled; NULL: data is malloc'ed */
    unsigned char *data;   /**< header and what follows */
    bool filling;          /**< counted in component.filling */
    size_t length;         /**< bytes filled, header included */
    size_t capacity;       /**< bytes of room, header included */
    bool data_from_target; /**< an operation in it brings a reply with data */
    size_t place_bytes;    /**< that the target may write into this process's memory for it */
} mca_osc_fastpath_packet_t;
OBJ_CLASS_DECLARATION(mca_osc_fastpath_packet_t);

/** A message that came before it may take effect, or the rest of one. */
typedef struct {
    opal_list_item_t super;
    size_t position; /**< bytes that have taken effect */
    bool locked;     /**< the lock it asks for has been taken */
    size_t length;   /**< bytes in data, header included */
    _Alignas(16) unsigned char data[];
} mca_osc_fastpath_parked_t;
OBJ_CLASS_DECLARATION(mca_osc_fastpath_parked_t);

/**
 * Target: a put whose pieces are put together before it takes effect. One that its origin has given up in the
 * middle, because it had no memory or a process has failed, stays until the window is freed. Nothing is lost
 * by it: the origin's call has returned an error, no byte of the put is in the window, and no other put has
 * its number.
 */
typedef struct {
    opal_list_item_t super;
    uint32_t number; /**< tells it from others of its origin */
    size_t total;    /**< bytes of the put */
    size_t here;     /**< bytes that have come: pieces come in order */
    unsigned char *data;
} mca_osc_fastpath_whole_t;
OBJ_CLASS_DECLARATION(mca_osc_fastpath_whole_t);

/** How often an origin asks a target that may be outside MPI. */
typedef struct {
    _Atomic uint8_t skip; /**< operations before it is asked again; a hint, so relaxed */
    uint8_t pause;        /**< last value of skip, doubled after each try without an answer; 0 after one */
} mca_osc_fastpath_tries_t;

/** What this process knows of another member of a window, and of itself; made when first needed. */
typedef struct mca_osc_fastpath_peer_t {
    opal_list_item_t super; /**< module.active: there is something to flush or unlock */
    struct mca_osc_fastpath_module_t *module;
    int rank;
    mca_osc_fastpath_access_t access;
    int node_index; /**< DIRECT, COPY: in module.node */

    void *base;                        /**< DIRECT, COPY: the target's window; dynamic windows: NULL */
    size_t size;                       /**< bytes of the target's window; MESSAGE: if module.sizes_known */
    ptrdiff_t disp_unit;               /**< the target's; MESSAGE: if module.sizes_known */
    mca_osc_fastpath_member_t *member; /**< DIRECT, COPY: its locks */
    pid_t pid;                         /**< COPY */
    _Atomic uint32_t *asleep;          /**< whether it sleeps; NULL: not known yet (osc_fastpath_wake.h) */
    mca_osc_fastpath_tries_t mail;     /**< COPY: of its mailbox; pause is guarded by its accumulate lock */
    mca_osc_fastpath_tries_t help;     /**< COPY: for help with long puts and gets; pause by member.helping */
    struct {
        uint32_t version; /**< of what is known; 0: nothing */
        uint32_t count;
        struct mca_osc_fastpath_region_t *list; /**< malloc'ed */
    } regions; /**< COPY, dynamic windows: the peer's attached memory. Guarded by module.lock */

    /** As origin: this process accesses the peer. Guarded by module.lock. */
    struct {
        int lock_type;          /**< MPI_Win_lock: MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE, or 0 */
        bool nocheck;           /**< MPI_MODE_NOCHECK: nobody competes, the target's lock is not taken */
        bool lock_sent;         /**< the lock has been asked for or taken */
        bool active;            /**< in module.active */
        bool describing;        /**< a datatype is being described: its pieces stay together */
        bool in_start;          /**< member of the group of MPI_Win_start */
        bool waits_for_lock;    /**< DIRECT, COPY: counted as a waiting writer */
        uint32_t starts;        /**< MPI_Win_start with this peer, so far */
        uint32_t wholes;        /**< puts in pieces that are put together at the target, so far */
        uint32_t sent;          /**< packets sent so far: sequence of the last one */
        uint32_t acked;         /**< packets that have taken effect there */
        uint32_t operations;    /**< sequence of the last packet whose effect is not known by other means */
        uint32_t ack_asked;     /**< sequence of the last packet that will be replied to */
        uint32_t flushing;      /**< sequence of the last packet that somebody who flushes waits for */
        uint32_t lock_sequence; /**< sequence of the packet that has asked for the lock */
        const void *locked_by;  /**< in component.last_locked: names the thread */
        struct mca_osc_fastpath_peer_t *next_locked; /**< in component.last_locked */
        unsigned tickets;       /**< operations of this peer that wait for replies */
        size_t ticket_bytes;    /**< and the bytes they wait for, in replies */
        size_t place_bytes;     /**< and the bytes that targets may write into this process's memory */
        int error; /**< an operation of a passive epoch failed there: for the next synchronisation */
        mca_osc_fastpath_packet_t *packet;      /**< being filled */
        struct mca_osc_fastpath_types_t *types; /**< datatypes the peer knows by slot */
    } origin;

    /** As target: the peer accesses this process. Guarded by module.lock. */
    struct {
        uint32_t done;       /**< packets that have taken effect: sequence of the last one */
        uint32_t posts;      /**< MPI_Win_post with this peer, so far */
        uint32_t completes;  /**< epochs of MPI_Win_start that it has completed */
        int error;           /**< what went wrong with the packet that is being worked on */
        uint8_t epoch;       /**< that packet's */
        uint8_t held;        /**< MCA_OSC_FASTPATH_LOCK_SHARED, _EXCLUSIVE or 0: the lock it has here */
        bool blocked;        /**< in module.blocked: its next packet may not take effect yet */
        bool waits_for_lock; /**< counted in module.claims */
        bool wants_lock;     /**< the own rank only: MPI_Win_lock waits for its turn in module.blocked */
        unsigned long refused_since; /**< it wants the lock shared: when that was refused first, ns; else 0 */
        opal_list_t parked;  /**< mca_osc_fastpath_parked_t in order of sequence */
        opal_list_t wholes;  /**< mca_osc_fastpath_whole_t */
        opal_list_item_t blocked_item;          /**< in module.blocked */
        mca_osc_fastpath_packet_t *reply;       /**< being filled */
        struct mca_osc_fastpath_types_t *types; /**< datatypes it has described */
        struct mca_osc_fastpath_placing_t *placing; /**< data that is being written into its memory, or has
                                                         been, see osc_fastpath_place.c; or NULL */
        _Atomic uint32_t writing;                   /**< those that are not known to have been */
    } target;
} mca_osc_fastpath_peer_t;
OBJ_CLASS_DECLARATION(mca_osc_fastpath_peer_t);

/** A piece of memory attached to a dynamic window. */
typedef struct mca_osc_fastpath_region_t {
    uintptr_t begin;
    uintptr_t end; /**< first byte after it */
} mca_osc_fastpath_region_t;

/** What a member says of its window. */
typedef struct mca_osc_fastpath_extent_t {
    uint64_t bytes;
    int64_t disp_unit;
} mca_osc_fastpath_extent_t;

/** A window. */
typedef struct mca_osc_fastpath_module_t {
    ompi_osc_base_module_t super;
    opal_list_item_t item;                           /**< in component.modules */
    struct mca_osc_fastpath_module_t *next_listener; /**< see component.listener; NULL: not in it */
    unsigned users; /**< who works on its messages, or waits for a lock of it; under component.lock */
    ompi_win_t *win;
    ompi_communicator_t *comm; /**< the window's own duplicate */
    uint32_t id;               /**< the same on all members, and never used again */
    int rank;
    int size; /**< of the group */
    int flavor;

    void *base;                                /**< of this process's window; dynamic: NULL */
    size_t bytes;                              /**< of this process's window; dynamic: all there is */
    ptrdiff_t disp_unit;                       /**< of this process */
    void *allocated;                           /**< to be freed with the window */
    bool sizes_known;                          /**< peers' size and disp_unit are valid */
    bool threads;                              /**< some member uses several threads */
    bool announced;                            /**< known by its id */
    bool wants_sizes;                          /**< somebody checks bounds: sizes are to be known */
    bool atomic;                               /**< integers are updated by atomic instructions */
    bool uniform;                              /**< all members have this size and unit */
    struct mca_osc_fastpath_extent_t *extents; /**< of all members, if known and not uniform */

    /* What info keys say; see osc_fastpath_info.c. */
    bool no_locks;
    bool same_size;
    bool same_disp_unit;
    bool noncontig;
    bool eager;
    unsigned max_pending;
    bool same_op;              /**< accumulate_ops */
    char ordering[32];         /**< accumulate_ordering as it is returned */
    char max_pending_text[16]; /**< max_pending as it is returned */

    /**
     * Guards everything below and the peers. Held for a few instructions or a copy, never across progress.
     * Message handlers only try it: what they cannot work on waits in the inbox.
     */
    mca_common_fastpath_lock_t lock;
    mca_osc_fastpath_peer_t **peers;        /**< by rank, NULL until needed */
    struct mca_osc_fastpath_batch_t *batch; /**< COPY: small puts, see osc_fastpath_copy.c; NULL: none yet */
    _Atomic bool batched;                   /**< there are some that are still to be made */
    mca_osc_fastpath_member_t *member;      /**< this process's own */
    mca_osc_fastpath_member_t *heap_member; /**< it, where it is on the heap; to be freed */
    mca_osc_fastpath_node_t node;           /**< what it shares; settled before the first message */
    mca_osc_fastpath_probe_t probe;         /**< for the others of the node */
    opal_list_t active;                     /**< peers with something to flush or unlock */

    uint8_t epoch;         /**< MCA_OSC_FASTPATH_EPOCH_*: access epoch to more than single targets */
    bool lock_all_nocheck; /**< lock_all with MPI_MODE_NOCHECK */
    bool lock_all_taken;   /**< lock_all has the locks of the members of the node */
    bool fence_used;       /**< there were operations since the last fence */
    int active_error;      /**< a target's, of an epoch of a fence or of MPI_Win_start: these do not wait for
                            *   word of all packets, so the next one may have to return it */
    unsigned locks;        /**< targets locked by MPI_Win_lock */
    int *start_ranks;      /**< its members as ranks of the window */
    int start_count;
    int *post_ranks;             /**< members of the group of MPI_Win_post as ranks of the window */
    int post_count;              /**< -1: no exposure epoch */
    uint32_t completes_expected; /**< value of member.completes when all DIRECT and COPY origins are done */

    uint32_t fences;         /**< number of the fence epoch that packets may take effect in */
    uint32_t packets_done;   /**< packets that have taken effect here, of all origins */
    uint32_t fence_done;     /**< packets of fence epochs that have taken effect here, of all origins */
    uint32_t fence_expected; /**< and that had been sent here before the last fence */
    uint32_t *fence_sent;    /**< by rank: packets of fence epochs sent there since the last fence */

    struct mca_osc_fastpath_tickets_t *tickets; /**< operations that wait for replies */
    opal_list_t refused;                        /**< packets no BTL has taken yet */
    opal_list_t blocked;                        /**< peers by target.blocked_item, in order of arrival */
    bool rerun;                                 /**< a lock has been given back: the blocked may go on */
    mca_osc_fastpath_claims_t claims;           /**< peers that wait for the own lock exclusively */
    opal_list_t inbox;                     /**< mca_osc_fastpath_parked_t that came while lock was taken */
    mca_common_fastpath_lock_t inbox_lock; /**< guards the inbox */

    unsigned calls; /**< counts synchronisations, see mca_osc_fastpath_progress_sometimes() */

    mca_osc_fastpath_region_t *regions; /**< dynamic: attached memory in order of address */
    size_t num_regions;
    size_t empty_regions; /**< of 0 bytes, which are not in the list */
    size_t max_regions;
} mca_osc_fastpath_module_t;

/** @return the module of a window */
static inline mca_osc_fastpath_module_t *mca_osc_fastpath_module(ompi_win_t *win)
{
    return (mca_osc_fastpath_module_t *) win->w_osc_module;
}

/** @return whether MPI allocates the memory of the window */
static inline bool mca_osc_fastpath_is_allocated(const mca_osc_fastpath_module_t *module)
{
    return MPI_WIN_FLAVOR_ALLOCATE == module->flavor || MPI_WIN_FLAVOR_SHARED == module->flavor;
}

/** Enter what module.lock guards. */
static inline void mca_osc_fastpath_enter(mca_osc_fastpath_module_t *module)
{
    mca_common_fastpath_lock(&module->lock);
}

/** Try to. @return whether the caller is inside now */
static inline bool mca_osc_fastpath_try_enter(mca_osc_fastpath_module_t *module)
{
    return mca_common_fastpath_trylock(&module->lock);
}

/** Leave. */
static inline void mca_osc_fastpath_leave(mca_osc_fastpath_module_t *module)
{
    mca_common_fastpath_unlock(&module->lock);
}

/** There is one thing more, or less, that progress has to look after. */
static inline void mca_osc_fastpath_pend(int delta)
{
    (void) OPAL_THREAD_ADD_FETCH32(&mca_osc_fastpath_component.pending, delta);
}

/**
 * The lock of a peer, or those of the node, have been asked for or taken, or are given back.
 *
 * @param state  peer.origin.lock_sent or module.lock_all_taken
 */
static inline void mca_osc_fastpath_set_locked(bool *state, bool locked)
{
    if (locked != *state) {
        (void) OPAL_THREAD_ADD_FETCH32(&mca_osc_fastpath_component.locks_held, locked ? 1 : -1);
    }
    *state = locked;
}

/** Remember that there is something to flush or unlock. */
static inline void mca_osc_fastpath_activate(mca_osc_fastpath_peer_t *peer)
{
    if (!peer->origin.active) {
        peer->origin.active = true;
        peer->origin.flushing = peer->origin.acked;
        opal_list_append(&peer->module->active, &peer->super);
    }
}

/* The verbs, as MPI calls them through the module's table: one of the same name in MPI for each.
 * Displacements are in units of the target's window, counts in elements of the datatype beside them. What
 * they return is OMPI_SUCCESS or the error named; with any of them that sends or waits
 * OMPI_ERR_OUT_OF_RESOURCE as well, where memory is short, and MPI_ERR_PROC_FAILED where a process that it
 * needs has ended. */

/** MPI_Win_free: wait until nothing is on its way to or from any process of the window, then free it. The
 * error is one when an epoch is open: OMPI_ERR_RMA_SYNC. */
int mca_osc_fastpath_free(ompi_win_t *win);
/**
 * MPI_Win_shared_query (MPI 4.1, section 12.2.3).
 *
 * @param rank       of the window, or MPI_PROC_NULL: the first one that has memory
 * @param size       set to bytes; 0 where we cannot load from and store to its memory
 * @param disp_unit  set to bytes
 * @param base       set to the address here, or NULL
 * @return           OMPI_ERR_RMA_FLAVOR for a window that never has memory that is shared
 */
int mca_osc_fastpath_shared_query(ompi_win_t *win, int rank, size_t *size,
                                  fastpath_osc_disp_unit_t *disp_unit, void *base);
/** MPI_Win_attach `size` bytes. @return OMPI_ERR_RMA_FLAVOR unless the window is a dynamic one;
 * OMPI_ERR_RMA_ATTACH where the memory overlaps what is attached, or others of the node cannot reach it */
int mca_osc_fastpath_attach(ompi_win_t *win, void *base, size_t size);
/** MPI_Win_detach what has been attached at `base`. @return OMPI_ERR_RMA_FLAVOR unless the window is a
 * dynamic one; OMPI_ERR_RMA_ATTACH where nothing is attached there */
int mca_osc_fastpath_detach(ompi_win_t *win, const void *base);
/**
 * MPI_Put. The origin's memory may be used again when it returns.
 *
 * @return  MPI_ERR_RANK; OMPI_ERR_RMA_SYNC outside an epoch; MPI_ERR_TRUNCATE where the origin has more than
 *          the target takes; OMPI_ERR_RMA_RANGE with osc_fastpath_check_bounds, and where the kernel or a
 *          dynamic window knows of no such memory; so do all operations below
 */
int mca_osc_fastpath_put(const void *origin_addr, fastpath_osc_count_t origin_count,
                         ompi_datatype_t *origin_type, int target, ptrdiff_t disp,
                         fastpath_osc_count_t target_count, ompi_datatype_t *target_type, ompi_win_t *win);
/** MPI_Get. The result is there after the next synchronisation. @return what mca_osc_fastpath_put() does;
 * MPI_ERR_TRUNCATE where the target has more than the origin takes */
int mca_osc_fastpath_get(void *origin_addr, fastpath_osc_count_t origin_count, ompi_datatype_t *origin_type,
                         int target, ptrdiff_t disp, fastpath_osc_count_t target_count,
                         ompi_datatype_t *target_type, ompi_win_t *win);
/** MPI_Rput. @param request  set to a request for what becomes of the origin's memory; NULL: there is none */
int mca_osc_fastpath_rput(const void *origin_addr, fastpath_osc_count_t origin_count,
                          ompi_datatype_t *origin_type, int target, ptrdiff_t disp,
                          fastpath_osc_count_t target_count, ompi_datatype_t *target_type, ompi_win_t *win,
                          ompi_request_t **request);
/** MPI_Rget. @param request  set to a request that is complete with the result; NULL: there is none */
int mca_osc_fastpath_rget(void *origin_addr, fastpath_osc_count_t origin_count, ompi_datatype_t *origin_type,
                          int target, ptrdiff_t disp, fastpath_osc_count_t target_count,
                          ompi_datatype_t *target_type, ompi_win_t *win, ompi_request_t **request);
/** MPI_Accumulate. @return what mca_osc_fastpath_put() does; MPI_ERR_OP for an operation that is not
 * predefined or not defined for the type; MPI_ERR_TYPE for a type of several predefined
 * ones, and where an element would be cut */
int mca_osc_fastpath_accumulate(const void *origin_addr, fastpath_osc_count_t origin_count,
                                ompi_datatype_t *origin_type, int target, ptrdiff_t disp,
                                fastpath_osc_count_t target_count, ompi_datatype_t *target_type,
                                ompi_op_t *op, ompi_win_t *win);
/** MPI_Raccumulate. @param request  as for mca_osc_fastpath_rput(). @return as the one above */
int mca_osc_fastpath_raccumulate(const void *origin_addr, fastpath_osc_count_t origin_count,
                                 ompi_datatype_t *origin_type, int target, ptrdiff_t disp,
                                 fastpath_osc_count_t target_count, ompi_datatype_t *target_type,
                                 ompi_op_t *op, ompi_win_t *win, ompi_request_t **request);
/** MPI_Get_accumulate: the result is what was there before. @return as mca_osc_fastpath_accumulate() */
int mca_osc_fastpath_get_accumulate(const void *origin_addr, fastpath_osc_count_t origin_count,
                                    ompi_datatype_t *origin_type, void *result_addr,
                                    fastpath_osc_count_t result_count, ompi_datatype_t *result_type,
                                    int target, ptrdiff_t disp, fastpath_osc_count_t target_count,
                                    ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win);
/** MPI_Rget_accumulate. @param request  as for mca_osc_fastpath_rget(). @return as
 * mca_osc_fastpath_accumulate() */
int mca_osc_fastpath_rget_accumulate(const void *origin_addr, fastpath_osc_count_t origin_count,
                                     ompi_datatype_t *origin_type, void *result_addr,
                                     fastpath_osc_count_t result_count, ompi_datatype_t *result_type,
                                     int target, ptrdiff_t disp, fastpath_osc_count_t target_count,
                                     ompi_datatype_t *target_type, ompi_op_t *op, ompi_win_t *win,
                                     ompi_request_t **request);
/** MPI_Fetch_and_op of one element. @return as mca_osc_fastpath_accumulate(); MPI_ERR_TYPE for a type that is
 * not predefined */
int mca_osc_fastpath_fetch_and_op(const void *origin_addr, void *result_addr, ompi_datatype_t *type,
                                  int target, ptrdiff_t disp, ompi_op_t *op, ompi_win_t *win);
/** MPI_Compare_and_swap of one element. @return as mca_osc_fastpath_put(); MPI_ERR_TYPE for a type other than
 * those that MPI 4.1, section 12.3.4 permits */
int mca_osc_fastpath_compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                                      ompi_datatype_t *type, int target, ptrdiff_t disp, ompi_win_t *win);
/** MPI_Win_fence: collective, unless the assertion says that it ends no epoch and begins none.
 * @return OMPI_ERR_RMA_SYNC while another kind of epoch is open, or an error of an operation that it ends */
int mca_osc_fastpath_fence(int assertion, ompi_win_t *win);
/** MPI_Win_start: return when all members of the node in the group have posted; the others are waited for by
 * what is sent to them. @return OMPI_ERR_RMA_SYNC while an access epoch is open; MPI_ERR_GROUP for a group
 * with a process that is not in the window */
int mca_osc_fastpath_start(ompi_group_t *group, int assertion, ompi_win_t *win);
/** MPI_Win_complete. @return OMPI_ERR_RMA_SYNC without a start, or an error of an operation that it ends */
int mca_osc_fastpath_complete(ompi_win_t *win);
/** MPI_Win_post: never waits. @return OMPI_ERR_RMA_SYNC while an exposure epoch is open; MPI_ERR_GROUP as for
 * start */
int mca_osc_fastpath_post(ompi_group_t *group, int assertion, ompi_win_t *win);
/** MPI_Win_wait, for all origins' complete. @return OMPI_ERR_RMA_SYNC without a post */
int mca_osc_fastpath_wait(ompi_win_t *win);
/** MPI_Win_test: mca_osc_fastpath_wait() if it need not wait. @param flag  set to whether it has ended */
int mca_osc_fastpath_test(ompi_win_t *win, int *flag);
/** MPI_Win_lock. Where the target is reached by message only it is asked for with the first operation.
 * @return OMPI_ERR_RMA_SYNC where another epoch is open, or the target is locked already */
int mca_osc_fastpath_lock(int type, int target, int assertion, ompi_win_t *win);
/** MPI_Win_unlock: all operations have taken effect there. @return OMPI_ERR_RMA_SYNC without a lock, or an
 * error of an operation */
int mca_osc_fastpath_unlock(int target, ompi_win_t *win);
/** MPI_Win_lock_all. @return OMPI_ERR_RMA_SYNC where an epoch is open, or a target is locked */
int mca_osc_fastpath_lock_all(int assertion, ompi_win_t *win);
/** MPI_Win_unlock_all. @return OMPI_ERR_RMA_SYNC without a lock_all, or the first error of an operation */
int mca_osc_fastpath_unlock_all(ompi_win_t *win);
/** MPI_Win_sync: orders loads and stores of the window, and makes progress. */
int mca_osc_fastpath_sync(ompi_win_t *win);
/** MPI_Win_flush: what was issued to the target has taken effect there. @return OMPI_ERR_RMA_SYNC outside a
 * passive epoch, MPI_ERR_RANK, or an error of an operation */
int mca_osc_fastpath_flush(int target, ompi_win_t *win);
/** MPI_Win_flush_all: mca_osc_fastpath_flush() of all targets, at the same time. */
int mca_osc_fastpath_flush_all(ompi_win_t *win);
/** MPI_Win_flush_local: results from the target are there, and memory here may be used again. @return
 * OMPI_ERR_RMA_SYNC outside a passive epoch, or MPI_ERR_RANK; an error of an operation comes with the next
 * flush
 */
int mca_osc_fastpath_flush_local(int target, ompi_win_t *win);
/** MPI_Win_flush_local_all: mca_osc_fastpath_flush_local() of all targets, at the same time. */
int mca_osc_fastpath_flush_local_all(ompi_win_t *win);

/** Whether `count` elements may be moved with memcpy, wherever they are: nobody asks here which memory is an
 * accelerator's, so where there is one convertors move all. */
static inline bool mca_osc_fastpath_is_contiguous(const ompi_datatype_t *type, size_t count)
{
    return !fastpath_have_accelerator() && fastpath_has_no_gaps(type, count);
}

#endif /* MCA_OSC_FASTPATH_H */
