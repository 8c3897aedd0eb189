/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The command line of fastpath-allreduce.
 */

#ifndef FASTPATH_COMMTEST_ALLREDUCE_OPTIONS_H
#define FASTPATH_COMMTEST_ALLREDUCE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "forms.h"
#include "operations.h"
#include "parse.h"

enum { COMMTEST_LENGTHS = 64, COMMTEST_RANKS = 64 };

/** What is asked for. */
typedef struct {
    bool forms[COMMTEST_FORMS];
    bool operations[COMMTEST_OPERATIONS];
    bool protocols[COMMTEST_PROTOCOLS];
    int doubles[COMMTEST_LENGTHS];
    int doubles_count;
    int most;                  /**< the longest vector */
    int ranks[COMMTEST_RANKS]; /**< numbers of processes */
    int ranks_count;
    int repetitions;
    int iterations; /**< 0: so many that a repetition takes about a millisecond */
    int warm_up;
    const char *csv;
    bool progress;
    bool list, help;
} commtest_allreduce_options_t;

/** For a job of so many processes.  Returns false and sets why, of COMMTEST_WHY bytes. */
bool commtest_allreduce_parse(commtest_allreduce_options_t *options, int argc, char **argv, int processes,
                              char *why);

/** Prints what there is. */
void commtest_allreduce_help(FILE *file);

/** The name of an operation. */
const char *commtest_allreduce_operation(int operation);

#endif /* FASTPATH_COMMTEST_ALLREDUCE_OPTIONS_H */
