/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What random one-sided traffic consists of. Every rank computes the whole plan from the seed, so each knows
 * what all windows must hold at the end of a phase, and what each operation must fetch.
 *
 * A window is cut into slots, each of elements of one type. In a phase a slot has a role, which says who may
 * do what with it so that MPI defines the result; a phase is one epoch in each of the ranks with active
 * targets, and some epochs in each with passive ones.
 */
#ifndef RMA_RANDOM_PLAN_H
#define RMA_RANDOM_PLAN_H

#include "rma_random_types.h"

enum {
    MAX_RANKS = 8,
    MAX_SLOTS = 40,  /**< of all ranks together */
    MAX_OPS = 120,   /**< of a rank in a phase */
    MAX_STEPS = 400, /**< likewise: operations and synchronisation */
    MAX_BLOCKS = 4,  /**< that are attached to a dynamic window */
    HOT_OPS = 40     /**< at hot slots, of a rank in a phase */
};

/** Kinds of windows, and the letters that name them on the command line. */
typedef enum { CREATED, ALLOCATED, SHARED, DYNAMIC, KINDS } kind_t;
extern const char *const plan_kind_names[KINDS];
#define PLAN_KIND_LETTERS "casd"

/** What synchronises a phase. */
typedef enum { FENCE, PSCW, LOCKS, LOCKS_SHARED, MIXED_LOCKS, MODES } sync_mode_t;
extern const char *const plan_mode_names[MODES];

/** Who does what with a slot in a phase. */
typedef enum {
    UNUSED,
    OWNED,    /**< one origin does anything, in order where MPI has one */
    ADDED_TO, /**< all origins accumulate with the same operation */
    READ,     /**< all origins read */
    STORED,   /**< the target stores */
    GUARDED,  /**< read, added to and written within an exclusive lock */
    HOT,      /**< fetch_and_op, get_accumulate and compare_and_swap by all, whose results form a chain */
    ROLES
} role_t;

typedef struct {
    int target;
    const element_t *element;
    int count;     /**< elements */
    size_t offset; /**< bytes from the start of the target's memory */
    int block;     /**< of the target's memory */
    bool hot;      /**< has that role for the life of the window */
} slot_t;

typedef struct {
    kind_t kind;
    int ranks;
    bool no_locks, unordered, same_op, noncontiguous, stock;
    int unit[MAX_RANKS]; /**< displacement unit */
    size_t size[MAX_RANKS];
    int blocks[MAX_RANKS];
    size_t block_end[MAX_RANKS][MAX_BLOCKS];
    int slots;
    slot_t slot[MAX_SLOTS];
    int phases;
    uint64_t key;
} window_plan_t;

typedef enum {
    PUT,
    GET,
    ACCUMULATE,
    GET_ACCUMULATE,
    FETCH_AND_OP,
    COMPARE_AND_SWAP,
    GUARDED_ADD,
    VERBS
} verb_t;
extern const char *const plan_verb_names[VERBS];

/** An operation, and at its origin what it works with. */
typedef struct {
    verb_t verb;
    int origin, target, slot;
    const op_t *op;
    bool request;                    /**< MPI_Rput and its like */
    bool fresh;                      /**< with datatypes that are freed right after the call */
    int start;                       /**< element of the slot that the target's address is */
    const shape_t *there, *out, *in; /**< at the target; at the origin, of what it sends and receives */
    int items_there, items_out, items_in;
    size_t elements;
    uint64_t key;  /**< of the data */
    long written;  /**< at a hot slot: added, or stored; otherwise the number that guarded adds add */
    long compared; /**< at a hot slot: what compare_and_swap hopes for */
    unsigned char *sent, *swap, *fetched, *settled;
    MPI_Request pending;
} operation_t;

typedef enum {
    OPERATE,
    LOCK,
    UNLOCK,
    LOCK_ALL,
    UNLOCK_ALL,
    FLUSH,
    FLUSH_LOCAL,
    FLUSH_ALL,
    FLUSH_LOCAL_ALL,
    SYNC,
    COMPLETE /**< waits for a request, or some */
} verb_of_step_t;

typedef struct {
    verb_of_step_t verb;
    int operation, target, argument; /**< as they apply; lock type, or way to wait */
} step_t;

/** What one rank does in a phase. */
typedef struct {
    int ops, steps;
    operation_t op[MAX_OPS];
    step_t step[MAX_STEPS];
    bool accesses[MAX_RANKS]; /**< with post and start: its targets */
} part_of_rank_t;

typedef struct {
    int number; /**< in the window */
    sync_mode_t mode;
    bool joined;   /**< nothing but the epochs between this phase and the next one */
    bool chains;   /**< some slot is hot */
    bool swapping; /**< hot slots are written, not added to */
    role_t role[MAX_SLOTS];
    int owner[MAX_SLOTS];       /**< of an owned slot */
    const op_t *op[MAX_SLOTS];  /**< of a slot that is added to */
    uint64_t stored[MAX_SLOTS]; /**< key of what the target stores */
    bool put_to[MAX_RANKS], stores[MAX_RANKS];
    part_of_rank_t rank[MAX_RANKS];
} phase_t;

/** What is asked of every job. */
typedef struct {
    uint64_t seed;
    int epochs, lanes;
    int first; /**< window */
    bool kinds[KINDS];
    bool stock; /**< leave out what osc/pt2pt and osc/rdma of Open MPI 4.1.4 do wrong: see rma_random.c */
} options_t;

/** Window number NUMBER of a lane. */
void plan_window(window_plan_t *plan, const options_t *options, int number, int lane, int ranks);

/** Phase NUMBER of a window. */
void plan_phase(phase_t *phase, const window_plan_t *window, int number);

/** The first elements of a hot slot, which the chains of all phases begin with. */
enum { HOT_COUNT = 3 };

#endif /* RMA_RANDOM_PLAN_H */
