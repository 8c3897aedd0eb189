/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/**
 * @file
 *
 * How a wait sleeps that has found nothing for long: docs/waiting.md, "Sleeping".
 *
 * A wait announces that it is going to sleep, looks for everything once more, and sleeps.  A message that
 * comes before that look is found by it; one that comes later ends the sleep (btl_fastsm_sleep.h), and so
 * does one of another node that comes by the event library (common_fastpath_relay.h).  Other things end no
 * sleep: messages by transports that have to be polled, room in a FIFO, a library that has registered a
 * progress function.  So a sleep is short, and grows with the time in which nothing has happened.
 */
#ifndef COMMON_FASTPATH_IDLE_H
#define COMMON_FASTPATH_IDLE_H

#include <stdbool.h>
#include <stdint.h>

/* btl/fastsm is linked with this library, not the other way round. But its messages end a sleep: callers pass
 * its table of functions, whose type this is. */
#include "opal/mca/btl/fastsm/btl_fastsm_ext.h"

#include "common_fastpath_relay.h"

/** Values of the parameter pml_fastpath_wait. */
enum {
    /** give the core away where processes of ours need it; sleep where all that is waited for ends that */
    MCA_COMMON_FASTPATH_WAIT_AUTO,
    MCA_COMMON_FASTPATH_WAIT_SPIN,  /**< never, unless Open MPI has been told to */
    MCA_COMMON_FASTPATH_WAIT_YIELD, /**< give the core away always */
    MCA_COMMON_FASTPATH_WAIT_SLEEP  /**< as AUTO, and sleep in any case when nothing has happened for long */
};

/** What all waits of a component have in common. */
typedef struct {
    mca_btl_base_module_t *fastsm;   /**< btl/fastsm, or NULL: where it does not run */
    const mca_btl_fastsm_ext_t *ext; /**< its extension */
    _Atomic uint64_t announce_next;  /**< nanoseconds: no announcement before; the functions' own */
    _Atomic bool refused;            /**< the last one was; the functions' own */
    _Atomic unsigned later;          /**< times that `after` is doubled; the functions' own */
    _Atomic uint64_t later_until;    /**< nanoseconds: until then; the functions' own */
    mca_common_fastpath_relay_t relay; /**< for jobs on several nodes; the functions' own */
} mca_common_fastpath_idle_t;

/** A wait that may last; all 0 in the beginning. */
typedef struct {
    uint64_t since;         /**< nanoseconds: nothing has happened since; 0: nobody has looked yet */
    uint64_t slept_since;   /**< nanoseconds: its first sleep after that; 0: it has not slept */
    unsigned long activity; /**< at that time */
    unsigned long missed;   /**< looks that left something out, at the end of the last call */
    uint32_t announced;     /**< not 0: our peers know that we are going to sleep, of announce_sleep() */
} mca_common_fastpath_idle_wait_t;

/** When waits of a component sleep now. */
typedef struct {
    uint64_t after; /**< nanoseconds without anything after which a wait sleeps; later where waits yield, and
                         for a while where sleeps have ended too soon (docs/waiting.md, "A core that others
                         need") */
    int mode;       /**< MCA_COMMON_FASTPATH_WAIT_* */
    bool one_node;  /**< all processes of the job are on this node */
    /** Whether this process may be needed for what ends no sleep, time and again; asked when a wait would
     * sleep. */
    bool (*unheard)(void);
} mca_common_fastpath_idle_rules_t;

/** What a wait has done. */
typedef struct {
    uint64_t time; /**< nanoseconds that it has slept; 0: it has not */
    bool woken;    /**< what somebody has sent has ended that */
    bool look;     /**< the caller looks for everything, and comes back at once */
} mca_common_fastpath_idle_result_t;

/**
 * A wait has found nothing.  Sleeps when that has lasted for long enough, and the rules say so.
 *
 * With several threads each may do that.  What one of them does for others ends their sleep as messages do,
 * if it then calls fastsm_wake_if_asleep() with the extension's asleep(NULL).
 *
 * @param activity  grows whenever something moves, for whomever: then the time begins anew
 */
mca_common_fastpath_idle_result_t mca_common_fastpath_idle(mca_common_fastpath_idle_t *idle,
                                                           mca_common_fastpath_idle_wait_t *wait,
                                                           unsigned long activity,
                                                           const mca_common_fastpath_idle_rules_t *rules);

/** No wait comes any more.  Before btl/fastsm goes. */
static inline void mca_common_fastpath_idle_fini(mca_common_fastpath_idle_t *idle)
{
    mca_common_fastpath_relay_fini(&idle->relay);
}

#endif /* COMMON_FASTPATH_IDLE_H */
