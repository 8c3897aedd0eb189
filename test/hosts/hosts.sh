# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced first by the scripts in test/hosts, after setting hosts_options: runs the script once more with hosts
# (support/hosts), where MPIRUN starts jobs on them.

hosts=$FP_SRCDIR/test/support/hosts
if [ -z "${HOSTS_STATE:-}" ]; then
    why=$("$hosts" true)
    if [ $? = 77 ]; then
        echo "1..0 # SKIP $why"
        exit 0
    fi
    # shellcheck disable=SC2086,SC2154
    exec "$hosts" $hosts_options -- sh "$0"
fi
. "$FP_SRCDIR/test/support/jobs.sh"
# What more than a few minutes' tests are for.
: "${FP_HOSTS_ALL:=no}"

# try NP PROGRAM [OPTION...]: PROGRAM of the build tree's test directory (with arguments) on NP ranks; OPTIONs go
# to mpirun.
try() {
    np=$1 program=$2
    shift 2
    # shellcheck disable=SC2086,SC2154
    "$run_mpi" -n "$np" -v fastpath -m "$*" "$FP_BUILDDIR"/test/$program >"$scratch/out" 2>&1
    status=$?
    if grep -q '# SKIP' "$scratch/out"; then status=1; fi
    check $status "$program, $np ranks on $HOSTS_COUNT hosts${*:+, $*}" "$scratch/out"
}

# all_of NP OPTIONS PROGRAM...: one after the other
all_of() {
    np=$1 options=$2
    shift 2
    # shellcheck disable=SC2086
    for program; do try "$np" "$program" $options; done
}
