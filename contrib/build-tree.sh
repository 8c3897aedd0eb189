# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
#
# Sourced by scripts that run jobs with the components of a build tree, when their options are known: $build names it,
# and is an absolute path then; $mpirun starts jobs that find them.

if ! build=$(cd "$build" 2>/dev/null && pwd) || [ ! -d "$build/components" ]; then
    echo "${0##*/}: no build tree; name one with -b" >&2
    exit 2
fi
# shellcheck disable=SC2034
mpirun=${MPIRUN:-$(command -v mpirun.openmpi || echo mpirun)}
export OMPI_MCA_opal_mca_base_component_path="$build/components:SYS_DEFAULT"
export FASTPATH_HELP_DIR="$build/help"
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
