/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

#include "partners.h"

#include <stdio.h>
#include <stdlib.h>

bool commtest_partners_open(commtest_partners_t *partners, int processes)
{
    partners->processes = processes;
    partners->longest = 0;
    partners->why[0] = '\0';
    partners->to = malloc((size_t) processes * sizeof(*partners->to));
    partners->from = malloc((size_t) processes * sizeof(*partners->from));
    partners->first = malloc((size_t) processes * sizeof(*partners->first));
    return NULL != partners->to && NULL != partners->from && NULL != partners->first;
}

void commtest_partners_close(commtest_partners_t *partners)
{
    free(partners->to);
    free(partners->from);
    free(partners->first);
}

int commtest_partners_turns(commtest_who_t who, int distance, int processes)
{
    return COMMTEST_TURNS == who && distance > 0 && distance < processes ? (processes - 1) / distance : 1;
}

/* Blocks of two times the distance, whose first half has its partners in the second one. */
static void pair_up(commtest_partners_t *partners, int distance)
{
    for (int p = 0; p < partners->processes; ++p) {
        partners->to[p] = 0 == p / distance % 2 ? p + distance : p - distance;
    }
}

static void cycle_of_0(commtest_partners_t *partners, int distance)
{
    int p = 0;

    do {
        partners->to[p] = (p + distance) % partners->processes;
        p = partners->to[p];
    } while (0 != p);
}

static void cycles(commtest_partners_t *partners, int distance)
{
    for (int p = 0; p < partners->processes; ++p) {
        partners->to[p] = (p + distance) % partners->processes;
    }
}

bool commtest_partners_at(commtest_partners_t *partners, commtest_command_t command, commtest_who_t who,
                          int distance, int turn)
{
    if (distance < 1 || distance >= partners->processes) {
        snprintf(partners->why, sizeof(partners->why),
                 "a distance of %d leads process 0 to no other one of %d processes: it has to be 1 to %d",
                 distance, partners->processes, partners->processes - 1);
        return false;
    }
    for (int p = 0; p < partners->processes; ++p) {
        partners->to[p] = COMMTEST_NOBODY;
    }
    distance *= COMMTEST_TURNS == who ? turn : 1;
    if (COMMTEST_SENDRECV == command) {
        COMMTEST_PAIRS == who ? cycles(partners, distance) : cycle_of_0(partners, distance);
    } else if (COMMTEST_PAIRS == who) {
        pair_up(partners, distance);
    } else {
        partners->to[0] = distance;
        partners->to[distance] = 0;
    }
    return commtest_partners_link(partners, command);
}

/* Whether whom a process sends to is one that it can send to; the first thing that is wrong. */
static bool check_one(commtest_partners_t *partners, commtest_command_t command, int p)
{
    int to = partners->to[p];

    if (to < 0 || to >= partners->processes) {
        snprintf(partners->why, sizeof(partners->why),
                 "process %d has no partner: it would be process %d of %d", p, to, partners->processes);
    } else if (to == p) {
        snprintf(partners->why, sizeof(partners->why), "process %d would send to itself", p);
    } else if (COMMTEST_NOBODY == partners->to[to]) {
        snprintf(partners->why, sizeof(partners->why),
                 "process %d would send to process %d, which takes no part", p, to);
    } else if (COMMTEST_SWAP == command && p != partners->to[to]) {
        snprintf(partners->why, sizeof(partners->why),
                 "process %d would swap with process %d, but that one with process %d", p, to,
                 partners->to[to]);
    } else if (COMMTEST_NOBODY != partners->from[to]) {
        snprintf(partners->why, sizeof(partners->why),
                 "processes %d and %d would both send to process %d: no cycle", partners->from[to], p, to);
    } else {
        return true;
    }
    return false;
}

/* From its lowest process on, every second process of a cycle sends first, and so does the last one of an odd
 * cycle. */
static void order_cycle(commtest_partners_t *partners, bool *seen, int lowest)
{
    int length = 0;

    for (int p = lowest; !seen[p]; p = partners->to[p]) {
        seen[p] = true;
        partners->first[p] = 0 == length++ % 2;
    }
    partners->longest = length > partners->longest ? length : partners->longest;
}

bool commtest_partners_link(commtest_partners_t *partners, commtest_command_t command)
{
    bool *seen = calloc((size_t) partners->processes, sizeof(*seen));

    if (NULL == seen) {
        snprintf(partners->why, sizeof(partners->why), "no memory");
        return false;
    }
    for (int p = 0; p < partners->processes; ++p) {
        partners->from[p] = COMMTEST_NOBODY;
        partners->first[p] = false;
    }
    for (int p = 0; p < partners->processes; ++p) {
        if (COMMTEST_NOBODY != partners->to[p]) {
            if (!check_one(partners, command, p)) {
                free(seen);
                return false;
            }
            partners->from[partners->to[p]] = p;
        }
    }
    partners->longest = 0;
    for (int p = 0; p < partners->processes; ++p) {
        if (COMMTEST_NOBODY != partners->to[p] && !seen[p]) {
            order_cycle(partners, seen, p);
        }
    }
    free(seen);
    return true;
}
