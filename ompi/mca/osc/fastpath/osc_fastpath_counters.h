/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * What is counted while epochs run, for MPI_T performance variables.
 */
#ifndef MCA_OSC_FASTPATH_COUNTERS_H
#define MCA_OSC_FASTPATH_COUNTERS_H

#include "opal/mca/mca.h"

enum {
    MCA_OSC_FASTPATH_PACKETS_SENT,     /**< packets handed to a BTL */
    MCA_OSC_FASTPATH_REPLIES_SENT,     /**< replies with data handed to a BTL */
    MCA_OSC_FASTPATH_ACKS_SENT,        /**< replies that are nothing but an acknowledgement */
    MCA_OSC_FASTPATH_ACKS_CARRIED,     /**< acknowledgements asked for that a reply with data carried */
    MCA_OSC_FASTPATH_ACKS_ELIMINATED,  /**< synchronisations that needed none */
    MCA_OSC_FASTPATH_LOCKS_ELIMINATED, /**< locks that were never asked for: nothing was done under them */
    MCA_OSC_FASTPATH_OPERATIONS,       /**< operations, or pieces of them, put into packets */
    MCA_OSC_FASTPATH_PACKETS_PARKED,   /**< packets that had to wait at their target */
    MCA_OSC_FASTPATH_SENDS_REFUSED,    /**< times that a BTL had no room */
    MCA_OSC_FASTPATH_TYPES_SENT,       /**< datatypes described to a target */
    MCA_OSC_FASTPATH_PENDING,          /**< operations that wait for replies, now */
    MCA_OSC_FASTPATH_PENDING_MAX,      /**< the most there were at a time */
    MCA_OSC_FASTPATH_MAILED,           /**< updates that targets have made by way of their mailboxes */
    MCA_OSC_FASTPATH_MAIL_WITHDRAWN,   /**< updates that were taken back from there */
    MCA_OSC_FASTPATH_HELPED,           /**< pieces of long puts and gets that targets have copied */
    MCA_OSC_FASTPATH_PLACED,           /**< pieces of gets that targets have written into memory here */
    MCA_OSC_FASTPATH_WAITS,            /**< synchronisations that had to wait */
    MCA_OSC_FASTPATH_WAIT_TIME,        /**< nanoseconds they waited */
    MCA_OSC_FASTPATH_SLEEPS,           /**< times that they slept */
    MCA_OSC_FASTPATH_WOKEN,            /**< of these, those that somebody has ended */
    MCA_OSC_FASTPATH_COUNTERS
};

extern unsigned long mca_osc_fastpath_counters[MCA_OSC_FASTPATH_COUNTERS];

/** Count one. Not atomic: with several threads some may get lost. */
static inline void mca_osc_fastpath_count(int counter)
{
    ++mca_osc_fastpath_counters[counter];
}

/** Register all of them. */
void mca_osc_fastpath_pvar_register(const mca_base_component_t *component);

#endif /* MCA_OSC_FASTPATH_COUNTERS_H */
