/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What one round of random traffic consists of. Every rank computes the whole
 * plan from the seed, so both ends of a message know what it must be.
 */
#ifndef RANDOM_PLAN_H
#define RANDOM_PLAN_H

#include "random_layout.h"

enum {
    MESSAGES = 120, /**< of a round, all ranks together */
    AHEAD = 30,     /**< of them are sent before anybody receives; some of these are taken back */
    RACES = 4,      /**< in a round */
    RACERS = 10,    /**< messages of a race, at most */
    STANDING = 8,   /**< persistent messages that start again in each round */
    MAX_RANKS = 32,
    LONGEST = 4 << 20,
    LONGEST_BUFFERED = 140000,
    LONGEST_WILD = 300000 /**< where nobody knows which receive a message finds, all have room for it */
};

/** Tags of a communicator that all threads use; on one of their own the threads could use the same ones. */
enum { LATE_TAGS = 4, EARLY_TAGS = 2, TAGS = LATE_TAGS + EARLY_TAGS, LANE_TAGS = 100 };

/** Communicators of messages. */
typedef enum {
    ON_WORLD,    /**< MPI_COMM_WORLD, shared by all threads */
    ON_DUP,      /**< a duplicate for this thread */
    ON_REVERSED, /**< the same ranks, last first */
    ON_INTER,    /**< between even and odd ranks of MPI_COMM_WORLD */
    ON_FRESH,    /**< made in this round with messages under way, freed before they have come */
    WHERES
} where_t;

/** One message. All ranks are those of MPI_COMM_WORLD. */
typedef struct {
    int from, to, tag;
    where_t where;
    const fp_mode_t *mode;
    size_t length;
    const layout_t *out, *in; /**< at the sender and, where it knows the message, at the receiver */
    uint64_t key;             /**< of its bytes */
    bool ahead;               /**< sent before the round's first receive is posted */
    bool doomed;              /**< ahead, and taken back before that */
    bool early;               /**< has a receive before it is sent: all modes, also blocking */
    bool blocking;            /**< by MPI_Send and its like, where that cannot wait for ever */
    bool persistent;          /**< both ends, where they can */
    bool forgotten;           /**< MPI_Request_free while it is under way */
    bool truncated;           /**< by a receive that knows it, if it is posted by name */
    bool taken;               /**< at the receiver: some receive has it, so no other may get it */
} message_t;

/** How a rank receives on a communicator in a round. */
typedef struct {
    bool wild; /**< every receive with the wildcards below, so it gets any message there is */
    bool any_source, any_tag;
    const layout_t *in; /**< of every receive */
    size_t longest;     /**< message to come, bytes */
} manner_t;

/** Messages that are taken back, and receives that are cancelled, while they may be meeting. */
typedef struct {
    int from, to, count;
    const fp_mode_t *mode;
    size_t length[RACERS], longest;
    uint64_t key[RACERS];
} race_t;

/** What all ranks exchange by MPI_Sendrecv, each with the one so many ranks further. */
typedef struct {
    int distance;
    size_t length;
    bool replace;
} shift_t;

typedef struct {
    message_t messages[MESSAGES];
    manner_t manners[WHERES][MAX_RANKS];
    race_t races[RACES];
    shift_t shift;
} plan_t;

/** What can be asked of every job. */
typedef struct {
    uint64_t seed;
    int rounds, lanes;
    bool stock; /**< leave out what stock ob1 4.1.4 does wrong: see random.c */
} options_t;

/** Fills PLAN for a round of a lane (thread). */
void plan_make(plan_t *plan, const options_t *options, int round, int lane);

/** Fills the persistent messages of a lane for the whole run; their keys change with the round. */
void plan_standing(message_t standing[STANDING], const options_t *options, int lane);
uint64_t plan_standing_key(const message_t *message, int number, int round);

/** A rank of MPI_COMM_WORLD as its peers on a communicator name it. */
int plan_rank(where_t where, int world);

extern const char *const plan_where_names[WHERES];

#endif /* RANDOM_PLAN_H */
