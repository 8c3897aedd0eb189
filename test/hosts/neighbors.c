/*
 * Copyright (c) 2026 The fastpath authors.  All rights reserved.
 * SPDX-License-Identifier: BSD-3-Clause
 */

/* Whether a rank gives its core away that another one may need, on a host of its own: two ranks are bound to
 * one core, and one is asleep while the other one waits for it, so that nothing can be observed.
 *
 * neighbors             the hosts are containers of one machine: waits yield
 * neighbors elsewhere   they are different machines: waits keep their core
 *
 * Each goes on until the waits are so; if they never are, the watchdog ends it. */

#define _GNU_SOURCE
#include <sched.h>

#include "support/fp_counters.h"

enum { TAG = 17, LATE_MS = 3 };

enum { SPINS, YIELDS, COUNTERS };

static const char *const names[COUNTERS] = {"pml_fastpath_waits_spins", "pml_fastpath_waits_yields"};

static void bind_to_one_core(void)
{
    cpu_set_t cores;
    int cpu = 0;

    if (0 == sched_getaffinity(0, sizeof(cores), &cores)) {
        while (!CPU_ISSET(cpu, &cores)) {
            cpu++;
        }
        CPU_ZERO(&cores);
        CPU_SET(cpu, &cores);
        (void) sched_setaffinity(0, sizeof(cores), &cores);
    }
}

/* Rank 1 waits for rank 0, which is late; what its wait did is counted. */
static fp_counts_t wait_once(void)
{
    const fp_counts_t before = fp_counters_now();
    int value = 0;

    if (0 == fp_rank) {
        fp_sleep_ms(LATE_MS);
        FP(MPI_Send(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        FP(MPI_Recv(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        FP(MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        FP(MPI_Send(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD));
    }
    return fp_counters_since(&before);
}

int main(int argc, char **argv)
{
    const int which = 1 < argc ? SPINS : YIELDS;
    int done = 0;

    bind_to_one_core();
    fp_init(&argc, &argv, 2);
    fp_counters_open(MPI_THREAD_SINGLE, names, COUNTERS);
    fp_case("%s", names[which]);
    while (!done) {
        const fp_counts_t counts = wait_once();

        done = 0 < counts.value[which] && 0 == counts.value[COUNTERS - 1 - which];
        FP(MPI_Bcast(&done, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
    fp_counters_close();
    return fp_finish();
}
