# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by the scripts here: where the programs are, which configurations there are, which processors ranks get, and
# how everything runs in turn.  Others source it for the functions that refuse bad options.
#
#   here       the directory of the script
#   build, installed, programs   the options of these names, or empty
#   rounds, raw   for in_rounds: how often everything runs, and a file for the results, or empty
#   refuse     empty; or not, and then set_up makes it the program under which ranks are refused single copy
# shellcheck shell=sh disable=SC2034,SC2154

fail()
{
    echo "${0##*/}: $*" >&2
    exit 1
}

# unknown OPTION: refuses it.
unknown()
{
    echo "${0##*/}: $1: no such option (see --help)" >&2
    exit 2
}

# takes COUNT OPTION LEFT: fails unless so many words follow the option, LEFT counting the option, too.
takes()
{
    [ "$3" -gt "$1" ] || fail "$2 takes $([ "$1" = 1 ] && echo a value || echo "$1 values")"
}

# whole OPTION NUMBER: fails unless that is a whole number above 0.
whole()
{
    case $2 in
    '' | 0* | *[!0-9]*) fail "$1 takes a number, and not \"$2\"" ;;
    esac
}

# size SIZE ...: fails unless each is a number of bytes, with K or M or without.
size()
{
    for one_size in "$@"; do
        case ${one_size%[KM]} in
        '' | *[!0-9]*) fail "$one_size: no size; those are like 8, 16K or 1M" ;;
        esac
    done
}

# among OPTION LIST WORD ...: fails unless each element of the list, with commas between them, is one of the words.
among()
{
    option=$1 elements=$(echo "$2" | tr , ' ')
    shift 2
    [ -n "$elements" ] || fail "$option takes some of: $*"
    for element in $elements; do
        case " $* " in
        *" $element "*) ;;
        *) fail "$option: \"$element\" is none of: $*" ;;
        esac
    done
}

# warn_load: says so where others use the processors. A build that has just ended alone makes no such load. Not for
# after a run, whose own ranks count.
warn_load()
{
    awk -v me="${0##*/}" -v cores="$(nproc)" '$1 > cores {
        printf "%s: WARNING: the load is %s on %d processors: others use them, and figures say little\n", me, $1, cores
    }' "${BENCH_LOADAVG:-/proc/loadavg}" >&2
}

# find_build: the build tree, unless it has been named: what the script is in, or build/ there.
find_build()
{
    for one_tree in "$here/../.." "$here/../../build"; do
        if [ -z "$build" ] && [ -d "$one_tree/components" ]; then build=$(cd "$one_tree" && pwd); fi
    done
}

# set_up PROGRAM ...: finds the build tree, mpirun and the programs, and makes a scratch directory.
set_up()
{
    find_build
    programs=${programs:-${build:-$here/../..}/contrib/bench}
    for program in "$@" ${refuse:+refuse}; do
        [ -x "$programs/$program" ] || fail "no $program in $programs: run make, or say --build DIR or --programs DIR"
    done
    mpirun=${MPIRUN:-$(command -v mpirun.openmpi || command -v mpirun)}
    [ -n "$mpirun" ] || fail "no mpirun found (set MPIRUN)"
    if [ "$(id -u)" = 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
    if [ -n "$build" ] && [ "$installed" != yes ]; then
        export OMPI_MCA_opal_mca_base_component_path="$build/components:SYS_DEFAULT" FASTPATH_HELP_DIR="$build/help"
    fi
    if [ -n "${refuse:-}" ]; then
        refuse=$programs/refuse
        "$refuse" true || fail "the kernel lets nobody refuse single copy"
        # left to itself UCX, also below MPICH, takes twice as long for messages of 256 KiB
        export UCX_TLS="${UCX_TLS:-posix,sysv,self}"
    fi
    scratch=$(mktemp -d) || exit 1
    trap 'rm -rf "$scratch"' EXIT
    trap stop HUP INT TERM
}

# limited SECONDS COMMAND ...: runs it, not longer than that, and ends it when the script is ended.
child=''
limited()
{
    timeout -k 5 "$@" </dev/null &
    child=$!
    limited_code=0
    wait "$child" || limited_code=$?
    child=''
    return "$limited_code"
}

stop()
{
    [ -z "$child" ] || { kill "$child" && wait "$child"; } 2>/dev/null
    exit 1
}

# selection CONFIGURATION: mpirun's options for it; returns 1 if there is no such configuration.
selection()
{
    # btl/vader and the framework smsc of later series do not ask before they try, and say each time that it failed.
    no_vader_copy=''
    [ -z "${refuse:-}" ] || no_vader_copy='--mca btl_vader_single_copy_mechanism none --mca smsc ^cma,knem,xpmem'
    case $1 in
    stock) echo --mca pml ob1 --mca btl vader,self $no_vader_copy ;;
    fastpath) echo --mca pml fastpath --mca btl fastsm,self ;;
    fastsm) echo --mca pml ob1 --mca btl fastsm,self ;;
    fastvader) echo --mca pml fastpath --mca btl vader,self $no_vader_copy ;;
    # ucx as a whole: by default Open MPI takes it for some networks only
    ucx) echo --mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any ;;
    *) return 1 ;;
    esac
}

# place_ranks NP: sets place, mpirun's options for one core to each of two ranks where that can be had.
place_ranks()
{
    place="--map-by core --bind-to core"
    [ "$1" -le 2 ] || place="$place:overload-allowed --oversubscribe"
    [ -z "${HOSTS_STATE:-}" ] || place='' # support/hosts says where
    # shellcheck disable=SC2086
    if ! limited 300 "$mpirun" -np "$1" $place true >"$scratch/log" 2>&1; then
        place="--bind-to none --oversubscribe"
        echo "${0##*/}: cannot bind $1 ranks to cores here, running unbound" >&2
    fi
}

# processors NP OPTION ...: the first processor of each of the first ranks as mpirun places them, with commas
# between them; the same one once.
processors()
{
    # shellcheck disable=SC2016
    timeout 300 "$mpirun" -np "$@" sh -c \
        'sed -n "s/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/$OMPI_COMM_WORLD_RANK \1/p" /proc/self/status' \
        2>/dev/null | sort -n | awk '!seen[$2]++ { printf "%s%s", (comma++ ? "," : ""), $2 }'
}

# mpich_program PROGRAM: builds it with MPICH in the scratch directory; returns 1 without MPICH.
mpich_program()
{
    sources=$here/$1.c
    case $1 in
    several) sources="-DBENCH_SEVERAL $sources $here/allpairs.c $here/pingpong.c $here/ragged.c $here/rings.c" ;;
    patterns) sources="$sources $here/patterns_*.c" ;;
    esac
    # shellcheck disable=SC2086
    mpicc.mpich -std=gnu11 -O2 -o "$scratch/$1" $sources >"$scratch/log" 2>&1 && return
    echo "${0##*/}: no MPICH here (mpicc.mpich), left out" >&2
    return 1
}

# in_rounds CONFIGURATION ...: calls the script's run with each of them, in each of $rounds rounds. The results go to
# $scratch/raw, each with its round and configuration before it, and are appended to the file $raw, if that is given.
# Sets failed to those that have failed, each of which is reported once.
in_rounds()
{
    failed=
    round=1
    while [ "$round" -le "$rounds" ]; do
        for one in "$@"; do
            run "$one" >"$scratch/out" 2>"$scratch/log"
            code=$?
            if [ "$code" -ne 0 ]; then
                case " $failed " in
                *" $one "*) ;;
                *)
                    echo "${0##*/}: $one failed in round $round (exit code $code; 124 is taking too long):" >&2
                    head -n 20 "$scratch/log" >&2
                    failed="$failed $one"
                    ;;
                esac
            fi
            sed "s/^/$round $one /" "$scratch/out" >>"$scratch/raw"
        done
        round=$((round + 1))
    done
    [ -z "${raw:-}" ] || cat "$scratch/raw" >>"$raw"
}

machine()
{
    echo "cpu       $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1), $(nproc) processors"
    echo "kernel    $(uname -sr)"
    echo "mpi       $($mpirun --version | head -n 1)"
}
