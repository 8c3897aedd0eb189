/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * Somebody takes our core who is not counted. It is either one who waits, too, as a process of another job
 * does: to such a one the core is given, and comes back at once. Or it is one who computes, and then each
 * yield costs his whole time slice. That is tried: for a short time each wait yields, and is measured.
 *
 * All of this is a function of times and of what its caller has seen, so that a test can say something else
 * (test/unit/test_others.c). Times are in nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef MCA_PML_FASTPATH_OTHERS_H
#define MCA_PML_FASTPATH_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

/** What is known of them. */
typedef enum {
    MCA_PML_FASTPATH_OTHERS_NONE, /**< nobody takes the core from us; or he computes, and shall not have it */
    MCA_PML_FASTPATH_OTHERS_TRIAL,  /**< somebody does: yields are tried */
    MCA_PML_FASTPATH_OTHERS_SHARED, /**< yields help */
} mca_pml_fastpath_others_state_t;

/** All that is known. Changed by one thread at a time; `state` may be read by others. */
typedef struct {
    volatile mca_pml_fastpath_others_state_t state;
    int taken;           /**< looks that found that the core had been taken from us */
    uint64_t taken_last; /**< the last such look */
    uint64_t begun;      /**< the trial, or the measurement of yields */
    uint64_t late_time;  /**< that late yields took since */
    int late;            /**< how many they are */
    int failed;          /**< trials in which yields did not help, since they helped last */
    uint64_t trial_next; /**< when the next trial begins; 0: that is found out when there is to be one */
} mca_pml_fastpath_others_t;

/** Nothing is known yet. */
void mca_pml_fastpath_others_init(mca_pml_fastpath_others_t *others);

/** They are counted, so nothing has to be found out; at time `now`. */
void mca_pml_fastpath_others_forget(mca_pml_fastpath_others_t *others, uint64_t now);

/** At time `now` somebody has had a look. @param taken  whether the core was taken from us since the last */
void mca_pml_fastpath_others_look(mca_pml_fastpath_others_t *others, uint64_t now, bool taken);

/** From one time to the other, the latter being `now` of a look, we have waited so long for the core. */
void mca_pml_fastpath_others_waited(mca_pml_fastpath_others_t *others, uint64_t from, uint64_t to,
                                    uint64_t waited);

/** @return whether waits shall yield for their sake */
static inline bool mca_pml_fastpath_others_want(const mca_pml_fastpath_others_t *others)
{
    return MCA_PML_FASTPATH_OTHERS_NONE != others->state;
}

#endif /* MCA_PML_FASTPATH_OTHERS_H */
