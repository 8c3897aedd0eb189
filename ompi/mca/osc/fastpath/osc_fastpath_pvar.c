/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */
/**
 * @file
 * MPI_T performance variables.
 */
#include "ompi_config.h"

#include "opal/mca/common/fastpath/common_fastpath_pvar.h"

#include "osc_fastpath.h"

_Alignas(64) unsigned long mca_osc_fastpath_counters[MCA_OSC_FASTPATH_COUNTERS];

static const struct {
    const char *name;
    const char *text;
} counters[MCA_OSC_FASTPATH_COUNTERS] = {
    [MCA_OSC_FASTPATH_PACKETS_SENT] = {"packets_sent",
                                       "Packets with operations, locks or unlocks sent to targets"},
    [MCA_OSC_FASTPATH_REPLIES_SENT] = {"replies_sent", "Messages with data sent back to origins"},
    [MCA_OSC_FASTPATH_ACKS_SENT] = {"acks_sent",
                                    "Messages sent back to origins that are nothing but an acknowledgement"},
    [MCA_OSC_FASTPATH_ACKS_CARRIED] = {"acks_piggybacked",
                                       "Acknowledgements that a message with data carried"},
    [MCA_OSC_FASTPATH_ACKS_ELIMINATED] = {"acks_eliminated",
                                          "Flushes and unlocks that needed no acknowledgement"},
    [MCA_OSC_FASTPATH_LOCKS_ELIMINATED] =
        {"locks_eliminated",
         "Locks that were never asked for, because nothing was done while they were held"},
    [MCA_OSC_FASTPATH_OPERATIONS] = {"operations_sent", "Operations, or pieces of them, put into packets"},
    [MCA_OSC_FASTPATH_PACKETS_PARKED] =
        {"packets_parked",
         "Packets that waited at this target: for a lock, for an epoch, or for an earlier packet"},
    [MCA_OSC_FASTPATH_SENDS_REFUSED] =
        {"sends_refused", "Times that a transport had no room for a message, which was tried again later"},
    [MCA_OSC_FASTPATH_TYPES_SENT] = {"types_sent", "Datatypes described to a target"},
    [MCA_OSC_FASTPATH_PENDING] = {"pending_requests", "Operations that wait for a reply now"},
    [MCA_OSC_FASTPATH_PENDING_MAX] = {"pending_requests_most", "The most that pending_requests has been"},
    [MCA_OSC_FASTPATH_MAILED] =
        {"mailed", "Small operations on memory that the kernel would copy, which the target has made"},
    [MCA_OSC_FASTPATH_MAIL_WITHDRAWN] =
        {"mail_withdrawn", "Such operations that were taken back, because the target did not look at once"},
    [MCA_OSC_FASTPATH_HELPED] = {"helped", "Pieces of long puts and gets that the target has copied"},
    [MCA_OSC_FASTPATH_PLACED] = {"placed",
                                 "Pieces of gets that targets have written into the memory of this process"},
    [MCA_OSC_FASTPATH_WAITS] = {"waits", "Calls that had to wait for other processes"},
    [MCA_OSC_FASTPATH_WAIT_TIME] = {"wait_time", "Nanoseconds that these calls waited"},
    [MCA_OSC_FASTPATH_SLEEPS] = {"sleeps", "Times that these calls slept"},
    [MCA_OSC_FASTPATH_WOKEN] = {"woken", "Of these, those that another process or thread has ended"},
};

static int class_of(size_t counter)
{
    return MCA_OSC_FASTPATH_PENDING == counter       ? MCA_BASE_PVAR_CLASS_LEVEL
           : MCA_OSC_FASTPATH_PENDING_MAX == counter ? MCA_BASE_PVAR_CLASS_HIGHWATERMARK
                                                     : MCA_BASE_PVAR_CLASS_COUNTER;
}

void mca_osc_fastpath_pvar_register(const mca_base_component_t *component)
{
    for (size_t i = 0; i < MCA_OSC_FASTPATH_COUNTERS; ++i) {
        mca_common_fastpath_pvar_register(component, counters[i].name, counters[i].text, class_of(i),
                                          &mca_osc_fastpath_counters[i]);
    }
}
