# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced by contrib/demo and contrib/check: makes sure that what a build needs is here, then builds out of
# tree.  Sets top (the source tree) and build (the build tree, ./build or $FASTPATH_BUILD).  With for_tests=yes
# what only the tests need is asked for as well.

set -eu
export LC_ALL=C

top=$(cd "$(dirname "$0")/.." && pwd)
build=${FASTPATH_BUILD:-$top/build}
case $build in /*) ;; *) build=$PWD/$build ;; esac

# Open MPI refuses to start jobs for root unless it is told twice that this is meant.  Containers and fresh
# machines have nobody but root, so say it there, and only there.
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

have() {
    command -v "$1" >/dev/null 2>&1
}

# Open MPI's wrapper; a plain mpicc may be another MPI's.
wrapper() {
    for mpicc in mpicc.openmpi mpicc; do
        case $($mpicc --showme:version 2>/dev/null) in *"Open MPI"*) echo "$mpicc"; return ;; esac
    done
}

devel_headers() {
    [ -n "$(wrapper)" ] || return 1
    for dir in $($(wrapper) --showme:incdirs); do
        if [ -f "$dir/opal_config.h" ] || [ -f "$dir/openmpi/opal_config.h" ]; then return 0; fi
    done
    return 1
}

# Debian's names of the packages that something is missing of.
missing_packages() {
    have "${CC:-gcc}" || echo gcc libc6-dev
    have make || echo make
    if [ ! -f "$top/configure" ]; then # as in a git clone
        have autoconf || echo autoconf
        have automake || echo automake
        have libtoolize || echo libtool
    fi
    have ompi_info || echo openmpi-bin
    devel_headers || echo openmpi-bin libopenmpi-dev
    [ "${for_tests:-no}" = yes ] || return 0
    [ -f /usr/include/cmocka.h ] || [ -f /usr/local/include/cmocka.h ] || echo libcmocka-dev
    have valgrind || echo valgrind
    have spin || echo spin
    have ip || echo iproute2
}

install_packages() {
    packages=$(missing_packages | tr ' ' '\n' | sort -u | tr '\n' ' ')
    [ -n "$packages" ] || return 0
    if [ "$(id -u)" != 0 ] || ! have apt-get; then
        echo "${0##*/}: this machine lacks what these Debian packages bring, install them first: $packages" >&2
        exit 1
    fi
    echo "== installing $packages"
    log=$(mktemp)
    if ! { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 install $packages; } >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        echo "${0##*/}: apt could not install these packages: $packages" >&2
        exit 1
    fi
    rm -f "$log"
}

# One step of the build; its output is only of interest when it fails.
quietly() {
    if ! "$@" >>"$build/setup.log" 2>&1; then
        tail -n 40 "$build/setup.log" >&2
        echo "${0##*/}: failed: $* (all of it in $build/setup.log)" >&2
        exit 1
    fi
}

build_all() {
    echo "== building in $build"
    mkdir -p "$build"
    : >"$build/setup.log"
    [ -f "$top/configure" ] || quietly "$top/autogen.sh"
    cd "$build"
    # Where contrib/demo came first, configure has not seen what the tests need.
    if [ ! -f Makefile ] || { [ "${for_tests:-no}" = yes ] && grep -q "^HAVE_CMOCKA_TRUE='#'" config.log; }; then
        quietly "$top/configure"
    fi
    quietly make -j "$(getconf _NPROCESSORS_ONLN)"
}

install_packages
build_all
