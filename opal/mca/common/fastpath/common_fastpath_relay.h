/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * A sleep that messages of both kinds end: those of btl/fastsm, which wake a futex, and those of btl/tcp,
 * which make descriptors of Open MPI's event library readable.  A thread cannot sleep in both.  So the one
 * that waits blocks in the event library, and a helper thread sleeps in the futex for it and writes to a
 * descriptor that the event library looks at, too.  The helper does nothing else, and calls nothing of Open
 * MPI's.
 *
 * Only where Open MPI runs without threads: nobody else is in the event library then.
 */
#ifndef COMMON_FASTPATH_RELAY_H
#define COMMON_FASTPATH_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "compat/fastpath_opal_compat.h"
#include "opal/mca/btl/fastsm/btl_fastsm_ext.h" /* why: common_fastpath_idle.h */

/** Whether sleeps of this kind are possible. */
typedef enum {
    MCA_COMMON_FASTPATH_RELAY_UNKNOWN, /**< nobody has asked yet */
    MCA_COMMON_FASTPATH_RELAY_REFUSED, /**< not in this process */
    MCA_COMMON_FASTPATH_RELAY_STARTED  /**< there are a helper and a descriptor */
} mca_common_fastpath_relay_state_t;

/** The helper thread of a component, and what it is asked for; all 0 in the beginning. */
typedef struct {
    mca_common_fastpath_relay_state_t state;
    mca_btl_base_module_t *fastsm;   /**< btl/fastsm, or NULL: where it does not run */
    const mca_btl_fastsm_ext_t *ext; /**< its extension */
    int fd;                          /**< eventfd that the helper writes to */
    opal_event_t event;              /**< of it; in the event library during a sleep */
    pthread_t helper;
    pthread_mutex_t lock;   /**< of all that follows */
    pthread_cond_t changed; /**< for the helper: a sleep has begun, or it shall end */
    unsigned long asked;    /**< sleeps that have begun */
    bool asleep;            /**< the last one of them has not ended yet */
    uint32_t word;          /**< what was announced for it */
    uint64_t time;          /**< nanoseconds: the most that it lasts */
    bool stop;              /**< the helper shall end */
} mca_common_fastpath_relay_t;

/** What has ended a sleep. */
typedef struct {
    bool announced; /**< it is still announced: no process of the node has sent anything since */
    bool woken;     /**< somebody has sent something, from wherever */
} mca_common_fastpath_relay_result_t;

/**
 * Whether whatever transport brings messages ends a sleep: btl/fastsm does, and others that have no function
 * for opal_progress to call, and so leave everything to the event library.  Starts the helper if it is so.
 *
 * @param fastsm  btl/fastsm of this process, or NULL
 * @param ext     its extension, or NULL
 */
bool mca_common_fastpath_relay_usable(mca_common_fastpath_relay_t *relay, mca_btl_base_module_t *fastsm,
                                      const mca_btl_fastsm_ext_t *ext);

/**
 * Sleeps until something comes; what comes by the event library is handled, as by opal_progress.
 *
 * @param relay  mca_common_fastpath_relay_usable() has said yes
 * @param word   what the extension's announce_sleep() has returned; 0: nothing has been announced
 * @param time   nanoseconds, less than a second: the most, but for the rest of a sleep before this one
 */
mca_common_fastpath_relay_result_t mca_common_fastpath_relay_sleep(mca_common_fastpath_relay_t *relay,
                                                                   uint32_t word, uint64_t time);

/** Ends the helper, before btl/fastsm and the event library go; where there is no btl/fastsm when its sleep
 * is over. */
void mca_common_fastpath_relay_fini(mca_common_fastpath_relay_t *relay);

#endif /* COMMON_FASTPATH_RELAY_H */
