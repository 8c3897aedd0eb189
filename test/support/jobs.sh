# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the scripts in test/jobs: TAP results from the helpers of test/guest, and jobs with the build
# tree's components through run-mpi.

. "$FP_SRCDIR/test/guest/tap.sh"
. "$FP_SRCDIR/test/support/known-faults.sh"

run_mpi=$FP_SRCDIR/test/support/run-mpi
export OMPI_MCA_opal_mca_base_component_path="$ours"
if [ -z "${HOSTS_MPIRUN:-}" ]; then
    case $("$MPIRUN" --version) in *OpenRTE*) export OMPI_MCA_oob_tcp_if_include=lo ;; esac
fi

# check STATUS DESCRIPTION FILE: one result; a bad one puts FILE into the log.
check() {
    ok "$1" "$2"
    [ "$1" = 0 ] || show "$3"
}

# background NAME COMMAND...: a job that goes on beside others, for $limit seconds at most: process $job_NAME, which prints
# into $scratch/NAME.  Its TMPDIR is its own: of two mpiruns of Open MPI 4.1 that start at once in one, both may want to
# make the first directory there, and then one fails.
background() {
    name=$1
    shift
    mkdir -p "$scratch/$name.tmp"
    # shellcheck disable=SC2154
    TMPDIR="$scratch/$name.tmp" timeout -k 5 "$limit" "$@" >"$scratch/$name" 2>&1 </dev/null &
    eval "job_$name=$!"
}

# job_again SECONDS MPIRUN OPTION...: status in $status, everything printed in $scratch/out; again where mpirun itself has
# crashed, and $repeated says how often that was. That of Open MPI 4.1 does so, now and then, when several ranks hand it a help
# text and end: it cannot unpack one, or its PMIx server has not finished when it ends. A rank that crashes is another process.
repeated=0
job_again() {
    job_seconds=$1
    shift
    for _ in 1 2 3; do
        : >"$scratch/pid"
        (until [ -s "$scratch/pid" ]; do sleep 0.1; done; end_hung_launcher "$(cat "$scratch/pid")" "$scratch/out") </dev/null \
            >/dev/null 2>&1 &
        watcher=$!
        # shellcheck disable=SC2016
        timeout -k 5 "$job_seconds" sh -c 'echo $$ >"$0"; exec "$@"' "$scratch/pid" "$@" >"$scratch/out" 2>&1 </dev/null
        status=$?
        kill $watcher 2>/dev/null
        wait $watcher 2>/dev/null
        if launcher_crashed "$scratch/out" "$(cat "$scratch/pid")"; then
            echo "$launcher_crashed_says"
        elif launcher_hung "$scratch/out" && ! grep -q CRASHES "$scratch/out"; then
            echo "$launcher_hangs_says"
        else
            break
        fi
        repeated=$((repeated + 1))
    done
}
