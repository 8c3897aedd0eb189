/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 * MPI_T counters of this process, and time outside MPI, in which nothing can count.
 */

#ifndef FP_COUNTERS_H
#define FP_COUNTERS_H

#include "support/fp_test.h"

enum { FP_MOST_COUNTERS = 32 };

/** Each send counts as one of these. */
#define FP_SEND_COUNTERS                                                                                     \
    "pml_fastpath_sends_immediate", "pml_fastpath_sends_queued", "pml_fastpath_sends_long",                  \
        "pml_fastpath_sends_no_credit", "pml_fastpath_sends_no_room", "pml_fastpath_sends_no_sendi",         \
        "pml_fastpath_sends_mode", "pml_fastpath_sends_other"
/** Which of them, where they come first; FP_SENDS is how many there are. */
enum {
    FP_SENDS_IMMEDIATE,
    FP_SENDS_QUEUED,
    FP_SENDS_LONG,
    FP_SENDS_NO_CREDIT,
    FP_SENDS_NO_ROOM,
    FP_SENDS_NO_SENDI,
    FP_SENDS_MODE,
    FP_SENDS_OTHER,
    FP_SENDS
};

/** What the counters say, in the order of their names. */
typedef struct {
    unsigned long value[FP_MOST_COUNTERS];
} fp_counts_t;

/** Opens MPI_T (thread level LEVEL) and COUNT counters, or sizes.  NAMES is kept. */
void fp_counters_open(int level, const char *const *names, int count);

/** Closes them and MPI_T. */
void fp_counters_close(void);

/** One of them. */
unsigned long fp_counter(int which);

/** All of them. */
fp_counts_t fp_counters_now(void);

/** What they have counted since. */
fp_counts_t fp_counters_since(const fp_counts_t *before);

/** Some of the first COUNT counters have counted since: which, is listed in WHICH, once for each event, with
 * -1 behind; the others have not. */
#define CHECK_COUNTED(before, count, ...)                                                                    \
    fp_check_counted((before), (count), (const int[]){__VA_ARGS__, -1}, __FILE__, __LINE__)
void fp_check_counted(const fp_counts_t *before, int count, const int *which, const char *file, int line);

/** Ranks 0 and 1 of MPI_COMM_WORLD, one of which is outside MPI. */
typedef struct {
    char path[256];
} fp_away_t;

/** Rank WHO leaves MPI and returns when the other one has called fp_come_back(); that one returns when it has
 *  left.  They agree by a message with this tag.  Ranks above 1 return at once. */
void fp_leave(fp_away_t *away, int who, int tag);
void fp_come_back(const fp_away_t *away);

#endif /* FP_COUNTERS_H */
