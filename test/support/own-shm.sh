# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Sourced first by scripts in test/jobs that need a /dev/shm of their own, so that what is used there is theirs alone:
# runs the script once more in a mount namespace, or skips all of it where that cannot be had.

if [ -z "${FP_OWN_SHM:-}" ]; then
    user=
    [ "$(id -u)" = 0 ] || user=-r
    if ! unshare -m $user sh -c 'mount -t tmpfs -o size=1m tmpfs /dev/shm' 2>/dev/null; then
        echo "1..0 # SKIP cannot mount a /dev/shm (needs root or user namespaces)"
        exit 0
    fi
    FP_OWN_SHM=yes exec unshare -m $user sh "$0"
fi
