# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by what runs jobs: to tell the one hang that is PMIx's, and the crash of mpirun itself, from all others.

# lost_child FILE: whether the output of a program, in FILE, shows the fault of PMIx 4.2 that
# contrib/mpich-suite/README.md tells of as (c): somebody waits in MPI_Comm_spawn, and a spawned process waits in
# PMIx_Init on its way into MPI.  No component of ours has been opened there by then.
lost_child() {
    grep -q 'HANGS in case .*: MPI_Comm_spawn(' "$1" &&
        grep -q "HANGS, spawned and in PMIx_Init, in case 'start', .*: MPI_Init_thread(" "$1"
}
# What is said when such a program is run again.
# shellcheck disable=SC2034
lost_child_says="# PMIx lost the start of a child (contrib/mpich-suite/README.md, c): run again"

# launcher_crashed FILE PID: whether process PID, an mpirun, says in FILE that it has crashed itself.  What a rank says there
# has another number.
launcher_crashed() {
    grep -q "^\[[^]]*:0*$2\] \*\*\* Process received signal" "$1"
}
# shellcheck disable=SC2034
launcher_crashed_says="# mpirun itself has crashed: run again"
