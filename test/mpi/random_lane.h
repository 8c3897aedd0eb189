/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * A lane is the traffic of one thread with the threads of the same number on
 * all ranks. Lanes have communicators of their own, but for MPI_COMM_WORLD,
 * where their tags differ.
 */
#ifndef RANDOM_LANE_H
#define RANDOM_LANE_H

#include "random_plan.h"

enum { MAX_LANES = 4, MAX_TRANSFERS = 2 * (MESSAGES + STANDING) };

/** A started send or receive, until the end of the round. */
typedef struct {
    MPI_Request request;
    message_t *message; /**< NULL: a receive that got whatever came; its status says what */
    unsigned char *block;
    const layout_t *layout;
    size_t capacity; /**< bytes of data that the block has room for */
    where_t where;
    bool receive;
    bool pending;  /**< neither waited for nor given up */
    bool standing; /**< block and request stay for the next round */
    int error;     /**< error class, once it is no longer pending */
    MPI_Status status;
} transfer_t;

/** One side of a race. */
typedef struct {
    MPI_Request request[2 * RACERS];
    unsigned char *block[2 * RACERS];
    MPI_Status status[2 * RACERS];
    bool cancelled[2 * RACERS]; /**< the verdict */
    int count;
} racers_t;

typedef struct {
    const options_t *options;
    int index, round;
    fp_random_t choices; /**< what this rank alone decides */
    MPI_Comm comms[WHERES];
    MPI_Comm base; /**< for collectives between rounds */
    MPI_Comm side; /**< for races, shifts and persistent messages: no wildcards, so each knows its own */
    plan_t plan;
    message_t standing[STANDING];
    transfer_t standing_out[STANDING], standing_in[STANDING];
    transfer_t transfers[MAX_TRANSFERS]; /**< of this round, in the order in which they were started */
    int transfer_count;
    racers_t senders[RACES], receivers[RACES];
} lane_t;

/** True once in N times, this rank's own choice. */
bool lane_one_in(lane_t *lane, unsigned n);

/** Notes what is tried with a message, for reports. */
void lane_case(const lane_t *lane, const char *verb, const message_t *m);

/** Keeps a transfer until the end of the round. */
transfer_t *lane_keep(lane_t *lane, transfer_t transfer);

/* --------------------------------------------------------- random_send.c */

/** Starts the messages that are sent ahead, takes the doomed ones back and checks that this succeeded. */
void send_ahead(lane_t *lane);

/** Sends or starts to send a message. */
void send_start(lane_t *lane, message_t *m);

/* --------------------------------------------------------- random_recv.c */

/** Posts the receives that have to be there before their messages, and others. */
void recv_early(lane_t *lane);

/** Posts one more receive, or looks for a message with MPI_Iprobe. */
void recv_some(lane_t *lane);

/** Receives what has no receive yet, each message by some call that can get it. */
void recv_rest(lane_t *lane);

/** A message sent ahead that a named receive could get now; NULL: none. */
message_t *recv_waiting(lane_t *lane, where_t where);

/** A receive for a message that is known, poisoned and not started. */
transfer_t recv_for(lane_t *lane, message_t *m);

/* ------------------------------------------------------- random_finish.c */

/** Completes some transfers by one of MPI's calls; those that may not block do what they can. */
void finish_some(lane_t *lane, bool may_block);

/** Completes all transfers. */
void finish_all(lane_t *lane);

/** Checks all that was transferred and frees it. Every rank has finished. */
void finish_check(lane_t *lane);

/* --------------------------------------------------------- random_race.c */

void race_send(lane_t *lane);        /**< starts the sends, cancels some */
void race_post(lane_t *lane);        /**< posts some receives, cancels some */
void race_post_enough(lane_t *lane); /**< posts as many as there are messages */
void race_send_end(lane_t *lane);    /**< cancels more, waits, tells the receivers the verdicts */
void race_recv_end(lane_t *lane);    /**< checks what came, and that nothing else did */

/* ----------------------------------------------------- random_standing.c */

void standing_init(lane_t *lane);
void standing_start(lane_t *lane, bool receives); /**< receives, or sends, of this round */
void standing_check(const lane_t *lane, transfer_t *transfer);
void standing_fini(lane_t *lane);

#endif /* RANDOM_LANE_H */
