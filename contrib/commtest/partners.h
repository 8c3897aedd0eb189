/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Who talks with whom.  No function here calls MPI.
 */

#ifndef FASTPATH_COMMTEST_PARTNERS_H
#define FASTPATH_COMMTEST_PARTNERS_H

#include <stdbool.h>

#include "protocol.h"

/** Which processes take part. */
typedef enum {
    COMMTEST_PAIR,  /**< process 0 and its partner, or the cycle of process 0 */
    COMMTEST_TURNS, /**< that with distance 1, 2, 3 ... times the distance given, one after the other */
    COMMTEST_PAIRS, /**< all processes at once */
} commtest_who_t;

enum { COMMTEST_NOBODY = -1 };

/** The answer. */
typedef struct {
    int processes;
    int *to;       /**< by process: whom it sends to, or COMMTEST_NOBODY if it takes no part */
    int *from;     /**< whom it receives from */
    bool *first;   /**< whether it sends first, where the protocol is ordered */
    int longest;   /**< processes in the longest cycle */
    char why[200]; /**< what is wrong, and with which process */
} commtest_partners_t;

/** Makes room for so many processes; returns false if there is no memory. */
bool commtest_partners_open(commtest_partners_t *partners, int processes);

/** Gives the room back. */
void commtest_partners_close(commtest_partners_t *partners);

/** How many turns there are with that distance: 1 unless who is COMMTEST_TURNS. */
int commtest_partners_turns(commtest_who_t who, int distance, int processes);

/** Partners at a distance, turn from 1.  Returns false and sets why if some process has none. */
bool commtest_partners_at(commtest_partners_t *partners, commtest_command_t command, commtest_who_t who,
                          int distance, int turn);

/**
 * From whom each process sends to, which is given, finds the rest.  Returns false and sets why unless those
 * that take part form cycles (for a swap: pairs).
 */
bool commtest_partners_link(commtest_partners_t *partners, commtest_command_t command);

#endif /* FASTPATH_COMMTEST_PARTNERS_H */
