/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * Which experiments a command line asks for.  No function here calls MPI.
 */

#ifndef FASTPATH_COMMTEST_PLAN_H
#define FASTPATH_COMMTEST_PLAN_H

#include "options.h"
#include "partners.h"

/** All packet sizes with one protocol among the same processes. */
typedef struct {
    const commtest_protocol_t *protocol;
    bool overlapped;
    commtest_command_t command;
    commtest_who_t who;
    int distance; /**< 0 where --to says who talks to whom */
    int turn;     /**< from 1 */
} commtest_experiment_t;

/** In the order in which they run. */
typedef struct {
    commtest_experiment_t *experiments;
    int count;
} commtest_plan_t;

/**
 * Returns false and sets why, of COMMTEST_WHY bytes, if something cannot be: a protocol that a program cannot
 * use, a process without a partner, a buffer for MPI_Bsend of 2 GiB.  What was not asked for by name ("all")
 * is left out instead.
 */
bool commtest_plan_make(commtest_plan_t *plan, const commtest_options_t *options, int processes, char *why);

/** Whom each process talks to in an experiment; partners are open.  Returns false and sets partners->why. */
bool commtest_plan_partners(const commtest_experiment_t *experiment, const commtest_options_t *options,
                            commtest_partners_t *partners);

/** Packets that a buffer for MPI_Bsend has to have room for. */
double commtest_plan_ahead(const commtest_partners_t *partners, const commtest_options_t *options,
                           int packet);

#endif /* FASTPATH_COMMTEST_PLAN_H */
