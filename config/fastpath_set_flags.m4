# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# With which flags is a component compiled and linked?
#
# Open MPI's headers come in as system headers, so that their warnings are not ours, and our stand-ins for
# the missing ones after them, so that a fuller installation wins.  Symbols are hidden because Open MPI
# loads components with RTLD_GLOBAL.  Linking against the libraries by name lets hosts that load libmpi
# with RTLD_LOCAL (Python, Java) work, and -z defs finds a missing function now, not at its first call.
AC_DEFUN([FASTPATH_SET_FLAGS], [
FASTPATH_CPPFLAGS='-I$(top_srcdir) -I$(top_srcdir)/compat $(OMPI_INCDIRS) -isystem $(top_srcdir)/compat/shims'
FASTPATH_CFLAGS='-std=gnu11 -fvisibility=hidden -Wall -Wextra'
FASTPATH_OPAL_LIBS="-L$OMPI_LIBDIR -lopen-pal"
FASTPATH_OMPI_LIBS="-L$OMPI_LIBDIR -lmpi -lopen-pal"
AC_SUBST([FASTPATH_CPPFLAGS])
AC_SUBST([FASTPATH_CFLAGS])
AC_SUBST([FASTPATH_OPAL_LIBS])
AC_SUBST([FASTPATH_OMPI_LIBS])

AC_MSG_CHECKING([whether components link against Open MPI's libraries])
fastpath_saved_LIBS=$LIBS
LIBS="$FASTPATH_OMPI_LIBS $LIBS"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[extern const char opal_version_string[];]], [[return opal_version_string[0];]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([nothing links against libmpi and libopen-pal in $OMPI_LIBDIR, see config.log: install Open MPI's development package (on Debian: apt install libopenmpi-dev).])])
LIBS=$fastpath_saved_LIBS
])
