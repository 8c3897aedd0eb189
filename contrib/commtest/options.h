/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * The command line of fastpath-commtest.
 */

#ifndef FASTPATH_COMMTEST_OPTIONS_H
#define FASTPATH_COMMTEST_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "parse.h"
#include "protocol.h"

enum { COMMTEST_DISTANCES = 64, COMMTEST_TARGETS = 4096 };

/** What is asked for.  Flags are by number of commtest_command_t, commtest_who_t and protocol. */
typedef struct {
    bool programs[2]; /**< basic, overlapped */
    bool commands[2];
    bool protocols[COMMTEST_PROTOCOLS];
    bool who[3];
    bool any_command, any_protocol, any_who; /**< "all": what cannot be is left out instead of refused */
    int distances[COMMTEST_DISTANCES];
    int distance_count;
    int to[COMMTEST_TARGETS]; /**< by process, if to_count is not 0 */
    int to_count;
    int total;       /**< bytes of the volume */
    int packet;      /**< bytes of the smallest packet */
    int repetitions; /**< times that are taken */
    int iterations;  /**< volumes in each */
    int warm_up;     /**< volumes before */
    const char *csv; /**< file, or NULL */
    bool progress;
    bool estimate_clock;
    bool list, help; /**< and nothing else */
} commtest_options_t;

/** The options that are not named are the defaults.  Returns false and sets why, of COMMTEST_WHY bytes. */
bool commtest_options_parse(commtest_options_t *options, int argc, char **argv, char *why);

/** Prints what there is. */
void commtest_options_help(FILE *file);

#endif /* FASTPATH_COMMTEST_OPTIONS_H */
