# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the scripts of this directory: results as TAP, and the environment of the build tree.
#
#   FP_BUILDDIR, FP_SRCDIR   top of the build tree and of the source tree
#   MPIRUN, OMPI_INFO        of the Open MPI that configure found
#   FP_TIMEOUT_FACTOR        multiplies the time that a job may take (1)
#   FP_COMPILE, FP_NM        how a component is compiled, and how its symbols are listed

set -u
export LC_ALL=C
: "${FP_TIMEOUT_FACTOR:=1}"
: "${FP_BUILDDIR:?}" "${FP_SRCDIR:?}" "${MPIRUN:?}" "${OMPI_INFO:?}"

ours=$FP_BUILDDIR/components:SYS_DEFAULT
export FASTPATH_HELP_DIR=$FP_BUILDDIR/help
ring=$FP_BUILDDIR/test/guest/guest_ring
# mpirun refuses to work for root unless it is told twice.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# What a user has set for other jobs is no concern of ours.
# In Debian 13 btl/tcp takes no other device of a machine as a way to itself, and says so.
case $("$MPIRUN" --version 2>/dev/null) in *OpenRTE*) ;; *) export OMPI_MCA_btl_tcp_if_include=lo ;; esac
unset OMPI_MCA_pml OMPI_MCA_btl OMPI_MCA_mca_base_component_path OMPI_MCA_opal_mca_base_component_path

scratch=$(mktemp -d "${TMPDIR:-/tmp}/guest.XXXXXX") || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM

count=0 bad=0

# ok STATUS DESCRIPTION: one result; STATUS as in $?.
ok() {
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        bad=1
    fi
}

# Put a file into the log; its last line may have no end, and some series of mpirun write zeros.
show() {
    tr -d '\0' <"$1" | awk '{ print "# " $0 }'
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

finish() {
    echo "1..$count"
    exit $bad
}

# job NP OPTION...: the ring under mpirun; everything it prints goes to $scratch/out.
job() {
    np=$1
    shift
    timeout -k 5 $((200 * FP_TIMEOUT_FACTOR)) "$MPIRUN" -np "$np" --oversubscribe "$@" "$ring" >"$scratch/out" 2>&1 </dev/null
}

# info: what ompi_info knows of our components, one line per fact.
info() {
    OMPI_MCA_opal_mca_base_component_path=$ours "$OMPI_INFO" --all --level 9 --parsable 2>"$scratch/info.err" |
        grep -E '^mca:(btl:fastsm|mpool:fastsm|osc:fastpath|pml:fastpath):'
}

# Reads info's lines, prints NAME TYPE LEVEL VALUE for each parameter.
parameters() {
    awk -F: '$4 == "param" { name = $5; rest = $7; for (i = 8; i <= NF; ++i) rest = rest ":" $i
        if (!(name in seen)) { seen[name] = 1; order[++n] = name }
        if ($6 == "type" || $6 == "level" || $6 == "value") fact[name, $6] = rest }
        END { for (i = 1; i <= n; ++i) { name = order[i]
            print name, fact[name, "type"], fact[name, "level"], fact[name, "value"] } }'
}
