/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * How often messages take the fast path, and why not. Read as MPI_T performance variables
 * (pml_fastpath_pvar.c, which has the names and says what each counts).
 */
#ifndef MCA_PML_FASTPATH_COUNTERS_H
#define MCA_PML_FASTPATH_COUNTERS_H

/** What is counted. Each send that is not persistent counts as one of the SENDS, each MPI_Recv as one of the
 * RECVS, each MPI_Irecv as one of the IRECVS. */
typedef enum {
    MCA_PML_FASTPATH_SENDS_IMMEDIATE,
    MCA_PML_FASTPATH_SENDS_QUEUED,
    MCA_PML_FASTPATH_SENDS_LONG,
    MCA_PML_FASTPATH_SENDS_NO_CREDIT,
    MCA_PML_FASTPATH_SENDS_NO_ROOM,
    MCA_PML_FASTPATH_SENDS_NO_SENDI,
    MCA_PML_FASTPATH_SENDS_MODE,
    MCA_PML_FASTPATH_SENDS_OTHER,

    MCA_PML_FASTPATH_RECVS_IMMEDIATE,
    MCA_PML_FASTPATH_RECVS_QUEUED,
    MCA_PML_FASTPATH_RECVS_SPIN_EXPIRED,
    MCA_PML_FASTPATH_RECVS_OTHER_MESSAGE,
    MCA_PML_FASTPATH_RECVS_NO_RECVI,
    MCA_PML_FASTPATH_RECVS_OTHER,

    MCA_PML_FASTPATH_IRECVS_IMMEDIATE,
    MCA_PML_FASTPATH_IRECVS_QUEUED,
    MCA_PML_FASTPATH_IRECVS_POSTED,
    MCA_PML_FASTPATH_IRECVS_OTHER_MESSAGE,
    MCA_PML_FASTPATH_IRECVS_NO_RECVI,
    MCA_PML_FASTPATH_IRECVS_DATA,
    MCA_PML_FASTPATH_IRECVS_OTHER,

    MCA_PML_FASTPATH_WAITS_IMMEDIATE,
    MCA_PML_FASTPATH_WAITS_OTHER_MESSAGE,
    MCA_PML_FASTPATH_WAITS_SPIN_EXPIRED,
    MCA_PML_FASTPATH_WAITS_ELSEWHERE,
    MCA_PML_FASTPATH_WAITS_SPINS,
    MCA_PML_FASTPATH_WAITS_YIELDS,
    MCA_PML_FASTPATH_WAITS_SLEEPS,
    MCA_PML_FASTPATH_WAITS_WOKEN,
    MCA_PML_FASTPATH_WAITS_TIME_ASLEEP,

    MCA_PML_FASTPATH_UNEXPECTED,
    MCA_PML_FASTPATH_COMMS_SEARCHED,
    MCA_PML_FASTPATH_HELPED,
    MCA_PML_FASTPATH_STREAMED,
    MCA_PML_FASTPATH_MULTI,

    MCA_PML_FASTPATH_COUNTERS
} mca_pml_fastpath_counter_t;

/** The counts since the start. With several threads some events may be missed: plain numbers are increased.
 */
extern unsigned long
    mca_pml_fastpath_counters[MCA_PML_FASTPATH_COUNTERS] __opal_attribute_visibility__("hidden");

/** Count an event. */
static inline void mca_pml_fastpath_count(mca_pml_fastpath_counter_t counter)
{
    ++mca_pml_fastpath_counters[counter];
}

#endif /* MCA_PML_FASTPATH_COUNTERS_H */
