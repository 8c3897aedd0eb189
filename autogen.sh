#!/bin/sh
# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Makes configure and the Makefile.in files; needs autoconf, automake and libtool.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux
exec autoreconf --install --force --warnings=all "$@"
