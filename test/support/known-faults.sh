# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by what runs jobs: to tell the hang and the crash that are PMIx's, and those of mpirun itself, from all others.

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

# pmix_crashed FILE NOTED: whether the output of a program, in FILE, shows that all of its processes that have crashed did so in
# PMIx's own thread on their way into MPI, which fp_test.c tells of.  NOTED has a line for each that has crashed.
pmix_crashed() {
    pmix_noted=$(grep -ac . "$2")
    [ "$pmix_noted" -gt 0 ] && [ "$(grep -ac "# PMIx's own thread has crashed" "$1")" = "$pmix_noted" ] &&
        [ "$(grep -ac '# rank [0-9-]* CRASHES ' "$1")" = "$pmix_noted" ]
}
# shellcheck disable=SC2034
pmix_crashed_says="# PMIx has crashed in MPI_Init, in a thread of its own: run again"

# launcher_crashed FILE PID: whether process PID, an mpirun, says in FILE that it has crashed itself.  What a rank says there
# has another number.
launcher_crashed() {
    grep -q "^\[[^]]*:0*$2\] \*\*\* Process received signal" "$1"
}
# shellcheck disable=SC2034
launcher_crashed_says="# mpirun itself has crashed: run again"

# session_lost FILE: whether an mpirun of Open MPI 4.1 says in FILE that it could not make its directory, because another
# one that ended meanwhile has taken away the directory of both, and that it has started nothing.
session_lost() {
    grep -q '^ *Directory: .*/ompi\.[^/]*/pid\.[0-9]*$' "$1" && grep -q '^ *Error:  *No such file or directory$' "$1" &&
        grep -q 'orte_session_dir failed' "$1" && ! grep -q '^\[[0-9]*,[0-9]*\]<' "$1"
}
# shellcheck disable=SC2034
session_lost_says="# two mpiruns wanted one directory: run again"

# end_hung_launcher PID FILE: looks after process PID, an mpirun, until it ends. Where it does not for $FP_LAUNCHER_PATIENCE
# (60) seconds, though all processes that it has started have ended, FILE gets a line that says so, and the process is ended:
# in Open MPI 4.1 PMIx_server_finalize sometimes waits for ever, for a lock that is no more. On other hosts nobody can tell.
end_hung_launcher() {
    [ -z "${HOSTS_MPIRUN:-}" ] || return 0
    launcher_had=no launcher_idle=0
    while kill -0 "$1" 2>/dev/null; do
        # Not before anything has been started. What has ended soon may be seen by what it has said only.
        [ ! -s "$2" ] || launcher_had=yes
        launcher_idle=$((launcher_idle + 1))
        for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
            launcher_had=yes
            if read -r child_stat <"/proc/$child/stat"; then
                case ${child_stat##*) } in
                [ZX]*) ;;
                *) launcher_idle=0; break ;;
                esac
            fi
        done 2>/dev/null
        if [ $launcher_had = yes ] && [ $launcher_idle -gt "${FP_LAUNCHER_PATIENCE:-60}" ]; then
            echo "$launcher_hangs_says" >>"$2"
            kill -KILL "$1"
            return
        fi
        [ $launcher_had = yes ] || launcher_idle=0
        sleep 1
    done
}
launcher_hangs_says="# mpirun itself hangs, and all its processes have ended: run again"
# launcher_hung FILE: whether end_hung_launcher has ended it
launcher_hung() {
    grep -aqxF "$launcher_hangs_says" "$1"
}
