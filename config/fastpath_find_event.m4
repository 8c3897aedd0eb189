# Copyright (c) 2026 The fastpath authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause

# Where are the functions of the event library that Open MPI uses?
#
# Sets FASTPATH_EVENT_LIBS.  An Open MPI that brought its own libevent has them in libopen-pal, under names of their
# own; one that was built with the system's has that beside it.
AC_DEFUN([FASTPATH_FIND_EVENT], [
AC_MSG_CHECKING([for the event library of Open MPI])
fastpath_saved_CPPFLAGS=$CPPFLAGS
fastpath_saved_LIBS=$LIBS
fastpath_event=none
CPPFLAGS="$CPPFLAGS $OMPI_INCDIRS -isystem $srcdir/compat/shims -I$srcdir"
for fastpath_candidate in '' -levent_core -levent; do
    LIBS="-L$OMPI_LIBDIR -lopen-pal $fastpath_candidate $FASTPATH_PMIX_LIBS $fastpath_saved_LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include "opal_config.h"
#include "compat/fastpath_opal_compat.h"
]], [[return opal_event_loop(opal_sync_event_base, OPAL_EVLOOP_ONCE);]])],
        [fastpath_event=$fastpath_candidate; break])
done
CPPFLAGS=$fastpath_saved_CPPFLAGS
LIBS=$fastpath_saved_LIBS
AS_CASE([$fastpath_event],
    [none], [AC_MSG_RESULT([no])
             AC_MSG_ERROR([the functions of the event library that Open MPI $OMPI_VERSION was built with do not link, see config.log: install its development package (on Debian: apt install libevent-dev).])],
    [''], [AC_MSG_RESULT([in libopen-pal])],
    [AC_MSG_RESULT([$fastpath_event])])
FASTPATH_EVENT_LIBS=$fastpath_event
])
