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
FASTPATH_OPAL_LIBS="-L$OMPI_LIBDIR -lopen-pal $FASTPATH_EVENT_LIBS $FASTPATH_PMIX_LIBS"
AS_CASE([$OMPI_SERIES],
    [4.1|5.0], [FASTPATH_OMPI_LIBS="-L$OMPI_LIBDIR -lmpi $FASTPATH_OPAL_LIBS"],
    [FASTPATH_OMPI_LIBS="-L$OMPI_LIBDIR -lopen_mpi $FASTPATH_OPAL_LIBS"]) # libmpi has the bindings only

fastpath_saved_CPPFLAGS=$CPPFLAGS
fastpath_saved_CFLAGS=$CFLAGS
fastpath_saved_LIBS=$LIBS
CPPFLAGS="$CPPFLAGS $OMPI_INCDIRS -isystem $srcdir/compat/shims"
LIBS="$FASTPATH_OMPI_LIBS $LIBS"

AC_MSG_CHECKING([whether components link against Open MPI's libraries])
AC_LINK_IFELSE([AC_LANG_PROGRAM([[extern const char opal_version_string[];]], [[return opal_version_string[0];]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([nothing links against libmpi and libopen-pal in $OMPI_LIBDIR, see config.log: install Open MPI's development package (on Debian: apt install libopenmpi-dev).])])

# Open MPI's free lists exchange 16 bytes at once where its own build could, and so must we; on x86-64
# that takes a flag.
AC_MSG_CHECKING([for the flag that Open MPI's 16-byte atomics need])
fastpath_cx16_flag=unknown
for fastpath_flag in '' -mcx16; do
    CFLAGS="$fastpath_saved_CFLAGS $fastpath_flag"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include "opal_config.h"
#include "opal/class/opal_lifo.h"
]], [[opal_lifo_t lifo; opal_list_item_t item; opal_lifo_push_atomic(&lifo, &item); return NULL != opal_lifo_pop_atomic(&lifo);]])],
        [fastpath_cx16_flag=$fastpath_flag; break])
done
AS_CASE([$fastpath_cx16_flag],
    [unknown], [AC_MSG_RESULT([unknown])
                AC_MSG_ERROR([the atomic operations of Open MPI's headers do not link with $CC, see config.log: use the compiler Open MPI was built with (CC=...).])],
    [''], [AC_MSG_RESULT([none])],
    [AC_MSG_RESULT([$fastpath_cx16_flag])
     FASTPATH_CFLAGS="$FASTPATH_CFLAGS $fastpath_cx16_flag"])

CPPFLAGS=$fastpath_saved_CPPFLAGS
CFLAGS=$fastpath_saved_CFLAGS
LIBS=$fastpath_saved_LIBS
AC_SUBST([FASTPATH_CPPFLAGS])
AC_SUBST([FASTPATH_CFLAGS])
AC_SUBST([FASTPATH_OPAL_LIBS])
AC_SUBST([FASTPATH_OMPI_LIBS])
])
