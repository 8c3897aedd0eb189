# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# What the Makefile.am of every component has in common.  The including file sets component_LTLIBRARIES
# and dist_help_DATA.

AM_CPPFLAGS = $(FASTPATH_CPPFLAGS)
AM_CFLAGS = $(FASTPATH_CFLAGS)
AM_LDFLAGS = -module -avoid-version -shared -Wl,-z,defs
componentdir = $(FASTPATH_COMPONENT_DIR)
helpdir = $(FASTPATH_HELP_DIR)

# libtool insists on installing the .la file; nobody needs it in a plugin directory.  Without it libtool
# does not know what to uninstall, so that is ours as well.
install-data-hook:
	cd "$(DESTDIR)$(componentdir)" && rm -f $(component_LTLIBRARIES)

uninstall-hook:
	cd "$(DESTDIR)$(componentdir)" 2>/dev/null || exit 0; rm -f $(component_LTLIBRARIES:.la=.so)
